"""A joint that closes a loop: placement and velocity of its second frame in its first, coordinates, velocities."""

from __future__ import annotations

from momentree.equations.sweeps import Fields, Record
from momentree.model.joint_type import Coordinates, JointType
from momentree.spatial import Force, Motion, Rotation, Transform, Vector
from momentree.spatial.symmetric import inverse


def relative_placement(loop: Record) -> Transform:
    """X_FM, of the frames of the joint."""
    R = loop.first_frame.rotation
    return Transform(R.T @ loop.E @ loop.second_frame.rotation, R.T @ (loop.origin - loop.first_frame.offset))


def relative_velocity(loop: Record) -> Motion:
    """The twist of the first body relative to the second, at O, in axes of the first."""
    v, v_2 = loop.body0.v, loop.body1.v
    linear = velocity_at(v, loop.origin) - loop.E @ velocity_at(v_2, loop.second_frame.offset)
    return Motion(linear, v.angular - loop.E @ v_2.angular)


def velocity_at(v: Motion, point: Vector) -> Vector:
    """The velocity of a point of a body."""
    return v.linear + v.angular.cross(point)


def crossed_axes(loop: Record, E: Rotation) -> tuple[Vector, Vector]:
    """The crossed axes of a joint, one carried by each body, in axes of the first."""
    first, second = loop.joint_type.crossed_axes
    return loop.first_frame.rotation @ first, E @ (loop.second_frame.rotation @ second)


def find_joint_coordinates(loop: Record) -> Fields:
    """The joint's nearest coordinates q, its velocities u = (A' A)^-1 A' v and the dual basis A (A' A)^-1.

    v is the twist of the second body relative to the first, at O. A' A is the same at all coordinates of any joint.
    """
    q = loop.joint_type.fit(relative_placement(loop))
    R_M, v = loop.E @ loop.second_frame.rotation, relative_velocity(loop)
    dual = tuple(Force(R_M @ force.linear, R_M @ force.angular) for force in dual_motion_subspace(loop.joint_type, q))
    return {"q": tuple(q), "u": tuple(-(v @ force) for force in dual), "dual_subspace": dual}


def dual_motion_subspace(joint: JointType, q: Coordinates) -> list[Force]:
    """A (A' A)^-1 by columns, in axes of M: the wrenches with which a twist of M gives u = (A' A)^-1 A' v."""
    columns = [Force(axis.linear, axis.angular) for axis in joint.motion_subspace(q).columns]
    if not columns:
        return []
    at_reference = joint.motion_subspace(joint.reference()).columns
    dual = []
    for row in inverse([[a @ Force(b.linear, b.angular) for b in at_reference] for a in at_reference]):
        total = Force.zero()
        for share, column in zip(row, columns, strict=True):
            total = total + column * share
        dual.append(total)
    return dual
