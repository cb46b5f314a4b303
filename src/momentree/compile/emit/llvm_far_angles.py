"""Reduction of large angles by multiples of pi/2 in LLVM text, for every finite double.

M. H. Payne and R. N. Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18 (1983): x = m 2^e with
an integer m of 53 bits, and of 2/pi only the bits count whose product with x is less than 4 and not too small to
matter. They are 192 in a row; what is left out behind them is below 2^-125 of a quarter turn, and no double is nearer
to a multiple of pi/2 than 2^-62. In integers, one number at a time: such angles are rare.
"""

from __future__ import annotations

from momentree.compile.emit.llvm_double_double import ATTRIBUTES, ROUND
from momentree.compile.emit.llvm_functions import bits_of

WORDS = 20  # of 64 bits: so many that 192 bits follow the first that counts for the largest double
TRIPLE = "{ double, double, double }"
HALF_PI = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"))  # their sum has 107 bits


def _pi(bits: int) -> int:
    """Floor of pi 2^bits, by Machin's formula pi/4 = 4 atan(1/5) - atan(1/239) in integers."""
    one, total = 1 << (bits + 64), 0
    for factor, inverse in ((16, 5), (-4, 239)):
        term, k = factor * one // inverse, 0
        while term not in (0, -1):
            total += (-1) ** k * (term // (2 * k + 1))
            term //= inverse * inverse
            k += 1
    return total >> 64


def two_over_pi() -> list[int]:
    """Words of 64 bits, a zero first, then the bits of 2/pi behind the point."""
    bits, spare = 64 * (WORDS - 1), 64
    digits = (1 << (2 * bits + 3 * spare + 1)) // _pi(bits + 2 * spare) >> spare
    return [digits >> (64 * (WORDS - 1 - i)) & (2**64 - 1) for i in range(WORDS)]


def far_angle() -> str:
    """The function that reduces one angle x: quadrant n (in the low bits of `ROUND` + n), r, and r - (x - n pi/2)."""
    words = ", ".join(f"i64 {word}" for word in two_over_pi())
    return f"""@two_over_pi = internal constant [{WORDS} x i64] [{words}], align 8

define internal fastcc {TRIPLE} @far_angle(double %x) cold noinline {ATTRIBUTES} {{
entry:
{_turns()}
{_rest()}
{_times_half_pi()}
{_signs()}
  %one = insertvalue {TRIPLE} poison, double %shifted, 0
  %two = insertvalue {TRIPLE} %one, double %r, 1
  %all = insertvalue {TRIPLE} %two, double %off, 2
  ret {TRIPLE} %all
}}"""


def _turns() -> str:
    """Quarters of a turn modulo 4, `%turns`: the point stands behind the first two of 128 bits."""
    loads = "\n".join(
        f"  %at{i} = getelementptr i64, ptr %first, i64 {i}\n  %w{i} = load i64, ptr %at{i}, align 8" for i in range(4)
    )
    windows = "\n".join(
        f"  %f{i} = call i64 @llvm.fshl.i64(i64 %w{i}, i64 %w{i + 1}, i64 %shift)\n  %g{i} = zext i64 %f{i} to i128"
        for i in range(3)
    )
    return f"""  ; x = m 2^(biased - 1075); bits of 2/pi from `from` on
  %bits = bitcast double %x to i64
  %exponent = lshr i64 %bits, 52
  %biased = and i64 %exponent, 2047
  %fraction = and i64 %bits, {2**52 - 1}
  %m = or i64 %fraction, {2**52}
  %wanted = sub i64 %biased, 1013
  %from = call i64 @llvm.smax.i64(i64 %wanted, i64 0)
  %word = lshr i64 %from, 6
  %shift = and i64 %from, 63
  %first = getelementptr i64, ptr @two_over_pi, i64 %word
{loads}
{windows}
  ; m times them
  %m128 = zext i64 %m to i128
  %p0 = mul i128 %m128, %g0
  %p1 = mul i128 %m128, %g1
  %p2 = mul i128 %m128, %g2
  %s0 = shl i128 %p0, 64
  %s2 = lshr i128 %p2, 64
  %s1 = add i128 %s0, %p1
  %turns = add i128 %s1, %s2"""


def _rest() -> str:
    """The nearest integer `%n`, and the signed rest as a pair of numbers, `%a` and `%b`: from 53, 53 and 22 bits."""
    sizes = [bits_of(2.0**-e) for e in (64, 106, 128)]
    return f"""  %half = add i128 %turns, {2**125}
  %nearest = lshr i128 %half, 126
  %n = trunc i128 %nearest to i64
  %rest = shl i128 %turns, 2
  %low = trunc i128 %rest to i64
  %high128 = lshr i128 %rest, 64
  %high = trunc i128 %high128 to i64
  %top = and i64 %high, -2048
  %below.top = and i64 %high, 2047
  %moved = shl i64 %below.top, 42
  %from.low = lshr i64 %low, 22
  %middle = or i64 %moved, %from.low
  %last = and i64 %low, {2**22 - 1}
  %top.whole = sitofp i64 %top to double
  %middle.whole = sitofp i64 %middle to double
  %last.whole = sitofp i64 %last to double
  %top.number = fmul double %top.whole, {sizes[0]}
  %middle.number = fmul double %middle.whole, {sizes[1]}
  %last.number = fmul double %last.whole, {sizes[2]}
  %a = fadd double %top.number, %middle.number
  %taken = fsub double %a, %top.number
  %lost = fsub double %middle.number, %taken
  %b = fadd double %lost, %last.number"""


def _times_half_pi() -> str:
    """The angle, `%r1`, and what it has in excess, `%off1`."""
    high, low = map(bits_of, HALF_PI)
    return f"""  %r0 = fmul double %a, {high}
  %minus = fneg double %r0
  %e0 = call double @llvm.fma.f64(double %a, double {high}, double %minus)
  %e1 = call double @llvm.fma.f64(double %b, double {high}, double %e0)
  %e = call double @llvm.fma.f64(double %a, double {low}, double %e1)
  %r1 = fadd double %r0, %e
  %back = fsub double %r1, %r0
  %off1 = fsub double %back, %e"""


def _signs() -> str:
    """The sign of x; infinities and NaN have no sine."""
    return f"""  %negative = icmp slt i64 %bits, 0
  %sign = select i1 %negative, double -1.0, double 1.0
  %r2 = fmul double %r1, %sign
  %off = fmul double %off1, %sign
  %minus.n = sub i64 0, %n
  %signed.n = select i1 %negative, i64 %minus.n, i64 %n
  %quadrant = and i64 %signed.n, 3
  %shifted64 = or i64 %quadrant, {int(bits_of(ROUND), 16)}
  %shifted = bitcast i64 %shifted64 to double
  %none = icmp eq i64 %biased, 2047
  %nan = fsub double %x, %x
  %r = select i1 %none, double %nan, double %r2"""
