"""Rotations and joints in plain NumPy: what the campaign draws mechanisms with and the oracle places bodies by.

Nothing here comes from the library. `R` takes components in the turned frame to those in the fixed one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LETTERS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
COORDINATES = {
    "Revolute": 1,
    "Prismatic": 1,
    "Screw": 1,
    "Cylindrical": 2,
    "PinSlot": 2,
    "Universal": 2,
    "Spherical": 4,
    "Planar": 3,
    "Free": 7,
    "Fixed": 0,
}
FREEDOM = {**COORDINATES, "Spherical": 3, "Free": 6}
ANGLES = {"Revolute": (0,), "Screw": (), "Cylindrical": (1,), "PinSlot": (1,), "Universal": (0, 1), "Planar": (2,)}


def skew(a: Array) -> Array:
    """The matrix of a x."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a: Array, b: Array) -> Array:
    """a x b; np.cross is slow on single vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def turn(n: Array, angle: float) -> Array:
    """Rodrigues: the rotation by an angle about a unit axis."""
    N = skew(n)
    return np.eye(3) + math.sin(angle) * N + (1 - math.cos(angle)) * (N @ N)


def from_quaternion(q: Any) -> Array:
    """Of (x, y, z, w), which need not be of unit length."""
    x, y, z, w = np.asarray(q, dtype=float) / np.linalg.norm(q)
    u = np.array([x, y, z])
    return (w * w - u @ u) * np.eye(3) + 2 * np.outer(u, u) + 2 * w * skew(u)


def to_quaternion(R: Array) -> Array:
    """(x, y, z, w), w not negative: the eigenvector of the largest eigenvalue of Bar-Itzhack's matrix."""
    (a, b, c), (d, e, f), (g, h, i) = R
    K = np.array(
        [
            [a - e - i, d + b, g + c, h - f],
            [d + b, e - a - i, h + f, c - g],
            [g + c, h + f, i - a - e, d - b],
            [h - f, c - g, d - b, a + e + i],
        ]
    )
    q = np.linalg.eigh(K)[1][:, -1]
    return q if q[3] >= 0 else -q


def unit(a: Any) -> Array:
    a = np.asarray(a, dtype=float)
    a = a / np.abs(a).max()
    return a / np.linalg.norm(a)


def axis_of(raw: Any) -> Array:
    """A unit vector from "x", "-z" or three numbers."""
    if isinstance(raw, str):
        return np.array(LETTERS[raw[-1]]) * (-1.0 if raw[0] == "-" else 1.0)
    return unit(raw)


def plane_of(n: Array) -> tuple[Array, Array]:
    """The two directions of slides in a plane with this normal: y and z for x, and so on (NOTATION.md)."""
    for i in range(3):
        if n[i] == 1.0:
            return np.eye(3)[(i + 1) % 3], np.eye(3)[(i + 2) % 3]
    e = np.eye(3)[int(np.abs(n).argmin())]
    n1 = e - n * (e @ n)
    n1 = n1 / np.linalg.norm(n1)
    return n1, cross(n, n1)


def angle_about(n: Array, R: Array) -> float:
    """The angle of a turn about n."""
    axial = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return math.atan2(n @ axial, np.trace(R) - n @ R @ n)


# --- joints: how the second frame M stands and moves in the first, F ---


def placed(kind: str, axes: list[Array], pitch: float, q: Any) -> tuple[Array, Array]:
    """The position of M's origin in F and the rotation from M to F."""
    still, upright = np.zeros(3), np.eye(3)
    match kind:
        case "Revolute":
            return still, turn(axes[0], q[0])
        case "Prismatic":
            return axes[0] * q[0], upright
        case "Screw":
            return axes[0] * (pitch * q[0] / (2 * math.pi)), turn(axes[0], q[0])
        case "Cylindrical":
            return axes[0] * q[0], turn(axes[0], q[1])
        case "PinSlot":
            return axes[0] * q[0], turn(axes[1], q[1])
        case "Universal":
            return still, turn(axes[0], q[0]) @ turn(axes[1], q[1])
        case "Spherical":
            return still, from_quaternion(q)
        case "Planar":
            n1, n2 = plane_of(axes[0])
            return n1 * q[0] + n2 * q[1], turn(axes[0], q[2])
        case "Free":
            return np.asarray(q[:3], dtype=float), from_quaternion(q[3:])
        case "Fixed":
            return still, upright
    raise ValueError(kind)


def fitted(kind: str, axes: list[Array], pitch: float, x: Array, R: Array) -> tuple[float, ...]:
    """The coordinates at which M stands so: angles from -pi to pi, a screw's by its advance."""
    match kind:
        case "Revolute":
            return (angle_about(axes[0], R),)
        case "Prismatic":
            return (float(axes[0] @ x),)
        case "Screw":
            return (float(axes[0] @ x) * 2 * math.pi / pitch,)
        case "Cylindrical" | "PinSlot":
            return float(axes[0] @ x), angle_about(axes[-1], R)
        case "Universal":
            a, b = axes
            first = math.atan2(a @ cross(b, R @ b), b @ R @ b - (a @ b) * (a @ R @ b))
            return first, angle_about(b, turn(a, -first) @ R)
        case "Spherical":
            return tuple(to_quaternion(R))
        case "Planar":
            n1, n2 = plane_of(axes[0])
            return float(n1 @ x), float(n2 @ x), angle_about(axes[0], R)
        case "Free":
            return (*x, *to_quaternion(R))
    return ()


class AllowedMotion(NamedTuple):
    """The motion subspace S of a joint at coordinates q, and its bias acceleration at velocities u, in the axes of F.

    | field | shape | meaning                                                                                    |
    |-------|-------|--------------------------------------------------------------------------------------------|
    | S     | 6 x n | velocity of M's origin and angular velocity, as seen from F, by each velocity of the joint |
    | rest  | 6     | bias: the acceleration at constant joint velocities                                        |
    """

    S: Array
    rest: Array


def allowed_motion(kind: str, axes: list[Array], pitch: float, R: Array, q: Any, u: Any) -> AllowedMotion:
    """Derivatives of `placed`; the velocities of balls and free bodies are in the axes of M."""
    S, rest = np.zeros((6, FREEDOM[kind])), np.zeros(6)
    match kind:
        case "Revolute":
            S[3:, 0] = axes[0]
        case "Prismatic":
            S[:3, 0] = axes[0]
        case "Screw":
            S[:3, 0], S[3:, 0] = axes[0] * (pitch / (2 * math.pi)), axes[0]
        case "Cylindrical" | "PinSlot":
            S[:3, 0], S[3:, 1] = axes[0], axes[-1]
        case "Universal":
            carried = turn(axes[0], q[0]) @ axes[1]
            S[3:, 0], S[3:, 1] = axes[0], carried
            rest[3:] = cross(axes[0] * u[0], carried * u[1])
        case "Spherical":
            S[3:] = R
        case "Planar":
            n1, n2 = plane_of(axes[0])
            S[:3, 0], S[:3, 1], S[3:, 2] = n1, n2, axes[0]
        case "Free":
            S[:3, :3] = S[3:, 3:] = R
            rest[:3] = R @ cross(np.asarray(u[3:]), np.asarray(u[:3]))
    return AllowedMotion(S, rest)
