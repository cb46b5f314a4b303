"""Contact: a point, ball or disc of one body pressed against a plane or ball of another, with friction.

With the depth d (m, positive inside), p = max(d, 0), and the rate d' at which it grows, the normal force is

    linear           N = max(0, k p + c d' min(1, p / ramp))                                                (1)
    hunt-crossley    N = k p^n max(0, 1 + 3/2 c d')                                                         (2)

Both begin at zero when the bodies touch, and never pull. (2) is Hunt and Crossley 1975 (J. Appl. Mech. 42, 440-445):
its damping grows with depth as the elastic force does, and a blow at the speed v has the restitution 1 - c v, to first
order. Friction opposes the velocity w with which the first body slides on the second,

    F = -mu N tanh(|w| / slip) w / |w| .                                                                    (3)

Everything here is told in the frame `against`. The force acts on both bodies at one point of the line through the
deepest point along the normal: on the plane, or where it parts the depth in the ratio of the radii of two balls.
All of it is branch-free, on scalars of any kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from momentree.equations.sweeps import Record
from momentree.spatial import ZERO, Force, Rotation, Scalar, Vector, Z
from momentree.spatial.scalar import maximum, minimum, sqrt, tanh
from momentree.structure.mechanism import Touch

NO_LENGTH = 1e-12  # m: what is shorter has no direction
AT_REST = 1e-8  # of the slip velocity: below, tanh(x) / x is 1 to round-off


class Meeting(NamedTuple):
    """Where two bodies meet.

    | field  | meaning                                                                      |
    |--------|------------------------------------------------------------------------------|
    | depth  | m, positive inside                                                           |
    | normal | unit vector from the second body to the first                                |
    | arm    | from the centre of the first shape to the point where the force acts         |
    | point  | where the force acts                                                         |
    """

    depth: Scalar
    normal: Vector
    arm: Vector
    point: Vector


class Press(NamedTuple):
    """How two bodies press and rub on each other: what acts on the first.

    | field    | meaning                                                |
    |----------|--------------------------------------------------------|
    | approach | m/s, d'                                                |
    | N        | N, normal force                                        |
    | sliding  | m/s, velocity of the first body along the second       |
    | friction | N, against the sliding                                 |
    """

    meeting: Meeting
    approach: Scalar
    N: Scalar
    sliding: Vector
    friction: Vector

    @property
    def force(self) -> Vector:
        """Normal force and friction together."""
        return self.meeting.normal * self.N + self.friction


# --- the laws, on numbers ---


def pressed(stiffness: Scalar, damping: Scalar, ramp: Scalar, p: Scalar, rate: Scalar) -> Scalar:
    """(1): what a spring and damper that only push do at the depth p >= 0, which grows at this rate."""
    if damping == 0:
        return stiffness * p
    return maximum(stiffness * p + damping * rate * minimum(p / ramp, 1), 0)


def normal_force(touch: Touch, depth: Scalar, approach: Scalar) -> Scalar:
    """(1) or (2)."""
    p = maximum(depth, 0)
    if touch.law == "linear":
        return pressed(touch.stiffness, touch.damping, touch.ramp, p, approach)
    return elastic_force(touch, depth) * maximum(1 + 3 * touch.damping * approach / 2, 0)


def elastic_force(touch: Touch, depth: Scalar) -> Scalar:
    """k p^n, the part of the normal force that has a potential; n = 1 if the law is linear."""
    return touch.stiffness * maximum(depth, 0) ** touch.exponent


def elastic_energy(touch: Touch, depth: Scalar) -> Scalar:
    """k p^(n + 1) / (n + 1). J"""
    n = touch.exponent + 1
    return touch.stiffness * maximum(depth, 0) ** n / n


def friction_force(touch: Touch, N: Scalar, sliding: Vector) -> Vector:
    """(3), smooth also where nothing slides."""
    if touch.friction == 0:
        return ZERO
    least = touch.slip * AT_REST
    speed = sqrt(maximum(sliding @ sliding, least * least))
    return sliding * (-touch.friction * N * tanh(speed / touch.slip) / speed)


# --- on the bodies ---


def meet(touch: Touch, placed: Sequence[Record]) -> Meeting:
    """The nearest points of both shapes; of a disc it is the nearest point of its rim.

    A disc that lies flat on the plane has no nearest point: it is held in its middle.
    """
    second, frame = placed[touch.against.body], touch.frame.placement
    R = _axes(touch, placed)
    origin = second.X_0.point(touch.against.placement.offset)
    centre = R.T @ (placed[touch.frame.body].X_0.point(frame.offset) - origin)
    rim, rest = ZERO, touch.radius  # from the centre to the point that is nearest, and what is round about it
    if touch.disc is not None:
        axis = R.T @ (placed[touch.frame.body].X_0.rotation @ (frame.rotation @ touch.disc))
        towards = -Z if touch.ball is None else -centre
        towards = towards - axis * (axis @ towards)
        rim, rest = towards * (touch.radius / _length(towards)), 0
    nearest = centre + rim
    if touch.ball is None:
        normal, distance, share = Z, nearest.z, 1
    else:
        length = _length(nearest)
        normal, distance = nearest / length, length - touch.ball
        share = touch.ball / (touch.ball + touch.radius)
    depth = rest - distance
    arm = rim + normal * (depth * share - rest)
    return Meeting(depth, normal, arm, centre + arm)


def press(touch: Touch, moving: Sequence[Record]) -> Press:
    """The forces of a contact, and the velocities that they depend on."""
    meeting = meet(touch, moving)
    first = moving[touch.frame.body]
    R = _axes(touch, moving).T
    r, w = touch.frame.placement.offset, R @ (first.X_0.rotation @ first.v.angular)
    v = R @ (first.X_0.rotation @ (first.v.linear + first.v.angular.cross(r))) + w.cross(meeting.arm)
    ground = touch.against.placement.motion(moving[touch.against.body].v)
    relative = v - ground.linear - ground.angular.cross(meeting.point)
    approach = -(meeting.normal @ relative)
    N = normal_force(touch, meeting.depth, approach)
    sliding = relative + meeting.normal * approach
    return Press(meeting, approach, N, sliding, friction_force(touch, N, sliding))


def contact_forces(touch: Touch, moving: Sequence[Record]) -> tuple[Force, Force]:
    """What acts on the first and on the second body, each at its own frame: opposite forces at one point."""
    found = press(touch, moving)
    to_first = moving[touch.frame.body].X_0.rotation.T
    R = _axes(touch, moving)
    f, arm = (to_first @ (R @ vector) for vector in (found.force, found.meeting.arm))
    on_first = Force(f, (touch.frame.placement.offset + arm).cross(f))
    on_plane = Force(found.force, found.meeting.point.cross(found.force))
    return on_first, -touch.against.placement.force_to_parent(on_plane)


def _axes(touch: Touch, placed: Sequence[Record]) -> Rotation:
    """From the axes of `against` to inertial ones."""
    R: Rotation = placed[touch.against.body].X_0.rotation
    return R @ touch.against.placement.rotation


def _length(v: Vector) -> Scalar:
    return sqrt(maximum(v @ v, NO_LENGTH * NO_LENGTH))
