"""Stiffness of a run: whether an explicit method takes much shorter steps than the motion needs; what to do then.

A motion is stiff where solutions nearby decay or swing much more quickly than it changes itself. An explicit method
follows these: their errors, or its stability, keep its steps short. As in LSODA (Petzold 1983, SIAM J. Sci. Stat.
Comput. 4, 136-148), the computed motion itself says which steps an implicit method could take instead: where the last

    steps = 32 + n^2 / 90                 n: coordinates and velocities; n^2 for the linear algebra of long systems

steps lie on one polynomial of degree 5 to within the tolerance, "radau9" takes steps of about half that length. At
least 200,000 / (1 + n^2 / 400) steps must remain at this pace: they take as long as to generate the code of the
implicit method, which grows less with n than the work of a step does.

The test of Hairer and Wanner 1996, IV.2, h |lambda| beyond the stability limit, finds few of these runs at tight
tolerances: there errors of the fast solutions keep steps short before stability does (docs/theory/stiff-motions.md).

Looked at are whole blocks of steps after they are done, rarely, and by counts alone: the numbers of a run that is not
stiff are the same as without it, and those of one that is the same on every repetition.
"""

from __future__ import annotations

import math

import numpy as np

from momentree.integrate.error_norm import least_sizes
from momentree.integrate.stepper import Array, Integration
from momentree.simulate.phase import Phase
from momentree.simulate.settings import Settings

REMAINING, REMAINING_OF_SQUARE = 200_000, 1 / 400  # steps; of n^2: by so much fewer are enough
STEPS, OF_SQUARE = 32, 1 / 90  # of the window
DEGREE, WITHIN = 5, 3.0  # of the polynomial; times the tolerance
GROWTH = 2.0  # of the step size within the window: one that grows is not kept short
WAIT, LONGEST_WAIT = 2, 64  # blocks between two looks at first, and at most


class StiffnessWatch:
    """When to look at a run with these settings, and what was found.

    | attribute | meaning                                                            |
    |-----------|--------------------------------------------------------------------|
    | found     | when steps were found to be much shorter than needed (s); or None  |
    """

    def __init__(self, settings: Settings, waited: float = 0.0, wait: float = WAIT, found: float = math.nan):
        self._given, self._waited, self._wait = settings, int(waited), int(wait)
        self.found: float | None = None if math.isnan(found) else found

    @property
    def settings(self) -> Settings:
        """Those that hold now."""
        return self._given if self.found is None else self._given.once_stiff

    @property
    def switched(self) -> str | None:
        """The integrator that goes on where the motion was found to be stiff; None: the same."""
        return None if self.found is None else self._given.if_stiff

    def numbers(self) -> Array:
        """All that it remembers, from which it can be made again."""
        return np.array([self._waited, self._wait, math.nan if self.found is None else self.found])

    def found_in(self, phase: Phase, integration: Integration, records: Array, t_end: float, slow: bool) -> bool:
        """Whether the motion is found to be stiff in a block of steps, and another integrator is to go on.

        Where it is so slow that it would be given up, it is looked at out of turn.
        """
        n = phase.formulated.nq + phase.formulated.nv
        steps = self._due(len(records), n, slow)
        if not steps:
            return False
        t, h, y, _ = integration.unpacked(records[-steps:])
        if not self._kept_short(h, t_end - integration.t, n):
            return False
        q, v = phase.moves(t, y[:, :, 0])
        x = np.concatenate([q[:, phase.q], v[:, phase.v]], axis=1)
        after = self._given.once_stiff
        sizes = np.abs(x).max(axis=0)
        if after.atol is None:
            sizes = np.maximum(sizes, least_sizes(phase.mechanism))
        if is_smooth(t, x, after.rtol * sizes + (after.atol or 0.0)):
            self.found = float(t[-1])
        return self.switched is not None

    def _due(self, made: int, n: int, slow: bool) -> int:
        """How many of the last steps are to be looked at, after a block of so many; 0: none."""
        method, steps = self._given.method, STEPS + int(OF_SQUARE * n * n)
        self._waited += 1
        waits = self._waited < self._wait and not slow
        if self.found is not None or not method.adaptive or method.stiff or waits or made < steps:
            return 0
        self._waited, self._wait = 0, min(2 * self._wait, LONGEST_WAIT)
        return steps

    def _kept_short(self, h: Array, remaining: float, n: int) -> bool:
        """Whether steps h neither grow nor are the largest that are allowed, and many remain."""
        allowed = self._given.step is None or h.max() < 0.99 * self._given.step
        least = REMAINING / (1 + REMAINING_OF_SQUARE * n * n)
        return allowed and bool(remaining > least * h.mean() and h[-1] <= GROWTH * h[0])


def is_smooth(t: Array, x: Array, scales: Array) -> bool:
    """Whether numbers x (k, n) at times t lie on polynomials of degree DEGREE, to within WITHIN scales (n)."""
    middle, half = (t[0] + t[-1]) / 2, (t[-1] - t[0]) / 2
    if not (half > 0 and np.isfinite(x).all()):
        return False
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander((t - middle) / half, DEGREE))
    rest = x - basis @ (basis.T @ x)
    return bool((np.abs(rest) <= WITHIN * scales).all())
