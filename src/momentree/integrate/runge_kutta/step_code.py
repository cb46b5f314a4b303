"""What all parts of the machine code of a Runge-Kutta step share: its arrays, the right-hand side, tables."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.number_tables import table_text
from momentree.compile.emit.routine import Routine, bits, table
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.projection import Projection
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.tableau import Tableau

EPSILON = 2.0**-52


class StepCode(Routine):
    """The state of a step in working memory.

    | argument    | meaning                                                                 |
    |-------------|-------------------------------------------------------------------------|
    | width       | W, how many integrations share the step                                  |
    | controlled  | how many numbers of y count for the error                                |
    | quaternions | how many there are                                                      |
    | parameters  | whether there are any                                                   |
    | dense       | whether records hold the stages that dense output needs                  |
    | projection  | what closes loops after the step; None: nothing does                     |
    | norm        | how errors of momenta are measured; None: as they are                    |
    """

    def __init__(
        self, tableau: Tableau, layout: RungeKuttaLayout, width: int, controlled: int, quaternions: int,
        parameters: bool, dense: bool, projection: Projection | None = None, norm: ErrorNorm | None = None,
    ):  # fmt: skip
        super().__init__(layout.chunk)
        self.tableau, self.layout, self.width, self.controlled = tableau, layout, width, controlled
        self.quaternions, self.parameters, self.dense = quaternions, parameters, dense
        self.projection, self.norm = projection, norm

    def _time(self, c: float) -> str:
        return self.plus(self.number("%control", 0), self.times(self.number("%memory", 0), bits(c)))

    def _evaluate(self, y: str, t: str, to: str) -> None:
        for lane in range(self.width):
            self.put(t, "%time", lane)
        self._call("rhs", y, to)
        self.count("%counts", 2)

    def _call(self, name: str, y: str, to: str) -> None:
        parameters = "ptr %parameters, " if self.parameters else ""
        self.do(f"call void @{name}_{self.width}(ptr {y}, ptr %time, {parameters}ptr {to}, ptr %scratch)")

    def _at(self, array: str, i: str) -> str:
        return self.let(f"load double, ptr {self.offset(array, i)}")

    def _make_unit(self, y: str) -> None:
        lines = Lines(self.width, self.new_label("unit") + ".")  # it is written more than once, so names must differ
        with self.loop(self.quaternions) as i:
            first = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @quaternions, i64 {i}')}")
            start = self.let(f"getelementptr {lines.type}, ptr {y}, i64 {first}")
            ats = [lines.let(f"getelementptr {lines.type}, ptr {start}, i64 {k}") for k in range(4)]
            parts = [lines.let(f"load {lines.type}, ptr {at}, align 8") for at in ats]
            square = lines.times(parts[0], parts[0])
            for part in parts[1:]:
                square = lines.fused(part, part, square)
            scale = lines.reciprocal(lines.intrinsic("sqrt", square))
            for at, part in zip(ats, parts, strict=True):
                lines.do(f"store {lines.type} {lines.times(part, scale)}, ptr {at}, align 8")
            self.do(str(lines).strip())


def codes_text(
    code: LanesCode, projection: Projection | None, norm: ErrorNorm | None, width: int
) -> tuple[list[str], set[tuple[str, int]]]:
    """The texts of rhs_W, of positions_W and momenta_W where loops are closed, of velocities_W; and what they call.

    An argument that is None has none.
    """
    texts, functions = code.lanes(width, "rhs")
    more: dict[str, LanesCode | None] = {"velocities": norm.velocities} if norm else {}
    more |= {"positions": projection.positions, "momenta": projection.momenta} if projection else {}
    for name, other in more.items():
        if other is not None:
            written, called = other.lanes(width, name)
            texts, functions = [*texts, *written], functions | called
    return texts, functions


def tables_text(quaternions: Sequence[int], projection: Projection | None, norm: ErrorNorm | None) -> list[str]:
    """The constants that the routine looks up."""
    groups = [number for group in (norm.groups if norm else ()) for number in group]
    shares = [bits(x) for x in (*(1 / size for size in projection.sizes), projection.near)] if projection else []
    return [table("quaternions", quaternions), table("groups", groups), table_text("shares.numbers", shares)]
