"""Placement of one frame in another, and the transformation of twists, wrenches and inertias between them."""

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
        """Coordinates in A of a point with coordinates r in B."""
        if r is ZERO:
            return self.offset
        return self.rotation @ r if self.offset is ZERO else self.offset + self.rotation @ r

    def motion(self, v: Motion) -> Motion:
        """A twist at A, transformed to B: (R'(v + w x p); R' w)."""
        R, p = self.rotation.T, self.offset
        linear = v.linear if p is ZERO else v.linear + v.angular.cross(p)
        return Motion(R @ linear, R @ v.angular)

    def motion_to_parent(self, v: Motion) -> Motion:
        """A twist at B, transformed to A: (R v + p x R w; R w)."""
        w = self.rotation @ v.angular
        return Motion(self.rotation @ v.linear + self.offset.cross(w), w)

    def force_to_parent(self, f: Force) -> Force:
        """A wrench at B, transformed to A: (R f; R m + p x R f)."""
        F, M = self.rotation @ f.linear, self.rotation @ f.angular
        return Force(F, M if self.offset is ZERO else M + self.offset.cross(F))

    def force(self, f: Force) -> Force:
        """A wrench at A, transformed to B: (R' f; R'(m - p x f))."""
        R = self.rotation.T
        return Force(R @ f.linear, R @ (f.angular - self.offset.cross(f.linear)))

    def inertia_to_parent(self, M: RigidInertia) -> RigidInertia:
        """An inertia at B, transformed to A: the momentum is C' M C v."""
        turned = M.turned(self.rotation)
        return turned if self.offset is ZERO else turned.shifted(self.offset)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and (self.rotation, self.offset) == (other.rotation, other.offset)

    def __hash__(self) -> int:
        return hash((self.rotation, self.offset))

    def __repr__(self) -> str:
        return f"Transform({self.rotation}, {self.offset})"


class ChainTransform:
    """Two placements applied one after the other, X_AB then X_BC, without their product.

    A body is placed on its parent by a constant mount and by its joint, which often only turns about one axis.
    Applying both in turn costs less than applying their product.
    """

    __slots__ = ("joint", "mount")

    def __init__(self, mount: Transform, joint: Transform):
        self.mount, self.joint = mount, joint

    def motion(self, v: Motion) -> Motion:
        """A twist at A, transformed to C."""
        return self.joint.motion(self.mount.motion(v))

    def force_to_parent(self, f: Force) -> Force:
        """A wrench at C, transformed to A."""
        return self.mount.force_to_parent(self.joint.force_to_parent(f))

    def inertia_to_parent(self, M: RigidInertia) -> RigidInertia:
        """An inertia at C, transformed to A."""
        return self.mount.inertia_to_parent(self.joint.inertia_to_parent(M))

    @property
    def whole(self) -> Transform:
        """X_AC."""
        return self.mount @ self.joint
