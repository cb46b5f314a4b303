"""Constraint forces: Lagrange multipliers of loops and constraints, their power, and forces of expression constraints.

    M u' + d = Q + J' lambda

J are the slopes of closure errors as states and runs have them, of the second frame as seen from the first: lambda of a
row acts along it on the second body and, oppositely, on the first; that of an expression acts along its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from momentree.equations.articulated import reacting_bodies
from momentree.equations.evaluation import Evaluation
from momentree.equations.loops.closing_joint import relative_placement
from momentree.equations.loops.constraint_rows import find_constraint_velocities, row_count
from momentree.equations.sweeps import Record, Records
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import Coordinates
from momentree.spatial import Force, Scalar
from momentree.spatial.symmetric import inverse, product
from momentree.structure.constraint_formulas import FrozenFormula
from momentree.structure.mechanism import Loop, Mechanism


class ExpressionForces(NamedTuple):
    """The forces of an expression constraint.

    | field  | meaning                                                                                 |
    |--------|-----------------------------------------------------------------------------------------|
    | joints | generalized forces along each joint that it names                                       |
    | frames | wrench at each frame that it names, on its body: in inertial axes, about its origin     |
    """

    joints: dict[str, tuple[Scalar, ...]]
    frames: dict[str, Force]


def reacting_constraints(at: Evaluation, u: Coordinates) -> Records:
    """The bodies with Lagrange multipliers, while the mechanism moves freely under the forces of the model."""
    return reacting_bodies(at, u, [0] * at.mechanism.nv)


def multipliers_of(mechanism: Mechanism, reacting: Records, name: str) -> tuple[Scalar, ...]:
    """The Lagrange multipliers of a loop or constraint, one for each of its rows (`Loop.rows`)."""
    return _user_rows(*_named(mechanism, reacting, name))


def every_multiplier(mechanism: Mechanism, reacting: Records) -> list[Scalar]:
    """Those of all loops and constraints, by the rows of the constraint Jacobian; of momenta, the impulses eta."""
    every = zip(_every(mechanism), reacting.constraints[1:], strict=True)
    return [multiplier for of, record in every for multiplier in _user_rows(of, record)]


def _user_rows(of: Loop | FrozenFormula, record: Record) -> tuple[Scalar, ...]:
    """Along the rows of the closure errors that users read."""
    eta = _multipliers(record)
    if isinstance(of, FrozenFormula):
        return eta
    if isinstance(of.joint_type, HigherPair):
        return tuple(-x for x in eta)
    return _along_rows(of, record, eta)


def constraint_power(mechanism: Mechanism, reacting: Records, name: str) -> Scalar:
    """The power (W) of the forces of a constraint on all bodies and joints: zero unless it depends on time itself."""
    _, record = _named(mechanism, reacting, name)
    velocities = find_constraint_velocities(record)["constraint_velocity"]
    terms = zip(_multipliers(record), velocities, record.drift, strict=True)
    return sum(force * (velocity - drift) for force, velocity, drift in terms)


def expression_forces_of(mechanism: Mechanism, reacting: Records, name: str) -> ExpressionForces:
    """What an expression constraint exerts along its joints and at its frames."""
    of, record = _named(mechanism, reacting, name)
    assert isinstance(of, FrozenFormula)
    joints = [mechanism.bodies[number - 1].joint.name for number in of.bodies]
    along = {joint: getattr(record, f"force_along{j}") for j, joint in enumerate(joints)}
    on = {}
    for k, frame in enumerate(of.frame_names, len(joints)):
        wrench, offset = getattr(record, f"wrench_on{k}"), of.frames[k - len(joints)].placement.offset
        R = getattr(record, f"body{k}").X_0.rotation
        on[frame] = Force(R @ wrench.linear, R @ (wrench.angular - offset.cross(wrench.linear)))
    return ExpressionForces(along, on)


def _named(mechanism: Mechanism, reacting: Records, name: str) -> tuple[Loop | FrozenFormula, Record]:
    for of, record in zip(_every(mechanism), reacting.constraints[1:], strict=True):
        if (of.name if isinstance(of, Loop) else of.constraint.name) == name:
            return of, record
    raise KeyError(name)


def _every(mechanism: Mechanism) -> list[Loop | FrozenFormula]:
    return [*mechanism.loops, *mechanism.constraint_formulas]


def _multipliers(record: Record) -> tuple[Scalar, ...]:
    return tuple(getattr(record.node, f"eta{i}") for i in range(row_count(record)))


def _along_rows(loop: Loop, record: Record, eta: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Components along the rows of the closing joint, of which those in a plane only may have closed the loop."""
    R, total = loop.first.placement.rotation.T, Force.zero()
    for row, size in zip(record.rows, eta, strict=True):
        total = total - Force(R @ row.linear, R @ row.angular) * size
    crossed = loop.joint_type.crossed_axes is not None
    q = loop.joint_type.fit(relative_placement(record)) if crossed else ()
    rows = [tuple(row.direction) for row in (loop.joint_type.constraint_rows(q) if crossed else loop.rows)]
    gram = [[_dot(a, b) for a in rows] for b in rows]
    return tuple(product(inverse(gram), [_dot(row, tuple(total)) for row in rows]))


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return sum(x * y for x, y in zip(a, b, strict=True))
