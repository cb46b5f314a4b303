"""Expression constraints: rows along the velocities of joints and on named frames, by their formulas.

The ends of such a constraint are the joints that it names, then the bodies of its frames, then the ground, from which
positions of frames are measured. Its row is a coefficient for each velocity of a joint (`rows_along`), and a wrench on
the body of each frame (`rows_on`), with the opposite on the ground. The formulas are made in
structure/constraint_formulas.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from momentree.equations.sweeps import Fields, Record
from momentree.model.expressions.expression import Expression
from momentree.spatial import Force, Rotation, Scalar, Vector
from momentree.structure.constraint_formulas import derivatives_of_formula, names_of_formula

Names = dict[Any, Scalar]


def is_expression(constraint: Record) -> bool:
    """Whether a constraint is an expression; otherwise it is a loop."""
    return hasattr(constraint, "formula")


def share_velocities(body: Record) -> Fields:
    """The velocities of a joint, for the constraints that name it."""
    return {"shared_u": body.u}


def place_expression(c: Record) -> Fields:
    """The row on each end, the velocity that it has without u, and its misfit."""
    names = _names(c)
    drift = (c.formula.drift.evaluate(names),)
    fields: Fields = {"drift": drift, "bias": drift, "misfit": 0}
    for j, slopes in enumerate(c.formula.by_joint):
        fields[f"rows_along{j}"] = (_along(c, j, [slope.evaluate(names) for slope in slopes]),)
    wrenches = [_values(slopes, names) for slopes in c.formula.by_frame]
    return fields | {f"rows_on{end}": (wrench,) for end, wrench in _on_ends(c, wrenches).items()}


def expression_error(c: Record) -> Fields:
    """The value of a holonomic constraint; zero of one on velocities."""
    return {"closure_error": (c.formula.value.evaluate(_names(c)) if c.formula.holonomic else 0,)}


def expression_bias_derivative(c: Record) -> Scalar:
    """The part of the derivative of the row's velocity without du and dv, where bodies move."""
    names = _moving_names(c)
    total = c.formula.drift_derivative.evaluate(names)
    for j, change in enumerate(_along_derivatives(c, names)):
        total = total + _dot(change, _velocities(c, j))
    for end, derivative in _row_derivatives(c, names).items():
        total = total + getattr(c, f"body{end}").v @ derivative
    return total


def expression_forces(c: Record, eta: Scalar) -> Fields:
    """The row times eta, along its joints and on its bodies."""
    along = {f"force_along{j}": _times(getattr(c, f"rows_along{j}")[0], eta) for j in _joints(c)}
    ends = range(len(c.formula.by_joint), c.ends)
    return along | {f"wrench_on{end}": getattr(c, f"rows_on{end}")[0] * eta for end in ends}


def expression_impulse_changes(c: Record, eta: Scalar, kappa: Scalar) -> Fields:
    """kappa J' eta - (dJ'/dt) eta, along joints and on bodies: loops.md (L7)."""
    names, changes = _moving_names(c), Fields()
    for j, change in enumerate(_along_derivatives(c, names)):
        both = zip(getattr(c, f"rows_along{j}")[0], change, strict=True)
        changes[f"force_along{j}"] = tuple((slope * kappa - ds) * eta for slope, ds in both)
    for end, derivative in _row_derivatives(c, names).items():
        row, v = getattr(c, f"rows_on{end}")[0], getattr(c, f"body{end}").v
        changes[f"wrench_on{end}"] = (row * kappa - derivative - v.cross_force(row)) * eta
    return changes


# --- names ---


def _joints(c: Record) -> range:
    return range(len(c.formula.by_joint))


def _coordinates(c: Record, j: int) -> tuple[Scalar, ...]:
    q: tuple[Scalar, ...] = getattr(c, f"joint_q{j}")
    return q


def _velocities(c: Record, j: int) -> tuple[Scalar, ...]:
    u: tuple[Scalar, ...] = getattr(c, f"body{j}").shared_u
    return u


def _frame_body(c: Record, k: int) -> Any:
    return getattr(c, f"body{len(c.formula.by_joint) + k}")


def _ground(c: Record) -> Any:
    return getattr(c, f"body{c.ends - 1}")


def _names(c: Record) -> Names:
    q = [_coordinates(c, j) for j in _joints(c)]
    return names_of_formula(c.inputs, q, [_position(c, k) for k in range(c.formula.frames)])


def _moving_names(c: Record) -> Names:
    dq = []
    for j, joint_type in enumerate(c.formula.joint_types):
        u = _velocities(c, j)
        dq.append(u if joint_type is None else joint_type.coordinate_derivatives(_coordinates(c, j), u))
    return _names(c) | derivatives_of_formula(dq, [_frame_motion(c, k)[0] for k in range(c.formula.frames)])


def _values(slopes: Sequence[Expression], names: Names) -> Force:
    """Slopes of a frame as a wrench in axes of the ground."""
    values = [slope.evaluate(names) for slope in slopes]
    return Force(Vector(*values[:3]), Vector(*(values[3:] or (0, 0, 0))))


# --- joints ---


def _along(c: Record, j: int, slopes: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Slopes by the velocities of a joint, from those by its coordinates if the constraint is holonomic."""
    joint_type = c.formula.joint_types[j]
    if joint_type is None or not c.formula.holonomic:
        return tuple(slopes)
    return tuple(_dot(slopes, column) for column in joint_type.coordinate_map(_coordinates(c, j)))


def _along_derivatives(c: Record, names: Names) -> list[tuple[Scalar, ...]]:
    """The derivatives of the coefficients of the velocities of each joint."""
    changes = []
    for j, derivatives in enumerate(c.formula.by_joint_derivative):
        change = _along(c, j, [slope.evaluate(names) for slope in derivatives])
        joint_type = c.formula.joint_types[j]
        if joint_type is not None and c.formula.holonomic:
            slopes = [slope.evaluate(names) for slope in c.formula.by_joint[j]]
            columns = joint_type.coordinate_map_derivative(_coordinates(c, j), _velocities(c, j))
            change = tuple(a + _dot(slopes, column) for a, column in zip(change, columns, strict=True))
        changes.append(change)
    return changes


# --- frames; vectors are in axes of the ground ---


def _rotation(c: Record, k: int) -> Rotation:
    """From axes of the frame's body to those of the ground."""
    R: Rotation = _ground(c).X_0.rotation.T @ _frame_body(c, k).X_0.rotation
    return R


def _position(c: Record, k: int) -> Vector:
    body, ground = _frame_body(c, k), _ground(c)
    point = body.X_0.offset + body.X_0.rotation @ getattr(c, f"frame_offset{k}")
    position: Vector = ground.X_0.rotation.T @ (point - ground.X_0.offset)
    return position


def _frame_motion(c: Record, k: int) -> tuple[Vector, Vector]:
    """Velocity and angular velocity of a frame relative to the ground."""
    v, v_0, R = _frame_body(c, k).v, _ground(c).v, _rotation(c, k)
    linear = R @ (v.linear + v.angular.cross(getattr(c, f"frame_offset{k}")))
    return linear - v_0.linear - v_0.angular.cross(_position(c, k)), R @ v.angular - v_0.angular


def _on_ends(c: Record, wrenches: Sequence[Force]) -> dict[int, Force]:
    """Wrenches at frames, in axes of the ground, on their bodies, and their opposites on the ground, by end."""
    first, on_ground, by_end = len(c.formula.by_joint), Force.zero(), dict[int, Force]()
    for k, wrench in enumerate(wrenches):
        R = _rotation(c, k).T
        by_end[first + k] = _at_frame(c, k, R @ wrench.linear, R @ wrench.angular)
        on_ground = on_ground - Force(wrench.linear, wrench.angular + _position(c, k).cross(wrench.linear))
    return by_end | ({c.ends - 1: on_ground} if wrenches else {})


def _row_derivatives(c: Record, names: Names) -> dict[int, Force]:
    """The derivatives of the components of the row on each body, by end."""
    first, on_ground, by_end = len(c.formula.by_joint), Force.zero(), dict[int, Force]()
    both = zip(c.formula.by_frame, c.formula.by_frame_derivative, strict=True)
    for k, (slopes, derivatives) in enumerate(both):
        wrench, change = _values(slopes, names), _values(derivatives, names)
        R, x, (v, w) = _rotation(c, k).T, _position(c, k), _frame_motion(c, k)
        f, m = change.linear - w.cross(wrench.linear), change.angular - w.cross(wrench.angular)
        by_end[first + k] = _at_frame(c, k, R @ f, R @ m)
        moment = change.angular + v.cross(wrench.linear) + x.cross(change.linear)
        on_ground = on_ground - Force(change.linear, moment)
    return by_end | ({c.ends - 1: on_ground} if by_end else {})


def _at_frame(c: Record, k: int, f: Vector, m: Vector) -> Force:
    """A force and a moment at a frame, in axes of its body, as they act on the body."""
    return Force(f, m + getattr(c, f"frame_offset{k}").cross(f))


def _dot(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _times(row: Sequence[Scalar], eta: Scalar) -> tuple[Scalar, ...]:
    return tuple(x * eta for x in row)
