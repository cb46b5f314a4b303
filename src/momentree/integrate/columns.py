"""Columns in the machine code of integrators: one number for each lane, conditions that hold in some of the lanes.

What a lane computes never depends on its neighbours. So where lanes go different ways, all of them compute, and a mask
says which of them take the result. A mask is a column of numbers, 0 where it does not hold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.routine import Routine


class Value:
    """A value in LLVM text, with which formulas compute as with a number."""

    def __init__(self, lines: Lines, name: str):
        self._lines, self.name = lines, name

    def _other(self, x: Value | float) -> str:
        return x.name if isinstance(x, Value) else self._lines.number(float(x))

    def __add__(self, x: Value | float) -> Value:
        return Value(self._lines, self._lines.plus(self.name, self._other(x)))

    def __sub__(self, x: Value | float) -> Value:
        return Value(self._lines, self._lines.less(self.name, self._other(x)))

    def __mul__(self, x: Value | float) -> Value:
        return Value(self._lines, self._lines.times(self.name, self._other(x)))

    def __truediv__(self, x: Value | float) -> Value:
        return Value(self._lines, self._lines.let(f"fdiv {self._lines.type} {self.name}, {self._other(x)}"))

    def __rsub__(self, x: float) -> Value:
        return Value(self._lines, self._lines.less(self._lines.number(float(x)), self.name))

    def __rmul__(self, x: float) -> Value:
        return self * x


class ColumnRoutine(Routine):
    """LLVM text on columns of W numbers; arrays are read in chunks, which are columns where W > 1."""

    def __init__(self, width: int, chunk: int):
        super().__init__(chunk)
        self.width, self.column = width, self.beside(width, "c")

    # --- columns in memory ---

    def _column(self, array: str, k: str | int = 0) -> str:
        at = self.let(f"getelementptr {self.column.type}, ptr {array}, i64 {k}")
        return self.let(f"load {self.column.type}, ptr {at}, align 8")

    def _put_column(self, value: str, array: str, k: str | int = 0) -> None:
        at = self.let(f"getelementptr {self.column.type}, ptr {array}, i64 {k}")
        self.do(f"store {self.column.type} {value}, ptr {at}, align 8")

    def _add_column(self, value: str, array: str, k: str | int = 0) -> None:
        self._put_column(self.column.plus(self._column(array, k), value), array, k)

    def _allocate_columns(self, *names: str) -> None:
        for name in names:
            self.do(f"%{name} = alloca {self.column.type}, align 64")

    def _wide(self, value: str) -> str:
        """A column as a chunk."""
        return self.lines.splat(value) if self.width == 1 else value

    def _shared(self, array: str, k: int) -> str:
        """A number that all lanes share, as a column."""
        return self.column.splat(self.number(array, k))

    # --- masks ---

    def _mask(self, truth: str) -> str:
        """A condition as a column of numbers, 1 or 0."""
        return self.column.choose(truth, self.column.number(1.0), self.column.number(0.0))

    def _holds(self, mask: str) -> str:
        """A column of numbers as a condition."""
        return self.column.compare("une", mask, self.column.number(0.0))

    def _both(self, a: str, b: str) -> str:
        return self.let(f"and {self.column.truth} {a}, {b}")

    def _either(self, a: str, b: str) -> str:
        return self.let(f"or {self.column.truth} {a}, {b}")

    def _not(self, a: str) -> str:
        return self.let(f"xor {self.column.truth} {a}, {self.column.same('i1 true')}")

    def _any(self, truth: str) -> str:
        """Whether a condition holds in any lane."""
        if self.width == 1:
            return truth
        bits = self.let(f"bitcast {self.column.truth} {truth} to i{self.width}")
        return self.let(f"icmp ne i{self.width} {bits}, 0")

    def _all_of(self, truth: str) -> str:
        """Whether a condition holds in all lanes."""
        if self.width == 1:
            return truth
        bits = self.let(f"bitcast {self.column.truth} {truth} to i{self.width}")
        return self.let(f"icmp eq i{self.width} {bits}, -1")

    def _branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def _at_label(self, name: str) -> None:
        self.goto(name)
        self.label(name)

    def _take(self, mask: str, source: str, to: str, columns: int) -> None:
        """Copy columns in the lanes where a condition holds."""
        if columns:
            with self.loop(columns) as i:
                value = self.column.choose(mask, self._column(source, i), self._column(to, i))
                self._put_column(value, to, i)

    def _make_quaternions_unit(self, y: str, count: int) -> None:
        """Bring the quaternions of a state to unit length; the table @quaternions says where they are."""
        if not count:
            return
        column = self.column
        with self.loop(count) as i:
            first = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @quaternions, i64 {i}')}")
            rows = [self.let(f"add i64 {first}, {k}") for k in range(4)]
            parts = [self._column(y, row) for row in rows]
            square = column.times(parts[0], parts[0])
            for part in parts[1:]:
                square = column.fused(part, part, square)
            scale = column.reciprocal(column.intrinsic("sqrt", square))
            for row, part in zip(rows, parts, strict=True):
                self._put_column(column.times(part, scale), y, row)

    @contextlib.contextmanager
    def _each_lane(self, mask: str, k: int = 0) -> Iterator[str]:
        """Runs its body for the lanes in which a mask in memory holds, one after the other."""
        first = self.offset(mask, k * self.width)
        with self.loop(self.width) as lane:
            held = self.let(f"load double, ptr {self.offset(first, lane)}")
            with self.when(self.let(f"fcmp une double {held}, 0.0")):
                yield lane
