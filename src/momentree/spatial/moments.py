"""The moments of a body's mass, of order 0, 1 and 2: the same ten numbers as a rigid inertia, in another order.

They are sums over the mass, so they are cheaper to move than moments of inertia, and may be shared out between bodies.
"""

from __future__ import annotations

from momentree.spatial.inertia import RigidInertia, Symmetric, shifted_moments, turned_symmetric
from momentree.spatial.motion import Force, Motion
from momentree.spatial.rotation import IDENTITY, Rotation
from momentree.spatial.scalar import Scalar
from momentree.spatial.vector import Vector


class MassMoments:
    """m = sum m, h = sum m r, K = sum m r r' (xx, yy, zz, xy, xz, yz), so that J = tr(K) E - K."""

    __slots__ = ("h", "mass", "pseudo")

    def __init__(self, mass: Scalar, h: Vector, pseudo: Symmetric):
        self.mass, self.h, self.pseudo = mass, h, pseudo

    @classmethod
    def of(cls, M: RigidInertia) -> MassMoments:
        return cls(M.mass, M.h, M.pseudo)

    @property
    def J(self) -> Symmetric:
        """The inertia about the origin."""
        xx, yy, zz, xy, xz, yz = self.pseudo
        return yy + zz, xx + zz, xx + yy, -xy, -xz, -yz

    def __add__(self, other: MassMoments) -> MassMoments:
        K = tuple(a + b for a, b in zip(self.pseudo, other.pseudo, strict=True))
        return MassMoments(self.mass + other.mass, self.h + other.h, K)

    def __sub__(self, other: MassMoments) -> MassMoments:
        K = tuple(a - b for a, b in zip(self.pseudo, other.pseudo, strict=True))
        return MassMoments(self.mass - other.mass, self.h - other.h, K)

    def __matmul__(self, v: Motion) -> Force:
        """Momentum, as of the rigid inertia with these moments."""
        return RigidInertia(self.mass, self.h, self.J) @ v

    def turned(self, R: Rotation) -> MassMoments:
        """In axes turned by R: R h, R K R'."""
        return self if R is IDENTITY else MassMoments(self.mass, R @ self.h, turned_symmetric(R, self.pseudo))

    def shifted(self, p: Vector) -> MassMoments:
        """At an origin from which the old one stands at p: h + m p, K + h p' + p h' + m p p'."""
        moved, change = shifted_moments(self.mass, self.h, p)
        K = tuple(a + b for a, b in zip(self.pseudo, list(change), strict=True))
        return MassMoments(self.mass, moved, K)
