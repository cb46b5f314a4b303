"""The constraint Jacobian J on any scalar, row by row, with closure errors and velocities.

Rows are all constraints of the closing joints, in the axes of their first frames (`Loop.rows`), also those that the
elimination leaves out because the loop moves in a plane; and the expression constraints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_columns, frame_placement, records
from momentree.equations.loops.closing_joint import relative_placement, relative_velocity
from momentree.equations.loops.constraint_rows import find_constraint_velocities
from momentree.equations.loops.expression_constraints import share_velocities
from momentree.equations.loops.higher_pair_rows import check_direction, pair_names
from momentree.equations.loops.records import closing_joints, expression_records
from momentree.equations.loops.residual import Residual, measure_closure_error, residual
from momentree.equations.sweeps import Record, Records
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import ConstraintRow
from momentree.spatial import Force, Motion, Rotation, Scalar, Transform, Vector
from momentree.spatial.scalar import sqrt
from momentree.structure.constraint_formulas import FrozenFormula
from momentree.structure.mechanism import Attached, Loop, Mechanism


class LoopClosure:
    """A loop at one configuration; 6-vectors are (linear, angular) in axes of F, for the origin of M.

    Positions count from where the paths to the two bodies leave the ground: exact far from the origin, too.
    """

    def __init__(self, mechanism: Mechanism, bodies: Records, loop: Loop, record: Record):
        self.mechanism, self.bodies, self.loop, self.record = mechanism, bodies, loop, record
        self.X_FM = relative_placement(record)
        self.pair = loop.joint_type if isinstance(loop.joint_type, HigherPair) else None
        self.q = () if self.pair else loop.joint_type.fit(self.X_FM)  # the nearest coordinates

    @cached_property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Its constraints; those of a higher pair depend on the placement, one across crossed axes on coordinates."""
        if self.pair:
            return self.pair.named(self.pair.rows(self.X_FM, pair_names(self.record)))
        crossed = self.loop.joint_type.crossed_axes is not None
        return self.loop.joint_type.constraint_rows(self.q) if crossed else self.loop.rows

    @cached_property
    def nearest(self) -> Transform:
        """The allowed placement X_FM at its coordinates."""
        return self.loop.joint_type.placement(self.q)

    @property
    def residual(self) -> Residual:
        """The placement of M less the nearest one that the joint allows."""
        return residual(self.X_FM, self.nearest)

    @property
    def error_vector(self) -> Motion:
        """The residual as offset and rotation vector."""
        return Motion(self.residual.offset, self.residual.rotation_vector)

    @property
    def errors(self) -> list[Scalar]:
        """The closure error of each row, zero where it constrains velocities only."""
        if self.pair:
            return list(self.pair.errors(self.X_FM, pair_names(self.record)))
        six = self.error_vector
        return [_along(six, tuple(row.direction)) for row in self.rows]

    @property
    def velocities(self) -> list[Scalar]:
        """The velocity of each row."""
        six = self.twist
        drifts = self.pair.drifts(self.X_FM, pair_names(self.record)) if self.pair else (0,) * len(self.rows)
        return [_along(six, tuple(row.direction)) + drift for row, drift in zip(self.rows, drifts, strict=True)]

    @property
    def twist(self) -> Motion:
        """The twist of the second frame relative to the first."""
        R, v = self.loop.first.placement.rotation.T, relative_velocity(self.record)
        return Motion(-(R @ v.linear), -(R @ v.angular))

    @property
    def motion_subspace(self) -> list[Motion]:
        """The twists that the joint allows, by columns."""
        R, columns = self.nearest.rotation, self.loop.joint_type.motion_subspace(self.q).columns
        return [Motion(R @ axis.linear, R @ axis.angular) for axis in columns]

    @cached_property
    def around(self) -> list[int]:
        """The bodies around the loop, whose joints move it."""
        first, second, _ = self.mechanism.paths(self.loop)
        return [*second, *first]

    @cached_property
    def velocity_indices(self) -> list[int]:
        """The velocities of the joints around the loop: the only ones that move it."""
        slices = [self.mechanism.bodies[number - 1].v for number, _ in self._signed]
        return [i for v in slices for i in range(v.start, v.stop)]

    @property
    def twists(self) -> list[tuple[Scalar, ...]]:
        """The twist of the second frame relative to the first by each of these velocities."""
        first, second = self.record.body0, self.record.body1
        O_2 = second.r + second.X_0.rotation @ self.loop.second.placement.offset
        O_1 = first.r + first.X_0.rotation @ self.record.origin
        R = frame_placement(self.bodies, self.loop.first).rotation.T
        twists = []
        for number, sign in self._signed:
            record = self.bodies[number]
            lever = (O_2 if sign > 0 else O_1) - record.r
            twists += [_twist(record, column, lever, R, sign) for column in record.A.columns]
        return twists

    @cached_property
    def _signed(self) -> list[tuple[int, int]]:
        """The bodies around the loop whose joints are free, those towards the first end with the sign -1."""
        first, second, _ = self.mechanism.paths(self.loop)
        signed = [(number, 1) for number in second] + [(number, -1) for number in first]
        return [(number, sign) for number, sign in signed if self.mechanism.bodies[number - 1].laws is None]


def loop_closures(mechanism: Mechanism, bodies: Records) -> list[LoopClosure]:
    """The closures of all loops, where the bodies are."""
    if not mechanism.loops:
        return []
    placed = closing_joints(mechanism, bodies)[1:]
    return [LoopClosure(mechanism, bodies, *each) for each in zip(mechanism.loops, placed, strict=False)]


class ExpressionClosure:
    """An expression constraint at one configuration."""

    def __init__(self, mechanism: Mechanism, bodies: Records, of: FrozenFormula, record: Record):
        self.mechanism, self.bodies, self.of, self.record = mechanism, bodies, of, record

    @property
    def holonomic(self) -> bool:
        return self.of.formula.holonomic

    @property
    def error(self) -> Scalar:
        """The closure error, zero where it constrains velocities only."""
        return measure_closure_error(self.record)["closure_error"][0]

    @property
    def velocity(self) -> Scalar:
        """Its velocity, where bodies move."""
        for number in self.of.bodies:
            self.bodies[number].give(share_velocities(self.bodies[number]), share_velocities)
        return find_constraint_velocities(self.record)["constraint_velocity"][0]

    @property
    def entries(self) -> dict[int, Scalar]:
        """Its row of the constraint Jacobian: entries by the number of the velocity, of those that it depends on."""
        entries: dict[int, Scalar] = {}
        for end, number in enumerate(self.of.bodies):
            body = self.mechanism.bodies[number - 1]
            if body.laws is None:
                for i, slope in enumerate(self._field("rows_along", end), body.v.start):
                    entries[i] = entries.get(i, 0) + slope
        for end, number in enumerate(self.of.ends[len(self.of.bodies) :], len(self.of.bodies)):
            row, X_0 = self._field("rows_on", end), self.bodies[number].X_0
            force = Force(X_0.rotation @ row.linear, X_0.rotation @ row.angular)
            for i, v in frame_columns(self.mechanism, self.bodies, Attached(number, Transform())):
                entries[i] = entries.get(i, 0) + v @ force
        return entries

    def _field(self, name: str, end: int) -> Any:
        return getattr(self.record, f"{name}{end}")[0]


def expression_closures(mechanism: Mechanism, bodies: Records) -> list[ExpressionClosure]:
    """The closures of all expression constraints, where the bodies are."""
    if not mechanism.constraints:
        return []
    placed = expression_records(mechanism, bodies)[1:]
    both = zip(mechanism.constraint_formulas, placed, strict=True)
    return [ExpressionClosure(mechanism, bodies, of, record) for of, record in both]


def typical_norms(mechanism: Mechanism) -> list[float]:
    """Of each expression constraint, how large its row is at ordinary coordinates: slides by the size of the mechanism.

    In floats: a mechanism without free parameters. Where it has no value there, 1.
    """
    if not mechanism.constraints:
        return []
    q, columns = list[Scalar](), list[float]()
    for body in mechanism.bodies:
        if body.laws is None:
            joint = body.joint.type
            sizes = [mechanism.size if unit == "m" else 1.0 for unit in joint.velocity_units]
            q += joint.integrate(joint.reference(), [0.7 * size for size in sizes])
            columns += sizes
    closures = expression_closures(mechanism, records(Evaluation(mechanism, q, 0.7)))
    return [_finite_norm(closure, columns) for closure in closures]


def _finite_norm(closure: ExpressionClosure, columns: list[float]) -> float:
    norm = math.sqrt(sum(float(x * columns[i]) ** 2 for i, x in closure.entries.items()))
    return norm if 0 < norm < math.inf else 1.0


class RowValues(NamedTuple):
    """One scalar constraint of a loop.

    | field | meaning                                                        |
    |-------|----------------------------------------------------------------|
    | error | closure error (m or rad)                                       |
    | drift | velocity that prescribed joints and the ground alone cause     |
    | slid  | lengths of the slides around the loop, at this configuration   |
    | J     | row of the constraint Jacobian, one entry for each velocity    |
    """

    error: Scalar
    drift: Scalar
    slid: Scalar
    J: tuple[Scalar, ...]


def constraint_rows(at: Evaluation) -> list[RowValues]:
    """The constraints of all loops on positions, in the order of the mechanism."""
    bodies = records(at, (0,) * at.mechanism.nv)
    return [row for closure in loop_closures(at.mechanism, bodies) for row in _rows(closure)]


class VelocityRow(NamedTuple):
    """The velocity J u + drift of one scalar constraint, on positions or on velocities."""

    J: tuple[Scalar, ...]
    drift: Scalar


def velocity_rows(at: Evaluation) -> list[VelocityRow]:
    """All constraints of loops, then the expression constraints, in the order of `Loop.rows` and of the model."""
    mechanism = at.mechanism
    bodies = records(at, (0,) * mechanism.nv)
    rows = []
    for closure in loop_closures(mechanism, bodies):
        check_direction(closure.loop, [row.direction for row in closure.rows])
        twists, velocities = closure.twists, closure.velocities
        for row, drift in zip(closure.rows, velocities, strict=True):
            rows.append(VelocityRow(_entries(closure, row, twists), drift))
    for constraint in expression_closures(mechanism, bodies):
        drift, entries = constraint.velocity, constraint.entries
        rows.append(VelocityRow(tuple(entries.get(i, 0) for i in range(mechanism.nv)), drift))
    return rows


def _entries(closure: LoopClosure, row: ConstraintRow, twists: list[tuple[Scalar, ...]]) -> tuple[Scalar, ...]:
    """A row of the constraint Jacobian."""
    J: list[Scalar] = [0] * closure.mechanism.nv
    for index, twist in zip(closure.velocity_indices, twists, strict=True):
        J[index] = _along(twist, tuple(row.direction))
    return tuple(J)


def _rows(closure: LoopClosure) -> list[RowValues]:
    offsets = [closure.bodies[number].X.joint.offset for number in closure.around]
    slid = sum(sqrt(offset @ offset) for offset in offsets)
    twists, rows = closure.twists, []
    for row, error, drift in zip(closure.rows, closure.errors, closure.velocities, strict=True):
        if not row.holonomic:
            continue
        rows.append(RowValues(error, drift, slid, _entries(closure, row, twists)))
    return rows


def _along(six: Iterable[Scalar], direction: tuple[Scalar, ...]) -> Scalar:
    return sum(a * b for a, b in zip(six, direction, strict=True))


def _twist(record: Record, column: Motion, lever: Vector, R: Rotation, sign: int) -> tuple[Scalar, ...]:
    """A column of a joint's motion subspace as a twist at a point, in other axes."""
    w = record.X_0.rotation @ column.angular
    v = R @ (record.X_0.rotation @ column.linear + w.cross(lever))
    w = R @ w
    return (*v, *w) if sign > 0 else (*(-v), *(-w))
