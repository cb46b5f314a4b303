"""Placements as robot formats write them: roll, pitch and yaw, or quaternions with w first."""

from __future__ import annotations

import math

from momentree.files.xml_text import digits
from momentree.spatial import IDENTITY, Rotation, Transform
from momentree.spatial.rotation import rotation_quaternion

ROUND_OFF = 3e-16  # rad, and of unit vectors


def roll_pitch_yaw(R: Rotation) -> tuple[float, float, float]:
    """Angles with R = Rz(yaw) Ry(pitch) Rx(roll), to round-off at all rotations; the yaw is a right angle at most.

    Where the pitch is nearly a right angle, roll and yaw are both about the same axis: any yaw will do, if the roll is
    taken from what it leaves of R.
    """
    if R is IDENTITY:
        return 0.0, 0.0, 0.0
    (xx, xy, xz), (yx, yy, yz), (zx, _, _) = R.rows
    yaw = math.atan2(yx, xx) if xx >= 0 else math.atan2(-yx, -xx)  # so that a turn about y is a pitch alone
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-zx, c * xx + s * yx)
    roll = math.atan2(s * xz - c * yz, c * yy - s * xy)
    return _snapped(roll), _snapped(pitch), _snapped(yaw)


def turns(X: Transform) -> bool:
    """Whether a placement turns, by more than round-off."""
    return any(roll_pitch_yaw(X.rotation))


def xyz_rpy(X: Transform) -> dict[str, str]:
    """The attributes of URDF; none that are zero."""
    said = {}
    if any(X.offset):
        said["xyz"] = digits(*X.offset)
    if turns(X):
        said["rpy"] = digits(*roll_pitch_yaw(X.rotation))
    return said


def pose(X: Transform) -> str:
    """The six numbers of SDF."""
    return digits(*X.offset, *roll_pitch_yaw(X.rotation))


def pos_quat(X: Transform) -> dict[str, str]:
    """The attributes of MJCF; none that are zero."""
    said = {}
    if any(X.offset):
        said["pos"] = digits(*X.offset)
    if X.rotation is not IDENTITY:
        x, y, z, w = (_snapped(float(part)) for part in rotation_quaternion(X.rotation))
        if (x, y, z) != (0.0, 0.0, 0.0):
            said["quat"] = digits(w, x, y, z)
    return said


def is_identity(X: Transform) -> bool:
    """Whether a frame is another, to round-off of its axes."""
    return not any(X.offset) and not turns(X)


def _snapped(angle: float) -> float:
    return 0.0 if abs(angle) < ROUND_OFF else angle
