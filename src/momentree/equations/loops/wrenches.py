"""Wrenches of loops on the bodies at their ends: constraint forces, impulse changes, forces of the closing joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from momentree.equations.loops.closing_joint import velocity_at
from momentree.equations.loops.constraint_rows import row_derivative, wrench_pair
from momentree.equations.sweeps import Fields, Record, Records
from momentree.spatial import ZERO, Force, Scalar
from momentree.structure.mechanism import Mechanism

NO_WRENCHES = {"wrench_on0": Force.zero(), "wrench_on1": Force.zero()}  # of a loop


def wrenches_of(loop: Record, wrench: Force) -> Fields:
    """A wrench at O in axes of the first body acts on that body, its opposite on the second."""
    on_first, on_second = wrench_pair(wrench, loop.origin, loop.E, loop.second_frame.offset)
    return {"wrench_on0": on_first, "wrench_on1": on_second}


def apply_constraint_forces(constraint: Record) -> Fields:
    """The wrenches of the rows times eta, which are Lagrange multipliers or impulses, on the body at each end."""
    if hasattr(constraint, "origin"):  # of a loop: summed at O, which takes fewer operations
        return wrenches_of(constraint, _times_eta(constraint.rows, constraint.node))
    ends = range(constraint.ends)
    return {f"wrench_on{end}": _times_eta(getattr(constraint, f"rows_on{end}"), constraint.node) for end in ends}


def apply_impulse_changes(kappa: Scalar) -> Callable[[Record], Fields]:
    """A step: the wrenches by which impulses R eta change, -(R' eta + (0; v_O x f)), and leak by kappa.

    Rows turn and the origin moves: docs/theory/loops.md (7). Without these wrenches the motion is wrong.
    """

    def step(loop: Record) -> Fields:
        w, w_2 = loop.body0.v.angular, loop.E @ loop.body1.v.angular
        v_O = loop.E @ velocity_at(loop.body1.v, loop.second_frame.offset)
        total, change = Force.zero(), Force.zero()
        for i, row in enumerate(loop.rows):
            eta = getattr(loop.node, f"eta{i}")
            total = total + row * eta
            change = change + row_derivative(loop, i, w, w_2) * eta
        return wrenches_of(loop, total * kappa - change - Force(ZERO, v_O.cross(total.linear)))

    return step


def apply_joint_forces(loop: Record) -> Fields:
    """The generalized forces of the closing joint, as wrenches on both bodies."""
    total = Force.zero()
    for force, Q in zip(loop.dual_subspace, loop.Q, strict=True):
        total = total - force * Q
    return wrenches_of(loop, total)


def add_constraint_wrenches(body: Record) -> Fields:
    """The wrenches of constraints on a body are added to the applied one."""
    total = body.applied
    for i, (_, end) in enumerate(body.slots.ends):
        total = total + getattr(getattr(body, f"constraint{i}"), f"wrench_on{end}")
    return {"applied": total}


def loop_wrenches(mechanism: Mechanism, moving: Records) -> list[Force]:
    """The wrenches of loops on the ground and on each body, at its own frame; an empty list without loops."""
    return wrenches_by_body(mechanism, moving.loops, len(mechanism.bodies) + 1) if mechanism.loops else []


def wrenches_by_body(mechanism: Mechanism, loops: Records, count: int) -> list[Force]:
    """The wrenches of loops, summed for each body that they act on."""
    total = [Force.zero()] * count
    for loop, record in zip(mechanism.loops, loops[1:], strict=True):
        for end, body in enumerate((loop.first.body, loop.second.body)):
            total[body] = total[body] + getattr(record, f"wrench_on{end}")
    return total


def _times_eta(rows: Sequence[Force], node: Record) -> Force:
    total = Force.zero()
    for i, row in enumerate(rows):
        total = total + row * getattr(node, f"eta{i}")
    return total
