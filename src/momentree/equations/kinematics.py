"""Forward kinematics: placements, twists and accelerations of the bodies, by outward steps on any scalar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from momentree.equations.evaluation import Evaluation
from momentree.equations.loops.constraint_rows import place_constraints
from momentree.equations.loops.records import carry_offset, with_loops
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.expressions.expression import Reference
from momentree.model.joint_type import Coordinates, Prescribed
from momentree.model.joint_types import Free
from momentree.spatial import REST, ZERO, ChainTransform, Motion, Scalar, Transform, Vector
from momentree.spatial.scalar import sqrt
from momentree.structure.mechanism import Attached, Laws, Mechanism


def place_body(body: Record, parent: Record) -> Fields:
    """X of the body in its parent (C), X_0 in inertial space, and the motion subspace A of its joint."""
    X = ChainTransform(body.mount, body.joint_type.placement(body.q))
    return {"X": X, "X_0": parent.X_0 @ X.mount @ X.joint, "A": body.joint_type.motion_subspace(body.q)}


def carry_velocity(body: Record, parent: Record) -> Fields:
    """v = C v_parent + A u, Ivanov 2022 (1); A u of a prescribed joint is v^r."""
    return {"v": body.X.motion(parent.v) + body.A @ body.u}


def carry_acceleration(body: Record, parent: Record) -> Fields:
    """dv = C dv_parent - (A u) x (C v_parent) + A' u + A du: the derivatives of the components of v.

    Belkov and Konoplev 1997 (2.2), there X, with the term A' u that the paper leaves out.
    """
    carried, relative = body.X.motion(parent.v), body.A @ body.u
    turning = body.joint_type.motion_subspace_derivative(body.q, body.u) @ body.u
    return {"dv": body.X.motion(parent.dv) - relative.cross(carried) + turning + body.A @ body.du}


def move(body: Record) -> Fields:
    """The derivatives of the coordinates of a joint."""
    return {"dq": tuple(body.joint_type.coordinate_derivatives(body.q, body.u))}


def arrive(body: Record) -> Fields:
    """The coordinates of a joint after a unit of time, were their derivatives to stay as they are."""
    return {"arrived": tuple(x + dx for x, dx in zip(body.q, body.dq, strict=True))}


class Derivatives(NamedTuple):
    """How a state changes: the derivatives of its coordinates, and of its momenta or velocities."""

    q: tuple[Scalar, ...]
    p: tuple[Scalar, ...]


def coordinate_derivatives(mechanism: Mechanism, moving: Sequence[Record]) -> tuple[Scalar, ...]:
    """The derivatives of all coordinates that are not prescribed, where bodies have made their `move`."""
    return tuple(x for body in mechanism.bodies if not body.laws for x in moving[body.number].dq)


def coordinate_changes(mechanism: Mechanism, q: Coordinates, u: Coordinates) -> list[Scalar]:
    """The derivatives of all coordinates that are not prescribed, along velocities; quaternions may have any length."""
    changes: list[Scalar] = []
    for body in mechanism.bodies:
        if body.laws is None:
            at, along, move = tuple(q[body.q]), tuple(u[body.v]), body.joint.type.coordinate_derivatives
            if len(at) == len(along):
                changes += move(at, along)
            else:
                length = sqrt(sum(e * e for e in at[-4:]))
                *others, x, y, z, w = move((*at[:-4], *(e / length for e in at[-4:])), along)
                changes += (*others, *(e * length for e in (x, y, z, w)))
    return changes


def integrated(mechanism: Mechanism, q: Coordinates, v: Coordinates) -> list[Scalar]:
    """All coordinates that are not prescribed after a unit of time at constant velocities of the tree."""
    bodies = [body for body in mechanism.bodies if body.laws is None]
    return [x for body in bodies for x in body.joint.type.integrate(tuple(q[body.q]), tuple(v[body.v]))]


def velocities_between(mechanism: Mechanism, q: Coordinates, later: Coordinates) -> list[Scalar]:
    """The velocities with which `integrated` leads from q to later."""
    bodies = [body for body in mechanism.bodies if body.laws is None]
    return [x for body in bodies for x in body.joint.type.difference(tuple(q[body.q]), tuple(later[body.q]))]


def moved_coordinates(mechanism: Mechanism, moving: Records) -> list[Scalar]:
    """All coordinates that are not prescribed plus their derivatives, where bodies have made their `move`."""
    moving.locally(arrive)
    return [x for body in mechanism.bodies if not body.laws for x in moving[body.number].arrived]


def records(
    at: Evaluation,
    u: Coordinates | None = None,
    du: Coordinates | None = None,
    weighed: bool = False,
    closed: bool = False,
) -> Records:
    """One record for the ground and each body: placed (`X_0`), moving (`v`) if u is given, accelerating if du is.

    | argument | shape  | meaning                                                                    |
    |----------|--------|----------------------------------------------------------------------------|
    | u, du    | nv, nv | velocities and their derivatives (NOTATION.md)                             |
    | weighed  |        | accelerations less gravity, as if the ground accelerated upwards           |
    | closed   |        | with elimination nodes and records of the loops (loops/)                   |
    """
    mechanism = at.mechanism
    now = at.names
    bodies = [_ground(mechanism, now, weighed)]
    for body in mechanism.bodies:
        if body.laws is None:
            entries_of = {"q": at.q[body.q], "u": _part(u, body.v), "du": _part(du, body.v)}
            moves = {name: tuple(entries) for name, entries in entries_of.items() if entries is not None}
        else:
            moves = body.joint.type.prescribed(*_at(body.laws, now))._asdict()
        fixed = {"number": body.number, "parent": body.parent, "mount": body.mount, "joint_type": body.joint_type}
        bodies.append(Record(**fixed, inertia=body.inertia, **moves))
    still = mechanism.ground is None and not weighed
    moving = with_loops(mechanism, bodies, at.run, still, now) if closed else at.run(bodies)
    moving.names = now
    moving.outward(place_body)
    if closed:
        moving.outward(carry_offset)
        moving.constraints.locally(place_constraints)
    if u is not None:
        moving.outward(carry_velocity)
    if du is not None:
        moving.outward(carry_acceleration)
    return moving


def frame_placement(placed: Sequence[Record], frame: Attached) -> Transform:
    """A frame fixed in a body, in inertial space."""
    X_0: Transform = placed[frame.body].X_0
    return X_0 @ frame.placement


def motion_over_ground(placed: Sequence[Record], frame: Attached) -> tuple[Vector, Vector, Vector]:
    """Position, velocity and angular velocity of a frame relative to the ground, in its axes; the bodies move."""
    ground, body = placed[0], placed[frame.body]
    X: Transform = ground.X_0.inverse() @ body.X_0 @ frame.placement
    relative = frame.placement.motion(body.v) - X.motion(ground.v)
    return X.offset, X.rotation @ relative.linear, X.rotation @ relative.angular


def frame_jacobian(mechanism: Mechanism, placed: Sequence[Record], frame: Attached) -> list[Motion]:
    """How a frame moves by each velocity of the tree: its origin, in inertial axes; one column for each velocity."""
    columns = [REST] * mechanism.nv
    for i, column in frame_columns(mechanism, placed, frame):
        columns[i] = column
    return columns


class PartialVelocities(NamedTuple):
    """Partial velocities of a frame in inertial axes: V = sum of v_s u_s + v_t, w = sum of w_s u_s + w_t.

    | field     | shape | meaning                                                                                   |
    |-----------|-------|-------------------------------------------------------------------------------------------|
    | linear    | nv, 3 | v_s: velocity of the frame's origin for a unit of each velocity (1, or m for a rotation)  |
    | angular   | nv, 3 | w_s: angular velocity of the frame for a unit of each velocity                            |
    | linear_t  | 3     | v_t: velocity of the origin that prescribed motion alone causes (m/s)                     |
    | angular_t | 3     | w_t: angular velocity that prescribed motion alone causes (rad/s)                         |
    """

    linear: Any
    angular: Any
    linear_t: Any
    angular_t: Any


def partial_velocities(at: Evaluation, frame: Attached) -> PartialVelocities:
    """Of a frame fixed in a body, or in the ground."""
    moving = records(at, (0,) * at.mechanism.nv)
    columns, record = frame_jacobian(at.mechanism, moving, frame), moving[frame.body]
    rest = seen_at(frame_placement(moving, frame).offset, record, record.v)
    linear, angular = ([[*getattr(column, part)] for column in columns] for part in ("linear", "angular"))
    return PartialVelocities(linear, angular, [*rest.linear], [*rest.angular])


def frame_columns(mechanism: Mechanism, placed: Sequence[Record], frame: Attached) -> Iterator[tuple[int, Motion]]:
    """The columns of `frame_jacobian` that are not zero, each with the number of its velocity."""
    point = frame_placement(placed, frame).offset
    number = frame.body
    while number:
        body = mechanism.bodies[number - 1]
        if body.laws is None:
            for i, axis in enumerate(placed[number].A.columns, body.v.start):
                yield i, seen_at(point, placed[number], axis)
        number = body.parent


def seen_at(point: Vector, record: Record, v: Motion) -> Motion:
    """A motion of a body, in inertial axes, for its point that stands at `point`."""
    R = record.X_0.rotation
    w = R @ v.angular
    return Motion(R @ v.linear + w.cross(point - record.X_0.offset), w)


def _ground(mechanism: Mechanism, now: Mapping[Reference, Scalar], weighed: bool) -> Record:
    X_0, v, dv = Transform(), REST, REST
    if mechanism.ground is not None:
        motion = Free()
        q, u, du = motion.prescribed(*_at(mechanism.ground, now))
        X_0, A = motion.placement(q), motion.motion_subspace(q)
        v, dv = A @ u, A @ du
    if weighed:
        dv = dv - Motion(X_0.rotation.T @ mechanism.gravity, ZERO)
    return Record(number=0, X_0=X_0, v=v, dv=dv)


def _part(values: Coordinates | None, part: slice) -> Coordinates | None:
    """The entries of one joint; none where there can be none."""
    return values[part] if values is not None else () if part.start == part.stop else None


def _at(laws: Laws, now: Mapping[Reference, Scalar]) -> Prescribed:
    values, velocities, accelerations = (tuple(law.evaluate(now) for law in level) for level in laws)
    return Prescribed(values, velocities, accelerations)
