"""Elementary functions in the text of LLVM, the same for one number (`double`) and for several (`<W x double>`).

sin and cos are computed here, without a branch but for the rare huge argument: reduction by Cody and Waite in three
parts, with the tail of the remainder (W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980), then
the polynomials of fdlibm (k_sin.c, k_cos.c). So is tanh, more closely than in most libraries, from the exponential
function. The other transcendental functions are those of libm, lane by lane.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable

from momentree.compile.trace.operations import OPERATIONS, TableOperation, complete

# functions of libm, by their names on a tape
LIBM = {name: name for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "exp", "log")}
LIBM["floor"] = "floor"
LIBM["power"] = "pow"
LARGEST = 1e5  # argument of the own sin and cos: beyond it, libm


def libm_symbol(function: str) -> str:
    """What machine code calls a function of libm: a name of our own, that LLVM takes for no function it knows."""
    return f"momentree_libm_{function}"


def _bits(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Lines:
    """Straight-line code, one instruction after the other, on values of so many lanes.

    >>> lines = Lines(4)
    >>> lines.times("%x", lines.number(0.5))
    '%t0'
    >>> print(lines)
      %t0 = fmul <4 x double> %x, splat (double 0x3FE0000000000000)
    """

    def __init__(self, width: int, prefix: str = "t"):
        self.width, self._prefix = width, prefix
        self.type, self.integer, self.truth = (self.lanes_of(kind) for kind in ("double", "i64", "i1"))
        self._lines: list[str] = []
        self._count = 0

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def lanes_of(self, kind: str) -> str:
        """The type of a value with one scalar of that kind in each lane."""
        return kind if self.width == 1 else f"<{self.width} x {kind}>"

    def number(self, value: float) -> str:
        """A constant, the same in every lane."""
        return self.same(f"double {_bits(value)}")

    def same(self, constant: str) -> str:
        """A constant with its type, such as "i64 3", in every lane."""
        return constant.split()[1] if self.width == 1 else f"splat ({constant})"

    def let(self, instruction: str) -> str:
        """The name of what an instruction gives."""
        name = f"%{self._prefix}{self._count}"
        self._count += 1
        self._lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """An instruction that gives nothing."""
        self._lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        self._lines.append(f"{name}:")

    # --- arithmetic: each result is rounded by itself; `fused` is rounded once, wherever the machine can do that ---

    def plus(self, a: str, b: str) -> str:
        return self.let(f"fadd {self.type} {a}, {b}")

    def less(self, a: str, b: str) -> str:
        return self.let(f"fsub {self.type} {a}, {b}")

    def times(self, a: str, b: str) -> str:
        return self.let(f"fmul {self.type} {a}, {b}")

    def fused(self, a: str, b: str, c: str) -> str:
        """a b + c."""
        return self.intrinsic("fmuladd", a, b, c)

    def negative(self, a: str) -> str:
        return self.let(f"fneg {self.type} {a}")

    def reciprocal(self, a: str) -> str:
        return self.let(f"fdiv {self.type} {self.number(1.0)}, {a}")

    # --- choice, intrinsics, lanes ---

    def compare(self, relation: str, a: str, b: str) -> str:
        return self.let(f"fcmp {relation} {self.type} {a}, {b}")

    def choose(self, condition: str, a: str, b: str) -> str:
        return self.let(f"select {self.truth} {condition}, {self.type} {a}, {self.type} {b}")

    def intrinsic(self, name: str, *arguments: str) -> str:
        kind = "f64" if self.width == 1 else f"v{self.width}f64"
        return self.let(f"call {self.type} @llvm.{name}.{kind}({_typed(self.type, arguments)})")

    def call(self, function: str, *arguments: str) -> str:
        """A function of this module."""
        return self.let(f"call fastcc {self.type} @{function}_{self.width}({_typed(self.type, arguments)})")

    def sine_and_cosine(self, x: str) -> tuple[str, str]:
        pair = f"{{ {self.type}, {self.type} }}"
        both = self.let(f"call fastcc {pair} @sincos_{self.width}({self.type} {x})")
        return self.let(f"extractvalue {pair} {both}, 0"), self.let(f"extractvalue {pair} {both}, 1")

    def splat(self, scalar: str) -> str:
        """A scalar, known only at run time, in every lane."""
        if self.width == 1:
            return scalar
        first = self.let(f"insertelement {self.type} poison, double {scalar}, i64 0")
        pattern = f"<{self.width} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.type} {first}, {self.type} poison, {pattern}")

    def lane(self, value: str, lane: int) -> str:
        return value if self.width == 1 else self.let(f"extractelement {self.type} {value}, i64 {lane}")

    def of_lanes(self, scalars: list[str]) -> str:
        """One value of a scalar for each lane."""
        if self.width == 1:
            return scalars[0]
        value = "poison"
        for lane, scalar in enumerate(scalars):
            value = self.let(f"insertelement {self.type} {value}, double {scalar}, i64 {lane}")
        return value

    def lane_by_lane(self, function: str, *arguments: str) -> str:
        """A function of libm."""
        symbol, results = libm_symbol(function), []
        for lane in range(self.width):
            scalars = [self.lane(x, lane) for x in arguments]
            results.append(self.let(f"call double @{symbol}({_typed('double', scalars)})"))
        return self.of_lanes(results)


def _typed(kind: str, arguments: Iterable[str]) -> str:
    return ", ".join(f"{kind} {x}" for x in arguments)


# --- the operations of a tape ---


def _sign(lines: Lines, x: str) -> str:
    """x itself where it is neither positive nor negative: 0 or NaN."""
    zero = lines.number(0.0)
    negative = lines.choose(lines.compare("olt", x, zero), lines.number(-1.0), x)
    return lines.choose(lines.compare("ogt", x, zero), lines.number(1.0), negative)


def _select(lines: Lines, x: str, a: str, b: str) -> str:
    return lines.choose(lines.compare("ogt", x, lines.number(0.0)), a, b)


def _locate(lines: Lines, operation: TableOperation, table: str, x: str) -> str:
    """Lane by lane, by the function of the module that searches an array of so many numbers."""
    found = []
    for lane in range(lines.width):
        search = f"@locate_1(double {lines.lane(x, lane)}, ptr {table}, i64 {len(operation.pieces.breaks)})"
        found.append(lines.let(f"call fastcc double {search}"))
    return lines.of_lanes(found)


def _entry(lines: Lines, operation: TableOperation, table: str, piece: str) -> str:
    """Lane by lane, from an array of rows."""
    found = []
    for lane in range(lines.width):
        row = lines.let(f"fptosi double {lines.lane(piece, lane)} to i64")
        row_at = lines.let(f"mul i64 {row}, {operation.pieces.rows.shape[1]}")
        at = lines.let(f"getelementptr double, ptr {table}, i64 {row_at}")
        at = lines.let(f"getelementptr double, ptr {at}, i64 {operation.column}")
        found.append(lines.let(f"load double, ptr {at}, align 8"))
    return lines.of_lanes(found)


# the instructions that compute an operation, or the function of the module that is called for it (`definitions`)
SPELLINGS: dict[str, Callable[..., str] | str] = complete(
    "LLVM",
    {
        "+": Lines.plus,
        "*": Lines.times,
        "reciprocal": Lines.reciprocal,
        "sqrt": lambda lines, x: lines.intrinsic("sqrt", x),
        "absolute": lambda lines, x: lines.intrinsic("fabs", x),
        "minimum": lambda lines, a, b: lines.intrinsic("minimum", a, b),  # NaN where either is
        "maximum": lambda lines, a, b: lines.intrinsic("maximum", a, b),
        "sign": _sign,
        "select": _select,
        "locate": _locate,
        "entry": _entry,
        **{name: name for name in (*LIBM, "tanh")},
        **dict.fromkeys(("sin", "cos"), "sincos"),
    },
)


# --- functions of a module ---


def definitions(functions: Iterable[tuple[str, int]]) -> str:
    """The functions of a module: names on a tape, and widths; sin and cos are the pair "sincos"."""
    wanted = sorted(set(functions))
    libm = sorted({part for name, _ in wanted for part in _NEEDS.get(name, (name,))})
    types = {name: ", ".join(["double"] * OPERATIONS[name].arity) for name in libm}
    texts = [f"declare double @{libm_symbol(name)}({types[name]}) #0" for name in libm]
    texts += [_OWN[name](width) if name in _OWN else _from_libm(name, width) for name, width in wanted]
    return "\n\n".join([*texts, "attributes #0 = { nounwind willreturn memory(none) }"])


def _from_libm(function: str, width: int) -> str:
    lines, arguments = Lines(width), [f"%x{i}" for i in range(OPERATIONS[function].arity)]
    result = lines.lane_by_lane(function, *arguments)
    head = f"define internal fastcc {lines.type} @{function}_{width}({_typed(lines.type, arguments)}) #0"
    return f"{head} {{\n{lines}\n  ret {lines.type} {result}\n}}"


# pi/2 in three parts of 33 bits, whose products with n < 2^20 are exact, and the remainder (fdlibm, e_rem_pio2.c)
_HALF_PI = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104"))
)
_ROUND = (
    1.5 * 2**52
)  # added and taken away, it rounds to an integer, and leaves that integer in the low bits of the sum
# sin x = x + S[0] x^3 + S[1] x^5 + ..., cos x = 1 - x^2/2 + C[0] x^4 + ... for |x| < pi/4
_S: tuple[float, ...] = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04)
_S += (2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
_C: tuple[float, ...] = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05)
_C += (-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)


def sincos(width: int) -> str:
    """The function that gives the pair of sin x and cos x."""
    lines = Lines(width)
    pair = f"{{ {lines.type}, {lines.type} }}"
    x, size = "%x", lines.intrinsic("fabs", "%x")
    huge = lines.compare("ugt", size, lines.number(LARGEST))  # or NaN
    # x = n pi/2 + r + tail, and sin and cos of r + tail
    n, quadrant = _nearest(lines, x)
    r, tail = _remainder(lines, x, n)
    sine, cosine = _near_zero(lines, r, tail)
    # an odd quadrant exchanges them, the upper two of four change the sign
    odd = lines.let(f"trunc {lines.integer} {quadrant} to {lines.truth}")
    next_one = lines.let(f"add {lines.integer} {quadrant}, {lines.same('i64 1')}")
    sine, cosine = lines.choose(odd, cosine, sine), lines.choose(odd, sine, cosine)
    sine, cosine = _signed(lines, sine, quadrant), _signed(lines, cosine, next_one)
    any_huge = huge if width == 1 else lines.let(f"call i1 @llvm.vector.reduce.or.v{width}i1({lines.truth} {huge})")
    lines.do(f"br i1 {any_huge}, label %beyond, label %done")
    lines.label("beyond")
    far_sine = lines.choose(huge, lines.lane_by_lane("sin", x), sine)
    far_cosine = lines.choose(huge, lines.lane_by_lane("cos", x), cosine)
    lines.do("br label %done")
    lines.label("done")
    sine = lines.let(f"phi {lines.type} [ {sine}, %entry ], [ {far_sine}, %beyond ]")
    cosine = lines.let(f"phi {lines.type} [ {cosine}, %entry ], [ {far_cosine}, %beyond ]")
    half = lines.let(f"insertvalue {pair} poison, {lines.type} {sine}, 0")
    whole = lines.let(f"insertvalue {pair} {half}, {lines.type} {cosine}, 1")
    head = f"define internal fastcc {pair} @sincos_{width}({lines.type} %x) #0"
    return f"{head} {{\nentry:\n{lines}\n  ret {pair} {whole}\n}}"


def _nearest(lines: Lines, x: str) -> tuple[str, str]:
    """n, the integer next to x / (pi/2), as a number and as an integer whose low bits are right."""
    big = lines.number(_ROUND)
    shifted = lines.plus(lines.times(x, lines.number(2 / math.pi)), big)
    return lines.less(shifted, big), lines.let(f"bitcast {lines.type} {shifted} to {lines.integer}")


def _remainder(lines: Lines, x: str, n: str) -> tuple[str, str]:
    """r and tail: r + tail = x - n pi/2 to far below the last bit of r, even where x is next to n pi/2."""
    first, second, third, rest = (lines.times(n, lines.number(part)) for part in _HALF_PI)
    r = lines.less(x, first)  # exact
    r, error = _difference(lines, r, second)
    r, other = _difference(lines, r, third)
    low = lines.less(rest, lines.plus(error, other))
    # taken away, not added: so that -0 stays -0
    total = lines.less(r, low)
    return total, lines.less(lines.less(r, total), low)


def _difference(lines: Lines, a: str, b: str) -> tuple[str, str]:
    """a - b and its rounding error, whichever is larger (Knuth's two-sum)."""
    total = lines.less(a, b)
    minus_b = lines.less(total, a)
    off_a = lines.less(a, lines.less(total, minus_b))
    return total, lines.less(off_a, lines.plus(b, minus_b))


def _near_zero(lines: Lines, x: str, y: str) -> tuple[str, str]:
    """sin and cos of x + y for |x| < pi/4, y the tail of x: only the polynomials may fuse."""
    plus, less, times = lines.plus, lines.less, lines.times
    z = times(x, x)
    half, one = lines.number(0.5), lines.number(1.0)
    # sin: x - ((z (y/2 - x^3 r) - y) - x^3 S0)
    cube, r = times(z, x), _polynomial(lines, z, _S[1:])
    bend = less(times(z, less(times(half, y), times(cube, r))), y)
    sine = less(x, less(bend, times(cube, lines.number(_S[0]))))
    # cos: w + (((1 - w) - z/2) + (z^2 r - x y)), w = 1 - z/2
    half_z, r = times(half, z), times(z, _polynomial(lines, z, _C))
    w = less(one, half_z)
    lost = less(less(one, w), half_z)
    return sine, plus(w, plus(lost, less(times(z, r), times(x, y))))


def _polynomial(lines: Lines, z: str, coefficients: tuple[float, ...]) -> str:
    result = lines.number(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = lines.fused(z, result, lines.number(coefficient))
    return result


def _signed(lines: Lines, value: str, quadrant: str) -> str:
    """Minus the value where the second bit of the quadrant is set."""
    second = lines.let(f"and {lines.integer} {quadrant}, {lines.same('i64 2')}")
    sign = lines.let(f"shl {lines.integer} {second}, {lines.same('i64 62')}")
    bits = lines.let(f"bitcast {lines.type} {value} to {lines.integer}")
    turned = lines.let(f"xor {lines.integer} {bits}, {sign}")
    return lines.let(f"bitcast {lines.integer} {turned} to {lines.type}")


# tanh x = x + x^3 P(x^2) / Q(x^2) for |x| < 0.625 (Cephes, tanh.c)
_P = (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1)
_Q = (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0)


def tanh(width: int) -> str:
    """The function that gives tanh x: beyond 0.625, 1 - 2 / (exp(2x) + 1)."""
    lines, x = Lines(width), "%x"
    size, one = lines.intrinsic("fabs", x), lines.number(1.0)
    z = lines.times(x, x)
    fraction = lines.times(_polynomial(lines, z, _P), lines.reciprocal(_polynomial(lines, z, _Q)))
    near = lines.fused(size, lines.times(z, fraction), size)
    grown = lines.plus(lines.lane_by_lane("exp", lines.plus(size, size)), one)
    far = lines.less(one, lines.times(lines.number(2.0), lines.reciprocal(grown)))
    result = lines.choose(lines.compare("olt", size, lines.number(0.625)), near, far)
    result = lines.intrinsic("copysign", result, x)
    head = f"define internal fastcc {lines.type} @tanh_{width}({lines.type} %x) #0"
    return f"{head} {{\n{lines}\n  ret {lines.type} {result}\n}}"


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


_OWN: dict[str, Callable[[int], str]] = {"sincos": sincos, "tanh": tanh, "locate": locate}
_NEEDS: dict[str, tuple[str, ...]] = {"sincos": ("sin", "cos"), "tanh": ("exp",), "locate": ()}  # of libm
