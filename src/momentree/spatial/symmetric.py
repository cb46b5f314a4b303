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
    D: list[Scalar] = []
    reciprocals: list[Scalar] = []
    for j in range(n):
        D.append(A[j][j] - _sum(L[j][k] * L[j][k] * D[k] for k in range(j)))
        reciprocals.append(1 / D[j])
        for i in range(j + 1, n):
            L[i][j] = (A[i][j] - _sum(L[i][k] * L[j][k] * D[k] for k in range(j))) * reciprocals[j]
    return L, reciprocals


def product(A: Matrix, x: Sequence[Scalar]) -> list[Scalar]:
    """A x."""
    return [_sum(a * b for a, b in zip(row, x, strict=True)) for row in A]


def _sum(terms: Iterable[Scalar]) -> Scalar:
    total: Scalar = 0
    for term in terms:
        total = total + term
    return total
