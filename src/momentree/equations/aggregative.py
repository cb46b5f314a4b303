"""Aggregative forms: A(q) u' + d = drives, by one sweep outward and one inward.

Belkov and Konoplev 1997, corrected: their (2.2) lacks the change of the joint axes, which matters for joints of several
freedoms (docs/theory/aggregative.md). The letters V, X, Y, Z are theirs: velocity, its derivative without the joint
accelerations, the inertial force of one body, that of the body and of all that it carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from momentree.equations.armature import has_armature, resist_acceleration, resist_velocity
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized, loaded_bodies
from momentree.equations.kinematics import carry_velocity, records
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import REST, Force, Scalar
from momentree.structure.mechanism import Mechanism


def inertial_force(body: Record) -> Fields:
    """Y = M X + Phi(V) M V."""
    return {"Y": body.inertia @ body.dv + body.v.cross_force(body.inertia @ body.v)}


def begin_gathering(body: Record) -> Fields:
    """Z begins as Y less the applied wrench."""
    return {"Z": body.Y - body.applied}


def gather(body: Record) -> tuple[Fields, Fields]:
    """Z = Y + sum of C' Z over children, Belkov and Konoplev 1997 (2.4); b = A' Z - Q."""
    b = tuple(z - Q for z, Q in zip(body.A.along(body.Z), body.Q, strict=True))
    return {"b": b}, {"Z": body.X.force_to_parent(body.Z)}


def begin_with_momentum(body: Record) -> Fields:
    """Z begins as M V."""
    return {"Z": body.inertia @ body.v}


def compose(body: Record) -> tuple[Fields, Fields]:
    """The inertia of a body and of all that it carries, as if its joints were locked."""
    return {}, {"composite": body.X.inertia_to_parent(body.composite)}


class AggregativeForm(NamedTuple):
    """An aggregative form A q'' + b = Q of Belkov and Konoplev 1997, in their letters; N bodies, each in its frame.

    | field | shape  | meaning                                                                                      |
    |-------|--------|----------------------------------------------------------------------------------------------|
    | V     | N, 6   | twists (m/s, rad/s)                                                                          |
    | X     | N, 6   | quasi-accelerations at q'' = 0 (m/s2, rad/s2); in the second form less gravity               |
    | Y     | N, 6   | M X + Phi(V) M V: the inertial wrench of each body (N, N m)                                  |
    | Z     | N, 6   | that of each body and all that it carries; in the second form less applied wrenches          |
    | b     | nv     | A' Z (N, N m): inertial terms; in the second form d, with all forces of the model            |

    Bodies are in the order of the proper numbering: `system.structure.bodies[1:]`.
    """

    V: Any
    X: Any
    Y: Any
    Z: Any
    b: Any


def first_form(at: Evaluation, u: Coordinates) -> AggregativeForm:
    """Inertia alone: A u' + b = all generalized forces."""
    mechanism = at.mechanism
    moving = records(at, u, [0] * mechanism.nv)
    for record, body in zip(moving[1:], mechanism.bodies, strict=True):
        record.applied, record.Q = Force.zero(), (0,) * len(body.joint.type.velocities)
    return _form(mechanism, _gathered(mechanism, moving))


def second_form(at: Evaluation, u: Coordinates) -> AggregativeForm:
    """Inertia, gravity and every force of the model: A u' + d = other generalized forces."""
    return _form(at.mechanism, _gathered(at.mechanism, loaded_bodies(at, u, [0] * at.mechanism.nv)))


def inverse_dynamics(at: Evaluation, u: Coordinates, du: Coordinates) -> tuple[Scalar, ...]:
    """The generalized forces, besides those of the model, that make the tree accelerate with du (RNEA)."""
    moving = _gathered(at.mechanism, loaded_bodies(at, u, du))
    return generalized(at.mechanism, moving, "b")


def mass_matrix(at: Evaluation) -> list[list[Scalar]]:
    """A(q) in O(n^2): the momentum of composite bodies along each path to the ground (CRBA)."""
    mechanism = at.mechanism
    placed = records(at)
    for record in placed[1:]:
        record.composite = record.inertia
    placed.inward(compose)
    A: list[list[Scalar]] = [[0] * mechanism.nv for _ in range(mechanism.nv)]
    for body in mechanism.bodies:
        for i, axis in zip(range(body.v.start, body.v.stop), placed[body.number].A.columns, strict=False):
            F, ancestor = placed[body.number].composite @ axis, body
            while True:
                for j, other in zip(
                    range(ancestor.v.start, ancestor.v.stop), placed[ancestor.number].A.columns, strict=False
                ):
                    A[i][j] = A[j][i] = other @ F
                if not ancestor.parent:
                    break
                F = placed[ancestor.number].X.force_to_parent(F)
                ancestor = mechanism.bodies[ancestor.parent - 1]
        for i, N in zip(range(body.v.start, body.v.stop), body.joint_type.armature or (), strict=False):
            A[i][i] = A[i][i] + N
    return A


def inertia_product(at: Evaluation, x: Coordinates) -> tuple[Scalar, ...]:
    """A(q) x in O(n): the generalized momenta at the velocities x, prescribed joints and the ground at rest."""
    moving = records(at)
    moving[0].v = REST
    for record, body in zip(moving[1:], at.mechanism.bodies, strict=True):
        record.u = (0,) * len(body.joint.type.velocities) if body.laws else tuple(x[body.v])
    moving.outward(carry_velocity)
    return generalized_momenta(at.mechanism, moving)


def generalized_momenta(mechanism: Mechanism, moving: Records) -> tuple[Scalar, ...]:
    """The generalized momenta of moving bodies: A' Z of each joint."""
    for body in mechanism.bodies:
        moving[body.number].Q = (0,) * len(body.joint.type.velocities)
    if has_armature(mechanism):
        moving.locally(resist_velocity)
    moving.locally(begin_with_momentum)
    moving.inward(gather)
    return generalized(mechanism, moving, "b")


def carried_forces(
    at: Evaluation,
    u: Coordinates,
    du: Coordinates,
    reactions: Sequence[Force] = (),
    joint_forces: Mapping[int, Sequence[Scalar]] | None = None,
) -> Records:
    """The bodies with Z, the wrench that each takes from its joint to move as it does, at its own frame.

    It includes constraint forces, drives, springs and dampers of the joint. `reactions` are further wrenches on the
    ground and on each body, at its own frame, such as those of closed loops; `joint_forces` further generalized forces
    by the number of a body, such as those of gears.
    """
    moving = loaded_bodies(at, u, du)
    for record, reaction in zip(moving, reactions, strict=False):
        record.applied = record.applied + reaction
    for number, forces in (joint_forces or {}).items():
        moving[number].Q = tuple(a + b for a, b in zip(moving[number].Q, forces, strict=True))
    return _gathered(at.mechanism, moving)


def _gathered(mechanism: Mechanism, moving: Records) -> Records:
    """The bodies with every force carried to the ground."""
    if has_armature(mechanism):
        moving.locally(resist_acceleration)
    moving.locally(inertial_force)
    moving.locally(begin_gathering)
    moving.inward(gather)
    return moving


def _form(mechanism: Mechanism, moving: Sequence[Record]) -> AggregativeForm:
    V, X, Y, Z = (tuple(getattr(record, field) for record in moving[1:]) for field in ("v", "dv", "Y", "Z"))
    return AggregativeForm(V, X, Y, Z, generalized(mechanism, moving, "b"))
