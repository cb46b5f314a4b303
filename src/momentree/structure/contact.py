"""Contact: a point, ball or disc of one body pressed against a plane or ball of another, with friction.

With the depth d (m, positive inside), p = max(d, 0), and the approach velocity d', the normal force is

    linear           N = max(0, k p + c d' min(1, p / ramp))                                                (1)
    hunt-crossley    N = k p^n max(0, 1 + 3/2 c d')                                                         (2)

Both begin at zero when the bodies touch, and never pull. (2) is Hunt and Crossley 1975 (J. Appl. Mech. 42, 440-445):
its damping grows with depth as the elastic force does, and an impact at the speed v has the coefficient of
restitution 1 - c v, to first order. Friction opposes the velocity w with which the first body slides on the second,

    F = -mu N tanh(|w| / slip) w / |w| .                                                                    (3)

All vectors are resolved in the frame `against`. The force acts on both bodies at one point of the line through the
deepest point along the normal: on the plane, or where it divides the depth in the ratio of the radii of two balls.
The code is branch-free and runs on any scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from momentree.spatial import ZERO, Force, Scalar, Vector, Z
from momentree.spatial.moving_frame import MovingFrame
from momentree.spatial.scalar import maximum, minimum, sqrt, tanh
from momentree.spatial.vector import X
from momentree.structure.force_element import ForceElement, Names, WorkTerm
from momentree.structure.parts import Attached

if TYPE_CHECKING:
    import numpy as np

NO_LENGTH = 1e-12  # m: a shorter vector has no direction
AT_REST = 1e-8  # of the slip velocity: below, tanh(x) / x is 1 to round-off


class ContactGeometry(NamedTuple):
    """Geometry of a contact.

    | field  | meaning                                                                      |
    |--------|------------------------------------------------------------------------------|
    | depth  | m, positive inside                                                           |
    | normal | unit vector from the second body to the first                                |
    | arm    | from the centre of the first shape to the contact point                      |
    | point  | contact point, where the force acts                                          |
    """

    depth: Scalar
    normal: Vector
    arm: Vector
    point: Vector


class ContactState(NamedTuple):
    """Velocities of a contact, and the normal and friction forces on the first body.

    | field    | meaning                                                |
    |----------|--------------------------------------------------------|
    | approach | m/s, d'                                                |
    | N        | N, normal force                                        |
    | sliding  | m/s, velocity of the first body along the second       |
    | friction | N, against the sliding                                 |
    """

    geometry: ContactGeometry
    approach: Scalar
    N: Scalar
    sliding: Vector
    friction: Vector

    @property
    def force(self) -> Vector:
        """Normal force and friction together."""
        force: Vector = self.geometry.normal * self.N + self.friction
        return force


@dataclass(frozen=True)
class Contact(ForceElement):
    """A contact, fields as in `model.elements.Contact`; the law "linear" has the exponent 1."""

    kind = "contact"

    frame: Attached
    against: Attached
    law: str
    stiffness: Scalar
    damping: Scalar
    exponent: Scalar
    ramp: Scalar | None
    friction: Scalar
    slip: Scalar
    radius: Scalar
    disc: Vector | None
    ball: Scalar | None

    @classmethod
    def random(cls, frames: Sequence[Attached], generator: np.random.Generator) -> Self:
        """A ball so large that it touches a plane or ball, or a disc on a plane."""
        names = ("stiffness", "damping", "ramp", "friction")
        fields: dict[str, Any] = {name: float(generator.uniform(0.5, 2.0)) for name in names}
        fields["law"], fields["exponent"] = (("linear", 1), ("hunt-crossley", 1.5))[int(generator.integers(2))]
        fields["disc"], fields["ball"] = ((None, None), (X, None), (None, 0.7))[int(generator.integers(3))]
        fields["frame"], fields["against"] = frames[:2]
        return cls(name="contact 1", where="", slip=0.1, radius=8.0, **fields)

    # --- the laws, on numbers ---

    def normal_force(self, depth: Scalar, approach: Scalar) -> Scalar:
        """(1) or (2)."""
        p = maximum(depth, 0)
        if self.law == "linear":
            return unilateral_force(self.stiffness, self.damping, self.ramp, p, approach)
        return self.elastic_force(depth) * maximum(1 + 3 * self.damping * approach / 2, 0)

    def elastic_force(self, depth: Scalar) -> Scalar:
        """k p^n, the part of the normal force that has a potential; n = 1 if the law is linear."""
        return self.stiffness * maximum(depth, 0) ** self.exponent

    def elastic_energy(self, depth: Scalar) -> Scalar:
        """k p^(n + 1) / (n + 1). J"""
        n = self.exponent + 1
        return self.stiffness * maximum(depth, 0) ** n / n

    def friction_force(self, N: Scalar, sliding: Vector) -> Vector:
        """(3), smooth also at sticking, where the sliding velocity vanishes."""
        if self.friction == 0:
            return ZERO
        least = self.slip * AT_REST
        speed = sqrt(maximum(sliding @ sliding, least * least))
        force: Vector = sliding * (-self.friction * N * tanh(speed / self.slip) / speed)
        return force

    # --- on the bodies ---

    def geometry(self, ends: Sequence[MovingFrame]) -> ContactGeometry:
        """Depth, normal and contact point, from the nearest points of both shapes; of a disc it is one of its rim.

        A disc that lies flat on the plane has no nearest point: its centre serves.
        """
        first, second = ends
        R = second.rotation
        centre = R.T @ (first.origin - second.origin)
        rim, radius = ZERO, self.radius  # from the centre to the nearest point of the disc, and the ball around that
        if self.disc is not None:
            axis = R.T @ first.direction(self.disc)
            towards = -Z if self.ball is None else -centre
            towards = towards - axis * (axis @ towards)
            rim, radius = towards * (self.radius / _length(towards)), 0
        nearest = centre + rim
        if self.ball is None:
            normal, distance, share = Z, nearest.z, 1
        else:
            length = _length(nearest)
            normal, distance = nearest / length, length - self.ball
            share = self.ball / (self.ball + self.radius)
        depth = radius - distance
        arm = rim + normal * (depth * share - radius)
        return ContactGeometry(depth, normal, arm, centre + arm)

    def state(self, ends: Sequence[MovingFrame]) -> ContactState:
        """Forces, and the velocities that they depend on."""
        geometry = self.geometry(ends)
        first, second = ends
        R = second.rotation.T
        v = R @ first.velocity + (R @ first.angular_velocity).cross(geometry.arm)
        ground = second.twist
        relative = v - ground.linear - ground.angular.cross(geometry.point)
        approach = -(geometry.normal @ relative)
        N = self.normal_force(geometry.depth, approach)
        sliding = relative + geometry.normal * approach
        return ContactState(geometry, approach, N, sliding, self.friction_force(N, sliding))

    def force(self, ends: Sequence[MovingFrame]) -> Vector:
        """Normal force and friction on the first body, in inertial axes."""
        return ends[1].rotation @ self.state(ends).force

    def wrenches(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Force, ...]:
        """Opposite forces at one point."""
        first, second = ends
        state, R = self.state(ends), second.rotation
        on_plane = Force(state.force, state.geometry.point.cross(state.force))
        return first.force(R @ state.force, R @ state.geometry.arm), -second.wrench(on_plane)

    def potential(self, ends: Sequence[MovingFrame]) -> Scalar:
        return self.elastic_energy(self.geometry(ends).depth)

    @property
    def works(self) -> tuple[WorkTerm, ...]:
        pressed = WorkTerm(self.title, "contact", stores=True, loses=self.damping != 0)
        return (pressed, WorkTerm(f"friction of {self.title}", "friction")) if self.friction != 0 else (pressed,)

    def powers(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Scalar, ...]:
        """Of the normal force, and of friction."""
        state = self.state(ends)
        pressed = -state.N * state.approach
        return (pressed, state.friction @ state.sliding) if self.friction != 0 else (pressed,)

    def arrow(self, ends: Sequence[MovingFrame], names: Names) -> tuple[Vector, Vector]:
        _, second = ends
        state, R = self.state(ends), second.rotation
        return second.origin + R @ state.geometry.point, R @ state.force


def unilateral_force(stiffness: Scalar, damping: Scalar, ramp: Scalar, p: Scalar, velocity: Scalar) -> Scalar:
    """(1): the force of a spring and damper that only push, at the depth p >= 0 that grows with this velocity."""
    if damping == 0:
        return stiffness * p
    return maximum(stiffness * p + damping * velocity * minimum(p / ramp, 1), 0)


def _length(v: Vector) -> Scalar:
    return sqrt(maximum(v @ v, NO_LENGTH * NO_LENGTH))
