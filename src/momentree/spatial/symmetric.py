"""Small symmetric matrices of scalars of any kind: products and the solution of equations, without pivoting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from momentree.spatial.scalar import Scalar, select

Matrix = Sequence[Sequence[Scalar]]
REGULARISATION = 5e-10  # of the mean diagonal, added to every diagonal entry of a semi-definite matrix
TURNS = 3  # of the same solve


def inverse(A: Matrix) -> list[list[Scalar]]:
    """The inverse of a positive definite matrix, by A = L D L'."""
    n = len(A)
    if n == 1:
        return [[1 / A[0][0]]]
    L, reciprocals = _factors(A)
    # columns of L^-1, then A^-1 = L^-T D^-1 L^-1
    W: list[list[Scalar]] = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    for j in range(n):
        for i in range(j + 1, n):
            W[i][j] = -_sum(L[i][k] * W[k][j] for k in range(j, i))
    scaled = [[W[k][j] * reciprocals[k] for j in range(k + 1)] for k in range(n)]
    result: list[list[Scalar]] = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            result[i][j] = result[j][i] = _sum(W[k][i] * scaled[k][j] for k in range(i, n))
    return result


def _factors(A: Matrix) -> tuple[list[list[Scalar]], list[Scalar]]:
    """L, unit lower triangular, and the reciprocals of D."""
    n = len(A)
    L: list[list[Scalar]] = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    reciprocals: list[Scalar] = []
    for i in range(n):
        # the row of L D first, then of L: each product of the two is formed once
        LD: list[Scalar] = []
        for j in range(i):
            LD.append(A[i][j] - _sum(LD[k] * L[j][k] for k in range(j)))
        for j in range(i):
            L[i][j] = LD[j] * reciprocals[j]
        reciprocals.append(1 / (A[i][i] - _sum(LD[k] * L[i][k] for k in range(i))))
    return L, reciprocals


def solve(A: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """x with A x = b for a positive definite A = U D U', the last unknown eliminated first, as along a tree."""
    return _solved(*_factors([row[::-1] for row in A[::-1]]), b[::-1])[::-1]


def solve_semidefinite(Phi: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """The shortest x with Phi x = b for a positive semi-definite Phi of any rank; x = 0 where Phi = 0."""
    return semidefinite_solver(Phi, [Phi[i][i] for i in range(len(Phi))])(b)


def semidefinite_solver(Phi: Matrix, size: Sequence[Scalar]) -> Callable[[Sequence[Scalar]], list[Scalar]]:
    """Finds the shortest x with Phi x = b for a positive semi-definite Phi of any rank, and any b.

        x <- x + P P S (b - Phi x),  three times from x = 0,   P x = x - delta S x

    with S = (Phi + delta E)^-1, delta = 5e-10 of the mean `size` of the diagonal (what it was before anything was
    subtracted). Without pivoting and without a branch. P takes away what lies along null directions, which S makes
    large: rounding, and what b has outside the range of Phi. Along the eigenvector of another eigenvalue lambda each
    turn leaves 3 delta / lambda of the error.
    """
    n = len(Phi)
    delta = REGULARISATION / max(n, 1) * _sum(size)
    safe = select(delta, delta, math.inf)  # its reciprocal is 0, and so is x
    factors = _factors([[Phi[i][j] + safe if i == j else Phi[i][j] for j in range(n)] for i in range(n)])

    def solved(b: Sequence[Scalar]) -> list[Scalar]:
        x: list[Scalar] = [0] * n
        for turn in range(TURNS):
            residual = [entry - term for entry, term in zip(b, product(Phi, x), strict=True)] if turn else b
            step = _solved(*factors, residual)
            for _ in range(2):
                step = [entry - delta * part for entry, part in zip(step, _solved(*factors, step), strict=True)]
            x = [entry + more for entry, more in zip(x, step, strict=True)]
        return x

    return solved


def _solved(L: Matrix, reciprocals: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """x with L D L' x = b."""
    n, y = len(L), list(b)
    for i in range(n):
        y[i] = y[i] - _sum(L[i][k] * y[k] for k in range(i))
    x = [entry * reciprocal for entry, reciprocal in zip(y, reciprocals, strict=True)]
    for i in range(n - 1, -1, -1):
        x[i] = x[i] - _sum(L[k][i] * x[k] for k in range(i + 1, n))
    return x


def product(A: Matrix, x: Sequence[Scalar]) -> list[Scalar]:
    """A x."""
    return [_sum(a * b for a, b in zip(row, x, strict=True)) for row in A]


def _sum(terms: Iterable[Scalar]) -> Scalar:
    total: Scalar = 0
    for term in terms:
        total = total + term
    return total
