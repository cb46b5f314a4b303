"""Spatial algebra on any scalar: vectors, rotations, motion and force vectors, inertias, transforms."""

from momentree.spatial.inertia import RigidInertia
from momentree.spatial.motion import REST, Force, Motion, MotionSubspace
from momentree.spatial.rotation import IDENTITY, Rotation, turn
from momentree.spatial.scalar import Scalar
from momentree.spatial.transform import ChainTransform, Transform
from momentree.spatial.vector import ZERO, Vector, X, Y, Z

__all__ = [
    "IDENTITY",
    "REST",
    "ZERO",
    "ChainTransform",
    "Force",
    "Motion",
    "MotionSubspace",
    "RigidInertia",
    "Rotation",
    "Scalar",
    "Transform",
    "Vector",
    "X",
    "Y",
    "Z",
    "turn",
]
