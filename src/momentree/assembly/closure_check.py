"""Constraint violations of starts: independent constraints must close to round-off, redundant ones within tolerance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.samples import Samples
from momentree.assembly.scaled_constraints import CUT_OFF, Scales, constraint_tolerances
from momentree.structure.mechanism import Mechanism

CLOSED = 1e-8  # by the size of each loop: up to this its independent constraints count as closed


class Violation(NamedTuple):
    """What is open at a start: the index of the constraint, "closure error" or "velocity", the unit, and how much."""

    constraint: int
    what: str
    unit: str
    value: float


def worst_violation(mechanism: Mechanism, at: Samples) -> Violation | None:
    """The worst of all that starts leave open beyond what they may; None if they are closed."""
    scales = Scales(mechanism)
    more = len(mechanism.constraints)
    by_position = np.concatenate([scales.rows, np.ones(more)])
    by_velocity = np.concatenate([scales.velocity_rows, np.ones(more)])
    within = np.concatenate([constraint_tolerances(mechanism), np.full(more, CLOSED)])
    velocities_within = np.concatenate([constraint_tolerances(mechanism, on_velocities=True), np.full(more, CLOSED)])
    speed = np.maximum(1.0, np.abs(at.v.T / scales.columns).max(axis=1, initial=0.0))[:, None]
    closure_errors, velocities = at.closure_errors(), at.constraint_velocities()
    count = closure_errors.shape[1]
    for what, unit, values, by, limit in (
        ("closure error", "m or rad", closure_errors, by_position[:count], np.maximum(within[:count], CLOSED)),
        ("velocity", "m/s or rad/s", velocities, by_velocity * speed, np.maximum(velocities_within, CUT_OFF)),
    ):
        scaled = np.abs(values / by)
        scaled = np.where(np.isfinite(scaled), scaled, np.inf)
        for k in np.flatnonzero((scaled > CLOSED).any(axis=1)):
            part = _independent(mechanism, scales, at, int(k), (values / by)[k], what == "velocity")
            worst = np.maximum(np.abs(part) / CLOSED, scaled[k] / limit)
            i = int(worst.argmax())
            if not worst[i] <= 1:
                return Violation(i, what, unit, float(abs(values[k, i])))
    return None


def _independent(
    mechanism: Mechanism, scales: Scales, at: Samples, k: int, scaled: Array, on_velocities: bool
) -> Array:
    """The part of scaled closure errors that motions of the tree could close, along directions above the cut-off."""
    if not np.isfinite(scaled).all():
        return scaled
    configuration = Configuration(mechanism, at.q[:, k], t=float(at.t[k]))
    J = scales.scaled(configuration, on_velocities)
    closing = J.shortest(scaled, CUT_OFF)
    return np.asarray(J.J @ (closing / J.column_scales))
