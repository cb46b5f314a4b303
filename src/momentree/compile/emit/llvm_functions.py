"""Lines of LLVM text on one number (`double`) or several (`<W x double>`), and how each operation of a tape is written.

An operation is written as instructions, or as a call of a function of the module (llvm_definitions.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from momentree.compile.trace.operations import TableOperation, complete

# the elementary functions of a tape that are functions of the module, besides sin and cos, which are the pair "sincos"
FUNCTIONS = ("tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "power", "floor")


def bits_of(value: float) -> str:
    """A number as LLVM writes it, exactly."""
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
        return self.same(f"double {bits_of(value)}")

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

    # --- arithmetic: each result is rounded by itself; `fused` is rounded once, wherever the machine can do that;
    #     `fma` is rounded once on every machine, where it may take long: elementary functions are built on it ---

    def plus(self, a: str, b: str) -> str:
        return self.let(f"fadd {self.type} {a}, {b}")

    def less(self, a: str, b: str) -> str:
        return self.let(f"fsub {self.type} {a}, {b}")

    def times(self, a: str, b: str) -> str:
        return self.let(f"fmul {self.type} {a}, {b}")

    def fused(self, a: str, b: str, c: str) -> str:
        """a b + c."""
        return self.intrinsic("fmuladd", a, b, c)

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def over(self, a: str, b: str) -> str:
        return self.let(f"fdiv {self.type} {a}, {b}")

    def negative(self, a: str) -> str:
        return self.let(f"fneg {self.type} {a}")

    def reciprocal(self, a: str) -> str:
        return self.over(self.number(1.0), a)

    # --- bits: 64 of them in each lane ---

    def bits(self, x: str) -> str:
        """The bits of a number, as an integer."""
        return self.let(f"bitcast {self.type} {x} to {self.integer}")

    def of_bits(self, integer: str) -> str:
        """The number that has these bits."""
        return self.let(f"bitcast {self.integer} {integer} to {self.type}")

    def whole(self, operation: str, a: str, b: int) -> str:
        """An operation of integers, the second of them a constant."""
        return self.let(f"{operation} {self.integer} {a}, {self.same(f'i64 {b}')}")

    # --- choice, intrinsics, lanes ---

    def compare(self, relation: str, a: str, b: str) -> str:
        return self.let(f"fcmp {relation} {self.type} {a}, {b}")

    def choose(self, condition: str, a: str, b: str) -> str:
        return self.let(f"select {self.truth} {condition}, {self.type} {a}, {self.type} {b}")

    def logical(self, operation: str, a: str, b: str) -> str:
        """Of two conditions: and, or, xor."""
        return self.let(f"{operation} {self.truth} {a}, {b}")

    def intrinsic(self, name: str, *arguments: str) -> str:
        kind = "f64" if self.width == 1 else f"v{self.width}f64"
        return self.let(f"call {self.type} @llvm.{name}.{kind}({typed(self.type, arguments)})")

    def call(self, function: str, *arguments: str) -> str:
        """A function of this module."""
        return self.let(f"call fastcc {self.type} @{function}_{self.width}({typed(self.type, arguments)})")

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


def typed(kind: str, arguments: Iterable[str]) -> str:
    """Arguments of a call, each with its type."""
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


# the instructions that compute an operation, or the function of the module that is called for it (llvm_definitions.py)
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
        **{name: name for name in FUNCTIONS},
        **dict.fromkeys(("sin", "cos"), "sincos"),
    },
)
