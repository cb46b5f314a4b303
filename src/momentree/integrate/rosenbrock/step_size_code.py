"""Step-size control of Rosenbrock methods in machine code: from the error and its growth."""

from __future__ import annotations

from momentree.compile.emit.routine import bits
from momentree.integrate.radau.layout import Memory
from momentree.integrate.radau.step import RadauStep

SAFETY, SHORTER, LONGER = 0.9, 5.0, 6.0  # factors of the step size


class RosenbrockStepSizeCode(RadauStep):
    """h of another try, and of the next step."""

    @property
    def _exponent(self) -> float:
        return 1 / (self.tableau.error_orders[0] + 1)

    def _quotient(self) -> str:
        """h over the next h, which the error allows."""
        root = self._power(self._get(Memory.ERROR), self._exponent)
        return self._within(self._over(root, bits(SAFETY)), 1 / LONGER, SHORTER)

    def _set_next_step_size(self, h: str, is_last: str) -> None:
        """The next step; one that was cut at stop does not shorten it. Its size and error are remembered."""
        wanted = self._over(h, self._predicted(h))
        shorter = self.call("llvm.minnum.f64", wanted, h)
        wanted = self.let(f"select i1 {self._is(Memory.REJECTED)}, double {shorter}, double {wanted}")
        longer = self.call("llvm.maxnum.f64", wanted, self._get(Memory.WANTED))
        self.put(self.let(f"select i1 {is_last}, double {longer}, double {wanted}"), "%control", 1)
        self._set(Memory.STALE, 1.0)
        self._set(Memory.H_BEFORE, h)
        self._set(Memory.ERROR_BEFORE, self.call("llvm.maxnum.f64", self._get(Memory.ERROR), bits(1e-2)))
        for what in (Memory.FIRST, Memory.REJECTED, Memory.FRESH, Memory.OPENED):
            self._set(what, 0.0)

    def _predicted(self, h: str) -> str:
        """h over the next h, also from how the error has grown: Gustafsson 1994."""
        plain, error = self._quotient(), self._get(Memory.ERROR)
        growth = self._over(self.times(error, error), self._get(Memory.ERROR_BEFORE))
        ratio = self._over(self._get(Memory.H_BEFORE), h)
        foreseen = self._over(self.times(ratio, self._power(growth, self._exponent)), bits(SAFETY))
        both = self.call("llvm.maxnum.f64", plain, self._within(foreseen, 1 / LONGER, SHORTER))
        return self.let(f"select i1 {self._is(Memory.FIRST)}, double {plain}, double {both}")
