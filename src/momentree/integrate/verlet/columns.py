"""Columns of a structure-preserving step in machine code: one number for each lane; tables, triples, calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from momentree.compile.emit.llvm_functions import Lines
from momentree.integrate.columns import ColumnRoutine
from momentree.integrate.verlet.layout import Parts, VerletLayout

Triple = list[str]  # names of three values


class ColumnCode(ColumnRoutine):
    """What all parts of the machine code of a step share."""

    def __init__(self, parts: Parts, layout: VerletLayout, substeps: int, width: int, parameters: bool):
        super().__init__(width, width)
        self.parts, self.layout, self.substeps, self.parameters = parts, layout, substeps, parameters

    def _a(self) -> str:
        return self._column("%scalars", 2)

    def _momenta(self) -> contextlib.AbstractContextManager[str]:
        return self.loop(max(self.layout.nv, 1))

    def _kicks(self) -> contextlib.AbstractContextManager[str]:
        """Forces, and powers behind them."""
        return self.loop(max(self.layout.kicks, 1))

    def _each(self, table: str) -> Iterator[tuple[str, str]]:
        """A loop over the pairs of a table, if it has any: the body of a `for` over this is written once."""
        pairs = getattr(self.parts, table)
        if not pairs:
            return
        with self.loop(len(pairs)) as k:
            first = self.let(f"mul i64 {k}, 2")
            yield self._entry(table, "i64", first), self._entry(table, "i64", self.let(f"add i64 {first}, 1"))

    def _entry(self, table: str, kind: str, index: str) -> str:
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr {kind}, ptr @{table}, i64 {index}')}")

    def _triple(self, array: str, i: str) -> Triple:
        return [self.chunk(array, k) for k in (i, self._next(i, 1), self._next(i, 2))]

    def _put_triple(self, values: Triple, array: str, i: str) -> None:
        for k, value in enumerate(values):
            self.put_chunk(value, array, self._next(i, k))

    def _next(self, i: str, k: int) -> str:
        return i if k == 0 else self.let(f"add i64 {i}, {k}")

    def _copy(self, array: str, to: str, columns: int) -> None:
        with self.loop(max(columns, 1)) as i:
            self.put_chunk(self.chunk(array, i), to, i)

    def _call(self, function: str, time: int, state: str = "%there", to: str = "%out") -> None:
        """`kick`, `drift` or `rhs` of a state at t0 or t1."""
        self._put_column(self._column("%scalars", time), "%time")
        parameters = "ptr %parameters, " if self.parameters else ""
        arguments = f"ptr {state}, ptr %time, {parameters}ptr {to}, ptr %scratch"
        self.do(f"call void @{function}_{self.width}({arguments})")
        self._count_evaluation()

    def _count_evaluation(self) -> None:
        self.count("%counts", 2)

    def _work_in(self, lanes: str) -> None:
        """A place to note in which lanes what follows is still needed: a mask."""


def dot(lines: Lines, a: Sequence[str], b: Sequence[str]) -> str:
    total = lines.times(a[0], b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = lines.fused(x, y, total)
    return total


def cross(lines: Lines, a: Sequence[str], b: Sequence[str]) -> Triple:
    pairs = ((1, 2), (2, 0), (0, 1))
    return [lines.less(lines.times(a[i], b[j]), lines.times(a[j], b[i])) for i, j in pairs]


def fused(lines: Lines, factor: str, a: Sequence[str], b: Sequence[str]) -> Triple:
    """factor a + b."""
    return [lines.fused(factor, x, y) for x, y in zip(a, b, strict=True)]


def two_sum(lines: Lines, a: str, b: str) -> tuple[str, str]:
    """a + b as rounded, and what rounding took off (Knuth)."""
    total = lines.plus(a, b)
    second = lines.less(total, a)
    first = lines.less(total, second)
    return total, lines.plus(lines.less(a, first), lines.less(b, second))
