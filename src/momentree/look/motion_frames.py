"""Frames of a run: where its bodies are at moments chosen for the eye, between samples too.

Between two samples, coordinates follow a cubic (run_poses.py), and bodies follow from them by forward kinematics:
nothing is bent or stretched, and loops open by no more than the cubic errs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.samples import Samples, in_batches
from momentree.errors import MomentreeError
from momentree.look.run_poses import between, finite_samples
from momentree.look.scene import poses_of
from momentree.structure.mechanism import Attached, Mechanism

if TYPE_CHECKING:
    from momentree.results.run import Run

Array = NDArray[np.float64]
RATE = 30.0  # frames for each second of a run
MOST_FRAMES = 6000  # of a run; a longer one has fewer frames for each second


class MotionFrames:
    """Bodies at k moments: positions (k, n, 3) and unit quaternions w, x, y, z (k, n, 4); body 0 is the ground.

    | field | shape | meaning                                               |
    |-------|-------|-------------------------------------------------------|
    | t     | k     | s                                                     |
    | q, v  | k x   | coordinates and velocities of the tree at these times |
    """

    def __init__(self, mechanism: Mechanism, t: Array, q: Array, v: Array):
        self.mechanism, self.t, self.q, self.v = mechanism, t, q, v
        parts = [poses_of(mechanism, q[part], t[part]) for part in in_batches(len(t), 512)]
        self.positions: Array = np.concatenate([part.positions for part in parts])
        self.quaternions: Array = np.concatenate([quaternions(part.rotations) for part in parts])

    @cached_property
    def samples(self) -> Samples:
        """The same moments, for quantities other than poses."""
        return Samples(self.mechanism, self.q, self.v, self.t)

    def points(self, frame: Attached) -> Array:
        """The origin of a frame, given in the frame of its body that the user knows, k x 3."""
        offset = np.array([*frame.placement.offset], dtype=float)
        return self.positions[:, frame.body] + rotated(self.quaternions[:, frame.body], offset)


def motion_frames(run: Run, rate: float | None = None, t: Array | None = None) -> MotionFrames:
    """Frames of a run at a rate (1/s of its time), or at given times; before its begin and after its end it rests."""
    samples = finite_samples(run)
    moments = frame_times(samples[0], rate) if t is None else t
    return MotionFrames(run.mechanism, moments, *between(run.mechanism, *samples, moments))


def frame_times(t: Array, rate: float | None = None) -> Array:
    """From the first sample on, `rate` times a second, up to the last one."""
    duration = float(t[-1] - t[0])
    if rate is not None and not (isinstance(rate, (int, float)) and np.isfinite(rate) and rate > 0):
        raise MomentreeError(f"look: a rate of {rate} frames a second. Choose a positive one, such as {RATE:g}.")
    wanted = RATE if rate is None else float(rate)
    wanted = min(wanted, MOST_FRAMES / duration) if duration > 0 else wanted
    count = int(np.floor(duration * wanted * (1 + 1e-12) + 1e-9))
    moments = t[0] + np.arange(count + 1) / wanted
    return np.append(moments, t[-1]) if moments[-1] < t[-1] - 1e-9 * duration else moments


def quaternions(rotations: Array) -> Array:
    """Unit quaternions w, x, y, z of rotation matrices (..., 3, 3), by the largest of the four (Shepperd 1978)."""
    R = np.asarray(rotations, dtype=float)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    # 4 q q', row by row
    squares = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], axis=-1)
    wx, wy, wz = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]
    rows = np.stack(
        [
            np.stack([squares[..., 0], wx, wy, wz], axis=-1),
            np.stack([wx, squares[..., 1], xy, xz], axis=-1),
            np.stack([wy, xy, squares[..., 2], yz], axis=-1),
            np.stack([wz, xz, yz, squares[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(squares, axis=-1)[..., None, None]
    row = np.take_along_axis(rows, largest, axis=-2)[..., 0, :]
    return np.asarray(row / np.linalg.norm(row, axis=-1, keepdims=True))


def rotated(wxyz: Array, vector: Array) -> Array:
    """Vectors turned by unit quaternions, (..., 3)."""
    w, r = wxyz[..., :1], wxyz[..., 1:]
    twice = 2 * np.cross(r, vector)
    return np.asarray(vector + w * twice + np.cross(r, twice))
