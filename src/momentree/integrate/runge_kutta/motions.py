"""Whole motions by explicit Runge-Kutta methods in machine code: each lane has its own t and h, and its own steps.

The step is that of advance_1 (explicit.py). All lanes try a step at once, and each accepts or rejects its own. The
first stage is evaluated where a lane needs it; where none does, it is f at the end of the last step.
"""

from __future__ import annotations

from collections.abc import Mapping

from momentree.integrate.error_norm import ErrorNorm
from momentree.integrate.motions.driver import MotionsCode, Shape
from momentree.integrate.motions.job import Lane
from momentree.integrate.motions.sample_code import Sampling
from momentree.integrate.projection import Projection
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.explicit import ExplicitStep
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.runge_kutta.projection_code import REOPENED
from momentree.integrate.tableau import Tableau


class ExplicitMotions(ExplicitStep, MotionsCode):
    """The text of motions_W."""

    def __init__(
        self, tableau: Tableau, layout: RungeKuttaLayout, shape: Shape, sampling: Sampling, controlled: int,
        projection: Projection | None, norm: ErrorNorm | None,
    ):  # fmt: skip
        counts = shape.width, controlled, len(sampling.quaternions), shape.parameters > 0
        super().__init__(tableau, layout, *counts, tableau.adaptive, projection, norm)
        self.shape, self.sampling = shape, sampling
        # the round-off of lanes that begin
        self.more: Mapping[str, int] = {"begun.q": layout.size, "begun.v": layout.size}

    def text(self) -> str:
        self._name_areas()
        self._name_arrays()
        self._allocate()
        self._allocate_columns("accepted", "t.new", "at.end", "opened.first")
        self.do("%extended.already = alloca i64")
        self._start_lanes()
        self._begin_motions()
        self._at_label("step")
        self._choose_step_size()
        self._count_stages()
        self._try()
        self._judge()
        self._sample_step()
        self._move_on()
        if self.tableau.adaptive:
            self._judge_pace()
        self._continue()
        return self._motions_function()

    def _count_evaluation(self) -> None:
        """Each lane counts for itself."""

    def _begin_motions(self) -> None:
        """What lanes begin with that have just taken a motion."""
        fresh, column = self._is_fresh(), self.column
        self._find_momenta()
        if self.norm and self.tableau.adaptive:
            self._estimate_noise("%begun.q", "%begun.v")
            columns = self.layout.size // self.width
            self._take(fresh, "%begun.q", "%noise.q", columns)
            self._take(fresh, "%begun.v", "%noise.v", columns)
        self._choose_into(fresh, column.number(0.0), "%memory", 4)
        self._choose_into(fresh, column.number(1.0), "%memory", 5)
        self._begun()

    def _count_stages(self) -> None:
        """The evaluations of a try."""
        stages = float(self.tableau.stages + self.tableau.adaptive)
        stale = self._holds(self._column("%memory", 5))
        count = self.column.choose(stale, self.column.number(stages), self.column.number(stages - 1))
        self._add_column(count, "%lanes", Lane.EVALUATIONS)

    # --- which lanes accept the step ---

    def _judge(self) -> None:
        """Accept or reject the step, lane by lane: %accepted; and the time at its end, %t.new."""
        column, running = self.column, self._is_running()
        error = self._error() if self.tableau.adaptive else self._not_finite()
        self._put_column(error, "%memory", 3)
        good = self._both(running, column.compare("ole", error, column.number(1.0)))
        accepted = good
        if self.projection:
            self._close(self._mask(self._not(good)))
            accepted = self._both(good, self._is_closed())
            largest = column.intrinsic("maxnum", self._lane(Lane.OPENED), self._column("%opened.first"))
            self._put_lane(largest, Lane.OPENED, accepted)
        else:
            self._make_unit("%next")
        self._put_column(self._mask(accepted), "%accepted")
        self._put_column(self._new_time(), "%t.new")
        self._reject(self._both(running, self._not(accepted)), good, error)

    def _not_finite(self) -> str:
        """0, or NaN where a number of y next is not finite."""
        self._put_column(self.column.number(0.0), "%at.end")
        with self.loop(self._all) as i:
            self._add_column(self.column.times(self._column("%next", i), self.column.number(0.0)), "%at.end")
        return self._column("%at.end")

    def _note_opening(self) -> None:
        with self.when(self.let(f"icmp eq i64 {self.integer('%turns', 0)}, 0")):
            self._put_column(self._column("%opening"), "%opened.first")

    def _reject(self, rejected: str, good: str, error: str) -> None:
        """A smaller step size; where that is below the resolution of time, or fixed, the motion has failed."""
        column, failed = self.column, rejected
        status = column.number(float(Status.NOT_FINITE))
        if self.tableau.adaptive:
            factor = column.choose(good, column.number(REOPENED), self._rejected_factor(error))
            h = self._smaller(factor)
            self._choose_into(rejected, h, "%times", 1)
            self._choose_into(rejected, column.number(1.0), "%memory", 4)
            self._add_column(self._mask(rejected), "%lanes", Lane.REJECTED)
            failed = self._both(rejected, self._below_resolution(h))
            status = self._status_of_short_steps(error)
        self._end_where(failed, column.choose(good, column.number(float(Status.OPEN)), status))

    # --- what becomes of an accepted step ---

    def _sample_step(self) -> None:
        accepted = self._holds(self._column("%accepted"))
        end = "%closed" if self.projection else "%next"
        if not self.tableau.adaptive:
            self._sample_recorded(accepted, self._is_last(), end)
            return
        assert self.tableau.dense is not None
        self.put_integer(0, "%extended.already", 0)
        self._at_label("due")
        some = self._find_due(self._holds(self._column("%accepted")))
        self._branch(some, "write", "sampled")
        self.label("write")
        if self.tableau.extra:
            already = self.let(f"icmp ne i64 {self.integer('%extended.already', 0)}, 0")
            self._branch(already, "extended", "extend")
            self.label("extend")
            self.put_integer(1, "%extended.already", 0)
            extra = self.column.times(self._lane(Lane.DUE_NOW), self.column.number(float(len(self.tableau.extra))))
            self._add_column(extra, "%lanes", Lane.EVALUATIONS)
            self._extend()
        h = self._column("%memory")
        self._interpolate(self.tableau.dense, h, "%next", "%k0", self.layout.size, "%y")
        self._sample()
        self.goto("due")
        self.label("sampled")

    def _move_on(self) -> None:
        """The new state of lanes that accept the step."""
        column, accepted = self.column, self._holds(self._column("%accepted"))
        self._take(accepted, "%closed" if self.projection else "%next", "%y", self._all)
        if self.tableau.adaptive:
            self._choose_into(accepted, self._next_step_size(), "%times", 1)
            self._choose_into(accepted, column.number(0.0), "%memory", 4)
        self._choose_into(accepted, self._column("%t.new"), "%times")
        if self._same_as_last:
            self._take(accepted, f"%k{self.tableau.stages}", "%k0", self._all)
        else:
            self._choose_into(accepted, column.number(1.0), "%memory", 5)
        self._add_column(self._mask(accepted), "%lanes", Lane.ACCEPTED)
        self._arrive_where(self._both(accepted, self._is_last()))
