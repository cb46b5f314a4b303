"""Configurations with closed loops near given points, many at once: where rates of a mechanism's programme count.

Newton's method with shortest steps, g(q, t) = 0 by differences of closure errors; points from which it does not arrive
are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.samples import Samples
from momentree.assembly.scaled_constraints import Scales
from momentree.structure.mechanism import Mechanism

Array = NDArray[np.float64]
CLOSED = 1e-9  # m and rad, of mechanisms of 1 m and more: by how much loops may stay open
ITERATIONS = 40
LONGEST = 0.5  # rad, and sizes of the mechanism: the longest step
DIFFERENCE = 1e-7  # of the same
CUT_OFF = 1e-6  # of the largest singular value: directions in which loops cannot be closed


def closed_points(mechanism: Mechanism, q: Array, t: Array) -> tuple[Array, NDArray[np.bool_]]:
    """q (k, n) moved to where loops and constraints on positions are closed at t (k,), and which of them are."""
    columns, n = np.asarray(Scales(mechanism).columns), q.shape[1]
    limit = CLOSED * min(1.0, mechanism.size)
    q, open_ones = q.copy(), np.arange(len(q))
    closed = np.zeros(len(q), dtype=bool)
    for _ in range(ITERATIONS):
        g = _errors(mechanism, q[open_ones], t[open_ones])
        done = np.abs(g).max(axis=1, initial=0.0) <= limit
        closed[open_ones[done]] = True
        open_ones, g = open_ones[~done & np.isfinite(g).all(axis=1)], g[~done & np.isfinite(g).all(axis=1)]
        if not len(open_ones):
            break
        here, now = q[open_ones], t[open_ones]
        steps = np.repeat(np.eye(n) * DIFFERENCE * columns, len(here), axis=0)
        later = _errors(mechanism, np.tile(here, (n, 1)) + steps, np.tile(now, n)).reshape(n, *g.shape)
        J = np.moveaxis((later - g) / DIFFERENCE, 0, -1)
        J[~np.isfinite(J).all(axis=(1, 2))] = 0.0
        step = -np.einsum("knm,km->kn", np.linalg.pinv(J, rcond=CUT_OFF), g)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        q[open_ones] += step * np.minimum(1.0, LONGEST / np.where(length > 0, length, 1.0)) * columns
    return q, closed


def _errors(mechanism: Mechanism, q: Array, t: Array) -> Array:
    with np.errstate(all="ignore"):
        return Samples(mechanism, q, np.zeros_like(q), t).closure_errors()
