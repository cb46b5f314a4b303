"""Constraint forces over time: those of expression constraints by name, and the friction that rolling needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from momentree.assembly.configuration import Array
from momentree.assembly.samples import Samples
from momentree.equations.constraint_forces import (
    constraint_power,
    expression_forces_of,
    multipliers_of,
    reacting_constraints,
)
from momentree.equations.evaluation import Evaluation
from momentree.equations.sweeps import Records
from momentree.errors import MomentreeError, suggestion
from momentree.model.higher_pairs import HigherPair, Rolling
from momentree.simulate.blocks import read_only
from momentree.structure.mechanism import Constraint, Loop, Mechanism

PULLS = 1e-9  # of the largest force of a rolling contact: below it, a normal force that pulls is round-off


@dataclass(frozen=True, eq=False)
class ConstraintForces:
    """What an expression constraint exerts, over time: `forces["A"]` for a joint or a frame that it names.

    | field      | shape     | meaning                                                                                |
    |------------|-----------|----------------------------------------------------------------------------------------|
    | name       |           | of the constraint                                                                      |
    | multiplier | k         | lambda: J for each unit of a holonomic expression, W for each unit of one of velocities |
    | joints     | k, k x n  | by joint: generalized forces along it (N m, N), lambda times the slopes by velocities  |
    | frames     | k x 6     | by frame: the wrench on its body, in inertial axes, about the origin of the frame      |
    """

    name: str
    multiplier: Array
    joints: Mapping[str, Array]
    frames: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        both = {**self.joints, **self.frames}
        if name not in both:
            message = f"constraint '{self.name}': names no joint or frame '{name}'"
            raise MomentreeError(f"{message}.{suggestion(name, both)}")
        return both[name]


def constraint_of(mechanism: Mechanism, name: str) -> Loop | Constraint:
    """The closing joint, higher pair or expression constraint of this name."""
    found: dict[str, Loop | Constraint] = {loop.name: loop for loop in mechanism.loops if _has_name(loop)}
    found |= {constraint.name: constraint for constraint in mechanism.constraints}
    if name in found:
        return found[name]
    if name in mechanism.by_joint:
        message = f"joint '{name}' is one of the spanning tree, which has no Lagrange multipliers"
        raise MomentreeError(f'{message}. Use run.reactions("{name}") for the wrench that it transmits.')
    raise MomentreeError(f"there is no constraint '{name}'.{suggestion(name, found)}")


def _has_name(loop: Loop) -> bool:
    return loop.joint is not None or isinstance(loop.joint_type, HigherPair)


# --- measures of samples ---


def multipliers(samples: Samples, name: str, rows: int) -> Array:
    """k x rows; zero where it does not act."""
    if not _acts(samples, name):
        return np.zeros((len(samples.t), rows))
    return samples.table(multipliers_of(samples.mechanism, _reacting(samples), name))


def rolling_multipliers(samples: Samples, names: Sequence[str]) -> Array:
    """k x 3 n: of all rolling contacts at once; zero where one does not act."""
    acting = [name for name in names if _acts(samples, name)]
    found = np.zeros((len(samples.t), len(names), 3))
    if acting:
        reacting = _reacting(samples)
        for name in acting:
            found[:, names.index(name)] = samples.table(multipliers_of(samples.mechanism, reacting, name))
    return found.reshape(len(samples.t), 3 * len(names))


def power(samples: Samples, name: str) -> Array:
    """k."""
    if not _acts(samples, name):
        return np.zeros(len(samples.t))
    return samples.column(constraint_power(samples.mechanism, _reacting(samples), name))


def joint_wrench(samples: Samples, name: str) -> Array:
    """k x 6: of a joint on its second body; zero where it has been released."""
    acts = name in samples.mechanism.by_joint
    return samples.reactions(name) if acts else np.zeros((len(samples.t), 6))


def pair_wrench(samples: Samples, name: str) -> Array:
    """k x 6: of a higher pair on the guided body."""
    return samples.reactions(name) if _acts(samples, name) else np.zeros((len(samples.t), 6))


def exerted(samples: Samples, name: str, width: int) -> Array:
    """The forces of an expression constraint side by side: its multiplier, then as `named_forces` splits them."""
    if not _acts(samples, name):
        return np.zeros((len(samples.t), width))
    mechanism, reacting = samples.mechanism, _reacting(samples)
    forces = expression_forces_of(mechanism, reacting, name)
    entries = [force for along in forces.joints.values() for force in along]
    entries += [x for wrench in forces.frames.values() for x in wrench]
    return samples.table([*multipliers_of(mechanism, reacting, name), *entries])


def exerted_width(mechanism: Mechanism, name: str) -> int:
    """How many columns `exerted` has."""
    (of,) = (of for of in mechanism.constraint_formulas if of.constraint.name == name)
    along = sum(len(mechanism.bodies[number - 1].joint.velocities) for number in of.bodies)
    return 1 + along + 6 * len(of.frames)


def _acts(samples: Samples, name: str) -> bool:
    """Whether a constraint acts, and has not been switched off."""
    mechanism = samples.mechanism
    return any(each.name == name for each in mechanism.loops) or any(c.name == name for c in mechanism.constraints)


def named_forces(mechanism: Mechanism, name: str, table: Array) -> ConstraintForces:
    """The structure of what `exerted` measured."""
    (of,) = (of for of in mechanism.constraint_formulas if of.constraint.name == name)
    joints, frames, column = dict[str, Array](), dict[str, Array](), 1
    for number in of.bodies:
        joint = mechanism.bodies[number - 1].joint
        part = table[:, column : column + len(joint.velocities)]
        joints[joint.name], column = part[:, 0] if part.shape[1] == 1 else part, column + part.shape[1]
    for frame in of.frame_names:
        frames[frame], column = table[:, column : column + 6], column + 6
    return ConstraintForces(name, table[:, 0], joints, frames)


def _reacting(samples: Samples) -> Records:
    return reacting_constraints(Evaluation(samples.mechanism, samples.q, samples.t), samples.v)


# --- rolling ---


@dataclass(frozen=True, eq=False)
class RollingForces:
    """Of a rolling contact over time.

    | field      | shape | meaning                                                |
    |------------|-------|--------------------------------------------------------|
    | normal     | k     | the normal force (N), positive where it pushes         |
    | tangential | k     | the size of the force along the surface (N)            |
    | limit      |       | the coefficient of friction that it has, None if unsaid |
    """

    normal: Array
    tangential: Array
    limit: float | None = None

    @property
    def friction(self) -> Array:
        """The coefficient that it needs; infinite where the contact would have to pull."""
        pushes, rests = self.normal > 0, (self.normal == 0) & (self.tangential == 0)
        needed = np.full(len(self.normal), np.inf)
        np.divide(self.tangential, self.normal, out=needed, where=pushes)
        needed[rests] = 0.0
        needed[~(np.isfinite(self.normal) & np.isfinite(self.tangential))] = np.nan
        return needed

    @property
    def lifts(self) -> Array:
        """Whether it would have to pull, beyond round-off."""
        both = np.concatenate([np.abs(self.normal), self.tangential, [0.0]])
        largest = float(both[np.isfinite(both)].max())
        return np.asarray(self.normal < -PULLS * largest)


def rolling_forces(pair: Rolling, found: Array) -> RollingForces:
    """From its Lagrange multipliers: of the contact, whose normal points out of the ball, and of no slip."""
    inside = isinstance(pair.ball, (int, float)) and pair.ball < 0  # in a hollow ball
    normal = -found[:, 0] if inside else found[:, 0]
    return RollingForces(read_only(normal), read_only(np.hypot(found[:, 1], found[:, 2])), pair.friction)


def rolling_pairs(mechanism: Mechanism) -> dict[str, Rolling]:
    """The rolling contacts by name."""
    return {loop.name: loop.joint_type for loop in mechanism.loops if isinstance(loop.joint_type, Rolling)}
