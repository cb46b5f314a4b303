"""Loops on any scalar: the rows that close them, in inertial axes at the common origin O, and what acts along them.

The velocity of a row is that of the loop's first body less that of its second, both at O (the origin of the second
frame), along the row; a multiplier acts on the first body, and oppositely on the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from momentree.equations.kinematics import frame_placement, seen_at
from momentree.equations.sweeps import Record
from momentree.errors import MomentreeError
from momentree.model.joints import Universal
from momentree.spatial import Force, Motion, Scalar, Vector
from momentree.structure.mechanism import Loop, Mechanism


class Closing(NamedTuple):
    """A closing joint at one configuration: O, and the rows as forces there, carried by the first body."""

    loop: Loop
    origin: Vector
    rows: tuple[Force, ...]


def closings(mechanism: Mechanism, placed: Sequence[Record]) -> list[Closing]:
    """All loops, where the bodies are placed."""
    found = []
    for loop in mechanism.loops:
        if isinstance(loop.joint, Universal):
            message = "a universal joint that closes a loop is not computed yet. Cut another joint of the loop."
            raise MomentreeError(f"joint '{loop.name}': {message}")
        R = frame_placement(placed, loop.first).rotation
        rows = [row.direction for row in loop.joint.rows(loop.joint.reference())]
        turned = tuple(Force(R @ row.linear, R @ row.angular) for row in rows)
        found.append(Closing(loop, frame_placement(placed, loop.second).offset, turned))
    return found


def opening(closing: Closing, moving: Sequence[Record]) -> list[Scalar]:
    """The velocities of the rows: they vanish where the loop stays closed."""
    first, second = (_velocity(closing, moving, end.body) for end in (closing.loop.first, closing.loop.second))
    return [(first - second) @ row for row in closing.rows]


def pair(closing: Closing, moving: Sequence[Record], wrench: Force) -> dict[int, Force]:
    """A wrench at O on the first body, and its opposite on the second: by body, each at its own frame."""
    first, second = closing.loop.first.body, closing.loop.second.body
    found = {first: _carried(closing.origin, moving[first], wrench)}
    other = -_carried(closing.origin, moving[second], wrench)
    found[second] = found[second] + other if second in found else other
    return found


def turning(closing: Closing, moving: Sequence[Record], eta: Sequence[Scalar]) -> Force:
    """R' eta + (0; v_O x f): how the wrench R eta changes because its rows turn with the first body and O moves."""
    first, second = moving[closing.loop.first.body], closing.loop.second.body
    w = first.X_0.rotation @ first.v.angular
    total = along(closing, eta)
    v_O = _velocity(closing, moving, second).linear
    return Force(w.cross(total.linear), w.cross(total.angular) + v_O.cross(total.linear))


def along(closing: Closing, eta: Sequence[Scalar]) -> Force:
    """R eta, at O."""
    total = Force.zero()
    for row, size in zip(closing.rows, eta, strict=True):
        total = total + row * size
    return total


def _velocity(closing: Closing, moving: Sequence[Record], body: int) -> Motion:
    """Of a body at O, in inertial axes."""
    return seen_at(closing.origin, moving[body], moving[body].v)


def _carried(origin: Vector, record: Record, wrench: Force) -> Force:
    """A wrench at O in inertial axes, at the frame of a body in its axes."""
    R = record.X_0.rotation.T
    arm = origin - record.X_0.offset
    return Force(R @ wrench.linear, R @ (wrench.angular + arm.cross(wrench.linear)))
