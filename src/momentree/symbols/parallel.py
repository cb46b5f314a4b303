"""Which angles add up: turns about parallel axes, one carried by the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.spatial import Vector
from momentree.structure.mechanism import Mechanism, TreeBody
from momentree.symbols.scalars import Symbolic
from momentree.symbols.trigonometry import Turn

Direction = NDArray[np.float64]


def carriers(mechanism: Mechanism, s: Symbolic) -> dict[sp.Symbol, Turn]:
    """Angle -> the angle that carries it about a parallel axis, so that their sum is an absolute angle.

    Two axes count as parallel if they are in two configurations chosen at random.
    """
    carrier: dict[sp.Symbol, Turn] = {}
    path: dict[int, list[tuple[sp.Symbol, Direction]]] = {0: []}  # body -> angles from the ground to it, axes in both
    for body, directions in _axes(mechanism.at_defaults()):
        path[body.number] = list(path[body.parent])
        for angle, here in zip(s.q[body.q], directions, strict=False):
            for other, there in reversed(path[body.number]):
                along = np.sum(here * there, axis=1)
                if np.allclose(np.abs(along), 1) and along[0] * along[1] > 0:
                    carrier[angle] = (other, 1 if along[0] > 0 else -1)
                    break
            if here.any():
                path[body.number].append((angle, here))
    return carrier


def _axes(mechanism: Mechanism) -> Iterator[tuple[TreeBody, list[Direction]]]:
    """Each body, and the axes that its joint turns it about, in inertial space; zero for a slide."""
    random = np.random.default_rng(1)
    placed = [records(Evaluation(mechanism, random.uniform(0.3, 1.3, mechanism.nq).tolist(), 0.7)) for _ in range(2)]
    for body in mechanism.bodies:
        joint = body.joint.type
        if body.laws or len(joint.coordinates) != len(joint.velocities):
            yield body, []  # prescribed, or a ball, whose coordinates are not angles
            continue
        both = [
            [_unit(one[body.number].X_0.rotation @ column.angular) for column in one[body.number].A.columns]
            for one in placed
        ]
        yield body, [np.array(pair) for pair in zip(*both, strict=True)]


def _unit(v: Vector) -> Direction:
    """A direction; normalized, since a quaternion chosen at random is not of unit length."""
    n = np.array([float(component) for component in v])
    return n / np.linalg.norm(n) if n.any() else n
