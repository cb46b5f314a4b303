"""Dense output: the solution within a step, from the stages of that step (`Interpolant` in tableau.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from momentree.integrate.stepper import Array, Integration
from momentree.integrate.tableau import Interpolant, Row


def sampled(
    integration: Integration, records: Array, times: Array, y_before: Array, quaternions: Sequence[int]
) -> Array:
    """The states (k, n, W) at those of the times that the records reach; y_before (n, W) is where they begin.

    Without dense output, the records are the samples.
    """
    t, h, y, stages = integration.unpacked(records)
    if stages is None and len(y) > len(times):  # fixed steps ended a round-off early, and a tiny one followed
        return np.concatenate([y[: max(len(times) - 1, 0)], y[-1:]])[: len(times)]
    if stages is None or not len(t):
        return y
    due = times[: np.searchsorted(times, t[-1], side="right")]
    if not len(due):
        return y[:0]
    step = np.minimum(np.searchsorted(t, due), len(t) - 1)
    return at_fraction(integration, records, y_before, step, 1 - (t[step] - due) / h[step], quaternions)


def at_fraction(
    integration: Integration,
    records: Array,
    y_before: Array,
    step: NDArray[np.intp],
    x: Array,
    quaternions: Sequence[int],
) -> Array:
    """The states (k, n, W) at fractions x of steps of the records; y_before (n, W) is where they begin."""
    _, h, y, stages = integration.unpacked(records)
    assert stages is not None
    assert integration.interpolant is not None
    begin = np.concatenate([y_before[None], y[:-1]])[step]
    end = stages[step, -1] if integration.projected else y[step]  # before loops were closed
    flat = [part.reshape(*part.shape[:-2], -1) for part in (begin, end, stages[step])]
    states = within(integration.interpolant, x, h[step], *flat).reshape(begin.shape)
    for start in quaternions:
        quaternion = states[:, start : start + 4]
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    return states


def within(interpolant: Interpolant, x: Array, h: Array, y0: Array, y1: Array, stages: Array) -> Array:
    """y at x of each step: x, h (k,), y0, y1 (k, n), stages (k, s, n)."""
    x, h = x[:, None], h[:, None]
    sums = [h * _weighted(row, stages) for row in interpolant.rows]
    if interpolant.end is None:
        return y0 + sum(x ** (j + 1) * total for j, total in enumerate(sums))
    rise = y1 - y0
    first, last = stages[:, 0], stages[:, interpolant.end]
    parts = [rise, h * first - rise, 2 * rise - h * (first + last), *sums]
    y = np.zeros_like(y0)
    for j, part in reversed(list(enumerate(parts))):
        y = (y + part) * (x if j % 2 == 0 else 1 - x)
    return y0 + y


def _weighted(row: Row, stages: Array) -> Array:
    return sum((weight * stages[:, i] for i, weight in row.items()), start=np.zeros_like(stages[:, 0]))
