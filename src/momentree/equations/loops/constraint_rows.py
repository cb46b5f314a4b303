"""Constraint rows of loops: wrenches on the bodies at their ends, and the bias of their velocities and accelerations.

The velocity of a constraint is the sum over its ends of rows' v + bias; the elimination makes it vanish.
"""

from __future__ import annotations

from collections.abc import Callable

from momentree.equations.loops.closing_joint import crossed_axes, velocity_at
from momentree.equations.loops.residual import misfit
from momentree.equations.sweeps import Fields, Record, Records
from momentree.spatial import ZERO, Force, Motion, Rotation, Scalar, Vector


def row_count(loop: Record) -> int:
    """How many rows close a loop."""
    return len(loop.fixed_rows) + (loop.joint_type.crossed_axes is not None)


def place_constraints(loop: Record) -> Fields:
    """E, which takes axes of the second body to those of the first; O from the first; rows as wrenches on both."""
    first, second = loop.body0, loop.body1
    R = first.X_0.rotation.T
    E = R @ second.X_0.rotation
    ground = getattr(loop, "ground", None)
    between = loop.anchor_offset if ground is None else ground.X_0.rotation @ loop.anchor_offset
    origin = R @ (second.r - first.r + between) + E @ loop.second_frame.offset
    rows = loop.fixed_rows
    if loop.joint_type.crossed_axes is not None:
        a, b = crossed_axes(loop, E)
        rows = (*rows, Force(ZERO, a.cross(b)))
    pairs = [wrench_pair(row, origin, E, loop.second_frame.offset) for row in rows]
    on_bodies = {f"rows_on{end}": tuple(pair[end] for pair in pairs) for end in (0, 1)}
    return {
        "E": E,
        "origin": origin,
        "rows": rows,
        **on_bodies,
        "bias": (0,) * len(rows),
        "misfit": misfit(loop, E, origin),
    }


def wrench_pair(wrench: Force, origin: Vector, E: Rotation, second_origin: Vector) -> tuple[Force, Force]:
    """A wrench at O in axes of the first body: on that body, and its opposite on the second, each at its own frame."""
    f = E.T @ wrench.linear
    second = Force(f, E.T @ wrench.angular + second_origin.cross(f))
    return Force(wrench.linear, wrench.angular + origin.cross(wrench.linear)), -second


def row_derivative(loop: Record, i: int, w: Vector, w_2: Vector) -> Force:
    """The derivative of a row, which turns with the first body or, if it is perpendicular to two axes, with both."""
    row = loop.rows[i]
    if i < len(loop.fixed_rows):
        return Force(w.cross(row.linear), w.cross(row.angular))
    a, b = crossed_axes(loop, loop.E)
    return Force(ZERO, w.cross(a).cross(b) + a.cross(w_2.cross(b)))


# --- biases ---


def velocity_bias(gamma: Scalar) -> Callable[[Record], Fields]:
    """A step: constraint velocities are to be -gamma times the closure errors (Baumgarte stabilization)."""
    return lambda loop: {"bias": tuple(gamma * error for error in loop.closure_error)}


def target_bias(loop: Record) -> Fields:
    """Constraint velocities are to be minus the targets."""
    return {"bias": tuple(loop.targets)}


def closure_error_bias(loop: Record) -> Fields:
    """Constraint velocities are to be minus the closure errors: a step of Newton's method."""
    return {"bias": tuple(loop.closure_error)}


def acceleration_bias(alpha: Scalar) -> Callable[[Record], Fields]:
    """A step: the part J' u of constraint accelerations, and g'' + 2 alpha g' + alpha^2 g = 0 (Baumgarte 1972)."""

    def step(loop: Record) -> Fields:
        first, second = loop.body0.v, loop.body1.v
        v, w = velocity_at(first, loop.origin), first.angular
        v_O, w_2 = loop.E @ velocity_at(second, loop.second_frame.offset), loop.E @ second.angular
        linear = w.cross(v_O * 2 - v) - w_2.cross(v_O)
        relative = Motion(v - v_O, w - w_2)
        bias = []
        for i, row in enumerate(loop.rows):
            turning = row_derivative(loop, i, w, w_2).angular
            value = linear @ row.linear + turning @ relative.angular
            if alpha != 0:
                value = value + (relative @ row) * (2 * alpha) + loop.closure_error[i] * (alpha * alpha)
            bias.append(value)
        return {"bias": tuple(bias)}

    return step


# --- velocities and accelerations of rows ---


def find_constraint_velocities(constraint: Record) -> Fields:
    """The velocity of each row: the sum over the ends of rows' v."""
    return {"constraint_velocity": _over_ends(constraint, "v")}


def find_constraint_accelerations(constraint: Record) -> Fields:
    """The acceleration of each row: the sum over the ends of rows' dv, and its bias."""
    terms = zip(_over_ends(constraint, "dv"), constraint.bias, strict=True)
    return {"constraint_acceleration": tuple(value + bias for value, bias in terms)}


def _over_ends(constraint: Record, motion: str) -> tuple[Scalar, ...]:
    """The sum over the ends of rows times a motion of the body there."""
    ends = range(constraint.ends)
    motions = [getattr(getattr(constraint, f"body{end}"), motion) for end in ends]
    rows = zip(*(getattr(constraint, f"rows_on{end}") for end in ends), strict=True)
    return tuple(sum(v @ row for v, row in zip(motions, each, strict=True)) for each in rows)


def constraint_velocities(moving: Records) -> list[Scalar]:
    """The velocity of each row of each loop, where bodies move."""
    moving.loops.locally(find_constraint_velocities)
    return [velocity for loop in moving.loops[1:] for velocity in loop.constraint_velocity]
