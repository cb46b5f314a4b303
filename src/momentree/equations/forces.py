"""What drives and hinders the bodies: applied forces, joint springs and dampers, laws; and their potential energy.

Contact forces belong to the simulation, and elements on joints that close loops to the equations of loops: a mechanism
that has them is refused here rather than computed without them. Joint limits are bounds, not forces: nothing here acts
when they are passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from momentree.equations.kinematics import frame_placement, records
from momentree.equations.sweeps import Fields, Record, Records, Runner
from momentree.errors import MomentreeError
from momentree.model.expressions import Reference
from momentree.model.joint import Coordinates
from momentree.model.values import TIME
from momentree.spatial import Force, Scalar, Vector
from momentree.spatial.scalar import maximum, select, sqrt
from momentree.structure.mechanism import Attached, Link, Mechanism, Push

Names = Mapping[Reference, Scalar]


def names_of(mechanism: Mechanism, moving: Sequence[Record], t: Scalar, parameters: Names | None = None) -> Names:
    """What laws may call: time, free parameters, coordinates and rates of every joint of the tree."""
    names: dict[Reference, Scalar] = {TIME: t, **(parameters or {})}
    for body in mechanism.bodies:
        names.update(zip(body.connection.coordinates, moving[body.number].q, strict=True))
        names.update(zip(body.connection.rates, moving[body.number].u, strict=True))
    return names


def loaded(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    du: Coordinates | None,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> Records:
    """The bodies moving, accelerations as felt, each with what is `applied` to it and acts `along` its rates."""
    moving = records(mechanism, q, u, du, t, parameters, weighed=True, run=run)
    names = names_of(mechanism, moving, t, parameters)
    for record, force in zip(moving, applied_forces(mechanism, moving, names), strict=True):
        record.applied = force
    drive(mechanism, moving, names)
    return moving


def applied_forces(mechanism: Mechanism, moving: Sequence[Record], names: Names) -> list[Force]:
    """The force on each body from pushes and springs, at its own frame; entry 0 is the ground's. No gravity."""
    _refuse_what_is_missing(mechanism)
    total = [Force.zero()] * (len(mechanism.bodies) + 1)
    for push in mechanism.pushes:
        total[push.frame.body] = total[push.frame.body] + _push(push, moving, names)
    for link in mechanism.links:
        pull = link_force(link, moving)
        for end, force in ((link.first, pull), (link.second, -pull)):
            total[end.body] = total[end.body] + _at_point(end, moving, force)
    return total


def drive(mechanism: Mechanism, moving: Records, names: Names) -> None:
    """What acts `along` the rates of each body: torque laws, joint springs and dampers."""
    for body in mechanism.bodies:
        record, joint = moving[body.number], body.connection.joint
        record.driven = (0,) * len(joint.rates)
        record.spring, record.rest, record.damping = joint.spring, joint.rest, joint.damping
    for torque in mechanism.drives:
        record = moving[torque.body]
        laws = (law.evaluate(names) for law in torque.laws)
        record.driven = tuple(old + new for old, new in zip(record.driven, laws, strict=True))
    moving.locally(resist)


def resist(body: Record) -> Fields:
    """Along each rate: what drives it, -k (q - rest) of its spring, -c u of its damper."""
    along = list(body.driven)
    for i in range(len(along)):
        if body.spring:
            along[i] = along[i] - body.spring[i] * (body.q[i] - (body.rest[i] if body.rest else 0))
        if body.damping:
            along[i] = along[i] - body.damping[i] * body.u[i]
    return {"along": tuple(along)}


def along_rates(mechanism: Mechanism, moving: Sequence[Record], field: str) -> tuple[Scalar, ...]:
    """A field with an entry for each rate of a body, for all rates of the tree that are not prescribed."""
    free = [moving[body.number] for body in mechanism.bodies if not body.laws and body.v.stop > body.v.start]
    return tuple(entry for record in free for entry in getattr(record, field))


def potential_energy(mechanism: Mechanism, placed: Sequence[Record]) -> Scalar:
    """Of gravity (zero at the inertial origin), of joint springs and of springs between points. J"""
    energy: Scalar = 0
    for body in mechanism.bodies:
        record = placed[body.number]
        moment = record.X_0.rotation @ body.inertia.h + record.X_0.offset * body.inertia.mass
        energy = energy - mechanism.gravity @ moment
        joint = body.connection.joint
        for i, k in enumerate(joint.spring or ()):
            stretch = record.q[i] - (joint.rest[i] if joint.rest else 0)
            energy = energy + k * stretch * stretch / 2
    for link in mechanism.links:
        stretch = _length(link, placed) - link.rest
        stretch = maximum(stretch, 0) if link.tension_only else stretch
        energy = energy + link.stiffness * stretch * stretch / 2
    return energy


def link_force(link: Link, moving: Sequence[Record]) -> Vector:
    """The force on the first end, in inertial axes: (k (l - l0) + c l') e, along e to the second end."""
    along = _between(link, moving)
    if link.rest == 0 and link.damping == 0:
        return along * link.stiffness  # regular also where the ends meet
    length = sqrt(along @ along)
    e = along / length
    tension = link.stiffness * (length - link.rest)
    if link.damping != 0:
        tension = tension + link.damping * (e @ (_velocity(link.second, moving) - _velocity(link.first, moving)))
    if link.tension_only:
        tension = select(length - link.rest, maximum(tension, 0), 0)
    return e * tension


def _push(push: Push, moving: Sequence[Record], names: Names) -> Force:
    force, moment = (Vector(*(law.evaluate(names) for law in laws)) for laws in (push.force, push.moment))
    if not push.carried:
        R = frame_placement(moving, push.frame).rotation.T @ moving[0].X_0.rotation
        force, moment = R @ force, R @ moment
    return push.frame.placement.force_to_parent(Force(force, moment))


def _at_point(end: Attached, moving: Sequence[Record], force: Vector) -> Force:
    """A force in inertial axes at the origin of a frame, as it acts on the body."""
    f = moving[end.body].X_0.rotation.T @ force
    return Force(f, end.placement.offset.cross(f))


def _between(link: Link, placed: Sequence[Record]) -> Vector:
    first, second = (frame_placement(placed, end).offset for end in (link.first, link.second))
    return second - first


def _length(link: Link, placed: Sequence[Record]) -> Scalar:
    return _between(link, placed).norm


def _velocity(end: Attached, moving: Sequence[Record]) -> Vector:
    """Of the origin of a frame, in inertial axes."""
    record = moving[end.body]
    return record.X_0.rotation @ (record.v.linear + record.v.angular.cross(end.placement.offset))


def _refuse_what_is_missing(mechanism: Mechanism) -> None:
    if mechanism.contacts:
        raise MomentreeError(f"{mechanism.contacts[0]}: contact forces are not computed yet. Leave contacts out.")
    for loop in mechanism.loops:
        joint = loop.joint
        driven = loop.connection is not None and loop.name in [drive.joint for drive in mechanism.drives]
        if driven or joint.spring or joint.damping:
            message = "closes a loop; springs, damping and torques on it are not computed yet. Cut another joint."
            raise MomentreeError(f"joint '{loop.name}': {message}")
