"""The progress bar of a simulation: simulated time, speed, closure error of the loops; on a terminal only."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

# takes the time reached (s), and a function that computes the closure error there (m, rad)
Show = Callable[[float, Callable[[], float]], None]
PATIENCE = 0.7  # s before a bar appears
OFTEN = 0.1  # s between two looks at it


@contextlib.contextmanager
def bar(t_start: float, t_end: float, wanted: bool | None = None) -> Iterator[Show]:
    """A function to call after each block; shows nothing if standard error is no terminal, or if not wanted."""
    shown = sys.stderr.isatty() if wanted is None else wanted
    if not shown:
        yield lambda t, closure_error: None
        return
    with contextlib.ExitStack() as stack:
        yield _Bar(t_start, t_end, stack)


class _Bar:
    """Appears once it takes long enough for somebody to wait."""

    def __init__(self, t_start: float, t_end: float, stack: contextlib.ExitStack):
        self.t_start, self.t_end, self.stack = t_start, t_end, stack
        self.began = self.looked = time.monotonic()
        self.first: float | None = None
        self.update: Callable[..., None] | None = None

    def __call__(self, t: float, closure_error: Callable[[], float]) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self.began = t, now
        if now - self.began < PATIENCE or now - self.looked < OFTEN:
            return
        self.looked = now
        self.update = self.update or self._appear()
        speed = (t - self.first) / max(now - self.began, 1e-9)
        text = f"t = {t:.4g} of {self.t_end:g} s  {speed:.3g} s/s  closure error {closure_error():.1e}"
        self.update(completed=t, text=text)

    def _appear(self) -> Callable[..., None]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), TextColumn("{task.fields[text]}"), TimeRemainingColumn())
        shown = self.stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
        task = shown.add_task("", total=self.t_end - self.t_start, text="")

        def update(completed: float, text: str) -> None:
            shown.update(task, completed=completed - self.t_start, text=text)

        return update
