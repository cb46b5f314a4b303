"""The constraint rows of loops on any scalar: what `Configuration` (closure.py) says of one configuration in floats."""

from __future__ import annotations

from typing import Any, NamedTuple

from momentree.assembly.configuration import ClosingJoint, Configuration
from momentree.equations.evaluation import Names
from momentree.spatial import Motion, Scalar
from momentree.spatial.scalar import sqrt
from momentree.structure.mechanism import Mechanism


class RowValues(NamedTuple):
    """One scalar constraint of a loop.

    | field | meaning                                                        |
    |-------|----------------------------------------------------------------|
    | error | closure error (m or rad)                                       |
    | drift | velocity that prescribed joints and the ground alone cause     |
    | slid  | lengths of the slides around the loop, at this configuration   |
    | J     | velocity by the velocities of the tree, one entry for each     |
    """

    error: Scalar
    drift: Scalar
    slid: Scalar
    J: tuple[Scalar, ...]


def constraint_rows(mechanism: Mechanism, q: Any, t: Scalar = 0.0, parameters: Names | None = None) -> list[RowValues]:
    """The rows of all loops in the order of the mechanism."""
    rest: Any = (0,) * mechanism.nv
    at = Configuration(mechanism, q, rest, t, parameters)
    return [row for joint in at.joints for row in _rows(at, joint)]


def _rows(at: Configuration, joint: ClosingJoint) -> list[RowValues]:
    offsets = [at.bodies[number].X.joint.offset for number in joint.path]
    slid = sum(sqrt(offset @ offset) for offset in offsets)
    columns, motions = joint.columns.tolist(), joint.motions
    found = []
    for _, direction in joint.rows:
        J: list[Scalar] = [0] * at.mechanism.nv
        for place, motion in zip(columns, motions, strict=True):
            J[place] = sum(a * b for a, b in zip(motion, direction, strict=True))
        error, drift = (_along(motion, tuple(direction)) for motion in (joint.left, joint.opening))
        found.append(RowValues(error, drift, slid, tuple(J)))
    return found


def _along(motion: Motion, direction: tuple[Scalar, ...]) -> Scalar:
    return sum(a * b for a, b in zip(motion, direction, strict=True))
