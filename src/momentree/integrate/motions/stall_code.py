"""Stall detection in machine code: whether a motion comes to its end, by the counts of its own tries.

The windows are those of single simulations (simulate/stall_detection.py). There a cause must be recognized where the
first of them is all that speaks; many motions do without that one. Beyond Slot.MOST tries a motion is STALLED, too.
"""

from __future__ import annotations

import math

from momentree.integrate.columns import ColumnRoutine
from momentree.integrate.motions.job import Lane, Slot
from momentree.integrate.records import Status

# tries, tries that remain, part of them that was rejected
SUSPECT = (20_000, 1e8, 0.0)  # where a cause must be recognized too
WINDOWS = (SUSPECT, (20_000, 1e8, 0.1), (20_000, 1e11, 0.0), (200_000, 1e10, 0.0))
MEMORY = {20_000: Lane.TRIES_SHORT, 200_000: Lane.TRIES_LONG}  # followed by rejected tries and t


class StallCode(ColumnRoutine):
    """The pace of each lane, after a try."""

    def _judge_pace(self) -> None:
        """STALLED in lanes that would not end at their pace."""
        column = self.column
        accepted, rejected = (self._column("%lanes", lane) for lane in (Lane.ACCEPTED, Lane.REJECTED))
        tries = column.plus(accepted, rejected)
        self._stall(column.compare("oge", tries, self._shared("%job", Slot.MOST)))
        for window, lane in MEMORY.items():
            tried = column.less(tries, self._column("%lanes", lane))
            due = column.compare("oge", tried, column.number(float(window)))
            with self.when(self._any(due)):
                self._judge_window(window, lane, tried, due)

    def _judge_window(self, window: int, lane: Lane, tried: str, due: str) -> None:
        column = self.column
        t, begun = self._column("%lanes", Lane.T), self._column("%lanes", lane + 2)
        lost = column.less(self._column("%lanes", Lane.REJECTED), self._column("%lanes", lane + 1))
        rest, passed = column.less(self._shared("%control", 2), t), column.less(t, begun)
        pace = self.let(f"fdiv {column.type} {column.times(tried, rest)}, {passed}")
        moved = column.compare("ogt", passed, column.number(0.0))
        remaining = column.choose(moved, pace, column.number(math.inf))
        for tries, most, part in WINDOWS:
            if tries == window and (tries, most, part) != SUSPECT:
                slow = column.compare("ogt", remaining, column.number(most))
                many = column.compare("oge", lost, column.times(tried, column.number(part)))
                self._stall(self._both(due, self._both(slow, many)))
        counts = column.plus(self._column("%lanes", lane), tried), self._column("%lanes", Lane.REJECTED), t
        for k, value in enumerate(counts):
            old = self._column("%lanes", lane + k)
            self._put_column(column.choose(due, value, old), "%lanes", lane + k)

    def _stall(self, where: str) -> None:
        self._end_where(where, self.column.number(float(Status.STALLED)))

    def _end_where(self, where: str, status: str) -> None:
        """A status in lanes that are going on."""
        raise NotImplementedError
