"""Step-size control of Radau IIA in machine code: from the error, its growth, and the iterations that it took."""

from __future__ import annotations

from momentree.compile.emit.routine import bits
from momentree.integrate.radau.layout import Memory
from momentree.integrate.radau.step_code import RadauStepCode
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.projection_code import REOPENED

QUICK = 1e-3  # contraction up to which the Jacobian is kept
REUSED_RATIO = 1.2  # up to so much larger a step size is not worth new factors
SAFETY, SHORTER, LONGER = 0.9, 5.0, 8.0  # factors of the step size


class RadauStepSizeCode(RadauStepCode):
    """h of another try, and of the next step."""

    _again = "step"  # where another try begins

    def _quotient(self) -> str:
        """h over the next h, which the error allows; many iterations make it larger."""
        most = 2.0 * self.radau.iterations
        few = self._over(SAFETY * (most + 1), self.plus(self._get(Memory.COUNT), bits(most)))
        safety = self.call("llvm.minnum.f64", few, bits(SAFETY))
        return self._within(
            self._over(self._power(self._get(Memory.ERROR), 1 / (self.s + 1)), safety), 1 / LONGER, SHORTER
        )

    def _write_retry(self) -> None:
        """Try again with a smaller step size and a Jacobian of this state; or end."""
        self.label("retry")
        self.count("%counts", 1)
        h = self.times(self._get(Memory.H), self._get(Memory.FACTOR))
        self.put(h, "%control", 1)
        self._set(Memory.REJECTED, 1.0)
        with self.when(self._is(Memory.FRESH, False)):
            self._set(Memory.STALE, 1.0)
        self._branch(self._below_resolution(h), "fail", self._again)
        self.label("fail")
        finite = self.let(f"fcmp olt double {self._get(Memory.ERROR)}, {bits(1e300)}")
        short, none = int(Status.TOO_SHORT), int(Status.NOT_FINITE)
        status = self.let(f"select i1 {finite}, i64 {short}, i64 {none}")
        status = self.let(f"select i1 {self._is(Memory.OPENED)}, i64 {int(Status.OPEN)}, i64 {status}")
        self._end(status)

    def _reopen(self) -> None:
        self._set(Memory.OPENED, 1.0)
        self._set(Memory.FACTOR, REOPENED)
        self.goto("retry")

    def _set_next_step_size(self, h: str, is_last: str) -> None:
        """The next step; one that was cut at stop does not shorten it. Its size and error are remembered."""
        wanted = self._over(h, self._predicted(h))
        shorter = self.call("llvm.minnum.f64", wanted, h)
        wanted = self.let(f"select i1 {self._is(Memory.REJECTED)}, double {shorter}, double {wanted}")
        # a Jacobian that serves well is kept, and so are its factors where h would be little larger
        quick = self.let(f"fcmp ole double {self._get(Memory.CONTRACTION)}, {bits(QUICK)}")
        above = self.let(f"fcmp oge double {wanted}, {h}")
        below = self.let(f"fcmp ole double {wanted}, {self.times(h, bits(REUSED_RATIO))}")
        same = self.let(f"and i1 {quick}, {self.let(f'and i1 {above}, {below}')}")
        wanted = self.let(f"select i1 {same}, double {h}, double {wanted}")
        longer = self.call("llvm.maxnum.f64", wanted, self._get(Memory.WANTED))
        self.put(self.let(f"select i1 {is_last}, double {longer}, double {wanted}"), "%control", 1)
        self._set(Memory.STALE, self.let(f"uitofp i1 {self.let(f'xor i1 {quick}, true')} to double"))
        self._set(Memory.H_BEFORE, h)
        self._set(Memory.ERROR_BEFORE, self.call("llvm.maxnum.f64", self._get(Memory.ERROR), bits(1e-2)))
        for what in (Memory.FIRST, Memory.REJECTED, Memory.FRESH, Memory.OPENED):
            self._set(what, 0.0)

    def _predicted(self, h: str) -> str:
        """h over the next h, also from how the error has grown: Gustafsson 1994."""
        plain, error = self._quotient(), self._get(Memory.ERROR)
        growth = self._power(self._over(self.times(error, error), self._get(Memory.ERROR_BEFORE)), 1 / (self.s + 1))
        ratio = self._over(self._get(Memory.H_BEFORE), h)
        foreseen = self._within(self._over(self.times(ratio, growth), bits(SAFETY)), 1 / LONGER, SHORTER)
        both = self.call("llvm.maxnum.f64", plain, foreseen)
        return self.let(f"select i1 {self._is(Memory.FIRST)}, double {plain}, double {both}")
