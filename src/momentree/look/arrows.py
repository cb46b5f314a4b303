"""Arrows of a run: velocities of centers of mass, forces of contacts, springs and loads, and reactions of joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import ends_of, names_of
from momentree.equations.kinematics import seen_at
from momentree.look.motion_frames import MotionFrames
from momentree.model.colors import Color
from momentree.spatial import Transform, Vector
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

if TYPE_CHECKING:
    from momentree.results.run import Run

Array = NDArray[np.float64]
LONG = 0.4  # of the size of the mechanism: the length of a long arrow of a kind, unless scaled


class Arrows(NamedTuple):
    """Arrows of one kind over time: where they begin (k, a, 3), and the vectors (k, a, 3) in `unit`."""

    points: Array
    vectors: Array
    unit: str

    def long(self) -> float:
        """A length that is seldom exceeded: by a twentieth of all arrows, such as those of impacts."""
        lengths = np.linalg.norm(self.vectors, axis=-1)
        finite = lengths[np.isfinite(lengths)]
        return float(np.percentile(finite, 95)) if len(finite) else 0.0

    def segments(self, i: int, scale: float) -> Array:
        """Begin and end of each at moment i, (a, 2, 3), a vector of length 1 being drawn as `scale` (m)."""
        vectors = np.nan_to_num(self.vectors[i], nan=0.0, posinf=0.0, neginf=0.0)
        return np.stack([self.points[i], self.points[i] + scale * vectors], axis=1)


def velocities(run: Run, frames: MotionFrames) -> Arrows:
    """The velocity of the center of mass of each body (m/s)."""
    samples, mechanism = frames.samples, frames.mechanism
    points, vectors = [], []
    for body in mechanism.bodies:
        mass = body.inertia.mass
        if body.image_of or not mass:
            continue
        record = samples.bodies[body.number]
        point = record.X_0.point(body.inertia.h / mass)
        points.append(samples.table(point))
        vectors.append(samples.table(seen_at(point, record, record.v).linear))
    return _arrows(points, vectors, len(frames.t), "m/s")


def forces(run: Run, frames: MotionFrames) -> Arrows:
    """The forces of force elements on their first bodies: loads of the model, springs, contacts (N)."""
    samples, mechanism = frames.samples, frames.mechanism
    points, vectors = [], []
    names = names_of(Evaluation(mechanism, samples.q, samples.t), samples.bodies) if mechanism.elements else {}
    for element in mechanism.elements:
        point, force = element.arrow(ends_of(element, samples.bodies), names)
        points.append(samples.table(point))
        vectors.append(samples.table(force))
    return _arrows(points, vectors, len(frames.t), "N")


def reactions(run: Run, frames: MotionFrames) -> Arrows:
    """The force that each joint exerts on its second body (N), at the origin of its second frame."""
    mechanism, samples = run.mechanism, frames.samples
    points, vectors = [], []
    for name in mechanism.by_joint:
        force = run.reactions(name)[:, :3]
        points.append(samples.position(second_frame(mechanism, name)))
        vectors.append(np.stack([np.interp(frames.t, run.t, force[:, i]) for i in range(3)], axis=-1))
    return _arrows(points, vectors, len(frames.t), "N")


KINDS: dict[str, tuple[Color, Callable[[Run, MotionFrames], Arrows]]] = {
    "velocities": ((0, 158, 115), velocities),
    "forces": ((213, 94, 0), forces),
    "reactions": ((204, 121, 167), reactions),
}


def second_frame(mechanism: Mechanism, joint: str) -> Attached:
    """The second frame of any joint."""
    of = mechanism.by_joint[joint]
    if not isinstance(of, TreeBody):
        return of.second
    return Attached(of.parent, of.mount) if of.reverse else Attached(of.number, Transform())


def center_of_mass(body: TreeBody) -> Attached | None:
    """The center of mass of a body, in the frame of it that the user knows; None if it has no mass."""
    mass = body.inertia.mass
    if not mass or body.image_of:
        return None
    com: Vector = body.own.inverse().point(body.inertia.h / mass)
    return Attached(body.number, Transform(offset=com))


def _arrows(points: list[Array], vectors: list[Array], count: int, unit: str) -> Arrows:
    none = np.zeros((count, 0, 3))
    return Arrows(np.stack(points, axis=1) if points else none, np.stack(vectors, axis=1) if vectors else none, unit)
