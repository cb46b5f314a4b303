"""Joint coordinates q and velocities u: equations of the first kind, by articulated inertias.

    M u' + d = Q + J' lambda ,   J u' + J' u = 0

Loops are closed at the level of accelerations: what they open by, positions and velocities, grows unless something is
done about it.
"""

from __future__ import annotations

from momentree.equations import hamiltonian
from momentree.equations.articulated import accelerating_bodies
from momentree.equations.forces import Names, generalized
from momentree.equations.kinematics import Derivatives, coordinate_derivatives, move
from momentree.equations.sweeps import Records, Runner
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism


def changing_bodies(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
    alpha: Scalar = 0,
) -> Records:
    """The moving bodies with the derivatives dq of their coordinates and du of their velocities.

    `alpha` (1/s) makes closure errors of loops vanish (Baumgarte 1972).
    """
    moving = accelerating_bodies(mechanism, q, u, [0] * mechanism.nv, t, parameters, run, alpha)
    moving.locally(move)
    return moving


def right_hand_side(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
    alpha: Scalar = 0,
) -> Derivatives:
    """The derivatives of q and u under the forces of the model."""
    moving = changing_bodies(mechanism, q, u, t, parameters, run, alpha)
    return Derivatives(coordinate_derivatives(mechanism, moving), generalized(mechanism, moving, "du"))


def closed_velocities(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> tuple[Scalar, ...]:
    """The velocities nearest to u, by kinetic energy, with which loops do not open."""
    p = hamiltonian.momenta(mechanism, q, u, t, parameters, run)
    return generalized(mechanism, hamiltonian.moving_bodies(mechanism, q, p, t, parameters, run), "u")
