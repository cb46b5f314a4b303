"""Each body by itself, as Newton and Euler write it: maximal coordinates of centers of mass, in axes of the ground.

In maximal coordinates (maximal_coordinates.py) bodies are placed by the frames of their joints. Here the frame of a
body that has coordinates of its own stands at its center of mass; where it moves in a plane across an axis of the
ground, it is parallel to the ground at angle zero. So its coordinates are those of a textbook: x, y and angle, and its
mass matrix is diag(m, m, J). Every joint is a constraint f(q) = 0.
"""

from __future__ import annotations

import dataclasses

from momentree.errors import MomentreeError
from momentree.model.elements import Joint
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Free, Planar
from momentree.spatial import IDENTITY, ZERO, RigidInertia, Transform
from momentree.spatial.vector import X, Y, Z
from momentree.structure.maximal_coordinates import in_maximal_coordinates, keeps_tree_joint
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

PARALLEL = 2e-15  # of the components of a normal across an axis: round-off of a rotation
AXES = {"x": X, "y": Y, "z": Z}


def separate_bodies(mechanism: Mechanism) -> Mechanism:
    """The mechanism in maximal coordinates, bodies at their centers of mass; a body names its own coordinates."""
    _refuse_armatures(mechanism)
    maximal = in_maximal_coordinates(mechanism, massless=True)
    shifts: dict[int, Transform] = {}  # X of the new frame of a body in its old one
    bodies = []
    for old, body in zip(mechanism.bodies, maximal.bodies, strict=True):
        if keeps_tree_joint(old, body):  # at its place in its parent, whose frame may stand elsewhere now
            mount = _shifted(Attached(body.parent, body.mount), shifts).placement
            bodies.append(dataclasses.replace(body, mount=mount))
            continue
        new, shifts[body.number] = _centered(body)
        bodies.append(_named(new, mechanism))
    reattached = maximal.reattached(lambda frame: _shifted(frame, shifts))
    return dataclasses.replace(reattached, bodies=tuple(bodies))


def _refuse_armatures(mechanism: Mechanism) -> None:
    for body in mechanism.bodies:
        if body.joint.type.armature is not None:
            message = f"joint '{body.joint.name}' has an armature, which belongs to no body by itself"
            raise MomentreeError(f"newton_euler: {message}. Choose 'lagrange' or 'energy', or give the rotor a body.")


def _centered(body: TreeBody) -> tuple[TreeBody, Transform]:
    """The body with its frame at its center of mass, and where that is in its frame before."""
    m, h = body.inertia.mass, body.inertia.h
    c = ZERO if m == 0 else h / m
    rotation, mount = IDENTITY, Transform()
    joint: JointType = Free()
    if isinstance(body.joint.type, Planar):
        normal = body.mount.rotation @ body.joint.type.normal
        axis = next((name for name, e in AXES.items() if max(map(abs, normal.cross(e))) < PARALLEL), None)
        joint, mount = body.joint.type, body.mount @ Transform(offset=c)
        if axis is not None:
            level = AXES[axis]
            rotation, joint = body.mount.rotation.T, Planar(axis).with_fields(normal=level)
            mount = Transform(offset=level * (level @ mount.offset))
    J = body.inertia.shifted(-c).turned(rotation.T).J
    X = Transform(rotation, c)
    new = dataclasses.replace(
        body,
        joint=dataclasses.replace(body.joint, type=joint),
        mount=mount,
        own=X.inverse() @ body.own,
        inertia=RigidInertia(m, ZERO, J),
    )
    return new, X


def _named(body: TreeBody, mechanism: Mechanism) -> TreeBody:
    """The body, its coordinates called as itself where no joint has that name."""
    name = body.name
    while name in mechanism.by_joint:
        name += "*"
    joint: Joint = dataclasses.replace(body.joint, name=name)
    return dataclasses.replace(body, joint=joint)


def _shifted(frame: Attached, shifts: dict[int, Transform]) -> Attached:
    X = shifts.get(frame.body)
    return frame if X is None else Attached(frame.body, X.inverse() @ frame.placement)
