"""The layout of q and v: the joint, component, unit and meaning of each of their entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from momentree.model.elements import Joint
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.joint_type import JointType
from momentree.spatial import Vector
from momentree.spatial.vector import axis_name
from momentree.structure.mechanism import Mechanism

LINEAR, ANGULAR = ("vx", "vy", "vz"), ("wx", "wy", "wz")
AXES = ("axis", "slot", "pin", "first", "second", "normal")


@dataclass(frozen=True)
class CoordinateRow:
    """One entry of q or of v.

    | field     | meaning                                                                        |
    |-----------|--------------------------------------------------------------------------------|
    | index     | of the entry: `q[index]`                                                       |
    | name      | as expressions and `run.data` call it: "A", "pose.x", "A'"                     |
    | joint     | whose it is                                                                    |
    | component | which one of the joint: "angle", "qw", "wx"                                    |
    | unit      | "m", "rad", "m/s", "rad/s", or "1" of a quaternion                             |
    | meaning   | in words                                                                       |
    """

    index: int
    name: str
    joint: str
    component: str
    unit: str
    meaning: str


def coordinate_rows(mechanism: Mechanism) -> tuple[CoordinateRow, ...]:
    """A row for each entry of q."""
    moving = (body.joint for body in mechanism.bodies if not body.laws)
    return tuple(_numbered(row for joint in moving for row in joint_coordinates(joint)))


def velocity_rows(mechanism: Mechanism) -> tuple[CoordinateRow, ...]:
    """A row for each entry of v."""
    moving = (body.joint for body in mechanism.bodies if not body.laws)
    return tuple(_numbered(row for joint in moving for row in joint_velocities(joint)))


def joint_coordinates(joint: Joint) -> Iterator[CoordinateRow]:
    """A row for each coordinate of a joint, numbered within it."""
    type, units = joint.type, joint.type.units
    for i, (reference, component) in enumerate(zip(joint.coordinates, type.coordinates, strict=True)):
        yield _row(i, reference, joint, component, units[i], _coordinate(type, component, units[i]))


def joint_velocities(joint: Joint) -> Iterator[CoordinateRow]:
    """A row for each velocity of a joint, numbered within it."""
    type, units = joint.type, joint.type.velocity_units
    for i, (reference, component) in enumerate(zip(joint.velocities, type.velocities, strict=True)):
        yield _row(i, reference, joint, component, f"{units[i]}/s", _velocity(component))


def _row(index: int, reference: Reference, joint: Joint, component: str, unit: str, what: str) -> CoordinateRow:
    meaning = f"{what}; of {joint.second.body} relative to {joint.first.body}"
    return CoordinateRow(index, str(reference), joint.name, component, unit, meaning)


def _numbered(rows: Iterator[CoordinateRow]) -> Iterator[CoordinateRow]:
    return (replace(row, index=i) for i, row in enumerate(rows))


def _coordinate(type: JointType, component: str, unit: str) -> str:
    """What a coordinate is, in words."""
    if unit == "1":
        return f"{component[-1:]} of the unit quaternion (x, y, z, w)"
    if component in ("x", "y", "z"):
        return f"position along {component} of the joint's first frame"
    axes = [getattr(type, name) for name in AXES if name in type.axis_fields]
    if component in ("slide1", "slide2"):
        return f"translation along direction {component[-1]} of the plane with normal {_direction(axes[0])}"
    if component in ("angle1", "angle2") and len(axes) == 2:
        return f"rotation about {_direction(axes[int(component[-1]) - 1])}"
    if axes:
        kind, axis = ("rotation about", axes[-1]) if unit == "rad" else ("translation along", axes[0])
        return f"{kind} {_direction(axis)}"
    return {"rad": "angle", "m": "length"}.get(unit, "coordinate")


def _velocity(component: str) -> str:
    """What a velocity is, in words."""
    if component in LINEAR:
        return f"velocity of the origin along {component[-1]} of the joint's second frame"
    if component in ANGULAR:
        return f"angular velocity about {component[-1]} of the joint's second frame"
    return f"time derivative of {component.rstrip(chr(39))}"


def _direction(axis: Any) -> str:
    """ "y", or components; as it is written where it depends on parameters."""
    if isinstance(axis, Vector) and any(isinstance(x, Expression) for x in axis):
        return "(" + ", ".join(str(x) for x in axis) + ")"
    return axis_name(axis) if isinstance(axis, Vector) else str(axis)
