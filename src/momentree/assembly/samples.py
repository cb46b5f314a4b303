"""Many samples of a motion at once: the quantities of `Configuration`, and energy, as arrays over time.

Closure errors and constraint velocities are in the order of `constraint_names` (assembly/configuration.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from momentree.assembly.configuration import Array, rows_of
from momentree.assembly.similar_loops import SimilarLoops, similar_loops
from momentree.equations.balance import Energy, energy_of
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import ends_of
from momentree.equations.joint_reactions import joint_reactions
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.constraint_jacobian import (
    ExpressionClosure,
    LoopClosure,
    expression_closures,
    loop_closures,
)
from momentree.equations.sweeps import Records
from momentree.model.expressions.expression import Reference
from momentree.spatial import ZERO, Scalar
from momentree.structure.contact import Contact
from momentree.structure.mechanism import Attached, Mechanism, TreeBody


class Samples:
    """A mechanism at k moments: q (k, nq), v (k, nv), t (k); `parameters` of laws, where it is in batches itself."""

    def __init__(
        self, mechanism: Mechanism, q: Array, v: Array, t: Array, parameters: Mapping[Reference, Scalar] | None = None
    ):
        self.mechanism, self.t, self.parameters = mechanism, t, parameters
        self.q, self.v = np.ascontiguousarray(q.T), np.ascontiguousarray(v.T)
        for kept in (self.q, self.v):  # on which all results depend that are computed once
            kept.flags.writeable = False

    @cached_property
    def bodies(self) -> Records:
        """The ground and the bodies, placed and moving; each number of theirs is a batch."""
        return records(Evaluation(self.mechanism, self.q, self.t, self.parameters), self.v)

    @cached_property
    def joints(self) -> list[ClosingJointSamples]:
        """The joints that close loops."""
        return [ClosingJointSamples(self, closure) for closure in loop_closures(self.mechanism, self.bodies)]

    def energy(self) -> Energy:
        """Kinetic and potential (J)."""
        return Energy(*(self.column(part) for part in energy_of(self.mechanism, self.bodies)))

    def reactions(self, joint: str) -> Array:
        """k x 6: force (N) and moment (N m) of a joint (equations/joint_reactions.py)."""
        return self.table(joint_reactions(Evaluation(self.mechanism, self.q, self.t), self.v)[joint])

    def contact_force(self, contact: Contact) -> Array:
        """k x 3: the force on the first body of a contact (N), in inertial axes."""
        return self.table(contact.force(ends_of(contact, self.bodies)))

    @cached_property
    def expressions(self) -> list[ExpressionClosure]:
        """The expression constraints."""
        return expression_closures(self.mechanism, self.bodies) if self.mechanism.constraints else []

    def closure_errors(self) -> Array:
        """k x rows: the closure error of each constraint on positions, of loops and of the model (m, rad)."""
        errors = self._of_loops(lambda joint: joint.closure_errors())
        errors += [c.error for c in self.expressions if c.holonomic]
        return self.table(errors)

    def constraint_velocities(self) -> Array:
        """k x rows: the velocity of each constraint, those on velocities included."""
        velocities = self._of_loops(lambda joint: joint.row_velocities())
        velocities += [c.velocity for c in self.expressions]
        return self.table(velocities)

    def _of_loops(self, measure: Callable[[ClosingJointSamples], list[Any]]) -> list[Any]:
        """A measure of each constraint of all loops; similar loops are measured at once."""
        if not self._similar:
            return [value for joint in self.joints for value in measure(joint)]
        by_loop: list[Any] = [()] * len(self.mechanism.loops)
        for of, stacked in self._similar:
            (joint,) = stacked.joints
            columns = [np.broadcast_to(x, stacked.t.shape).reshape(len(of.loops), -1) for x in measure(joint)]
            for i, loop in enumerate(of.loops):
                by_loop[loop] = [column[i] for column in columns]
        return [value for values in by_loop for value in values]

    @cached_property
    def _similar(self) -> list[tuple[SimilarLoops, Samples]]:
        """Similar loops, and all of each kind as one."""
        found = []
        for of in similar_loops(self.mechanism) if self.parameters is None else ():
            parts = (numbers[:, indices.T] for numbers, indices in ((self.q.T, of.q), (self.v.T, of.v)))
            q, v = (part.transpose(2, 0, 1).reshape(len(of.loops) * len(self.t), -1) for part in parts)
            stacked = of.stacked(self.mechanism, len(self.t))
            found.append((of, Samples(stacked, q, v, np.tile(self.t, len(of.loops)))))
        return found

    def openings(self) -> Array:
        """k x 4: the largest closure error that is a length (m), the largest other one, and the velocities likewise."""
        largest, loops = [], self.mechanism.loops
        for rows, on_velocities in ((self.closure_errors(), False), (self.constraint_velocities(), True)):
            lengths = [row.direction.linear != ZERO for loop in loops for row in rows_of(loop, on_velocities)]
            are_lengths = np.array(lengths + [False] * (rows.shape[1] - len(lengths)), dtype=bool)
            largest += [np.abs(rows[:, which]).max(axis=1, initial=0.0) for which in (are_lengths, ~are_lengths)]
        return np.stack(largest, axis=-1)

    def position(self, frame: Attached) -> Array:
        """k x 3: the origin of a frame in inertial space (m)."""
        return self.table(frame_placement(self.bodies, frame).offset)

    def coordinates_of(self, joint: str) -> Array:
        """k x coordinates of any joint: of the tree, prescribed or closing a loop."""
        of = self._body_or_closing_joint(joint)
        return self.table(self.bodies[of.number].q if isinstance(of, TreeBody) else of.q)

    def velocities_of(self, joint: str) -> Array:
        """k x velocities of any joint."""
        of = self._body_or_closing_joint(joint)
        return self.table(self.bodies[of.number].u) if isinstance(of, TreeBody) else of.velocities()

    def _body_or_closing_joint(self, joint: str) -> TreeBody | ClosingJointSamples:
        """The body that a joint precedes, or the joint as it closes a loop."""
        of = self.mechanism.by_joint[joint]
        return of if isinstance(of, TreeBody) else self.joints[self.mechanism.loop_numbers[joint]]

    # --- scalars of any kind to arrays ---

    def column(self, entry: Scalar) -> Array:
        """One number at each moment."""
        return np.array(np.broadcast_to(np.asarray(entry, dtype=float), self.t.shape))

    def table(self, entries: Iterable[Scalar]) -> Array:
        """Several numbers at each moment."""
        columns = list(entries)
        table = np.empty((*self.t.shape, len(columns)))
        for i, entry in enumerate(columns):
            table[..., i] = entry
        return table


class ClosingJointSamples:
    """A closing joint at k moments; 6-vectors are (linear, angular) in axes of F, for the origin of M."""

    def __init__(self, samples: Samples, closure: LoopClosure):
        self.samples, self.closure, self.q = samples, closure, closure.q

    def closure_error(self) -> Array:
        """k x 6: the placement of the second frame less the nearest one that the joint allows."""
        return self.samples.table(self.closure.error_vector)

    def closure_errors(self) -> list[Any]:
        """The closure error of each constraint on positions."""
        if not self.closure.pair:
            return self.along_rows(self.closure_error())
        return [error for error, row in zip(self.closure.errors, self.closure.rows, strict=True) if row.holonomic]

    def row_velocities(self) -> list[Any]:
        """The velocity of each constraint."""
        return self.closure.velocities if self.closure.pair else self.along_rows(self.velocity)

    @cached_property
    def velocity(self) -> Array:
        """k x 6: the twist of the second frame relative to the first."""
        return self.samples.table(self.closure.twist)

    def along_rows(self, six: Array) -> list[Array]:
        """The part of 6-vectors along each constraint of the joint."""
        rows = [tuple(row.direction) for row in self.closure.rows]
        if all(isinstance(x, (int, float)) for row in rows for x in row):
            return list((six @ np.array(rows, dtype=float).reshape(-1, 6).T).T)
        return [(self.samples.table(row) * six).sum(-1) for row in rows]

    def velocities(self) -> Array:
        """k x velocities: the joint's own, from that twist."""
        columns = self.closure.motion_subspace
        if not columns:
            return np.zeros((len(self.samples.t), 0))
        axes = np.stack([self.samples.table(axis) for axis in columns], axis=-1)
        finite = np.isfinite(axes).all((1, 2))
        velocities = np.full((len(axes), len(columns)), np.nan)
        velocities[finite] = (np.linalg.pinv(axes[finite]) @ self.velocity[finite, :, None])[..., 0]
        return velocities


def in_batches(count: int, size: int = 4096) -> list[slice]:
    """Parts of a long run: always cut at the same places, so that results never depend on how it is read."""
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]
