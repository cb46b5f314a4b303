"""MovingFrame: a frame of a body that moves, as forces see it.

Quantities are computed when they are asked for, so that a tape records those that a force uses and no others. A formula
that is written with moving frames runs on floats, batches, symbols, dual numbers and tapes.
"""

from __future__ import annotations

from typing import Protocol

from momentree.spatial.motion import Force, Motion
from momentree.spatial.rotation import Rotation
from momentree.spatial.scalar import Scalar
from momentree.spatial.transform import Transform
from momentree.spatial.vector import Vector


class MovingBody(Protocol):
    """Its placement in inertial space and, where it moves, its twist in its own axes."""

    X_0: Transform
    v: Motion


class MovingFrame:
    """A frame F of a body B; all vectors are in inertial axes but those of `twist`, `wrench` and `power`."""

    __slots__ = ("body", "ground", "placement")

    def __init__(self, body: MovingBody, placement: Transform, ground: MovingBody):
        self.body, self.placement, self.ground = body, placement, ground

    @property
    def origin(self) -> Vector:
        return self.body.X_0.point(self.placement.offset)

    @property
    def rotation(self) -> Rotation:
        """From axes of F to inertial ones."""
        R: Rotation = self.body.X_0.rotation @ self.placement.rotation
        return R

    def direction(self, n: Vector) -> Vector:
        """A vector in axes of F."""
        d: Vector = self.body.X_0.rotation @ (self.placement.rotation @ n)
        return d

    @property
    def velocity(self) -> Vector:
        """Of the origin."""
        v = self.body.v
        velocity: Vector = self.body.X_0.rotation @ (v.linear + v.angular.cross(self.placement.offset))
        return velocity

    @property
    def angular_velocity(self) -> Vector:
        w: Vector = self.body.X_0.rotation @ self.body.v.angular
        return w

    @property
    def twist(self) -> Motion:
        """Of F, at its origin and in its axes."""
        return self.placement.motion(self.body.v)

    # --- what acts on the body: wrenches in axes of B, at its origin ---

    def force(self, force: Vector, arm: Vector | None = None) -> Force:
        """A force at the origin, or at the end of an arm from there."""
        to_body = self.body.X_0.rotation.T
        f, r = to_body @ force, self.placement.offset
        return Force(f, (r if arm is None else r + to_body @ arm).cross(f))

    def wrench(self, wrench: Force) -> Force:
        """A force and a moment in axes of F, at its origin."""
        return self.placement.force_to_parent(wrench)

    def power(self, wrench: Force) -> Scalar:
        """Of a wrench on the body, as `force` and `wrench` give it."""
        return self.body.v @ wrench
