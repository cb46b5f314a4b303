"""Forces on bodies as the oracle computes them: springs, dampers, stops, laws, contacts; their potential energy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from campaign.geometry import Array, cross
from campaign.laws import value
from campaign.reading import RAMP, Place, PlainContact, PlainSpring

if TYPE_CHECKING:
    from campaign.oracle import JointMotion, Oracle


def loads_of(oracle: Oracle) -> tuple[Array, dict[str, Array]]:
    """On each body force and moment about its centre of mass (not weight), and generalized forces of joints."""
    names = _names(oracle)
    total = np.zeros((len(oracle.plain.bodies), 6))
    offsets = oracle._com_offsets()

    def push(body: int, point: Array, force: Array, moment: Array) -> None:
        if body:
            arm = point - oracle.motion.r[body] - offsets[body - 1]
            total[body - 1, :3] += force
            total[body - 1, 3:] += moment + cross(arm, force)

    nothing = np.zeros(3)
    for force in oracle.plain.forces:
        R = oracle.motion.R[force.at.body] @ force.at.R if force.carried else oracle.motion.R[0]
        f, m = (R @ np.array([value(law, names) for law in laws]) for laws in (force.force, force.moment))
        push(force.at.body, _point(oracle, force.at), f, m)
    for spring in oracle.plain.springs:
        pull = _pull(oracle, spring)
        push(spring.first.body, _point(oracle, spring.first), pull, nothing)
        push(spring.second.body, _point(oracle, spring.second), -pull, nothing)
    for contact in oracle.plain.contacts:
        point, f = _contact_force(oracle, contact)
        push(contact.at.body, point, f, nothing)
        push(contact.against.body, point, -f, nothing)
    return total, {jm.joint.name: _along(jm, names) for jm in oracle.joints}


def potential_energy(oracle: Oracle) -> float:
    """Of gravity (zero at the inertial origin), joint springs and stops, springs between points, contacts."""
    energy = 0.0
    centres = oracle.motion.r[1:] + oracle._com_offsets()
    for body, centre in zip(oracle.plain.bodies, centres, strict=True):
        energy -= body.mass * float(oracle.plain.gravity @ centre)
    for jm in oracle.joints:
        energy += sum(_joint_energy(jm))
    for spring in oracle.plain.springs:
        stretch = float(np.linalg.norm(_between(oracle, spring))) - spring.rest
        if stretch > 0 or not spring.tension_only:
            energy += 0.5 * spring.stiffness * stretch**2
    for contact in oracle.plain.contacts:
        depth = max(_meet(oracle, contact)[0], 0.0)
        n = contact.numbers["exponent"] + 1
        energy += contact.numbers["stiffness"] * depth**n / n
    return energy


def _names(oracle: Oracle) -> dict[str, float]:
    names = {**oracle.plain.parameters, "t": oracle.t}
    for jm in oracle.joints:
        names.update(zip(jm.joint.names, jm.q, strict=True))
        names.update(zip(jm.joint.velocities, jm.u, strict=True))
    return names


def _along(jm: JointMotion, names: dict[str, float]) -> Array:
    joint = jm.joint
    total = np.zeros(joint.freedom)
    if joint.motion is not None:
        return total
    for laws in joint.torques:
        total += [value(law, names) for law in laws]
    for i in range(joint.freedom):
        if joint.spring:
            total[i] -= joint.spring[i] * (jm.q[i] - (joint.rest[i] if joint.rest else 0.0))
        if joint.damping:
            total[i] -= joint.damping[i] * jm.u[i]
        if joint.limits and joint.stops:
            total[i] += _stop(joint.limits[i], joint.stops[i], jm.q[i], jm.u[i])
    return total


def _stop(limits: tuple[float, float], stop: tuple[float, float], q: float, u: float) -> float:
    low, high = limits
    k, c = stop
    if q > high:
        p = q - high
        return -max(0.0, k * p + c * u * min(1.0, p / RAMP))
    if q < low:
        p = low - q
        return max(0.0, k * p - c * u * min(1.0, p / RAMP))
    return 0.0


def _joint_energy(jm: JointMotion) -> list[float]:
    joint, found = jm.joint, []
    for i in range(joint.freedom if joint.motion is None else 0):
        if joint.spring:
            found.append(0.5 * joint.spring[i] * (jm.q[i] - (joint.rest[i] if joint.rest else 0.0)) ** 2)
        if joint.limits and joint.stops:
            (low, high), k = joint.limits[i], joint.stops[i][0]
            found.append(0.5 * k * max(0.0, jm.q[i] - high, low - jm.q[i]) ** 2)
    return found


def _point(oracle: Oracle, place: Place) -> Array:
    return oracle.motion.r[place.body] + oracle.motion.R[place.body] @ place.p


def _velocity(oracle: Oracle, body: int, point: Array) -> Array:
    m = oracle.motion
    return m.v[body] + cross(m.w[body], point - m.r[body])


def _between(oracle: Oracle, spring: PlainSpring) -> Array:
    return _point(oracle, spring.second) - _point(oracle, spring.first)


def _pull(oracle: Oracle, spring: PlainSpring) -> Array:
    """On the first end, towards the second."""
    along = _between(oracle, spring)
    length = float(np.linalg.norm(along))
    if length == 0.0:
        return np.zeros(3)
    e = along / length
    ends = [_velocity(oracle, end.body, _point(oracle, end)) for end in (spring.first, spring.second)]
    tension = spring.stiffness * (length - spring.rest) + spring.damping * float(e @ (ends[1] - ends[0]))
    if spring.tension_only:
        tension = max(tension, 0.0) if length > spring.rest else 0.0
    return e * tension


def _meet(oracle: Oracle, contact: PlainContact) -> tuple[float, Array, Array]:
    """Depth, normal from the second body to the first, and the point where the force acts, in inertial axes."""
    n = contact.numbers
    R = oracle.motion.R[contact.against.body] @ contact.against.R
    origin, centre = _point(oracle, contact.against), _point(oracle, contact.at)
    up = R[:, 2]
    nearest, rest = centre, n["radius"]
    if n["disc"] is not None:
        axis = oracle.motion.R[contact.at.body] @ contact.at.R @ n["disc"]
        towards = -up if n["ball"] is None else origin - centre
        towards = towards - axis * (axis @ towards)
        nearest, rest = centre + towards * (n["radius"] / np.linalg.norm(towards)), 0.0
    if n["ball"] is None:
        depth = rest - float(up @ (nearest - origin))
        return depth, up, nearest + up * (depth - rest)
    apart = nearest - origin
    length = float(np.linalg.norm(apart))
    normal = apart / length
    depth = rest - (length - n["ball"])
    return depth, normal, nearest + normal * (depth * n["ball"] / (n["ball"] + n["radius"]) - rest)


def _contact_force(oracle: Oracle, contact: PlainContact) -> tuple[Array, Array]:
    """The point, and the force on the first body."""
    n: dict[str, Any] = contact.numbers
    depth, normal, point = _meet(oracle, contact)
    if depth <= 0:
        return point, np.zeros(3)
    slides = _velocity(oracle, contact.at.body, point) - _velocity(oracle, contact.against.body, point)
    approach = -float(normal @ slides)
    slides = slides + normal * approach
    if n["linear"]:
        N = max(0.0, n["stiffness"] * depth + n["damping"] * approach * min(1.0, depth / n["ramp"]))
    else:
        N = n["stiffness"] * depth ** n["exponent"] * max(0.0, 1 + 1.5 * n["damping"] * approach)
    speed = float(np.linalg.norm(slides))
    rubbing = slides * (-n["friction"] * N * math.tanh(speed / n["slip"]) / speed) if speed > 0 else np.zeros(3)
    return point, normal * N + rubbing
