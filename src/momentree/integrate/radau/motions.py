"""Whole motions by Radau IIA in machine code, one at a time: the step is that of advance_1 (step.py).

What a step needs of earlier steps stands behind t and h of the lane, as in `control`; it is zero where a motion begins.
"""

from __future__ import annotations

from collections.abc import Mapping

from momentree.compile.emit.routine import bits
from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.motions.driver import MotionsCode, Shape
from momentree.integrate.motions.job import CONTROL, Lane
from momentree.integrate.motions.sample_code import Sampling
from momentree.integrate.projection import Projection
from momentree.integrate.radau.layout import CONTROL as SHARED
from momentree.integrate.radau.layout import Memory, RadauLayout
from momentree.integrate.radau.step import RadauStep
from momentree.integrate.records import Status

COUNTS = {Lane.ACCEPTED: 0, Lane.REJECTED: 1, Lane.EVALUATIONS: 2, Lane.JACOBIANS: 7}  # where %counts has them


class RadauMotions(RadauStep, MotionsCode):
    """The text of motions_1."""

    _again = "tried"

    def __init__(
        self, layout: RadauLayout, shape: Shape, sampling: Sampling, controlled: int, entries: int,
        projection: Projection | None, norm: ErrorNorm | None, wide: int = 1,
    ):  # fmt: skip
        what = controlled, len(sampling.quaternions), shape.parameters > 0, True, entries
        super().__init__(layout, *what, projection, norm, wide)
        self.shape, self.sampling = shape, sampling
        self.more: Mapping[str, int] = {"wide.parameters": shape.parameters * layout.lanes}

    def text(self) -> str:
        self._name_areas()
        self.do(f"%shared = getelementptr double, ptr %job, i64 {int(CONTROL)}")
        self._name_arrays()
        self._allocate()
        self._allocate_columns("t.new", "opened.first")
        self.do("%counts = alloca i64, i64 8")
        self._start_lanes()
        self._begin_motion()
        self._write_step()
        self._at_label("accept")
        self._accept()
        self._at_label("tried")
        self._tell_counts()
        self._judge_pace()
        self._continue()
        return self._motions_function()

    def _name_control(self) -> None:
        """t and h of the lane, then what all share, then what a step remembers."""
        self.do(f"%control = getelementptr double, ptr %lanes, i64 {int(Lane.T)}")

    def _begin_motion(self) -> None:
        for k in range(2, SHARED):
            self.put(self.number("%shared", k), "%control", k)
        with self.loop(8) as i:
            self.do(f"store i64 0, ptr {self.let(f'getelementptr i64, ptr %counts, i64 {i}')}")
        self._spread_parameters()
        self._find_momenta()
        self._begin_here()
        self._begun()

    def _spread_parameters(self) -> None:
        """For the code of several states, the same in all lanes."""
        if self.wide > 1 and self.shape.parameters:
            with self.loop(self.shape.parameters) as i:
                value = self._at("%parameters", i)
                with self.loop(self.wide) as lane:
                    self.do(f"store double {value}, ptr {self._in_lane('%wide.parameters', i, lane)}")

    def _wide_parameters(self) -> str:
        return "ptr %wide.parameters, " if self.shape.parameters else ""

    def _tell_counts(self) -> None:
        for lane, k in COUNTS.items():
            self._put_lane(self.let(f"sitofp i64 {self.integer('%counts', k)} to double"), lane)

    def _note_opening(self) -> None:
        with self.when(self.let(f"icmp eq i64 {self.integer('%turns', 0)}, 0")):
            self._put_column(self._column("%opening"), "%opened.first")

    def _end(self, status: str | int) -> None:
        """The motion has failed."""
        number = bits(float(status)) if isinstance(status, int) else self.let(f"sitofp i64 {status} to double")
        self._put_lane(number, Lane.STATUS)
        self.goto("tried")

    def _accept(self) -> None:
        h, t, is_last = self._get(Memory.H), self._new_time(), self._is_last()
        self._remember(h)
        self._put_column(t, "%t.new")
        if self.projection:
            largest = self.call("llvm.maxnum.f64", self._lane(Lane.OPENED), self._column("%opened.first"))
            self._put_lane(largest, Lane.OPENED)
        self._sample_due(h)
        self._move_on(t, h, is_last)
        with self.when(is_last):
            self._put_lane(bits(float(Status.ARRIVED)), Lane.STATUS)
        self._renew_slope(t)

    def _sample_due(self, h: str) -> None:
        assert self.tableau.dense is not None
        self._at_label("due")
        self._branch(self._find_due("true"), "write", "sampled")
        self.label("write")
        self._interpolate(self.tableau.dense, h, "%next", "%k0", self.layout.size, "%y")
        self._sample()
        self.goto("due")
        self.label("sampled")
