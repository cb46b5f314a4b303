"""Error norm: errors of momenta are measured as those of the velocities that belong to them, and have a least scale.

A momentum of a joint is that of all that it carries, so that an error which is small beside it need not be small beside
the velocities; and it may be anything from 1e-15 to 1e15 kg m2/s. The error of a velocity is what matters, in trees and
in closed loops, whatever the masses. So errors dp of momenta count as u = M^-1 dp, loops closed, where a step ends.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.compile.emit.lanes import LanesCode
from momentree.compile.trace.right_hand_sides import traced_code
from momentree.equations import hamiltonian
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.formulations import Formulation
from momentree.model.expressions.expression import Expression
from momentree.model.higher_pairs import OnSurfaces
from momentree.spatial import Scalar
from momentree.structure.mechanism import Laws, Loop, Mechanism, TreeBody

LEAST = 0.01  # of 1 rad, 1 rad/s and, for lengths, of the size of the mechanism
_ZERO = Expression("number", (0.0,))


class VelocityGroup(NamedTuple):
    """Velocities of one joint that have a common scale: sqrt(factor) times the derivatives of some coordinates."""

    q: int
    coordinates: int
    v: int
    velocities: int
    factor: int


class ErrorNorm(NamedTuple):
    """How errors of momenta are measured: code of the velocities that belong to momenta, nothing else moving."""

    velocities: LanesCode
    nq: int
    nv: int
    groups: tuple[VelocityGroup, ...]


def error_norm_of(
    mechanism: Mechanism, formulation: Formulation, code: str | None = None, project: bool = False
) -> ErrorNorm | None:
    """The error norm; None where the state holds velocities, and no projection changes them."""
    if not mechanism.nv or not (formulation.momenta or (project and mechanism.constrained)):
        return None

    def velocities(at: Evaluation, p: Sequence[Scalar]) -> Sequence[Scalar]:
        still = at._replace(mechanism=at_rest(at.mechanism))
        if not formulation.momenta:
            return list(formulation.closed(still, p))
        return generalized(still.mechanism, hamiltonian.moving_bodies(still, p), "u")

    groups = tuple(group for body in mechanism.bodies if not body.laws for group in _groups(body))
    return ErrorNorm(traced_code(mechanism, velocities, code), mechanism.nq, mechanism.nv, groups)


def at_rest(mechanism: Mechanism) -> Mechanism:
    """The same mechanism, where prescribed joints, the ground and constraints stay as they are at each moment.

    The mechanism itself where nothing of this kind moves.
    """
    pairs = any(isinstance(loop.joint_type, OnSurfaces) for loop in mechanism.loops)
    if not (pairs or mechanism.constraints or mechanism.has_prescribed_motion):
        return mechanism

    def still(laws: Laws | None) -> Laws | None:
        return laws and Laws(laws[0], (_ZERO,) * len(laws[1]), (_ZERO,) * len(laws[2]))

    replace = dataclasses.replace
    return replace(
        mechanism,
        bodies=tuple(replace(body, laws=still(body.laws)) for body in mechanism.bodies),
        ground=still(mechanism.ground),
        loops=tuple(_at_rest(loop) for loop in mechanism.loops),
        constraints=tuple(replace(constraint, still=True) for constraint in mechanism.constraints),
    )


def _at_rest(loop: Loop) -> Loop:
    pair = loop.joint_type
    return dataclasses.replace(loop, joint_type=pair.with_fields(still=True)) if isinstance(pair, OnSurfaces) else loop


def _groups(body: TreeBody) -> list[VelocityGroup]:
    """Velocities of a joint that have a common scale: those in m/s, and those in rad/s."""
    joint, q, v = body.joint.type, body.q.start, body.v.start
    units = joint.velocity_units
    turning = "1" in joint.units  # a quaternion, which changes half as quickly as it turns
    groups = []
    for unit, of_coordinates in (("m", ("m",)), ("rad", ("1",) if turning else ("rad",))):
        coordinates = [i for i, u in enumerate(joint.units) if u in of_coordinates]
        velocities = [i for i, u in enumerate(units) if u == unit]
        if velocities:
            factor = 4 if turning and unit == "rad" else 1
            start = q + coordinates[0], len(coordinates), v + velocities[0], len(velocities)
            groups.append(VelocityGroup(*start, factor))
    return groups


def least_sizes(mechanism: Mechanism) -> NDArray[np.float64]:
    """Sizes of coordinates, then of velocities, below which errors are no longer relative to them."""
    length = mechanism.size
    free = [body.joint.type for body in mechanism.bodies if not body.laws]
    units = [unit for joint in free for unit in joint.units] + [unit for joint in free for unit in joint.velocity_units]
    return LEAST * np.array([length if unit == "m" else 1.0 for unit in units])
