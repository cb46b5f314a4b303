"""Small symmetric matrices of scalars of any kind: sums, products and the solution of equations, without pivoting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from momentree.spatial.scalar import Scalar, select

Matrix = Sequence[Sequence[Scalar]]
REGULARIZATION = 5e-10  # of the scale of each row, added to its diagonal entry
SERIES = (1, 3, 6, 10, 15, 21, 28, 36, 45)  # of (1 - x)^-3


def inverse(A: Matrix) -> list[list[Scalar]]:
    """The inverse of a positive definite matrix, by A = L D L'."""
    return [[1 / A[0][0]]] if len(A) == 1 else _inverse(*_factors(A))


def _inverse(L: Matrix, reciprocals: Sequence[Scalar]) -> list[list[Scalar]]:
    """(L D L')^-1 = L^-T D^-1 L^-1."""
    n = len(L)
    W: list[list[Scalar]] = [[1 if i == j else 0 for j in range(n)] for i in range(n)]  # columns of L^-1
    for j in range(n):
        for i in range(j + 1, n):
            W[i][j] = -total(L[i][k] * W[k][j] for k in range(j, i))
    scaled = [[W[k][j] * reciprocals[k] for j in range(k + 1)] for k in range(n)]
    result: list[list[Scalar]] = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            result[i][j] = result[j][i] = total(W[k][i] * scaled[k][j] for k in range(i, n))
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
            LD.append(A[i][j] - total(LD[k] * L[j][k] for k in range(j)))
        for j in range(i):
            L[i][j] = LD[j] * reciprocals[j]
        reciprocals.append(1 / (A[i][i] - total(LD[k] * L[i][k] for k in range(i))))
    return L, reciprocals


def solve(A: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """x with A x = b for a positive definite A = U D U', the last unknown eliminated first, as along a tree."""
    return _solved(*_factors([row[::-1] for row in A[::-1]]), b[::-1])[::-1]


def semidefinite_solver(Phi: Matrix, delta: Sequence[Scalar]) -> Callable[[Sequence[Scalar]], list[Scalar]]:
    """Finds the shortest x with Phi x = b for a positive semi-definite Phi of any rank, and any b.

        x = Q S b + Q S (b - Phi Q S b) ,   S = (Phi + Delta)^-1 ,   Q = C^2 (E + 3 B + 6 B^2 + ... + 45 B^8)

    with Delta = diag(delta), B = S Delta and C = E - B. The shortest x is the one with the least x' Delta x. There is
    no pivoting and no branch.

    C has the eigenvalues c = lambda / (1 + lambda), with lambda those of Delta^-1/2 Phi Delta^-1/2. Q S is c^3 times
    the first terms of c^-3 in powers of 1 - c, over lambda. So it takes only 165 lambda^2 of S along null directions
    (lambda << 1), where S makes rounding large and what b has outside the range of Phi, and misses only 55 / lambda^9
    of the solution along all others (lambda >> 1), twice. Scaling rows and columns of Phi changes nothing but units.
    """
    n = len(Phi)
    delta = [select(entry, entry, 1.0) for entry in delta]  # where nothing can move a row, x = 0
    factors = _factors([[Phi[i][j] + delta[i] if i == j else Phi[i][j] for j in range(n)] for i in range(n)])
    Z = _filter(_inverse(*factors), delta)

    def turn(b: Sequence[Scalar]) -> list[Scalar]:
        x = _solved(*factors, b)
        weighted = [entry * weight for entry, weight in zip(x, delta, strict=True)]
        return [entry + more for entry, more in zip(x, product(Z, weighted), strict=True)]

    def solved(b: Sequence[Scalar]) -> list[Scalar]:
        x = turn(b)
        residual = [entry - term for entry, term in zip(b, product(Phi, x), strict=True)]
        return [entry + more for entry, more in zip(x, turn(residual), strict=True)]

    return solved


def _filter(S: Matrix, delta: Sequence[Scalar]) -> list[list[Scalar]]:
    """Z, where Q = E + Z Delta: symmetric, as all that is built of S and Delta is."""

    def after(A: Matrix, X: Matrix) -> list[list[Scalar]]:
        """A Delta X."""
        return _symmetric_product(A, [[weight * x for x in row] for weight, row in zip(delta, X, strict=True)])

    S2 = after(S, S)
    S3 = after(S2, S)
    highest = after(S3, _combined(SERIES[7:], (S, S2)))
    higher = after(S3, _combined((*SERIES[4:7], 1), (S, S2, S3, highest)))
    series = _combined((*SERIES[1:4], 1), (S, S2, S3, higher))  # E + 3 B + ... = E + series Delta
    square = _combined((-2, 1), (S, S2))  # C^2 = E + square Delta
    return _combined((1, 1, 1), (series, square, after(series, square)))


def _combined(coefficients: Sequence[Scalar], matrices: Sequence[Matrix]) -> list[list[Scalar]]:
    """The sum of symmetric matrices, each times its coefficient."""
    n = len(matrices[0])
    result: list[list[Scalar]] = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            terms = zip(coefficients, matrices, strict=True)
            result[i][j] = result[j][i] = total(c * matrix[i][j] for c, matrix in terms)
    return result


def _symmetric_product(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """A B, where that is symmetric."""
    n = len(A)
    result: list[list[Scalar]] = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            result[i][j] = result[j][i] = total(A[i][k] * B[k][j] for k in range(n))
    return result


def _solved(L: Matrix, reciprocals: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """x with L D L' x = b."""
    n, y = len(L), list(b)
    for i in range(n):
        y[i] = y[i] - total(L[i][k] * y[k] for k in range(i))
    x = [entry * reciprocal for entry, reciprocal in zip(y, reciprocals, strict=True)]
    for i in range(n - 1, -1, -1):
        x[i] = x[i] - total(L[k][i] * x[k] for k in range(i + 1, n))
    return x


def product(A: Matrix, x: Sequence[Scalar]) -> list[Scalar]:
    """A x."""
    return [total(a * b for a, b in zip(row, x, strict=True)) for row in A]


def dot(x: Iterable[Scalar], y: Iterable[Scalar]) -> Scalar:
    """x' y."""
    return total(a * b for a, b in zip(x, y, strict=True))


def total(terms: Iterable[Scalar]) -> Scalar:
    """The sum of scalars; of none, the number 0."""
    result: Scalar = 0
    for term in terms:
        result = result + term
    return result
