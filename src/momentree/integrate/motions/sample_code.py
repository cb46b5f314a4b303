"""Samples of motions: loops closed, velocities found, numbers written where they belong. The function sample_W.

The rules are those of single simulations (simulate/phase.py, `closed_states`): at most NEWTON steps of Newton's method
while q moves by more than NEAR; what would move by round-off alone stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

from momentree.compile.emit.lanes import LanesCode
from momentree.integrate.columns import ColumnRoutine
from momentree.integrate.motions.job import Lane, Slot
from momentree.integrate.projection import NEAR, NEWTON

ROUND_OFF = 2e-15  # of a coordinate: smaller corrections close nothing


class Sampling(NamedTuple):
    """What turns a state into a sample.

    | field       | meaning                                                                        |
    |-------------|--------------------------------------------------------------------------------|
    | nq, nv      | numbers of coordinates and velocities                                          |
    | quaternions | the columns where they start                                                   |
    | rows        | closure errors that stand behind what `positions` gives                        |
    | start       | momenta from coordinates and velocities; None: the state holds velocities      |
    | positions   | q moved towards where loops close; None: samples are as open as the state      |
    | velocities  | from momenta, or projected onto the constraints; None: those of the state      |
    """

    nq: int
    nv: int
    quaternions: tuple[int, ...]
    rows: int
    start: LanesCode | None
    positions: LanesCode | None
    velocities: LanesCode | None

    @property
    def codes(self) -> dict[str, LanesCode]:
        """Codes by the names under which they are called."""
        named = {"start": self.start, "positions": self.positions, "sampled": self.velocities}
        return {name: code for name, code in named.items() if code is not None}

    def work(self, width: int) -> int:
        """Numbers of working memory."""
        return (-(-(self.nq + self.rows) // 8) * 8 + -(-self.nv // 8) * 8) * width


class SampleCode(ColumnRoutine):
    """void sample_W(job, lanes, state, time, parameters, work, scratch): in lanes whose mask DUE_NOW holds.

    `state`, of which quaternions have unit length, is changed.
    """

    def __init__(self, sampling: Sampling, width: int, parameters: bool):
        super().__init__(width, width)
        self.sampling, self.parameters = sampling, parameters

    def text(self) -> str:
        nq, nv = self.sampling.nq, self.sampling.nv
        self.do("%moves = getelementptr double, ptr %work, i64 0")
        rates = -(-(nq + self.sampling.rows) // 8) * 8 * self.width
        self.do(f"%rates = getelementptr double, ptr %work, i64 {rates}")
        if self.sampling.positions:
            self._close()
        if self.sampling.velocities:
            self._call("sampled", "%rates")
            with self.loop(nv) as i:
                self._put_column(self._column("%rates", i), "%state", self.let(f"add i64 {i}, {nq}"))
        self._write()
        self.do("ret void")
        arrays = ("job", "lanes", "state", "time", "parameters", "work", "scratch")
        arguments = ", ".join(f"ptr %{name}" for name in arrays)
        return f"define internal void @sample_{self.width}({arguments}) nounwind {{\nentry:\n{self.lines}\n}}"

    def _call(self, name: str, to: str) -> None:
        parameters = "ptr %parameters, " if self.parameters else ""
        self.do(f"call void @{name}_{self.width}(ptr %state, ptr %time, {parameters}ptr {to}, ptr %scratch)")

    def _close(self) -> None:
        """Each lane takes as many steps of Newton's method as it needs."""
        column, nq = self.column, self.sampling.nq
        self._allocate_columns("settled", "moved", "still")
        self.do("%turns = alloca i64")
        self.put_integer(0, "%turns", 0)
        due = self._holds(self._column("%lanes", Lane.DUE_NOW))
        self._put_column(self._mask(self._not(due)), "%settled")
        self._at_label("newton")
        self._call("positions", "%moves")
        self._make_quaternions_unit("%moves", len(self.sampling.quaternions))
        self._put_column(column.number(0.0), "%moved")
        self._put_column(column.number(1.0), "%still")
        with self.loop(nq) as i:
            old = self._column("%state", i)
            move = column.intrinsic("fabs", column.less(self._column("%moves", i), old))
            least = column.times(column.intrinsic("fabs", old), column.number(ROUND_OFF))
            same = column.compare("ole", move, least)
            self._put_column(column.choose(same, self._column("%still"), column.number(0.0)), "%still")
            self._put_column(column.intrinsic("maximum", self._column("%moved"), move), "%moved")
        moving = self._not(self._holds(self._column("%settled")))
        self._take(self._both(moving, self._not(self._holds(self._column("%still")))), "%moves", "%state", nq)
        self.count("%turns", 0)
        few = self.let(f"icmp slt i64 {self.integer('%turns', 0)}, {NEWTON}")
        far = self._both(moving, column.compare("ogt", self._column("%moved"), column.number(NEAR)))
        self._put_column(self._mask(self._not(far)), "%settled")
        self._branch(self.let(f"and i1 {few}, {self._any(far)}"), "newton", "closed")
        self.label("closed")

    def _write(self) -> None:
        """Sample number DUE of each lane's motion, which then waits for the next."""
        W, numbers = self.width, self.sampling.nq + self.sampling.nv
        count = self.integer("%job", Slot.COUNT)
        values = self.let(f"load ptr, ptr {self.offset('%job', int(Slot.VALUES))}")
        with self._each_lane("%lanes", Lane.DUE_NOW) as lane:
            motion, due = (
                self.let(f"load i64, ptr {self.offset(self.offset('%lanes', what * W), lane)}")
                for what in (Lane.MOTION, Lane.DUE)
            )
            first = self.let(f"mul i64 {self.let(f'mul i64 {due}, {numbers}')}, {count}")
            base = self.offset(self.offset(values, first), motion)
            if numbers:
                with self.loop(numbers) as i:
                    entry = self.let(f"add i64 {self.let(f'mul i64 {i}, {W}')}, {lane}")
                    value = self.let(f"load double, ptr {self.offset('%state', entry)}")
                    self.do(f"store double {value}, ptr {self.offset(base, self.let(f'mul i64 {i}, {count}'))}")
            later = self.let(f"add i64 {due}, 1")
            self.do(f"store i64 {later}, ptr {self.offset(self.offset('%lanes', Lane.DUE * W), lane)}")
