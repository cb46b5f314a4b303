"""Spatial inertia of a rigid body, ten numbers: mass, first moment, inertia matrix about the origin of a frame."""

from __future__ import annotations

from collections.abc import Iterator

from momentree.spatial.motion import Force, Motion
from momentree.spatial.rotation import IDENTITY, Rotation, Turn
from momentree.spatial.scalar import Scalar
from momentree.spatial.vector import Vector

Symmetric = tuple[Scalar, ...]  # xx, yy, zz, xy, xz, yz


class RigidInertia:
    """Mass m, first moment h = m r_c, inertia J about the frame's origin (xx, yy, zz, xy, xz, yz; J_xy = -sum m x y).

    M = [[m E, -[h x]], [[h x], J]] in the order linear, angular (Ivanov 2022, after (6)).
    """

    __slots__ = ("J", "h", "mass")

    def __init__(self, mass: Scalar, h: Vector, J: Symmetric):
        self.mass, self.h, self.J = mass, h, J

    @classmethod
    def about_centre(cls, mass: Scalar, centre: Vector, J: Symmetric) -> RigidInertia:
        """From the inertia about the centre of mass, which is at `centre` in the frame."""
        return cls(mass, Vector(0, 0, 0), J).shifted(centre)

    def __add__(self, other: RigidInertia) -> RigidInertia:
        J = tuple(a + b for a, b in zip(self.J, other.J, strict=True))
        return RigidInertia(self.mass + other.mass, self.h + other.h, J)

    def __mul__(self, share: Scalar) -> RigidInertia:
        """The body with all its masses times `share`."""
        return RigidInertia(self.mass * share, self.h * share, tuple(a * share for a in self.J))

    def __matmul__(self, v: Motion) -> Force:
        """Momentum M v = (m v + w x h; J w + h x v)."""
        return Force(v.linear * self.mass + v.angular.cross(self.h), self.turning(v.angular) + self.h.cross(v.linear))

    @property
    def pseudo(self) -> Symmetric:
        """K = tr(J)/2 E - J about the origin: the second moments of the mass, K_xx = sum m x x, K_xy = sum m x y."""
        xx, yy, zz, xy, xz, yz = self.J
        return (yy + zz - xx) / 2, (xx + zz - yy) / 2, (xx + yy - zz) / 2, -xy, -xz, -yz

    def turning(self, w: Vector) -> Vector:
        """J w."""
        return symmetric_product(self.J, w)

    def turned(self, R: Rotation) -> RigidInertia:
        """The same body in axes turned by R (new components = R times old): J -> R J R'."""
        return self if R is IDENTITY else RigidInertia(self.mass, R @ self.h, turned_symmetric(R, self.J))

    def shifted(self, p: Vector) -> RigidInertia:
        """At an origin from which the old one is at p: J + (2 h.p + m p.p) E - h p' - p h' - m p p'."""
        moved, change = shifted_moments(self.mass, self.h, p)
        xx, yy, zz, xy, xz, yz = self.J
        x, y, z = next(change), next(change), next(change)
        J = (xx + (y + z), yy + (x + z), zz + (x + y), xy - next(change), xz - next(change), yz - next(change))
        return RigidInertia(self.mass, moved, J)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RigidInertia) and (self.mass, self.h, self.J) == (other.mass, other.h, other.J)

    def __hash__(self) -> int:
        return hash((self.mass, self.h, self.J))

    def __repr__(self) -> str:
        return f"RigidInertia({self.mass}, {self.h}, {self.J})"


# entries of a Symmetric: those of the plane that a turn about x, y, z moves (aa, bb, ab), and those across (ca, cb)
_PLANES = (((1, 2, 5), (3, 4)), ((2, 0, 4), (5, 3)), ((0, 1, 3), (4, 5)))


def shifted_moments(m: Scalar, h: Vector, p: Vector) -> tuple[Vector, Iterator[Scalar]]:
    """At an origin from which the old one is at p: h + m p, and the change of K, h p' + p h' + m p p'."""
    moved = h + p * m

    def entries() -> Iterator[Scalar]:
        for h_i, p_i in zip(h, p, strict=True):
            yield h_i * (p_i + p_i) + m * (p_i * p_i)  # the constants in it are together
        yield h.x * p.y + moved.y * p.x
        yield h.x * p.z + moved.z * p.x
        yield h.y * p.z + moved.z * p.y

    return moved, entries()


def symmetric_product(J: Symmetric, w: Vector) -> Vector:
    """J w."""
    xx, yy, zz, xy, xz, yz = J
    return Vector(xx * w.x + xy * w.y + xz * w.z, xy * w.x + yy * w.y + yz * w.z, xz * w.x + yz * w.y + zz * w.z)


def turned_symmetric(R: Rotation, J: Symmetric) -> Symmetric:
    """R J R'."""
    if isinstance(R, Turn):
        return _turned_about_axis(R, J)
    a, b, c = R.rows
    Ja, Jb, Jc = (symmetric_product(J, row) for row in R.rows)
    return a @ Ja, b @ Jb, c @ Jc, a @ Jb, a @ Jc, b @ Jc


def _turned_about_axis(R: Turn, J: Symmetric) -> Symmetric:
    """R J R' of a turn, by g = s (Jaa - Jbb) + 2 c Jab: Jaa - s g, Jbb + s g, c g - Jab."""
    (aa, bb, ab), (ca, cb) = _PLANES[R.axis]
    c, s = R.c, R.s
    g = s * (J[aa] - J[bb]) + (c + c) * J[ab]
    turned = list(J)
    turned[aa], turned[bb], turned[ab] = J[aa] - s * g, J[bb] + s * g, c * g - J[ab]
    turned[ca], turned[cb] = c * J[ca] - s * J[cb], s * J[ca] + c * J[cb]
    return tuple(turned)
