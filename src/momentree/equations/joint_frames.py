"""Joint frames: the same mechanism in the body frames that need the fewest operations, after Denavit and Hartenberg.

The frame of a body may rotate about the axis of its joint and slide along it: this changes neither coordinates nor
velocities. So every hinge, slider and screw gets its axis along z; frames are turned about it until the mount of the
next joint is a rotation about x alone, R = Rz(a) Rx(b) Rz(c) with a and c moved to the hinges on either side; and they
slide along it until the offset from joint to joint has the fewest components. Denavit and Hartenberg's frames do this
for a chain; here it is done for any tree. A planar joint gets its normal along z, and slides only. Vectors with free
parameters, whose values are unknown yet, are not changed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import NamedTuple

from momentree.model.joint_type import JointType
from momentree.model.joint_types import Planar, Revolute
from momentree.spatial import IDENTITY, ZERO, Rotation, Scalar, Transform, Vector, Z
from momentree.spatial.rotation import Turn
from momentree.spatial.vector import normals
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

STEEP = 0.1  # slope of an axis below which a frame would slide far away, where digits are lost
FAR = 10.0  # reaches of the bodies: a frame slides no farther, or digits of offsets in the body are lost
TINY = 2e-15  # of the largest component: round-off of one that vanishes, by a few products of rotations


class _Frame(NamedTuple):
    """A body's new frame B' in its old one B, its mount, and the offset of its joint."""

    placement: Transform  # X_BB'
    mount: Transform
    offset: Scalar = 0  # angle to be added to the coordinate of a hinge
    along_z: bool = False  # whether the axis is along z now


def in_joint_frames(mechanism: Mechanism) -> Mechanism:
    """The mechanism in joint frames; coordinates and velocities keep their meaning."""
    cache: dict[str, Mechanism] = vars(mechanism)  # a mechanism keeps the result: the same object each time
    if "_in_joint_frames" not in cache:
        cache["_in_joint_frames"] = _in_joint_frames(mechanism)
    return cache["_in_joint_frames"]


def _in_joint_frames(mechanism: Mechanism) -> Mechanism:
    upright = {body.number: _upright(body) for body in mechanism.bodies}
    towards, far = _towards_children(mechanism, upright), FAR * _reach(mechanism)
    frames = {0: _Frame(Transform(), Transform())}
    for body in mechanism.bodies:
        frames[body.number] = _frame(body, frames[body.parent].placement, upright[body.number], towards, far)

    def moved(frame: Attached) -> Attached:
        return Attached(frame.body, frames[frame.body].placement.inverse() @ frame.placement)

    bodies = tuple(_in_frame(body, frames[body.number]) for body in mechanism.bodies)
    return dataclasses.replace(mechanism.reattached(moved), bodies=bodies)


def _upright(body: TreeBody) -> Rotation | None:
    """The rotation that takes z to the joint axis; None without an axis, or where free parameters define it."""
    joint = body.joint.type
    name = _axis(joint)
    if name is None or not _all_numbers(getattr(joint, name)):
        return None
    n1, n2 = normals(getattr(joint, name))
    return _plain(Rotation(n1, n2, getattr(joint, name)).T)


def _axis(joint: JointType) -> str | None:
    """The field with the axis that a joint's frames may slide along."""
    if isinstance(joint, Planar):
        return "normal"
    return "axis" if joint.coaxial else None


def _towards_children(mechanism: Mechanism, upright: dict[int, Rotation | None]) -> dict[int, float]:
    """How far to turn the frame of a hinged body about its axis, to suit the mount of its first skew child: angle a."""
    angles: dict[int, float] = {}
    for body in mechanism.bodies:
        own, carrier = upright[body.number], upright.get(body.parent)
        if own is None or carrier is None or body.parent in angles or not _all_numbers(*body.mount.rotation.rows):
            continue
        between = carrier.T @ body.mount.rotation @ own
        if isinstance(mechanism.bodies[body.parent - 1].joint.type, Revolute) and not _is_simple(between):
            angles[body.parent] = _angles(between)[0]
    return angles


def _reach(mechanism: Mechanism) -> float:
    """The longest distance from a body's frame to its joints and centre of mass. The ground does not count."""
    offsets = [body.mount.offset for body in mechanism.bodies if body.parent]
    offsets += [end.placement.offset for loop in mechanism.loops for end in (loop.first, loop.second) if end.body]
    offsets += [body.inertia.h / body.inertia.mass for body in mechanism.bodies if _weighs(body)]
    return max((math.hypot(*offset) for offset in offsets if _all_numbers(offset)), default=0.0)


def _weighs(body: TreeBody) -> bool:
    return not isinstance(body.inertia.mass, (int, float)) or body.inertia.mass > 0


def _frame(
    body: TreeBody, parent: Transform, upright: Rotation | None, towards: dict[int, float], far: float
) -> _Frame:
    mount = parent.inverse() @ body.mount
    if upright is None or not _all_numbers(*mount.rotation.rows):
        return _Frame(Transform(), mount)
    # turn: the joint's frame by -c on the parent's side, by a of the next mount on the body's; a slider by the same
    R = _plain(mount.rotation @ upright)
    before = 0.0 if _is_simple(R) or isinstance(body.joint.type, Planar) else -_angles(R)[2]
    R = R if before == 0 else _plain(R @ _about_z(before))
    hinged = isinstance(body.joint.type, Revolute)
    after = towards.get(body.number, before) if hinged else before
    # slide: the same length on both sides
    along = _slide(mount.offset, R @ Z, far)
    offset = _clean(mount.offset + (R @ Z) * along, mount.offset) if along != 0 else mount.offset
    own = upright if after == 0 else upright @ _about_z(after)
    own = _plain(own)
    placement = Transform(own, ZERO if along == 0 else own @ (Z * along))
    return _Frame(placement, Transform(R, offset), (before - after) if body.reverse else (after - before), True)


def _in_frame(body: TreeBody, frame: _Frame) -> TreeBody:
    joint = body.joint.type
    name = _axis(joint)
    if name is not None and frame.along_z:
        joint = joint.with_fields(**{name: Z}, **({"offset": frame.offset} if isinstance(joint, Revolute) else {}))
    back = frame.placement.inverse()
    return dataclasses.replace(
        body,
        mount=frame.mount,
        own=back @ body.own,
        inertia=back.inertia_to_parent(body.inertia),
        joint=dataclasses.replace(body.joint, type=joint),
    )


# --- rotations ---


def _angles(R: Rotation) -> tuple[float, float, float]:
    """a, b, c of R = Rz(a) Rx(b) Rz(c), 0 <= b <= pi; where b is 0 or pi, all of it is c."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R.rows
    sine = math.hypot(zx, zy)
    a = 0.0 if sine < TINY else math.atan2(xz, -yz)
    # near b = 0 only a + c is accurate, near b = pi only a - c: c follows from it, and the product of the three is R
    c = math.atan2(yx - xy, xx + yy) - a if zz > 0 else a - math.atan2(yx + xy, xx - yy)
    return a, math.atan2(sine, zz), c


def _about_z(angle: float) -> Rotation:
    return Turn(2, math.cos(angle), math.sin(angle))


def _is_simple(R: Rotation) -> bool:
    """Whether it takes few operations as it is: a rotation about a coordinate axis, or an exchange of axes."""
    return R is IDENTITY or isinstance(R, Turn) or all(x in (-1, 0, 1) for row in R.rows for x in row)


def _plain(R: Rotation) -> Rotation:
    """The same rotation without round-off in entries that vanish; a Turn if it is about x, y or z.

    An entry is 1 only where the rest of its row and column vanishes. Near 1 it does not tell: an axis that is tilted by
    1e-8 rad has the cosine 1 to all digits, and its sine is what was given.
    """
    if R is IDENTITY or isinstance(R, Turn):
        return R
    rows = [[0 if abs(x) <= TINY else x for x in row] for row in R.rows]
    alone = [(i, j) for i in range(3) for j in range(3) if _is_alone(rows, i, j)]
    for i, j in alone:
        rows[i][j] = round(rows[i][j])
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if (k, k) in alone and rows[k][k] == 1:
            return IDENTITY if (i, i) in alone and rows[i][i] == 1 else Turn(k, rows[i][i], rows[j][i])
    return Rotation(*(Vector(*row) for row in rows))


def _is_alone(rows: list[list[float]], i: int, j: int) -> bool:
    """Whether all other entries of row i and column j vanish."""
    return all(rows[i][k] == 0 for k in range(3) if k != j) and all(rows[k][j] == 0 for k in range(3) if k != i)


# --- offsets ---


def _slide(offset: Vector, n: Vector, far: float) -> float:
    """How far to slide along n so that the offset keeps the fewest components; not too far."""
    if not _all_numbers(offset, n):
        return 0  # free parameters decide which components vanish
    best, most = 0.0, sum(1 for x in offset if x == 0)
    for x, slope in zip(offset, n, strict=True):
        if abs(slope) > STEEP and x != 0:
            length = -x / slope
            zeros = sum(1 for component in _clean(offset + n * length, offset) if component == 0)
            if zeros > most and abs(length) <= far:
                best, most = length, zeros
    return best


def _clean(offset: Vector, scale: Vector) -> Vector:
    """Components that are only round-off are zero."""
    size = max(max(abs(x) for x in scale), max(abs(x) for x in offset))
    return Vector(*(0 if abs(x) <= TINY * size else x for x in offset))


def _all_numbers(*vectors: Iterable[Scalar]) -> bool:
    return all(isinstance(x, (int, float)) for v in vectors for x in v)
