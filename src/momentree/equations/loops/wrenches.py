"""Wrenches of loops on the bodies at their ends: constraint forces, impulse changes, forces of the closing joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from momentree.equations.loops.closing_joint import velocity_at
from momentree.equations.loops.constraint_rows import row_derivatives, wrench_pair
from momentree.equations.loops.expression_constraints import (
    expression_forces,
    expression_impulse_changes,
    is_expression,
)
from momentree.equations.sweeps import Fields, Record, Records
from momentree.spatial import ZERO, Force, Scalar
from momentree.structure.mechanism import Mechanism

NO_WRENCHES = {"wrench_on0": Force.zero(), "wrench_on1": Force.zero()}  # of a loop


def wrenches_of(loop: Record, wrench: Force) -> Fields:
    """A wrench at O in axes of the first body acts on that body, its opposite on the second."""
    on_first, on_second = wrench_pair(wrench, loop.origin, loop.E, loop.second_frame.offset)
    return {"wrench_on0": on_first, "wrench_on1": on_second}


def apply_constraint_forces(constraint: Record) -> Fields:
    """The rows times eta, which are Lagrange multipliers or impulses: wrenches on bodies and forces along joints."""
    if is_expression(constraint):
        return expression_forces(constraint, constraint.node.eta0)
    if hasattr(constraint, "origin"):  # of a loop: summed at O, which takes fewer operations
        return wrenches_of(constraint, _times_eta(constraint.rows, constraint.node))
    ends = range(constraint.ends)
    return {f"wrench_on{end}": _times_eta(getattr(constraint, f"rows_on{end}"), constraint.node) for end in ends}


def apply_impulse_changes(kappa: Scalar) -> Callable[[Record], Fields]:
    """A step: the wrenches by which impulses R eta change, -(R' eta + (0; v_O x f)), and leak by kappa.

    Rows turn and the origin moves: docs/theory/loops.md (L7). Without these wrenches the motion is wrong.
    """

    def step(loop: Record) -> Fields:
        if is_expression(loop):
            return expression_impulse_changes(loop, loop.node.eta0, kappa)
        w, w_2 = loop.body0.v.angular, loop.E @ loop.body1.v.angular
        v_O = loop.E @ velocity_at(loop.body1.v, loop.second_frame.offset)
        total, change = Force.zero(), Force.zero()
        for i, (row, derivative) in enumerate(zip(loop.rows, row_derivatives(loop, w, w_2), strict=True)):
            eta = getattr(loop.node, f"eta{i}")
            total = total + row * eta
            change = change + derivative * eta
        return wrenches_of(loop, total * kappa - change - Force(ZERO, v_O.cross(total.linear)))

    return step


def apply_joint_forces(loop: Record) -> Fields:
    """The generalized forces of the closing joint, as wrenches on both bodies."""
    total = Force.zero()
    for force, Q in zip(loop.dual_subspace, loop.Q, strict=True):
        total = total - force * Q
    return wrenches_of(loop, total)


def no_forces(constraint: Record) -> Fields:
    """No wrenches on the bodies at its ends, no forces along its joints."""
    if not is_expression(constraint):
        return NO_WRENCHES
    joints = len(constraint.formula.by_joint)
    along = {f"force_along{j}": (0,) * len(getattr(constraint, f"rows_along{j}")[0]) for j in range(joints)}
    return along | {f"wrench_on{end}": Force.zero() for end in range(joints, constraint.ends)}


def add_constraint_wrenches(body: Record) -> Fields:
    """The wrenches of constraints on a body are added to the applied one, forces along its joint to Q."""
    total, Q = body.applied, body.Q
    for i, (_, end, along) in enumerate(body.slots.ends):
        constraint = getattr(body, f"constraint{i}")
        if along:
            Q = tuple(old + new for old, new in zip(Q, getattr(constraint, f"force_along{end}"), strict=True))
        else:
            total = total + getattr(constraint, f"wrench_on{end}")
    return {"applied": total, "Q": Q} if any(along for *_, along in body.slots.ends) else {"applied": total}


def constraint_wrenches(mechanism: Mechanism, moving: Records) -> list[Force]:
    """The wrenches of constraints on the ground and each body, at its own frame; an empty list without constraints."""
    if not mechanism.constrained:
        return []
    total = wrenches_by_body(mechanism, moving.constraints, len(mechanism.bodies) + 1)
    for of, record in zip(mechanism.constraint_formulas, moving.constraints[1 + len(mechanism.loops) :], strict=True):
        bodies = [*(frame.body for frame in of.frames), 0] if of.frames else []
        for end, body in enumerate(bodies, len(of.bodies)):
            total[body] = total[body] + getattr(record, f"wrench_on{end}")
    return total


def constraint_joint_forces(mechanism: Mechanism, moving: Records) -> dict[int, tuple[Scalar, ...]]:
    """The generalized forces of constraints along joints, by the number of the body after each."""
    total: dict[int, tuple[Scalar, ...]] = {}
    for of, record in zip(mechanism.constraint_formulas, moving.constraints[1 + len(mechanism.loops) :], strict=True):
        for end, body in enumerate(of.bodies):
            force = getattr(record, f"force_along{end}")
            total[body] = tuple(a + b for a, b in zip(total[body], force, strict=True)) if body in total else force
    return total


def wrenches_by_body(mechanism: Mechanism, constraints: Records, count: int) -> list[Force]:
    """The wrenches of loops, summed for each body that they act on."""
    total = [Force.zero()] * count
    for loop, record in zip(mechanism.loops, constraints[1:], strict=False):
        for end, body in enumerate((loop.first.body, loop.second.body)):
            total[body] = total[body] + getattr(record, f"wrench_on{end}")
    return total


def _times_eta(rows: Sequence[Force], node: Record) -> Force:
    total = Force.zero()
    for i, row in enumerate(rows):
        total = total + row * getattr(node, f"eta{i}")
    return total
