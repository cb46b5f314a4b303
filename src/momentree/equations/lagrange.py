"""Joint coordinates q and velocities u: equations of the first kind, by articulated inertias.

    M u' + d = Q + J' lambda ,   J u' + J' u = 0

Loops are closed at the acceleration level (DAE of index 1): closure errors and velocities drift unless they are
stabilized.
"""

from __future__ import annotations

from momentree.equations import hamiltonian
from momentree.equations.articulated import accelerating_bodies, accelerating_tree
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.kinematics import Derivatives, coordinate_derivatives, move
from momentree.equations.sweeps import Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar


def changing_bodies(at: Evaluation, u: Coordinates, **gains: Scalar) -> Records:
    """The moving bodies with the derivatives dq of their coordinates and du of their velocities.

    Gains (1/s) of REACTION_GAINS (articulated.py) make closure errors of loops vanish.
    """
    tau = [0] * at.mechanism.nv
    moving = accelerating_bodies(at, u, tau, **gains) if at.mechanism.constrained else accelerating_tree(at, u, tau)
    moving.locally(move)
    return moving


def right_hand_side(at: Evaluation, u: Coordinates, **gains: Scalar) -> Derivatives:
    """The derivatives of q and u under the forces of the model."""
    moving = changing_bodies(at, u, **gains)
    return Derivatives(coordinate_derivatives(at.mechanism, moving), generalized(at.mechanism, moving, "du"))


def closed_velocities(at: Evaluation, u: Coordinates) -> tuple[Scalar, ...]:
    """The velocities nearest to u, by kinetic energy, with which loops do not open."""
    p = hamiltonian.momenta(at, u)
    return generalized(at.mechanism, hamiltonian.moving_bodies(at, p), "u")
