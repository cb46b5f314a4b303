"""Determinacy of the motion: every degree of freedom of every joint must move some inertia.

Going inward, D = A' M* A of each joint (articulated inertias, equations/articulated.py) must be positive definite:
only then does an acceleration follow from the forces. It is decided in pure numbers at random coordinates: each motion
along a joint is measured by the inertia that it could move at most, the joint itself and those next to it being held.
So millimetres and grams, kilometres and tons are treated alike.

Most bodies have enough inertia of their own, and M* is never less than that: only the others, and the bodies that they
carry, are examined.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.model.expressions.expression import Expression
from momentree.spatial import ChainTransform, Motion, MotionSubspace, Vector
from momentree.spatial.articulated import ArticulatedInertia, weighted_columns
from momentree.structure.mechanism import TreeBody

Matrix = NDArray[np.float64]
SINGULAR = 1e-12  # least inertia along a motion, relative to the largest that it could be
LIGHT = 1e-9  # of the mass that it carries: a body with less mass counts as massless
TRIES = 8  # random coordinates, where the inertia of a body is negative along some axis
NOISE = 1e-13  # of an inertia: round-off where it cancels
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of the entries of a symmetric block
_FAR = 1e-3  # of the inertia about a distant point of an axis: round-off of it is felt at the nearest point too


@dataclass(frozen=True)
class Undetermined:
    """A body that its joint can move without moving inertia.

    | field    | meaning                                                                            |
    |----------|------------------------------------------------------------------------------------|
    | velocity | the velocity of the joint along which that is so, or mostly                        |
    | negative | the inertia along it is less than zero, as only bodies that cannot exist have it   |
    | floats   | its joint was not in the model, but added because nothing connects the body        |
    """

    body: TreeBody
    velocity: str
    negative: bool = False
    floats: bool = False

    def __str__(self) -> str:
        name, kind = self.body.joint.name, self.body.joint.type.kind
        if self.negative:
            return (
                f"joint '{name}' moves a negative inertia along {self.velocity}: an impossible inertia, here or "
                "further out, has made the mass matrix indefinite. Give the bodies inertias that bodies can have."
            )
        spins = " (a rod between two ball joints spins about itself: make one of them universal)"
        spins = spins if kind == "Spherical" else ""
        if self.body.inertia.mass == 0:
            return (
                f"has no mass, and no body that it carries has inertia that joint '{name}' would move along "
                f"{self.velocity}, so that its motion is not determined. Give it a mass, "
                f"or a joint with less freedom{spins}."
            )
        if self.floats:
            return (
                f"floats, since no joint connects it, and can move along {self.velocity} without moving any inertia, "
                "so that its motion is not determined. Connect it by a joint, or give it inertia there (a slender rod "
                "has none about itself: give it a radius; nor has a point mass about its own place)."
            )
        return (
            f"joint '{name}' can move it along {self.velocity} without moving any inertia, so that its motion is "
            "not determined. Give it inertia there (a slender rod has none about itself: give it a radius; nor has a "
            f"point mass about its own place) or a joint with less freedom{spins}."
        )


def undetermined(bodies: Sequence[TreeBody], negative: Collection[int] = ()) -> Iterator[Undetermined]:
    """Each body whose joint moves no inertia along some velocity (D = A' M* A is not positive definite).

    Numbers of bodies whose inertia is `negative` about some axis make all that carry them doubtful.
    """
    weak = _weak(bodies)
    if negative:
        weak |= _carriers(bodies, negative)
    if not weak:
        return
    carried = _carried(bodies, weak)
    random = np.random.default_rng(1)
    faults: dict[int, Undetermined] = {}
    for _ in range(TRIES if negative else 1):
        for each in _singular(carried, _random_coordinates(carried, random)):
            faults.setdefault(each.body.number, replace(each, negative=each.negative and bool(negative)))
    yield from (faults[number] for number in sorted(faults))


# --- which bodies to examine ---


def _weak(bodies: Sequence[TreeBody]) -> set[int]:
    """Moving bodies with no inertia of their own along their joints, or next to none beside the bodies they carry."""
    masses = [0.0] * (len(bodies) + 1)
    weak = set()
    for body in reversed(bodies):
        own = body.inertia.mass
        own = 0.0 if isinstance(own, Expression) else float(own)
        if body.v.stop > body.v.start and (own < LIGHT * masses[body.number] or _has_weak_direction(body)):
            weak.add(body.number)
        masses[body.parent] += masses[body.number] + own
    return weak


def _has_weak_direction(body: TreeBody) -> bool:
    """Whether the body's own inertia leaves a direction of its joint without any; False where it is not known yet."""
    M, N = body.inertia, _armature(body)
    if any(isinstance(x, Expression) for x in (M.mass, *M.h, *M.J, *N)):
        return False
    A = body.joint_type.motion_subspace(body.joint.type.reference())
    if any(isinstance(x, Expression) for column in A.columns for x in column):
        return False
    whole = ArticulatedInertia.of(M)
    if len(A.columns) == 1:  # most bodies of large systems
        column = A.columns[0]
        return bool(column @ (M @ column) + N[0] <= SINGULAR * (_size(column, whole) + N[0]))
    return _Spectrum(A, whole, whole, N).least <= SINGULAR


def _carried(bodies: Sequence[TreeBody], weak: Collection[int]) -> list[TreeBody]:
    """These bodies and all that they carry."""
    inside = [False] * (len(bodies) + 1)
    for body in bodies:
        inside[body.number] = body.number in weak or inside[body.parent]
    return [body for body in bodies if inside[body.number]]


def _carriers(bodies: Sequence[TreeBody], numbers: Collection[int]) -> set[int]:
    """These bodies and all that carry them."""
    carriers = set()
    for number in numbers:
        while number and number not in carriers:
            carriers.add(number)
            number = bodies[number - 1].parent
    return carriers


def _armature(body: TreeBody) -> tuple[Any, ...]:
    """N of each velocity."""
    joint = body.joint.type
    return tuple(joint.armature or (0.0,) * len(joint.velocities))


# --- articulated inertias ---


def _singular(bodies: Sequence[TreeBody], coordinates: Mapping[int, tuple[float, ...]]) -> Iterator[Undetermined]:
    """Inward: M*, and beside it the inertia with the joints of the next bodies held, by which M* is measured."""
    M = {body.number: ArticulatedInertia.of(body.inertia) for body in bodies}
    held, length = dict(M), _length(bodies)
    for body in reversed(bodies):
        mine, q = M[body.number], coordinates[body.number]
        if any(isinstance(x, Expression) for x in (*mine.K, *mine.J, *_armature(body))):
            continue  # a free parameter: known at run time only
        X, transmitted = ChainTransform(body.mount, body.joint_type.placement(q)), mine
        if body.v.stop > body.v.start:
            A = body.joint_type.motion_subspace(q)
            spectrum = _Spectrum(A, mine, held[body.number], _armature(body))
            if spectrum.least <= SINGULAR:
                yield Undetermined(body, body.joint.type.velocities[spectrum.direction], spectrum.least < -SINGULAR)
            W, D = [mine @ column for column in A.columns], spectrum.inverse()
            armature = body.joint_type.armature
            transmitted = mine.less(A, W, weighted_columns(A, W, D, armature), armature)
            transmitted = _without_noise(transmitted, held[body.number], length)
        if body.parent in M:
            M[body.parent] = M[body.parent] + transmitted.to_parent(X)
            held[body.parent] = held[body.parent] + mine.to_parent(X)


def _without_noise(transmitted: ArticulatedInertia, before: ArticulatedInertia, length: float) -> ArticulatedInertia:
    """The inertia that a joint transmits, without round-off along directions in which it transmits none."""
    scales = np.array([1.0] * 3 + [1 / length] * 3)
    scaled = np.outer(scales, scales)
    values, vectors = np.linalg.eigh(_matrix(transmitted) * scaled)
    tiny = NOISE * float(np.trace(_matrix(before) * scaled))
    if np.abs(values).min() > tiny:
        return transmitted
    matrix = (vectors * np.where(np.abs(values) > tiny, values, 0)) @ vectors.T / scaled
    K, J = (tuple(float(block[i, j]) for i, j in _PAIRS) for block in (matrix[:3, :3], matrix[3:, 3:]))
    a, b, c = (Vector(*row) for row in matrix[:3, 3:].tolist())
    return ArticulatedInertia(K, (a, b, c), J)


def _matrix(M: ArticulatedInertia) -> Matrix:
    matrix = np.zeros((6, 6))
    for entry, (i, j) in enumerate(_PAIRS):
        matrix[i, j] = matrix[j, i] = M.K[entry]
        matrix[i + 3, j + 3] = matrix[j + 3, i + 3] = M.J[entry]
    matrix[:3, 3:] = [[*row] for row in M.H]
    matrix[3:, :3] = matrix[:3, 3:].T
    return matrix


class _Spectrum:
    """Eigenvalues of A' M A + N in pure numbers: each velocity measured by the largest inertia that it could move."""

    def __init__(self, A: MotionSubspace, M: ArticulatedInertia, held: ArticulatedInertia, N: Sequence[float]):
        W = [M @ column for column in A.columns]
        D = np.array([[float(column @ w) for w in W] for column in A.columns]) + np.diag(N)
        sizes = np.array([_size(column, held) for column in A.columns]) + N
        self._scales = np.where(sizes > 0, 1 / np.sqrt(np.where(sizes > 0, sizes, 1)), 0)
        self._values, self._vectors = np.linalg.eigh(D * np.outer(self._scales, self._scales))

    @property
    def least(self) -> float:
        """The least eigenvalue."""
        return float(self._values[0])

    @property
    def direction(self) -> int:
        """The velocity that has most of the eigenvector of the least."""
        return int(np.abs(self._vectors[:, 0]).argmax())

    def inverse(self) -> list[list[float]]:
        """Of D, but for directions in which it is singular."""
        reciprocals = [1 / value if abs(value) > SINGULAR else 0.0 for value in self._values]
        scaled: Matrix = (self._vectors * reciprocals) @ self._vectors.T
        inverse: list[list[float]] = (scaled * np.outer(self._scales, self._scales)).tolist()
        return inverse


def _size(column: Motion, M: ArticulatedInertia) -> float:
    """|v|^2 tr K + |w|^2 tr J, the largest inertia of a motion turned in any way, J about the axis where it is least.

    About a point x further along the axis n it is tr J + b x + c x^2.
    """
    linear, angular = (float(part @ part) for part in (column.linear, column.angular))
    K, J = (sum(abs(float(x)) for x in block[:3]) for block in (M.K, M.J))
    if angular == 0:
        return linear * K
    b, c = _along(M, column.angular / math.sqrt(angular))
    least = J - b * b / (4 * c) if c > 0 else J
    return linear * K + angular * max(least, _FAR * J)


def _along(M: ArticulatedInertia, n: Vector) -> tuple[float, float]:
    """b and c: tr J changes by b x + c x^2 where the origin stands x n from the point that it is about."""
    (hx, hy, hz), K = M.H, M.K
    b = 2 * (n.x * (hy.z - hz.y) + n.y * (hz.x - hx.z) + n.z * (hx.y - hy.x))
    c = sum(K[:3]) - (K[0] * n.x * n.x + K[1] * n.y * n.y + K[2] * n.z * n.z)
    return float(b), float(c - 2 * (K[3] * n.x * n.y + K[4] * n.x * n.z + K[5] * n.y * n.z))


# --- random coordinates ---


def _random_coordinates(bodies: Sequence[TreeBody], random: np.random.Generator) -> dict[int, tuple[float, ...]]:
    """Coordinates of each joint, turned by about a right angle at most, slid by about the size of the bodies."""
    length = _length(bodies)
    coordinates = {}
    for body in bodies:
        joint = body.joint.type
        turns = [
            float(column.angular @ column.angular) > 0 for column in joint.motion_subspace(joint.reference()).columns
        ]
        step = [random.uniform(0.3, 1.2) * (1 if turning else length) for turning in turns]
        coordinates[body.number] = joint.integrate(joint.reference(), step)
    return coordinates


def _length(bodies: Sequence[TreeBody]) -> float:
    """How far apart joints and masses are, at most; 1 m where they are all in one point."""
    lengths = [0.0]
    for body in bodies:
        M = body.inertia
        numbers = [*body.mount.offset, M.mass, *M.h, *M.J[:3]]
        if any(isinstance(x, Expression) for x in numbers):
            continue
        if body.parent:  # how far the whole is from the origin does not matter
            lengths.append(max(abs(float(x)) for x in body.mount.offset))
        if M.mass > 0:
            lengths.append(max(float(M.h.norm / M.mass), math.sqrt(max(abs(float(x)) for x in M.J[:3]) / M.mass)))
    return max(lengths) or 1.0
