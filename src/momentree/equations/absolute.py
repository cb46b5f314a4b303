"""Newton-Euler equations in absolute coordinates: every body by itself, every joint a constraint.

    M_i dv_i + Omega_i M_i v_i = F_i + sum of reactions ,   J v' + J' v = 0

The mechanism is told anew with its bodies apart (structure/maximal_coordinates.py) and then obeys the equations of the
first kind (lagrange.py): Newton's and Euler's of each body, and the rows of all joints at the level of accelerations.
The order in which loops close (structure/elimination.py) is that of the elimination of the sparse matrix.

What remains is the way in and out: places and velocities of the bodies from coordinates and velocities of the tree, and
back. Where a joint is tells its angles up to full turns, which are counted by integrating its velocities.
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
from momentree.structure.maximal_coordinates import Angle, apart, stays, taken_apart, turning_angles
from momentree.structure.mechanism import Attached, Mechanism

__all__ = ["changing_bodies", "closed_velocities", "counted", "counting", "entered", "left", "told"]


class Moves(NamedTuple):
    """Coordinates and velocities."""

    q: list[Scalar]
    u: list[Scalar]


def told(mechanism: Mechanism) -> Mechanism:
    """The mechanism with its bodies apart, or an error if a law depends on an angle that counts turns."""
    found = apart(mechanism)
    bodies = taken_apart(mechanism, found)
    angles = {body.joint.coordinates[k] for body in bodies for k in body.joint.type.turning}
    for what, law in laws_of(mechanism):
        for reference in angles.intersection(law.references()):
            raise MomentreeError(
                f"{what}, {law}, depends on the angle {reference}, which absolute coordinates know up to full turns "
                "only. Use formulation='hamiltonian' or 'lagrange'."
            )
    return found


def counted(mechanism: Mechanism, found: Mechanism) -> list[Angle]:
    """The angles of closing joints whose turns are counted."""
    return turning_angles(mechanism, found)


def counting(found: Mechanism, moving: Records, angles: Sequence[Angle]) -> list[Scalar]:
    """How they change."""
    wanted = {angle.loop for angle in angles}
    for number, record in enumerate(moving.loops[1:]):
        record.counts_turns = number in wanted
    moving.loops.locally(
        lambda loop: {"turn_velocities": find_joint_coordinates(loop)["u"]} if loop.counts_turns else {}
    )
    return [moving.loops[angle.loop + 1].turn_velocities[angle.place] for angle in angles]


def entered(at: Evaluation, found: Mechanism, u: Coordinates) -> Moves:
    """Coordinates and velocities of the bodies apart, from those of the tree."""
    moving, state = records(at, u), Moves([], [])
    for body, new in zip(at.mechanism.bodies, found.bodies, strict=True):
        if new.laws:
            continue
        if stays(body, new):
            part = Moves(list(at.q[body.q]), list(u[body.v]))
        else:
            part = _between(new.joint.type, moving, Attached(0, new.mount), Attached(new.number, Transform()))
        state.q.extend(part.q)
        state.u.extend(part.u)
    return state


def left(at: Evaluation, mechanism: Mechanism, u: Coordinates) -> Moves:
    """Coordinates and velocities of the tree, from those of the bodies apart; angles are in (-pi, pi]."""
    found, moving, state = at.mechanism, records(at, u), Moves([], [])
    loops = iter(found.loops)
    for body, new in zip(mechanism.bodies, found.bodies, strict=True):
        if stays(body, new):
            part = Moves([], []) if body.laws else Moves(list(at.q[new.q]), list(u[new.v]))
        else:
            loop = next(loops)
            part = _between(loop.joint_type, moving, loop.first, loop.second)
        state.q.extend(part.q)
        state.u.extend(part.u)
    return state


def _between(joint: JointType, moving: Sequence[Record], first: Attached, second: Attached) -> Moves:
    """The coordinates that fit best between two frames, and the velocities by which the second moves in the first."""
    (X_F, v_F), (X_M, v_M) = (_moved(moving[end.body], end) for end in (first, second))
    X_FM = X_F.inverse() @ X_M
    q = joint.fit(X_FM)
    v = v_M - X_FM.motion(v_F)
    return Moves(list(q), [v @ force for force in dual_motion_subspace(joint, q)])


def _moved(record: Record, frame: Attached) -> tuple[Transform, Motion]:
    """Where a frame of a body is, and how it moves, in its own axes."""
    return record.X_0 @ frame.placement, frame.placement.motion(record.v)
