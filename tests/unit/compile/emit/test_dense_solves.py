"""Small dense solves in machine code are those of LAPACK, on matrices of any shape and rank."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.compile.emit.dense_solves import DampedSteps, SingularValues
from momentree.compile.emit.lanes import ROWS_ARGUMENTS
from momentree.compile.emit.scalar_code import ScalarCode, Vector, places_of
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target


class Solves:
    """rows_1 of a matrix, a right-hand side, a damping and a cut-off: both solutions, and the rank."""

    def __init__(self, m: int, n: int):
        self.parts = (SingularValues("svd", "M", m, n), DampedSteps("damped", "M", "svd.g", m, n))
        sizes = {"M": m * n, "cut": 1}
        for part in self.parts:
            sizes |= part.sizes()
        self.places, self.room = places_of(sizes)
        self.given = {"M": m * n, "svd.g": m, "damped.d": 1, "cut": 1}
        self.found = {"svd.x": n, "damped.x": n, "svd.rank": 1}
        self.arrays, self.outputs = tuple(self.given.items()), sum(self.found.values())
        self.constant = (False,) * 4

    def scratch(self, width: int) -> int:
        return self.room

    def text(self, width: int) -> str:
        code = ScalarCode(self.places)
        for k, (name, count) in enumerate(self.given.items()):
            start = code.let(f"load ptr, ptr {code.let(f'getelementptr ptr, ptr %arguments, i64 {k}')}")
            code.copy(Vector(code, start), code.vector(name), count)
        for function in ("svd_factor", "svd_solve", "svd_rank", "damped"):
            code.run(function)
        at = 0
        for name, count in self.found.items():
            code.copy(code.vector(name), Vector(code, "%out", at), count)
            at += count
        functions = [text for part in self.parts for text in part.texts(self.places)]
        head = f"define void @rows_1{ROWS_ARGUMENTS.replace('%scratch', '%work')}"
        return "\n\n".join([*functions, f"{head} {{\nentry:\n{code.lines}\n  ret void\n}}\n"])


def solved(M, g, damping, cut):
    n, kernel = M.shape[1], Kernel(Solves(*M.shape), 1, Target.host())
    found = kernel([M.ravel(), g, np.array([damping]), np.array([cut])])
    return found[:n], found[n : 2 * n], found[-1]


def of_singular_values(random, m, n, values):
    """A random matrix with these singular values."""
    U, V = (np.linalg.qr(random.standard_normal((k, k)))[0][:, : len(values)] for k in (m, n))
    return U * values @ V.T


@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 2), (2, 5), (3, 3), (12, 9), (9, 12), (20, 17)])
@pytest.mark.parametrize("weakest", [1.0, 1e-3, 1e-7, 0.0])
def test_solutions_are_those_of_lapack(m, n, weakest):
    random, cut = np.random.default_rng(m * 100 + n), 1e-5
    p = min(m, n)
    values = np.geomspace(1.0, 0.3, p)
    values[-1] = weakest
    M, g = of_singular_values(random, m, n, values), random.standard_normal(m)
    shortest, damped, rank = solved(M, g, 1e-4, cut)
    U, S, V = np.linalg.svd(M, full_matrices=False)
    strong = cut < S
    assert rank == strong.sum()
    expected = V[strong].T @ (U[:, strong].T @ g / S[strong])
    np.testing.assert_allclose(shortest, expected, rtol=0, atol=1e-13 / S[strong].min(initial=1.0) ** 2)
    unit = np.eye(m)
    np.testing.assert_allclose(damped, M.T @ np.linalg.solve(M @ M.T + 1e-4 * unit, g), rtol=0, atol=1e-11)


@pytest.mark.parametrize("columns", [2, 4])
def test_columns_that_depend_on_each_other_are_counted_once(columns):
    """The rows of a planar four-bar: three of five vanish, and three columns span a plane."""
    random = np.random.default_rng(columns)
    M = np.zeros((5, columns))
    M[[0, 2]] = random.standard_normal((2, columns))
    g = M @ random.standard_normal(columns)
    shortest, _, rank = solved(M, g, 1e-4, 2e-5)
    assert rank == 2
    np.testing.assert_allclose(shortest, np.linalg.lstsq(M, g, rcond=1e-10)[0], atol=1e-13)


def test_nothing_is_strong_in_a_matrix_of_zeros():
    shortest, damped, rank = solved(np.zeros((3, 2)), np.ones(3), 1e-4, 1e-5)
    assert rank == 0
    assert not shortest.any()
    assert not damped.any()


def test_numbers_that_are_not_finite_end():
    _, _, rank = solved(np.full((3, 2), np.nan), np.ones(3), 1e-4, 1e-5)
    assert rank == 0
