"""The reach of joints: how much each could move the constraints of loops at most, whatever the configuration.

A constraint row is a wrench, a force and a moment, on each body at its ends. In a body on its path inward it is
described by bounds that are constants of the mechanism: its force f acts, in any direction, at a point d of the body,
where the path enters it; besides, there is a moment of at most m in any direction, which grows by |d| f from body to
body. A unit velocity i of the body's joint, with the axis (a_i, w_i), moves that point by v_i = a_i + w_i x d and turns
the body by w_i. With D = (A' M* A)^-1, the sum over all directions of what the row would add to its entry Phi_kk of the
Delassus matrix is

    sum over i, j of  N_ij D_ij ,    N_ij = f^2 v_i . v_j + m^2 w_i . w_j                                     (1)

It does not vanish where the row happens to be perpendicular to the joint axis, in a singular configuration or
everywhere if the constraint is redundant. But it does if the joint cannot move the point: the spin of a slender rod
about itself, or a hinge whose axis passes through a ball. The first has so little inertia that it must not count; the
second must have a scale, since nothing else moves the row. So a part of (|d| f + m)^2 is added, times D_ii of a single
axis of rotation, or times the reciprocal of the mean inertia about several, in which a spin does not show.

Sliding joints of the tree do not count as levers: what turns a heavy slide on a long lever is as slow as the slide
itself, which counts. Where a slide is prescribed, or closes the loop, it is as long as the rest of the loop at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Spherical
from momentree.spatial import ZERO, Force, Motion, Scalar, Vector
from momentree.structure.elimination import EliminationPlan
from momentree.structure.mechanism import Loop, Mechanism, Reversed, TreeBody

Packed = tuple[Scalar, ...]  # of a symmetric matrix: row by row up to the diagonal
LEAST = 1e-2  # of the square of the whole lever: so much counts at least


@dataclass(frozen=True)
class Reach:
    """Bounds of a constraint row in a body: a force f at a point d, and a moment m besides."""

    f: Scalar
    m: Scalar
    d: Vector

    def __add__(self, other: Reach) -> Reach:
        """Both at once, where two paths of one constraint join: the other force acts at d, with a moment."""
        return Reach(self.f + other.f, self.m + other.m + other.f * norm(other.d - self.d), self.d)

    def packed(self, axes: Sequence[Motion]) -> Packed:
        """N of (1) for these axes, with the part added for a single axis of rotation; off-diagonal entries doubled."""
        moved = [axis.linear + axis.angular.cross(self.d) for axis in axes]
        single, entries = len(turning(axes)) == 1, []
        for i, axis in enumerate(axes):
            for j in range(i + 1):
                N = self.f * self.f * (moved[i] @ moved[j]) + self.m * self.m * (axis.angular @ axes[j].angular)
                entries.append(N if i == j else 2 * N)
            if single:
                entries[-1] = entries[-1] + self.swing * (axis.angular @ axis.angular)
        return tuple(entries)

    @property
    def swing(self) -> Scalar:
        """The part added for several axes of rotation, times the reciprocal of the mean inertia about them."""
        lever = self.m + self.f * norm(self.d)
        return LEAST * (lever * lever)

    def at_parent(self, body: TreeBody, length: Scalar) -> Reach:
        """The same in the parent of a body, which the path enters at the mount."""
        lever, joint = norm(self.d), body.joint.type
        if body.laws is not None and _slides(joint):
            lever = lever + length
        transmits = body.laws is not None or not isinstance(joint, Spherical)  # a ball transmits no moment
        return Reach(self.f, self.m + self.f * lever if transmits else 0.0, body.mount.offset)


Bound = tuple[Reach | Packed, Scalar]


class ConstraintReach(NamedTuple):
    """A constraint: bounds of its rows in the body at each of its ends, and how far a prescribed slide may extend."""

    ends: tuple[tuple[Reach, ...], ...]
    length: Scalar


def reaches(
    bodies: Sequence[TreeBody], plan: EliminationPlan, constraints: Sequence[ConstraintReach]
) -> list[tuple[Bound, ...]]:
    """For each body, of each row open in it: N, or the `Reach` it follows from if axes are not fixed, and `swing`."""
    open_at: list[list[tuple[Reach, Scalar] | None]] = [[None] * node.slots.rows for node in plan.nodes]
    bounds: list[tuple[Bound, ...]] = [()] * (len(bodies) + 1)
    for number in reversed(plan.order):
        node, here = plan.nodes[number], open_at[number]
        staying = here[node.slots.closes :]
        if number < len(bounds):
            body = bodies[number - 1]
            for end in node.ends:
                constraint = constraints[end.constraint]
                for slot, reach in enumerate(constraint.ends[end.index], end.start):
                    here[slot] = _joined(here[slot], (reach, constraint.length))
            rows = [row for row in here if row is not None]
            if body.v.stop > body.v.start:
                axes = body.joint_type.motion_subspace(body.joint.type.reference()).columns
                several, fixed = len(turning(axes)) > 1, _fixed_in_body(body)
                bounds[number] = tuple(
                    (reach.packed(axes) if fixed else reach, reach.swing if several else 0.0) for reach, _ in rows
                )
            staying = [(reach.at_parent(body, length), length) for reach, length in rows]
        for row, slot in zip(staying, node.slots.up, strict=True):
            above = open_at[node.parent]
            above[slot] = row if row is None or node.parent >= len(bounds) else _joined(above[slot], row)
    return bounds


def _joined(one: tuple[Reach, Scalar] | None, other: tuple[Reach, Scalar]) -> tuple[Reach, Scalar]:
    """A row that enters a body by several paths."""
    return other if one is None else (one[0] + other[0], other[1])


def loop_reach(loop: Loop, rows: Sequence[Force], length: Scalar) -> ConstraintReach:
    """Of a loop closed by a joint: seen from the first body, its rows act where the second frame has slid to."""
    slid = length if _slides(loop.joint_type) else 0.0
    first, second = loop.first.placement.offset, loop.second.placement.offset
    f, m = [norm(row.linear) for row in rows], [norm(row.angular) for row in rows]
    begun = [(Reach(x, y + x * slid, first), Reach(x, y, second)) for x, y in zip(f, m, strict=True)]
    return ConstraintReach((tuple(pair[0] for pair in begun), tuple(pair[1] for pair in begun)), length)


def turning(axes: Sequence[Motion]) -> list[int]:
    """Which of the axes are axes of rotation."""
    return [i for i, axis in enumerate(axes) if any(not _is_zero(x) for x in axis.angular)]


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, (int, float)) and x == 0


def _fixed_in_body(body: TreeBody) -> bool:
    """Whether the axes of its joint are the same at all coordinates."""
    joint = body.joint.type
    if isinstance(body.joint_type, Reversed):
        return joint.coaxial
    return type(joint).motion_subspace_derivative is JointType.motion_subspace_derivative


def loop_lengths(mechanism: Mechanism) -> list[Scalar]:
    """The perimeter of each loop: the offsets along it, from joint to joint; sliding joints add nothing."""
    return [_length(mechanism, loop) for loop in mechanism.loops]


def norm(v: Vector) -> Scalar:
    """|v|; 0 of a vector that is structurally zero."""
    return 0.0 if v is ZERO else v.norm


def _length(mechanism: Mechanism, loop: Loop) -> Scalar:
    total: Scalar = 0.0
    departures = []  # where the two paths leave the common ancestor
    for path, end in zip(mechanism.paths(loop)[:2], (loop.first, loop.second), strict=True):
        offsets = [end.placement.offset, *(mechanism.bodies[number - 1].mount.offset for number in path)]
        departures.append(offsets.pop())
        for offset in offsets:
            total = total + norm(offset)
    if isinstance(loop.joint_type, HigherPair):
        total = total + loop.joint_type.extent
    return total + norm(departures[0] - departures[1])


def _slides(joint: JointType) -> bool:
    return any(axis.linear is not ZERO for axis in joint.motion_subspace(joint.reference()).columns)
