"""The constraint Jacobian J of loops on any scalar, row by row, with closure errors and velocities.

Rows are all constraints of the closing joints, in the axes of their first frames (`Loop.rows`), also those that the
elimination leaves out because the loop moves in a plane.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.closing_joint import relative_placement, relative_velocity
from momentree.equations.loops.records import closing_joints
from momentree.equations.loops.residual import Residual, residual
from momentree.equations.sweeps import Record, Records
from momentree.model.joint_type import ConstraintRow
from momentree.spatial import Motion, Rotation, Scalar, Transform, Vector
from momentree.spatial.scalar import sqrt
from momentree.structure.mechanism import Loop, Mechanism


class LoopClosure:
    """A loop at one configuration; 6-vectors are (linear, angular) in axes of F, for the origin of M.

    Positions count from where the paths to the two bodies leave the ground: exact far from the origin, too.
    """

    def __init__(self, mechanism: Mechanism, bodies: Records, loop: Loop, record: Record):
        self.mechanism, self.bodies, self.loop, self.record = mechanism, bodies, loop, record
        self.X_FM = relative_placement(record)
        self.q = loop.joint_type.fit(self.X_FM)  # the nearest coordinates

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Its constraints; one across crossed axes depends on the coordinates."""
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
    return [LoopClosure(mechanism, bodies, *each) for each in zip(mechanism.loops, placed, strict=True)]


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
    """The constraints of all loops in the order of the mechanism."""
    bodies = records(at, (0,) * at.mechanism.nv)
    return [row for closure in loop_closures(at.mechanism, bodies) for row in _rows(closure)]


def _rows(closure: LoopClosure) -> list[RowValues]:
    offsets = [closure.bodies[number].X.joint.offset for number in closure.around]
    slid = sum(sqrt(offset @ offset) for offset in offsets)
    twists, rows = closure.twists, []
    for _, direction in closure.rows:
        J: list[Scalar] = [0] * closure.mechanism.nv
        for index, twist in zip(closure.velocity_indices, twists, strict=True):
            J[index] = sum(a * b for a, b in zip(twist, direction, strict=True))
        error, drift = (_along(six, tuple(direction)) for six in (closure.error_vector, closure.twist))
        rows.append(RowValues(error, drift, slid, tuple(J)))
    return rows


def _along(six: Motion, direction: tuple[Scalar, ...]) -> Scalar:
    return sum(a * b for a, b in zip(six, direction, strict=True))


def _twist(record: Record, column: Motion, lever: Vector, R: Rotation, sign: int) -> tuple[Scalar, ...]:
    """A column of a joint's motion subspace as a twist at a point, in other axes."""
    w = record.X_0.rotation @ column.angular
    v = R @ (record.X_0.rotation @ column.linear + w.cross(lever))
    w = R @ w
    return (*v, *w) if sign > 0 else (*(-v), *(-w))
