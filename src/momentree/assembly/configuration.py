"""A mechanism at one configuration, in floats: closure errors, constraint velocities and the constraint Jacobian J.

Order of rows: the loops in the order of the mechanism, the constraints of each closing joint in its own order, then the
constraints of the model. Closure errors are in m (translation) and rad (rotation), in axes of the joint's first frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.equations.loops.constraint_jacobian import (
    ExpressionClosure,
    LoopClosure,
    expression_closures,
    loop_closures,
)
from momentree.equations.sweeps import Records
from momentree.model.expressions.expression import Reference
from momentree.model.joint_type import ConstraintRow
from momentree.structure.mechanism import Loop, Mechanism, TreeBody

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Block = tuple[Indices, Array]  # columns, and rows there


def constraint_names(mechanism: Mechanism, on_velocities: bool = False) -> list[str]:
    """ "C: translation along y", and the names of the constraints; those on velocities only if asked for."""
    of_loops = [f"{loop.name}: {row.name}" for loop in mechanism.loops for row in rows_of(loop, on_velocities)]
    return of_loops + [c.name for c in mechanism.constraints if c.holonomic or on_velocities]


def rows_of(loop: Loop, on_velocities: bool) -> tuple[ConstraintRow, ...]:
    """The constraints of a loop; those on velocities only if asked for."""
    return loop.rows if on_velocities else loop.position_rows


class Configuration:
    """A mechanism at coordinates q, velocities u and time t."""

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
        """The ground and the bodies, placed (forward kinematics) and, where velocities are given, moving."""
        return records(Evaluation(self.mechanism, self.q, self.t, self.parameters), self.u)

    @cached_property
    def moving(self) -> Configuration:
        """The same with velocities: zero, but for prescribed motion, where none are given."""
        if self.u is not None:
            return self
        return Configuration(self.mechanism, self.q, np.zeros(self.mechanism.nv), self.t, self.parameters)

    @cached_property
    def joints(self) -> list[ClosingJoint]:
        """The joints that close loops."""
        return [ClosingJoint(closure) for closure in loop_closures(self.mechanism, self.bodies)]

    @cached_property
    def expressions(self) -> list[ExpressionClosure]:
        """The expression constraints."""
        return expression_closures(self.mechanism, self.bodies)

    def closure_errors(self) -> Array:
        """The closure error of each constraint on positions; zero when everything is closed."""
        errors = [joint.closure_errors() for joint in self.joints]
        errors += [np.array([c.error], dtype=float) for c in self.expressions if c.holonomic]
        return np.concatenate([np.zeros(0), *errors])

    def constraint_velocities(self) -> Array:
        """The velocity of each constraint, those on velocities included: J u and the part of prescribed motion."""
        velocities = [np.array(joint.closure.velocities, dtype=float) for joint in self.moving.joints]
        velocities += [np.array([c.velocity], dtype=float) for c in self.moving.expressions]
        return np.concatenate([np.zeros(0), *velocities])

    def jacobian(self, on_velocities: bool = False) -> Array:
        """The constraint Jacobian J: constraints by velocities of the tree."""
        blocks = list(self.blocks(on_velocities))
        J = np.zeros((sum(len(block) for _, block in blocks), self.mechanism.nv))
        start = 0
        for columns, block in blocks:
            J[start : start + len(block), columns] = block
            start += len(block)
        return J

    def blocks(self, on_velocities: bool = False) -> Iterator[Block]:
        """J in blocks: for each loop and constraint, the columns (velocities) that it depends on and its rows there."""
        for joint in self.joints:
            yield joint.columns, joint.directions_of(on_velocities) @ joint.block
        for constraint in self.expressions:
            if constraint.holonomic or on_velocities:
                entries = constraint.entries
                yield np.array([*entries], dtype=np.intp), np.array([[*entries.values()]], dtype=float)

    # --- joints by name ---

    def coordinates_of(self, joint: str) -> tuple[float, ...]:
        """The coordinates of any joint: of the tree, prescribed or closing a loop."""
        of = self._body_or_closing_joint(joint)
        return tuple(self.bodies[of.number].q if isinstance(of, TreeBody) else of.q)

    def velocities_of(self, joint: str) -> tuple[float, ...]:
        """The velocities of any joint."""
        of = self.moving._body_or_closing_joint(joint)
        return tuple(self.moving.bodies[of.number].u if isinstance(of, TreeBody) else of.velocities())

    def velocity_slopes(self, joint: str) -> Array:
        """The derivatives of the velocities of any joint by the velocities of the tree: one row for each."""
        of = self._body_or_closing_joint(joint)
        if isinstance(of, ClosingJoint):
            return np.linalg.pinv(of.axes) @ of.jacobian
        slopes = np.zeros((len(of.joint.velocities), self.mechanism.nv))
        if of.laws is None:
            slopes[:, of.v] = np.eye(len(slopes))
        return slopes

    def coordinate_slopes(self, joint: str) -> Array:
        """The derivatives of the coordinates of any joint along the velocities of the tree: one row for each."""
        return self._coordinate_map(joint) @ self.velocity_slopes(joint)

    def _coordinate_map(self, joint: str) -> Array:
        """q' of a joint by its velocities."""
        of = self._body_or_closing_joint(joint)
        joint_type = (of if isinstance(of, TreeBody) else of.loop).joint.type  # type: ignore[union-attr]
        q, n = self.coordinates_of(joint), len(joint_type.velocities)
        unit = np.eye(n)
        return np.array([joint_type.coordinate_derivatives(q, unit[i]) for i in range(n)], dtype=float).T

    def _body_or_closing_joint(self, joint: str) -> TreeBody | ClosingJoint:
        """The body that a joint precedes, or the joint as it closes a loop."""
        of = self.mechanism.by_joint[joint]
        return of if isinstance(of, TreeBody) else self.joints[self.mechanism.loop_numbers[joint]]


class ClosingJoint:
    """A closing joint at one configuration, in floats; `LoopClosure` is the same on any scalar.

    6-vectors are (linear, angular) in axes of the joint's first frame, for the origin of its second.
    """

    def __init__(self, closure: LoopClosure):
        self.closure, self.loop, self.q = closure, closure.loop, closure.q

    @cached_property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Its constraints."""
        return self.closure.rows

    @cached_property
    def directions(self) -> Array:
        """The constraints, as a matrix of six columns."""
        return np.array([tuple(row.direction) for row in self.rows], dtype=float).reshape(-1, 6)

    @cached_property
    def axes(self) -> Array:
        """The motion subspace of the joint, as columns."""
        return np.array([(*axis,) for axis in self.closure.motion_subspace], dtype=float).reshape(-1, 6).T

    def directions_of(self, on_velocities: bool) -> Array:
        """Those on positions, or all."""
        return self.directions if on_velocities else self.directions[[row.holonomic for row in self.rows]]

    def closure_errors(self) -> Array:
        """The closure error of each constraint on positions."""
        pairs = zip(self.closure.errors, self.rows, strict=True)
        return np.array([error for error, row in pairs if row.holonomic], dtype=float)

    def closure_error(self) -> Array:
        """The placement of the second frame less the nearest one that the joint allows: offset, rotation vector."""
        return np.array([*self.closure.error_vector], dtype=float)

    def velocity(self) -> Array:
        """The twist of the second frame relative to the first."""
        return np.array([*self.closure.twist], dtype=float)

    def velocities(self) -> Array:
        """The joint's own velocities, from that twist."""
        velocities: Array = np.linalg.pinv(self.axes) @ self.velocity()
        return velocities

    @cached_property
    def jacobian(self) -> Array:
        """That twist by the velocities of the tree."""
        J = np.zeros((6, self.closure.mechanism.nv))
        J[:, self.columns] = self.block
        return J

    @cached_property
    def columns(self) -> Indices:
        """The velocities of the joints around the loop: the only ones that count."""
        return np.array(self.closure.velocity_indices, dtype=np.intp)

    @cached_property
    def block(self) -> Array:
        """6 x columns: the twist by these velocities."""
        return np.array(self.closure.twists, dtype=float).reshape(-1, 6).T

    @cached_property
    def path(self) -> list[int]:
        """The bodies around the loop, whose joints move it."""
        return self.closure.around
