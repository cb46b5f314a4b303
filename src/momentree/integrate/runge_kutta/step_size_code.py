"""Step-size control in machine code: the step size of this step, of another try, and of the next step.

The next step size is h SAFETY error^(-1 / order), within bounds; after a rejected try it is not larger than that one
(Hairer, Norsett and Wanner 1993, II.4).
"""

from __future__ import annotations

from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.step_code import EPSILON, StepCode

SAFETY, LEAST, MOST = 0.8, 0.2, 10.0  # factors of the step size


class StepSizeCode(StepCode):
    """h from step to step."""

    def _choose_step_size(self) -> None:
        """h, but not beyond stop: then what remains, or half of it where that would leave a very short step."""
        column = self.column
        t, wanted = self._column("%times"), self._column("%times", 1)
        h = column.intrinsic("minnum", wanted, self._shared("%control", 5))
        remaining = column.less(self._shared("%control", 2), t)
        slack = 1 + (1e-10 if self.tableau.adaptive else 1e-6)  # a fixed step meets stop but for round-off
        last = column.compare("oge", column.times(h, column.number(slack)), remaining)
        if self.tableau.adaptive:
            near = column.compare("oge", column.times(h, column.number(2.0)), remaining)
            h = column.choose(near, column.times(remaining, column.number(0.5)), h)
        self._put_column(column.choose(last, remaining, h), "%memory", 0)
        self._put_column(self._mask(last), "%memory", 1)
        self._put_column(wanted, "%memory", 2)

    def _new_time(self) -> str:
        """t at the end of the step: the last one ends at stop to the last bit."""
        return self.column.choose(self._is_last(), self._shared("%control", 2), self._time(1.0))

    def _below_resolution(self, h: str) -> str:
        """Whether a step size is below the resolution of time."""
        column = self.column
        size = column.intrinsic("fabs", self._column("%times"))
        least = column.times(size, column.number(16 * EPSILON))
        return column.compare("olt", h, column.intrinsic("maxnum", least, column.number(1e-300)))

    def _factor(self, error: str) -> str:
        power = self.column.call("power", error, self.column.number(-1 / self.tableau.order))
        return self.column.times(self.column.number(SAFETY), power)

    def _smaller(self, factor: str) -> str:
        """The step size of another try."""
        return self.column.times(self._column("%memory"), factor)

    def _rejected_factor(self, error: str) -> str:
        """A NaN has no factor of its own: the least."""
        return self.column.intrinsic("maxnum", self._factor(error), self.column.number(LEAST))

    def _next_step_size(self) -> str:
        """That after this step; one cut at stop does not reduce it, and after a rejected try it does not grow."""
        column = self.column
        factor = self._factor(self._column("%memory", 3))
        rejected = self._holds(self._column("%memory", 4))
        most = column.choose(rejected, column.number(1.0), column.number(MOST))
        factor = column.intrinsic("minnum", column.intrinsic("maxnum", factor, column.number(LEAST)), most)
        wanted = column.times(self._column("%memory"), factor)
        longer = column.intrinsic("maxnum", wanted, self._column("%memory", 2))
        return column.choose(self._is_last(), longer, wanted)

    def _status_of_short_steps(self, error: str) -> str:
        """Why the step size fell below the resolution of time, as a column of numbers."""
        finite = self.column.compare("olt", error, self.column.number(1e300))  # and no NaN
        short, none = (self.column.number(float(status)) for status in (Status.TOO_SHORT, Status.NOT_FINITE))
        return self.column.choose(finite, short, none)
