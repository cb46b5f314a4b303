"""Inertial parameters shared out between links so that inverse dynamics takes the fewest operations.

What a hinge leaves unchanged, m, h_z and K_zz of the link that it carries, may stand in that link or in its parent, in
any parts. Base parameters (base_parameters.py) give all of it to the parent, and seven numbers remain in each link.
These seven do not cost the same. Where z is the axis of the hinge, (a, b, c) the offset of the next one, and U as in
newton_euler.py, a number that is not zero takes

| number        | in                                   | multiplications | additions |
|---------------|--------------------------------------|-----------------|-----------|
| m             | f = m a                              | 3               | 3         |
| h_x, h_y, h_z | f = U h, n = h x a                   | 5 each          | 5 each    |
| K_xx, K_yy, K_zz | n = vee(U K - (U K)')             | 2 each          | 2 each    |
| K_xy, K_xz, K_yz | the same, with differences in U   | 3 each          | 4 each    |

So each link takes from the next one the mass that makes its own h_x vanish, and the second moment along the axis of the
next hinge that makes its own K_yz vanish; the next link keeps m and K_zz, which cost less. This is no approximation:
generalized forces do not change. A last link, to whose frame no other is mounted, is turned about its axis until its
own h_x vanishes. For a general arm with six hinges: 365 multiplications and 299 additions instead of 382 and 319.

Seven numbers in each link are the least there can be (Gautier and Khalil 1990), and m, h_y, K_xx, K_yy, K_zz, K_xy and
K_xz the cheapest seven that two free numbers of a hinge leave: h has three components, but only two vectors, the offset
and the axis of the next hinge, to cancel them with. The rest is 5 rotations of vectors by two angles each, 40
multiplications and 20 additions for each link, which any recursion on vectors in body axes takes.
"""

from __future__ import annotations

import dataclasses
import math
from typing import cast

from momentree.equations.base_parameters import along_axis
from momentree.equations.joint_frames import in_joint_frames
from momentree.model.joint_types import Revolute
from momentree.spatial import ZERO, RigidInertia, Scalar, Transform, Vector, Z
from momentree.spatial.moments import MassMoments
from momentree.spatial.rotation import Turn
from momentree.structure.mechanism import Mechanism, TreeBody
from momentree.structure.parts import Attached, frames_of

FAR = 10.0  # a mass or second moment that is moved is at most so many times that of the whole tree: or digits are lost
_AXIS = 2  # joint frames have their hinges along z


def shared_parameters(mechanism: Mechanism) -> Mechanism:
    """The mechanism in joint frames, inertial parameters shared out between the two links at each hinge."""
    frames = in_joint_frames(mechanism)
    moments = {body.number: MassMoments.of(body.inertia) for body in frames.bodies}
    offsets: dict[int, float] = {}
    child_of = {body.parent: body for body in frames.bodies if _turns_about_z(body)}  # the last one, if there are more
    mass = sum(moment.mass for moment in moments.values())
    size = sum(sum(moment.pseudo[:3]) for moment in moments.values())
    limits = (FAR * mass, FAR * size) if _are_numbers(mass, size) else (0.0, 0.0)
    parents = {body.parent for body in frames.bodies}
    parents |= {frame.body for frame in frames_of((frames.loops, frames.elements))}  # which would cost more, turned
    for body in reversed(frames.bodies):
        number, child = body.number, child_of.get(body.number)
        if child is not None and body.parent:
            taken = _taken(moments[number], child, limits)
            moments[number] = _added(moments[number], taken, child)
            moments[child.number] = moments[child.number] - taken
        if not _turns_about_z(body):
            continue
        if number not in parents and not body.reverse:
            moments[number], offsets[number] = _turned(moments[number])
        moved = along_axis(moments[number], _AXIS)
        moments[number] = moments[number] - moved
        if body.parent:
            moments[body.parent] = moments[body.parent] + _at_parent(moved, body)
    inertias = cast(dict[int, RigidInertia], moments)
    bodies = [dataclasses.replace(body, inertia=inertias[body.number]) for body in frames.bodies]
    turned = {number: angle for number, angle in offsets.items() if angle != 0}

    def in_turned(frame: Attached) -> Attached:
        return Attached(frame.body, _back(turned[frame.body]) @ frame.placement) if frame.body in turned else frame

    bodies = [_with_offset(body, turned[body.number]) if body.number in turned else body for body in bodies]
    return dataclasses.replace(frames.reattached(in_turned), bodies=tuple(bodies))


def _turns_about_z(body: TreeBody) -> bool:
    return isinstance(body.joint.type, Revolute) and body.joint.type.axis in (Z, -Z)


def _at_parent(moved: MassMoments, body: TreeBody) -> MassMoments:
    """Moments that a hinge leaves unchanged, in the frame of its parent: at any angle the same."""
    X_PM = body.mount @ body.joint_type.placement(body.joint.type.reference())
    return moved.turned(X_PM.rotation).shifted(X_PM.offset)


def _taken(own: MassMoments, child: TreeBody, limits: tuple[float, float]) -> MassMoments:
    """What a link takes from the next one, so that its own h_x and K_yz vanish; as much of it as is well determined."""
    mass_unit = _at_parent(MassMoments(1.0, ZERO, (0,) * 6), child)
    axis_unit = _at_parent(MassMoments(0, ZERO, (0, 0, 1.0, 0, 0, 0)), child)
    mass = _ratio(own.h.x, mass_unit.h.x, limits[0])
    second = _ratio(own.pseudo[5] + mass * mass_unit.pseudo[5], axis_unit.pseudo[5], limits[1])
    return MassMoments(mass, ZERO, (0, 0, second, 0, 0, 0))


def _added(own: MassMoments, taken: MassMoments, child: TreeBody) -> MassMoments:
    """A link with what it takes; of what is to vanish, round-off goes too."""
    total = own + _at_parent(taken, child)
    K, h = list(total.pseudo), total.h
    h = Vector(0, h.y, h.z) if _is_something(taken.mass) else h
    if _is_something(taken.pseudo[_AXIS]):
        K[5] = 0
    return MassMoments(total.mass, h, tuple(K))


def _is_something(x: Scalar) -> bool:
    return isinstance(x, float) and x != 0


def _turned(M: MassMoments) -> tuple[MassMoments, float]:
    """A last link in axes turned about z so that h_x vanishes, where that spares anything; and the angle."""
    hx, hy, Kxy = M.h.x, M.h.y, M.pseudo[3]
    if not _are_numbers(*M.h, *M.pseudo) or 0 in (hx, hy, Kxy):
        return M, 0.0
    angle = math.atan2(hy, hx) - math.pi / 2
    there = M.turned(Turn(_AXIS, math.cos(angle), -math.sin(angle)))
    return MassMoments(there.mass, Vector(0, there.h.y, there.h.z), there.pseudo), angle


def _with_offset(body: TreeBody, angle: float) -> TreeBody:
    """A body whose frame is turned about the axis of its hinge; its coordinate keeps its meaning."""
    joint = body.joint.type
    joint = joint.with_fields(offset=getattr(joint, "offset", 0) + angle)
    own = _back(angle) @ body.own
    return dataclasses.replace(body, own=own, joint=dataclasses.replace(body.joint, type=joint))


def _back(angle: float) -> Transform:
    """From a frame to one that is turned by an angle about the axis of its hinge."""
    return Transform(Turn(_AXIS, math.cos(angle), math.sin(angle)), ZERO).inverse()


def _ratio(rest: Scalar, unit: Scalar, limit: float) -> Scalar:
    """Minus rest over unit; zero where it would be too large, or where free parameters decide that."""
    if not _are_numbers(rest, unit) or abs(rest) >= limit * abs(unit):
        return 0
    return -rest / unit


def _are_numbers(*values: Scalar) -> bool:
    return all(isinstance(x, (int, float)) for x in values)
