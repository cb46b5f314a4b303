"""Closure errors: the placement of a loop's second frame less the nearest one that its closing joint allows.

One residual serves all, and its rotation is measured in three ways:

| measure         | used by                                  | why                                            |
|-----------------|------------------------------------------|------------------------------------------------|
| small_angle     | Newton's method, Baumgarte stabilization | no root and no branch; equal to first order    |
| rotation_vector | reports, assembly                        | true up to half a turn                         |
| misalignment    | the misfit, in every evaluation          | compares joint axes; needs no coordinates      |
"""

from __future__ import annotations

from typing import NamedTuple

from momentree.equations.loops.closing_joint import crossed_axes, relative_placement
from momentree.equations.loops.expression_constraints import expression_error, is_expression
from momentree.equations.loops.higher_pair_rows import pair_errors
from momentree.equations.sweeps import Fields, Record
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_types import Spherical
from momentree.spatial import ZERO, Motion, Rotation, Scalar, Transform, Vector
from momentree.spatial.rotation import rotation_vector


class Residual(NamedTuple):
    """The offset of a frame M from the nearest allowed frame N, and the rotations of both, all in the same axes."""

    offset: Vector
    R_M: Rotation
    R_N: Rotation

    @property
    def rotation(self) -> Rotation:
        """From N to M."""
        return self.R_M @ self.R_N.T

    @property
    def small_angle(self) -> Vector:
        """The rotation vector of a small rotation: the axial vector of the skew part."""
        a, b, c = self.rotation.rows
        return Vector(c.y - b.z, a.z - c.x, b.x - a.y) * 0.5

    @property
    def rotation_vector(self) -> Vector:
        """Axis times angle (0..pi)."""
        return rotation_vector(self.rotation)

    def misalignment(self, axis: Vector) -> Vector:
        """The small angle by which an axis, resolved in M and in N, is off."""
        return (self.R_N @ axis).cross(self.R_M @ axis)


def residual(X: Transform, nearest: Transform) -> Residual:
    """The residual of a placement against the nearest allowed one; both in the same frame."""
    return Residual(X.offset - nearest.offset, X.rotation, nearest.rotation)


def measure_closure_error(constraint: Record) -> Fields:
    """The closure error of each row; zero where it constrains velocities only."""
    if is_expression(constraint):
        return expression_error(constraint)
    if isinstance(constraint.joint_type, HigherPair):
        return {"closure_error": pair_errors(constraint)}
    return {"closure_error": _loop_errors(constraint)}


def _loop_errors(loop: Record) -> tuple[Scalar, ...]:
    """How far the first body is beyond the second, along each row."""
    R, X_FM = loop.first_frame.rotation, relative_placement(loop)
    ball = isinstance(loop.joint_type, Spherical)  # which takes any rotation
    nearest = Transform(X_FM.rotation) if ball else loop.joint_type.placement(loop.joint_type.fit(X_FM))
    error = residual(X_FM, nearest)
    six = Motion(R @ error.offset, R @ error.small_angle)
    errors = [-(six @ row) for row in loop.fixed_rows]
    if loop.joint_type.crossed_axes is not None:
        errors.append(_angle_error(loop, loop.E))
    return tuple(errors)


def misfit(loop: Record, E: Rotation, origin: Vector) -> Scalar:
    """The sum of squared closure errors, offsets over the length of the loop; the advance of a thread aside.

    Against the first frame itself: what the joint lets move is not along its rows.
    """
    if isinstance(loop.joint_type, HigherPair):
        return sum(_square(error * loop.per_length) for error in pair_errors(loop.having(E=E, origin=origin)))
    error = residual(Transform(E @ loop.second_frame.rotation, origin), loop.first_frame)
    offset, turned = error.offset * loop.per_length, _off_axis(loop, error)
    rows = loop.fixed_rows[:-1] if loop.joint_type.threaded else loop.fixed_rows
    total: Scalar = 0
    for row in rows:
        total = total + _square(offset @ row.linear) + _square(turned @ row.angular)
    if loop.joint_type.crossed_axes is not None:
        total = total + _square(_angle_error(loop, E))
    return total


def _off_axis(loop: Record, error: Residual) -> Vector:
    """The rotation against the first frame that the joint does not allow, if it turns about one axis or none."""
    columns = loop.joint_type.motion_subspace(loop.joint_type.reference()).columns
    axes = [column.angular for column in columns if column.angular is not ZERO]
    return error.misalignment(axes[0]) if axes else error.small_angle


def _angle_error(loop: Record, E: Rotation) -> Scalar:
    """The cosine of the angle between the crossed axes of a joint, less the one that it keeps."""
    a, b = crossed_axes(loop, E)
    first, second = loop.joint_type.crossed_axes
    return a @ b - first @ second


def _square(x: Scalar) -> Scalar:
    return x * x
