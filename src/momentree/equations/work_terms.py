"""Work terms: the power of each force that changes the energy of a mechanism, for the energy account.

Gravity, springs and the elastic part of stops and contacts have a potential: they conserve energy. The remaining part
of each force is a work term. Stops, threads and contacts cease to act while still deformed: of these, `powers` are
those of the whole force, which is smooth wherever the motion is, and the work term is their work and the energy that
they store. Together with the work of prescribed joints and of a moving ground,

    sum of `powers` + sum of `motion_powers` + tau u = d/dt (kinetic + potential energy - `stored_energies`) .

| kind           | power (W)                                                              |
|----------------|------------------------------------------------------------------------|
| drive          | torque laws of a joint, along its velocities                           |
| force          | force and moment at a frame                                            |
| damper         | -sum c u^2 of a joint                                                  |
| stop           | of a joint: its stops; with what they store, their dampers             |
| spring damping | between two points: -(tension - elastic tension) l'; of a thread       |
|                | -tension l', with what it stores its damping and what it loses slack   |
| contact        | -N d'; with what it stores, the damping of the normal force            |
| friction       | friction force times sliding velocity                                  |
| motion         | drive that a prescribed joint needs, along its velocities              |
| ground         | force that moves the ground against joints, springs and contacts on it |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from momentree.equations.aggregative import carried_forces
from momentree.equations.evaluation import Evaluation, Names
from momentree.equations.forces import closing_joint_records, coordinates_of_closing_joint, ends_of
from momentree.equations.stops import stop_force, stops_energy, stops_of
from momentree.equations.sweeps import Record, Records
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import Coordinates, JointType
from momentree.model.values import TIME
from momentree.spatial import Force, Scalar
from momentree.structure.force_element import ForceElement
from momentree.structure.mechanism import Loop, Mechanism, Torque, TreeBody

Moving = Records
_JointRecord = Callable[[Moving], Record]  # gives the record with coordinates and velocities of a joint


class _WorkTerm(NamedTuple):
    """A force that may lose energy, its power, the energy that it stores where that is not in its power, if it does."""

    name: str
    kind: str
    power: Callable[[Moving, Names], Scalar]
    stored: Callable[[Sequence[Record]], Scalar] | None = None
    loses: bool = True


def work_terms(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of every force of the model that is not conservative."""
    return tuple((work_term.name, work_term.kind) for work_term in _work_terms(mechanism) if work_term.loses)


def powers(mechanism: Mechanism, moving: Moving, names: Names) -> list[Scalar]:
    """The power (W) of each of the `work_terms`, of moving bodies, with the names that laws use (`names_of`)."""
    return [work_term.power(moving, names) for work_term in _work_terms(mechanism) if work_term.loses]


def storing_terms(mechanism: Mechanism) -> list[str]:
    """The names of those `work_terms` that need what they store, too."""
    return [work_term.name for work_term in _work_terms(mechanism) if work_term.loses and work_term.stored]


def stored_energies(mechanism: Mechanism, placed: Sequence[Record]) -> dict[str, Scalar]:
    """The energy (J) that stops, threads and contacts store, by work term, also by those that lose none."""
    return {term.name: term.stored(placed) for term in _work_terms(mechanism) if term.stored}


def motion_terms(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    """Name and kind of each prescribed motion: joints, then the ground, then constraints that depend on time."""
    joints = [(f"motion of {body.joint.name}", "motion") for body in mechanism.bodies if body.laws]
    constraints = [(f"motion of {name}", "motion") for name, _ in _moving_constraints(mechanism)]
    return (*joints, *([("motion of the ground", "ground")] if mechanism.ground else []), *constraints)


def _moving_constraints(mechanism: Mechanism) -> list[tuple[str, int]]:
    """Constraints that depend on time explicitly: name and number."""
    moving = [(loop.name, i) for i, loop in enumerate(mechanism.loops, 1) if _depends_on_time(loop.joint_type)]
    formulas = enumerate(mechanism.constraint_formulas, 1 + len(mechanism.loops))
    return moving + [(of.constraint.name, i) for i, of in formulas if of.formula.moves]


def _depends_on_time(joint: JointType) -> bool:
    return isinstance(joint, HigherPair) and TIME in joint.names


def constraint_powers(mechanism: Mechanism, reacting: Records) -> list[Scalar]:
    """The power (W) of each constraint that depends on time: -lambda' drift, since J u = -drift."""
    results = []
    for _, number in _moving_constraints(mechanism):
        record = reacting.constraints[number]
        multipliers = [getattr(record.node, f"eta{i}") for i in range(len(record.drift))]
        results.append(-_product(multipliers, record.drift))
    return results


def motion_powers(
    at: Evaluation,
    u: Coordinates,
    du: Coordinates,
    reactions: Sequence[Force] = (),
    joint_forces: Mapping[int, Sequence[Scalar]] | None = None,
) -> list[Scalar]:
    """The power (W) of prescribed joints and of the ground while u changes with du, by inverse dynamics: (A' Z) u,
    (C' Z) v_0.

    `reactions` are the wrenches of constraints on the ground and on each body, at its own frame, `joint_forces` those
    along joints, by the number of the body after each.
    """
    moving = carried_forces(at, u, du, reactions, joint_forces)
    results = [_product(moving[body.number].b, moving[body.number].u) for body in at.mechanism.bodies if body.laws]
    if at.mechanism.ground:
        carried = -moving[0].applied
        for record in moving[1:]:
            carried = carried if record.parent else carried + record.X.force_to_parent(record.Z)
        results.append(moving[0].v @ carried)
    return results


# --- each kind of force ---


def _work_terms(mechanism: Mechanism) -> Iterator[_WorkTerm]:
    for driven in dict.fromkeys(torque.joint for torque in mechanism.torques):
        torques = [torque for torque in mechanism.torques if torque.joint == driven]
        yield _WorkTerm(f"torque on {driven}", "drive", _torque_power(torques, _joint_record(mechanism, driven)))
    yield from _element_terms(element for element in mechanism.elements if not element.has_potential)
    for name, body_or_loop in mechanism.by_joint.items():
        joint = body_or_loop.joint_type if isinstance(body_or_loop, Loop) else body_or_loop.joint.type
        if any(c != 0 for c in joint.damping or ()):
            yield _WorkTerm(f"damper of {name}", "damper", _damper_power(joint, _joint_record(mechanism, name)))
        stops = stops_of(joint)
        if stops:
            how = _stops_power(joint, _joint_record(mechanism, name)), _stops_energy(body_or_loop)
            yield _WorkTerm(f"stops of {name}", "stop", *how, any(stop and stop[3] != 0 for stop in stops))
    yield from _element_terms(element for element in mechanism.elements if element.has_potential)


def _element_terms(elements: Iterable[ForceElement]) -> Iterator[_WorkTerm]:
    for element in elements:
        for k, part in enumerate(element.works):
            stored = partial(_element_energy, element) if part.stores else None
            yield _WorkTerm(part.name, part.kind, partial(_element_power, element, k), stored, part.loses)


def _element_power(element: ForceElement, k: int, moving: Moving, names: Names) -> Scalar:
    return element.powers(ends_of(element, moving), names)[k]


def _element_energy(element: ForceElement, placed: Sequence[Record]) -> Scalar:
    return element.potential(ends_of(element, placed))


def _joint_record(mechanism: Mechanism, joint: str) -> _JointRecord:
    """Of the body or, for a joint that closes a loop, of the loop."""
    body_or_loop = mechanism.by_joint[joint]
    if not isinstance(body_or_loop, Loop):
        return lambda moving: moving[body_or_loop.number]
    number = mechanism.loops.index(body_or_loop) + 1
    return lambda moving: closing_joint_records(mechanism, moving)[number]


def _torque_power(torques: Sequence[Torque], joint_record: _JointRecord) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        u = joint_record(moving).u
        return sum(_product([law.evaluate(names) for law in torque.laws], u) for torque in torques)

    return power


def _damper_power(joint: JointType, joint_record: _JointRecord) -> Callable[[Moving, Names], Scalar]:
    return lambda moving, names: -sum(c * u * u for c, u in zip(joint.damping, joint_record(moving).u, strict=True))


def _stops_power(joint: JointType, joint_record: _JointRecord) -> Callable[[Moving, Names], Scalar]:
    def power(moving: Moving, names: Names) -> Scalar:
        record = joint_record(moving)
        moves = zip(stops_of(joint) or (), record.q, record.u, strict=True)
        return sum(stop_force(stop, q, u) * u for stop, q, u in moves)

    return power


def _stops_energy(body_or_loop: TreeBody | Loop) -> Callable[[Sequence[Record]], Scalar]:
    if isinstance(body_or_loop, Loop):
        loop = body_or_loop
        return lambda placed: stops_energy(loop.joint_type, coordinates_of_closing_joint(loop, placed))
    body = body_or_loop
    return lambda placed: stops_energy(body.joint.type, placed[body.number].q)


def _product(forces: Sequence[Scalar], velocities: Sequence[Scalar]) -> Scalar:
    return sum(f * u for f, u in zip(forces, velocities, strict=True))
