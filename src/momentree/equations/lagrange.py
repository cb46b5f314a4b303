"""Joint coordinates q and rates u: equations of the first kind, here of trees, by articulated inertias."""

from __future__ import annotations

from momentree.equations.articulated import accelerating_bodies
from momentree.equations.forces import Names, along_rates
from momentree.equations.kinematics import Rates, coordinate_rates, move
from momentree.equations.sweeps import Records, Runner
from momentree.model.joint import Coordinates
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism


def changing_bodies(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> Records:
    """The moving bodies with the derivatives dq of their coordinates and du of their rates."""
    moving = accelerating_bodies(mechanism, q, u, [0] * mechanism.nv, t, parameters, run)
    moving.locally(move)
    return moving


def rates(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> Rates:
    """The derivatives of q and u under the forces of the model."""
    moving = changing_bodies(mechanism, q, u, t, parameters, run)
    return Rates(coordinate_rates(mechanism, moving), along_rates(mechanism, moving, "du"))
