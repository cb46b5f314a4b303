"""Equations of motion built from constraints: a programme v(q, t), its Lagrangian, and deviations u that die out.

The constraints a(q, t) q' = b(q, t) are met by a velocity field v, the programme. u = q' - v is the deviation from it,
contravariant, and m u its momentum. With a Rayleigh function D of dissipation d, the Lagrangian 1/2 u' m u gives

    (m u)'_i = p_ij u^j ,   p_ij = -dv_j/dq^i + 1/2 dm_jk/dq^i (q'^k + v^k) - d_ij                                (5.3)
    V = 1/2 u' m u ,   V' = -u' S u ,   S = d + 1/2 (Lie_v m + dm/dt)

so that u = 0 is a motion, and |u| in the metric m decays as exp(-rate t), rate = min lambda(S, m). Kaspirovich and
Mukharlyamov 2019, corrected: docs/theory/programme.md. All functions run on any scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from momentree.spatial import Scalar
from momentree.spatial.symmetric import Matrix, dot, product, solve, total

Column = Sequence[Scalar]


class ProgrammeFields(NamedTuple):
    """A programme and its derivatives at one q and t; n coordinates.

    | field | shape     | meaning                              |
    |-------|-----------|--------------------------------------|
    | v     | n         | velocities                           |
    | v_q   | n x n     | v_q[i][k] = dv^i/dq^k                |
    | v_t   | n         | dv/dt at constant q                  |
    | m     | n x n     | mass matrix                          |
    | m_q   | n x n x n | m_q[k][i][j] = dm_ij/dq^k            |
    | m_t   | n x n     | dm/dt at constant q                  |
    | d     | n x n     | dissipation, symmetric               |
    """

    v: Column
    v_q: Matrix
    v_t: Column
    m: Matrix
    m_q: Sequence[Matrix]
    m_t: Matrix
    d: Matrix


def deviation(f: ProgrammeFields, qd: Column) -> list[Scalar]:
    """u = q' - v: (2.3)."""
    return [x - y for x, y in zip(qd, f.v, strict=True)]


def deviation_energy(f: ProgrammeFields, qd: Column) -> Scalar:
    """V = 1/2 u' m u: the Lagrangian without Psi, and the Lyapunov function."""
    u = deviation(f, qd)
    return dot(u, product(f.m, u)) / 2


def coefficients(f: ProgrammeFields, qd: Column) -> list[list[Scalar]]:
    """p_ij of the equations of constraint perturbations (m u)'_i = p_ij u^j: (5.3), row i and column j.

    With m_jk v^k for v_j, the terms in dm/dq that act on v cancel: -m_jk dv^k/dq^i + 1/2 dm_jk/dq^i u^k - d_ij.
    """
    u, n = deviation(f, qd), range(len(f.v))
    return [
        [total(f.m_q[i][j][k] * u[k] for k in n) / 2 - total(f.m[j][k] * f.v_q[k][i] for k in n) - f.d[i][j] for j in n]
        for i in n
    ]


def accelerations(f: ProgrammeFields, qd: Column) -> list[Scalar]:
    """q'' = v' + u', where m u' = p u - m' u and v' = dv/dq q' + dv/dt: (5.2)."""
    change = deviation_forces(f, qd)
    return [x + y for x, y in zip(field_acceleration(f, qd), solve(f.m, change), strict=True)]


def left_sides(f: ProgrammeFields, qd: Column, qdd: Column) -> list[Scalar]:
    """f = m (q'' - v') - m u', zero: the equations of motion in Euler-Lagrange form, not solved for q''."""
    rest = [x - y for x, y in zip(qdd, field_acceleration(f, qd), strict=True)]
    return [x - y for x, y in zip(product(f.m, rest), deviation_forces(f, qd), strict=True)]


def deviation_forces(f: ProgrammeFields, qd: Column) -> list[Scalar]:
    """m u' = p u - m' u."""
    u, m_dot = deviation(f, qd), _along(f, qd)
    return [x - y for x, y in zip(product(coefficients(f, qd), u), product(m_dot, u), strict=True)]


def field_acceleration(f: ProgrammeFields, qd: Column) -> list[Scalar]:
    """v' = dv/dq q' + dv/dt, along a motion with these velocities."""
    return [x + y for x, y in zip(product(f.v_q, qd), f.v_t, strict=True)]


def decay_matrix(f: ProgrammeFields) -> list[list[Scalar]]:
    """S = d + 1/2 (Lie_v m + dm/dt): V' = -u' S u, exactly."""
    n, m_dot = range(len(f.v)), _along(f, f.v)
    half_lie = [
        [(m_dot[i][j] + total(f.m[k][j] * f.v_q[k][i] + f.m[i][k] * f.v_q[k][j] for k in n)) / 2 for j in n] for i in n
    ]
    return [[f.d[i][j] + half_lie[i][j] for j in n] for i in n]


def inertial_forces(f: ProgrammeFields, qd: Column, qdd: Column) -> list[Scalar]:
    """m q'' + c: the generalized forces of a motion, c from the kinetic energy 1/2 q' m q'."""
    n, m_dot = range(len(f.v)), _along(f, qd)
    return [
        dot(f.m[i], qdd) + dot(m_dot[i], qd) - total(f.m_q[i][j][k] * qd[j] * qd[k] for j in n for k in n) / 2
        for i in n
    ]


def gyroscopic_form(f: ProgrammeFields) -> list[list[Scalar]]:
    """g_ij = dv_j/dq^i - dv_i/dq^j, the 2-form d(m v); the gyroscopic force is -g q': (3.8)."""
    n = range(len(f.v))
    slope = [[total(f.m_q[i][j][k] * f.v[k] + f.m[j][k] * f.v_q[k][i] for k in n) for j in n] for i in n]  # dv_j/dq^i
    return [[slope[i][j] - slope[j][i] for j in n] for i in n]


class LagrangianParts(NamedTuple):
    """L = T2 + T1 - P: quadratic in q', linear, and without it."""

    T2: Scalar
    T1: Scalar
    P: Scalar


def lagrangian_parts(f: ProgrammeFields, qd: Column, potential: Scalar = 0) -> LagrangianParts:
    """T2 = 1/2 q' m q', T1 = -q' m v, P = -1/2 v' m v - Psi; Psi (`potential`) in mode DQ only."""
    momentum = product(f.m, f.v)
    return LagrangianParts(dot(qd, product(f.m, qd)) / 2, -dot(qd, momentum), -dot(f.v, momentum) / 2 - potential)


def rayleigh_function(f: ProgrammeFields, velocities: Column) -> Scalar:
    """D = 1/2 x' d x, of the deviation in mode DU, of q' in mode DQ."""
    return dot(velocities, product(f.d, velocities)) / 2


# --- programmes from constraints ---


def cross_product(rows: Sequence[Column]) -> list[Scalar]:
    """v with v . w = det[w; rows] for every w: at right angles to n - 1 rows of n numbers."""
    n = len(rows) + 1
    minors = determinants(rows)
    every = frozenset(range(n))
    return [minors[every - {i}] * (-1) ** i for i in range(n)]


def determinants(rows: Sequence[Column]) -> dict[frozenset[int], Scalar]:
    """The determinants of the last k rows in k columns, by the columns; Laplace's expansion, each minor once."""
    n = len(rows[0]) if rows else 1
    minors: dict[frozenset[int], Scalar] = {frozenset(): 1}
    for row in reversed(rows):
        wider: dict[frozenset[int], Scalar] = {}
        for columns, minor in minors.items():
            for j in range(n):
                if j not in columns:
                    before = sum(1 for column in columns if column < j)
                    term = row[j] * minor * (-1) ** before
                    chosen = columns | {j}
                    wider[chosen] = wider[chosen] + term if chosen in wider else term
        minors = wider
    return minors


def completed(a: Sequence[Column], b: Column, given: dict[int, Scalar]) -> list[Scalar]:
    """The velocities that satisfy a v = b, of which n - m are given by their index: Cramer's rule for the others."""
    n = len(a[0]) if a else len(given)
    others = [i for i in range(n) if i not in given]
    rest = [b_r - total(row[i] * x for i, x in given.items()) for row, b_r in zip(a, b, strict=True)]
    square = [[row[i] for i in others] for row in a]
    whole = frozenset(range(len(others)))
    D = determinants(square)[whole] if others else 1
    v = dict(given)
    for place, i in enumerate(others):
        replaced = [[*row[:place], x, *row[place + 1 :]] for row, x in zip(square, rest, strict=True)]
        v[i] = determinants(replaced)[whole] / D
    return [v[i] for i in range(n)]


def nearest(a: Sequence[Column], b: Column, wanted: Column, m: Matrix) -> list[Scalar]:
    """The velocities nearest to the wanted w, by kinetic energy, with a v = b: w - m^-1 a' (a m^-1 a')^-1 (a w - b)."""
    if not a:
        return list(wanted)
    columns = [solve(m, row) for row in a]  # of m^-1 a'
    Phi = [[dot(row, column) for column in columns] for row in a]
    eta = solve(Phi, [dot(row, wanted) - x for row, x in zip(a, b, strict=True)])
    return [w - total(c[i] * e for c, e in zip(columns, eta, strict=True)) for i, w in enumerate(wanted)]


def admissible_dissipation(v: Column, g: Column, K: Matrix) -> list[list[Scalar]]:
    """d = g g'/(g.v) + Pi' K Pi, Pi = E - v g'/(g.v): every d with d v = g = grad Psi, which mode DQ needs."""
    n, along = range(len(v)), dot(g, v)
    Pi = [[(1 if i == j else 0) - v[i] * g[j] / along for j in n] for i in n]
    return [[g[i] * g[j] / along + total(Pi[k][i] * K[k][l] * Pi[l][j] for k in n for l in n) for j in n] for i in n]


# --- along a motion ---


def _along(f: ProgrammeFields, x: Column) -> list[list[Scalar]]:
    """dm_ij/dq^k x^k + dm_ij/dt."""
    n = range(len(f.v))
    return [[total(f.m_q[k][i][j] * x[k] for k in n) + f.m_t[i][j] for j in n] for i in n]
