"""The motion of frames over a run: position, orientation, velocity, and acceleration by the equations of motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from momentree.assembly.configuration import Array
from momentree.assembly.samples import Samples
from momentree.equations.articulated import forward_dynamics
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_placement, records, seen_at
from momentree.errors import MomentreeError, choices, spell_checked
from momentree.model.model import as_frame
from momentree.spatial import Motion, Rotation
from momentree.spatial.rotation import rotation_quaternion
from momentree.structure.mechanism import Attached

if TYPE_CHECKING:
    from momentree.results.run import Run

AXES = ("inertial", "frame")


@spell_checked
class FrameMotion:
    """What a run says of frames: a body stands for its own frame, a text for a body or a frame that the model names."""

    def position(self, frame: Any) -> Array:
        """The origin of a frame in inertial space (m), k x 3."""
        run = cast("Run", self)
        attached = run.mechanism.attach(as_frame(frame))
        return run._each(lambda samples: samples.position(attached))

    def orientation(self, frame: Any, as_matrix: bool = False) -> Array:
        """How a frame is turned in inertial space: unit quaternions (x, y, z, w), k x 4, or matrices, k x 3 x 3.

        A matrix takes components in the frame to inertial ones; its columns are the axes of the frame. Of the two
        quaternions of an orientation, the first sample has w >= 0 and each other one is near to the one before it.
        """
        run = cast("Run", self)
        attached = run.mechanism.attach(as_frame(frame))
        if as_matrix:
            return run._each(lambda samples: rotation_matrices(samples, attached)).reshape(-1, 3, 3)
        return continued(run._each(lambda samples: samples.table(rotation_quaternion(_turned(samples, attached)))))

    def frame_velocity(self, frame: Any, axes: str = "inertial") -> Array:
        """The twist of a frame, k x 6: velocity of its origin (m/s), angular velocity (rad/s).

        In inertial axes, or in those of the frame itself (`axes="frame"`): always relative to inertial space.
        """
        run, chosen = cast("Run", self), _checked_axes("frame_velocity", axes)
        attached = run.mechanism.attach(as_frame(frame))
        return run._each(lambda samples: frame_velocities(samples, attached, chosen))

    def frame_acceleration(self, frame: Any, axes: str = "inertial") -> Array:
        """The acceleration of a frame, k x 6: of its origin (m/s2), and angular (rad/s2), relative to inertial space.

        They follow from the equations of motion (forward dynamics with all forces, loops and constraints; joints that
        have locked are locked), not from differences of samples. `axes="frame"` gives components in the frame: those
        of the acceleration, as an accelerometer with gravity taken out has them, not derivatives of components.
        """
        run, chosen = cast("Run", self), _checked_axes("frame_acceleration", axes)
        attached = run.mechanism.attach(as_frame(frame))
        return run._in_phases(lambda samples: frame_accelerations(samples, attached, chosen), locking=True)


# --- measures of samples ---


def rotation_matrices(samples: Samples, frame: Attached) -> Array:
    """k x 9: the rotation matrix of a frame, row by row."""
    return samples.table([x for row in _turned(samples, frame).rows for x in row])


def frame_velocities(samples: Samples, frame: Attached, axes: str) -> Array:
    """k x 6: the twist of a frame."""
    body, placed = samples.bodies[frame.body], frame_placement(samples.bodies, frame)
    return samples.table(_along(axes, placed.rotation, seen_at(placed.offset, body, body.v)))


def frame_accelerations(samples: Samples, frame: Attached, axes: str) -> Array:
    """k x 6: the acceleration of a frame's origin, and its angular acceleration.

    With r from the origin of the body to that of the frame, and the derivatives dv of the components of its twist v:

        a = dv + w x v + dw x r + w x (w x r)
    """
    at = Evaluation(samples.mechanism, samples.q, samples.t, samples.parameters)
    du = forward_dynamics(at, samples.v, [0] * samples.mechanism.nv)
    moving = records(at, samples.v, du)
    body, placed, r = moving[frame.body], frame_placement(moving, frame), frame.placement.offset
    w, dw = body.v.angular, body.dv.angular
    a = body.dv.linear + w.cross(body.v.linear) + dw.cross(r) + w.cross(w.cross(r))
    R = body.X_0.rotation
    return samples.table(_along(axes, placed.rotation, Motion(R @ a, R @ dw)))


def continued(quaternions: Array) -> Array:
    """The same orientations, each quaternion of the sign that is nearer to the one before it."""
    opposite = np.einsum("ij,ij->i", quaternions[1:], quaternions[:-1]) < 0
    signs = np.cumprod(np.where(opposite, -1.0, 1.0))
    return np.concatenate([quaternions[:1], quaternions[1:] * signs[:, None]])


def _turned(samples: Samples, frame: Attached) -> Rotation:
    return frame_placement(samples.bodies, frame).rotation


def _along(axes: str, R: Rotation, motion: Motion) -> Motion:
    """A motion in inertial axes, or in those of a frame with the rotation R."""
    return motion if axes == "inertial" else Motion(R.T @ motion.linear, R.T @ motion.angular)


def _checked_axes(call: str, axes: str) -> str:
    if axes not in AXES:
        raise MomentreeError(f"{call}: there are no axes {axes!r}. Choose {choices(AXES)}.")
    return axes
