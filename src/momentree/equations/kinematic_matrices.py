"""Matrices of the kinematics of a tree, Ivanov 2022 (1) and (2): S, T, A, B, v^r, phi, on any scalar.

    S v = A u + v^r                                                                                         (1)
    v = T (A u + v^r) = B u + phi ,      T = S^-1 ,   B = T A ,   phi = T v^r                               (2)

v is the column of the twists of all bodies, each in its own frame. Passes along the tree need none of these matrices:
they are for those who want to see or check them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.spatial import REST, ZERO, Motion, Scalar
from momentree.spatial.vector import X, Y, Z

UNITS = tuple(Motion(e, ZERO) for e in (X, Y, Z)) + tuple(Motion(ZERO, e) for e in (X, Y, Z))

Matrix = list[list[Scalar]]


class KinematicMatrices(NamedTuple):
    """S, T and B of Ivanov 2022 (1), (2), and what they are made of; N bodies in the order of the proper numbering.

    | field | shape     | meaning                                                                                   |
    |-------|-----------|-------------------------------------------------------------------------------------------|
    | C     | N, 6, 6   | transforms twists from the parent of each body to the body                                |
    | A     | 6 N, nv   | motion subspaces of the joints, on the diagonal; prescribed joints have no columns         |
    | v_r   | 6 N       | v^r: twists (m/s, rad/s) that prescribed joints have, and C v_0 on a moving ground         |
    | S     | 6 N, 6 N  | E on the diagonal, -C_i in the columns of the parent of i                                 |
    | T     | 6 N, 6 N  | S^-1: T_ij = C_i T_kj along the path to the ground, k the parent of i                      |
    | B     | 6 N, nv   | T A: the partial velocities of all bodies                                                 |
    | phi   | 6 N       | T v^r: the twists at u = 0                                                                |
    """

    C: Any
    A: Any
    v_r: Any
    S: Any
    T: Any
    B: Any
    phi: Any


def kinematic_matrices(at: Evaluation) -> KinematicMatrices:
    """All of them, as lists of rows."""
    mechanism = at.mechanism
    placed = records(at)
    n, nv = 6 * len(mechanism.bodies), mechanism.nv
    A, S, T = _zeros(n, nv), _unit(n), _unit(n)
    C: list[Matrix] = []
    v_r: list[Scalar] = []
    for body in mechanism.bodies:
        record, rows = placed[body.number], slice(6 * body.number - 6, 6 * body.number)
        columns = [[*record.X.motion(unit)] for unit in UNITS]
        C_i = [list(row) for row in zip(*columns, strict=True)]
        C.append(C_i)
        twist = REST if body.laws is None else record.A @ record.u
        if not body.parent:
            twist = twist + record.X.motion(placed[0].v)
        v_r += [*twist]
        if body.laws is None:
            for j, column in enumerate(record.A.columns, body.v.start):
                for i, entry in zip(range(rows.start, rows.stop), column, strict=True):
                    A[i][j] = entry
        if body.parent:
            above = slice(6 * body.parent - 6, 6 * body.parent)
            columns_above = list(zip(*T[above], strict=True))[: above.stop]
            for i, row in zip(range(rows.start, rows.stop), C_i, strict=True):
                S[i][above] = [-entry for entry in row]
                T[i][: above.stop] = [_dot(row, column) for column in columns_above]
    B = [[_dot(row, column) for column in zip(*A, strict=True)] for row in T]
    return KinematicMatrices(C, A, v_r, S, T, B, [_dot(row, v_r) for row in T])


def _zeros(rows: int, columns: int) -> Matrix:
    return [[0] * columns for _ in range(rows)]


def _unit(n: int) -> Matrix:
    return [[int(i == j) for j in range(n)] for i in range(n)]


def _dot(a: Any, b: Any) -> Scalar:
    """The sum of products, without those that are exactly zero."""
    total: Scalar = 0
    for x, y in zip(a, b, strict=True):
        if not (_is_zero(x) or _is_zero(y)):
            total = total + x * y
    return total


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, (int, float)) and x == 0
