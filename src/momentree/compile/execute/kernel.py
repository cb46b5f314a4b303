"""A callable on arrays from the text of machine code: arguments are checked, and a width is made when first needed."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy

from momentree.activity import activity
from momentree.compile.execute.machine_code import Target, loaded
from momentree.errors import MomentreeError

WIDTHS = (1, 2, 4, 8)
_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2, ctypes.c_void_p)


class Code(Protocol):
    """Code for rows of a batch, that can be written for any width.

        void rows_W(const double *const *arguments, const int64_t *strides, double *out,
                    int64_t begin, int64_t end, double *scratch)

    Row r of argument k starts at arguments[k] + r * strides[k]; a stride of 0 is the same row for all. The results of
    row r start at out + r * outputs and overlap no argument. W rows are computed at a time, one in each lane of a
    vector, and those that remain by rows_1, which the text of a wider function names but does not hold.

    | attribute | meaning                                                                        |
    |-----------|--------------------------------------------------------------------------------|
    | arrays    | name and number of columns of each argument                                    |
    | constant  | of each argument, whether it holds parameters: the same for all rows of a call |
    | outputs   | number of results in a row                                                     |
    """

    arrays: tuple[tuple[str, int], ...]
    constant: tuple[bool, ...]
    outputs: int

    def text(self, width: int) -> str:
        """The module that defines rows_W, in the language of LLVM."""
        ...

    def scratch(self, width: int) -> int:
        """How many numbers rows_W needs to write at `scratch`, aligned to 64 bytes."""
        ...


def _checked_width(width: int) -> int:
    if width not in WIDTHS:
        raise MomentreeError(f"width {width}: choose one of {', '.join(map(str, WIDTHS))}.")
    return width


class Kernel:
    """Machine code for the outputs of a tape, made for each width when it is first needed.

    | attribute | meaning                                    |
    |-----------|--------------------------------------------|
    | arrays    | name and number of columns of each argument |
    | outputs   | number of results in a row                 |
    | width     | rows computed at a time                    |
    """

    def __init__(self, code: Code, width: int, target: Target):
        self.arrays, self.outputs, self._constant = code.arrays, code.outputs, code.constant
        self.width, self.target = _checked_width(width), target
        self._code = code
        self._text: Callable[[int], str] = functools.cache(code.text)
        self._scratch = code.scratch
        self._calls: Mapping[str, int] = getattr(code, "calls", {})  # linked functions that its text calls
        self._linked: dict[int, Any] = {}  # what keeps the machine code of a width alive
        self._functions: dict[int, Callable[..., None]] = {}
        self._lock = threading.RLock()

    def ir(self, width: int | None = None) -> str:
        """The text of the module of a width, in the language of LLVM."""
        return self._text(_checked_width(width or self.width))

    def without_vectors(self) -> tuple[str, int]:
        """The text of the module of single rows for processors that have no vectors, and the memory that it needs."""
        code: Code = getattr(self._code, "without_vectors", lambda: self._code)()
        return code.text(1), code.scratch(1)

    def address(self, width: int | None = None) -> int:
        """Where the machine code of rows_W starts; it lives as long as the kernel."""
        width = width or self.width
        with self._lock:
            if width not in self._linked:
                others = {"rows_1": self.address(1)} if width > 1 else self._calls
                self._linked[width] = loaded(self.ir(width), self.target, f"rows_{width}", others)
            return int(self._linked[width][f"rows_{width}"])

    def function(self, width: int | None = None) -> Callable[..., None]:
        """rows_W, which takes addresses and releases the interpreter while it runs."""
        width = width or self.width
        with self._lock:
            if width not in self._functions:
                self._functions[width] = _SIGNATURE(self.address(width))
            return self._functions[width]

    def scratch(self, width: int | None = None) -> numpy.ndarray:
        """Room for what rows_W writes at `scratch`, and rows_1, which it calls: one for each thread."""
        return aligned(max(self._scratch(width or self.width), self._scratch(1)))

    def __call__(self, inputs: Sequence[numpy.ndarray], out: numpy.ndarray | None = None) -> numpy.ndarray:
        """The results, a row for each row of the arguments.

        An argument is (rows, columns), or (columns,) where it is the same for all rows; so is one of a single row.
        Where no argument has rows, the result has none either.
        """
        shape = self._shape(inputs)
        if out is None:
            out = numpy.empty(shape)
        else:
            self._check_out(inputs, out, shape)
        rows = shape[0] if len(shape) == 2 else 1
        if rows and self.outputs:
            single = [array.ndim == 1 or len(array) == 1 for array in inputs]
            starts = (ctypes.c_void_p * len(inputs))(*[array.ctypes.data for array in inputs])
            steps = [0 if one else columns for one, (_, columns) in zip(single, self.arrays, strict=True)]
            strides = (ctypes.c_int64 * len(inputs))(*steps)
            width = self.width if rows >= self.width else 1
            scratch = self.scratch(width)
            self.function(width)(starts, strides, out.ctypes.data, 0, rows, scratch.ctypes.data)
        return out

    def _shape(self, inputs: Sequence[numpy.ndarray]) -> tuple[int, ...]:
        """Of the result, once every argument has been checked."""
        if len(inputs) != len(self.arrays):
            names = ", ".join(name for name, _ in self.arrays) or "none"
            raise MomentreeError(f"the kernel takes {len(self.arrays)} arrays ({names}), not {len(inputs)}.")
        rows: int | None = None
        for (name, columns), constant, array in zip(self.arrays, self._constant, inputs, strict=True):
            _check_array(f"array '{name}'", array)
            if array.ndim not in (1, 2) or array.shape[-1] != columns:
                wanted = f"({columns},) or (rows, {columns})"
                raise MomentreeError(f"array '{name}' has shape {array.shape}. Give it {wanted}.")
            if array.ndim == 1:
                continue
            count = len(array)
            if constant and count != 1:
                raise MomentreeError(f"array '{name}' holds parameters, the same for all: give one row, not {count}.")
            if rows not in (None, 1, count) and count != 1:
                raise MomentreeError(f"array '{name}' has {count} rows, but another has {rows}. Give as many, or one.")
            rows = count if rows in (None, 1) else rows
        return (self.outputs,) if rows is None else (rows, self.outputs)

    def _check_out(self, inputs: Sequence[numpy.ndarray], out: numpy.ndarray, shape: tuple[int, ...]) -> None:
        _check_array("out", out)
        if out.shape != shape:
            raise MomentreeError(f"out has shape {out.shape}, but the results have {shape}.")
        if not out.flags.writeable:
            raise MomentreeError("out is read-only. Give an array that may be written, or none.")
        for (name, _), array in zip(self.arrays, inputs, strict=True):
            if numpy.may_share_memory(array, out):
                raise MomentreeError(f"out overlaps array '{name}'. Give the results their own memory.")


def aligned(count: int) -> numpy.ndarray:
    """Room for so many numbers, from a multiple of 64 bytes on."""
    room = numpy.empty(count + 8)
    skipped = -(room.ctypes.data // 8) % 8
    return room[skipped : skipped + count]


def _check_array(name: str, array: object) -> None:
    if not isinstance(array, numpy.ndarray):
        raise MomentreeError(f"{name} is a {type(array).__name__}. Make it an array: numpy.array(..., dtype=float).")
    if array.dtype != numpy.float64:
        raise MomentreeError(f"{name} holds {array.dtype}. Make it float64: array.astype(float).")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise MomentreeError(f"{name} is not contiguous, row after row. Use numpy.ascontiguousarray(array).")


def compiled_once(system: object, what: str, make: Callable[[], Any]) -> Any:
    """Machine code that was made for this system before, or is made now."""
    made = vars(system).setdefault("_code_of_phases", {})
    if what not in made:
        with activity("compiling the equations of", getattr(system, "name", "")):
            made[what] = make()
    return made[what]
