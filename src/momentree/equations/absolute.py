"""Newton-Euler equations in maximal coordinates: every body by itself, every joint a constraint.

    M_i dv_i + Omega_i M_i v_i = F_i + sum of reactions ,   J v' + J' v = 0

The mechanism in maximal coordinates (structure/maximal_coordinates.py) obeys the equations of the first kind
(lagrange.py): Newton's and Euler's of each body, and the constraints of all joints at the acceleration level (DAE of
index 1). The elimination order of its loops (structure/elimination.py) is that of the sparse matrix.

What remains is to convert coordinates and velocities between the tree and the separate bodies. The placement of a joint
gives its angles up to full turns, which are counted by integrating its velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import laws_of
from momentree.equations.kinematics import records
from momentree.equations.lagrange import changing_bodies, closed_velocities
from momentree.equations.loops.closing_joint import dual_motion_subspace, find_joint_coordinates
from momentree.equations.sweeps import Record, Records
from momentree.errors import MomentreeError
from momentree.model.joint_type import Coordinates, JointType
from momentree.spatial import Motion, Scalar, Transform
from momentree.structure.maximal_coordinates import (
    Angle,
    in_maximal_coordinates,
    keeps_tree_joint,
    separated_bodies,
    turning_angles,
)
from momentree.structure.mechanism import Attached, Mechanism

__all__ = [
    "angle_derivatives",
    "changing_bodies",
    "closed_velocities",
    "counted_angles",
    "maximal_mechanism",
    "maximal_state",
    "tree_state",
]


class KinematicState(NamedTuple):
    """Coordinates and velocities."""

    q: list[Scalar]
    u: list[Scalar]


def maximal_mechanism(mechanism: Mechanism) -> Mechanism:
    """The mechanism in maximal coordinates; an error if a law depends on an angle that counts turns."""
    maximal = in_maximal_coordinates(mechanism)
    bodies = separated_bodies(mechanism, maximal)
    angles = {body.joint.coordinates[k] for body in bodies for k in body.joint.type.turning}
    for what, law in laws_of(mechanism):
        for reference in angles.intersection(law.references()):
            raise MomentreeError(
                f"{what}, {law}, depends on the angle {reference}, which absolute coordinates determine only up to "
                "full turns. Use formulation='hamiltonian' or 'lagrange'."
            )
    return maximal


def counted_angles(mechanism: Mechanism, maximal: Mechanism) -> list[Angle]:
    """The angles of closing joints whose turns are counted."""
    return turning_angles(mechanism, maximal)


def angle_derivatives(maximal: Mechanism, moving: Records, angles: Sequence[Angle]) -> list[Scalar]:
    """The derivatives of these angles."""
    wanted = {angle.loop for angle in angles}
    for number, record in enumerate(moving.constraints[1:]):
        record.counts_turns = number in wanted
    moving.constraints.locally(
        lambda loop: {"turn_velocities": find_joint_coordinates(loop)["u"]} if loop.counts_turns else {}
    )
    return [moving.constraints[angle.loop + 1].turn_velocities[angle.coordinate] for angle in angles]


def maximal_state(at: Evaluation, maximal: Mechanism, u: Coordinates) -> KinematicState:
    """Coordinates and velocities of the separate bodies, from those of the tree."""
    moving, state = records(at, u), KinematicState([], [])
    for body, new in zip(at.mechanism.bodies, maximal.bodies, strict=True):
        if new.laws:
            continue
        if keeps_tree_joint(body, new):
            part = KinematicState(list(at.q[body.q]), list(u[body.v]))
        else:
            part = _between(new.joint.type, moving, Attached(0, new.mount), Attached(new.number, Transform()))
        state.q.extend(part.q)
        state.u.extend(part.u)
    return state


def tree_state(at: Evaluation, mechanism: Mechanism, u: Coordinates) -> KinematicState:
    """Coordinates and velocities of the tree, from those of the separate bodies; angles are in (-pi, pi]."""
    maximal, moving, state = at.mechanism, records(at, u), KinematicState([], [])
    loops = iter(maximal.loops)
    for body, new in zip(mechanism.bodies, maximal.bodies, strict=True):
        if keeps_tree_joint(body, new):
            part = KinematicState([], []) if body.laws else KinematicState(list(at.q[new.q]), list(u[new.v]))
        else:
            loop = next(loops)
            part = _between(loop.joint_type, moving, loop.first, loop.second)
        state.q.extend(part.q)
        state.u.extend(part.u)
    return state


def _between(joint: JointType, moving: Sequence[Record], first: Attached, second: Attached) -> KinematicState:
    """The coordinates that fit best between two frames, and the velocities by which the second moves in the first."""
    (X_F, v_F), (X_M, v_M) = (_moved(moving[end.body], end) for end in (first, second))
    X_FM = X_F.inverse() @ X_M
    q = joint.fit(X_FM)
    v = v_M - X_FM.motion(v_F)
    return KinematicState(list(q), [v @ force for force in dual_motion_subspace(joint, q)])


def _moved(record: Record, frame: Attached) -> tuple[Transform, Motion]:
    """Where a frame of a body is, and how it moves, in its own axes."""
    return record.X_0 @ frame.placement, frame.placement.motion(record.v)
