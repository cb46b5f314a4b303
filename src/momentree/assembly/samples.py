"""Many samples of a motion at once: what `Configuration` tells of one, and energy, as arrays over time.

Gaps and velocities of the rows are in the order of `row_names` (assembly/configuration.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from momentree.assembly.configuration import Array
from momentree.equations.balance import Energy, energy_of
from momentree.equations.contact import press
from momentree.equations.joint_reactions import joint_reactions
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.constraints import _opening, _second_in_first, joints_of_loops
from momentree.equations.sweeps import Record, Records
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.values import TIME
from momentree.spatial import ZERO, Rotation, Scalar
from momentree.structure.mechanism import Attached, Closure, Loop, Mechanism, Touch, TreeBody


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
        return records(self.mechanism, self.q, self.v, t=self.t, parameters=self.parameters)

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
        return self.table(joint_reactions(self.mechanism, self.q, self.v, self.t)[joint])

    def contact_force(self, touch: Touch) -> Array:
        """k x 3: the force on the first body of a contact (N), in inertial axes."""
        R = frame_placement(self.bodies, touch.against).rotation
        return self.table(R @ press(touch, self.bodies).force)

    def gaps(self) -> Array:
        """k x rows: what is open in each loop and holonomic constraint (m, rad)."""
        found = [row for joint in self.joints for row in joint.along_rows(joint.gap())]
        found += [self._value(c.expression) for c in self.mechanism.closures if c.holonomic]
        return self.table(found)

    def velocities(self) -> Array:
        """k x rows: the velocity at which each loop and constraint opens; constraints on rates included."""
        found = [row for joint in self.joints for row in joint.along_rows(joint.velocity)]
        found += [self._rate(closure) for closure in self.mechanism.closures]
        return self.table(found)

    def openings(self) -> Array:
        """k x 4: the largest gap that is a length (m), the largest other one, and the largest velocity of each."""
        joints = [loop.joint for loop in self.mechanism.loops]
        loops = [row.direction.linear != ZERO for joint in joints for row in joint.rows(joint.reference())]
        found = []
        for rows in (self.gaps(), self.velocities()):
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

    def rates_of(self, joint: str) -> Array:
        """k x rates of any joint."""
        place = self._place(joint)
        return self.table(self.bodies[place.number].u) if isinstance(place, TreeBody) else place.rates()

    def _place(self, joint: str) -> TreeBody | ClosingJoints:
        place = self.mechanism.by_joint[joint]
        return place if isinstance(place, TreeBody) else self.joints[self.mechanism.loop_numbers[joint]]

    # --- constraints ---

    @cached_property
    def _named(self) -> dict[Reference, Scalar]:
        """What the references in constraints stand for."""
        values: dict[Reference, Scalar] = {TIME: self.t}
        used = {r.name for closure in self.mechanism.closures for r in closure.expression.references()}
        for joint in used & self.mechanism.by_joint.keys():
            connection = self.mechanism.by_joint[joint].connection
            assert connection is not None  # by_joint holds only loops that a joint closes
            values.update(zip(connection.coordinates, self.coordinates_of(joint).T, strict=True))
            values.update(zip(connection.rates, self.rates_of(joint).T, strict=True))
        return values

    def _value(self, expression: Expression) -> Scalar:
        return expression.evaluate(self._named)

    def _rate(self, closure: Closure) -> Scalar:
        """A constraint on rates is its own rate; one on positions changes with time and with what it names."""
        if not closure.holonomic:
            return self._value(closure.expression)
        rate = self._value(closure.expression.derivative(TIME))
        for reference in closure.expression.references():
            place = self.mechanism.by_joint.get(reference.name)
            if place is not None and place.connection is not None:
                c = place.connection
                q, u = self.coordinates_of(c.name).T, self.rates_of(c.name).T
                slope = self._value(closure.expression.derivative(reference))
                rate = rate + slope * c.joint.coordinate_rates(q, u)[c.coordinates.index(reference)]
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
        self.q = loop.joint.fit(self.X_FM)  # the coordinates that fit best

    def gap(self) -> Array:
        """k x 6: what is left between the second frame and where the joint would put it."""
        fit = self.loop.joint.placement(self.q)
        turned = rotation_vectors(self._matrices(self.X_FM.rotation @ fit.rotation.T))
        return np.concatenate([self.samples.table(self.X_FM.offset - fit.offset), turned], axis=-1)

    @cached_property
    def velocity(self) -> Array:
        """k x 6: how the second frame moves as seen from the first."""
        R, v = self.loop.first.placement.rotation.T, _opening(self.faced)
        return -self.samples.table([*(R @ v.linear), *(R @ v.angular)])

    def along_rows(self, six: Array) -> list[Array]:
        """The part of 6-vectors along each row of the joint."""
        rows = [tuple(row.direction) for row in self.loop.joint.rows(self.q)]
        if all(isinstance(x, (int, float)) for row in rows for x in row):
            return list((six @ np.array(rows, dtype=float).reshape(-1, 6).T).T)
        return [(self.samples.table(row) * six).sum(-1) for row in rows]

    def rates(self) -> Array:
        """k x rates: the joint's own, from that velocity."""
        R = self.loop.joint.placement(self.q).rotation
        columns = self.loop.joint.axes(self.q).columns
        if not columns:
            return np.zeros((len(self.samples.t), 0))
        axes = np.stack([self.samples.table([*(R @ a.linear), *(R @ a.angular)]) for a in columns], axis=-1)
        known = np.isfinite(axes).all((1, 2))
        rates = np.full((len(axes), len(columns)), np.nan)
        rates[known] = (np.linalg.pinv(axes[known]) @ self.velocity[known, :, None])[..., 0]
        return rates

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
