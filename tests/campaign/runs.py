"""A short motion, by every formulation and both kinds of machine code, and by the oracle in maximal coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from campaign.compare import TOLERANCE, Examination, Unanswered
from campaign.geometry import Array, from_quaternion, to_quaternion
from campaign.oracle import Motion, Oracle, ground_motion

FORMULATIONS = ("hamiltonian", "lagrange", "absolute")
CODES = ("straight-line", "rolled")
EVERY_WAY = tuple((formulation, code) for formulation in FORMULATIONS for code in CODES)
SHARE = 0.1  # of the time in which things of this size swing by a radian
RTOL = 1e-10
EVALUATIONS = 600  # of the oracle: motions that need more are too fast to follow here


class End(NamedTuple):
    """Coordinates and velocities of the joints of the tree."""

    q: dict[str, Array]
    v: dict[str, Array]


def compare_runs(examination: Examination, ways: Sequence[tuple[str, str]] = EVERY_WAY) -> None:
    """Ends of the motions against that of the oracle."""
    e = examination
    if any(difference.counts for difference in e.result.differences):
        return  # a motion cannot be right where its first instant is not
    e.result.at = "run"
    duration = SHARE / (e.rate * max(1.0, e.calm))
    expected = _end(e, duration)
    for formulation, code in ways:
        e.result.at = f"run: {formulation}, {code}"
        system = e.drawn.model.build(code=code)
        run = system.simulate(e.state, t_end=e.t + duration, formulation=formulation, rtol=RTOL)
        for body in e.tree:
            name = body.connection.name
            joint = next(joint for joint in e.plain.joints if joint.name == name)
            off = e._apart(joint.kind, run.q[-1][body.q], expected.q[name])
            e._note(f"{formulation} {code} end of {name}", off, TOLERANCE * max(1.0, e.far))
            speed = max(e.rate, *(e._size(other, u) for other, u in expected.v.items()))
            off = e._size(name, run.v[-1][body.v] - expected.v[name]) / speed
            e._note(f"{formulation} {code} end velocity of {name}", off, TOLERANCE * max(1.0, e.far))


def _end(e: Examination, duration: float) -> End:
    """Integrate the oracle's accelerations, every body by itself."""
    from scipy.integrate import DOP853

    start, count = e.oracle.motion, 0

    def derivative(t: float, y: Array) -> Array:
        nonlocal count
        count += 1
        if count > EVALUATIONS:
            raise Unanswered("the motion is too fast for the oracle")
        oracle = _at(e, t, y)
        answer = oracle.answer({}, e.rank)
        return _derivative(oracle, answer.acceleration, y)

    scale = _pack(start, np.ones_like(start.r) * e.oracle.L, 1.0, e.oracle.L * e.rate, e.rate)
    y = _pack(start)
    solver = DOP853(derivative, e.t, y, e.t + duration, rtol=1e-10, atol=1e-11 * np.abs(scale))
    while solver.status == "running":
        solver.step()
    if solver.status != "finished":
        raise Unanswered("the oracle could not follow the motion")
    last = _at(e, solver.t, solver.y)
    by_name = {jm.joint.name: jm for jm in last.joints}
    names = [body.connection.name for body in e.tree]
    return End({name: np.array(by_name[name].q) for name in names}, {name: by_name[name].u for name in names})


def _pack(m: Motion, *sizes: Any) -> Array:
    """Positions, quaternions, velocities, angular velocities of the bodies in a row; or their sizes."""
    n = len(m.r) - 1
    if sizes:
        lengths, q, v, w = sizes
        return np.concatenate([lengths[1:].ravel(), np.full(4 * n, q), np.full(3 * n, v), np.full(3 * n, w)])
    quaternions = np.array([to_quaternion(R) for R in m.R[1:]])
    return np.concatenate([m.r[1:].ravel(), quaternions.ravel(), m.v[1:].ravel(), m.w[1:].ravel()])


def _at(e: Examination, t: float, y: Array) -> Oracle:
    n = len(e.plain.bodies)
    g = ground_motion(e.plain, t)
    r, q, v, w = np.split(y, [3 * n, 7 * n, 10 * n])
    R = np.array([g.R, *(from_quaternion(x) for x in q.reshape(n, 4))])
    parts = (np.concatenate([[first], x.reshape(n, 3)]) for first, x in ((g.r, r), (g.w, w), (g.v, v)))
    return Oracle(e.plain, t, e.oracle.L).moving(Motion(R, *parts), e.coordinates)


def _derivative(oracle: Oracle, x: Array, y: Array) -> Array:
    m, offsets = oracle.motion, oracle._com_offsets()
    a, alpha = x.reshape(-1, 6)[:, :3] * oracle.L, x.reshape(-1, 6)[:, 3:]
    w = m.w[1:]
    origin = a - np.cross(alpha, offsets) - np.cross(w, np.cross(w, offsets))
    quaternions = y[3 * len(w) : 7 * len(w)].reshape(-1, 4)
    turning = (
        0.5 * (np.c_[w * quaternions[:, 3:] + np.cross(w, quaternions[:, :3]), -np.sum(w * quaternions[:, :3], 1)])
    )
    return np.concatenate([m.v[1:].ravel(), turning.ravel(), origin.ravel(), alpha.ravel()])
