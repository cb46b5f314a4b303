"""Arithmetic of elementary functions in LLVM text: polynomials, and sums and products with their rounding errors.

A value that needs more than 53 bits is a pair of numbers, whose sum it is: the second is a small part of the last bit
of the first (T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18,
1971). A fused multiply-add gives the rounding error of a product, so that no number has to be split.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.llvm_functions import Lines, typed

Pair = tuple[str, str]
ROUND = 1.5 * 2**52  # added and taken away, it rounds to an integer, and leaves that in the low bits of the sum
ATTRIBUTES = "nounwind willreturn memory(none)"


def function_text(name: str, lines: Lines, arguments: Sequence[str], result: str) -> str:
    """The function `name`_W of a module, whose last line gives its result."""
    head = f"define internal fastcc {lines.type} @{name}_{lines.width}({typed(lines.type, arguments)}) {ATTRIBUTES}"
    return f"{head} {{\nentry:\n{lines}\n  ret {lines.type} {result}\n}}"


def polynomial(lines: Lines, x: str, coefficients: Sequence[float]) -> str:
    """c0 + x (c1 + x (c2 + ...)), by Horner's scheme."""
    result = lines.number(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = lines.fma(x, result, lines.number(coefficient))
    return result


def ordered_sum(lines: Lines, a: str, b: str) -> Pair:
    """a + b and its rounding error, for |a| >= |b| or a = 0 (Dekker's fast two-sum)."""
    total = lines.plus(a, b)
    return total, lines.less(b, lines.less(total, a))


def product(lines: Lines, a: str, b: str) -> Pair:
    """a b and its rounding error."""
    total = lines.times(a, b)
    return total, lines.fma(a, b, lines.negative(total))


def quotient(lines: Lines, a: Pair, b: Pair) -> Pair:
    """a / b, by one division."""
    inverse = lines.reciprocal(b[0])
    near = lines.times(a[0], inverse)
    minus = lines.negative(near)
    rest = lines.fma(minus, b[1], lines.plus(lines.fma(minus, b[0], a[0]), a[1]))
    return near, lines.times(rest, inverse)


def nearest_integer(lines: Lines, x: str, factor: float) -> Pair:
    """The integer next to x times a factor, and a number whose low bits hold it, `ROUND` in excess."""
    shifted = lines.fma(x, lines.number(factor), lines.number(ROUND))
    return lines.less(shifted, lines.number(ROUND)), shifted


def turned(lines: Lines, value: str, sign: str) -> str:
    """The value with its sign changed where the first bit of an integer is set, whose other bits are 0."""
    return lines.of_bits(lines.let(f"xor {lines.integer} {lines.bits(value)}, {sign}"))
