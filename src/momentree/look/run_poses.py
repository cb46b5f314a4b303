"""Where the bodies of a run are at any time: between samples, coordinates follow cubic Hermite polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.samples import in_batches
from momentree.errors import MomentreeError
from momentree.look.scene import Poses, poses_of
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.results.run import Run

Array = NDArray[np.float64]


def poses_at(run: Run, times: Array) -> Poses:
    """The poses at some times (s) within the run, k."""
    q = coordinates_at(run, times)
    parts = [poses_of(run.mechanism, q[part], times[part]) for part in in_batches(len(times))]
    positions, rotations = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return Poses(times, positions, rotations)


def coordinates_at(run: Run, times: Array) -> Array:
    """The coordinates of the tree at some times, k x nq.

    Between two samples h apart, with s = (time - t) / h,

        q(s) = (1 + 2 s) (1 - s)^2 q_0 + s (1 - s)^2 h q_0' + s^2 (3 - 2 s) q_1 - s^2 (1 - s) h q_1' ,

    whose error is of the order h^4. Quaternions are normalized.
    """
    finite = np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1)
    t, q, v = run.t[finite], run.q[finite], run.v[finite]
    if not len(t):
        raise MomentreeError("the run has no samples that could be drawn.")
    if len(t) == 1:
        return np.repeat(q, len(times), axis=0)
    slopes = _derivatives(run.mechanism, q, v)
    i = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = (t[i + 1] - t[i])[:, None]
    s = np.clip((times - t[i])[:, None] / np.where(h > 0, h, 1.0), 0.0, 1.0)
    before = (1 + 2 * s) * (1 - s) ** 2 * q[i] + s * (1 - s) ** 2 * h * slopes[i]
    after = s**2 * (3 - 2 * s) * q[i + 1] - s**2 * (1 - s) * h * slopes[i + 1]
    return _normalized(run.mechanism, before + after)


def _derivatives(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Time derivatives of the coordinates."""
    slopes = np.zeros_like(q)
    for body in mechanism.bodies:
        if body.q.start != body.q.stop:
            found = body.joint.type.coordinate_derivatives([*q[:, body.q].T], [*v[:, body.v].T])
            slopes[:, body.q] = np.stack([np.broadcast_to(x, len(q)) for x in found], axis=1)
    return slopes


def _normalized(mechanism: Mechanism, q: Array) -> Array:
    for body in mechanism.bodies:
        if body.q.stop - body.q.start > body.v.stop - body.v.start:
            last = slice(body.q.stop - 4, body.q.stop)
            q[:, last] /= np.linalg.norm(q[:, last], axis=1, keepdims=True)
    return q
