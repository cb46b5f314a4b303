"""Spatial motion and force vectors (6-vectors, linear part first): twists, wrenches, momenta, motion subspaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from momentree.spatial.scalar import Scalar
from momentree.spatial.vector import ZERO, Vector


class _Six:
    """What spatial motion and force vectors have in common; the type checker keeps them apart."""

    __slots__ = ("angular", "linear")
    __array_ufunc__ = None

    def __init__(self, linear: Vector, angular: Vector):
        self.linear, self.angular = linear, angular

    @classmethod
    def zero(cls) -> Self:
        return cls(ZERO, ZERO)

    def __iter__(self) -> Iterator[Scalar]:
        yield from self.linear
        yield from self.angular

    def __add__(self, other: Self) -> Self:
        return type(self)(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.linear - other.linear, self.angular - other.angular)

    def __neg__(self) -> Self:
        return type(self)(-self.linear, -self.angular)

    def __mul__(self, s: Scalar) -> Self:
        return type(self)(self.linear * s, self.angular * s)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash((type(self), *self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{tuple(self)}"


class Force(_Six):
    """A spatial force vector: a wrench (force, moment about the origin) or a momentum."""

    __slots__ = ()


class Motion(_Six):
    """A spatial motion vector: a twist (velocity of the origin, angular velocity) or its derivative."""

    __slots__ = ()

    def __matmul__(self, f: Force) -> Scalar:
        """Power of a wrench on a body with this twist."""
        return self.linear @ f.linear + self.angular @ f.angular

    def cross(self, m: Motion) -> Motion:
        """Derivative of a spatial motion vector m that is fixed in a frame moving with this twist."""
        w, v = self.angular, self.linear
        return Motion(w.cross(m.linear) + v.cross(m.angular), w.cross(m.angular))

    def cross_force(self, f: Force) -> Force:
        """Omega f (NOTATION.md): derivative of a wrench or momentum f fixed in a frame moving with this twist."""
        w, v = self.angular, self.linear
        return Force(w.cross(f.linear), v.cross(f.linear) + w.cross(f.angular))


REST = Motion.zero()


class MotionSubspace:
    """The motion subspace of a joint, the matrix A by its columns: `A @ u` is a twist, `A.along(f)` is A' f."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Motion]):
        self.columns = tuple(columns)

    def __matmul__(self, u: Sequence[Scalar]) -> Motion:
        twist = REST
        for column, velocity in zip(self.columns, u, strict=True):
            twist = twist + column * velocity
        return twist

    def along(self, f: Force) -> tuple[Scalar, ...]:
        return tuple(column @ f for column in self.columns)

    def coordinate_axes(self) -> dict[int, tuple[int, int]]:
        """Which of the six coordinate axes are columns: by axis, the number of the column and its sign."""
        axes: dict[int, tuple[int, int]] = {}
        for j, column in enumerate(self.columns):
            components = [*column]
            moving = [k for k, x in enumerate(components) if not isinstance(x, (int, float)) or x != 0]
            if len(moving) == 1 and components[moving[0]] in (1, -1):
                axes[moving[0]] = j, 1 if components[moving[0]] == 1 else -1
        return axes

    def given_along(self, f: Force, values: Sequence[Scalar]) -> Force:
        """f, of which A' f is known: along columns that are coordinate axes these values stand for its components."""
        components = [*f]
        for axis, (j, sign) in self.coordinate_axes().items():
            components[axis] = values[j] if sign > 0 else -values[j]
        return Force(Vector(*components[:3]), Vector(*components[3:]))
