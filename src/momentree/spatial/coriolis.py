"""Coriolis operator of moving mass: what a change of its placement adds to the force of a changing twist.

Partial velocities of a particle at r, by two velocities i and j of a mechanism, are a + b x r with the twist (a; b).
They change because twists change, and because the particle moves with the velocity v_r of its body:

    C_ij = sum of dm (a_i + b_i x r) . d/dt (a_j + b_j x r) ,
    d/dt (a_j + b_j x r) = (a_j' + b_j' x r) + b_j x v_r ,

where (a'; b') is the change of the spatial vector. Summed over the mass, the first part is the momentum M (a_j'; b_j').
The second is B (a_j; b_j), with the linear momentum f and the second moments K = sum m r r' of the mass,

    B = [[0, -f~], [0, N]] ,   f = m v + w x h ,   N = (h.v) E - v h' - w~ K ,                              (1)

of a body with the twist (v; w), at the origin of its frame, in its axes. docs/theory/coriolis.md.
"""

from __future__ import annotations

from momentree.spatial.articulated import Rows, turned_rows
from momentree.spatial.inertia import RigidInertia
from momentree.spatial.motion import Force, Motion
from momentree.spatial.rotation import IDENTITY
from momentree.spatial.transform import ChainTransform, Transform
from momentree.spatial.vector import ZERO, Vector, X, Y, Z


class CoriolisOperator:
    """B of (1) by f and the rows of N: `B @ motion` is a wrench; `B + B`, `B.to_parent(X)` as inertias have them."""

    __slots__ = ("N", "f")

    def __init__(self, f: Vector, N: Rows):
        self.f, self.N = f, N

    @classmethod
    def of(cls, M: RigidInertia, v: Motion) -> CoriolisOperator:
        """Of a body with the inertia M that moves with the twist v: (1)."""
        xx, yy, zz, xy, xz, yz = M.pseudo
        columns = (Vector(xx, xy, xz), Vector(xy, yy, yz), Vector(xz, yz, zz))
        a, b, c = (
            e * (M.h @ v.linear) - v.linear * h - v.angular.cross(column)
            for e, h, column in zip((X, Y, Z), M.h, columns, strict=True)
        )
        f = v.linear * M.mass + v.angular.cross(M.h)
        return cls(f, (Vector(a.x, b.x, c.x), Vector(a.y, b.y, c.y), Vector(a.z, b.z, c.z)))

    def __add__(self, other: CoriolisOperator) -> CoriolisOperator:
        a, b, c = (one + two for one, two in zip(self.N, other.N, strict=True))
        return CoriolisOperator(self.f + other.f, (a, b, c))

    def __matmul__(self, motion: Motion) -> Force:
        """B (a; b) = (b x f; N b)."""
        b = motion.angular
        return Force(b.cross(self.f), Vector(*(row @ b for row in self.N)))

    def transposed(self, motion: Motion) -> Force:
        """B' (a; b) = (0; f x a + N' b)."""
        (p, q, r), b = self.N, motion.angular
        return Force(ZERO, self.f.cross(motion.linear) + p * b.x + q * b.y + r * b.z)

    def to_parent(self, X_PB: ChainTransform) -> CoriolisOperator:
        """At the parent, through the joint and then the mount."""
        return self.moved(X_PB.joint).moved(X_PB.mount)

    def moved(self, X_AB: Transform) -> CoriolisOperator:
        """C' B C: turned, then moved by p: N + (p.f) E - f p'."""
        R, p = X_AB.rotation, X_AB.offset
        f, N = (self.f, self.N) if R is IDENTITY else (R @ self.f, turned_rows(R, self.N))
        if p is ZERO:
            return CoriolisOperator(f, N)
        along = p @ f
        a, b, c = (row + e * along - p * x for row, e, x in zip(N, (X, Y, Z), f, strict=True))
        return CoriolisOperator(f, (a, b, c))
