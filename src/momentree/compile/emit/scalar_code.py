"""LLVM text from formulas on scalars: numbers, truths and integers that write instructions as they are computed with.

A rule that is written for any scalar (`damping * size**2`, spatial.scalar.maximum) so becomes machine code, too. Arrays
stand in one working memory, each at a place of its own that all functions of a module know.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from momentree.compile.emit.routine import Routine, bits

UNROLLED = 8  # a loop of so many turns, at most, is written out


class Number:
    """A number at run time."""

    __slots__ = ("code", "name")

    def __init__(self, code: ScalarCode, name: str):
        self.code, self.name = code, name

    def _two(self, operation: str, a: Any, b: Any) -> Number:
        return Number(self.code, self.code.let(f"{operation} double {_named(a)}, {_named(b)}"))

    def _compared(self, relation: str, other: Any) -> Truth:
        return Truth(self.code, self.code.let(f"fcmp {relation} double {self.name}, {_named(other)}"))

    def _called(self, intrinsic: str, *others: Any) -> Number:
        typed = ", ".join(f"double {_named(x)}" for x in (self, *others))
        return Number(self.code, self.code.let(f"call double @llvm.{intrinsic}.f64({typed})"))

    def __add__(self, other: Any) -> Number:
        return self._two("fadd", self, other)

    def __radd__(self, other: Any) -> Number:
        return self._two("fadd", other, self)

    def __sub__(self, other: Any) -> Number:
        return self._two("fsub", self, other)

    def __rsub__(self, other: Any) -> Number:
        return self._two("fsub", other, self)

    def __mul__(self, other: Any) -> Number:
        return self._two("fmul", self, other)

    def __rmul__(self, other: Any) -> Number:
        return self._two("fmul", other, self)

    def __truediv__(self, other: Any) -> Number:
        return self._two("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Number:
        return self._two("fdiv", other, self)

    def __pow__(self, exponent: int) -> Number:
        assert exponent == 2
        return self * self

    def __neg__(self) -> Number:
        return Number(self.code, self.code.let(f"fneg double {self.name}"))

    # comparisons with NaN are false

    def __lt__(self, other: Any) -> Truth:
        return self._compared("olt", other)

    def __le__(self, other: Any) -> Truth:
        return self._compared("ole", other)

    def __gt__(self, other: Any) -> Truth:
        return self._compared("ogt", other)

    def __ge__(self, other: Any) -> Truth:
        return self._compared("oge", other)

    def sqrt(self) -> Number:
        return self._called("sqrt")

    def absolute(self) -> Number:
        return self._called("fabs")

    def maximum(self, other: Any) -> Number:
        return self._called("maximum", other)

    def minimum(self, other: Any) -> Number:
        return self._called("minimum", other)

    def sign_of(self, other: Number) -> Number:
        """Its size with the sign of another."""
        return self._called("copysign", other)


class Truth:
    """Whether something holds, at run time."""

    __slots__ = ("code", "name")

    def __init__(self, code: ScalarCode, name: str):
        self.code, self.name = code, name

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.code, self.code.let(f"and i1 {self.name}, {other.name}"))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.code, self.code.let(f"or i1 {self.name}, {other.name}"))

    def __invert__(self) -> Truth:
        return Truth(self.code, self.code.let(f"xor i1 {self.name}, true"))

    def select(self, a: Any, b: Any) -> Number:
        """The first number where it holds, else the second."""
        return Number(self.code, self.code.let(f"select i1 {self.name}, double {_named(a)}, double {_named(b)}"))


class Index:
    """An integer at run time."""

    __slots__ = ("code", "name")

    def __init__(self, code: ScalarCode, name: str):
        self.code, self.name = code, name

    def __add__(self, other: Index | int) -> Index:
        return Index(self.code, self.code.let(f"add i64 {self.name}, {_whole(other)}"))

    __radd__ = __add__

    def __mul__(self, other: Index | int) -> Index:
        return Index(self.code, self.code.let(f"mul i64 {self.name}, {_whole(other)}"))

    __rmul__ = __mul__

    def number(self) -> Number:
        """The same as a number."""
        return Number(self.code, self.code.let(f"sitofp i64 {self.name} to double"))


class Vector:
    """Numbers in memory, from `start` on, every `step`-th."""

    __slots__ = ("base", "code", "start", "step")

    def __init__(self, code: ScalarCode, base: str, start: int | Index = 0, step: int = 1):
        self.code, self.base, self.start, self.step = code, base, start, step

    def pointer(self, i: int | Index = 0) -> str:
        """The address of a number."""
        place = self.start + (i if self.step == 1 else i * self.step)
        return self.code.let(f"getelementptr double, ptr {self.base}, i64 {_whole(place)}")

    def __getitem__(self, i: int | Index) -> Number:
        return Number(self.code, self.code.let(f"load double, ptr {self.pointer(i)}, align 8"))

    def __setitem__(self, i: int | Index, value: Any) -> None:
        self.code.do(f"store double {_named(value)}, ptr {self.pointer(i)}, align 8")

    def part(self, start: int | Index, step: int = 1) -> Vector:
        """From a later number on, every so many."""
        assert self.step == 1
        return Vector(self.code, self.base, self.start + start, step)


class ScalarCode(Routine):
    """The body of a function on one row, in a working memory %work whose arrays have names."""

    def __init__(self, places: Mapping[str, int]):
        super().__init__(1)
        self.places = places

    def vector(self, name: str) -> Vector:
        """An array of the working memory."""
        return Vector(self, "%work", self.places[name])

    def integers(self, table: str, i: int | Index) -> Index:
        """An entry of a constant table of integers."""
        at = self.let(f"getelementptr i64, ptr @{table}, i64 {_whole(i)}")
        return Index(self, self.let(f"load i64, ptr {at}"))

    def each(self, begin: int | Index, end: int | Index) -> Iterator[Any]:
        """For begin, begin + 1, ... end - 1: a short loop is written out, one index after the other."""
        if isinstance(begin, int) and isinstance(end, int) and end - begin <= UNROLLED:
            yield from range(begin, end)
            return
        with self.span(_whole(begin), _whole(end)) as i:
            yield Index(self, i)

    def total(self, begin: int | Index, end: int | Index, start: Any, added: Callable[[Any, Number], Number]) -> Number:
        """Begun with a number, what `added(i, sum so far)` makes of it for begin, ... end - 1."""
        number = Number(self, _named(start))
        if isinstance(begin, int) and isinstance(end, int) and end - begin <= UNROLLED:
            for i in range(begin, end):
                number = added(i, number)
            return number
        name, before = self.new_label("total"), self.block
        self.goto(name)
        self.label(name)
        first = f"%{name}.i = phi i64 [ {_whole(begin)}, %{before} ], [ %{name}.next, %{name}.end ]"
        self.do(first)
        self.do(f"%{name}.sum = phi double [ {number.name}, %{before} ], [ %{name}.more, %{name}.end ]")
        more = self.let(f"icmp slt i64 %{name}.i, {_whole(end)}")
        self.do(f"br i1 {more}, label %{name}.body, label %{name}.done")
        self.label(f"{name}.body")
        new = added(Index(self, f"%{name}.i"), Number(self, f"%{name}.sum"))
        self.goto(f"{name}.end")
        self.label(f"{name}.end")
        self.do(f"%{name}.more = select i1 true, double {new.name}, double {new.name}")
        self.do(f"%{name}.next = add i64 %{name}.i, 1")
        self.goto(name)
        self.label(f"{name}.done")
        return Number(self, f"%{name}.sum")

    @contextlib.contextmanager
    def if_(self, condition: Truth) -> Iterator[None]:
        """Runs its body if the condition holds."""
        with self.when(condition.name):
            yield

    @contextlib.contextmanager
    def repeated(self, most: int) -> Iterator[Callable[[Truth], None]]:
        """Runs its body so many times at most; calling what it yields leaves it there if a condition holds."""
        name, before = self.new_label("repeat"), self.block
        self.goto(name)
        self.label(name)
        self.do(f"%{name}.i = phi i64 [ 0, %{before} ], [ %{name}.next, %{name}.end ]")
        more = self.let(f"icmp slt i64 %{name}.i, {most}")
        self.do(f"br i1 {more}, label %{name}.body, label %{name}.done")
        self.label(f"{name}.body")

        def leave(condition: Truth) -> None:
            on = self.new_label("on")
            self.do(f"br i1 {condition.name}, label %{name}.done, label %{on}")
            self.label(on)

        yield leave
        self.goto(f"{name}.end")
        self.label(f"{name}.end")
        self.do(f"%{name}.next = add i64 %{name}.i, 1")
        self.goto(name)
        self.label(f"{name}.done")

    def run(self, function: str, *vectors: Vector) -> None:
        """Another function of the module: on the working memory, or on arrays in it."""
        pointers = ", ".join(f"ptr {vector.pointer()}" for vector in vectors)
        self.do(f"call void @{function}({pointers or 'ptr %work'})")

    def copy(self, source: Vector, to: Vector, count: int) -> None:
        """Numbers to another place, eight at a time."""
        for i in self.each(0, count // 8):
            eight = self.let(f"load <8 x double>, ptr {source.pointer(i * 8)}, align 8")
            self.do(f"store <8 x double> {eight}, ptr {to.pointer(i * 8)}, align 8")
        for i in range(count - count % 8, count):
            to[i] = source[i]

    def dot(self, a: Vector, b: Vector, count: int | Index) -> Number:
        """The sum of products."""
        return self.total(0, count, 0.0, lambda i, total: total + a[i] * b[i])

    def reduced(self, number: Number, a: Vector, b: Vector, begin: int | Index, end: int | Index) -> Number:
        """A number less the products from begin to end."""
        return self.total(begin, end, number, lambda i, rest: rest - a[i] * b[i])

    def largest(self, a: Vector, count: int) -> Number:
        """The largest size of all; NaN where there is one."""
        return self.total(0, count, 0.0, lambda i, total: total.maximum(a[i].absolute()))


def function_text(name: str, places: Mapping[str, int], write: Callable[[ScalarCode], None]) -> str:
    """A function of the module that works in its memory."""
    code = ScalarCode(places)
    write(code)
    return f"define internal void @{name}(ptr noalias %work) nounwind {{\nentry:\n{code.lines}\n  ret void\n}}"


def places_of(sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Where each array of so many numbers starts, and how many there are together."""
    places, end = {}, 0
    for name, size in sizes.items():
        places[name] = end
        end += size
    return places, end


def _named(x: Any) -> str:
    return x.name if isinstance(x, Number) else bits(float(x))


def _whole(i: int | Index) -> str:
    return i.name if isinstance(i, Index) else str(i)
