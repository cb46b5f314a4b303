"""Full linear systems in machine code: what they solve, and which rows they take pivots from."""

import ctypes

import numpy as np
import pytest

from momentree.compile.emit.lanes import module
from momentree.compile.execute.machine_code import Target, linked, object_code
from momentree.integrate.linear_algebra import algebra_texts


def solver(n, stride, lanes, leading, parts):
    """A function that factors a matrix and solves for one right side, both in place."""
    both = f"""define void @both(ptr %matrix, ptr %pivots, ptr %b) nounwind {{
  call void @factor_{parts}(ptr %matrix, ptr %pivots)
  call void @solve_{parts}(ptr %matrix, ptr %pivots, ptr %b)
  ret void
}}"""
    text = module(1, [*algebra_texts(n, stride, lanes, leading, parts), both], set())
    library = linked(object_code(text, Target.host()), "both", {})
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library["both"])

    def solve(a, b):
        planes = np.zeros((n, parts, stride))  # by columns
        right = np.zeros((parts, stride))
        for part, take in enumerate((np.real, np.imag)[:parts]):
            planes[:, part, :n], right[part, :n] = take(a).T, take(b)
        pivots = np.zeros(stride, dtype=np.int64)
        function(planes.ctypes.data, pivots.ctypes.data, right.ctypes.data)
        assert library  # keeps the code alive
        x = right[0, :n] + 1j * right[-1, :n] if parts == 2 else right[0, :n]
        return x, pivots[:n]

    return solve


def random_system(n, parts, seed):
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((n, n)), random.standard_normal(n)
    if parts == 2:
        a, b = a + 1j * random.standard_normal((n, n)), b + 1j * random.standard_normal(n)
    return a, b


@pytest.mark.repeats(8)
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33, 150])
def test_the_solution_is_that_of_lapack(n, lanes, parts):
    a, b = random_system(n, parts, n)
    x, _ = solver(n, -(-n // lanes) * lanes, lanes, n, parts)(a, b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("parts", [1, 2])
def test_the_largest_number_of_a_column_is_its_pivot(parts):
    a = np.array([[1e-20, 1.0, 2.0], [1.0, 0.0, 0.0], [0.0, 3.0, 1.0]]) * (1j if parts == 2 else 1)
    b = np.array([1.0, 2.0, 3.0])
    x, pivots = solver(3, 4, 2, 3, parts)(a, b)
    np.testing.assert_array_equal(pivots, [1, 2, 2])
    np.testing.assert_allclose(a @ x, b, rtol=0, atol=1e-14)


def test_leading_columns_leave_the_last_rows_alone():
    # what stands in the last row, however large, changes no bit of the others
    a, b = random_system(5, 1, 0)
    a[:, 4] = 0
    a[4, 4] = 1.0
    solve = solver(5, 8, 4, 4, 1)
    x, pivots = solve(a, b)
    a[4, :4] *= 1e6
    y, _ = solve(a, b)
    assert (pivots[:4] < 4).all()
    np.testing.assert_array_equal(y[:4], x[:4])
    np.testing.assert_allclose(y, np.linalg.solve(a, b), rtol=1e-12)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("leading", [0, 1, 5, 11])
def test_of_the_columns_behind_the_leading_ones_only_the_diagonal_is_read(leading, parts):
    # they cost n operations, not n^3: work terms do not act back on the motion
    a, b = random_system(12, parts, leading)
    a[:, leading:] = np.diag(np.diagonal(a))[:, leading:]
    read = a.copy()
    read[:, leading:][~np.eye(12, dtype=bool)[:, leading:]] = np.nan
    x, _ = solver(12, 16, 8, leading, parts)(read, b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-11, atol=1e-12)


def test_a_singular_matrix_gives_numbers_that_are_not_finite():
    x, _ = solver(2, 4, 2, 2, 1)(np.ones((2, 2)), np.array([1.0, 2.0]))
    assert not np.isfinite(x).all()
