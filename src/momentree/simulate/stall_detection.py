"""Stall detection: whether a simulation with adaptive step size comes to its end, or steps shrink for ever.

By counts of tried steps, not by the clock, so that the same run always ends at the same step.

| in the last   | it is given up where, at that pace, so many tries remain                             |
|---------------|--------------------------------------------------------------------------------------|
| 20,000 tries  | more than 1e8, and a law jumps there, or loops are at the end of their reach          |
| 20,000 tries  | more than 1e8, and at least one in ten was rejected                                  |
| 20,000 tries  | more than 1e11                                                                       |
| 200,000 tries | more than 1e10                                                                       |
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from momentree.integrate.motions.stall_code import WINDOWS


class StallDetector:
    """Where a simulation was, and how many steps it had tried, when each window began."""

    def __init__(self, t: float, *begun: float):
        self._begun = list(begun) or [float(x) for _ in WINDOWS for x in (t, 0, 0)]

    def numbers(self) -> NDArray[np.float64]:
        """All that it remembers, from which it can be made again."""
        return np.array([0.0, *self._begun])

    def checked(self, t: float, t_end: float, accepted: int, rejected: int) -> tuple[str, bool]:
        """What is wrong with the pace since the windows began, "" if nothing is; and whether that is sure."""
        message, sure = "", False
        for k, (tries, most, part) in enumerate(WINDOWS):
            t_begun, before, refused = self._begun[3 * k : 3 * k + 3]
            tried, lost = accepted + rejected - before, rejected - refused
            if tried < tries:
                continue
            self._begun[3 * k : 3 * k + 3] = [t, float(accepted + rejected), float(rejected)]
            remaining = tried * (t_end - t) / (t - t_begun) if t > t_begun else math.inf
            if remaining > most and lost >= part * tried:
                message = (
                    f"at t = {t:.9g} s the simulation hardly advances: the last {tried:,.0f} tries, "
                    f"{lost / tried:.0%} of them rejected, came {t - t_begun:.2g} s further; "
                    f"t_end is {remaining:.1g} more tries away."
                )
                sure = sure or k > 0
        return message, sure
