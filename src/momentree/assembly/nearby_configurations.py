"""Closed configurations near another one, and the rank of the constraint Jacobian where it is not singular."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from momentree.assembly.closing_search import Closed, Closing
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.assembly.scaled_constraints import CUT_OFF, ScaledConstraints, Scales
from momentree.errors import ExpressionError

PROBES = 2  # other configurations that are tried, in case the first is singular


def constraints_at(at: Configuration) -> ScaledConstraints:
    """The constraint Jacobian J at a configuration, constraints on velocities included."""
    return Scales(at.mechanism).scaled(at, on_velocities=True)


def nearby_configurations(at: Configuration) -> Iterator[Closed]:
    """A random motion that the constraints allow, then closed again: closed if the misfit is 1 at most."""
    mechanism, rows = at.mechanism, constraints_at(at)
    if not len(rows.constraint_scales) or not mechanism.nv:
        return
    closing, random = Closing(mechanism, at.t), np.random.default_rng(1997)
    for k in range(PROBES):
        scaled = random.standard_normal(mechanism.nv)
        step = rows.column_scales * scaled - rows.shortest(rows.J @ scaled, CUT_OFF)
        largest = float(np.abs(step / rows.column_scales).max(initial=0.0))
        if largest > 1e-9:
            with contextlib.suppress(ExpressionError):  # a constraint, such as one by a table, has no value there
                yield closing.close(integrate(mechanism, at.q, step * (0.2 * (k + 1) / largest)))


def regular_rank(at: Configuration) -> int:
    """The largest rank of J at a configuration and near it."""
    closed = [at, *(near.at for near in nearby_configurations(at) if near.misfit <= 1)]
    return max(constraints_at(each).rank(CUT_OFF) for each in closed)
