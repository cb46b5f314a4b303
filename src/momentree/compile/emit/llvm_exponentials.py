"""exp, log, powers and hyperbolic functions in LLVM text, the same for one number and for several in lanes: no branch.

| function   | method                                                                                             |
|------------|----------------------------------------------------------------------------------------------------|
| exp        | x = n log 2 + r, 1 + r + r^2/2 + r^3 P(r); 2^n in two factors, for results below the normal ones   |
| log        | x = 2^k m, sqrt(1/2) <= m < sqrt 2; the polynomial of fdlibm in ((m - 1) / (m + 1))^2              |
| power      | exp(y log |x|), the logarithm as a pair of numbers; all special cases of IEEE 754                  |
| sinh, cosh | (e^x -+ e^-x) / 2; below 1, sinh by a polynomial                                                   |
| tanh       | 1 - 2 / (e^2x + 1); below 0.625 the rational function of Cephes                                    |

Polynomials that are not said to be from elsewhere are minimax ones of our own (benchmarks/minimax.py).
"""

from __future__ import annotations

import math

from momentree.compile.emit.llvm_double_double import (
    ROUND,
    Pair,
    function_text,
    nearest_integer,
    ordered_sum,
    polynomial,
    product,
    quotient,
)
from momentree.compile.emit.llvm_functions import Lines, bits_of

_MANTISSA = 2**52 - 1
_ONE, _ROUND_BITS = int(bits_of(1.0), 16), int(bits_of(ROUND), 16)
_LEAST = 2.0**-1022  # normal number


# --- exp ---

# log 2, the double next to it and the rest
_LOG2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
# e^r = 1 + r + r^2/2 + r^3 (E[0] + E[1] r + ...) for |r| < 0.347, off by 2^-63
_E: tuple[float, ...] = (0.16666666666666685, 0.0416666666666667, 0.008333333333316739, 0.0013888888888864944)
_E += (0.00019841269897121616, 2.4801587365555677e-05, 2.755723413042606e-06, 2.7557238290039855e-07)
_E += (2.5112288130331698e-08, 2.0925797025215668e-09)


def _clamped(lines: Lines, x: str, least: float | None, most: float) -> str:
    """x within these; a NaN is the most."""
    x = lines.choose(lines.compare("olt", x, lines.number(most)), x, lines.number(most))
    if least is None:
        return x
    return lines.choose(lines.compare("ogt", x, lines.number(least)), x, lines.number(least))


def _exponential(lines: Lines, x: str, rest: str | None = None) -> tuple[str, Pair]:
    """e^(x + rest) = 2^n (a + b): n in the low bits of a number, `ROUND` in excess, and the pair a, b; |x| < 2000."""
    high, low = _LOG2
    n, shifted = nearest_integer(lines, x, 1 / math.log(2))
    first = lines.fma(n, lines.number(-high), x)  # exact, as in the reduction of angles
    tail = lines.times(n, lines.number(-low)) if rest is None else lines.fma(n, lines.number(-low), rest)
    r, error = ordered_sum(lines, first, tail)
    square = lines.times(r, r)
    top, lost = ordered_sum(lines, lines.number(1.0), r)
    bend = lines.fma(r, polynomial(lines, r, _E), lines.number(0.5))
    small = lines.plus(lost, lines.fma(square, bend, lines.times(error, top)))
    return shifted, ordered_sum(lines, top, small)


def _times_power_of_two(lines: Lines, x: str, shifted: str, more: int = 0) -> str:
    """x 2^(n + more), in two factors of about the same size: one rounding, and no early overflow."""
    n = lines.whole("add", lines.bits(shifted), more - _ROUND_BITS + 4096)  # positive now
    half = lines.whole("lshr", n, 1)
    other = lines.let(f"sub {lines.integer} {n}, {half}")
    for part in (half, other):
        x = lines.times(x, lines.of_bits(lines.whole("shl", lines.whole("add", part, 1023 - 2048), 52)))
    return x


def exp(width: int) -> str:
    """The function that gives e^x."""
    lines, x = Lines(width), "%x0"
    shifted, (value, _) = _exponential(lines, _clamped(lines, x, -746.0, 710.0))
    result = _times_power_of_two(lines, value, shifted)
    return function_text("exp", lines, [x], lines.choose(lines.compare("uno", x, x), x, result))


# --- log ---

# log 2: 32 bits, and the rest (fdlibm, e_log.c)
_LOG2_SHORT = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
# fdlibm, e_log.c: log((1 + s) / (1 - s)) = 2 s + s^3 (L[0] + L[1] s^2 + ...) for |s| < 0.1716
_L: tuple[float, ...] = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01)
_L += (2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)


def _parts(lines: Lines, x: str, least: float) -> Pair:
    """k and m: x = 2^k m for positive x, also below the normal numbers; m from `least`, less than 1, to twice it."""
    small = lines.compare("olt", x, lines.number(_LEAST))
    x = lines.choose(small, lines.times(x, lines.number(2.0**54)), x)
    from_bits = int(bits_of(least), 16)
    moved = lines.whole("add", lines.bits(x), _ONE - from_bits)
    m = lines.of_bits(lines.whole("add", lines.whole("and", moved, _MANTISSA), from_bits))
    # the exponent as a number, by way of the low bits of a sum
    biased = lines.of_bits(lines.whole("or", lines.whole("lshr", moved, 52), _ROUND_BITS))
    excess = lines.choose(small, lines.number(ROUND + 1023 + 54), lines.number(ROUND + 1023))
    return lines.less(biased, excess), m


def log(width: int) -> str:
    """The function that gives log x."""
    lines, x = Lines(width), "%x0"
    k, m = _parts(lines, x, math.sqrt(0.5))
    f = lines.less(m, lines.number(1.0))
    s = lines.over(f, lines.plus(m, lines.number(1.0)))
    z = lines.times(s, s)
    # log(1 + f) = f - (f^2/2 - s (f^2/2 + R))
    half = lines.times(lines.times(f, lines.number(0.5)), f)
    bend = lines.fma(z, polynomial(lines, z, _L), half)
    total, error = ordered_sum(lines, lines.times(k, lines.number(_LOG2_SHORT[0])), f)
    rest = lines.less(half, lines.fma(s, bend, lines.times(k, lines.number(_LOG2_SHORT[1]))))
    result = lines.plus(total, lines.less(error, rest))
    zero = lines.number(0.0)
    result = lines.choose(lines.compare("olt", x, lines.number(math.inf)), result, x)
    result = lines.choose(lines.compare("oeq", x, zero), lines.number(-math.inf), result)
    return function_text("log", lines, [x], lines.choose(lines.compare("olt", x, zero), lines.number(math.nan), result))


# --- powers ---

# m is divided by 1 or by this one, so that s = (m - it) / (m + it) is below 0.091
_CENTER = 23 / 16
# log 2 and log 23/16: multiples of 2^-42, whose products with k are exact, and the rest
_LOG2_42 = (float.fromhex("0x1.62e42fefa3800p-1"), float.fromhex("0x1.ef35793c76730p-45"))
_LOG_CENTER = (float.fromhex("0x1.739d7f6bbd000p-2"), float.fromhex("0x1.a7389314feb50p-52"))
_THIRD = (float.fromhex("0x1.5555555555555p-2"), float.fromhex("0x1.5555555555555p-56"))
# log((1 + s) / (1 - s)) = 2 s (1 + s^2/3 + s^4 (D[0] + D[1] s^2 + ...)) for |s| < 0.091, off by 2^-73
_D: tuple[float, ...] = (0.19999999999999954, 0.14285714285791892, 0.11111111063249962, 0.09090923570482376)
_D += (0.07690001257516527, 0.0685209220490734)


def _logarithm(lines: Lines, x: str) -> Pair:
    """log x for positive x, off by less than 2^-65 of it."""
    k, m = _parts(lines, x, math.sqrt(2 * _CENTER) / 2)
    upper, number = lines.compare("oge", m, lines.number(math.sqrt(_CENTER))), lines.number
    center = lines.choose(upper, number(_CENTER), number(1.0))
    s, s_rest = quotient(lines, (lines.less(m, center), number(0.0)), ordered_sum(lines, center, m))
    s, s_rest = lines.plus(s, s), lines.plus(s_rest, s_rest)
    # z = s^2; s is twice that of the formula by now
    quarter = lines.times(s, number(0.25))
    z, z_rest = product(lines, s, quarter)
    z_rest = lines.fma(lines.plus(quarter, quarter), s_rest, z_rest)
    # c = z/3 + z^2 D
    c, c_rest = product(lines, z, number(_THIRD[0]))
    bend = lines.fma(z, number(_THIRD[1]), lines.times(lines.times(z, z), polynomial(lines, z, _D)))
    c_rest = lines.plus(c_rest, lines.fma(z_rest, number(_THIRD[0]), bend))
    # k log 2 + log of the center + s + s c
    bent, bent_rest = product(lines, s, c)
    bent_rest = lines.fma(s_rest, c, lines.fma(s, c_rest, bent_rest))
    base, base_rest = (lines.choose(upper, number(part), number(0.0)) for part in _LOG_CENTER)
    base = lines.fma(k, number(_LOG2_42[0]), base)
    base_rest = lines.fma(k, number(_LOG2_42[1]), base_rest)
    total, error = ordered_sum(lines, base, s)
    total, more = ordered_sum(lines, total, bent)
    rest = lines.plus(lines.plus(lines.plus(error, more), s_rest), lines.plus(bent_rest, base_rest))
    return ordered_sum(lines, total, rest)


def power(width: int) -> str:
    """The function that gives x^y."""
    lines, x, y = Lines(width), "%x0", "%x1"
    size, zero, one = lines.intrinsic("fabs", x), lines.number(0.0), lines.number(1.0)
    # log x is 0 or above 2^-54: beyond 2^70 y makes no difference
    log, log_rest = _logarithm(lines, size)
    factor = _clamped(lines, y, -(2.0**70), 2.0**70)
    exponent, rest = product(lines, log, factor)
    rest = lines.fma(log_rest, factor, rest)
    moderate = lines.compare("olt", lines.intrinsic("fabs", exponent), lines.number(800.0))
    rest = lines.choose(moderate, rest, zero)
    shifted, (value, _) = _exponential(lines, _clamped(lines, exponent, -746.0, 710.0), rest)
    result = _times_power_of_two(lines, value, shifted)
    # of zero and of infinity
    none, endless = lines.compare("oeq", size, zero), lines.compare("oeq", size, lines.number(math.inf))
    downwards = lines.compare("olt", y, zero)
    vanishing = lines.choose(lines.logical("xor", none, downwards), zero, lines.number(math.inf))
    result = lines.choose(lines.logical("or", none, endless), vanishing, result)
    # of negative numbers: only whole powers, the odd ones negative
    integer = lines.compare("oeq", _floor(lines, y), y)
    half = lines.times(y, lines.number(0.5))
    odd = lines.logical("and", integer, lines.compare("une", _floor(lines, half), half))
    signed = lines.intrinsic("copysign", result, x)
    result = lines.choose(odd, signed, result)
    negative = lines.logical("and", lines.compare("olt", x, zero), lines.compare("une", size, lines.number(math.inf)))
    fraction = lines.logical("xor", integer, lines.same("i1 true"))
    result = lines.choose(lines.logical("and", negative, fraction), lines.number(math.nan), result)
    # a NaN, unless the result is 1 for every number in its place
    result = lines.choose(lines.compare("uno", x, y), lines.plus(x, y), result)
    certain = lines.logical("or", lines.compare("oeq", x, one), lines.compare("oeq", y, zero))
    return function_text("power", lines, [x, y], lines.choose(certain, one, result))


# --- hyperbolic functions ---

# sinh x = x + x^3 (H[0] + H[1] x^2 + ...) for |x| < 1, off by 2^-63 of x
_H: tuple[float, ...] = (0.16666666666666669, 0.008333333333333146, 0.00019841269841432924, 2.7557319156729317e-06)
_H += (2.50521231926253e-08, 1.6057255313125158e-10, 7.758886841446351e-13)
# tanh x = x + x^3 P(x^2) / Q(x^2) for |x| < 0.625 (Cephes, tanh.c)
_P = (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1)
_Q = (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0)


def _two_exponentials(lines: Lines, size: str, sign: float) -> str:
    """(e^x + sign e^-x) / 2 for x >= 0, from 2^n y: 2^(n - 1) (y + sign 2^-2n / y)."""
    shifted, (value, rest) = _exponential(lines, _clamped(lines, size, None, 712.0))
    n = lines.whole("sub", lines.bits(shifted), _ROUND_BITS)
    least = lines.let(f"icmp slt {lines.integer} {n}, {lines.same('i64 100')}")  # beyond, it is too small to matter
    n = lines.let(f"select {lines.truth} {least}, {lines.integer} {n}, {lines.integer} {lines.same('i64 100')}")
    scale = lines.let(f"sub {lines.integer} {lines.same(f'i64 {1023}')}, {lines.whole('shl', n, 1)}")
    scale = lines.of_bits(lines.whole("shl", scale, 52))
    inverse = lines.over(lines.number(sign), value)
    other = lines.times(inverse, scale)
    total, error = ordered_sum(lines, value, other)
    # the rest of y acts on both
    slope = lines.times(lines.times(inverse, lines.number(-sign)), other)
    rest = lines.fma(slope, rest, rest)
    return _times_power_of_two(lines, lines.plus(total, lines.plus(error, rest)), shifted, -1)


def sinh(width: int) -> str:
    """The function that gives sinh x."""
    lines, x = Lines(width), "%x0"
    size, z = lines.intrinsic("fabs", x), lines.times(x, x)
    near = lines.fma(lines.times(z, size), polynomial(lines, z, _H), size)
    far = _two_exponentials(lines, size, -1.0)
    result = lines.choose(lines.compare("olt", size, lines.number(1.0)), near, far)
    result = lines.intrinsic("copysign", result, x)
    return function_text("sinh", lines, [x], lines.choose(lines.compare("uno", x, x), x, result))


def cosh(width: int) -> str:
    """The function that gives cosh x."""
    lines, x = Lines(width), "%x0"
    result = _two_exponentials(lines, lines.intrinsic("fabs", x), 1.0)
    return function_text("cosh", lines, [x], lines.choose(lines.compare("uno", x, x), x, result))


def tanh(width: int) -> str:
    """The function that gives tanh x, by one division."""
    lines, x, one = Lines(width), "%x0", Lines(width).number(1.0)
    size, z = lines.intrinsic("fabs", x), lines.times(x, x)
    near = lines.compare("olt", size, lines.number(0.625))
    shifted, (value, rest) = _exponential(lines, _clamped(lines, lines.plus(size, size), None, 100.0))
    value, rest = (_times_power_of_two(lines, part, shifted) for part in (value, rest))
    grown, lost = ordered_sum(lines, value, one)
    bottom = lines.choose(near, polynomial(lines, z, _Q), grown)
    top = lines.choose(near, lines.times(lines.times(z, size), polynomial(lines, z, _P)), lines.number(-2.0))
    missing = lines.choose(near, lines.number(0.0), lines.plus(lost, rest))
    part, part_rest = quotient(lines, (top, lines.number(0.0)), (bottom, missing))
    total, error = ordered_sum(lines, lines.choose(near, size, one), part)
    result = lines.intrinsic("copysign", lines.plus(total, lines.plus(error, part_rest)), x)
    return function_text("tanh", lines, [x], lines.choose(lines.compare("uno", x, x), x, result))


# --- floor ---


def _floor(lines: Lines, x: str) -> str:
    size, whole = lines.intrinsic("fabs", x), lines.number(2.0**52)
    near = lines.intrinsic("copysign", lines.less(lines.plus(size, whole), whole), x)
    below = lines.choose(lines.compare("ogt", near, x), lines.less(near, lines.number(1.0)), near)
    return lines.choose(lines.compare("olt", size, whole), below, x)


def floor(width: int) -> str:
    """The function that gives the largest integer that is not greater than x; -0 stays -0."""
    lines, x = Lines(width), "%x0"
    return function_text("floor", lines, [x], _floor(lines, x))
