"""Rows of higher pairs (rolling, skating, distances, surfaces) at a placement: in axes of the first body, at O.

A higher pair gives its rows by the motion of the second frame relative to the first (model/higher_pairs.py). The
velocity of a constraint of a loop is that of the first body relative to the second, so errors and drifts change sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from momentree.equations.loops.closing_joint import relative_placement, relative_velocity
from momentree.equations.sweeps import Record
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Reference
from momentree.model.higher_pairs import HigherPair
from momentree.spatial import Force, Motion, Scalar
from momentree.structure.mechanism import Loop


def pair_rows(loop: Record) -> tuple[Force, ...]:
    """The rows."""
    return _in_first_body(loop, loop.joint_type.rows(*_placed(loop)))


def pair_row_derivatives(loop: Record) -> tuple[Force, ...]:
    """Their derivatives as the second frame moves in the first."""
    X, names = _placed(loop)
    return _in_first_body(loop, loop.joint_type.row_derivatives(X, _twist(loop), names))


def pair_errors(loop: Record) -> tuple[Scalar, ...]:
    """The closure error of each row."""
    return tuple(-error for error in loop.joint_type.errors(*_placed(loop)))


def pair_drifts(loop: Record) -> tuple[Scalar, ...]:
    """The velocity of each row while nothing moves but what depends on time."""
    return tuple(-drift for drift in loop.joint_type.drifts(*_placed(loop)))


def pair_drift_derivatives(loop: Record) -> tuple[Scalar, ...]:
    """Their derivatives."""
    X, names = _placed(loop)
    return tuple(-change for change in loop.joint_type.drift_derivatives(X, _twist(loop), names))


def pair_names(loop: Record) -> dict[Reference, Scalar]:
    """Time and free parameters, as far as the pair depends on them."""
    return dict(zip(loop.input_names, loop.inputs, strict=True))


def check_direction(loop: Loop, rows: Sequence[Force]) -> None:
    """In floats: rows of a higher pair must have a direction. Without one the search for a start goes on elsewhere."""
    pair = isinstance(loop.joint_type, HigherPair)
    if pair and any(all(isinstance(x, (int, float)) and x == 0 for x in row) for row in rows):
        raise without_direction(loop)


def check_derivatives(loop: Loop, record: Record) -> None:
    """In floats: so must the derivatives of its rows."""
    try:
        if isinstance(loop.joint_type, HigherPair):
            pair_row_derivatives(record)
    except ZeroDivisionError:
        raise without_direction(loop) from None


def without_direction(loop: Loop) -> MomentreeError:
    """The error for a higher pair where it has no direction."""
    pair = loop.joint_type
    where = pair.singular if isinstance(pair, HigherPair) else ""
    return MomentreeError(f"constraint '{loop.name}' has no direction here: {where}. Choose another state.")


def _placed(loop: Record) -> tuple[Any, dict[Reference, Scalar]]:
    return relative_placement(loop), pair_names(loop)


def _twist(loop: Record) -> Motion:
    """Of the second frame relative to the first, in axes of the first frame."""
    R, v = loop.first_frame.rotation.T, relative_velocity(loop)
    return Motion(-(R @ v.linear), -(R @ v.angular))


def _in_first_body(loop: Record, rows: Sequence[Force]) -> tuple[Force, ...]:
    R = loop.first_frame.rotation
    return tuple(Force(R @ row.linear, R @ row.angular) for row in rows)
