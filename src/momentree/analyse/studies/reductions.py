"""Reductions: one number of a column over time. They stand in the expressions of outputs like functions: max(A').

| reduction                | of the samples x of one motion                                                          |
|--------------------------|-----------------------------------------------------------------------------------------|
| max, min, peak, range    | the largest, the smallest, the largest size |x|, the largest less the smallest          |
| first, last              | at the start and at the end                                                             |
| mean, rms, integral      | over time, by the trapezoidal rule                                                      |
| time_of_max, time_of_min | the time of that sample (s)                                                             |
| crossing                 | the first time at which x passes zero (s), by a cubic through four samples; NaN: never  |
| crossings                | how often x passes zero                                                                 |
| samples                  | all of them: the output has an axis of time                                             |

max and min of several arguments are the usual functions, sample by sample. What a motion gives never depends on its
neighbours: sums run over time alone, along rows that are contiguous in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SAMPLES = "samples"


@dataclass(frozen=True)
class Reduction:
    """A function of times (k) and samples (m, k) to numbers (m, 1); to the grammar it is a table of this name.

    `unit` makes the unit of the number from that of the samples.
    """

    name: str
    of: Callable[[Array, Array], Array]
    unit: Callable[[str], str] = str

    identity = "a reduction"
    degree = 0
    summary = "a reduction over time"

    @property
    def pieces(self) -> NoReturn:
        """A reduction is no table of numbers: of a constant there is nothing to reduce."""
        raise ValueError(self.beyond(0.0))

    def beyond(self, x: float) -> str:
        """Why there is no value at a constant."""
        return f"'{self.name}' is taken over time, and nothing in its argument changes"


def _weights(t: Array) -> Array:
    """Of the trapezoidal rule; their sum is the duration."""
    steps = np.diff(t)
    return 0.5 * (np.append(steps, 0.0) + np.insert(steps, 0, 0.0))


def _integral(t: Array, x: Array) -> Array:
    return _sum(x * _weights(t))


def _mean(t: Array, x: Array) -> Array:
    return _integral(t, x) / (t[-1] - t[0]) if len(t) > 1 else x[:, :1]


def _sum(x: Array) -> Array:
    return np.asarray(np.ascontiguousarray(x).sum(axis=1, keepdims=True))


def _signs_change(x: Array) -> NDArray[np.bool_]:
    """m, k - 1: whether x passes zero between a sample and the next; beginning at zero is not passing it."""
    before = np.cumsum(x != 0, axis=1) == 0
    first = np.minimum(before.sum(axis=1), x.shape[1] - 1)
    up = np.where(before, x[np.arange(len(x)), first][:, None], x) > 0
    return np.asarray(up[:, 1:] != up[:, :-1])


def _crossing(t: Array, x: Array) -> Array:
    changes = _signs_change(x)
    found = np.full((len(x), 1), np.nan)
    for m in np.flatnonzero(changes.any(axis=1)):
        found[m] = _root(t, x[m], int(changes[m].argmax()))
    return found


def _root(t: Array, x: Array, i: int) -> float:
    """Where the cubic through four samples around an interval is zero in it, by bisection: always found."""
    begin = min(max(i - 1, 0), max(len(t) - 4, 0))
    at, of = t[begin : begin + 4], x[begin : begin + 4]

    def value(s: float) -> float:
        total = 0.0
        for j in range(len(at)):
            others = np.delete(at, j)
            total += float(of[j]) * float(np.prod((s - others) / (at[j] - others)))
        return total

    low, high, up = float(t[i]), float(t[i + 1]), bool(x[i + 1] > 0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if (value(middle) > 0) == up:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def _at(index: Callable[[Array], Any]) -> Callable[[Array, Array], Array]:
    def of(t: Array, x: Array) -> Array:
        found = t[index(x)][:, None]
        return np.where(np.isnan(x).any(axis=1, keepdims=True), np.nan, found)

    return of


def _time(unit: str) -> str:
    return "s"


def _over_time(unit: str) -> str:
    return f"{unit} s" if unit not in ("", "1") else "s" if unit else ""


REDUCTIONS = {
    one.name: one
    for one in (
        Reduction("max", lambda t, x: x.max(axis=1, keepdims=True)),
        Reduction("min", lambda t, x: x.min(axis=1, keepdims=True)),
        Reduction("peak", lambda t, x: np.abs(x).max(axis=1, keepdims=True)),
        Reduction("range", lambda t, x: np.ptp(x, axis=1, keepdims=True)),
        Reduction("first", lambda t, x: x[:, :1]),
        Reduction("last", lambda t, x: x[:, -1:]),
        Reduction("mean", _mean),
        Reduction("rms", lambda t, x: np.sqrt(_mean(t, x * x))),
        Reduction("integral", _integral, _over_time),
        Reduction("time_of_max", _at(lambda x: x.argmax(axis=1)), _time),
        Reduction("time_of_min", _at(lambda x: x.argmin(axis=1)), _time),
        Reduction("crossing", _crossing, _time),
        Reduction("crossings", lambda t, x: 1.0 * _signs_change(x).sum(axis=1, keepdims=True), lambda unit: "1"),
        Reduction(SAMPLES, lambda t, x: x),
    )
}
