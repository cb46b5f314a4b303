"""Many samples of a motion at once: what `Configuration` tells of one, and energy, as arrays over time.

Closure errors and velocities of the rows are in the order of `row_names` (assembly/configuration.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from momentree.assembly.configuration import Array
from momentree.equations.balance import Energy, energy_of
from momentree.equations.contact import press
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_reactions import joint_reactions
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.constraints import _opening, _second_in_first, joints_of_loops
from momentree.equations.sweeps import Record, Records
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.values import TIME
from momentree.spatial import ZERO, Rotation, Scalar
from momentree.structure.mechanism import Attached, Constraint, Contact, Loop, Mechanism, TreeBody


class Samples:
    """A mechanism at k moments: q (k, nq), v (k, nv), t (k); `parameters` of laws, where it is in batches itself."""

    def __init__(
        self, mechanism: Mechanism, q: Array, v: Array, t: Array, parameters: Mapping[Reference, Scalar] | None = None
    ):
        self.mechanism, self.t, self.parameters = mechanism, t, parameters
        self.q, self.v = np.ascontiguousarray(q.T), np.ascontiguousarray(v.T)

    @cached_property
    def bodies(self) -> Records:
        """The ground and the bodies, placed and moving; each number of theirs is a batch."""
        return records(Evaluation(self.mechanism, self.q, self.t, self.parameters), self.v)

    @cached_property
    def joints(self) -> list[ClosingJoints]:
        faced = joints_of_loops(self.mechanism, self.bodies)[1:] if self.mechanism.loops else []
        return [ClosingJoints(self, *each) for each in zip(self.mechanism.loops, faced, strict=True)]

    def energy(self) -> Energy:
        """Kinetic and potential (J)."""
        found = energy_of(self.mechanism, self.bodies)
        return Energy(*(self.column(part) for part in found))

    def reactions(self, joint: str) -> Array:
        """k x 6: force (N) and moment (N m) of a joint (equations/joint_reactions.py)."""
        return self.table(joint_reactions(Evaluation(self.mechanism, self.q, self.t), self.v)[joint])

    def contact_force(self, contact: Contact) -> Array:
        """k x 3: the force on the first body of a contact (N), in inertial axes."""
        R = frame_placement(self.bodies, contact.against).rotation
        return self.table(R @ press(contact, self.bodies).force)

    def closure_errors(self) -> Array:
        """k x rows: what is open in each loop and holonomic constraint (m, rad)."""
        found = [row for joint in self.joints for row in joint.along_rows(joint.closure_error())]
        found += [self._value(c.expression) for c in self.mechanism.constraints if c.holonomic]
        return self.table(found)

    def constraint_velocities(self) -> Array:
        """k x rows: the velocity at which each loop and constraint opens; constraints on velocities included."""
        found = [row for joint in self.joints for row in joint.along_rows(joint.velocity)]
        found += [self._rate(constraint) for constraint in self.mechanism.constraints]
        return self.table(found)

    def openings(self) -> Array:
        """k x 4: the largest closure error that is a length (m), the largest other one, and the largest velocity of each."""
        joints = [loop.joint_type for loop in self.mechanism.loops]
        loops = [row.direction.linear != ZERO for joint in joints for row in joint.constraint_rows(joint.reference())]
        found = []
        for rows in (self.closure_errors(), self.constraint_velocities()):
            slides = np.array(loops + [False] * (rows.shape[1] - len(loops)), dtype=bool)
            found += [np.abs(rows[:, kind]).max(axis=1, initial=0.0) for kind in (slides, ~slides)]
        return np.stack(found, axis=-1)

    def position(self, frame: Attached) -> Array:
        """k x 3: the origin of a frame in inertial space (m)."""
        return self.table(frame_placement(self.bodies, frame).offset)

    def coordinates_of(self, joint: str) -> Array:
        """k x coordinates of any joint: of the tree, prescribed or closing a loop."""
        place = self._place(joint)
        return self.table(self.bodies[place.number].q if isinstance(place, TreeBody) else place.q)

    def velocities_of(self, joint: str) -> Array:
        """k x velocities of any joint."""
        place = self._place(joint)
        return self.table(self.bodies[place.number].u) if isinstance(place, TreeBody) else place.velocities()

    def _place(self, joint: str) -> TreeBody | ClosingJoints:
        place = self.mechanism.by_joint[joint]
        return place if isinstance(place, TreeBody) else self.joints[self.mechanism.loop_numbers[joint]]

    # --- constraints ---

    @cached_property
    def _named(self) -> dict[Reference, Scalar]:
        """What the references in constraints stand for."""
        values: dict[Reference, Scalar] = {TIME: self.t}
        used = {r.name for constraint in self.mechanism.constraints for r in constraint.expression.references()}
        for name in used & self.mechanism.by_joint.keys():
            joint = self.mechanism.by_joint[name].joint
            assert joint is not None  # by_joint holds only loops that a joint closes
            values.update(zip(joint.coordinates, self.coordinates_of(name).T, strict=True))
            values.update(zip(joint.velocities, self.velocities_of(name).T, strict=True))
        return values

    def _value(self, expression: Expression) -> Scalar:
        return expression.evaluate(self._named)

    def _rate(self, constraint: Constraint) -> Scalar:
        """A constraint on velocities is its own velocity; one on positions changes with time and with what it names."""
        if not constraint.holonomic:
            return self._value(constraint.expression)
        rate = self._value(constraint.expression.derivative(TIME))
        for reference in constraint.expression.references():
            place = self.mechanism.by_joint.get(reference.name)
            if place is not None and place.joint is not None:
                c = place.joint
                q, u = self.coordinates_of(c.name).T, self.velocities_of(c.name).T
                slope = self._value(constraint.expression.derivative(reference))
                rate = rate + slope * c.type.coordinate_derivatives(q, u)[c.coordinates.index(reference)]
        return rate

    # --- scalars of any kind to arrays ---

    def column(self, entry: Scalar) -> Array:
        """One number at each moment."""
        return np.array(np.broadcast_to(np.asarray(entry, dtype=float), self.t.shape))

    def table(self, entries: Iterable[Scalar]) -> Array:
        """Several numbers at each moment."""
        columns = [self.column(entry) for entry in entries]
        return np.stack(columns, axis=-1) if columns else np.zeros((len(self.t), 0))


class ClosingJoints:
    """A closing joint at k moments; 6-vectors are (linear, angular) in axes of F, for the origin of M."""

    def __init__(self, samples: Samples, loop: Loop, faced: Record):
        self.samples, self.loop, self.faced = samples, loop, faced
        self.X_FM = _second_in_first(faced)
        self.q = loop.joint_type.fit(self.X_FM)  # the coordinates that fit best

    def closure_error(self) -> Array:
        """k x 6: what is left between the second frame and where the joint would put it."""
        fit = self.loop.joint_type.placement(self.q)
        turned = rotation_vectors(self._matrices(self.X_FM.rotation @ fit.rotation.T))
        return np.concatenate([self.samples.table(self.X_FM.offset - fit.offset), turned], axis=-1)

    @cached_property
    def velocity(self) -> Array:
        """k x 6: how the second frame moves as seen from the first."""
        R, v = self.loop.first.placement.rotation.T, _opening(self.faced)
        return -self.samples.table([*(R @ v.linear), *(R @ v.angular)])

    def along_rows(self, six: Array) -> list[Array]:
        """The part of 6-vectors along each row of the joint."""
        rows = [tuple(row.direction) for row in self.loop.joint_type.constraint_rows(self.q)]
        if all(isinstance(x, (int, float)) for row in rows for x in row):
            return list((six @ np.array(rows, dtype=float).reshape(-1, 6).T).T)
        return [(self.samples.table(row) * six).sum(-1) for row in rows]

    def velocities(self) -> Array:
        """k x velocities: the joint's own, from that velocity."""
        R = self.loop.joint_type.placement(self.q).rotation
        columns = self.loop.joint_type.motion_subspace(self.q).columns
        if not columns:
            return np.zeros((len(self.samples.t), 0))
        axes = np.stack([self.samples.table([*(R @ a.linear), *(R @ a.angular)]) for a in columns], axis=-1)
        known = np.isfinite(axes).all((1, 2))
        velocities = np.full((len(axes), len(columns)), np.nan)
        velocities[known] = (np.linalg.pinv(axes[known]) @ self.velocity[known, :, None])[..., 0]
        return velocities

    def _matrices(self, R: Rotation) -> Array:
        return self.samples.table(entry for row in R.rows for entry in row).reshape(-1, 3, 3)


def rotation_quaternions(R: Array) -> Array:
    """k x 4: the unit quaternions (x, y, z, w >= 0) of rotation matrices, by their largest components."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.moveaxis(R, 0, -1)
    columns = [
        [1 + xx - yy - zz, xy + yx, xz + zx, zy - yz],
        [xy + yx, 1 - xx + yy - zz, yz + zy, xz - zx],
        [xz + zx, yz + zy, 1 - xx - yy + zz, yx - xy],
        [zy - yz, xz - zx, yx - xy, 1 + xx + yy + zz],
    ]
    K = np.moveaxis(np.array(columns), -1, 0)  # 4 q q'
    largest = np.diagonal(K, axis1=1, axis2=2).argmax(axis=1)
    q = K[np.arange(len(K)), largest]
    q = np.where(q[:, 3:] >= 0, q, -q)
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def rotation_vectors(R: Array) -> Array:
    """k x 3: axis times angle (0..pi) of rotation matrices."""
    q = rotation_quaternions(R)
    half_sine = np.linalg.norm(q[:, :3], axis=1)
    angle = 2 * np.arctan2(half_sine, q[:, 3])
    scale = np.divide(angle, half_sine, out=np.full(len(q), 2.0), where=half_sine > 0)
    return np.asarray(q[:, :3] * scale[:, None])


def in_batches(count: int, size: int = 4096) -> list[slice]:
    """Parts of a long run: always cut at the same places, so that what is computed of them is always the same."""
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]
