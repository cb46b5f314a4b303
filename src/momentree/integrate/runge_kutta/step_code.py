"""What all parts of the machine code of a Runge-Kutta step share: its arrays, the right-hand side, tables."""

from __future__ import annotations

from collections.abc import Sequence

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.emit.number_tables import table_text
from momentree.compile.emit.routine import bits, table
from momentree.integrate.columns import ColumnRoutine
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.projection import Projection
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.tableau import Tableau

EPSILON = 2.0**-52


class StepCode(ColumnRoutine):
    """The state of a step in working memory, W integrations at a time, each with its own t and h.

    | argument    | meaning                                                                 |
    |-------------|-------------------------------------------------------------------------|
    | width       | W, how many integrations are in the lanes                                |
    | controlled  | how many numbers of y count for the error                                |
    | quaternions | how many there are                                                      |
    | parameters  | whether there are any                                                   |
    | dense       | whether there is dense output                                            |
    | projection  | what closes loops after the step; None: nothing does                     |
    | norm        | how errors of momenta are measured; None: as they are                    |

    | columns of | 0 | 1              | 2                    | 3     | 4                              | 5        |
    |------------|---|----------------|----------------------|-------|--------------------------------|----------|
    | %times     | t | h of next step |                      |       |                                |          |
    | %memory    | h | is it the last | h before it was cut  | error | was the last try rejected      | k0 stale |

    What all integrations share stands in %control: 2 stop, 3 rtol, 4 atol, 5 the largest h.
    """

    def __init__(
        self, tableau: Tableau, layout: RungeKuttaLayout, width: int, controlled: int, quaternions: int,
        parameters: bool, dense: bool, projection: Projection | None = None, norm: ErrorNorm | None = None,
    ):  # fmt: skip
        super().__init__(width, layout.chunk)
        self.tableau, self.layout, self.controlled = tableau, layout, controlled
        self.quaternions, self.parameters, self.dense = quaternions, parameters, dense
        self.projection, self.norm = projection, norm

    @property
    def _all(self) -> int:
        """Chunks of y."""
        return self.layout.size // self.layout.chunk

    def _time(self, c: float | str) -> str:
        """t + c h; c may be a name."""
        node = self.column.splat(c) if isinstance(c, str) else self.column.number(c)
        return self.column.plus(self._column("%times"), self.column.times(self._column("%memory"), node))

    def _is_last(self) -> str:
        return self._holds(self._column("%memory", 1))

    def _evaluate(self, y: str, t: str, to: str) -> None:
        self._put_column(t, "%time")
        self._call("rhs", y, to)
        self._count_evaluation()

    def _count_evaluation(self) -> None:
        self.count("%counts", 2)

    def _call(self, name: str, y: str, to: str) -> None:
        parameters = "ptr %parameters, " if self.parameters else ""
        self.do(f"call void @{name}_{self.width}(ptr {y}, ptr %time, {parameters}ptr {to}, ptr %scratch)")

    def _at(self, array: str, i: str) -> str:
        return self.let(f"load double, ptr {self.offset(array, i)}")

    def _floor(self, i: str, part: int = 0) -> str:
        """A chunk of a part of %floor, which holds one number for all lanes."""
        start = self.offset("%floor", part * self.layout.floor_size)
        return self.chunk(start, i) if self.width == 1 else self.lines.splat(self._at(start, i))

    def _copy(self, array: str, to: str) -> None:
        with self.loop(self._all) as i:
            self.put_chunk(self.chunk(array, i), to, i)

    def _make_unit(self, y: str) -> None:
        """Bring the quaternions of a state to unit length."""
        self._make_quaternions_unit(y, self.quaternions)

    def _step_again_or_end(self, is_last: str) -> None:
        """After a step that is done: the next one, unless it has arrived or there is no room for another record."""
        self._branch(is_last, "arrived", "more")
        self.label("arrived")
        self._end(int(Status.ARRIVED))
        self.label("more")
        full = self.let(f"icmp sge i64 {self.integer('%counts', 5)}, {self.integer('%counts', 4)}")
        self._branch(full, "full", "step")
        self.label("full")
        self._end(int(Status.FULL))

    def _end(self, status: str | int) -> None:
        self.put_integer(status, "%counts", 3)
        self.do("ret void")


def codes_text(
    code: LanesCode, projection: Projection | None, norm: ErrorNorm | None
) -> tuple[list[str], set[tuple[str, int]]]:
    """The texts of rhs_1, of positions_1 and momenta_1 where loops are closed, of velocities_1; and what they call.

    An argument that is None has none.
    """
    texts, functions = code.lanes(1, "rhs")
    more: dict[str, LanesCode | None] = {"velocities": norm.velocities} if norm else {}
    more |= {"positions": projection.positions, "momenta": projection.momenta} if projection else {}
    for name, other in more.items():
        if other is not None:
            written, called = other.lanes(1, name)
            texts, functions = [*texts, *written], functions | called
    return texts, functions


def tables_text(quaternions: Sequence[int], projection: Projection | None, norm: ErrorNorm | None) -> list[str]:
    """The constants that the routine looks up."""
    groups = [number for group in (norm.groups if norm else ()) for number in group]
    shares = [bits(x) for x in (*(1 / size for size in projection.sizes), projection.near)] if projection else []
    return [table("quaternions", quaternions), table("groups", groups), table_text("shares.numbers", shares)]
