"""Base inertial parameters: the same inverse dynamics and mass matrix with fewer numbers in them.

A hinge about a coordinate axis k does not change the mass of the link that it carries, nor its first moment and its
second moment along that axis: m, h_k and K_kk can be moved to the parent, at any angle of the hinge, exactly. The
remaining links are not physical: they serve assembled quantities only, never the energy of a single body.
Gautier and Khalil 1990; docs/theory/aggregative.md.
"""

from __future__ import annotations

import dataclasses
from typing import cast

from momentree.equations.joint_frames import in_joint_frames
from momentree.model.joint_types import Revolute
from momentree.spatial import RigidInertia, X, Y, Z
from momentree.spatial.moments import MassMoments
from momentree.structure.mechanism import Mechanism, TreeBody

AXES = (X, Y, Z)


def base_parameters(mechanism: Mechanism) -> Mechanism:
    """The mechanism in joint frames (joint_frames.py), its inertias regrouped from the leaves to the ground."""
    in_frames = in_joint_frames(mechanism)
    moments = {body.number: MassMoments.of(body.inertia) for body in in_frames.bodies}
    for body in reversed(in_frames.bodies):
        k = _hinge_axis(body)
        if k is None:
            continue
        moved = along_axis(moments[body.number], k)
        moments[body.number] = moments[body.number] - moved
        if body.parent:
            X_PM = body.mount @ body.joint_type.placement(body.joint.type.reference())
            moments[body.parent] = moments[body.parent] + moved.turned(X_PM.rotation).shifted(X_PM.offset)
    # moments of mass turn, shift and carry momentum just as a rigid inertia does
    inertias = cast(dict[int, RigidInertia], moments)
    bodies = tuple(dataclasses.replace(body, inertia=inertias[body.number]) for body in in_frames.bodies)
    return dataclasses.replace(in_frames, bodies=bodies)


def along_axis(M: MassMoments, k: int) -> MassMoments:
    """The moments that a rotation about the axis k does not change: m, h_k and K_kk."""
    h, K = [*M.h], M.pseudo
    return MassMoments(M.mass, AXES[k] * h[k], tuple(K[i] if i == k else 0 for i in range(6)))


def _hinge_axis(body: TreeBody) -> int | None:
    """The coordinate axis that the body's hinge turns about, if it is one."""
    joint = body.joint.type
    if isinstance(joint, Revolute):
        for k, axis in enumerate(AXES):
            if joint.axis in (axis, -axis):
                return k
    return None
