"""The functions that the text of a module calls: elementary functions, and the search in tables.

All are our own, made of instructions that every machine rounds alike: the bits are the same for one number and in every
lane of a vector, on every processor and on GPUs. A processor without fused multiply-adds calls `fma` of C for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from momentree.compile.emit import llvm_exponentials, llvm_trigonometry
from momentree.compile.emit.llvm_far_angles import far_angle


def definitions(functions: Iterable[tuple[str, int]]) -> str:
    """The functions of a module: names on a tape, and widths; sin and cos are the pair "sincos"."""
    wanted = sorted(set(functions))
    texts = [_DEFINED[name](width) for name, width in wanted]
    if any(name in ("sincos", "tan") for name, _ in wanted):
        texts.append(far_angle())
    return "\n\n".join(texts)


def locate(width: int) -> str:
    """The function that counts the numbers of an ascending array that are not greater than x; one more if x is NaN.

    By halves, as many for every x: all of the array before `from` is not greater, and the answer is among `count`.
    """
    return """define internal fastcc double @locate_1(double %x, ptr %array, i64 %size) nounwind {
entry:
  br label %halve
halve:
  %from = phi i64 [ 0, %entry ], [ %new, %halve ]
  %count = phi i64 [ %size, %entry ], [ %rest, %halve ]
  %half = lshr i64 %count, 1
  %middle = add i64 %from, %half
  %at = getelementptr double, ptr %array, i64 %middle
  %before = load double, ptr %at, align 8
  %within = fcmp ole double %before, %x
  %new = select i1 %within, i64 %middle, i64 %from
  %rest = sub i64 %count, %half
  %more = icmp ugt i64 %rest, 1
  br i1 %more, label %halve, label %last
last:
  %end = getelementptr double, ptr %array, i64 %new
  %one = load double, ptr %end, align 8
  %passed = fcmp ole double %one, %x
  %found = select i1 %passed, i64 1, i64 0
  %index = add i64 %new, %found
  %beyond = add i64 %size, 1
  %nan = fcmp uno double %x, %x
  %chosen = select i1 %nan, i64 %beyond, i64 %index
  %result = sitofp i64 %chosen to double
  ret double %result
}"""


_DEFINED: dict[str, Callable[[int], str]] = {
    "sincos": llvm_trigonometry.sincos,
    "tan": llvm_trigonometry.tan,
    "asin": llvm_trigonometry.asin,
    "acos": llvm_trigonometry.acos,
    "atan": llvm_trigonometry.atan,
    "atan2": llvm_trigonometry.atan2,
    "exp": llvm_exponentials.exp,
    "log": llvm_exponentials.log,
    "power": llvm_exponentials.power,
    "sinh": llvm_exponentials.sinh,
    "cosh": llvm_exponentials.cosh,
    "tanh": llvm_exponentials.tanh,
    "floor": llvm_exponentials.floor,
    "locate": locate,
}
