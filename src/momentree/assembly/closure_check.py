"""Constraint violations of starts: independent constraints must close to round-off, redundant ones within tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.samples import Samples
from momentree.assembly.scaled_constraints import CUT_OFF, Scales, constraint_tolerances
from momentree.equations.evaluation import Evaluation
from momentree.equations.loops.constraint_jacobian import velocity_rows
from momentree.spatial import Scalar
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
    speed = np.maximum(1.0, np.abs(at.v.T / scales.columns).max(axis=1, initial=0.0))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        closure_errors, velocities = at.closure_errors(), at.constraint_velocities()
        by_position = row_scales(at, scales.rows, scales.columns)
        by_velocity = row_scales(at, scales.velocity_rows, scales.columns, on_velocities=True)
    for k in np.flatnonzero(~np.isfinite(closure_errors).all(axis=1))[:1]:
        velocity_rows(Evaluation(mechanism, at.q[:, k].tolist(), float(at.t[k])))  # says what has no direction there
    within, velocities_within = (_tolerances(mechanism, on_velocities) for on_velocities in (False, True))
    for what, unit, values, by, limit in (
        ("closure error", "m or rad", closure_errors, by_position, np.maximum(within, CLOSED)),
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


def row_scales(at: Samples, of_loops: Array, columns: Array, on_velocities: bool = False) -> Array:
    """k x rows: divisors of closure errors, or of constraint velocities; of an expression, the norm of its row."""
    norms = [_norm(at, e.entries, columns) for e in at.expressions if on_velocities or e.holonomic]
    expressions = [np.where(norm > 0, norm, 1.0)[:, None] for norm in norms]
    loops = np.broadcast_to(of_loops, (len(at.t), of_loops.shape[-1]))
    return np.concatenate([loops, *expressions], axis=1)


def _norm(at: Samples, entries: Mapping[int, Scalar], columns: Array) -> Array:
    """k: of a row of the constraint Jacobian, by what its entries are multiplied with."""
    scaled = at.table(entries.values()) * columns[..., [*entries]]
    return np.asarray(np.sqrt(np.sum(scaled**2, axis=1)))


def _tolerances(mechanism: Mechanism, on_velocities: bool) -> Array:
    """Of scaled rows."""
    more = sum(on_velocities or constraint.holonomic for constraint in mechanism.constraints)
    return np.concatenate([constraint_tolerances(mechanism, on_velocities), np.full(more, CLOSED)])


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
