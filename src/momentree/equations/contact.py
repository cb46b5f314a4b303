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
from typing import NamedTuple

from momentree.equations.sweeps import Record
from momentree.spatial import ZERO, Force, Rotation, Scalar, Vector, Z
from momentree.spatial.scalar import maximum, minimum, sqrt, tanh
from momentree.structure.mechanism import Contact

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


# --- the laws, on numbers ---


def unilateral_force(stiffness: Scalar, damping: Scalar, ramp: Scalar, p: Scalar, velocity: Scalar) -> Scalar:
    """(1): the force of a spring and damper that only push, at the depth p >= 0 that grows with this velocity."""
    if damping == 0:
        return stiffness * p
    return maximum(stiffness * p + damping * velocity * minimum(p / ramp, 1), 0)


def normal_force(contact: Contact, depth: Scalar, approach: Scalar) -> Scalar:
    """(1) or (2)."""
    p = maximum(depth, 0)
    if contact.law == "linear":
        return unilateral_force(contact.stiffness, contact.damping, contact.ramp, p, approach)
    return elastic_force(contact, depth) * maximum(1 + 3 * contact.damping * approach / 2, 0)


def elastic_force(contact: Contact, depth: Scalar) -> Scalar:
    """k p^n, the part of the normal force that has a potential; n = 1 if the law is linear."""
    return contact.stiffness * maximum(depth, 0) ** contact.exponent


def elastic_energy(contact: Contact, depth: Scalar) -> Scalar:
    """k p^(n + 1) / (n + 1). J"""
    n = contact.exponent + 1
    return contact.stiffness * maximum(depth, 0) ** n / n


def friction_force(contact: Contact, N: Scalar, sliding: Vector) -> Vector:
    """(3), smooth also at sticking, where the sliding velocity vanishes."""
    if contact.friction == 0:
        return ZERO
    least = contact.slip * AT_REST
    speed = sqrt(maximum(sliding @ sliding, least * least))
    force: Vector = sliding * (-contact.friction * N * tanh(speed / contact.slip) / speed)
    return force


# --- on the bodies ---


def contact_geometry(contact: Contact, placed: Sequence[Record]) -> ContactGeometry:
    """Depth, normal and contact point, from the nearest points of both shapes; of a disc it is one of its rim.

    A disc that lies flat on the plane has no nearest point: its centre serves.
    """
    second, frame = placed[contact.against.body], contact.frame.placement
    R = _axes(contact, placed)
    origin = second.X_0.point(contact.against.placement.offset)
    centre = R.T @ (placed[contact.frame.body].X_0.point(frame.offset) - origin)
    rim, radius = ZERO, contact.radius  # from the centre to the nearest point of the disc, and the ball around that
    if contact.disc is not None:
        axis = R.T @ (placed[contact.frame.body].X_0.rotation @ (frame.rotation @ contact.disc))
        towards = -Z if contact.ball is None else -centre
        towards = towards - axis * (axis @ towards)
        rim, radius = towards * (contact.radius / _length(towards)), 0
    nearest = centre + rim
    if contact.ball is None:
        normal, distance, share = Z, nearest.z, 1
    else:
        length = _length(nearest)
        normal, distance = nearest / length, length - contact.ball
        share = contact.ball / (contact.ball + contact.radius)
    depth = radius - distance
    arm = rim + normal * (depth * share - radius)
    return ContactGeometry(depth, normal, arm, centre + arm)


def contact_state(contact: Contact, moving: Sequence[Record]) -> ContactState:
    """Forces of a contact, and the velocities that they depend on."""
    geometry = contact_geometry(contact, moving)
    first = moving[contact.frame.body]
    R = _axes(contact, moving).T
    r, w = contact.frame.placement.offset, R @ (first.X_0.rotation @ first.v.angular)
    v = R @ (first.X_0.rotation @ (first.v.linear + first.v.angular.cross(r))) + w.cross(geometry.arm)
    ground = contact.against.placement.motion(moving[contact.against.body].v)
    relative = v - ground.linear - ground.angular.cross(geometry.point)
    approach = -(geometry.normal @ relative)
    N = normal_force(contact, geometry.depth, approach)
    sliding = relative + geometry.normal * approach
    return ContactState(geometry, approach, N, sliding, friction_force(contact, N, sliding))


def contact_forces(contact: Contact, moving: Sequence[Record]) -> tuple[Force, Force]:
    """Wrenches on the first and on the second body, each at its own frame: opposite forces at one point."""
    state = contact_state(contact, moving)
    to_first = moving[contact.frame.body].X_0.rotation.T
    R = _axes(contact, moving)
    f, arm = (to_first @ (R @ vector) for vector in (state.force, state.geometry.arm))
    on_first = Force(f, (contact.frame.placement.offset + arm).cross(f))
    on_plane = Force(state.force, state.geometry.point.cross(state.force))
    return on_first, -contact.against.placement.force_to_parent(on_plane)


def _axes(contact: Contact, placed: Sequence[Record]) -> Rotation:
    """From the axes of `against` to inertial ones."""
    R: Rotation = placed[contact.against.body].X_0.rotation
    return R @ contact.against.placement.rotation


def _length(v: Vector) -> Scalar:
    return sqrt(maximum(v @ v, NO_LENGTH * NO_LENGTH))
