"""Step-size control in machine code: the step size of this step, of another try, and of the next step.

The next step size is h SAFETY error^(-1 / order), within bounds; after a rejected try it is not larger than that one
(Hairer, Norsett and Wanner 1993, II.4).
"""

from __future__ import annotations

from momentree.compile.emit.llvm_functions import libm_symbol
from momentree.compile.emit.routine import bits
from momentree.integrate.runge_kutta.step_code import EPSILON, StepCode

SAFETY, LEAST, MOST = 0.8, 0.2, 10.0  # factors of the step size


class StepSizeCode(StepCode):
    """h from step to step."""

    def _choose_step_size(self) -> None:
        """h, but not beyond stop: then what remains, or half of it where that would leave a very short step."""
        t, wanted, stop = (self.number("%control", index) for index in range(3))
        h = self.call("llvm.minnum.f64", wanted, self.number("%control", 5))
        remaining = self.let(f"fsub double {stop}, {t}")
        slack = bits(1 + (1e-10 if self.tableau.adaptive else 1e-6))  # a fixed step meets stop but for round-off
        last = self.let(f"fcmp oge double {self.times(h, slack)}, {remaining}")
        if self.tableau.adaptive:
            near = self.let(f"fcmp oge double {self.times(h, bits(2.0))}, {remaining}")
            half = self.times(remaining, bits(0.5))
            h = self.let(f"select i1 {near}, double {half}, double {h}")
        h = self.let(f"select i1 {last}, double {remaining}, double {h}")
        self.put(h, "%memory", 0)
        self.put(self.let(f"uitofp i1 {last} to double"), "%memory", 1)
        self.put(wanted, "%memory", 2)

    def _retry_smaller(self, factor: str, fail: str) -> None:
        """Back to `step` with a step size by so much smaller, or to where this fails."""
        self.count("%counts", 1)
        self.put(bits(1.0), "%memory", 4)
        h = self.times(self.number("%memory", 0), factor)
        self.put(h, "%control", 1)
        self.do(f"br i1 {self._below_resolution(h)}, label %{fail}, label %step")

    def _below_resolution(self, h: str) -> str:
        """Whether a step size is below the resolution of time."""
        size = self.call("llvm.fabs.f64", self.number("%control", 0))
        least = self.call("llvm.maxnum.f64", self.times(size, bits(16 * EPSILON)), bits(1e-300))
        return self.let(f"fcmp olt double {h}, {least}")

    def _factor(self, error: str) -> str:
        power = bits(-1 / self.tableau.order)
        return self.times(bits(SAFETY), self.call(libm_symbol("power"), error, power))

    def _set_next_step_size(self, h: str, is_last: str) -> None:
        """The next step size; a step cut at stop does not reduce it, and after a rejected try it does not grow."""
        factor = self._factor(self.number("%memory", 3))
        rejected = self.let(f"fcmp une double {self.number('%memory', 4)}, {bits(0.0)}")
        most = self.let(f"select i1 {rejected}, double {bits(1.0)}, double {bits(MOST)}")
        factor = self.call("llvm.minnum.f64", self.call("llvm.maxnum.f64", factor, bits(LEAST)), most)
        self.put(bits(0.0), "%memory", 4)
        wanted = self.times(h, factor)
        longer = self.call("llvm.maxnum.f64", wanted, self.number("%memory", 2))
        self.put(self.let(f"select i1 {is_last}, double {longer}, double {wanted}"), "%control", 1)
