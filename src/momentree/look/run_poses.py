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
    """The coordinates of the tree at some times, k x nq."""
    return between(run.mechanism, *finite_samples(run), times)[0]


def finite_samples(run: Run) -> tuple[Array, Array, Array]:
    """t, q and v of the samples that are finite, one at least."""
    finite = np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1) & np.isfinite(run.t)
    if not finite.any():
        raise MomentreeError("the run has no finite sample to show.")
    return run.t[finite], run.q[finite], run.v[finite]


def between(mechanism: Mechanism, t: Array, q: Array, v: Array, times: Array) -> tuple[Array, Array]:
    """Coordinates and velocities at some times, from the samples on both sides; before and after these it rests.

    Between two samples h apart, with s = (time - t) / h,

        q(s) = (1 + 2 s) (1 - s)^2 q_0 + s (1 - s)^2 h q_0' + s^2 (3 - 2 s) q_1 - s^2 (1 - s) h q_1' ,

    whose error is of the order h^4; velocities are linear. Samples stay as they are. Quaternions are normalized.
    """
    at = np.clip(times, t[0], t[-1])
    before = np.clip(np.searchsorted(t, at, side="right") - 1, 0, max(len(t) - 2, 0))
    after = np.minimum(before + 1, len(t) - 1)
    h = (t[after] - t[before])[:, None]
    s = np.divide((at - t[before])[:, None], h, out=np.zeros_like(h), where=h > 0)
    slopes = _derivatives(mechanism, q, v)
    bend = s * (1 - s) ** 2 * h * slopes[before] - s * s * (1 - s) * h * slopes[after]
    cubic = (1 + 2 * s) * (1 - s) ** 2 * q[before] + s * s * (3 - 2 * s) * q[after] + bend
    exact = np.where(s == 0, q[before], np.where(s == 1, q[after], cubic))
    return _normalized(mechanism, exact), (1 - s) * v[before] + s * v[after]


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
