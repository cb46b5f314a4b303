"""What long work is doing, on one line of the terminal that vanishes when it is done; silent everywhere else.

Any room may say what it does, and the line shows the phases that are under way, the outer ones first:

    with activity("assembling", name) as phase:             assembling 'walker': 3072 of 4096 ... 2 s
        phase.tell("3072 of 4096", 0.75)

A line appears after `PATIENCE`, if standard error is a terminal and $MOMENTREE_PROGRESS is not "off". The outermost
phase of a call opens it, and a thread draws it, also while machine code runs; at the end of that phase, or at an
exception, it is cleared. One call at a time has the terminal: those in other threads are silent.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

PATIENCE = 0.5  # s before a line appears
OFTEN = 0.1  # s between two looks at it
CELLS = 10  # of a bar
LONGEST_NAME = 40  # signs of a name that are shown

_terminal = threading.Lock()  # held by the call that has a line


class Activity:
    """One phase of long work, for as long as `with` lasts; see `activity`."""

    __slots__ = ("_began", "_line", "_name", "_news", "_opened", "_told", "_what", "share")

    def __init__(self, what: str, name: str = ""):
        self._what, self._name, self._news = what, name, ""
        self.share: float | None = None  # how much of it is done, if that is known
        self._line: _Silence = SILENCE
        self._opened: Token[_Silence | None] | None = None
        self._began, self._told = time.monotonic(), 0.0

    def __enter__(self) -> Activity:
        current = _current.get()
        try:
            self._line = _opened() if current is None else current
            if current is None:
                self._opened = _current.set(self._line)
            self._line.begin(self)
        except BaseException:  # Ctrl-C may come at any moment
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._line.end(self)
        finally:
            if self._opened is not None:
                _current.reset(self._opened)
                self._line.close()

    @property
    def due(self) -> bool:
        """Whether it is time for news that take some computing: somebody sees the line, and the last are old."""
        return self._line.seen() and time.monotonic() - self._told >= OFTEN

    def tell(self, news: str, share: float | None = None) -> None:
        """What has been reached; with the share of the work that is done, 0 to 1, a bar and the time that is left."""
        self._news, self.share, self._told = news, share, time.monotonic()

    @property
    def text(self) -> str:
        """The phase in words."""
        name = f" '{_short(self._name)}'" if self._name else ""
        return f"{self._what}{name}{': ' if self._news else ''}{self._news}"

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._began


def activity(what: str, name: str = "") -> Activity:
    """A phase of long work: what is done, "compiling the equations of", and the name of the system it is done to."""
    return Activity(what, name)


@contextlib.contextmanager
def showing(progress: Any) -> Iterator[None]:
    """Within, phases are shown as an argument `progress=` wants it: None, as usual; False, not at all.

    Nor are they where it is a function, which takes care of that itself.
    """
    if progress is not False and not callable(progress):
        yield
        return
    token = _current.set(SILENCE)
    try:
        yield
    finally:
        _current.reset(token)


class _Silence:
    """A line that nobody sees."""

    def begin(self, phase: Activity) -> None:
        """A phase begins."""

    def end(self, phase: Activity) -> None:
        """A phase ends."""

    def seen(self) -> bool:
        """Whether anybody sees it now."""
        return False

    def close(self) -> None:
        """Leave the terminal as it was."""


SILENCE = _Silence()
_current: ContextVar[_Silence | None] = ContextVar("momentree_activity", default=None)  # the line of this call


def _opened() -> _Silence:
    """A line on the terminal, where there is one and nobody else has it."""
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return SILENCE
    if os.environ.get("MOMENTREE_PROGRESS", "on").lower() in ("", "off"):
        return SILENCE
    return _Line(stream) if _terminal.acquire(blocking=False) else SILENCE


class _Line(_Silence):
    """A line on a terminal, drawn by a thread of its own."""

    def __init__(self, stream: Any):
        self._stream, self._began = stream, time.monotonic()
        self._phases: list[Activity] = []
        self._done, self._drawn = threading.Event(), 0
        self._thread = threading.Thread(target=self._draw, name="momentree-progress", daemon=True)
        self._thread.start()

    def begin(self, phase: Activity) -> None:
        self._phases.append(phase)

    def end(self, phase: Activity) -> None:
        with contextlib.suppress(ValueError):  # it was interrupted before it began
            self._phases.remove(phase)

    def seen(self) -> bool:
        return time.monotonic() - self._began >= PATIENCE - OFTEN

    def close(self) -> None:
        try:
            self._done.set()
            self._thread.join()
        finally:
            self._write("", 0)
            _terminal.release()

    def _draw(self) -> None:
        wait = PATIENCE
        while not self._done.wait(wait):
            wait = OFTEN
            phases = list(self._phases)
            if phases:
                self._write(*_cut(self._text(phases), _columns(self._stream) - 1))

    def _write(self, text: str, width: int) -> None:
        """Replace what is on the line, by blanks where nothing is written."""
        if not text and not self._drawn:
            return
        blanks = max(self._drawn - width, 0)
        encoding = getattr(self._stream, "encoding", None) or "ascii"
        shown = text.encode(encoding, "replace").decode(encoding)
        with contextlib.suppress(OSError, ValueError):  # the terminal was closed
            self._stream.write(f"\r{shown}{' ' * blanks}" + ("" if text else "\r"))
            self._stream.flush()
        self._drawn = width

    def _text(self, phases: list[Activity]) -> str:
        seconds = time.monotonic() - self._began
        words = ": ".join(phase.text for phase in phases)
        measured = next((phase for phase in reversed(phases) if phase.share is not None), None)
        if measured is None or measured.share is None:
            return f"{words} ... {_duration(seconds)}"
        share = min(max(measured.share, 0.0), 1.0)
        done = round(CELLS * share)
        left = f"{_duration(measured.seconds * (1 - share) / share)} left, " if share > 0.01 else ""
        return f"[{'=' * done}{' ' * (CELLS - done)}] {left}{words}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _short(name: str) -> str:
    """A name as it can be shown: no sign in it moves the cursor."""
    shown = "".join(c if c.isprintable() else "?" for c in str(name)[: LONGEST_NAME + 1])
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 3]}..."


def _columns(stream: Any) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


def _cut(text: str, columns: int) -> tuple[str, int]:
    """As much of a text as fits into so many columns, and how many it takes."""
    width = 0
    for i, c in enumerate(text):
        takes = 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        if width + takes > columns:
            return text[:i], width
        width += takes
    return text, width
