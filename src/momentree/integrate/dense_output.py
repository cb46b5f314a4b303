"""Dense output: the solution within a step, from the stages of that step (`Interpolant` in tableau.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.integrate.stepper import Array, Integration
from momentree.integrate.tableau import Interpolant, Row


def sampled(
    integration: Integration, records: Array, times: Array, y_before: Array, quaternions: Sequence[int]
) -> Array:
    """The states (k, n, 1) at those of the times that the records reach; y_before (n, 1) is where they begin.

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
    return at_fraction(integration, records, y_before, step, fraction(t[step], h[step], due), quaternions)


def at_fraction(
    integration: Integration,
    records: Array,
    y_before: Array,
    step: NDArray[np.intp],
    x: Array,
    quaternions: Sequence[int],
) -> Array:
    """The states (k, n, 1) at fractions x of steps of the records; y_before (n, 1) is where they begin."""
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
    return np.asarray(polynomial(interpolant, x[:, None], h[:, None], y0, y1, lambda i: stages[:, i]))


def fraction(t: Any, h: Any, time: Any) -> Any:
    """The part of a step of size h, which ended at t, after which it is `time`."""
    return 1 - (t - time) / h


def polynomial(interpolant: Interpolant, x: Any, h: Any, y0: Any, y1: Any, stage: Callable[[int], Any]) -> Any:
    """y at x of a step, of numbers, arrays, or values in machine code (`Value`); a formula for all of them."""
    sums = [h * _weighted(row, stage) for row in interpolant.rows]
    if interpolant.end is None:
        y = sums[-1]
        for total in reversed(sums[:-1]):
            y = y * x + total
        return y0 + y * x
    rise, first, last = y1 - y0, stage(0), stage(interpolant.end)
    parts = [rise, h * first - rise, 2 * rise - h * (first + last), *sums]
    y = None
    for j, part in reversed(list(enumerate(parts))):
        y = (part if y is None else y + part) * (x if j % 2 == 0 else 1 - x)
    return y0 + y


def _weighted(row: Row, stage: Callable[[int], Any]) -> Any:
    total = None
    for i, weight in row.items():
        part = stage(i) * weight
        total = part if total is None else total + part
    return total
