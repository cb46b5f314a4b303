"""Dense output: the solution within a step, from the stages of that step.

    rk4       y(x) = y0 + h sum_j x^(j+1) sum_i d_ji k_i                        of order 3
    dopri5    the same; so are radau and the cubic of verlet, verlet4           Shampine 1986
    dop853    y(x) = y0 + x (F0 + (1 - x) (F1 + x (F2 + (1 - x) (F3 + ...))))   Hairer, Norsett and Wanner 1993, II.6

with x = (t - t0) / h, F0 = y1 - y0, F1 = h k_0 - F0, F2 = 2 F0 - h (k_0 + f(y1)), F3 ... = h sum_i d_ji k_i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from momentree.integrate.stepper import Array, Integration
from momentree.integrate.tableaux import Row, Tableau


def sampled(motion: Integration, records: Array, times: Array, y_before: Array, quaternions: Sequence[int]) -> Array:
    """The states (k, n, W) at those of the times that the records reach; y_before (n, W) is where they begin.

    Without dense output, the records are the samples.
    """
    t, h, y, stages = motion.unpacked(records)
    if stages is None or not len(t):
        return y
    due = times[: np.searchsorted(times, t[-1], side="right")]
    if not len(due):
        return y[:0]
    step = np.minimum(np.searchsorted(t, due), len(t) - 1)
    return at_part(motion, records, y_before, step, 1 - (t[step] - due) / h[step], quaternions)


def at_part(
    motion: Integration, records: Array, y_before: Array, step: NDArray[np.intp], x: Array, quaternions: Sequence[int]
) -> Array:
    """The states (k, n, W) at parts x of steps of the records; y_before (n, W) is where they begin."""
    _, h, y, stages = motion.unpacked(records)
    assert stages is not None
    begin = np.concatenate([y_before[None], y[:-1]])[step]
    end = stages[step, -1] if motion.projected else y[step]  # before loops were closed
    flat = [part.reshape(*part.shape[:-2], -1) for part in (begin, end, stages[step])]
    found = within(motion.tableau, x, h[step], *flat).reshape(begin.shape)
    for place in quaternions:
        part = found[:, place : place + 4]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return found


def within(tableau: Tableau, x: Array, h: Array, y0: Array, y1: Array, stages: Array) -> Array:
    """y at x of each step: x, h (k,), y0, y1 (k, n), stages (k, s, n)."""
    x, h = x[:, None], h[:, None]
    sums = [h * _weighted(row, stages) for row in tableau.dense]
    if not tableau.extra:
        return y0 + sum(x ** (j + 1) * total for j, total in enumerate(sums))
    rise = y1 - y0
    first, last = stages[:, 0], stages[:, tableau.stages]
    parts = [rise, h * first - rise, 2 * rise - h * (first + last), *sums]
    y = np.zeros_like(y0)
    for i, part in enumerate(reversed(parts)):
        y = (y + part) * (x if i % 2 == 0 else 1 - x)
    return y0 + y


def _weighted(row: Row, stages: Array) -> Array:
    return sum((weight * stages[:, i] for i, weight in row.items()), start=np.zeros_like(stages[:, 0]))
