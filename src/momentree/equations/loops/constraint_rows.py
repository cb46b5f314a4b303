"""Constraint rows: wrenches on the bodies at their ends, and the bias of their velocities and accelerations.

The velocity of a constraint is the sum over its ends of rows' v, or of coefficients times u, and its drift, which it
has while all is at rest. Drift and bias are part of what the elimination makes vanish.
"""

from __future__ import annotations

from collections.abc import Callable

from momentree.equations.loops.closing_joint import crossed_axes, velocity_at
from momentree.equations.loops.expression_constraints import (
    expression_bias_derivative,
    is_expression,
    place_expression,
    share_velocities,
)
from momentree.equations.loops.higher_pair_rows import (
    pair_drift_derivatives,
    pair_drifts,
    pair_row_derivatives,
    pair_rows,
)
from momentree.equations.loops.residual import misfit
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.higher_pairs import HigherPair
from momentree.spatial import ZERO, Force, Motion, Rotation, Scalar, Vector


def row_count(constraint: Record) -> int:
    """How many rows a constraint has."""
    if is_expression(constraint):
        return 1
    if isinstance(constraint.joint_type, HigherPair):
        return len(constraint.joint_type.row_names)
    return len(constraint.fixed_rows) + (constraint.joint_type.crossed_axes is not None)


def place_constraints(constraint: Record) -> Fields:
    """Rows as wrenches on the bodies at the ends, and where they are."""
    return place_expression(constraint) if is_expression(constraint) else place_loop(constraint)


def place_loop(loop: Record) -> Fields:
    """E, which takes axes of the second body to those of the first; O from the first; rows as wrenches on both."""
    first, second = loop.body0, loop.body1
    R = first.X_0.rotation.T
    E = R @ second.X_0.rotation
    ground = getattr(loop, "ground", None)
    between = loop.anchor_offset if ground is None else ground.X_0.rotation @ loop.anchor_offset
    origin = R @ (second.r - first.r + between) + E @ loop.second_frame.offset
    rows, drift = loop.fixed_rows, (0,) * row_count(loop)
    if isinstance(loop.joint_type, HigherPair):
        placed = loop.having(E=E, origin=origin)
        rows, drift = pair_rows(placed), pair_drifts(placed)
    elif loop.joint_type.crossed_axes is not None:
        a, b = crossed_axes(loop, E)
        rows = (*rows, Force(ZERO, a.cross(b)))
    pairs = [wrench_pair(row, origin, E, loop.second_frame.offset) for row in rows]
    on_bodies = {f"rows_on{end}": tuple(pair[end] for pair in pairs) for end in (0, 1)}
    return {
        "E": E,
        "origin": origin,
        "rows": rows,
        **on_bodies,
        "drift": drift,
        "bias": drift,
        "misfit": misfit(loop, E, origin),
    }


def wrench_pair(wrench: Force, origin: Vector, E: Rotation, second_origin: Vector) -> tuple[Force, Force]:
    """A wrench at O in axes of the first body: on that body, and its opposite on the second, each at its own frame."""
    f = E.T @ wrench.linear
    second = Force(f, E.T @ wrench.angular + second_origin.cross(f))
    return Force(wrench.linear, wrench.angular + origin.cross(wrench.linear)), -second


def row_derivatives(loop: Record, w: Vector, w_2: Vector) -> list[Force]:
    """The derivatives of the rows, which turn with the first body; one perpendicular to two axes turns with both.

    Those of a higher pair change besides, as the second body moves.
    """
    turning = [Force(w.cross(row.linear), w.cross(row.angular)) for row in loop.rows]
    if isinstance(loop.joint_type, HigherPair):
        return [turn + change for turn, change in zip(turning, pair_row_derivatives(loop), strict=True)]
    if loop.joint_type.crossed_axes is not None:
        a, b = crossed_axes(loop, loop.E)
        turning[-1] = Force(ZERO, w.cross(a).cross(b) + a.cross(w_2.cross(b)))
    return turning


# --- biases ---


def velocity_bias(gamma: Scalar) -> Callable[[Record], Fields]:
    """A step: constraint velocities are to be -gamma times the closure errors (Baumgarte stabilization)."""

    def step(constraint: Record) -> Fields:
        both = zip(constraint.closure_error, constraint.drift, strict=True)
        return {"bias": tuple(gamma * error + drift for error, drift in both)}

    return step


def target_bias(loop: Record) -> Fields:
    """Constraint velocities are to be minus the targets."""
    return {"bias": tuple(loop.targets)}


def closure_error_bias(loop: Record) -> Fields:
    """Constraint velocities are to be minus the closure errors: a step of Newton's method."""
    return {"bias": tuple(loop.closure_error)}


def acceleration_bias(
    by_velocity: Scalar = 0, by_error: Scalar = 0, programme: bool = False
) -> Callable[[Record], Fields]:
    """A step: the part J' u of constraint accelerations, and g'' + by_velocity g' + by_error g = 0 (Baumgarte 1972).

    With a `programme`, its bias (programme_bias.py) is added.
    """

    def step(constraint: Record) -> Fields:
        if is_expression(constraint):
            changes = [expression_bias_derivative(constraint)]
        else:
            changes = _loop_bias_derivatives(constraint)
        if by_velocity != 0:
            velocities = find_constraint_velocities(constraint)["constraint_velocity"]
            changes = [x + v * by_velocity for x, v in zip(changes, velocities, strict=True)]
        if by_error != 0:
            changes = [x + error * by_error for x, error in zip(changes, constraint.closure_error, strict=True)]
        if programme:
            changes = [x + bias for x, bias in zip(changes, constraint.programme_bias, strict=True)]
        return {"bias": tuple(changes)}

    return step


def _loop_bias_derivatives(loop: Record) -> list[Scalar]:
    """The derivative of each row's velocity without dv."""
    first, second = loop.body0.v, loop.body1.v
    v, w = velocity_at(first, loop.origin), first.angular
    v_O, w_2 = loop.E @ velocity_at(second, loop.second_frame.offset), loop.E @ second.angular
    linear = w.cross(v_O * 2 - v) - w_2.cross(v_O)
    relative = Motion(v - v_O, w - w_2)
    if isinstance(loop.joint_type, HigherPair):
        terms = zip(loop.rows, pair_row_derivatives(loop), pair_drift_derivatives(loop), strict=True)
        return [
            linear @ row.linear + relative.angular @ w.cross(row.angular) + relative @ change + drift
            for row, change, drift in terms
        ]
    rows = zip(loop.rows, row_derivatives(loop, w, w_2), strict=True)
    return [linear @ row.linear + turning.angular @ relative.angular for row, turning in rows]


# --- velocities and accelerations of rows ---


def find_constraint_velocities(constraint: Record) -> Fields:
    """The velocity of each row: the sum over the ends of rows' v, and its drift."""
    terms = zip(velocities_without_drift(constraint), constraint.drift, strict=True)
    return {"constraint_velocity": tuple(value + drift for value, drift in terms)}


def velocities_without_drift(constraint: Record) -> tuple[Scalar, ...]:
    """The part of the velocity of each row that its bodies cause."""
    return _over_ends(constraint, "v", "shared_u")


def find_constraint_accelerations(constraint: Record) -> Fields:
    """The acceleration of each row: the sum over the ends of rows' dv, and its bias."""
    terms = zip(_over_ends(constraint, "dv", "du"), constraint.bias, strict=True)
    return {"constraint_acceleration": tuple(value + bias for value, bias in terms)}


def _over_ends(constraint: Record, motion: str, along: str) -> tuple[Scalar, ...]:
    """The sum over the ends of rows times a motion of the body there, or of coefficients along its joint."""
    joints = len(constraint.formula.by_joint) if is_expression(constraint) else 0
    total: list[Scalar] = [0] * row_count(constraint)
    for end in range(constraint.ends):
        body = getattr(constraint, f"body{end}")
        for i in range(len(total)):
            if end < joints:
                u = getattr(body, along)
                coefficients = zip(getattr(constraint, f"rows_along{end}")[i], u, strict=True)
                total[i] = total[i] + sum(x * y for x, y in coefficients)
            else:
                total[i] = total[i] + getattr(body, motion) @ getattr(constraint, f"rows_on{end}")[i]
    return tuple(total)


def constraint_velocities(moving: Records) -> list[Scalar]:
    """The velocity of each row of each constraint, where bodies move."""
    moving.locally(share_velocities)
    moving.constraints.locally(find_constraint_velocities)
    return [velocity for each in moving.constraints[1:] for velocity in each.constraint_velocity]
