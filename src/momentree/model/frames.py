"""Frames fixed in bodies, and their orientations: turns, quaternions, rotation matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from momentree.errors import spell_checked
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.values import (
    FRAME_AXES,
    FRAME_VELOCITIES,
    LARGEST_LENGTH,
    Mistake,
    Raw,
    Values,
    check_later,
    plain,
)
from momentree.spatial import IDENTITY, ZERO, Rotation, Transform, Vector
from momentree.spatial import turn as turn_about
from momentree.spatial.rotation import normalised, quaternion_rotation

GROUND = "ground"
ROTATION_TOLERANCE = 1e-6  # how far a matrix or quaternion may be from a rotation before it is a mistake


@dataclass(frozen=True)
class Turn:
    """A turn about an axis; several in a sequence are made one after another, each about axes already turned."""

    axis: Raw
    angle: Raw

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", plain(self.axis))
        object.__setattr__(self, "angle", plain(self.angle))


@spell_checked
def turn(axis: Any, angle: Any) -> Turn:
    """How a frame is turned: `rod.at((1, 0, 0), mt.turn("z", 0.5))`; the angle in radians, or "30*deg"."""
    return Turn(axis, angle)


@dataclass(frozen=True)
class Frame:
    """A frame fixed in a body: its origin and axes, given in the body's own frame.

    | field    | meaning                                                                                    |
    |----------|--------------------------------------------------------------------------------------------|
    | body     | the body's name                                                                            |
    | position | of the frame's origin (m)                                                                  |
    | rotation | None, a `turn`, a sequence of turns, a 3x3 matrix (frame to body), a quaternion (x, y, z, w) |
    """

    body: str
    position: Raw = (0, 0, 0)
    rotation: Raw = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", plain(self.position))
        object.__setattr__(self, "rotation", plain(self.rotation))

    def placement(self, values: Values) -> Transform:
        """X_BF: placement of the frame in its body."""
        position = values.vector(self.position, "position")
        if any(not isinstance(x, Expression) and abs(x) > LARGEST_LENGTH for x in position):
            raise Mistake(f"position is further than {LARGEST_LENGTH:g} m, too far to compute with.", "position")
        return Transform(rotation_of(self.rotation, values), ZERO if position == ZERO else position)


@dataclass(frozen=True)
class NamedFrame:
    """A frame with a name, by which constraints use its position and velocity, in axes of the ground."""

    name: str
    frame: Frame

    @property
    def positions(self) -> tuple[Reference, ...]:
        """Its position in expressions: `tip.x`, `tip.y`, `tip.z`."""
        return tuple(Reference(self.name, axis) for axis in FRAME_AXES)

    @property
    def velocities(self) -> tuple[Reference, ...]:
        """Its velocity `tip.x'` ... and its angular velocity `tip.wx` ... in expressions."""
        return tuple(Reference(self.name, axis.rstrip("'"), axis.endswith("'")) for axis in FRAME_VELOCITIES)


def rotation_of(raw: Raw, values: Values) -> Rotation:
    """The rotation that a user wrote, checked to be one."""
    if raw is None:
        return IDENTITY
    if isinstance(raw, Turn):
        return turn_about(values.axis(raw.axis, "axis of the turn"), values.scalar(raw.angle, "angle of the turn"))
    if isinstance(raw, tuple) and raw and all(isinstance(one, Turn) for one in raw):
        R = IDENTITY
        for one in raw:
            R = R @ rotation_of(one, values)
        return R
    if isinstance(raw, tuple) and len(raw) == 4:
        return _from_quaternion(values.scalars(raw, 4, "quaternion"))
    if isinstance(raw, tuple) and len(raw) == 3 and all(isinstance(row, tuple) and len(row) == 3 for row in raw):
        return _from_matrix([values.scalars(row, 3, "row of the rotation") for row in raw])
    raise Mistake("rotation is neither a turn (axis, angle), a 3x3 matrix nor a quaternion (x, y, z, w).")


def _from_quaternion(q: tuple[Any, ...]) -> Rotation:
    if any(isinstance(e, Expression) for e in q):
        check_later(lambda *numbers: _from_quaternion(numbers), *q)
        return quaternion_rotation(q)
    length = float(np.linalg.norm(q))
    if abs(length - 1) > ROTATION_TOLERANCE:
        raise Mistake(f"the quaternion {q} has length {length:.6g}, not 1. Its order is (x, y, z, w).")
    return quaternion_rotation(normalised(q))


def _from_matrix(rows: list[tuple[Any, ...]]) -> Rotation:
    R = Rotation(*(Vector(*row) for row in rows))
    if any(isinstance(e, Expression) for row in rows for e in row):
        check_later(lambda *e: _from_matrix([e[:3], e[3:6], e[6:]]), *(e for row in rows for e in row))
        return R
    matrix = np.array(rows)
    error = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
    if error > ROTATION_TOLERANCE:
        raise Mistake(f"the rotation matrix is not orthogonal: R R' differs from the unit matrix by {error:.2g}.")
    if np.linalg.det(matrix) < 0:
        raise Mistake("the rotation matrix is a reflection (determinant -1), not a rotation. Reverse one axis.")
    if error > 1e-15:  # written with few digits: the rotation nearest to it
        U, _, V = np.linalg.svd(matrix)
        return Rotation(*(Vector(*row) for row in (U @ V).tolist()))
    return R
