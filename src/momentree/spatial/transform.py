"""Where a frame stands in another, and what that does to motions, forces and inertias."""

from __future__ import annotations

from momentree.spatial.inertia import RigidInertia
from momentree.spatial.motion import Force, Motion
from momentree.spatial.rotation import IDENTITY, Rotation
from momentree.spatial.vector import ZERO, Vector


class Transform:
    """Placement X_AB of frame B in frame A: rotation R_AB and offset p of B's origin, in axes of A.

    `X_AB @ X_BC` is X_AC. For a body B on its parent A, `motion` is C of NOTATION.md, `force_to_parent` is C'.
    """

    __slots__ = ("offset", "rotation")

    def __init__(self, rotation: Rotation = IDENTITY, offset: Vector = ZERO):
        self.rotation, self.offset = rotation, offset

    def __matmul__(self, other: Transform) -> Transform:
        return Transform(self.rotation @ other.rotation, self.point(other.offset))

    def inverse(self) -> Transform:
        R = self.rotation.T
        return Transform(R, -(R @ self.offset))

    def point(self, r: Vector) -> Vector:
        """A point given in B, in A."""
        return self.offset + self.rotation @ r

    def motion(self, v: Motion) -> Motion:
        """A motion of A (origin and axes of A) as seen at B: (R'(v + w x p); R' w)."""
        R = self.rotation.T
        return Motion(R @ (v.linear + v.angular.cross(self.offset)), R @ v.angular)

    def motion_to_parent(self, v: Motion) -> Motion:
        """A motion of B as seen at A: (R v + p x R w; R w)."""
        w = self.rotation @ v.angular
        return Motion(self.rotation @ v.linear + self.offset.cross(w), w)

    def force_to_parent(self, f: Force) -> Force:
        """A force at B as it acts at A: (R f; R m + p x R f)."""
        F = self.rotation @ f.linear
        return Force(F, self.rotation @ f.angular + self.offset.cross(F))

    def force(self, f: Force) -> Force:
        """A force at A as it acts at B: (R' f; R'(m - p x f))."""
        R = self.rotation.T
        return Force(R @ f.linear, R @ (f.angular - self.offset.cross(f.linear)))

    def inertia_to_parent(self, M: RigidInertia) -> RigidInertia:
        """The inertia of a body given at B, at A: its momentum is C' M C v."""
        return M.turned(self.rotation).shifted(self.offset)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and (self.rotation, self.offset) == (other.rotation, other.offset)

    def __hash__(self) -> int:
        return hash((self.rotation, self.offset))

    def __repr__(self) -> str:
        return f"Transform({self.rotation}, {self.offset})"
