"""Whole motions by structure-preserving methods in machine code: the step is that of advance_1 (step.py, rattle.py).

All lanes take a step at once. One whose equations have no solution, or whose numbers are not finite, fails alone.
"""

from __future__ import annotations

from momentree.integrate.motions.driver import MotionsCode, Shape
from momentree.integrate.motions.job import Lane
from momentree.integrate.motions.sample_code import Sampling
from momentree.integrate.verlet.layout import Parts, VerletLayout
from momentree.integrate.verlet.rattle import RattleStep
from momentree.integrate.verlet.step import VerletStep


class VerletMotions(VerletStep, MotionsCode):
    """The text of motions_W."""

    def __init__(self, parts: Parts, layout: VerletLayout, substeps: int, shape: Shape, sampling: Sampling):
        super().__init__(parts, layout, substeps, shape.width, shape.parameters > 0)
        self.shape, self.sampling = shape, sampling

    def text(self) -> str:
        self._name_areas()
        self.do(f"%kept = getelementptr double, ptr %lanes, i64 {(Lane.H + 1) * self.width}")
        self._name_arrays()
        self._allocate_columns("active", "at.end")
        self._start_lanes()
        self._find_momenta()
        self._begun()
        self._at_label("step")
        self._choose_step_size()
        self._work_in(self.column.number(1.0))
        self._take_step()
        self._judge_step()
        self._continue()
        return self._motions_function()

    def _work_in(self, lanes: str) -> None:
        self._put_column(lanes, "%active")

    def _count_evaluation(self) -> None:
        """In lanes that still need it."""
        self._add_column(self._column("%active"), "%lanes", Lane.EVALUATIONS)

    def _judge_step(self) -> None:
        """Lanes that have failed go back to where they were, the others move on."""
        failed = self._both(self._holds(self._column("%failed")), self._is_running())
        with self.when(self._any(failed)):
            self._work_in(self._column("%failed"))
            self._end_where(failed, self._status_of_failure())
        accepted = self._both(self._is_running(), self._not(self._holds(self._column("%failed"))))
        is_last = self._is_last()
        self._sample_recorded(accepted, is_last, "%y")
        self._pass_time(accepted)
        self._add_column(self._mask(accepted), "%lanes", Lane.ACCEPTED)
        self._arrive_where(self._both(accepted, is_last))


class RattleMotions(RattleStep, VerletMotions):
    """The same where loops are closed."""
