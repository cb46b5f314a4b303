"""Loop constraints: the rows of each closing joint or, where the loop can only move in a plane, those in that plane.

A loop moves in a plane if all joints of the tree around it turn about parallel axes and slide perpendicular to them.
Then constraints on motion out of the plane are never violated and never transmit a force: they are redundant whatever
the configuration, and are left out. All stay where the closing joint itself does not keep to that plane.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Fixed, PinSlot, Planar, Prismatic, Revolute
from momentree.spatial import IDENTITY, Force, Rotation, Scalar, Transform, Vector
from momentree.spatial.vector import normals
from momentree.structure.mechanism import Loop, Mechanism

TINY = 1e-13  # of unit vectors: round-off


def loop_constraints(mechanism: Mechanism, loop: Loop) -> tuple[Force, ...]:
    """The rows as wrenches at the origin of the second frame, in axes of the first frame, which carries them."""
    rows = tuple(row.direction for row in loop.joint_type.constraint_rows(loop.joint_type.reference()))
    if isinstance(loop.joint_type, HigherPair):
        return rows  # they change with the placement
    if loop.joint_type.crossed_axes is not None:
        return rows  # the last of them is carried by both bodies, and turns in any plane
    normal = plane_of(mechanism, loop)
    within = None if normal is None else _within(rows, normal)
    return within if within is not None and _allow_joint_motion(loop.joint_type, within) else rows


def plane_of(mechanism: Mechanism, loop: Loop) -> Vector | None:
    """The normal of the plane in which the loop moves, in axes of its first frame; None if it moves in space."""
    return _common_plane(_around(mechanism, loop))


def planes_from_ground(mechanism: Mechanism) -> list[tuple[Vector, Transform] | None]:
    """For each body the normal of the plane, fixed in the ground, in which the tree lets it move, None if in none.

    With it the body's placement at reference. Where all joints share a plane, it is the same for all bodies.
    """
    placed, paths = [Transform()], [tuple[tuple[JointType, Rotation], ...]()]
    for body in mechanism.bodies:
        mount = placed[body.parent] @ body.mount
        placed.append(mount @ body.joint_type.placement(body.joint.type.reference()))
        R = placed[-1].rotation if body.reverse else mount.rotation
        paths.append((*paths[body.parent], (body.joint.type, R)))
    together = _common_plane(path[-1] for path in paths[1:])
    normals = [together or _common_plane(path) for path in paths[1:]]
    return [None if n is None else (n, X) for n, X in zip(normals, placed[1:], strict=True)]


def _common_plane(joints: Iterable[tuple[JointType, Rotation]]) -> Vector | None:
    """The normal of the plane that joints do not leave."""
    across: list[Vector] = []
    along: list[Vector] = []
    for joint, R in joints:
        match joint:
            case Fixed():
                continue
            case Revolute():
                turns, slides = [joint.axis], []
            case Prismatic():
                turns, slides = [], [joint.axis]
            case PinSlot():
                turns, slides = [joint.pin], [joint.slot]
            case Planar():
                turns, slides = [joint.normal], []
            case _:
                return None
        across += [R @ axis for axis in turns]
        along += [R @ axis for axis in slides]
    if not across or not all(isinstance(x, (int, float)) for axis in (*across, *along) for x in axis):
        return None  # no axis, or one that depends on a free parameter
    n = across[0]
    parallel = all(max(map(abs, n.cross(axis))) < TINY for axis in across)
    level = all(abs(n @ axis) < TINY for axis in along)
    return n if parallel and level else None


def _around(mechanism: Mechanism, loop: Loop) -> Iterator[tuple[JointType, Rotation]]:
    """The joints of the tree around a loop, and their axes as seen from its first frame, all coordinates at rest."""
    # a turn about parallel axes leaves them as they are: any configuration would do
    first, second, _ = mechanism.paths(loop)
    R_base_first = _turned(mechanism, first[::-1]) @ loop.first.placement.rotation
    for path in (first, second):
        for i, number in enumerate(path):
            body = mechanism.bodies[number - 1]
            # axes are those of the joint's first frame: on the parent's side, but on the body's if the tree is reversed
            R = _turned(mechanism, path[i:][::-1] if body.reverse else path[i + 1 :][::-1])
            R = R if body.reverse else R @ body.mount.rotation
            yield body.joint.type, R_base_first.T @ R


def _turned(mechanism: Mechanism, path: Sequence[int]) -> Rotation:
    """The rotation along a path, all coordinates at reference."""
    R = IDENTITY
    for number in path:
        body = mechanism.bodies[number - 1]
        R = R @ body.mount.rotation @ body.joint_type.placement(body.joint.type.reference()).rotation
    return R


def _within(rows: Sequence[Force], n: Vector) -> tuple[Force, ...]:
    """The rows restricted to a plane: an orthonormal basis of their components along n1, n2 and about n."""
    n1, n2 = normals(n)
    basis: list[tuple[Scalar, ...]] = []
    for row in rows:
        new = (row.linear @ n1, row.linear @ n2, row.angular @ n)
        for earlier in basis:
            part = sum(a * b for a, b in zip(new, earlier, strict=True))
            new = tuple(a - part * b for a, b in zip(new, earlier, strict=True))
        size = math.sqrt(sum(x * x for x in new))
        if size > 1e-9 * max(1.0, math.sqrt(sum(x * x for x in row))):
            basis.append(tuple(_clean(x / size) for x in new))
    return tuple(Force(n1 * a + n2 * b, n * c) for a, b, c in basis)


def _allow_joint_motion(joint: JointType, rows: Sequence[Force]) -> bool:
    """Whether rows still allow all motions of the joint, so that closure errors do not depend on its coordinates."""
    parts = [axis @ row for axis in joint.motion_subspace(joint.reference()).columns for row in rows]
    return all(isinstance(part, (int, float)) and abs(part) < 1e-9 for part in parts)


def _clean(x: float) -> float:
    return 0.0 if abs(x) < TINY else x
