"""Maximal coordinates: the same mechanism with six coordinates, or three, of each body, every joint closing a loop.

A body whose joints, from the ground on, let it move in one plane only has coordinates in that plane (x, y, angle), any
other in space (position, quaternion). Some bodies keep their joints of the tree: those whose joints are prescribed,
have an armature or are named by constraints, and those without inertia along a freedom of their own, such as massless
carriers, with the bodies that they carry if need be. Bodies keep their numbers and frames.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import NamedTuple

from momentree.model.elements import Joint
from momentree.model.frames import GROUND, Frame
from momentree.model.joint_types import Free, Planar
from momentree.spatial import Transform
from momentree.structure.determinacy import undetermined
from momentree.structure.loop_constraints import planes_from_ground
from momentree.structure.mechanism import Attached, Loop, Mechanism, TreeBody


class Angle(NamedTuple):
    """An angle of a joint that closes a loop: the number of the loop, and its index among the coordinates."""

    loop: int
    coordinate: int


def in_maximal_coordinates(mechanism: Mechanism, massless: bool = False) -> Mechanism:
    """The mechanism in maximal coordinates; the loops of joints that were in the tree come first.

    Whether inertias suffice is judged with free parameters at their default values. With `massless`, bodies without
    inertia have coordinates of their own too: what is then singular is the mass matrix, not the equations.
    """
    keeping = {body.number for body in mechanism.bodies if body.laws or _already_separate(body)}
    keeping |= {body.number for body in mechanism.bodies if body.joint.type.armature}
    keeping |= {number for of in mechanism.constraint_formulas for number in of.bodies}
    while True:
        maximal = _maximal(mechanism, keeping)
        if massless:
            return maximal
        weak = {each.body.number for each in undetermined(maximal.at_defaults().bodies)}
        carried = {body.number for body in mechanism.bodies if body.parent in weak & keeping}
        if not (weak | carried) - keeping:
            return maximal
        keeping |= weak | carried


def separated_bodies(mechanism: Mechanism, maximal: Mechanism) -> list[TreeBody]:
    """The bodies with maximal coordinates, in the order of the loops that their joints close."""
    pairs = zip(mechanism.bodies, maximal.bodies, strict=True)
    return [body for body, new in pairs if not keeps_tree_joint(body, new)]


def keeps_tree_joint(body: TreeBody, new: TreeBody) -> bool:
    """Whether a body keeps the joint that it has in the tree."""
    return body.joint.name == new.joint.name


def turning_angles(mechanism: Mechanism, maximal: Mechanism) -> list[Angle]:
    """The angles of joints that were in the tree, where they count turns; a screw counts them by its advance."""
    bodies = enumerate(separated_bodies(mechanism, maximal))
    return [Angle(i, k) for i, body in bodies for k in body.joint.type.turning]


def _already_separate(body: TreeBody) -> bool:
    """Whether a free joint connects it to the ground in the tree already."""
    return body.parent == 0 and isinstance(body.joint.type, Free) and not body.reverse


def _maximal(mechanism: Mechanism, keeping: Collection[int]) -> Mechanism:
    bodies, loops, nq, nv = [], [], 0, 0
    planes = planes_from_ground(mechanism)
    for body in mechanism.bodies:
        new = body
        if body.number not in keeping:
            normal, mount = planes[body.number - 1] or (None, Transform())
            placed = Free() if normal is None else Planar().with_fields(normal=mount.rotation.T @ normal)
            ends = Attached(body.parent, body.mount), Attached(body.number, Transform())
            ends = ends[::-1] if body.reverse else ends
            loops.append(Loop(body.joint.name, body.joint.type, *ends, body.joint))
            joint = Joint(_unused(mechanism, body), placed, Frame(GROUND), Frame(body.name))
            new = dataclasses.replace(body, parent=0, joint=joint, reverse=False, mount=mount)
        kind = new.joint.type
        count_q, count_v = (0, 0) if new.laws else (len(kind.coordinates), len(kind.velocities))
        bodies.append(dataclasses.replace(new, q=slice(nq, nq + count_q), v=slice(nv, nv + count_v)))
        nq, nv = nq + count_q, nv + count_v
    return dataclasses.replace(mechanism, bodies=tuple(bodies), loops=(*loops, *mechanism.loops), latches=())


def _unused(mechanism: Mechanism, body: TreeBody) -> str:
    """A name that no joint has, for the joint between the ground and a body."""
    name = f"place of {body.name}"
    while name in mechanism.by_joint:
        name += "*"
    return name
