"""Closed loops on any scalar: their records, the rows that close them, and what acts along these.

A loop's rows are forces at the common origin O (that of its second frame), carried by its first body. What they do to
the bodies on their way inward is told in open_rows.py, all of it in docs/theory/loops.md.

| field           | of a loop                                                                                 |
|-----------------|-------------------------------------------------------------------------------------------|
| first, second   | the records of its bodies; `node` is that of the node where it closes                     |
| rows            | in axes of the first body, at O                                                           |
| on_first        | the rows as forces on the first body, at its frame; `on_second` those on the second       |
| known           | the part of the opening of each row that is known beforehand                              |
| misfit          | the square of the closure error, of the loop's length: 0 where the loop is closed          |
| q, u            | of its joint: the coordinates that fit best, angles in (-pi, pi], and the velocities           |
| pulls           | what a unit of force along each velocity does to the second body, in axes of the first, at O  |
| push_first, ... | a wrench on the first body and its opposite on the second, each at its own frame          |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from momentree.equations.sweeps import Fields, Record, Records, Runner
from momentree.model.joint_type import Coordinates, JointType
from momentree.model.joint_types import Fixed, Spherical
from momentree.spatial import ZERO, Force, Motion, RigidInertia, Rotation, Scalar, Transform, Vector
from momentree.spatial.scalar import select
from momentree.spatial.symmetric import inverse
from momentree.structure.elimination import EliminationPlan, elimination_plan
from momentree.structure.loop_constraints import loop_constraints
from momentree.structure.mechanism import Loop, Mechanism
from momentree.structure.reach import Bound, loop_lengths, reaches

# --- the records ---


def with_loops(mechanism: Mechanism, bodies: list[Record], run: Runner, still: bool) -> Records:
    """The records of bodies and of the nodes where loops close; `loops` of them are the records of the loops.

    `still`: the ground does not move, or accelerate, in what is to be found.
    """
    rows, lengths, plan, reach_of = _planned(mechanism, still)
    for record, reach in zip(bodies[1:], reach_of[1:], strict=True):
        record.reach = reach
    bodies = bodies + [_node(number) for number in range(len(bodies), len(plan.places))]
    _anchor(bodies)
    for record, place in zip(bodies[1:], plan.places[1:], strict=True):
        record.parent, record.slots = place.parent, place.slots
    found = run(bodies, plan.order)
    loops = zip(mechanism.loops, rows, lengths, strict=True)
    found.loops = run([Record(number=0), *(_loop(*each) for each in loops)])
    _join(mechanism, found)
    for record, node in zip(found.loops[1:], plan.node_of, strict=True):
        record.node = found[node]
        found[node].closing = record
    for record, place in zip(found[1:], plan.places[1:], strict=True):
        for i, end in enumerate(place.ends):
            setattr(record, f"end{i}", found.loops[end.loop + 1])
    return found


class _Planned(NamedTuple):
    """What is known of the loops of a mechanism at all configurations; `reaches` by body."""

    rows: list[tuple[Force, ...]]
    lengths: list[Scalar]
    plan: EliminationPlan
    reaches: list[tuple[Bound, ...]]


def _planned(mechanism: Mechanism, still: bool) -> _Planned:
    """The rows of each loop and the plan by which they close: a mechanism keeps what is found of it."""
    known: dict[bool, _Planned] = vars(mechanism).setdefault("_planned", {})
    if still not in known:
        rows, lengths = [loop_constraints(mechanism, loop) for loop in mechanism.loops], loop_lengths(mechanism)
        plan = elimination_plan(mechanism, [len(each) for each in rows], still)
        known[still] = _Planned(rows, lengths, plan, reaches(mechanism, plan, rows, lengths))
    return known[still]


def _anchor(bodies: Sequence[Record]) -> None:
    """Note which bodies stand on the ground: before nodes come between."""
    bodies[0].r = ZERO
    for record in bodies[1:]:
        record.anchored = record.parent == 0


def _join(mechanism: Mechanism, moving: Records) -> None:
    """Tell the loops their number, their bodies, and how far apart the ways to these leave the ground."""
    anchors = _anchors(mechanism)
    for number, (loop, record) in enumerate(zip(mechanism.loops, moving.loops[1:], strict=True), 1):
        record.number, record.parent = number, 0
        record.first, record.second = moving[loop.first.body], moving[loop.second.body]
        record.apart = anchors[loop.second.body] - anchors[loop.first.body]
        if mechanism.ground is not None:
            record.ground = moving[0]


def _anchors(mechanism: Mechanism) -> list[Vector]:
    """Where the way to each body leaves the ground, in the axes of the ground."""
    found = [ZERO]
    for body in mechanism.bodies:
        found.append(found[body.parent] if body.parent else body.mount.offset)
    return found


def joints_of_loops(mechanism: Mechanism, moving: Records) -> Records:
    """The records of the loops, faced: those that close them or, where loops are left open, without rows."""
    if not hasattr(moving, "loops"):
        moving.loops = Records([Record(number=0), *(_loop(loop, (), 0.0) for loop in mechanism.loops)])
        _anchor(moving)
        _join(mechanism, moving)
        moving.outward(carry_offset)
        moving.loops.locally(face)
    return moving.loops


def _node(number: int) -> Record:
    """A body without inertia, welded to another: loops close there."""
    nothing: Fields = {"q": (), "u": (), "du": (), "p": (), "driven": (), "free": False, "applied": Force.zero()}
    nothing |= {"along": (), "spring": None, "rest": None, "damping": None, "stops": None}
    inertia = RigidInertia(0, ZERO, (0,) * 6)
    return Record(number=number, parent=-1, mount=Transform(), joint_type=Fixed(), inertia=inertia, **nothing)


def _loop(loop: Loop, rows: Sequence[Force], length: Scalar) -> Record:
    R = loop.first.placement.rotation
    turned = tuple(Force(R @ row.linear, R @ row.angular) for row in rows)
    frames = {"first_frame": loop.first.placement, "second_frame": loop.second.placement}
    joint_type = loop.joint_type.with_fields(motion=None)
    if joint_type.crossed_axes is not None:  # its last row is across both axes, one in each body
        turned = turned[:3]
    return Record(joint_type=joint_type, rows=turned, per_length=_reciprocal(length), **frames)


def _reciprocal(length: Scalar) -> Scalar:
    """1 / length; 0 of a loop without lengths, which has nothing to compare an offset with."""
    if isinstance(length, (int, float)):
        return 1 / length if length else 0.0
    return select(length, 1 / length, 0.0)


def carry_offset(body: Record, parent: Record) -> Fields:
    """r, from where the way to the body leaves the ground, in inertial axes: far from the origin it is as exact."""
    X = body.X
    if body.anchored:
        return {"r": parent.X_0.rotation @ (X.mount.rotation @ X.joint.offset)}
    return {"r": parent.r + parent.X_0.rotation @ X.mount.point(X.joint.offset)}


# --- steps of loops ---


def row_count(loop: Record) -> int:
    """How many rows close a loop."""
    return len(loop.rows) + (loop.joint_type.crossed_axes is not None)


def face(loop: Record) -> Fields:
    """E, which turns axes of the second body into those of the first; O from the first; rows as forces on both."""
    R = loop.first.X_0.rotation.T
    E = R @ loop.second.X_0.rotation
    ground = getattr(loop, "ground", None)
    apart = loop.apart if ground is None else ground.X_0.rotation @ loop.apart
    arm = R @ (loop.second.r - loop.first.r + apart) + E @ loop.second_frame.offset
    rows = loop.rows
    if loop.joint_type.crossed_axes is not None:
        a, b = _axes_of(loop, E)
        rows = (*rows, Force(ZERO, a.cross(b)))
    pairs = [_pair(row, arm, E, loop.second_frame.offset) for row in rows]
    on_first, on_second = (tuple(pair[end] for pair in pairs) for end in (0, 1))
    faced = {"E": E, "arm": arm, "lines": rows, "on_first": on_first, "on_second": on_second}
    return {**faced, "known": (0,) * len(rows), "misfit": _misfit(loop, E, arm)}


def _misfit(loop: Record, E: Rotation, arm: Vector) -> Scalar:
    """The sum of squared closure errors, offsets by the length of the loop; a thread, or a turn it makes, aside.

    Without the coordinates of the joint, other than `measure`: axes that should be in line are compared.
    """
    offset, turned = (arm - loop.first_frame.offset) * loop.per_length, _out_of_line(loop, E)
    rows = loop.rows[:-1] if loop.joint_type.threaded else loop.rows
    total: Scalar = 0
    for row in rows:
        total = total + _square(offset @ row.linear) + _square(turned @ row.angular)
    if loop.joint_type.crossed_axes is not None:
        a, b = _axes_of(loop, E)
        total = total + _square(a @ b - _cosine(loop))
    return total


def _out_of_line(loop: Record, E: Rotation) -> Vector:
    """How far the second frame is turned against what the joint allows, if that is a turn about one axis or none."""
    axes = [
        axis.angular
        for axis in loop.joint_type.motion_subspace(loop.joint_type.reference()).columns
        if axis.angular is not ZERO
    ]
    R_F, R_M = loop.first_frame.rotation, E @ loop.second_frame.rotation
    if not axes:
        return _skew_part(R_M @ R_F.T)
    return (R_F @ axes[0]).cross(R_M @ axes[0])


def _square(x: Scalar) -> Scalar:
    return x * x


def measure(loop: Record) -> Fields:
    """The closure error of each row: where the first body stands beyond the second, along it."""
    R, E, X_FM = loop.first_frame.rotation, loop.E, _second_in_first(loop)
    ball = isinstance(loop.joint_type, Spherical)  # which takes any rotation
    fit = Transform(X_FM.rotation) if ball else loop.joint_type.placement(loop.joint_type.fit(X_FM))
    offset = R @ (X_FM.offset - fit.offset)
    turned = R @ _skew_part(X_FM.rotation @ fit.rotation.T)
    closure_errors = [-(Motion(offset, turned) @ row) for row in loop.rows]
    if loop.joint_type.crossed_axes is not None:
        a, b = _axes_of(loop, E)
        closure_errors.append(a @ b - _cosine(loop))
    return {"closure_error": tuple(closure_errors)}


def relate(loop: Record) -> Fields:
    """The joint's coordinates, velocities, and what forces along the velocities do: u = (A' A)^-1 A' v, pulls A (A' A)^-1.

    v is how the second body moves as seen from the first, at O. A' A is the same at all coordinates of any joint.
    """
    q = loop.joint_type.fit(_second_in_first(loop))
    R_M, opening = loop.E @ loop.second_frame.rotation, _opening(loop)
    pulls = tuple(Force(R_M @ force.linear, R_M @ force.angular) for force in dual_motion_subspace(loop.joint_type, q))
    return {"q": tuple(q), "u": tuple(-(opening @ force) for force in pulls), "pulls": pulls}


def dual_motion_subspace(joint: JointType, q: Coordinates) -> list[Force]:
    """A (A' A)^-1 by columns, in axes of M: forces that tell the velocities of a motion of M, u = (A' A)^-1 A' v."""
    columns = [Force(axis.linear, axis.angular) for axis in joint.motion_subspace(q).columns]
    if not columns:
        return []
    at_reference = joint.motion_subspace(joint.reference()).columns
    found = []
    for row in inverse([[a @ Force(b.linear, b.angular) for b in at_reference] for a in at_reference]):
        total = Force.zero()
        for share, column in zip(row, columns, strict=True):
            total = total + column * share
        found.append(total)
    return found


def pull(loop: Record) -> Fields:
    """What acts along the velocities of the joint, as wrenches on both bodies."""
    total = Force.zero()
    for force, size in zip(loop.pulls, loop.along, strict=True):
        total = total - force * size
    return act(loop, total)


def hold_velocities(gamma: Scalar) -> Callable[[Record], Fields]:
    """A step: openings are to be -gamma times the closure errors."""
    return lambda loop: {"known": tuple(gamma * closure_error for closure_error in loop.closure_error)}


def open_as_wanted(loop: Record) -> Fields:
    """Openings are to be those that are wanted, backwards."""
    return {"known": tuple(loop.wanted)}


def cancel_closure_errors(loop: Record) -> Fields:
    """Openings are to be the closure errors, backwards."""
    return {"known": tuple(loop.closure_error)}


def hold_accelerations(alpha: Scalar) -> Callable[[Record], Fields]:
    """A step: what of the openings' derivatives is known from velocities, and g'' + 2 alpha g' + alpha^2 g = 0."""

    def step(loop: Record) -> Fields:
        v, w = _at_O(loop.first.v, loop.arm), loop.first.v.angular
        other = _at_O(loop.second.v, loop.second_frame.offset)
        v_O, w_2 = loop.E @ other, loop.E @ loop.second.v.angular
        linear = w.cross(v_O * 2 - v) - w_2.cross(v_O)
        opening = Motion(v - v_O, w - w_2)
        known = []
        for i, row in enumerate(loop.lines):
            turning = _row_rate(loop, i, w, w_2).angular
            value = linear @ row.linear + turning @ opening.angular
            if alpha != 0:
                value = value + (opening @ row) * (2 * alpha) + loop.closure_error[i] * (alpha * alpha)
            known.append(value)
        return {"known": tuple(known)}

    return step


def press(kappa: Scalar) -> Callable[[Record], Fields]:
    """A step: the wrenches on both bodies by which impulses R eta change, -(R' eta + (0; v_O x f)), and leak by kappa.

    Rows turn and the origin moves: docs/theory/loops.md (7). Without these wrenches the motion is wrong.
    """

    def step(loop: Record) -> Fields:
        w, w_2 = loop.first.v.angular, loop.E @ loop.second.v.angular
        v_O = loop.E @ _at_O(loop.second.v, loop.second_frame.offset)
        total, change = Force.zero(), Force.zero()
        for i, row in enumerate(loop.lines):
            eta = getattr(loop.node, f"eta{i}")
            total = total + row * eta
            change = change + _row_rate(loop, i, w, w_2) * eta
        return act(loop, total * kappa - change - Force(ZERO, v_O.cross(total.linear)))

    return step


def react(loop: Record) -> Fields:
    """The wrenches of the rows on both bodies, each at its own frame."""
    total = Force.zero()
    for i, row in enumerate(loop.lines):
        total = total + row * getattr(loop.node, f"eta{i}")
    return act(loop, total)


def act(loop: Record, wrench: Force) -> Fields:
    """A wrench at O in axes of the first body acts on that body, its opposite on the second."""
    first, second = _pair(wrench, loop.arm, loop.E, loop.second_frame.offset)
    return {"push_first": first, "push_second": second}


def part_ways(loop: Record) -> Fields:
    """How the opening of each row changes: F' dv of both bodies, and what is known of it from velocities."""
    pairs = zip(loop.on_first, loop.on_second, loop.known, strict=True)
    return {"change": tuple(loop.first.dv @ one + loop.second.dv @ other + known for one, other, known in pairs)}


def open_up(loop: Record) -> Fields:
    """How quickly each row opens."""
    rows = zip(loop.on_first, loop.on_second, strict=True)
    return {"opening": tuple(loop.first.v @ one + loop.second.v @ other for one, other in rows)}


def openings(moving: Records) -> list[Scalar]:
    """How quickly each row of each loop opens, where bodies move."""
    moving.loops.locally(open_up)
    return [opening for loop in moving.loops[1:] for opening in loop.opening]


def _second_in_first(loop: Record) -> Transform:
    """X_FM, of the frames of the joint."""
    R = loop.first_frame.rotation
    return Transform(R.T @ loop.E @ loop.second_frame.rotation, R.T @ (loop.arm - loop.first_frame.offset))


def _opening(loop: Record) -> Motion:
    """How the first body moves as seen from the second, at O, in its own axes."""
    v, v_2 = loop.first.v, loop.second.v
    linear = _at_O(v, loop.arm) - loop.E @ _at_O(v_2, loop.second_frame.offset)
    return Motion(linear, v.angular - loop.E @ v_2.angular)


def _pair(wrench: Force, arm: Vector, E: Rotation, second_arm: Vector) -> tuple[Force, Force]:
    """A wrench at O in axes of the first body: on that body, and its opposite on the second, each at its own frame."""
    f = E.T @ wrench.linear
    second = Force(f, E.T @ wrench.angular + second_arm.cross(f))
    return Force(wrench.linear, wrench.angular + arm.cross(wrench.linear)), -second


def _axes_of(loop: Record, E: Rotation) -> tuple[Vector, Vector]:
    """The two axes of a universal joint, one carried by each body, in axes of the first."""
    a, b = loop.joint_type.crossed_axes
    return loop.first_frame.rotation @ a, E @ (loop.second_frame.rotation @ b)


def _cosine(loop: Record) -> Scalar:
    """Of the angle that the joint keeps between its crossed axes."""
    a, b = loop.joint_type.crossed_axes
    return a @ b


def _row_rate(loop: Record, i: int, w: Vector, w_2: Vector) -> Force:
    """How a row turns: with the first body or, if it is across two axes, with both."""
    row = loop.lines[i]
    if i < len(loop.rows):
        return Force(w.cross(row.linear), w.cross(row.angular))
    a, b = _axes_of(loop, loop.E)
    return Force(ZERO, w.cross(a).cross(b) + a.cross(w_2.cross(b)))


def _at_O(v: Motion, arm: Vector) -> Vector:
    return v.linear + v.angular.cross(arm)


def _skew_part(R: Rotation) -> Vector:
    """The rotation vector of a small rotation."""
    a, b, c = R.rows
    return Vector(c.y - b.z, a.z - c.x, b.x - a.y) * 0.5


# --- what loops do to bodies ---


def pushed(body: Record) -> Fields:
    """What loops apply to a body is added to what else is applied to it."""
    total = body.applied
    for i, (_, second) in enumerate(body.slots.ends):
        end = getattr(body, f"end{i}")
        total = total + (end.push_second if second else end.push_first)
    return {"applied": total}


def recorded_loops(mechanism: Mechanism, moving: Records) -> list[tuple[Loop, Record]]:
    """The loops, each with its record; none where there are none."""
    return list(zip(mechanism.loops, moving.loops[1:], strict=True)) if mechanism.loops else []


def forces_of_loops(mechanism: Mechanism, moving: Records) -> list[Force]:
    """What loops do to the ground and to each body, at its own frame; nothing where there are none."""
    return pushes_of(mechanism, moving.loops, len(mechanism.bodies) + 1) if mechanism.loops else []


def pushes_of(mechanism: Mechanism, loops: Records, count: int) -> list[Force]:
    """The wrenches of loops by the body that they act on."""
    total = [Force.zero()] * count
    for loop, record in zip(mechanism.loops, loops[1:], strict=True):
        total[loop.first.body] = total[loop.first.body] + record.push_first
        total[loop.second.body] = total[loop.second.body] + record.push_second
    return total
