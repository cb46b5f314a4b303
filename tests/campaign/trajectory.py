"""A motion by the oracle: accelerations in maximal coordinates, integrated by SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from campaign.geometry import Array, from_quaternion, to_quaternion
from campaign.oracle import JointMotion, Motion, Oracle, Unanswered, ground_motion

RTOL = 1e-10
EVALUATIONS = 600  # motions that need more are too fast to follow here


def end_of(
    oracle: Oracle, coordinates: Mapping[str, Any], rank: int, frequency: float, duration: float
) -> dict[str, JointMotion]:
    """Every joint after a time; `velocity` (1/s) is how fast things of this size swing."""
    from scipy.integrate import DOP853

    n, count = len(oracle.plain.bodies), 0

    def at(t: float, y: Array) -> Oracle:
        return Oracle(oracle.plain, t, oracle.L).moving(_unpacked(oracle, t, y), coordinates)

    def derivative(t: float, y: Array) -> Array:
        nonlocal count
        count += 1
        if count > EVALUATIONS:
            raise Unanswered("the motion is too fast for the oracle")
        now = at(t, y)
        return _derivative(now, now.answer({}, rank).acceleration, y[3 * n : 7 * n].reshape(n, 4))

    sizes = np.repeat([oracle.L, 1.0, oracle.L * frequency, frequency], [3 * n, 4 * n, 3 * n, 3 * n])
    solver = DOP853(
        derivative, oracle.t, _packed(oracle.motion), oracle.t + duration, rtol=RTOL, atol=0.1 * RTOL * sizes
    )
    while solver.status == "running":
        solver.step()
    if solver.status != "finished":
        raise Unanswered("the oracle could not follow the motion")
    return {jm.joint.name: jm for jm in at(solver.t, solver.y).joints}


def _packed(m: Motion) -> Array:
    """Positions, quaternions, velocities, angular velocities of the bodies in a row."""
    quaternions = np.array([to_quaternion(R) for R in m.R[1:]])
    return np.concatenate([m.r[1:].ravel(), quaternions.ravel(), m.v[1:].ravel(), m.w[1:].ravel()])


def _unpacked(oracle: Oracle, t: float, y: Array) -> Motion:
    n, g = len(oracle.plain.bodies), ground_motion(oracle.plain, t)
    r, q, v, w = np.split(y, [3 * n, 7 * n, 10 * n])
    R = np.array([g.R, *(from_quaternion(x) for x in q.reshape(n, 4))])
    parts = (np.concatenate([[first], x.reshape(n, 3)]) for first, x in ((g.r, r), (g.w, w), (g.v, v)))
    return Motion(R, *parts)


def _derivative(oracle: Oracle, x: Array, quaternions: Array) -> Array:
    m, offsets = oracle.motion, oracle._com_offsets()
    a, alpha = x.reshape(-1, 6)[:, :3] * oracle.L, x.reshape(-1, 6)[:, 3:]
    w = m.w[1:]
    origin = a - np.cross(alpha, offsets) - np.cross(w, np.cross(w, offsets))
    vector = w * quaternions[:, 3:] + np.cross(w, quaternions[:, :3])
    turning = 0.5 * np.c_[vector, -np.sum(w * quaternions[:, :3], axis=1)]
    return np.concatenate([m.v[1:].ravel(), turning.ravel(), origin.ravel(), alpha.ravel()])
