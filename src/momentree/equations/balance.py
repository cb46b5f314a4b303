"""Kinetic and potential energy, and momentum, of a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from momentree.equations.armature import kinetic_energy_of_armature
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import potential_energy
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Record
from momentree.model.joint_type import Coordinates
from momentree.spatial import Force, Scalar
from momentree.structure.mechanism import Mechanism


class Energy(NamedTuple):
    """J; the potential of gravity is zero at the inertial origin."""

    kinetic: Scalar
    potential: Scalar

    @property
    def total(self) -> Scalar:
        """Kinetic and potential energy together."""
        return self.kinetic + self.potential


def energy(at: Evaluation, u: Coordinates) -> Energy:
    """T = sum v' M v / 2 and that of armatures, and the potential of gravity, springs, stops and contacts."""
    return energy_of(at.mechanism, records(at, u))


def energy_of(mechanism: Mechanism, moving: Sequence[Record]) -> Energy:
    """Energy of moving bodies."""
    kinetic: Scalar = 0
    for record in moving[1:]:
        kinetic = kinetic + record.v @ (record.inertia @ record.v) / 2 + kinetic_energy_of_armature(record)
    return Energy(kinetic, potential_energy(mechanism, moving))


def momentum(at: Evaluation, u: Coordinates) -> Force:
    """Of the whole mechanism, in inertial axes: linear (kg m/s), and angular about the inertial origin (kg m2/s)."""
    moving = records(at, u)
    total = Force.zero()
    for record in moving[1:]:
        total = total + record.X_0.force_to_parent(record.inertia @ record.v)
    return total
