"""The constraint rows of loops on any scalar: closure errors, velocities by prescribed motion, constraint Jacobian.

Rows, signs and axes are those of `Configuration` (closure.py), which says the same of one configuration in floats.
"""

from __future__ import annotations

from typing import NamedTuple

from momentree.equations.forces import Names
from momentree.equations.kinematics import frame_placement, records, seen_at
from momentree.equations.sweeps import Record, Records
from momentree.model.joint import Coordinates
from momentree.spatial import Motion, Scalar, Transform
from momentree.spatial.rotation import rotation_vector
from momentree.structure.mechanism import Attached, Loop, Mechanism


class ConstraintRow(NamedTuple):
    """One scalar constraint of a loop.

    | field | meaning                                                        |
    |-------|----------------------------------------------------------------|
    | error | closure error (m or rad)                                       |
    | drift | velocity that prescribed joints and the ground alone cause     |
    | J     | velocity by the velocities of the tree, one entry for each     |
    """

    error: Scalar
    drift: Scalar
    J: tuple[Scalar, ...]


def constraint_rows(
    mechanism: Mechanism, q: Coordinates, t: Scalar = 0.0, parameters: Names | None = None
) -> list[ConstraintRow]:
    """The rows of all loops in the order of the mechanism."""
    placed = records(mechanism, q, (0,) * mechanism.nv, t=t, parameters=parameters)
    return [row for loop in mechanism.loops for row in _rows(mechanism, placed, loop)]


def _rows(mechanism: Mechanism, placed: Records, loop: Loop) -> list[ConstraintRow]:
    X_F, X_M = (frame_placement(placed, end) for end in (loop.first, loop.second))
    X_FM = X_F.inverse() @ X_M
    q = loop.joint.fit(X_FM)
    fit = loop.joint.placement(q)
    gap = Motion(X_FM.offset - fit.offset, rotation_vector(X_FM.rotation @ fit.rotation.T))
    drift = _velocity(placed, loop.second, X_M) - _velocity(placed, loop.first, X_M)
    columns = _columns(mechanism, placed, loop, X_M)
    found = []
    for _, direction in loop.joint.rows(q):
        seen = X_F.rotation @ direction.linear, X_F.rotation @ direction.angular
        J = tuple(0 if v is None else v.linear @ seen[0] + v.angular @ seen[1] for v in columns)
        found.append(ConstraintRow(gap @ direction, drift.linear @ seen[0] + drift.angular @ seen[1], J))
    return found


def _columns(mechanism: Mechanism, placed: Records, loop: Loop, X_M: Transform) -> list[Motion | None]:
    """How the second frame moves as seen from the first by each velocity of the tree; None where it does not."""
    columns: list[Motion | None] = [None] * mechanism.nv
    first, second, _ = mechanism.ways(loop)
    for number, sign in [(number, 1) for number in second] + [(number, -1) for number in first]:
        body, record = mechanism.bodies[number - 1], placed[number]
        if body.laws is None:
            columns[body.v] = [seen_at(X_M.offset, record, column) * sign for column in record.A.columns]
    return columns


def _velocity(placed: Records, end: Attached, X_M: Transform) -> Motion:
    record: Record = placed[end.body]
    return seen_at(X_M.offset, record, record.v)
