"""The work of forces within long steps: where cubic inputs make a motion a polynomial, work is one of higher degree.

Steps are then as long as the motion allows, and dense output gives the motion to round-off, but not the work. Where the
power that follows from coordinates and velocities is not the slope of the dense output, it is integrated from the start
of the step, by Gauss's formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.integrate.dense_output import at_fraction, fraction
from momentree.integrate.stepper import Array, Integration
from momentree.simulate.phase import Phase, Within

PROBE, LITTLE = 0.3, 1e-4  # where in a step its slope is looked at, and over how much of the step
EXACT = 1e-9  # of the power: dense output as near as that will do

At = Callable[[NDArray[np.intp], Array], Array]


class Steps(NamedTuple):
    """The steps of some records.

    | field  | meaning                                                            |
    |--------|--------------------------------------------------------------------|
    | t, h   | when each ended, and its size (s)                                  |
    | within | times, coordinates and velocities of the system at parts of steps  |
    | work   | the work terms there, as dense output has them                     |
    """

    t: Array
    h: Array
    within: Within
    work: At


@functools.cache
def gauss_formula() -> tuple[Array, Array]:
    """Nodes and weights between 0 and 1. NumPy loads its polynomials when they are asked for, which takes a while."""
    points, weights = np.polynomial.legendre.leggauss(6)
    return (1 + points) / 2, weights / 2


def with_finer_work(
    phase: Phase, integration: Integration, records: Array, y_before: Array, times: Array, states: Array
) -> Array:
    """States (k, n) at times within the steps of records, as dense output has them, but for their work terms."""
    t, h, _, _ = integration.unpacked(records)

    def work(step: NDArray[np.intp], x: Array) -> Array:
        return at_fraction(integration, records, y_before, step, x, phase.quaternions)[:, phase.work_columns, 0]

    steps, finer = Steps(t, h, phase.moments_within(integration, records, y_before), work), states.copy()
    finer[:, phase.work_columns] = _finer_work(phase, steps, times, states[:, phase.work_columns])
    return finer


def _finer_work(phase: Phase, steps: Steps, times: Array, work: Array) -> Array:
    step = np.minimum(np.searchsorted(steps.t, times), len(steps.t) - 1)
    x = fraction(steps.t[step], steps.h[step], times)
    probed = np.unique(step[x < 1])
    (which,) = np.nonzero(np.isin(step, _coarse(phase, steps, probed)) & (x < 1)) if len(probed) else (probed,)
    if not len(which):
        return work
    step, x = step[which], x[which]
    nodes, weights = gauss_formula()
    parts = np.outer(nodes, x).ravel()
    powers = phase.powers(*steps.within(np.tile(step, len(nodes)), parts)).reshape(len(nodes), len(which), -1)
    done = steps.work(step, np.zeros(len(step))) + (steps.h[step] * x)[:, None] * np.tensordot(weights, powers, 1)
    finer = work.copy()
    finer[which] = np.where(np.isfinite(done), done, work[which])
    return finer


def _coarse(phase: Phase, steps: Steps, step: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the steps in which dense output of work is not precise."""
    at, h = np.full(len(step), PROBE), steps.h[step][:, None]
    slope = (steps.work(step, at + LITTLE) - steps.work(step, at - LITTLE)) / (2 * LITTLE * h)
    power = phase.powers(*steps.within(step, at))
    size = np.abs(power) + np.abs(steps.work(step, at)) / h
    return step[(np.abs(power - slope) > EXACT * size).any(axis=1)]
