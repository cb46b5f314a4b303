"""Vectors of three scalars of any kind."""

from __future__ import annotations

from collections.abc import Iterator

from momentree.spatial.scalar import Scalar, sqrt


class Vector:
    """Three components: `a + b`, `s * a`, `a @ b` (scalar product), `a.cross(b)`."""

    __slots__ = ("x", "y", "z")
    __array_ufunc__ = None  # so that a NumPy scalar or batch times a vector is left to the vector

    def __init__(self, x: Scalar, y: Scalar, z: Scalar):
        self.x, self.y, self.z = x, y, z

    def __iter__(self) -> Iterator[Scalar]:
        yield self.x
        yield self.y
        yield self.z

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vector:
        return Vector(-self.x, -self.y, -self.z)

    def __mul__(self, s: Scalar) -> Vector:
        return Vector(self.x * s, self.y * s, self.z * s)

    __rmul__ = __mul__

    def __truediv__(self, s: Scalar) -> Vector:
        return Vector(self.x / s, self.y / s, self.z / s)

    def __matmul__(self, other: Vector) -> Scalar:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vector) -> Vector:
        return Vector(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    @property
    def norm(self) -> Scalar:
        return sqrt(self @ self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return False
        return (self.x, self.y, self.z) == (other.x, other.y, other.z)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Vector({self.x}, {self.y}, {self.z})"


ZERO = Vector(0, 0, 0)
X = Vector(1, 0, 0)
Y = Vector(0, 1, 0)
Z = Vector(0, 0, 1)


def normals(n: Vector) -> tuple[Vector, Vector]:
    """Two unit vectors that make a right-handed triad (n1, n2, n) with a unit vector n of numbers; z gives (x, y)."""
    for axis, pair in ((X, (Y, Z)), (Y, (Z, X)), (Z, (X, Y))):
        if n == axis:
            return pair
    e = min((X, Y, Z), key=lambda axis: abs(axis @ n))
    n1 = e - n * (e @ n)
    n1 = n1 / n1.norm
    return n1, n.cross(n1)


def axis_name(n: Vector) -> str:
    """How a person calls a direction: "x", "-z", or its components."""
    for name, axis in (("x", X), ("y", Y), ("z", Z)):
        if n == axis:
            return name
        if n == -axis:
            return f"-{name}"
    return "(" + ", ".join(f"{float(component):.4g}" for component in n) + ")"
