"""The plan of a simulation: size of the first step, longest step size, steps between records, times of the samples."""

from __future__ import annotations

import math

import numpy as np

from momentree.errors import MomentreeError
from momentree.integrate.stepper import Array
from momentree.simulate.settings import Settings

RECORDS = 512  # of one call of the integrator
FIRST = 1e-6  # of the duration: the first step, from which the step size is adapted
SAME = 1e-14  # of the time: instants nearer to each other are one


class StepPlan:
    """What the settings say of steps and samples of a simulation from `t_start`.

    | attribute | meaning                                                                           |
    |-----------|-----------------------------------------------------------------------------------|
    | fixed     | whether all steps have one size                                                   |
    | first     | s: the size of the first step; of all, where it is fixed                          |
    | longest   | s: the largest step size that is allowed                                          |
    """

    def __init__(self, settings: Settings, t_start: float):
        self._settings, self._t_start = settings, t_start
        self.fixed = not settings.method.adaptive
        self.first = float(settings.step or 1) if self.fixed else FIRST * (float(settings.t_end) - t_start)
        self.longest = math.inf if self.fixed or settings.step is None else settings.step

    @property
    def interpolated(self) -> bool:
        """Whether samples are due within steps."""
        return self._settings.every is not None and not self.fixed

    def steps_between_records(self, dense: bool) -> int:
        """How many steps one record of the integrator spans; one where states within steps are needed (`dense`)."""
        every = self._settings.every
        return 1 if every is None or dense or not self.fixed else round(every / self.first)

    def refuse_many(self, numbers: int, most: int) -> None:
        """Samples of so many numbers each must not be more than so many together."""
        every, duration = self._settings.every, float(self._settings.t_end) - self._t_start
        if every is not None and duration / every * numbers > most:
            message = f"every is {every:g}: samples of {numbers} numbers would take more than {8 * most / 1e9:g} GB"
            raise MomentreeError(
                f"{message}. Give every of at least {duration * numbers / most:.2g} s, or an earlier t_end."
            )

    def sample_times(self) -> Array:
        """The start, multiples of `every` after it, and the end, with which one that is very near to it coincides."""
        every, t_end = float(self._settings.every or 1), float(self._settings.t_end)
        near = 1e-6 * self.first if self.fixed else 1e-9 * every
        count = math.floor((t_end - self._t_start) / every * (1 + 1e-12) + 1e-9)
        times = self._t_start + every * np.arange(count + 1)
        return np.append(times[times < t_end - near], t_end)


def due_at(times: Array | None, t: float, first: float) -> float:
    """The time of an event; if a sample is due then, but for round-off, the time of that sample."""
    if times is not None:
        i = int(np.searchsorted(times, t))
        for due in times[max(i - 1, 0) : i + 1].tolist():
            if abs(due - t) <= SAME * max(abs(t), first):
                return float(due)
    return t
