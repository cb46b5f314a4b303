"""What all parts of the machine code of a Radau step share: what it remembers, and sums over its stages."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.routine import bits
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.projection import Projection
from momentree.integrate.radau.layout import Memory, RadauLayout
from momentree.integrate.runge_kutta.explicit import ExplicitStep


class RadauStepCode(ExplicitStep):
    """Of the step of explicit methods, records, projection and the error norm stay as they are.

    `entries` of the Jacobian come from its code, none where there are differences, `wide` columns at a time.
    """

    layout: RadauLayout

    def __init__(
        self, layout: RadauLayout, controlled: int, quaternions: int, parameters: bool, dense: bool, entries: int,
        projection: Projection | None = None, norm: ErrorNorm | None = None, wide: int = 1,
    ):  # fmt: skip
        super().__init__(layout.tableau, layout, 1, controlled, quaternions, parameters, dense, projection, norm)
        self.entries, self.uncontrolled, self.wide = entries, layout.n - controlled, wide
        self.radau, self.s = layout.tableau.used, layout.tableau.stages

    def _get(self, what: Memory) -> str:
        return self.number("%memory", what)

    def _set(self, what: Memory, value: str | float) -> None:
        self.put(bits(value) if isinstance(value, (int, float)) else value, "%memory", what)

    def _is(self, what: Memory, holds: bool = True) -> str:
        return self.let(f"fcmp {'une' if holds else 'oeq'} double {self._get(what)}, {bits(0.0)}")

    def _over(self, a: str | float, b: str) -> str:
        return self.let(f"fdiv double {bits(a) if isinstance(a, (int, float)) else a}, {b}")

    def _within(self, x: str, least: float, most: float) -> str:
        """x, but not beyond these; a NaN is the most."""
        return self.call("llvm.maxnum.f64", self.call("llvm.minnum.f64", x, bits(most)), bits(least))

    def _power(self, x: str, exponent: str | float) -> str:
        return self.column.call("power", x, bits(exponent) if isinstance(exponent, (int, float)) else exponent)

    def _weighted(self, row: Sequence[float], chunks: Sequence[str]) -> str:
        """The sum of chunks times numbers."""
        total = ""
        for weight, x in zip(row, chunks, strict=True):
            w = self.lines.number(weight)
            total = self.lines.fused(x, w, total) if total else self.lines.times(x, w)
        return total

    def _chunks(self, name: str, i: str) -> list[str]:
        """Of the arrays of one name, one for each stage."""
        return [self.chunk(f"%{name}{k}", i) for k in range(self.s)]

    def _put_chunks(self, values: Sequence[str], name: str, i: str) -> None:
        for k, value in enumerate(values):
            self.put_chunk(value, f"%{name}{k}", i)

    def _wide_parameters(self) -> str:
        """The argument of the code of several states that holds parameters, where there are any."""
        return ""
