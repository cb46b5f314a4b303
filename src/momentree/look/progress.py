"""The progress of a simulation: simulated time, speed, closure error of the loops; on a terminal only."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from momentree.activity import Activity, activity, showing

# takes the time reached (s), functions that compute the closure error there (m, rad) and what else is to be said
Show = Callable[[float, Callable[[], float], Callable[[], str]], None]


@contextlib.contextmanager
def bar(name: str, t_start: float, t_end: float, wanted: bool | None = None) -> Iterator[Show]:
    """A function to call after each block; shows nothing if standard error is no terminal, or if not wanted."""
    with showing(wanted), activity("simulating", name) as phase:
        yield _Bar(phase, t_start, t_end)


class _Bar:
    """What a simulation has reached, and how quickly."""

    def __init__(self, phase: Activity, t_start: float, t_end: float):
        self.phase, self.t_start, self.t_end = phase, t_start, t_end
        self.began = time.monotonic()
        self.first: float | None = None

    def __call__(self, t: float, closure_error: Callable[[], float], more: Callable[[], str] = str) -> None:
        if self.first is None:
            self.first, self.began = t, time.monotonic()
        if not self.phase.due:
            return
        speed = (t - self.first) / max(time.monotonic() - self.began, 1e-9)
        text = f"t = {t:.4g} of {self.t_end:g} s, closure error {closure_error():.1e}, {speed:.3g} s/s{more()}"
        self.phase.tell(text, (t - self.t_start) / (self.t_end - self.t_start))
