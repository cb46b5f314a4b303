"""Fast calls: a built-in function in machine code for the most frequent call, single rows of valid arrays.

It takes contiguous arrays of float64, checks their lengths and numbers (input_checks.py), allocates the array of
results and calls rows_1. That costs some 100 ns, where ctypes costs ten times as much. Any other call, and one whose
results are not finite, goes unchanged to the general callable, which does all conversions, batches and errors.

The machine code relies on the memory layout of floats and arrays in CPython and NumPy. It is verified on real objects
first; where anything is different, or MOMENTREE_ENTRY is "off", there is no such function.

Lifetimes: the function refers to the general callable, which must hold the `Entry`, and that holds all that is read.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from momentree.compile.execute.input_checks import TESTS
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target, linked, object_code

MOST = 8  # arguments
# offsets of the parts of an array, and of the number of a float, from the address of the object (bytes)
_TYPE, _DATA, _AXES, _SHAPE, _DTYPE, _FLAGS, _NUMBER = 8, 16, 24, 32, 56, 64, 16
_PLAIN = 0x0001 | 0x0100  # flags: contiguous row by row, aligned
_FLOAT64 = 12  # number of the type
_NEW_ARRAY = 93  # PyArray_New in NumPy's table of functions
_VERSIONS = (0x01000009, 0x02000000)  # of that table

_pointer, _integer = ctypes.c_void_p, ctypes.c_int64


class _Plan(ctypes.Structure):
    """What the machine code reads; the text below repeats these fields in the same order."""

    _fields_ = [
        ("rows", _pointer),  # rows_1; null until it is made
        ("scratch", _pointer),
        ("quaternion_starts", _pointer),  # where quaternions start in the first argument
        ("quaternions", _integer),
        ("fewest", _integer),  # arguments of a call
        ("most", _integer),
        ("all", _integer),  # arguments of rows_1
        ("axes", _integer),  # of the result
        ("results", _integer),  # numbers in it
        ("shape", _integer * 2),
        ("columns", _integer * MOST),  # -1: a number
        ("defaults", _pointer * MOST),  # of arguments that are not passed; null where they must be
        ("strides", _integer * MOST),  # zeros
    ]


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", _pointer), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


_FASTCALL_KEYWORDS = 0x0080 | 0x0002


def _field(name: str) -> str:
    """The address of a field of the plan."""
    index = [field[0] for field in _Plan._fields_].index(name)
    return f"getelementptr inbounds (%plan, ptr @momentree_plan, i32 0, i32 {index})"


_TEXT = f"""
%plan = type {{ ptr, ptr, ptr, i64, i64, i64, i64, i64, i64, [2 x i64],
                [{MOST} x i64], [{MOST} x ptr], [{MOST} x i64] }}
@momentree_plan = external global %plan
@momentree_array = external global i8
@momentree_dtype = external global i8
@momentree_float = external global i8
@momentree_float64 = external global i8
@momentree_none = external global i8
declare ptr @momentree_general(ptr, ptr, i64, ptr)
declare void @momentree_drop(ptr)
declare ptr @momentree_new_array(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)

define ptr @entry(ptr %self, ptr %objects, i64 %passed, ptr %names) nounwind {{
start:
  %starts = alloca [{MOST} x ptr]
  %rows = load ptr, ptr {_field("rows")}
  %fewest = load i64, ptr {_field("fewest")}
  %most = load i64, ptr {_field("most")}
  %all = load i64, ptr {_field("all")}
  %made = icmp ne ptr %rows, null
  %unnamed = icmp eq ptr %names, null
  %enough = icmp sge i64 %passed, %fewest
  %few = icmp sle i64 %passed, %most
  %0 = and i1 %made, %unnamed
  %1 = and i1 %enough, %few
  %usual = and i1 %0, %1
  br i1 %usual, label %argument, label %general

; where each argument starts
argument:
  %k = phi i64 [ 0, %start ], [ %k.next, %located ]
  %more = icmp slt i64 %k, %all
  br i1 %more, label %one, label %turns
one:
  %default.at = getelementptr ptr, ptr {_field("defaults")}, i64 %k
  %default = load ptr, ptr %default.at
  %is.passed = icmp slt i64 %k, %passed
  br i1 %is.passed, label %look, label %located
look:
  %object.at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 {_TYPE}
  %type = load ptr, ptr %type.at
  %columns.at = getelementptr i64, ptr {_field("columns")}, i64 %k
  %columns = load i64, ptr %columns.at
  %is.array = icmp eq ptr %type, @momentree_array
  br i1 %is.array, label %array, label %other

array:
  %axes.at = getelementptr i8, ptr %object, i64 {_AXES}
  %axes = load i32, ptr %axes.at
  %dtype.at = getelementptr i8, ptr %object, i64 {_DTYPE}
  %dtype = load ptr, ptr %dtype.at
  %flags.at = getelementptr i8, ptr %object, i64 {_FLAGS}
  %flags = load i32, ptr %flags.at
  %fit.flags = and i32 %flags, {_PLAIN}
  %one.axis = icmp eq i32 %axes, 1
  %right.type = icmp eq ptr %dtype, @momentree_dtype
  %right.flags = icmp eq i32 %fit.flags, {_PLAIN}
  %2 = and i1 %one.axis, %right.type
  %right = and i1 %2, %right.flags
  br i1 %right, label %vector, label %general
vector:
  %shape.at = getelementptr i8, ptr %object, i64 {_SHAPE}
  %shape = load ptr, ptr %shape.at
  %length = load i64, ptr %shape
  %data.at = getelementptr i8, ptr %object, i64 {_DATA}
  %data = load ptr, ptr %data.at
  %right.length = icmp eq i64 %length, %columns
  br i1 %right.length, label %test, label %general

; a float where a number is expected, or None for an optional argument
other:
  %is.number = icmp slt i64 %columns, 0
  br i1 %is.number, label %number, label %nothing
number:
  %is.float = icmp eq ptr %type, @momentree_float
  %is.float64 = icmp eq ptr %type, @momentree_float64
  %is.either = or i1 %is.float, %is.float64
  %number.at = getelementptr i8, ptr %object, i64 {_NUMBER}
  br i1 %is.either, label %test, label %general
nothing:
  %is.none = icmp eq ptr %object, @momentree_none
  %has.default = icmp ne ptr %default, null
  %omitted = and i1 %is.none, %has.default
  br i1 %omitted, label %located, label %general

test:
  %numbers = phi ptr [ %data, %vector ], [ %number.at, %number ]
  %count = phi i64 [ %length, %vector ], [ 1, %number ]
  %clean = call i1 @finite(ptr %numbers, i64 %count)
  br i1 %clean, label %located, label %general
located:
  %source = phi ptr [ %default, %one ], [ %default, %nothing ], [ %numbers, %test ]
  %start.at = getelementptr ptr, ptr %starts, i64 %k
  store ptr %source, ptr %start.at
  %k.next = add i64 %k, 1
  br label %argument

turns:
  %quaternions = load i64, ptr {_field("quaternions")}
  %none = icmp eq i64 %quaternions, 0
  br i1 %none, label %compute, label %turn
turn:
  %q = load ptr, ptr %starts
  %quaternion.starts = load ptr, ptr {_field("quaternion_starts")}
  %near = call i1 @unit(ptr %q, ptr %quaternion.starts, i64 %quaternions)
  br i1 %near, label %compute, label %general

compute:
  %out.axes.64 = load i64, ptr {_field("axes")}
  %out.axes = trunc i64 %out.axes.64 to i32
  %out = call ptr @momentree_new_array(ptr @momentree_array, i32 %out.axes, ptr {_field("shape")}, i32 {_FLOAT64},
                                       ptr null, ptr null, i32 0, i32 0, ptr null)
  %failed = icmp eq ptr %out, null
  br i1 %failed, label %end, label %call
call:
  %out.at = getelementptr i8, ptr %out, i64 {_DATA}
  %results = load ptr, ptr %out.at
  %scratch = load ptr, ptr {_field("scratch")}
  call void %rows(ptr %starts, ptr {_field("strides")}, ptr %results, i64 0, i64 1, ptr %scratch)
  %count.all = load i64, ptr {_field("results")}
  %sound = call i1 @finite(ptr %results, i64 %count.all)
  br i1 %sound, label %give, label %drop
give:
  ret ptr %out
drop:
  call void @momentree_drop(ptr %out)
  br label %general
end:
  ret ptr null
general:
  %answer = tail call ptr @momentree_general(ptr %self, ptr %objects, i64 %passed, ptr %names)
  ret ptr %answer
}}
"""


class Entry:
    """The fast function of one quantity, and all that its machine code reads.

    | argument    | meaning                                                                                    |
    |-------------|--------------------------------------------------------------------------------------------|
    | columns     | of each argument that can be passed; None for a number                                     |
    | defaults    | of the arguments, None for those that must be passed; constants last                       |
    | quaternions | their first columns in the first argument                                                  |
    | shape       | of the result, one or two axes                                                             |
    """

    def __init__(
        self,
        columns: Sequence[int | None],
        defaults: Sequence[numpy.ndarray | None],
        quaternions: Sequence[int],
        shape: tuple[int, ...],
    ):
        self._arrays = [None if array is None else numpy.array(array, dtype=float) for array in defaults]
        self._quaternions = (_integer * len(quaternions))(*quaternions)
        self._plan = plan = _Plan(axes=len(shape), quaternions=len(quaternions), most=len(columns), all=len(defaults))
        plan.results = math.prod(shape)
        plan.fewest = sum(array is None for array in self._arrays)
        plan.quaternion_starts = ctypes.addressof(self._quaternions)
        plan.shape[: len(shape)] = shape
        plan.columns[: len(columns)] = [-1 if count is None else count for count in columns]
        for k, array in enumerate(self._arrays):
            plan.defaults[k] = None if array is None else array.ctypes.data
        symbols = {**_symbols(), "momentree_plan": ctypes.addressof(plan)}
        self._library = linked(object_code(_TEXT + TESTS, Target.host()), "entry", symbols)
        self._method: _Method | None = None

    def compute_with(self, kernel: Kernel) -> None:
        """From now on, this kernel answers valid calls, not the general callable."""
        self._kernel, self._scratch = kernel, kernel.scratch(1)
        self._plan.scratch = self._scratch.ctypes.data
        self._plan.rows = kernel.address(1)

    def function(self, general: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
        """The function; `general` must hold this entry."""
        if self._method is None:
            self._method = _Method(name.encode(), self._library["entry"], _FASTCALL_KEYWORDS, doc.encode())
        new = ctypes.PYFUNCTYPE(ctypes.py_object, _pointer, ctypes.py_object, ctypes.py_object)
        create: Callable[..., Callable[..., Any]] = new(("PyCFunction_NewEx", ctypes.pythonapi))
        return create(ctypes.addressof(self._method), general, "momentree")


# --- whether this interpreter and NumPy lay out floats and arrays as the machine code expects ---


def available() -> bool:
    """Whether memory layouts are as expected here, and the user has not switched the fast function off."""
    return os.environ.get("MOMENTREE_ENTRY", "").lower() not in ("off", "0", "no") and _layouts_match()


@functools.cache
def _layouts_match() -> bool:
    usual = sys.implementation.name == "cpython" and sys.byteorder == "little" and ctypes.sizeof(_pointer) == 8
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    release = not hasattr(sys, "gettotalrefcount")
    return usual and locked and release and _floats_match() and _arrays_match() and _table_matches()


def _read(address: int, offset: int, kind: Any) -> int | float:
    value: int | float = kind.from_address(address + offset).value
    return value


def _floats_match() -> bool:
    return all(
        _read(id(x), _TYPE, _pointer) == id(type(x)) and _read(id(x), _NUMBER, ctypes.c_double) == x
        for x in (1.5, -3e300, numpy.float64(0.1))
    )


def _arrays_match() -> bool:
    whole = numpy.arange(24.0).reshape(2, 3, 4)
    fixed = numpy.ones(3)
    fixed.flags.writeable = False
    odd = numpy.frombuffer(b"\0" * 25, dtype=numpy.uint8)[1:].view(numpy.float64)
    swapped, small, single = numpy.ones(3, dtype=">f8"), numpy.ones(2, dtype=numpy.float32), numpy.array(1.0)
    arrays = [whole, whole[1, :, 2], whole[0, 0, ::-1], whole.T, fixed, odd, swapped, small, single, numpy.empty(0)]
    return all(_array_matches(array) for array in arrays)


def _array_matches(array: numpy.ndarray) -> bool:
    """The parts of an array in memory are what NumPy says of it."""
    at = id(array)
    flags = int(_read(at, _FLAGS, ctypes.c_int))
    shape = _read(at, _SHAPE, _pointer)
    return (
        _read(at, _TYPE, _pointer) == id(numpy.ndarray)
        and _read(at, _DATA, _pointer) == array.ctypes.data
        and _read(at, _AXES, ctypes.c_int) == array.ndim
        and all(_read(int(shape), 8 * i, _integer) == n for i, n in enumerate(array.shape))
        and _read(at, _DTYPE, _pointer) == id(array.dtype)
        and (array.dtype is numpy.dtype(float)) == (array.dtype == numpy.dtype(float))
        and (flags & _PLAIN == _PLAIN) == (array.flags.c_contiguous and array.flags.aligned)
    )


def _table_matches() -> bool:
    """NumPy's table of functions has a supported version, and its function for new arrays makes one."""
    table = _numpy_table()
    if not table or ctypes.CFUNCTYPE(ctypes.c_uint)(table[0])() not in _VERSIONS:
        return False
    thing, integer, shape = ctypes.py_object, ctypes.c_int, (_integer * 2)(2, 3)
    kinds = thing, thing, integer, _pointer, integer, _pointer, _pointer, integer, integer, _pointer
    made = ctypes.PYFUNCTYPE(*kinds)(table[_NEW_ARRAY])(numpy.ndarray, 2, shape, _FLOAT64, None, None, 0, 0, None)
    return _array_matches(made) and made.shape == (2, 3) and made.dtype is numpy.dtype(float) and made.flags.owndata


def _numpy_table() -> Any:
    """NumPy's C functions by their fixed numbers; None where there is no such table."""
    get = ctypes.PYFUNCTYPE(_pointer, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    for module in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        try:
            capsule = importlib.import_module(module)._ARRAY_API
        except (ImportError, AttributeError):
            continue
        return ctypes.cast(get(capsule, None), ctypes.POINTER(_pointer))
    return None


@functools.cache
def _symbols() -> dict[str, int]:
    """Addresses of the objects and functions that all fast functions use."""
    general = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, _pointer).value or 0
    return {
        "momentree_array": id(numpy.ndarray),
        "momentree_dtype": id(numpy.dtype(float)),
        "momentree_float": id(float),
        "momentree_float64": id(numpy.float64),
        "momentree_none": id(None),
        "momentree_general": general,
        "momentree_drop": ctypes.cast(ctypes.pythonapi.Py_DecRef, _pointer).value or 0,
        "momentree_new_array": _numpy_table()[_NEW_ARRAY],
    }
