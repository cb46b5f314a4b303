"""Base parameters: the same inverse dynamics and mass matrix with fewer numbers in them.

A hinge about a coordinate axis k does not change the mass of the link that it carries, nor its first moment and its
second moment along that axis: m, h_k and K_kk can be given to the parent, at any angle of the hinge. Origins may also
slide along the hinge's axis until the way from joint to joint has the fewest components. Both are exact. The links that
are left are not physical, so they serve assembled quantities only, never the energy of a single body.
Gautier and Khalil 1990; docs/theory/aggregative.md.
"""

from __future__ import annotations

import dataclasses
from typing import cast

from momentree.model.joints import Revolute
from momentree.spatial import IDENTITY, ZERO, RigidInertia, Scalar, Transform, Vector, X, Y, Z
from momentree.spatial.moments import MassMoments
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

AXES = (X, Y, Z)
TINY = 1e-14  # of the offset: what sliding leaves of a component that it was to remove


def base_parameters(mechanism: Mechanism) -> Mechanism:
    """The mechanism with origins slid along hinge axes and inertias regrouped from the leaves to the ground."""
    slid = _slid(mechanism)
    moments = {body.number: MassMoments.of(body.inertia) for body in slid.bodies}
    for body in reversed(slid.bodies):
        k = _hinge_axis(body)
        if k is None:
            continue
        goes = along_axis(moments[body.number], k)
        moments[body.number] = moments[body.number] - goes
        if body.parent:
            X_PM = body.mount @ body.joint.placement(body.connection.joint.reference())
            moments[body.parent] = moments[body.parent] + goes.turned(X_PM.rotation).shifted(X_PM.offset)
    # moments of mass turn, shift and carry momentum just as a rigid inertia does
    inertias = cast(dict[int, RigidInertia], moments)
    bodies = tuple(dataclasses.replace(body, inertia=inertias[body.number]) for body in slid.bodies)
    return dataclasses.replace(slid, bodies=bodies)


def along_axis(M: MassMoments, k: int) -> MassMoments:
    """What a turn about the axis k leaves as it is: m, h_k and K_kk."""
    h, K = [*M.h], M.pseudo
    return MassMoments(M.mass, AXES[k] * h[k], tuple(K[i] if i == k else 0 for i in range(6)))


def _hinge_axis(body: TreeBody) -> int | None:
    """The coordinate axis that the body's hinge turns about, if it is one."""
    joint = body.connection.joint
    if isinstance(joint, Revolute):
        for k, axis in enumerate(AXES):
            if joint.axis in (axis, -axis):
                return k
    return None


def _slid(mechanism: Mechanism) -> Mechanism:
    """Every frame of a hinged body slid along its hinge; all that stands in it is told anew."""
    shift: dict[int, Vector] = {0: ZERO}
    bodies = []
    for body in mechanism.bodies:
        k = _hinge_axis(body)
        offset = body.mount.offset - shift[body.parent]
        along = ZERO if k is None else AXES[k] * _slide(offset, body.mount.rotation @ AXES[k])
        shift[body.number] = along
        back = Transform(IDENTITY, -along)
        offset = _clean(offset + body.mount.rotation @ along, body.mount.offset)
        mount = Transform(body.mount.rotation, offset)
        inertia = body.inertia.shifted(-along)
        bodies.append(dataclasses.replace(body, mount=mount, own=back @ body.own, inertia=inertia))

    def moved(frame: Attached) -> Attached:
        return Attached(frame.body, Transform(IDENTITY, -shift[frame.body]) @ frame.placement)

    return dataclasses.replace(
        mechanism,
        bodies=tuple(bodies),
        loops=tuple(dataclasses.replace(x, first=moved(x.first), second=moved(x.second)) for x in mechanism.loops),
        pushes=tuple(dataclasses.replace(push, frame=moved(push.frame)) for push in mechanism.pushes),
        links=tuple(dataclasses.replace(x, first=moved(x.first), second=moved(x.second)) for x in mechanism.links),
    )


def _slide(offset: Vector, n: Vector) -> Scalar:
    """How far to slide along n so that the offset keeps the fewest components."""
    if not _is_numeric(offset) or not _is_numeric(n):
        return 0  # which components will vanish is not known yet
    best, most = 0.0, sum(1 for x in offset if x == 0)
    for x, slope in zip(offset, n, strict=True):
        if abs(slope) > 1e-9 and x != 0:
            length = -x / slope
            zeros = sum(1 for component in _clean(offset + n * length, offset) if component == 0)
            if zeros > most:
                best, most = length, zeros
    return best


def _clean(offset: Vector, scale: Vector) -> Vector:
    """Components that are only round-off are zero."""
    if not _is_numeric(offset) or not _is_numeric(scale):
        return offset
    size = max(max(abs(x) for x in scale), max(abs(x) for x in offset))
    return Vector(*(0 if abs(x) <= TINY * size else x for x in offset))


def _is_numeric(v: Vector) -> bool:
    return all(isinstance(x, (int, float)) for x in v)
