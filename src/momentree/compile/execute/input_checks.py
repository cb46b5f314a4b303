"""Input checks in machine code: whether every number of a row is finite, and every quaternion of unit length.

Rows that are invalid here are checked again in Python (arrays.py), which says what is wrong. A quaternion at the very
edge of what is allowed may be sent there needlessly; none that is rejected there passes here.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from momentree.compile.execute.arrays import UNIT
from momentree.compile.execute.machine_code import Target, linked, object_code

_NUMBERS = """
; x - x is all zeros, but not of infinity and NaN; the last four lanes may overlap those before them
define internal i1 @finite(ptr %numbers, i64 %count) nounwind {
start:
  %last = sub i64 %count, 4
  %wide = icmp sge i64 %last, 0
  br i1 %wide, label %lanes, label %single
lanes:
  %i = phi i64 [ 0, %start ], [ %next, %lanes ]
  %seen = phi <4 x i64> [ zeroinitializer, %start ], [ %both, %lanes ]
  %at = getelementptr double, ptr %numbers, i64 %i
  %x = load <4 x double>, ptr %at, align 8
  %zero = fsub <4 x double> %x, %x
  %bits = bitcast <4 x double> %zero to <4 x i64>
  %both = or <4 x i64> %seen, %bits
  %further = add i64 %i, 4
  %inside = icmp slt i64 %further, %last
  %next = select i1 %inside, i64 %further, i64 %last
  %done = icmp eq i64 %i, %last
  br i1 %done, label %reduce, label %lanes
reduce:
  %any = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> %both)
  %clean = icmp eq i64 %any, 0
  ret i1 %clean
single:
  %j = phi i64 [ 0, %start ], [ %j.next, %one ]
  %seen.1 = phi i64 [ 0, %start ], [ %both.1, %one ]
  %more = icmp slt i64 %j, %count
  br i1 %more, label %one, label %end
one:
  %at.1 = getelementptr double, ptr %numbers, i64 %j
  %x.1 = load double, ptr %at.1, align 8
  %zero.1 = fsub double %x.1, %x.1
  %bits.1 = bitcast double %zero.1 to i64
  %both.1 = or i64 %seen.1, %bits.1
  %j.next = add i64 %j, 1
  br label %single
end:
  %clean.1 = icmp eq i64 %seen.1, 0
  ret i1 %clean.1
}

declare i64 @llvm.vector.reduce.or.v4i64(<4 x i64>)
"""

# | |q|^2 - 1 | < 1.9 u follows from | |q| - 1 | <= 0.95 u, and gives it
_QUATERNIONS = f"""
define internal i1 @unit(ptr %row, ptr %quaternion.starts, i64 %count) nounwind {{
start:
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %good
body:
  %at = getelementptr i64, ptr %quaternion.starts, i64 %i
  %column = load i64, ptr %at
  %first = getelementptr double, ptr %row, i64 %column
  %q = load <4 x double>, ptr %first, align 8
  %squares = fmul <4 x double> %q, %q
  %length2 = call double @llvm.vector.reduce.fadd.v4f64(double -1.0, <4 x double> %squares)
  %off = call double @llvm.fabs.f64(double %length2)
  %near = fcmp olt double %off, {1.9 * UNIT:.17e}
  %next = add i64 %i, 1
  br i1 %near, label %head, label %bad
good:
  ret i1 true
bad:
  ret i1 false
}}

declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)
declare double @llvm.fabs.f64(double)
"""

TESTS = _NUMBERS + _QUATERNIONS  # of one row: @finite and @unit

# rows that follow each other directly are one long row; so is the row that serves all
_ROWS = """
define i32 @valid_rows(ptr %starts, ptr %strides, ptr %columns, i64 %arguments, ptr %quaternion.starts,
                       i64 %quaternions, i64 %begin, i64 %end) nounwind {
entry:
  %rows = sub i64 %end, %begin
  br label %argument
argument:
  %k = phi i64 [ 0, %entry ], [ %k.next, %argument.end ]
  %more = icmp slt i64 %k, %arguments
  br i1 %more, label %look, label %turns
look:
  %start.at = getelementptr ptr, ptr %starts, i64 %k
  %start = load ptr, ptr %start.at
  %stride.at = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %stride.at
  %columns.at = getelementptr i64, ptr %columns, i64 %k
  %width = load i64, ptr %columns.at
  %fixed = icmp eq i64 %stride, 0
  %dense = icmp eq i64 %stride, %width
  %once = or i1 %fixed, %dense
  %all = mul i64 %rows, %width
  %long = xor i1 %fixed, true
  %whole = and i1 %dense, %long
  %length = select i1 %whole, i64 %all, i64 %width
  %repeats = select i1 %once, i64 1, i64 %rows
  %offset = mul i64 %begin, %stride
  %first = getelementptr double, ptr %start, i64 %offset
  br label %row
row:
  %r = phi i64 [ 0, %look ], [ %r.next, %row.good ]
  %row.at = phi ptr [ %first, %look ], [ %row.next, %row.good ]
  %r.more = icmp slt i64 %r, %repeats
  br i1 %r.more, label %row.look, label %argument.end
row.look:
  %clean = call i1 @finite(ptr %row.at, i64 %length)
  br i1 %clean, label %row.good, label %bad
row.good:
  %r.next = add i64 %r, 1
  %row.next = getelementptr double, ptr %row.at, i64 %stride
  br label %row
argument.end:
  %k.next = add i64 %k, 1
  br label %argument
turns:
  %none = icmp eq i64 %quaternions, 0
  br i1 %none, label %good, label %q.look
q.look:
  %q = load ptr, ptr %starts
  %q.stride = load i64, ptr %strides
  br label %q.row
q.row:
  %s = phi i64 [ %begin, %q.look ], [ %s.next, %q.good ]
  %s.more = icmp slt i64 %s, %end
  br i1 %s.more, label %q.test, label %good
q.test:
  %q.offset = mul i64 %s, %q.stride
  %q.at = getelementptr double, ptr %q, i64 %q.offset
  %near = call i1 @unit(ptr %q.at, ptr %quaternion.starts, i64 %quaternions)
  br i1 %near, label %q.good, label %bad
q.good:
  %s.next = add i64 %s, 1
  br label %q.row
good:
  ret i32 1
bad:
  ret i32 0
}
"""

_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    *[ctypes.c_void_p] * 3,  # starts and strides as in rows_W, columns
    ctypes.c_int64,
    ctypes.c_void_p,  # where quaternions start in a row of the first argument, and how many there are
    *[ctypes.c_int64] * 3,  # begin, end
)


@functools.cache
def _library() -> Any:
    return linked(object_code(_ROWS + TESTS, Target.host()), "valid_rows", {})


@functools.cache
def valid_rows() -> Callable[..., int]:
    """The machine code; it releases the interpreter while it runs."""
    return _SIGNATURE(_library()["valid_rows"])
