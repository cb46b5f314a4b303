"""Projection after a step in machine code: loops are closed by Newton's method, then momenta or velocities follow."""

from __future__ import annotations

import math

from momentree.compile.emit.routine import bits
from momentree.integrate.projection import NEWTON
from momentree.integrate.runge_kutta.step_size_code import StepSizeCode

REOPENED = 0.25  # factor of the step size where loops could not be closed


class ProjectionCode(StepSizeCode):
    """The end of a step at which loops are closed, each lane by itself."""

    def _close(self, settled: str = "") -> None:
        """Close the loops of %next, in %closed; lanes that are `settled` from the beginning stay as they are."""
        self._copy("%next", "%closed")
        self._make_unit("%closed")
        self._project(self._time(1.0), settled or self.column.number(0.0))

    def _is_closed(self, opened: str = "%open") -> str:
        """Whether closure errors are below what stands behind the parts of %floor."""
        return self.column.compare("ole", self._column(opened), self._shared("%floor", 3 * self.layout.floor_size))

    def _project(self, t: str, settled: str) -> None:
        """q of %closed by Newton's method, then momenta (or velocities) there, with no impulse left over.

        The largest closure error before the last move is in %open. Each lane takes as many turns as it needs.
        """
        assert self.projection is not None
        nq, nv, name = self.projection.nq, self.projection.nv, self.new_label("project")
        self._put_column(t, "%time")
        self._put_column(settled, "%settled")
        self._put_column(self.column.number(0.0), "%open")
        self.put_integer(0, "%turns", 0)
        self._at_label(name)
        self._call("positions", "%closed", "%moves")
        self._put_column(self.column.number(0.0), "%moved")
        with self.loop(nq) as i:
            self._enlarge("%moved", self.column.less(self._column("%moves", i), self._column("%closed", i)))
        self._find_largest()
        self._note_opening()
        self._make_unit("%moves")
        moving = self._not(self._holds(self._column("%settled")))
        self._take(moving, "%moves", "%closed", nq)
        self._take(moving, "%opening", "%open", 1)
        self.count("%turns", 0)
        again = self._both(moving, self._is_far())
        self._put_column(self._mask(self._not(again)), "%settled")
        self._branch(self._any(again), name, f"{name}.done")
        self.label(f"{name}.done")
        if self.projection.momenta is None:
            return
        self._call("momenta", "%closed", "%there")
        with self.loop(nv) as i:
            self._put_column(self._column("%there", i), "%closed", self.let(f"add i64 {i}, {nq}"))

    def _note_opening(self) -> None:
        """A place to look at the closure errors in %opening, before each move."""

    def _is_far(self) -> str:
        """Whether a lane needs another turn: it moved by much, or is still open."""
        assert self.projection is not None
        turns = self.integer("%turns", 0)
        few, some = (self.let(f"icmp slt i64 {turns}, {most}") for most in (NEWTON, 2 * NEWTON))
        near = self.number("@shares.numbers", len(self.projection.sizes))
        near = self.let(f"select i1 {few}, double {near}, double {bits(math.inf)}")
        far = self.column.compare("ogt", self._column("%moved"), self.column.splat(near))
        still = self._not(self._is_closed("%opening"))
        trying = self._holds(self.column.splat(self.let(f"uitofp i1 {some} to double")))
        return self._either(far, self._both(still, trying))

    def _find_largest(self) -> None:
        """The closure errors behind the moved q, by their sizes."""
        assert self.projection is not None
        self._put_column(self.column.number(0.0), "%opening")
        if not self.projection.sizes:
            return
        with self.loop(len(self.projection.sizes)) as i:
            share = self.column.splat(self._at("@shares.numbers", i))
            error = self._column("%moves", self.let(f"add i64 {i}, {self.projection.nq}"))
            self._enlarge("%opening", self.column.times(error, share))

    def _enlarge(self, array: str, x: str) -> None:
        """The larger of a column in memory and the size of x; a NaN stays."""
        size = self.column.intrinsic("fabs", x)
        self._put_column(self.column.intrinsic("maximum", size, self._column(array)), array)
