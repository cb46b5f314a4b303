"""Small dense linear algebra as functions of a module: damped steps by Cholesky factors, singular values by Jacobi.

Matrices stand in the working memory row by row. Loops have fixed orders, so that results depend on nothing else.

One-sided Jacobi rotations (M. R. Hestenes, 1958; J. Demmel, K. Veselic, SIAM J. Matrix Anal. Appl. 13, 1992) make the
columns b_k of the longer side orthogonal: their lengths are the singular values.

    M = U S V',  m >= n:  columns of M,  b_k = s_k u_k, collected V      x = sum of v_k (b_k . g) / s_k^2
                 m < n:   rows of M,     b_k = s_k v_k, collected U      x = sum of b_k (u_k . g) / s_k^2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from momentree.compile.emit.scalar_code import Number, ScalarCode, Vector, function_text

EPSILON = 2.0**-52
SWEEPS = 40  # at most; five or six are usual
NEGLIGIBLE = 1e-29  # the square of a singular value, of matrices with entries about 1: below, it is mere round-off


@dataclass(frozen=True)
class SingularValues:
    """The shortest solutions of M x = g along strong directions, M being rows x columns at `matrix`.

    | function     | does                                                                             |
    |--------------|----------------------------------------------------------------------------------|
    | NAME_factor  | decomposes the matrix                                                            |
    | NAME_solve   | x at NAME.x from g at NAME.g, along directions stronger than the number at `cut` |
    | NAME_rank    | counts directions stronger than the number at `cut`, at NAME.rank                |
    """

    name: str
    matrix: str
    rows: int
    columns: int

    @property
    def count(self) -> int:
        return min(self.rows, self.columns)

    @property
    def length(self) -> int:
        return max(self.rows, self.columns)

    @property
    def tall(self) -> bool:
        return self.rows >= self.columns

    def sizes(self) -> dict[str, int]:
        """The arrays that it needs."""
        own = {"B": self.count * self.length, "W": self.count**2, "x": self.columns, "g": self.rows}
        return {f"{self.name}.{each}": size for each, size in {**own, "rank": 1, "turned": 1}.items()}

    def texts(self, places: dict[str, int]) -> list[str]:
        """The functions."""
        parts = {"factor": self._factor, "solve": self._solve, "rank": self._rank}
        return [function_text(f"{self.name}_{name}", places, write) for name, write in parts.items()]

    def _column(self, code: ScalarCode, array: str, k: Any) -> Vector:
        step = self.length if array == "B" else self.count
        return code.vector(f"{self.name}.{array}").part(k * step)

    def _square(self, code: ScalarCode, k: Any) -> Number:
        b = self._column(code, "B", k)
        return code.dot(b, b, self.length)

    def _factor(self, code: ScalarCode) -> None:
        M, B, W = (code.vector(name) for name in (self.matrix, f"{self.name}.B", f"{self.name}.W"))
        p, n = self.count, self.columns
        # the columns of the longer side, and a unit matrix
        for i in code.each(0, self.rows):
            for k in code.each(0, n):
                B[k * self.length + i if self.tall else i * self.length + k] = M[i * n + k]
        for i in code.each(0, p * p):
            W[i] = 0.0
        for k in code.each(0, p):
            W[k * (p + 1)] = 1.0
        turned = code.vector(f"{self.name}.turned")
        with code.repeated(SWEEPS) as leave:
            turned[0] = 0.0
            for i in code.each(0, p):
                for j in code.each(i + 1, p):
                    self._rotate(code, i, j)
            leave(turned[0] <= 0.0)

    def _rotate(self, code: ScalarCode, i: Any, j: Any) -> None:
        """Make two columns orthogonal, unless they are."""
        b_i, b_j = self._column(code, "B", i), self._column(code, "B", j)
        a, b, c = (code.dot(x, y, self.length) for x, y in ((b_i, b_i), (b_j, b_j), (b_i, b_j)))
        counts = (a > NEGLIGIBLE) & (b > NEGLIGIBLE)  # round-off in dependent columns would be turned for ever
        with code.if_(counts & (c * c > (16 * EPSILON**2 * self.length) * a * b)):
            code.vector(f"{self.name}.turned")[0] = 1.0
            zeta = (b - a) / (2.0 * c)
            tangent = (1.0 / (zeta.absolute() + (1.0 + zeta * zeta).sqrt())).sign_of(zeta)
            cosine = 1.0 / (1.0 + tangent * tangent).sqrt()
            sine = cosine * tangent
            for array, length in (("B", self.length), ("W", self.count)):
                x, y = self._column(code, array, i), self._column(code, array, j)
                for k in code.each(0, length):
                    one, other = x[k], y[k]
                    x[k] = cosine * one - sine * other
                    y[k] = sine * one + cosine * other

    def _solve(self, code: ScalarCode) -> None:
        x, g, cut = (code.vector(name) for name in (f"{self.name}.x", f"{self.name}.g", "cut"))
        for i in code.each(0, self.columns):
            x[i] = 0.0
        for k in code.each(0, self.count):
            square = self._square(code, k)
            with code.if_(square.sqrt() > cut[0]):
                b, w = self._column(code, "B", k), self._column(code, "W", k)
                measured, along = (b, w) if self.tall else (w, b)
                share = code.dot(measured, g, self.rows) / square
                for i in code.each(0, self.columns):
                    x[i] = x[i] + share * along[i]

    def _rank(self, code: ScalarCode) -> None:
        cut = code.vector("cut")[0]

        def counted(k: Any, rank: Number) -> Number:
            return (self._square(code, k).sqrt() > cut).select(rank + 1.0, rank)

        code.vector(f"{self.name}.rank")[0] = code.total(0, self.count, 0.0, counted)


@dataclass(frozen=True)
class DampedSteps:
    """J' (J J' + d E)^-1 g, on the smaller side, J being rows x columns at `matrix`.

    The function NAME reads d at NAME.d and g at `right`, and writes NAME.x.
    """

    name: str
    matrix: str
    right: str
    rows: int
    columns: int

    @property
    def count(self) -> int:
        return min(self.rows, self.columns)

    def sizes(self) -> dict[str, int]:
        """The arrays that it needs."""
        own = {"A": self.count**2, "y": self.count, "x": self.columns, "d": 1}
        return {f"{self.name}.{each}": size for each, size in own.items()}

    def texts(self, places: dict[str, int]) -> list[str]:
        """The function."""
        return [function_text(self.name, places, self._write)]

    def _write(self, code: ScalarCode) -> None:
        J, g, m, n = code.vector(self.matrix), code.vector(self.right), self.rows, self.columns
        A, y, x, d = (code.vector(f"{self.name}.{each}") for each in ("A", "y", "x", "d"))
        p, wide = self.count, m <= n

        def line(i: Any) -> Vector:
            """A row of J, or a column: the longer ones."""
            return J.part(i * n) if wide else J.part(i, n)

        for i in code.each(0, p):
            for j in code.each(0, i + 1):
                A[i * p + j] = code.dot(line(i), line(j), max(m, n))
            A[i * (p + 1)] = A[i * (p + 1)] + d[0]
            y[i] = g[i] if wide else code.dot(line(i), g, m)
        self._eliminate(code, A, y)
        for k in code.each(0, n):
            x[k] = code.dot(J.part(k, n), y, m) if wide else y[k]

    def _eliminate(self, code: ScalarCode, A: Vector, y: Vector) -> None:
        """A = L L' (Cholesky), then y <- A^-1 y."""
        p = self.count
        for j in code.each(0, p):
            row = A.part(j * p)
            root = code.reduced(row[j], row, row, 0, j).sqrt()
            row[j] = root
            for i in code.each(j + 1, p):
                below = A.part(i * p)
                below[j] = code.reduced(below[j], below, row, 0, j) / root
        for i in code.each(0, p):
            y[i] = code.reduced(y[i], A.part(i * p), y, 0, i) / A[i * (p + 1)]
        for back in code.each(0, p):
            i = back * -1 + (p - 1)
            y[i] = code.reduced(y[i], A.part(i, p), y, i + 1, p) / A[i * (p + 1)]
