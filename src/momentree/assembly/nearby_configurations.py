"""Closed configurations near another one, and the rank of the constraint Jacobian where it is not singular."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random

import numpy as np

from momentree.assembly.closing_search import Closed, Closing
from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.configuration_space import integrate
from momentree.assembly.scaled_constraints import CUT_OFF, ScaledConstraints, Scales
from momentree.errors import ExpressionError

PROBES = 2  # other configurations that are tried, in case the first is singular
OPEN_PROBES = 3  # random configurations whose loops are open: their rank is the largest of all
REACH = 0.2  # scaled: how far away the first of them is
LEAST_PROBE = 1e-9  # scaled: a motion that constraints allow; a smaller one is round-off


def constraints_at(at: Configuration) -> ScaledConstraints:
    """The constraint Jacobian J at a configuration, constraints on velocities included."""
    return Scales(at.mechanism).scaled(at, on_velocities=True)


def probes(nv: int) -> Array:
    """PROBES x nv: random motions, scaled; always the same ones."""
    return _random(1997, PROBES, nv)


def open_probes(nv: int) -> Array:
    """OPEN_PROBES x nv: random motions, scaled, that open loops; always the same ones."""
    return _random(2022, OPEN_PROBES, nv)


def _random(seed: int, count: int, nv: int) -> Array:
    """Normally distributed numbers; those of NumPy would take longer to load than a linkage takes to assemble."""
    numbers = Random(seed)
    return np.array([[numbers.gauss(0.0, 1.0) for _ in range(nv)] for _ in range(count)]).reshape(count, nv)


def nearby_configurations(at: Configuration) -> Iterator[Closed]:
    """A random motion that the constraints allow, then closed again: closed if the misfit is 1 at most."""
    mechanism, rows = at.mechanism, constraints_at(at)
    if not len(rows.constraint_scales) or not mechanism.nv:
        return
    closing = Closing(mechanism, at.t)
    for k, scaled in enumerate(probes(mechanism.nv)):
        step = rows.column_scales * scaled - rows.shortest(rows.J @ scaled, CUT_OFF)
        largest = float(np.abs(step / rows.column_scales).max(initial=0.0))
        if largest > LEAST_PROBE:
            with contextlib.suppress(ExpressionError):  # a constraint, such as one by a table, has no value there
                yield closing.close(integrate(mechanism, at.q, step * (REACH * (k + 1) / largest)))


def regular_rank(at: Configuration) -> int:
    """The largest rank of J at a configuration and near it."""
    closed = [at, *(near.at for near in nearby_configurations(at) if near.misfit <= 1)]
    return max(constraints_at(each).rank(CUT_OFF) for each in closed)
