"""Projection after a step in machine code: loops are closed by Newton's method, then momenta or velocities follow."""

from __future__ import annotations

from momentree.compile.emit.routine import bits
from momentree.integrate.projection import NEWTON
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.step_size_code import StepSizeCode

REOPENED = 0.25  # factor of the step size where loops could not be closed


class ProjectionCode(StepSizeCode):
    """The step after which loops are closed, or which is tried again with a smaller step size."""

    def _close(self) -> None:
        """Close the loops of %next, in %closed; where they cannot be closed, try a smaller step size."""
        with self.loop(self.layout.size // self.layout.chunk) as i:
            self.put_chunk(self.chunk("%next", i), "%closed", i)
        if self.quaternions:
            self._make_unit("%closed")
        self._project(self._time(1.0))
        self.do(f"br i1 {self._is_closed()}, label %shut, label %opened")
        self.label("opened")
        self._reopen()
        self.label("shut")

    def _reopen(self) -> None:
        """Try a smaller step size, or end before this step."""
        if self.tableau.adaptive:
            self._retry_smaller(bits(REOPENED), "stay")
            self.label("stay")
        self.put_integer(int(Status.OPEN), "%counts", 3)
        self.do("ret void")

    def _is_closed(self) -> str:
        """Whether closure errors are below what stands behind the parts of %floor."""
        most = self.number("%floor", 3 * self.layout.size)
        return self.let(f"fcmp ole double {self.number('%open', 0)}, {most}")

    def _project(self, t: str) -> None:
        """q of %closed by Newton's method, then momenta (or velocities) there, with no impulse left over.

        The largest closure error before the last move is in %open.
        """
        assert self.projection is not None
        nq, nv, name = self.projection.nq * self.width, self.projection.nv * self.width, self.new_label("project")
        for lane in range(self.width):
            self.put(t, "%time", lane)
        self.put_integer(0, "%turns", 0)
        self.goto(name)
        self.label(name)
        self._call("positions", "%closed", "%moves")
        self.put(bits(0.0), "%moved", 0)
        with self.loop(nq) as i:
            x, old = self._at("%moves", i), self._at("%closed", i)
            self._enlarge("%moved", self.let(f"fsub double {x}, {old}"))
            self.do(f"store double {x}, ptr {self.offset('%closed', i)}")
        self._find_largest()
        if self.quaternions:
            self._make_unit("%closed")
        self.count("%turns", 0)
        near = self.number("@shares.numbers", len(self.projection.sizes))
        far = self.let(f"fcmp ogt double {self.number('%moved', 0)}, {near}")
        turns = self.integer("%turns", 0)
        few, some = (self.let(f"icmp slt i64 {turns}, {most}") for most in (NEWTON, 2 * NEWTON))
        still = self.let(f"and i1 {self.let(f'xor i1 {self._is_closed()}, true')}, {some}")
        again = self.let(f"or i1 {self.let(f'and i1 {far}, {few}')}, {still}")
        self.do(f"br i1 {again}, label %{name}, label %{name}.done")
        self.label(f"{name}.done")
        if self.projection.momenta is None:
            return
        self._call("momenta", "%closed", "%there")
        with self.loop(nv) as i:
            row = self.let(f"add i64 {i}, {nq}")
            self.do(f"store double {self._at('%there', i)}, ptr {self.offset('%closed', row)}")

    def _find_largest(self) -> None:
        """The closure errors behind the moved q, by their sizes."""
        assert self.projection is not None
        W, count = self.width, len(self.projection.sizes)
        self.put(bits(0.0), "%open", 0)
        if not count:
            return
        with self.loop(count) as i:
            share = self.let(f"load double, ptr {self.let(f'getelementptr double, ptr @shares.numbers, i64 {i}')}")
            first = self.let(f"add i64 {self.let(f'mul i64 {i}, {W}')}, {self.projection.nq * W}")
            with self.loop(W) as lane:
                error = self._at("%moves", self.let(f"add i64 {first}, {lane}"))
                self._enlarge("%open", self.times(error, share))

    def _enlarge(self, array: str, x: str) -> None:
        """The larger of a number in memory and the size of x; a NaN stays."""
        size = self.call("llvm.fabs.f64", x)
        self.put(self.call("llvm.maximum.f64", size, self.number(array, 0)), array, 0)
