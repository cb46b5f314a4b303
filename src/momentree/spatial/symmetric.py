"""Small symmetric matrices of scalars of any kind: products and the solution of equations, without pivoting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from momentree.spatial.scalar import Scalar

Matrix = Sequence[Sequence[Scalar]]


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
    n = len(A)
    U, reciprocals = _factors([row[::-1] for row in A[::-1]])
    y = list(b[::-1])
    for i in range(n):
        y[i] = y[i] - _sum(U[i][k] * y[k] for k in range(i))
    x = [entry * reciprocal for entry, reciprocal in zip(y, reciprocals, strict=True)]
    for i in range(n - 1, -1, -1):
        x[i] = x[i] - _sum(U[k][i] * x[k] for k in range(i + 1, n))
    return x[::-1]


def product(A: Matrix, x: Sequence[Scalar]) -> list[Scalar]:
    """A x."""
    return [_sum(a * b for a, b in zip(row, x, strict=True)) for row in A]


def _sum(terms: Iterable[Scalar]) -> Scalar:
    total: Scalar = 0
    for term in terms:
        total = total + term
    return total
