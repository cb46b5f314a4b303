"""The reach of joints: how much each could move the constraints of loops at most, whatever the configuration.

A constraint row is a wrench, a force and a moment, on each body at its ends. In a body on its path inward it is
described by bounds that are constants of the mechanism: its force f acts, in any direction, at a point d of the body,
where the path enters it; besides, there is a moment of at most m, which grows by |d| f from body to body. A ball
transmits no moment, a hinge none about its own axis n: of w, a direction in the parent, it has the part across n only,
w - n (n . w). A unit velocity i of the body's joint, with the axis (a_i, w_i), moves that point by v_i = a_i + w_i x d
and turns the body by w_i. With D = (A' M* A)^-1, the sum over all directions of what the row would add to its entry
Phi_kk of the Delassus matrix is

    sum over i, j of  N_ij D_ij ,    N_ij = f^2 v_i . v_j + m^2 w_i . w_j     (of w_i, w_j the parts across n)   (1)

It does not vanish where the row happens to be perpendicular to the joint axis, in a singular configuration or
everywhere if the constraint is redundant. But it does if the joint cannot move the point: the spin of a slender rod
about itself, of a small body between two hinges with one axis, or a hinge whose axis passes through a ball. The first
two have so little inertia that they must not count; the third must have a scale where nothing else moves the row. So a
part of (|d| f + m)^2 is added: where there are several axes of rotation, times the reciprocal of the mean inertia about
them, in which a spin does not show; and times D_ii of a single axis where no joint moves the row by more than that.

Sliding joints of the tree do not count as levers: what turns a heavy slide on a long lever is as slow as the slide
itself, which counts. Where a slide is prescribed, or closes the loop, it is as long as the rest of the loop at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Fixed, Spherical
from momentree.spatial import ZERO, Force, Motion, Scalar, Vector
from momentree.structure.elimination import EliminationPlan
from momentree.structure.mechanism import Loop, Mechanism, Reversed, TreeBody

Packed = tuple[Scalar, ...]  # of a symmetric matrix: row by row up to the diagonal
LEAST = 1e-2  # of the square of the whole lever: so much counts at least
ROUND_OFF = 1e-13  # of unit vectors


@dataclass(frozen=True)
class Reach:
    """Bounds of a constraint row in a body: a force f at a point d, and a moment m besides, across n unless None."""

    f: Scalar
    m: Scalar
    d: Vector
    n: Vector | None = None  # a unit vector

    def __add__(self, other: Reach) -> Reach:
        """Both at once, where two paths of one constraint join: the other force acts at d, with a moment."""
        n = self.n if self.n == other.n and self.d == other.d else None
        return Reach(self.f + other.f, self.m + other.m + other.f * norm(other.d - self.d), self.d, n)

    def packed(self, axes: Sequence[Motion], least: bool = True) -> Packed:
        """N of (1) for these axes, at `least` with the part for a single axis; off-diagonal entries doubled."""
        moved = [axis.linear + axis.angular.cross(self.d) for axis in axes]
        turned = [self._across(axis.angular) for axis in axes]
        single, entries = least and len(turning(axes)) == 1, []
        for i, axis in enumerate(axes):
            for j in range(i + 1):
                N = self.f * self.f * (moved[i] @ moved[j]) + self.m * self.m * (turned[i] @ turned[j])
                entries.append(N if i == j else 2 * N)
            if single:
                entries[-1] = entries[-1] + self.swing * (axis.angular @ axis.angular)
        return tuple(entries)

    def moves(self, axes: Sequence[Motion]) -> bool:
        """Whether a joint with these axes surely moves the row by more than the part added for a single axis."""
        N, swing = self.packed(axes, least=False), self.swing
        diagonal = [N[i * (i + 3) // 2] for i in range(len(axes))]
        numbers = all(isinstance(x, (int, float)) for x in (*diagonal, swing))
        return numbers and any(x > 0 and x >= swing for x in diagonal)

    def _across(self, w: Vector) -> Vector:
        """The part of a direction about which there may be a moment."""
        if self.n is None or w is ZERO:
            return w
        across = w - self.n * (self.n @ w)
        return ZERO if _vanishes(across) else across

    @property
    def swing(self) -> Scalar:
        """The part added for several axes of rotation, times the reciprocal of the mean inertia about them."""
        lever = self.m + self.f * norm(self.d)
        return LEAST * (lever * lever)

    def at_parent(self, body: TreeBody, length: Scalar) -> Reach:
        """The same in the parent of a body, which the path enters at the mount, or where it did if they are welded."""
        if isinstance(body.joint.type, Fixed):
            n = None if self.n is None else body.mount.rotation @ self.n
            return Reach(self.f, self.m, body.mount.point(self.d), n)
        lever, joint = norm(self.d), body.joint.type
        if body.laws is not None and _slides(joint):
            lever = lever + length
        transmits = body.laws is not None or not isinstance(joint, Spherical)  # a ball transmits no moment
        return Reach(self.f, self.m + self.f * lever if transmits else 0.0, body.mount.offset, _free_axis(body))


Bound = tuple[Reach | Packed, Scalar]


class ConstraintReach(NamedTuple):
    """A constraint: bounds of its rows in the body at each of its ends, and how far a prescribed slide may extend."""

    ends: tuple[tuple[Reach, ...], ...]
    length: Scalar


class _Row(NamedTuple):
    """A row in a body: its constraint and number in it, its bounds there, and how far a prescribed slide may extend."""

    key: tuple[int, int]
    reach: Reach
    length: Scalar


def reaches(
    bodies: Sequence[TreeBody], plan: EliminationPlan, constraints: Sequence[ConstraintReach]
) -> list[tuple[Bound, ...]]:
    """For each body, of each row open in it: N, or the `Reach` it follows from if axes are not fixed, and `swing`."""
    rows = _rows(bodies, plan, constraints)
    axes = [body.joint_type.motion_subspace(body.joint.type.reference()).columns for body in bodies]
    moved = {row.key for body, here in rows.items() for row in here if row.reach.moves(axes[body - 1])}
    bounds: list[tuple[Bound, ...]] = [()] * (len(bodies) + 1)
    for number, here in rows.items():
        columns, fixed = axes[number - 1], _fixed_in_body(bodies[number - 1])
        several = len(turning(columns)) > 1
        bounds[number] = tuple(
            (
                row.reach.packed(columns, least=row.key not in moved) if fixed else row.reach,
                row.reach.swing if several else 0.0,
            )
            for row in here
        )
    return bounds


def _rows(
    bodies: Sequence[TreeBody], plan: EliminationPlan, constraints: Sequence[ConstraintReach]
) -> dict[int, list[_Row]]:
    """The rows that are open in each body whose joint is free."""
    open_at: list[list[_Row | None]] = [[None] * node.slots.rows for node in plan.nodes]
    found: dict[int, list[_Row]] = {}
    for number in reversed(plan.order):
        node, here = plan.nodes[number], open_at[number]
        staying = here[node.slots.closes :]
        if 0 < number <= len(bodies):
            body = bodies[number - 1]
            for end in node.ends:
                constraint = constraints[end.constraint]
                for k, reach in enumerate(constraint.ends[end.index]):
                    row = _Row((end.constraint, k), reach, constraint.length)
                    here[end.start + k] = _joined(here[end.start + k], row)
            rows = [row for row in here if row is not None]
            if body.v.stop > body.v.start:
                found[number] = rows
            staying = [row._replace(reach=row.reach.at_parent(body, row.length)) for row in rows]
        for each, slot in zip(staying, node.slots.up, strict=True):
            above = open_at[node.parent]
            above[slot] = each if each is None or node.parent > len(bodies) else _joined(above[slot], each)
    return found


def _joined(one: _Row | None, other: _Row) -> _Row:
    """A row that enters a body by several paths."""
    return other if one is None else other._replace(reach=one.reach + other.reach)


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


def _free_axis(body: TreeBody) -> Vector | None:
    """The axis, in the parent, about which the joint of a body transmits no moment."""
    joint = body.joint.type
    axes = body.joint_type.motion_subspace(joint.reference()).columns
    turns = [axes[i] for i in turning(axes)]
    if body.laws is not None or not joint.coaxial or len(turns) != 1 or not all(map(_is_zero, turns[0].linear)):
        return None  # a screw transmits as much as belongs to its force
    return body.mount.rotation @ turns[0].angular


def _vanishes(v: Vector) -> bool:
    """Whether all components are round-off of unit vectors."""
    return all(isinstance(x, (int, float)) and abs(x) < ROUND_OFF for x in v)


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
