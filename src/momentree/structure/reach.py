"""The reach of joints: how much each could move the constraints of loops at most, whatever the configuration.

A constraint row is a force and a moment at the closing joint. In a body on its path inward it is known by bounds that
are constants of the mechanism: its force f acts, in any direction, at a point d of the body, where the path enters it;
besides, there is a moment of at most m in any direction, which grows by |d| f from body to body. A unit velocity i of the
body's joint, with the axis (a_i, w_i), moves that point by v_i = a_i + w_i x d and turns the body by w_i. With
D = (A' M* A)^-1, the sum over all directions of what the row would add to its Phi_kk is

    sum over i, j of  N_ij D_ij ,    N_ij = f^2 v_i . v_j + m^2 w_i . w_j                                     (1)

It does not vanish where the row happens to be across the joint, in a singular configuration or everywhere if the
constraint is redundant. But it does if the joint cannot move the point: the spin of a slender rod about itself, or a
hinge whose axis goes through a ball. The first has so little inertia that it must not count; the second must have a
scale, since nothing else moves the row. So a part of (|d| f + m)^2 is added, times D_ii of a single turning axis, or
times the reciprocal of the mean inertia about several, in which a spin does not show.

Sliding joints of the tree do not count as levers: what turns a heavy slide on a long lever is as slow as the slide
itself, which counts. Where a slide is prescribed, or closes the loop, it is as long as the rest of the loop at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from momentree.model.joint_type import JointType
from momentree.model.joint_types import Spherical
from momentree.spatial import ZERO, Force, Motion, Scalar, Vector
from momentree.structure.elimination import EliminationPlan
from momentree.structure.mechanism import Loop, Mechanism, Reversed, TreeBody

Packed = tuple[Scalar, ...]  # of a symmetric matrix: row by row up to the diagonal
LEAST = 1e-2  # of the square of the whole lever: so much counts at least


@dataclass(frozen=True)
class Reach:
    """Bounds of a row in a body: force f at a point d, moment m besides."""

    f: Scalar
    m: Scalar
    d: Vector

    def packed(self, axes: Sequence[Motion]) -> Packed:
        """N of (1) for these axes, and what is added of a single turning one; entries beside the diagonal twice."""
        moved = [axis.linear + axis.angular.cross(self.d) for axis in axes]
        single, found = len(turning(axes)) == 1, []
        for i, axis in enumerate(axes):
            for j in range(i + 1):
                N = self.f * self.f * (moved[i] @ moved[j]) + self.m * self.m * (axis.angular @ axes[j].angular)
                found.append(N if i == j else 2 * N)
            if single:
                found[-1] = found[-1] + self.swing * (axis.angular @ axis.angular)
        return tuple(found)

    @property
    def swing(self) -> Scalar:
        """What is added of several turning axes, times the reciprocal of the mean inertia about them."""
        lever = self.m + self.f * norm(self.d)
        return LEAST * (lever * lever)

    def at_parent(self, body: TreeBody, length: Scalar) -> Reach:
        """The same in the parent of a body, which the row enters at the mount."""
        lever, joint = norm(self.d), body.joint.type
        if body.laws is not None and _slides(joint):
            lever = lever + length
        passes = body.laws is not None or not isinstance(joint, Spherical)  # a ball passes no moment on
        return Reach(self.f, self.m + self.f * lever if passes else 0.0, body.mount.offset)


Bound = tuple[Reach | Packed, Scalar]


def reaches(
    mechanism: Mechanism, plan: EliminationPlan, rows: Sequence[Sequence[Force]], lengths: Sequence[Scalar]
) -> list[tuple[Bound, ...]]:
    """For each body, of each row that is open in it: N, or what it follows from if axes are not fixed, and `swing`."""
    open_at: list[list[tuple[Reach, Scalar] | None]] = [[None] * place.slots.rows for place in plan.places]
    found: list[tuple[Bound, ...]] = [()] * (len(mechanism.bodies) + 1)
    for number in reversed(plan.order):
        place, here = plan.places[number], open_at[number]
        left = here[place.slots.closes :]
        if number < len(found):
            body = mechanism.bodies[number - 1]
            for end in place.ends:
                length = lengths[end.loop]
                begun = _begun(mechanism.loops[end.loop], rows[end.loop], end.second, length)
                here[end.start : end.start + len(begun)] = [(reach, length) for reach in begun]
            known = [row for row in here if row is not None]
            if body.v.stop > body.v.start:
                axes = body.joint_type.motion_subspace(body.joint.type.reference()).columns
                several, fixed = len(turning(axes)) > 1, _fixed_in_body(body)
                found[number] = tuple(
                    (reach.packed(axes) if fixed else reach, reach.swing if several else 0.0) for reach, _ in known
                )
            left = [(reach.at_parent(body, length), length) for reach, length in known]
        for row, above in zip(left, place.slots.up, strict=True):
            open_at[place.parent][above] = row
    return found


def turning(axes: Sequence[Motion]) -> list[int]:
    """Which of the axes turn."""
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
    """The length of each loop: of the offsets along it, from joint to joint; sliding joints add nothing."""
    return [_length(mechanism, loop) for loop in mechanism.loops]


def norm(v: Vector) -> Scalar:
    """|v|; 0 of what is zero by its structure."""
    return 0.0 if v is ZERO else v.norm


def _length(mechanism: Mechanism, loop: Loop) -> Scalar:
    total: Scalar = 0.0
    leaving = []  # where the two paths leave the body at which they meet
    for path, end in zip(mechanism.paths(loop)[:2], (loop.first, loop.second), strict=True):
        offsets = [end.placement.offset, *(mechanism.bodies[number - 1].mount.offset for number in path)]
        leaving.append(offsets.pop())
        for offset in offsets:
            total = total + norm(offset)
    return total + norm(leaving[0] - leaving[1])


def _begun(loop: Loop, rows: Sequence[Force], second: bool, length: Scalar) -> list[Reach]:
    """The rows of a loop at one of its ends; seen from the first, they act where the second frame has slid to."""
    slid = length if not second and _slides(loop.joint_type) else 0.0
    d = (loop.second if second else loop.first).placement.offset
    return [Reach(norm(row.linear), norm(row.angular) + norm(row.linear) * slid, d) for row in rows]


def _slides(joint: JointType) -> bool:
    return any(axis.linear is not ZERO for axis in joint.motion_subspace(joint.reference()).columns)
