"""Forces on the bodies: applied forces, joint springs, dampers and stops, laws; their potential energy.

A joint that closes a loop has no coordinates among those of the tree: its coordinates are those that fit best, and its
angles lie in (-pi, pi]. Its generalized forces are wrenches on both of its bodies (loops/wrenches.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from momentree.equations.evaluation import Evaluation, Names
from momentree.equations.kinematics import frame_placement, records
from momentree.equations.loops.closing_joint import find_joint_coordinates
from momentree.equations.loops.records import closing_joints
from momentree.equations.loops.wrenches import (
    add_constraint_wrenches,
    apply_joint_forces,
    no_forces,
    wrenches_by_body,
)
from momentree.equations.stops import stop_force, stops_energy, stops_of
from momentree.equations.sweeps import Fields, LocalStep, Record, Records
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Expression
from momentree.model.joint_type import Coordinates, JointType
from momentree.spatial import Force, Scalar
from momentree.spatial.moving_frame import MovingFrame
from momentree.structure.force_element import ForceElement
from momentree.structure.mechanism import Loop, Mechanism
from momentree.structure.parts import laws_in


def names_of(at: Evaluation, moving: Records) -> Names:
    """The names that laws may use: time, free parameters, coordinates and velocities of the joints that they name."""
    mechanism = at.mechanism
    names = at.names
    moved = [(body.joint, moving[body.number]) for body in mechanism.bodies]
    named = _named(mechanism)
    for loop, record in zip(mechanism.loops, closing_joint_records(mechanism, moving)[1:], strict=False):
        if loop.joint is not None and loop.name in named:
            moved.append((loop.joint, record))
    for joint, record in moved:
        names.update(zip(joint.coordinates, record.q, strict=True))
        names.update(zip(joint.velocities, record.u, strict=True))
    return names


def closing_joint_records(mechanism: Mechanism, moving: Records) -> Records:
    """The records of the loops, with coordinates and velocities of closing joints that laws or joint elements use."""
    loops = closing_joints(mechanism, moving)
    if hasattr(loops, "has_joint_coordinates"):
        return loops
    names = {loop.name for loop in loaded_loops(mechanism)}
    for i, record in enumerate(loops[1:]):
        loop = mechanism.loops[i] if i < len(mechanism.loops) else None
        record.loaded = loop is not None and loop.joint is not None and loop.name in names
    loops.locally(_where_loaded(find_joint_coordinates, lambda _: {}))
    loops.has_joint_coordinates = True
    return loops


def loaded_loops(mechanism: Mechanism) -> list[Loop]:
    """Those whose closing joint has springs, dampers, stops or torques, or is named by a law."""
    used = _named(mechanism) | {torque.joint for torque in mechanism.torques}
    return [loop for loop in mechanism.loops if loop.joint is not None and (_has_elements(loop) or loop.name in used)]


def _has_elements(loop: Loop) -> bool:
    return bool(loop.joint_type.spring or loop.joint_type.damping or stops_of(loop.joint_type))


def _named(mechanism: Mechanism) -> set[str]:
    """Names that laws of torques and forces use, in mechanisms with loops."""
    return (
        {reference.name for _, law in laws_of(mechanism) for reference in law.references()}
        if mechanism.loops
        else set()
    )


def laws_of(mechanism: Mechanism) -> Iterator[tuple[str, Expression]]:
    """The laws of torques and forces, each with a description."""
    for torque in mechanism.torques:
        yield from ((f"the torque on {torque.joint}", law) for law in torque.laws)
    for element in mechanism.elements:
        yield from ((f"a {element.kind}", law) for law in laws_in(element))


def loaded_bodies(at: Evaluation, u: Coordinates, du: Coordinates | None, closed: bool = False) -> Records:
    """The moving bodies with accelerations less gravity, applied wrenches and generalized forces Q of their joints."""
    moving = records(at, u, du, weighed=True, closed=closed)
    apply_forces(at, moving, closed)
    return moving


def apply_forces(at: Evaluation, moving: Records, closed: bool = False) -> None:
    """Give moving bodies `applied`, the wrench of all forces of the model but gravity, and `Q` of their joints."""
    mechanism = at.mechanism
    names = names_of(at, moving) if any(True for _ in laws_of(mechanism)) else {}
    apply_joint_torques(mechanism, moving, names)
    for record, force in zip(moving, applied_forces(mechanism, moving, names), strict=not closed):
        record.applied = force
    if not any(record.loaded for record in moving.constraints[1:]):
        return
    moving.constraints.locally(_where_loaded(apply_joint_forces, no_forces))
    if closed:
        moving.locally(add_constraint_wrenches)
        return
    for record, force in zip(moving, wrenches_by_body(mechanism, moving.constraints, len(moving)), strict=True):
        record.applied = record.applied + force


def _where_loaded(step: LocalStep, otherwise: LocalStep) -> LocalStep:
    """A step of the loops that are `loaded`; the others make the step `otherwise`."""

    @functools.wraps(step)
    def where_loaded(loop: Record) -> Fields:
        return step(loop) if loop.loaded else otherwise(loop)

    return where_loaded


def applied_forces(mechanism: Mechanism, moving: Sequence[Record], names: Names) -> list[Force]:
    """Wrenches of force elements on the ground (entry 0) and on each body, at its own frame."""
    total = [Force.zero()] * (len(mechanism.bodies) + 1)
    for element in mechanism.elements:
        try:
            wrenches = element.wrenches(ends_of(element, moving), names)
        except ZeroDivisionError:  # in floats
            raise _undirected(element) from None
        for frame, wrench in zip(element.frames, wrenches, strict=True):
            total[frame.body] = total[frame.body] + wrench
    return total


def ends_of(element: ForceElement, moving: Sequence[Record]) -> list[MovingFrame]:
    """The frames of an element as they move."""
    return [MovingFrame(moving[frame.body], frame.placement, moving[0]) for frame in element.frames]


def apply_joint_torques(mechanism: Mechanism, moving: Records, names: Names) -> None:
    """Give each joint its generalized forces Q: torque laws, springs, dampers and stops."""
    joints = {body.joint.name: (body.joint.type, moving[body.number]) for body in mechanism.bodies}
    for loop, record in zip(mechanism.loops, closing_joint_records(mechanism, moving)[1:], strict=False):
        if record.loaded:
            joints[loop.name] = (loop.joint_type, record)
    for joint, record in joints.values():
        record.driven = (0,) * len(joint.velocities)
        record.spring, record.rest, record.damping = joint.spring, joint.rest, joint.damping
        record.stops = stops_of(joint)
    for torque in mechanism.torques:
        _, record = joints[torque.joint]
        laws = (law.evaluate(names) for law in torque.laws)
        record.driven = tuple(old + new for old, new in zip(record.driven, laws, strict=True))
    moving.locally(add_joint_elements)
    if any(record.loaded for record in moving.constraints[1:]):
        moving.constraints.locally(_where_loaded(add_joint_elements, lambda _: {}))


def add_joint_elements(body: Record) -> Fields:
    """Q of each velocity: torque laws, -k (q - rest) of its spring, -c u of its damper, and its stops."""
    Q = list(body.driven)
    for i in range(len(Q)):
        if body.spring:
            Q[i] = Q[i] - body.spring[i] * (body.q[i] - (body.rest[i] if body.rest else 0))
        if body.damping:
            Q[i] = Q[i] - body.damping[i] * body.u[i]
        if body.stops:
            Q[i] = Q[i] + stop_force(body.stops[i], body.q[i], body.u[i])
    return {"Q": tuple(Q)}


def generalized(mechanism: Mechanism, moving: Sequence[Record], field: str) -> tuple[Scalar, ...]:
    """A field with an entry for each velocity of a body, for all velocities of the tree that are not prescribed."""
    free = [moving[body.number] for body in mechanism.bodies if not body.laws and body.v.stop > body.v.start]
    return tuple(entry for record in free for entry in getattr(record, field))


def potential_energy(mechanism: Mechanism, placed: Sequence[Record]) -> Scalar:
    """Of gravity (zero at the inertial origin), of joint springs and stops, and of force elements. J"""
    energy: Scalar = 0
    for body in mechanism.bodies:
        record = placed[body.number]
        moment = record.X_0.rotation @ body.inertia.h + record.X_0.offset * body.inertia.mass
        energy = energy - mechanism.gravity @ moment + _joint_energy(body.joint.type, record.q)
    for loop in mechanism.loops:
        if loop.joint_type.spring or stops_of(loop.joint_type):
            energy = energy + _joint_energy(loop.joint_type, coordinates_of_closing_joint(loop, placed))
    for element in mechanism.elements:
        if element.has_potential:
            energy = energy + element.potential(ends_of(element, placed))
    return energy


def coordinates_of_closing_joint(loop: Loop, placed: Sequence[Record]) -> Coordinates:
    """Those that fit best, of a joint that closes a loop."""
    X_F, X_M = (frame_placement(placed, end) for end in (loop.first, loop.second))
    return loop.joint_type.fit(X_F.inverse() @ X_M)


def _joint_energy(joint: JointType, q: Coordinates) -> Scalar:
    """Of its springs and stops."""
    energy: Scalar = 0
    for i, k in enumerate(joint.spring or ()):
        turned = q[i] - (joint.rest[i] if joint.rest else 0)
        energy = energy + k * turned * turned / 2
    return energy + stops_energy(joint, q)


def _undirected(element: ForceElement) -> MomentreeError:
    message = f"{element.title} has no length here, so that its force has no direction."
    return MomentreeError(f"{message} Choose another state, or leave out its damping and rest length.")
