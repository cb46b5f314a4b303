"""Generalized forces apart from inertia: those of gravity, and Q of all forces of the model.

    M u' + b + g = tau + Q_applied ,        Q = Q_applied - g ,        bias = b - Q

g(q) stands on the side of inertia, as in books on robots: the generalized forces that hold the tree against its weight.
Q_s is the coefficient of the virtual velocity s in the virtual power of all active forces, the weight included (Rusanov
2014, (5); Ivanov 2022, Q of (6)). Forces of closing joints' springs, dampers and drives are in it, reactions of loops
are not.
"""

from __future__ import annotations

from momentree.equations.aggregative import gather
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import apply_forces, generalized
from momentree.equations.hamiltonian import add_weight, carry_gravity
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import Force, Scalar


def begin_with_forces(body: Record) -> Fields:
    """Z begins as -F."""
    return {"Z": -body.F}


def gravity_forces(at: Evaluation) -> tuple[Scalar, ...]:
    """g(q), at every velocity the same."""
    placed = records(at)
    for record, body in zip(placed[1:], at.mechanism.bodies, strict=True):
        record.applied, record.Q = Force.zero(), (0,) * len(body.joint.type.velocities)
    return _gathered(at, placed)


def generalized_forces(at: Evaluation, u: Coordinates) -> tuple[Scalar, ...]:
    """Q(q, u, t)."""
    moving = records(at, u)
    apply_forces(at, moving)
    return tuple(-entry for entry in _gathered(at, moving))


def _gathered(at: Evaluation, moving: Records) -> tuple[Scalar, ...]:
    """-A' (F and weight, on each body and all that it carries) - Q of the joints."""
    moving[0].g = moving[0].X_0.rotation.T @ at.mechanism.gravity
    moving.outward(carry_gravity)
    moving.locally(add_weight)
    moving.locally(begin_with_forces)
    moving.inward(gather)
    return generalized(at.mechanism, moving, "b")
