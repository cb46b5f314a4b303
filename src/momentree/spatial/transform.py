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
        return Transform(R, ZERO if self.offset is ZERO else -(R @ self.offset))

    def point(self, r: Vector) -> Vector:
        """A point given in B, in A."""
        if r is ZERO:
            return self.offset
        return self.rotation @ r if self.offset is ZERO else self.offset + self.rotation @ r

    def motion(self, v: Motion) -> Motion:
        """A motion of A (origin and axes of A) as seen at B: (R'(v + w x p); R' w)."""
        R, p = self.rotation.T, self.offset
        linear = v.linear if p is ZERO else v.linear + v.angular.cross(p)
        return Motion(R @ linear, R @ v.angular)

    def motion_to_parent(self, v: Motion) -> Motion:
        """A motion of B as seen at A: (R v + p x R w; R w)."""
        w = self.rotation @ v.angular
        return Motion(self.rotation @ v.linear + self.offset.cross(w), w)

    def force_to_parent(self, f: Force) -> Force:
        """A force at B as it acts at A: (R f; R m + p x R f)."""
        F, M = self.rotation @ f.linear, self.rotation @ f.angular
        return Force(F, M if self.offset is ZERO else M + self.offset.cross(F))

    def force(self, f: Force) -> Force:
        """A force at A as it acts at B: (R' f; R'(m - p x f))."""
        R = self.rotation.T
        return Force(R @ f.linear, R @ (f.angular - self.offset.cross(f.linear)))

    def inertia_to_parent(self, M: RigidInertia) -> RigidInertia:
        """The inertia of a body given at B, at A: its momentum is C' M C v."""
        turned = M.turned(self.rotation)
        return turned if self.offset is ZERO else turned.shifted(self.offset)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and (self.rotation, self.offset) == (other.rotation, other.offset)

    def __hash__(self) -> int:
        return hash((self.rotation, self.offset))

    def __repr__(self) -> str:
        return f"Transform({self.rotation}, {self.offset})"


class ChainTransform:
    """Two placements passed one after the other, X_AB then X_BC: what crosses them is not mixed into one matrix.

    A body stands on its parent by a mount that never changes and by its joint, which often only turns about one axis.
    Passing both in turn costs less than their product.
    """

    __slots__ = ("joint", "mount")

    def __init__(self, mount: Transform, joint: Transform):
        self.mount, self.joint = mount, joint

    def motion(self, v: Motion) -> Motion:
        """A motion of A as seen at C."""
        return self.joint.motion(self.mount.motion(v))

    def force_to_parent(self, f: Force) -> Force:
        """A force at C as it acts at A."""
        return self.mount.force_to_parent(self.joint.force_to_parent(f))

    def inertia_to_parent(self, M: RigidInertia) -> RigidInertia:
        """The inertia of a body given at C, at A."""
        return self.mount.inertia_to_parent(self.joint.inertia_to_parent(M))

    @property
    def whole(self) -> Transform:
        """X_AC."""
        return self.mount @ self.joint
