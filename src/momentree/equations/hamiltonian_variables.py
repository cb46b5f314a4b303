"""All Hamiltonian variables at once, from coordinates and momenta p*: the solution of Ivanov's (5), and (6), (8).

    M v = S' mu ,   S v = A u + v^r ,   A' mu = p = p* + J' eta ,   J u + j = 0                              (5)
    p*' = (A'' - A' Omega) mu* + Q ,                                                             (6), corrected
    mu* = mu - T' (rows eta)                                                                                (8)

The passes of hamiltonian.py compute them and keep u and p*' alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from momentree.equations.aggregative import generalized_momenta
from momentree.equations.constraint_forces import every_multiplier
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.hamiltonian import moving_bodies, right_hand_side
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism


class HamiltonianVariables(NamedTuple):
    """Momenta and velocities of a mechanism, letters of Ivanov 2022; 6-vectors of each body in its frame.

    | field   | shape     | meaning                                                                                  |
    |---------|-----------|------------------------------------------------------------------------------------------|
    | p       | nv        | generalized (Poisson) momenta A' mu, conjugate to the velocities (N s, N m s)            |
    | p_star  | nv        | p*: the same less the impulses J' eta of loops; p* is what is integrated                 |
    | eta     | rows      | constraint impulses since p* was p (N s, N m s), by the rows of the constraint Jacobian  |
    | mu      | N, 6      | momentum of each body and all that it carries (N s, N m s)                               |
    | mu_star | N, 6      | mu*: the same less the impulses of loops                                                 |
    | v       | nv        | generalized velocities                                                                   |
    | twists  | N, 6      | v of Ivanov: twist of each body (m/s, rad/s)                                             |
    | dq      | nq        | q'                                                                                       |
    | dp_star | nv        | p*' (N, N m)                                                                             |
    """

    p: Any
    p_star: Any
    eta: Any
    mu: Any
    mu_star: Any
    v: Any
    twists: Any
    dq: Any
    dp_star: Any


def hamiltonian_variables(at: Evaluation, p_star: Coordinates) -> HamiltonianVariables:
    """From q and p*; loops keep still, whatever p* is."""
    mechanism, moving = at.mechanism, moving_bodies(at, p_star)
    p = generalized_momenta(mechanism, moving)
    change = right_hand_side(at, p_star)
    return HamiltonianVariables(
        p=p,
        p_star=tuple(p_star),
        eta=every_multiplier(mechanism, moving) if mechanism.constrained else (),
        mu=_of_bodies(mechanism, moving, "Z"),
        mu_star=_of_bodies(mechanism, moving, "mu_star" if mechanism.constrained else "Z"),
        v=generalized(mechanism, moving, "u"),
        twists=_of_bodies(mechanism, moving, "v"),
        dq=change.q,
        dp_star=change.p,
    )


def subtree_momenta(at: Evaluation, u: Coordinates) -> list[list[Scalar]]:
    """mu of each body, from velocities."""
    moving = records(at, u)
    generalized_momenta(at.mechanism, moving)
    return _of_bodies(at.mechanism, moving, "Z")


def _of_bodies(mechanism: Mechanism, moving: Records, field: str) -> list[list[Scalar]]:
    return [[*getattr(moving[body.number], field)] for body in mechanism.bodies]
