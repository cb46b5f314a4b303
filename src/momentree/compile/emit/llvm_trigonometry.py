"""sin, cos, tan and their inverses in LLVM text, the same for one number and for several in the lanes of a vector.

| function         | method                                                                                            |
|------------------|---------------------------------------------------------------------------------------------------|
| sin, cos, tan    | x - n pi/2 in three parts by fused multiply-adds, then the polynomials of fdlibm; tan = sin / cos |
| beyond `LARGEST` | reduction in integers (llvm_far_angles.py), the only branch                                       |
| atan, atan2      | min / max of the two sides, less pi/8; then the polynomial of fdlibm                              |
| asin, acos       | |x| > 1/2 by the sine of half the complement; a polynomial of our own                             |

The reduction (W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980, with fused multiply-adds:
S. Boldo, M. Daumas, R.-C. Li, Formally verified argument reduction with a fused multiply-add, 2009) is exact but for
its last step. With n < 2^20, A the double next to pi/2 and B of 32 bits:

    r1 = x - n A    is a multiple of 2^-53 below 1, so it is a double
    r2 = r1 - n B   is one too where |r1| < |n B|; elsewhere r1 - r2 is, so the rounding error follows exactly
"""

from __future__ import annotations

import math

from momentree.compile.emit.llvm_double_double import (
    ATTRIBUTES,
    Pair,
    function_text,
    nearest_integer,
    ordered_sum,
    polynomial,
    quotient,
    turned,
)
from momentree.compile.emit.llvm_far_angles import TRIPLE
from momentree.compile.emit.llvm_functions import Lines

LARGEST = 1e6  # angle that is reduced by parts of pi/2: n < 2^20
# pi/2 = A + B + C: 53 bits, 32 bits, 53 bits
_PARTS = tuple(map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a626332p-54", "-0x1.747f23e32ed70p-87")))
# fdlibm, k_sin.c, k_cos.c: sin x = x + S[0] x^3 + S[1] x^5 + ..., cos x = 1 - x^2/2 + C[0] x^4 + ... for |x| < pi/4
_S: tuple[float, ...] = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04)
_S += (2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
_C: tuple[float, ...] = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05)
_C += (-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)


# --- sin, cos, tan ---


def sincos(width: int) -> str:
    """The function that gives the pair of sin x and cos x."""
    lines = Lines(width)
    pair = f"{{ {lines.type}, {lines.type} }}"
    shifted, r, off = _reduced(lines, "%x")
    (sine, sine_rest), (cosine, cosine_rest) = _near_zero(lines, r, off)
    sine, cosine = lines.less(sine, sine_rest), lines.plus(cosine, cosine_rest)
    # an odd quadrant exchanges them, the upper two of four change the sign
    quadrant = lines.bits(shifted)
    odd = lines.let(f"trunc {lines.integer} {quadrant} to {lines.truth}")
    sine, cosine = lines.choose(odd, cosine, sine), lines.choose(odd, sine, cosine)
    sine = _signed(lines, sine, quadrant)
    cosine = _signed(lines, cosine, lines.whole("add", quadrant, 1))
    half = lines.let(f"insertvalue {pair} poison, {lines.type} {sine}, 0")
    whole = lines.let(f"insertvalue {pair} {half}, {lines.type} {cosine}, 1")
    head = f"define internal fastcc {pair} @sincos_{width}({lines.type} %x) {ATTRIBUTES}"
    return f"{head} {{\nentry:\n{lines}\n  ret {pair} {whole}\n}}"


def _reduced(lines: Lines, x: str) -> tuple[str, str, str]:
    """n in the low bits of a number, r and its error r - (x - n pi/2): 0, not -0, where there is none."""
    n, near = nearest_integer(lines, x, 2 / math.pi)
    a, b, c = _PARTS
    first = lines.fma(n, lines.number(-a), x)
    r = lines.fma(n, lines.number(-b), first)
    off = lines.fma(n, lines.number(b), lines.less(r, first))
    off = lines.fma(n, lines.number(c), off)
    return _far_too(lines, x, (near, r, off))


def _far_too(lines: Lines, x: str, near: tuple[str, str, str]) -> tuple[str, str, str]:
    """What was found for angles up to `LARGEST`, or for others in the rare branch, lane by lane."""
    width, size = lines.width, lines.intrinsic("fabs", x)
    far = lines.compare("ugt", size, lines.number(LARGEST))  # or NaN
    any_far = far if width == 1 else lines.let(f"call i1 @llvm.vector.reduce.or.v{width}i1({lines.truth} {far})")
    lines.do(f"br i1 {any_far}, label %beyond, label %reduced")
    lines.label("beyond")
    found: list[list[str]] = [[], [], []]
    for lane in range(width):
        triple = lines.let(f"call fastcc {TRIPLE} @far_angle(double {lines.lane(x, lane)})")
        for k in range(3):
            found[k].append(lines.let(f"extractvalue {TRIPLE} {triple}, {k}"))
    chosen = [lines.choose(far, lines.of_lanes(values), one) for values, one in zip(found, near, strict=True)]
    lines.do("br label %reduced")
    lines.label("reduced")
    both = zip(near, chosen, strict=True)
    shifted, r, off = [lines.let(f"phi {lines.type} [ {a}, %entry ], [ {b}, %beyond ]") for a, b in both]
    return shifted, r, off


def _near_zero(lines: Lines, x: str, off: str, closely: bool = False) -> tuple[Pair, Pair]:
    """sin(x - off) as a difference, cos(x - off) as a sum of two numbers, the second small; |x| < pi/4.

    A difference, so that the sine of -0 is -0 - 0 = -0. `closely` counts the rounding error of x^2 in the cosine.
    """
    fma, times, one = lines.fma, lines.times, lines.number(1.0)
    z = times(x, x)
    half = times(z, lines.number(0.5))
    # sin: x - (off (1 - z/2) - x^3 S)
    tail = fma(lines.negative(half), off, off)
    sine_rest = fma(times(z, x), polynomial(lines, z, [-s for s in _S]), tail)
    # cos: w + (((1 - w) - z/2) + (z^2 C + x off)), w = 1 - z/2
    w = lines.less(one, half)
    lost = lines.less(lines.less(one, w), half)
    linear = times(x, off)
    if closely:
        linear = lines.plus(linear, fma(times(x, lines.number(-0.5)), x, half))
    bend = fma(times(z, z), polynomial(lines, z, _C), linear)
    return (x, sine_rest), (w, lines.plus(lost, bend))


def _signed(lines: Lines, value: str, quadrant: str) -> str:
    """Minus the value where the second bit of the quadrant is set."""
    return turned(lines, value, lines.whole("shl", lines.whole("and", quadrant, 2), 62))


def tan(width: int) -> str:
    """The function that gives tan x: sin x / cos x, or -cos x / sin x in odd quadrants."""
    lines, x = Lines(width), "%x0"
    shifted, r, off = _reduced(lines, x)
    (sine, rest), (cosine, more) = _near_zero(lines, r, off, closely=True)
    s = ordered_sum(lines, sine, lines.negative(rest))
    c = ordered_sum(lines, cosine, more)
    quadrant = lines.bits(shifted)
    odd = lines.let(f"trunc {lines.integer} {quadrant} to {lines.truth}")
    top: Pair = (lines.choose(odd, c[0], s[0]), lines.choose(odd, c[1], s[1]))
    bottom: Pair = (lines.choose(odd, s[0], c[0]), lines.choose(odd, s[1], c[1]))
    result = lines.plus(*quotient(lines, top, bottom))
    result = turned(lines, result, lines.whole("shl", quadrant, 63))
    result = lines.choose(lines.compare("oeq", x, lines.number(0.0)), x, result)
    return function_text("tan", lines, [x], result)


# --- inverses ---

_EIGHTH = math.sqrt(2) - 1  # tan pi/8
_QUARTER_PI = (float.fromhex("0x1.921fb54442d18p-1"), float.fromhex("0x1.1a62633145c07p-55"))
# fdlibm, s_atan.c: atan x = x - x^3 (T[0] + T[1] x^2 + ...) for |x| < 7/16
_T: tuple[float, ...] = (3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01)
_T += (-1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02)
_T += (6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02)
_T += (-3.65315727442169155270e-02, 1.62858201153657823623e-02)
# own minimax (benchmarks/minimax.py): asin x = x + x^3 (A[0] + A[1] x^2 + ...) for |x| <= 1/2, off by 2^-59 of x
_A: tuple[float, ...] = (0.1666666666666676, 0.07499999999970582, 0.04464285717483028, 0.030381942696871247)
_A += (0.02237221530620605, 0.017351606108364892, 0.013980893375949226, 0.011398300668097364, 0.010783764077206442)
_A += (0.0036928430194325583, 0.021741164746396, -0.02104775430678857, 0.03265966856800866)


def _from_base(lines: Lines, quarters: str, angle: Pair) -> str:
    """So many times pi/4, plus an angle that is smaller, or alone."""
    high, low = (lines.number(part) for part in _QUARTER_PI)
    base = lines.times(quarters, high)
    base_rest = lines.fma(quarters, low, lines.fma(quarters, high, lines.negative(base)))
    total, error = ordered_sum(lines, base, angle[0])
    return lines.plus(total, lines.plus(error, lines.plus(angle[1], base_rest)))


def _angle(lines: Lines, near: str, far: str, beyond: str, behind: str | None) -> str:
    """The angle of a right triangle, from its smaller and its larger leg, both positive and far from overflow.

    `beyond` where the smaller leg is the one next to the angle, `behind` where that leg points backwards.
    """
    one, zero, number = lines.number(1.0), lines.number(0.0), lines.number
    # where the quotient is above tan pi/8: pi/4 + atan((near - far) / (near + far))
    middle = lines.compare("ogt", near, lines.times(far, number(_EIGHTH)))
    difference, total = lines.less(near, far), lines.plus(far, near)
    lost = lines.less(near, lines.plus(difference, far)), lines.less(near, lines.less(total, far))
    top = lines.choose(middle, difference, near), lines.choose(middle, lost[0], zero)
    bottom = lines.choose(middle, total, far), lines.choose(middle, lost[1], zero)
    u, u_rest = quotient(lines, top, bottom)
    z = lines.times(u, u)
    slope = lines.fma(lines.negative(z), u_rest, u_rest)
    rest = lines.fma(lines.times(lines.negative(z), u), polynomial(lines, z, _T), slope)
    # from there by reflections
    quarters, sign = lines.choose(middle, one, zero), lines.choose(beyond, number(-1.0), one)
    quarters = lines.choose(beyond, lines.less(number(2.0), quarters), quarters)
    if behind is not None:
        quarters = lines.choose(behind, lines.less(number(4.0), quarters), quarters)
        sign = lines.choose(behind, lines.negative(sign), sign)
    return _from_base(lines, quarters, (lines.times(u, sign), lines.times(rest, sign)))


def atan(width: int) -> str:
    """The function that gives atan x."""
    lines, x = Lines(width), "%x0"
    size, one, most = lines.intrinsic("fabs", x), lines.number(1.0), lines.number(2.0**60)
    size = lines.choose(lines.compare("olt", size, most), size, most)  # which has the same atan
    beyond = lines.compare("ogt", size, one)
    near, far = lines.choose(beyond, one, size), lines.choose(beyond, size, one)
    result = lines.intrinsic("copysign", _angle(lines, near, far, beyond, None), x)
    return function_text("atan", lines, [x], lines.choose(lines.compare("uno", x, x), x, result))


def atan2(width: int) -> str:
    """The function that gives the angle of the point (x, y), with the signs of zeros as IEEE 754 has them."""
    lines, y, x = Lines(width), "%x0", "%x1"
    up, along = lines.intrinsic("fabs", y), lines.intrinsic("fabs", x)
    one, zero, infinite = lines.number(1.0), lines.number(0.0), lines.number(math.inf)
    beyond = lines.compare("ogt", up, along)
    near, far = lines.choose(beyond, along, up), lines.choose(beyond, up, along)
    # an infinity is one of two equal legs, or the only one; two zeros are a leg along x
    endless = lines.compare("oeq", far, infinite)
    equal = lines.choose(lines.compare("oeq", near, infinite), one, zero)
    none = lines.compare("oeq", far, zero)
    near, far = lines.choose(endless, equal, near), lines.choose(lines.logical("or", endless, none), one, far)
    # no overflow in their sum, no underflow in what a quotient lacks
    large, small = (
        lines.compare("ogt", far, lines.number(2.0**700)),
        lines.compare("olt", near, lines.number(2.0**-900)),
    )
    scale = lines.choose(large, lines.number(2.0**-200), lines.choose(small, lines.number(2.0**256), one))
    near, far = lines.times(near, scale), lines.times(far, scale)
    behind = lines.let(f"icmp slt {lines.integer} {lines.bits(x)}, {lines.same('i64 0')}")
    result = lines.intrinsic("copysign", _angle(lines, near, far, beyond, behind), y)
    result = lines.choose(lines.compare("uno", x, y), lines.plus(x, y), result)
    return function_text("atan2", lines, [y, x], result)


def _arc(lines: Lines, x: str) -> tuple[str, Pair]:
    """Whether |x| > 1/2, and the angle whose sine is |x|, or is sqrt((1 - |x|) / 2): half of the complement."""
    size, half = lines.intrinsic("fabs", x), lines.number(0.5)
    large = lines.compare("ogt", size, half)
    z = lines.times(half, lines.less(lines.number(1.0), size))
    root = lines.intrinsic("sqrt", z)
    # what the root lacks: (z - root^2) / (2 root)
    twice = lines.plus(root, root)
    twice = lines.choose(lines.compare("oeq", twice, lines.number(0.0)), lines.number(1.0), twice)
    lacking = lines.over(lines.fma(lines.negative(root), root, z), twice)
    t = lines.choose(large, root, size)
    z = lines.choose(large, z, lines.times(size, size))
    rest = lines.choose(large, lacking, lines.number(0.0))
    return large, (t, lines.fma(lines.times(z, t), polynomial(lines, z, _A), rest))


def asin(width: int) -> str:
    """The function that gives asin x; NaN beyond 1."""
    lines, x = Lines(width), "%x0"
    large, (angle, rest) = _arc(lines, x)
    quarters = lines.choose(large, lines.number(2.0), lines.number(0.0))
    factor = lines.choose(large, lines.number(-2.0), lines.number(1.0))
    result = _from_base(lines, quarters, (lines.times(angle, factor), lines.times(rest, factor)))
    return function_text("asin", lines, [x], lines.intrinsic("copysign", result, x))


def acos(width: int) -> str:
    """The function that gives acos x; NaN beyond 1."""
    lines, x, number = Lines(width), "%x0", Lines(width).number
    large, (angle, rest) = _arc(lines, x)
    positive = lines.compare("ogt", x, number(0.0))
    quarters = lines.choose(large, lines.choose(positive, number(0.0), number(4.0)), number(2.0))
    factor = lines.choose(large, number(2.0), number(-1.0))
    factor = lines.choose(positive, factor, lines.negative(factor))
    result = _from_base(lines, quarters, (lines.times(angle, factor), lines.times(rest, factor)))
    return function_text("acos", lines, [x], result)
