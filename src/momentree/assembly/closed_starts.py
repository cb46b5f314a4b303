"""Whether starts close all loops: independent constraints to round-off, redundant ones within their tolerance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.samples import Samples
from momentree.assembly.scaled_constraints import CUT_OFF, Scales, constraint_tolerances
from momentree.structure.mechanism import Mechanism

CLOSED = 1e-8  # by the size of each loop: up to this its independent constraints count as closed


class Opened(NamedTuple):
    """What is open at a start: the row, what of it ("closure error" or "velocity"), its unit, and how much."""

    row: int
    what: str
    unit: str
    value: float


def opened(mechanism: Mechanism, at: Samples) -> Opened | None:
    """The worst of all that starts leave open beyond what they may; None if they are closed."""
    scales = Scales(mechanism)
    more = len(mechanism.constraints)
    rows = np.concatenate([scales.rows, np.ones(more)])
    within = np.concatenate([constraint_tolerances(mechanism), np.full(more, CLOSED)])
    speed = np.maximum(1.0, np.abs(at.v.T / scales.columns).max(axis=1, initial=0.0))[:, None]
    closure_errors, velocities = at.closure_errors(), at.constraint_velocities()
    for what, unit, found, by, limit in (
        (
            "closure error",
            "m or rad",
            closure_errors,
            rows[: closure_errors.shape[1]],
            np.maximum(within[: closure_errors.shape[1]], CLOSED),
        ),
        ("velocity", "m/s or rad/s", velocities, rows * speed, np.maximum(within, CUT_OFF)),
    ):
        scaled = np.abs(found / by)
        scaled = np.where(np.isfinite(scaled), scaled, np.inf)
        for k in np.flatnonzero((scaled > CLOSED).any(axis=1)):
            part = _independent(mechanism, scales, at, int(k), (found / by)[k])
            worst = np.maximum(np.abs(part) / CLOSED, scaled[k] / limit)
            row = int(worst.argmax())
            if not worst[row] <= 1:
                return Opened(row, what, unit, float(abs(found[k, row])))
    return None


def _independent(mechanism: Mechanism, scales: Scales, at: Samples, k: int, scaled: Array) -> Array:
    """The part of scaled closure errors that motions of the tree could close: along directions stronger than the cut-off."""
    if not np.isfinite(scaled).all():
        return scaled
    configuration = Configuration(mechanism, at.q[:, k], t=float(at.t[k]))
    J = scales.scaled(configuration, on_velocities=len(scaled) > len(configuration.closure_errors()))
    closing = J.shortest(scaled, CUT_OFF)
    return np.asarray(J.J @ (closing / J.column_scales))
