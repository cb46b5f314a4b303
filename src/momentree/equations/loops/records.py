"""Records of constraints and of elimination nodes, linked with those of the bodies at their ends.

The fields are listed in equations/loops/__init__.py, the mathematics is in docs/theory/loops.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from momentree.equations.loops.constraint_rows import place_constraints
from momentree.equations.sweeps import Fields, Record, Records, Runner
from momentree.model.expressions.expression import Reference
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_types import Fixed
from momentree.spatial import ZERO, Force, RigidInertia, Scalar, Transform, Vector
from momentree.spatial.scalar import select
from momentree.structure.constraint_formulas import FrozenFormula
from momentree.structure.elimination import EliminationPlan
from momentree.structure.mechanism import Loop, Mechanism


def with_loops(
    mechanism: Mechanism, bodies: list[Record], run: Runner, fixed_ground: bool, names: Mapping[Reference, Scalar]
) -> Records:
    """The records of bodies and of the nodes where constraints are closed; `constraints` of them are the records of
    the loops, then of the expression constraints.

    `fixed_ground`: the ground does not move, or accelerate, in the problem to be solved; `names` are the values of time
    and free parameters.
    """
    rows, lengths, plan, reaches = mechanism.elimination(fixed_ground)
    for record, reach in zip(bodies[1:], reaches[1:], strict=True):
        record.reach = reach
    _anchor(bodies)
    constraints = [_loop(*each, names) for each in zip(mechanism.loops, rows, lengths, strict=True)]
    constraints += [_expression(formula, bodies, names) for formula in mechanism.constraint_formulas]
    linked = with_constraints_at(bodies, constraints, plan, run)
    _join(mechanism, linked)
    return linked


def with_constraints_at(
    bodies: Sequence[Record], constraints: Sequence[Record], plan: EliminationPlan, run: Runner
) -> Records:
    """The records of bodies, elimination nodes and constraints, linked as the plan says."""
    nodes = [_node(number) for number in range(len(bodies), len(plan.nodes))]
    everything = [*bodies, *nodes]
    for record, node in zip(everything[1:], plan.nodes[1:], strict=True):
        record.parent, record.slots = node.parent, node.slots
    linked = run(everything, plan.order)
    linked.constraints = run([Record(number=0), *constraints])
    for number, (record, ends) in enumerate(zip(linked.constraints[1:], plan.constraints, strict=True), 1):
        record.number, record.parent = number, 0
        _link(record, ends.bodies, linked)
    for record, number in zip(linked.constraints[1:], plan.node_of, strict=True):
        record.node = linked[number]
        linked[number].closing = record
    for record, node in zip(linked[1:], plan.nodes[1:], strict=True):
        for i, begun in enumerate(node.ends):
            setattr(record, f"constraint{i}", linked.constraints[begun.constraint + 1])
    return linked


def closing_joints(mechanism: Mechanism, moving: Records) -> Records:
    """The records of the loops, placed: those that close them or, where loops are left open, without rows."""
    if not hasattr(moving, "constraints"):
        loops = [_loop(loop, (), 0.0, moving.names) for loop in mechanism.loops]
        moving.constraints = Records([Record(number=0), *loops])
        for number, (loop, record) in enumerate(zip(mechanism.loops, moving.constraints[1:], strict=True), 1):
            record.number, record.parent = number, 0
            _link(record, (loop.first.body, loop.second.body), moving)
        _anchor(moving)
        _join(mechanism, moving)
        moving.outward(carry_offset)
        moving.constraints.locally(place_constraints)
    return moving.constraints


def expression_records(mechanism: Mechanism, placed: Records) -> Records:
    """The records of expression constraints between bodies that are placed, no elimination."""
    constraints = Records([Record(number=0)])
    for of in mechanism.constraint_formulas:
        constraints.append(_expression(of, placed, placed.names))
        _link(constraints[-1], of.ends, placed)
    constraints.locally(place_constraints)
    return constraints


def _link(constraint: Record, bodies: Sequence[int], moving: Sequence[Record]) -> None:
    """Give a constraint the records of the bodies at its ends."""
    constraint.ends = len(bodies)
    for end, body in enumerate(bodies):
        setattr(constraint, f"body{end}", moving[body])


def loops_with_records(mechanism: Mechanism, moving: Records) -> list[tuple[Loop, Record]]:
    """The loops, each with its record; none where there are none."""
    return list(zip(mechanism.loops, moving.constraints[1:], strict=False)) if mechanism.loops else []


def carry_offset(body: Record, parent: Record) -> Fields:
    """r, from where the path to the body leaves the ground, in inertial axes: as exact far from the origin as at it."""
    X = body.X
    if body.anchored:
        return {"r": parent.X_0.rotation @ (X.mount.rotation @ X.joint.offset)}
    return {"r": parent.r + parent.X_0.rotation @ X.mount.point(X.joint.offset)}


def _anchor(bodies: Sequence[Record]) -> None:
    """Note which bodies stand on the ground, before nodes come between."""
    bodies[0].r = ZERO
    for record in bodies[1:]:
        record.anchored = record.parent == 0


def _join(mechanism: Mechanism, moving: Records) -> None:
    """Give loops the offset between the points where the paths to their two bodies leave the ground."""
    anchors = _anchors(mechanism)
    for loop, record in zip(mechanism.loops, moving.constraints[1:], strict=False):
        record.anchor_offset = anchors[loop.second.body] - anchors[loop.first.body]
        if mechanism.ground is not None:
            record.ground = moving[0]


def _anchors(mechanism: Mechanism) -> list[Vector]:
    """The point where the path to each body leaves the ground, in the axes of the ground."""
    anchors = [ZERO]
    for body in mechanism.bodies:
        anchors.append(anchors[body.parent] if body.parent else body.mount.offset)
    return anchors


def _node(number: int) -> Record:
    """A body without inertia, welded to another, where a constraint is closed."""
    return Record(number=number, parent=-1, **_WITHOUT_INERTIA)


_WITHOUT_INERTIA: Fields = {
    "mount": Transform(),
    "joint_type": Fixed(),
    "inertia": RigidInertia(0, ZERO, (0,) * 6),
    **dict.fromkeys(("q", "u", "du", "p", "driven"), ()),
    "free": False,
    "applied": Force.zero(),
    "Q": (),
    **dict.fromkeys(("spring", "rest", "damping", "stops"), None),
    "anchored": False,
}


def _loop(loop: Loop, rows: Sequence[Force], length: Scalar, names: Mapping[Reference, Scalar]) -> Record:
    R = loop.first.placement.rotation
    fixed = tuple(Force(R @ row.linear, R @ row.angular) for row in rows)
    frames = {"first_frame": loop.first.placement, "second_frame": loop.second.placement}
    joint_type = loop.joint_type.with_fields(motion=None)
    if isinstance(joint_type, HigherPair):
        inputs = {"input_names": joint_type.names, "inputs": tuple(names[name] for name in joint_type.names)}
        return Record(joint_type=joint_type, fixed_rows=(), per_length=_reciprocal(length), **frames, **inputs)
    if joint_type.crossed_axes is not None:  # its last row is perpendicular to both axes, one in each body
        fixed = fixed[:3]
    return Record(joint_type=joint_type, fixed_rows=fixed, per_length=_reciprocal(length), **frames)


def _expression(of: FrozenFormula, bodies: Sequence[Record], names: Mapping[Reference, Scalar]) -> Record:
    coordinates = {f"joint_q{j}": tuple(bodies[number].q) for j, number in enumerate(of.bodies)}
    offsets = {f"frame_offset{k}": frame.placement.offset for k, frame in enumerate(of.frames)}
    inputs = tuple(value.evaluate(names) for value in of.inputs)
    return Record(formula=of.formula, inputs=inputs, **coordinates, **offsets)


def _reciprocal(length: Scalar) -> Scalar:
    """1 / length; 0 of a loop without lengths, which has nothing to compare an offset with."""
    if isinstance(length, (int, float)):
        return 1 / length if length else 0.0
    return select(length, 1 / length, 0.0)
