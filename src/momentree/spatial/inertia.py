"""The inertia of a rigid body at a frame: ten numbers."""

from __future__ import annotations

from momentree.spatial.motion import Force, Motion
from momentree.spatial.rotation import IDENTITY, Rotation
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
        """From the inertia about the centre of mass, which stands at `centre` in the frame."""
        return cls(mass, Vector(0, 0, 0), J).shifted(centre)

    def __add__(self, other: RigidInertia) -> RigidInertia:
        J = tuple(a + b for a, b in zip(self.J, other.J, strict=True))
        return RigidInertia(self.mass + other.mass, self.h + other.h, J)

    def __mul__(self, share: Scalar) -> RigidInertia:
        """The same body made of `share` times as much of everything."""
        return RigidInertia(self.mass * share, self.h * share, tuple(a * share for a in self.J))

    def __matmul__(self, v: Motion) -> Force:
        """Momentum M v = (m v + w x h; J w + h x v)."""
        return Force(v.linear * self.mass + v.angular.cross(self.h), self.turning(v.angular) + self.h.cross(v.linear))

    def turning(self, w: Vector) -> Vector:
        """J w."""
        xx, yy, zz, xy, xz, yz = self.J
        return Vector(xx * w.x + xy * w.y + xz * w.z, xy * w.x + yy * w.y + yz * w.z, xz * w.x + yz * w.y + zz * w.z)

    def turned(self, R: Rotation) -> RigidInertia:
        """The same body in axes turned by R (new components = R times old): J -> R J R'."""
        if R is IDENTITY:
            return self
        a, b, c = R.rows
        Ja, Jb, Jc = self.turning(a), self.turning(b), self.turning(c)
        return RigidInertia(self.mass, R @ self.h, (a @ Ja, b @ Jb, c @ Jc, a @ Jb, a @ Jc, b @ Jc))

    def shifted(self, p: Vector) -> RigidInertia:
        """At an origin from which the old one stands at p: J + (2 h.p + m p.p) E - h p' - p h' - m p p'."""
        m, h = self.mass, self.h
        g = h * 2 + p * m  # J grows by g.p E - (g p' + p g') / 2
        s = g @ p
        xx, yy, zz, xy, xz, yz = self.J
        return RigidInertia(
            m,
            h + p * m,
            (
                xx + s - g.x * p.x,
                yy + s - g.y * p.y,
                zz + s - g.z * p.z,
                xy - (h.x * p.y + h.y * p.x + m * p.x * p.y),
                xz - (h.x * p.z + h.z * p.x + m * p.x * p.z),
                yz - (h.y * p.z + h.z * p.y + m * p.y * p.z),
            ),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RigidInertia) and (self.mass, self.h, self.J) == (other.mass, other.h, other.J)

    def __hash__(self) -> int:
        return hash((self.mass, self.h, self.J))

    def __repr__(self) -> str:
        return f"RigidInertia({self.mass}, {self.h}, {self.J})"
