"""The account of work: the power of everything that changes the energy of a mechanism.

Gravity, springs and the elastic part of stops and contacts have a potential, so they only move energy about. What is
left of each force is a work term here; together with what moves the prescribed joints and the ground,

    sum of `powers` + sum of `motion_powers` + tau u = d/dt (kinetic + potential energy) .

| kind           | power (W)                                                                   |
|----------------|-----------------------------------------------------------------------------|
| drive          | torque laws of a joint, along its velocities                                |
| force          | force and moment at a frame                                                 |
| damper         | -sum c u^2 of a joint                                                       |
| stop           | of a joint: what its stops do besides their springs                         |
| spring damping | between two points: -(tension - elastic tension) l'                         |
| contact        | -(N - k p^n) d', what the normal force does besides its spring              |
| friction       | friction force, along the sliding                                           |
| motion         | what holds a prescribed joint to its law, along its velocities              |
| ground         | what moves the ground against joints, springs and contacts that stand on it |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from momentree.equations.aggregative import carried_forces
from momentree.equations.contact import elastic_force, press
from momentree.equations.evaluation import Evaluation, Names
from momentree.equations.forces import (
    elastic_tension,
    point_force,
    related,
    stretch,
    tension,
)
from momentree.equations.stops import stop_power, stops_of
from momentree.equations.sweeps import Record, Records
from momentree.model.frames import GROUND
from momentree.model.joint_type import Coordinates, JointType
from momentree.spatial import Force, Scalar
from momentree.structure.mechanism import Contact, Loop, Mechanism, PointForce, Spring, Torque

Moving = Records
_Place = Callable[[Moving], Record]  # where the coordinates and velocities of a joint stand


class _WorkTerm(NamedTuple):
    """A force that does work, and how much of it."""

    name: str
    kind: str
    power: Callable[[Moving, Names], Scalar]


def work_terms(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of every force of the model that is not conservative."""
    return tuple((work_term.name, work_term.kind) for work_term in _work_terms(mechanism))


def powers(mechanism: Mechanism, moving: Moving, names: Names) -> list[Scalar]:
    """The power (W) of each of the `work_terms`, of bodies that move (`v`) and what laws may call (`names_of`)."""
    return [work_term.power(moving, names) for work_term in _work_terms(mechanism)]


def motion_terms(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of what moves as prescribed: joints, then the ground."""
    joints = [(f"motion of {body.joint.name}", "motion") for body in mechanism.bodies if body.laws]
    return (*joints, *([("motion of the ground", "ground")] if mechanism.ground else []))


def motion_powers(at: Evaluation, u: Coordinates, du: Coordinates, reactions: Sequence[Force] = ()) -> list[Scalar]:
    """The power (W) of each of the `motion_terms` while u changes with du, by inverse dynamics: (A' Z) u, (C' Z) v_0.

    `reactions` are what loops do to the ground and to each body, at its own frame.
    """
    moving = carried_forces(at, u, du, reactions)
    found = [_along(moving[body.number].b, moving[body.number].u) for body in at.mechanism.bodies if body.laws]
    if at.mechanism.ground:
        carried = -moving[0].applied
        for record in moving[1:]:
            carried = carried if record.parent else carried + record.X.force_to_parent(record.Z)
        found.append(moving[0].v @ carried)
    return found


# --- each kind of force ---


def _work_terms(mechanism: Mechanism) -> Iterator[_WorkTerm]:
    bodies = [GROUND, *(body.name for body in mechanism.bodies)]
    for driven in dict.fromkeys(torque.joint for torque in mechanism.torques):
        torques = [torque for torque in mechanism.torques if torque.joint == driven]
        yield _WorkTerm(f"torque on {driven}", "drive", _of_torques(torques, _place(mechanism, driven)))
    for i, force in enumerate(mechanism.forces, 1):
        yield _WorkTerm(f"force {i} on {bodies[force.frame.body]}", "force", _of_force(force))
    for name, place in mechanism.by_joint.items():
        joint = place.joint_type if isinstance(place, Loop) else place.joint.type
        if any(c != 0 for c in joint.damping or ()):
            yield _WorkTerm(f"damper of {name}", "damper", _of_damper(joint, _place(mechanism, name)))
        if any(stop and stop[3] != 0 for stop in stops_of(joint) or ()):
            yield _WorkTerm(f"stops of {name}", "stop", _of_stops(joint, _place(mechanism, name)))
    for i, spring in enumerate(mechanism.springs, 1):
        if spring.damping != 0:
            ends = f"{bodies[spring.first.body]} and {bodies[spring.second.body]}"
            yield _WorkTerm(f"spring {i} between {ends}", "spring damping", _of_spring(spring))
    for contact in mechanism.contacts:
        if contact.damping != 0:
            yield _WorkTerm(contact.name, "contact", _of_pressing(contact))
        if contact.friction != 0:
            yield _WorkTerm(f"friction of {contact.name}", "friction", _of_rubbing(contact))


def _place(mechanism: Mechanism, joint: str) -> _Place:
    """Among the bodies or, of a joint that closes a loop, among the loops."""
    place = mechanism.by_joint[joint]
    if not isinstance(place, Loop):
        return lambda moving: moving[place.number]
    number = mechanism.loops.index(place) + 1
    return lambda moving: related(mechanism, moving)[number]


def _of_torques(torques: Sequence[Torque], place: _Place) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        u = place(moving).u
        return sum(_along([law.evaluate(names) for law in torque.laws], u) for torque in torques)

    return power


def _of_force(force: PointForce) -> Callable[[Moving, Names], Scalar]:
    return lambda moving, names: moving[force.frame.body].v @ point_force(force, moving, names)


def _of_damper(joint: JointType, place: _Place) -> Callable[[Moving, Names], Scalar]:
    return lambda moving, names: -sum(c * u * u for c, u in zip(joint.damping, place(moving).u, strict=True))


def _of_stops(joint: JointType, place: _Place) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        record = place(moving)
        moves = zip(stops_of(joint) or (), record.q, record.u, strict=True)
        return sum(stop_power(stop, q, u) for stop, q, u in moves)

    return power


def _of_spring(spring: Spring) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        _, length, rate = stretch(spring, moving)
        return (elastic_tension(spring, length) - tension(spring, length, rate)) * rate

    return power


def _of_pressing(contact: Contact) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        found = press(contact, moving)
        return (elastic_force(contact, found.meeting.depth) - found.N) * found.approach

    return power


def _of_rubbing(contact: Contact) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        found = press(contact, moving)
        return found.friction @ found.sliding

    return power


def _along(forces: Sequence[Scalar], velocities: Sequence[Scalar]) -> Scalar:
    return sum(f * u for f, u in zip(forces, velocities, strict=True))
