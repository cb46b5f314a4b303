"""What closes a mechanism: the rows of its loops and constraints, with their closure errors, velocities and Jacobian, on floats.

Row order: the loops in the order of the mechanism, the rows of each joint in its own order, then the constraints.
Translation closure errors are in m, rotation closure errors in rad, in the axes of the first frame of the closing joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.constraints import _opening, _second_in_first, joints_of_loops
from momentree.equations.sweeps import Record, Records
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.joint_type import ConstraintRow
from momentree.model.values import TIME
from momentree.spatial import Motion, Rotation, Transform, Vector
from momentree.spatial.rotation import rotation_vector
from momentree.structure.mechanism import Constraint, Loop, Mechanism, TreeBody

Array = NDArray[np.float64]
Places = NDArray[np.intp]
Block = tuple[Places, Array]  # columns, and rows there


def constraint_names(mechanism: Mechanism, on_velocities: bool = False) -> list[str]:
    """ "C: translation along y", and the names of the constraints; those on velocities only if asked for."""
    rows = [(loop.name, row.name) for loop in mechanism.loops for row in loop.rows]
    return [f"{loop}: {row}" for loop, row in rows] + [
        c.name for c in mechanism.constraints if c.holonomic or on_velocities
    ]


class Configuration:
    """A mechanism at coordinates q, velocities u and time t, as its closure sees it."""

    def __init__(
        self,
        mechanism: Mechanism,
        q: Array,
        u: Array | None = None,
        t: float = 0.0,
        parameters: Mapping[Reference, Any] | None = None,
    ):
        self.mechanism, self.q, self.u, self.t, self.parameters = mechanism, q, u, t, parameters

    @cached_property
    def bodies(self) -> Records:
        """The ground and the bodies, placed and, where velocities are given, moving."""
        return records(Evaluation(self.mechanism, self.q, self.t, self.parameters), self.u)

    @cached_property
    def moving(self) -> Configuration:
        """The same with bodies that move: at rest, but for what is prescribed, where no velocities are given."""
        if self.u is not None:
            return self
        return Configuration(self.mechanism, self.q, np.zeros(self.mechanism.nv), self.t, self.parameters)

    @cached_property
    def joints(self) -> list[ClosingJoint]:
        faced = joints_of_loops(self.mechanism, self.bodies)[1:] if self.mechanism.loops else []
        return [ClosingJoint(self, *each) for each in zip(self.mechanism.loops, faced, strict=True)]

    def closure_errors(self) -> Array:
        """The closure error of each row on positions; zero when everything is closed."""
        found = [joint.directions @ joint.closure_error() for joint in self.joints]
        found += [np.array([self._value(c.expression)]) for c in self.mechanism.constraints if c.holonomic]
        return np.concatenate([np.zeros(0), *found])

    def constraint_velocities(self) -> Array:
        """The velocity of each row, constraints on velocities included: J u and the part that prescribed motion causes."""
        found = [joint.directions @ joint.velocity() for joint in self.moving.joints]
        found += [np.array([self.moving._rate(constraint)]) for constraint in self.mechanism.constraints]
        return np.concatenate([np.zeros(0), *found])

    def jacobian(self, on_velocities: bool = False) -> Array:
        """J: rows by velocities of the tree; the velocities of the rows are J u where nothing is prescribed."""
        blocks = list(self.blocks(on_velocities))
        J = np.zeros((sum(len(block) for _, block in blocks), self.mechanism.nv))
        start = 0
        for columns, block in blocks:
            J[start : start + len(block), columns] = block
            start += len(block)
        return J

    def blocks(self, on_velocities: bool = False) -> Iterator[Block]:
        """J in parts: for each loop and constraint, the columns (velocities) that it depends on and its rows there."""
        for joint in self.joints:
            yield joint.columns, joint.directions @ joint.block
        for constraint in self.mechanism.constraints:
            if constraint.holonomic or on_velocities:
                yield np.arange(self.mechanism.nv, dtype=np.intp), self._slopes(constraint)[None]

    # --- what expressions call by name ------------------------------------------------------------------------------

    def coordinates_of(self, joint: str) -> tuple[float, ...]:
        """The coordinates of any joint: of the tree, prescribed or closing a loop."""
        place = self._place(joint)
        return tuple(self.bodies[place.number].q if isinstance(place, TreeBody) else place.q)

    def velocities_of(self, joint: str) -> tuple[float, ...]:
        place = self.moving._place(joint)
        return tuple(self.moving.bodies[place.number].u if isinstance(place, TreeBody) else place.velocities())

    def velocity_slopes(self, joint: str) -> Array:
        """How the velocities of any joint depend on the velocities of the tree: one row for each."""
        place = self._place(joint)
        if isinstance(place, ClosingJoint):
            return np.linalg.pinv(place.axes) @ place.jacobian
        slopes = np.zeros((len(place.joint.velocities), self.mechanism.nv))
        if place.laws is None:
            slopes[:, place.v] = np.eye(len(slopes))
        return slopes

    def coordinate_slopes(self, joint: str) -> Array:
        """How the coordinates of any joint change with the velocities of the tree: one row for each."""
        return self._coordinate_map(joint) @ self.velocity_slopes(joint)

    def _coordinate_map(self, joint: str) -> Array:
        place = self._place(joint)
        kind = (place if isinstance(place, TreeBody) else place.loop).joint.type  # type: ignore[union-attr]
        q, n = self.coordinates_of(joint), len(kind.velocities)
        unit = np.eye(n)
        return np.array([kind.coordinate_derivatives(q, unit[i]) for i in range(n)], dtype=float).T

    def _place(self, joint: str) -> TreeBody | ClosingJoint:
        place = self.mechanism.by_joint[joint]
        return place if isinstance(place, TreeBody) else self.joints[self.mechanism.loop_numbers[joint]]

    @cached_property
    def _named(self) -> dict[Reference, float]:
        """What the references in constraints stand for at this configuration."""
        values: dict[Reference, float] = {TIME: self.t}
        used = {r.name for constraint in self.mechanism.constraints for r in constraint.expression.references()}
        for joint in used & self.mechanism.by_joint.keys():
            place = self.mechanism.by_joint[joint]
            c = place.joint
            assert c is not None  # by_joint holds only loops that a joint closes
            values.update(zip(c.coordinates, self.coordinates_of(joint), strict=True))
            values.update(zip(c.velocities, self.velocities_of(joint), strict=True))
        return values

    def _value(self, expression: Expression) -> float:
        return float(expression.evaluate(self._named))

    def _rate(self, constraint: Constraint) -> float:
        if not constraint.holonomic:
            return self._value(constraint.expression)
        rate = self._value(constraint.expression.derivative(TIME))
        for joint, i, slope in self._partials(constraint):
            rate += slope * (self._coordinate_map(joint) @ np.array(self.velocities_of(joint)))[i]
        return rate

    def _slopes(self, constraint: Constraint) -> Array:
        slopes_of = self.coordinate_slopes if constraint.holonomic else self.velocity_slopes
        total = np.zeros(self.mechanism.nv)
        for joint, i, slope in self._partials(constraint):
            total += slope * slopes_of(joint)[i]
        return total

    def _partials(self, constraint: Constraint) -> Iterator[tuple[str, int, float]]:
        """The derivative of a constraint by each coordinate (velocity) that it names: joint, place in it, slope."""
        for reference in constraint.expression.references():
            place = self.mechanism.by_joint.get(reference.name)
            if place is None or place.joint is None:
                continue
            names = place.joint.coordinates if constraint.holonomic else place.joint.velocities
            if reference in names:
                yield reference.name, names.index(reference), self._value(constraint.expression.derivative(reference))


class ClosingJoint:
    """A closing joint at one configuration; 6-vectors are (linear, angular) in axes of F, for the origin of M.

    Positions are told from where the paths to the two bodies leave the ground: exact far from the origin, too.
    """

    def __init__(self, configuration: Configuration, loop: Loop, faced: Record):
        self.configuration, self.loop, self.faced = configuration, loop, faced
        self.X_FM = _second_in_first(faced)
        self.q = loop.joint_type.fit(self.X_FM)  # the coordinates that fit best

    @cached_property
    def X_F(self) -> Transform:
        """Where the first frame stands in inertial space."""
        return frame_placement(self.configuration.bodies, self.loop.first)

    @cached_property
    def rows(self) -> tuple[ConstraintRow, ...]:
        return (
            self.loop.joint_type.constraint_rows(self.q)
            if self.loop.joint_type.crossed_axes is not None
            else self.loop.rows
        )

    @cached_property
    def directions(self) -> Array:
        """The rows, as a matrix of six columns."""
        return np.array([tuple(row.direction) for row in self.rows], dtype=float).reshape(-1, 6)

    @cached_property
    def axes(self) -> Array:
        """The motions that the joint does let pass, as columns."""
        R = self.loop.joint_type.placement(self.q).rotation
        columns = [(*(R @ a.linear), *(R @ a.angular)) for a in self.loop.joint_type.motion_subspace(self.q).columns]
        return np.array(columns, dtype=float).reshape(-1, 6).T

    def closure_error(self) -> Array:
        """What is left between the second frame and where the joint would put it."""
        return np.array([*self.left], dtype=float)

    @property
    def left(self) -> Motion:
        """The same on any scalar."""
        fit = self.loop.joint_type.placement(self.q)
        return Motion(self.X_FM.offset - fit.offset, rotation_vector(self.X_FM.rotation @ fit.rotation.T))

    def velocity(self) -> Array:
        """How the second frame moves as seen from the first."""
        return np.array([*self.opening], dtype=float)

    @property
    def opening(self) -> Motion:
        """The same on any scalar."""
        R, v = self.loop.first.placement.rotation.T, _opening(self.faced)
        return Motion(-(R @ v.linear), -(R @ v.angular))

    def velocities(self) -> Array:
        """The joint's own velocities, from that velocity."""
        velocities: Array = np.linalg.pinv(self.axes) @ self.velocity()
        return velocities

    @cached_property
    def jacobian(self) -> Array:
        """That velocity by the velocities of the tree."""
        J = np.zeros((6, self.configuration.mechanism.nv))
        J[:, self.columns] = self.block
        return J

    @cached_property
    def columns(self) -> Places:
        """The velocities of the joints on the loop: the only ones that count."""
        bodies = self.configuration.mechanism.bodies
        slices = [bodies[number - 1].v for number, _ in self._signed]
        return np.array([i for v in slices for i in range(v.start, v.stop)], dtype=np.intp)

    @cached_property
    def block(self) -> Array:
        """6 x columns: the velocity by these velocities."""
        return np.array(self.motions, dtype=float).reshape(-1, 6).T

    @property
    def motions(self) -> list[tuple[Any, ...]]:
        """The same on any scalar, six for each of the columns."""
        bodies, first, second = self.configuration.bodies, self.faced.first, self.faced.second
        O_2 = second.r + second.X_0.rotation @ self.loop.second.placement.offset
        O_1 = first.r + first.X_0.rotation @ self.faced.arm
        R = self.X_F.rotation.T
        found = []
        for number, sign in self._signed:
            record = bodies[number]
            lever = (O_2 if sign > 0 else O_1) - record.r
            found += [self._seen(record, column, lever, R, sign) for column in record.A.columns]
        return found

    @cached_property
    def path(self) -> list[int]:
        """The bodies around the loop, whose joints move it."""
        first, second, _ = self.configuration.mechanism.paths(self.loop)
        return [*second, *first]

    @cached_property
    def _signed(self) -> list[tuple[int, int]]:
        """Those whose joints move freely, the ones towards the first end with the sign -1."""
        mechanism = self.configuration.mechanism
        first, second, _ = mechanism.paths(self.loop)
        signed = [(number, 1) for number in second] + [(number, -1) for number in first]
        return [(number, sign) for number, sign in signed if mechanism.bodies[number - 1].laws is None]

    @staticmethod
    def _seen(record: Record, column: Motion, lever: Vector, R: Rotation, sign: int) -> tuple[float, ...]:
        w = record.X_0.rotation @ column.angular
        v = R @ (record.X_0.rotation @ column.linear + w.cross(lever))
        w = R @ w
        return (*v, *w) if sign > 0 else (*(-v), *(-w))
