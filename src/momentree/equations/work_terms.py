"""The account of work: the power of everything that changes the energy of a mechanism.

Gravity, springs and the elastic part of stops and contacts have a potential, so they only move energy about. What is
left of each force is a meter here; together with what moves the prescribed joints and the ground,

    sum of `powers` + sum of `motion_powers` + tau u = d/dt (kinetic + potential energy) .

| kind           | power (W)                                                                               |
|----------------|-----------------------------------------------------------------------------------------|
| drive          | torque laws of a joint, along its rates                                                 |
| force          | force and moment at a frame                                                             |
| damper         | -sum c u^2 of a joint                                                                   |
| stop           | of a joint: what its stops do besides their springs                                     |
| spring damping | between two points: -(tension - elastic tension) l'                                     |
| contact        | -(N - k p^n) d', what the normal force does besides its spring                          |
| friction       | friction force, along the sliding                                                       |
| motion         | what holds a prescribed joint to its law, along its rates                               |
| ground         | what moves the ground against joints, springs and contacts that stand on it             |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from momentree.equations.aggregative import carried_forces
from momentree.equations.contact import elastic_force, press
from momentree.equations.forces import (
    Names,
    elastic_tension,
    push_force,
    related,
    stretch,
    tension,
)
from momentree.equations.stops import stop_power, stops_of
from momentree.equations.sweeps import Record, Records
from momentree.model.frames import GROUND
from momentree.model.joint_type import Coordinates, Joint
from momentree.spatial import Force, Scalar
from momentree.structure.mechanism import Drive, Link, Loop, Mechanism, Push, Touch

Moving = Records
_Place = Callable[[Moving], Record]  # where the coordinates and rates of a joint stand


class _Meter(NamedTuple):
    """A force that does work, and how much of it."""

    name: str
    kind: str
    power: Callable[[Moving, Names], Scalar]


def meters(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of every force of the model that is not conservative."""
    return tuple((meter.name, meter.kind) for meter in _meters(mechanism))


def powers(mechanism: Mechanism, moving: Moving, names: Names) -> list[Scalar]:
    """The power (W) of each of the `meters`, of bodies that move (`v`) and what laws may call (`names_of`)."""
    return [meter.power(moving, names) for meter in _meters(mechanism)]


def movers(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of what moves as prescribed: joints, then the ground."""
    joints = [(f"motion of {body.connection.name}", "motion") for body in mechanism.bodies if body.laws]
    return (*joints, *([("motion of the ground", "ground")] if mechanism.ground else []))


def motion_powers(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    du: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    reactions: Sequence[Force] = (),
) -> list[Scalar]:
    """The power (W) of each of the `movers` while the rates change with du, by inverse dynamics: (A' Z) u, (C' Z) v_0.

    `reactions` are what loops do to the ground and to each body, at its own frame.
    """
    moving = carried_forces(mechanism, q, u, du, t, parameters, reactions)
    found = [_along(moving[body.number].b, moving[body.number].u) for body in mechanism.bodies if body.laws]
    if mechanism.ground:
        carried = -moving[0].applied
        for record in moving[1:]:
            carried = carried if record.parent else carried + record.X.force_to_parent(record.Z)
        found.append(moving[0].v @ carried)
    return found


# --- each kind of force ---


def _meters(mechanism: Mechanism) -> Iterator[_Meter]:
    bodies = [GROUND, *(body.name for body in mechanism.bodies)]
    for driven in dict.fromkeys(drive.joint for drive in mechanism.drives):
        drives = [drive for drive in mechanism.drives if drive.joint == driven]
        yield _Meter(f"torque on {driven}", "drive", _of_drives(drives, _place(mechanism, driven)))
    for i, push in enumerate(mechanism.pushes, 1):
        yield _Meter(f"force {i} on {bodies[push.frame.body]}", "force", _of_push(push))
    for name, place in mechanism.by_joint.items():
        joint = place.joint if isinstance(place, Loop) else place.connection.joint
        if any(c != 0 for c in joint.damping or ()):
            yield _Meter(f"damper of {name}", "damper", _of_damper(joint, _place(mechanism, name)))
        if any(stop and stop[3] != 0 for stop in stops_of(joint) or ()):
            yield _Meter(f"stops of {name}", "stop", _of_stops(joint, _place(mechanism, name)))
    for i, link in enumerate(mechanism.links, 1):
        if link.damping != 0:
            ends = f"{bodies[link.first.body]} and {bodies[link.second.body]}"
            yield _Meter(f"spring {i} between {ends}", "spring damping", _of_link(link))
    for touch in mechanism.contacts:
        if touch.damping != 0:
            yield _Meter(touch.name, "contact", _of_pressing(touch))
        if touch.friction != 0:
            yield _Meter(f"friction of {touch.name}", "friction", _of_rubbing(touch))


def _place(mechanism: Mechanism, joint: str) -> _Place:
    """Among the bodies or, of a joint that closes a loop, among the loops."""
    place = mechanism.by_joint[joint]
    if not isinstance(place, Loop):
        return lambda moving: moving[place.number]
    number = mechanism.loops.index(place) + 1
    return lambda moving: related(mechanism, moving)[number]


def _of_drives(drives: Sequence[Drive], place: _Place) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        u = place(moving).u
        return sum(_along([law.evaluate(names) for law in drive.laws], u) for drive in drives)

    return power


def _of_push(push: Push) -> Callable[[Moving, Names], Scalar]:
    return lambda moving, names: moving[push.frame.body].v @ push_force(push, moving, names)


def _of_damper(joint: Joint, place: _Place) -> Callable[[Moving, Names], Scalar]:
    return lambda moving, names: -sum(c * u * u for c, u in zip(joint.damping, place(moving).u, strict=True))


def _of_stops(joint: Joint, place: _Place) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        record = place(moving)
        moves = zip(stops_of(joint) or (), record.q, record.u, strict=True)
        return sum(stop_power(stop, q, u) for stop, q, u in moves)

    return power


def _of_link(link: Link) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        _, length, rate = stretch(link, moving)
        return (elastic_tension(link, length) - tension(link, length, rate)) * rate

    return power


def _of_pressing(touch: Touch) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        found = press(touch, moving)
        return (elastic_force(touch, found.meeting.depth) - found.N) * found.approach

    return power


def _of_rubbing(touch: Touch) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        found = press(touch, moving)
        return found.friction @ found.sliding

    return power


def _along(forces: Sequence[Scalar], rates: Sequence[Scalar]) -> Scalar:
    return sum(f * u for f, u in zip(forces, rates, strict=True))
