"""Rotations: matrices, turns about an axis, unit quaternions (x, y, z, w).

`R_AB` takes components in frame B to components in frame A.
"""

from __future__ import annotations

from typing import overload

from momentree.spatial.scalar import Scalar, absolute, atan2, cos, maximum, select, sin, sqrt
from momentree.spatial.vector import Vector, X, Y, Z

Quaternion = tuple[Scalar, ...]  # x, y, z, w


class Rotation:
    """A rotation matrix by its rows: `R @ v`, `R @ Q`, `R.T`."""

    __slots__ = ("rows",)

    def __init__(self, a: Vector, b: Vector, c: Vector):
        self.rows = (a, b, c)

    @overload
    def __matmul__(self, other: Vector) -> Vector: ...
    @overload
    def __matmul__(self, other: Rotation) -> Rotation: ...
    def __matmul__(self, other: Vector | Rotation) -> Vector | Rotation:
        if self is IDENTITY:
            return other
        a, b, c = self.rows
        if isinstance(other, Vector):
            return Vector(a @ other, b @ other, c @ other)
        if other is IDENTITY:
            return self
        p, q, r = other.T.rows
        return Rotation(*(Vector(row @ p, row @ q, row @ r) for row in self.rows))

    @property
    def T(self) -> Rotation:
        if self is IDENTITY:
            return self
        a, b, c = self.rows
        return Rotation(Vector(a.x, b.x, c.x), Vector(a.y, b.y, c.y), Vector(a.z, b.z, c.z))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rotation) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def __repr__(self) -> str:
        return f"Rotation{tuple(tuple(row) for row in self.rows)}"


IDENTITY = Rotation(X, Y, Z)


class Turn(Rotation):
    """A turn about x, y or z, stored by its cosine and sine: what it does to a symmetric matrix costs 8 products."""

    __slots__ = ("axis", "c", "s")

    def __init__(self, axis: int, c: Scalar, s: Scalar):
        self.axis, self.c, self.s = axis, c, s
        if axis == 0:
            self.rows = X, Vector(0, c, -s), Vector(0, s, c)
        elif axis == 1:
            self.rows = Vector(c, 0, s), Y, Vector(-s, 0, c)
        else:
            self.rows = Vector(c, -s, 0), Vector(s, c, 0), Z

    @property
    def T(self) -> Rotation:
        return Turn(self.axis, self.c, -self.s)


_COORDINATE_AXES = tuple((i, axis, -axis) for i, axis in enumerate((X, Y, Z)))


def turn(axis: Vector, angle: Scalar) -> Rotation:
    """Turn about a unit axis: R = c E + s [n x] + (1 - c) n n'; about x, y or z only c and s are computed."""
    c, s = cos(angle), sin(angle)
    for i, coordinate_axis, opposite in _COORDINATE_AXES:
        if axis == coordinate_axis:
            return Turn(i, c, s)
        if axis == opposite:
            return Turn(i, c, -s)
    d = 1 - c
    x, y, z = axis
    return Rotation(
        Vector(c + d * x * x, d * x * y - s * z, d * x * z + s * y),
        Vector(d * x * y + s * z, c + d * y * y, d * y * z - s * x),
        Vector(d * x * z - s * y, d * y * z + s * x, c + d * z * z),
    )


def cardan(a: Scalar, b: Scalar, c: Scalar) -> Rotation:
    """Three turns, each about an axis of the frame already turned: x by a, then y by b, then z by c."""
    return turn(X, a) @ turn(Y, b) @ turn(Z, c)


def cardan_velocity(b: Scalar, c: Scalar, velocities: tuple[Scalar, Scalar, Scalar]) -> Vector:
    """Angular velocity, in the turned frame, from the time derivatives of the `cardan` angles."""
    da, db, dc = velocities
    after_y = turn(Y, b).T @ X * da + Y * db
    w: Vector = turn(Z, c).T @ after_y + Z * dc
    return w


def cardan_acceleration(
    b: Scalar, c: Scalar, velocities: tuple[Scalar, Scalar, Scalar], accelerations: tuple[Scalar, Scalar, Scalar]
) -> Vector:
    """Time derivative of `cardan_velocity`, component by component in the turned frame."""
    (da, db, dc), (dda, ddb, ddc) = velocities, accelerations
    x_turned = turn(Y, b).T @ X
    after_y = x_turned * da + Y * db
    after_y_derivative = x_turned * dda - Y.cross(x_turned) * (da * db) + Y * ddb
    R = turn(Z, c).T
    dw: Vector = R @ after_y_derivative - Z.cross(R @ after_y) * dc + Z * ddc
    return dw


def quaternion_rotation(q: Quaternion) -> Rotation:
    """Rotation matrix of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q
    return Rotation(
        Vector(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        Vector(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        Vector(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )


def quaternion_product(p: Quaternion, q: Quaternion) -> Quaternion:
    """The quaternion of R(p) R(q)."""
    u, v = Vector(*p[:3]), Vector(*q[:3])
    vector = v * p[3] + u * q[3] + u.cross(v)
    return (*vector, p[3] * q[3] - u @ v)


def cardan_quaternion(a: Scalar, b: Scalar, c: Scalar) -> Quaternion:
    """The quaternion of `cardan(a, b, c)`."""
    about_x = (sin(a / 2), 0, 0, cos(a / 2))
    about_y = (0, sin(b / 2), 0, cos(b / 2))
    about_z = (0, 0, sin(c / 2), cos(c / 2))
    return quaternion_product(quaternion_product(about_x, about_y), about_z)


TINY = 1e-300  # stands in for a square that is smaller, so that nothing is divided by zero


def rotation_quaternion(R: Rotation) -> Quaternion:
    """The unit quaternion (w >= 0) of a rotation matrix, by its largest component."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R.rows
    squares = (1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz)  # 4 x^2, 4 y^2, 4 z^2, 4 w^2
    columns = (
        (squares[0], xy + yx, xz + zx, zy - yz),
        (xy + yx, squares[1], yz + zy, xz - zx),
        (xz + zx, yz + zy, squares[2], yx - xy),
        (zy - yz, xz - zx, yx - xy, squares[3]),
    )
    largest, chosen = squares[0], columns[0]
    for square, column in zip(squares[1:], columns[1:], strict=True):
        chosen = tuple(select(square - largest, new, old) for new, old in zip(column, chosen, strict=True))
        largest = maximum(largest, square)
    return normalised(tuple(select(-chosen[3], -e, e) for e in chosen))


def normalised(q: Quaternion) -> Quaternion:
    """The quaternion of unit length along q."""
    length = sqrt(sum(e * e for e in q))
    return tuple(e / length for e in q)


def rotation_vector(R: Rotation) -> Vector:
    """Axis times angle (0..pi) of a rotation matrix."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R.rows
    trace = xx + yy + zz
    if isinstance(trace, float) and trace > 2:  # less than pi/3: by sine and cosine, without a quaternion
        axial = Vector((zy - yz) / 2, (xz - zx) / 2, (yx - xy) / 2)
        sine = sqrt(axial @ axial)
        return axial * (atan2(sine, (trace - 1) / 2) / sine) if sine > 0 else axial
    return quaternion_vector(rotation_quaternion(R))


def quaternion_vector(q: Quaternion) -> Vector:
    """Axis times angle (0..pi) of a unit quaternion."""
    v, w = Vector(*q[:3]), q[3]
    half_sine = sqrt(maximum(v @ v, TINY))
    angle = 2 * atan2(half_sine, absolute(w))
    rotation: Vector = v * (select(-w, -angle, angle) / half_sine)
    return rotation


def vector_quaternion(r: Vector) -> Quaternion:
    """The unit quaternion of a rotation vector."""
    angle = sqrt(maximum(r @ r, TINY))
    s = sin(angle / 2) / angle
    return (r.x * s, r.y * s, r.z * s, cos(angle / 2))


def displacement(w: Vector, v: Vector) -> Vector:
    """How far a point gets in a unit of time that moves with v in axes which turn with w, in these axes at first.

    V v = v + (1 - cos a)/a^2 w x v + (a - sin a)/a^3 w x (w x v), a = |w|: the exponential of SE(3). R. Murray, Z. Li,
    S. Sastry, A Mathematical Introduction to Robotic Manipulation, CRC Press 1994, (2.36).
    """
    square, s, c = _half_turn(w)
    across = w.cross(v)
    moved: Vector = v + across * (s * s / 2) + w.cross(across) * ((1 - s * c) / square)
    return moved


def displacement_velocity(w: Vector, d: Vector) -> Vector:
    """The v whose `displacement` is d: V^-1 d = d - w x d / 2 + (1 - a/2 cot(a/2))/a^2 w x (w x d), for a < 2 pi."""
    square, s, c = _half_turn(w)
    across = w.cross(d)
    velocity: Vector = d - across / 2 + w.cross(across) * ((1 - c / s) / square)
    return velocity


def _half_turn(w: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """a^2, sin(a/2) / (a/2) and cos(a/2) of a rotation vector, a = |w|."""
    square = maximum(w @ w, TINY)
    half = sqrt(square) / 2
    return square, sin(half) / half, cos(half)
