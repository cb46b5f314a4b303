"""Programmes on a mechanism: its velocity field by kinetic energy, in O(n), and motions that its own constraints allow.

With J v + j the velocities of all rows, those of loops, of the model and of the programme, and g their closure errors,

    v = argmin 1/2 (v - w)' m (v - w)   with   J v + j = -position_gain g                                           (M1)

for wanted velocities w: momenta m w, projected onto the constraints as Ivanov's Hamiltonian equations do it. The
deviation u = q' - v then decays by equations/programme.py with m the mass matrix of the tree. Loops and constraints of
the model exist physically, and their reactions are added to it,

    m q'' = m q''_u + J_0' mu ,   d/dt (J_0 u) = -position_gain J_0 u                                               (M2)

with q''_u the accelerations without them, J_0 their rows: so that J_0 u stays 0 where it is 0, the motion is one that
the mechanism can make, and mu does no work on u: V' = -u' S u as before. Closure errors die out, g'' + 2 k g' + k^2 g =
0 with k the position gain. Only deviations with J_0 u = 0 count for the decay: with P the projection onto them,

    P' S P + K (m - P' m P) ,   K^2 = trace (m^-1 P' S P)^2                                                         (M4)

has the eigenvalues of S along them and K, no less than any of these, along all others. All functions run on any scalar.
docs/theory/programme-mechanisms.md has the derivation; numbers are its.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.equations.aggregative import inverse_dynamics
from momentree.equations.articulated import accelerating_bodies
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.hamiltonian import momenta, moving_bodies
from momentree.equations.kinematics import records
from momentree.equations.loops.constraint_rows import constraint_velocities
from momentree.equations.loops.residual import measure_closure_error
from momentree.model.joint_type import Coordinates
from momentree.spatial import Scalar
from momentree.spatial.scalar import sqrt
from momentree.spatial.symmetric import Matrix, dot, product, solve, total
from momentree.structure.mechanism import Mechanism


def programme_velocity(at: Evaluation, wanted: Coordinates, position_gain: Scalar = 0) -> tuple[Scalar, ...]:
    """v of (M1)."""
    moving = moving_bodies(at, momenta(at, wanted), gamma=position_gain)
    return generalized(at.mechanism, moving, "u")


def held_accelerations(
    at: Evaluation, qd: Coordinates, qdd: Sequence[Scalar], position_gain: Scalar = 0
) -> tuple[Scalar, ...]:
    """q'' of (M2): the nearest to q''_u, by kinetic energy, that loops and constraints of the mechanism allow."""
    if not at.mechanism.constrained:
        return tuple(qdd)
    moving = accelerating_bodies(at, qd, inverse_dynamics(at, qd, qdd), alpha=position_gain)
    return generalized(at.mechanism, moving, "du")


def allowed_deviations(at: Evaluation) -> list[tuple[Scalar, ...]] | None:
    """P of (M4), column by column: the nearest velocities with J_0 u = 0; None where all are allowed."""
    mechanism = at.mechanism
    if not mechanism.constrained:
        return None
    n = range(mechanism.nv)
    still = programme_velocity(at, [0] * mechanism.nv)  # of prescribed motion and of constraints that depend on time
    moved = [programme_velocity(at, [int(i == k) for i in n]) for k in n]
    return [tuple(x - y for x, y in zip(column, still, strict=True)) for column in moved]


def allowed_decay(S: Matrix, m: Matrix, P: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """(M4), of a decay matrix and the columns of P."""
    n = range(len(m))
    S_P, m_P = ([[dot(P[i], product(A, P[j])) for j in n] for i in n] for A in (S, m))
    ratio = [solve(m, column) for column in zip(*S_P, strict=True)]  # columns of m^-1 P' S P
    K = sqrt(total(ratio[i][j] * ratio[j][i] for i in n for j in n))
    return [[S_P[i][j] + K * (m[i][j] - m_P[i][j]) for j in n] for i in n]


def constraint_rows(at: Evaluation, position_gain: Scalar = 0) -> tuple[list[list[Scalar]], list[Scalar]]:
    """J and -(j + position_gain g), row by row: those of `row_names`, with the signs of states and runs."""
    mechanism = at.mechanism
    if not mechanism.constrained:
        return [], []
    still = records(at, [0] * mechanism.nv, closed=True)
    still.constraints.locally(measure_closure_error)
    g = [error for each in still.constraints[1:] for error in each.closure_error]
    j = constraint_velocities(still)
    columns = []
    for i in range(mechanism.nv):  # one velocity at a time
        moving = records(at, [int(i == k) for k in range(mechanism.nv)], closed=True)
        columns.append([x - y for x, y in zip(constraint_velocities(moving), j, strict=True)])
    b = [-(x + position_gain * error) for x, error in zip(j, g, strict=True)]
    # sweeps measure loops from the second frame to the first
    signs = [-1] * (len(g) - len(mechanism.constraints)) + [1] * len(mechanism.constraints)
    a = [[sign * x for x in row] for sign, row in zip(signs, zip(*columns, strict=True), strict=True)]
    return a, [sign * x for sign, x in zip(signs, b, strict=True)]


def row_names(mechanism: Mechanism) -> tuple[str, ...]:
    """The rows by which loops are closed, then the expression constraints."""
    names = []
    for loop, rows in zip(mechanism.loops, mechanism.loop_constraints, strict=True):
        whole = len(rows) == len(loop.rows)
        names += [f"{loop.name}: {row.name}" for row in loop.rows] if whole else [
            f"{loop.name}: row {k} in its plane" for k in range(1, len(rows) + 1)
        ]  # fmt: skip
    return (*names, *(constraint.name for constraint in mechanism.constraints))
