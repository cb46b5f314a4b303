"""Small symmetric systems: definite ones solved and inverted, semi-definite ones solved to round-off at any rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.spatial.symmetric import REGULARIZATION, inverse, product, solve
from semidefinite import solve_semidefinite

plenty = settings(deadline=None, max_examples=60)
ROUND_OFF = 1e-14  # of |Phi| |x|
seeds = st.integers(0, 2**32 - 1)
SHAPES = [(1, 1), (2, 1), (3, 3), (3, 1), (5, 5), (6, 3), (6, 5), (12, 6), (24, 12), (48, 24)]  # rows, rank
shapes = pytest.mark.parametrize(("rows", "rank"), SHAPES)


def loop_matrix(random, rows, rank, masses=1.0, scale=1.0):
    """Phi = J M^-1 J' of random directions, some of them said again by others, and a b in its range.

    | argument | meaning                                          |
    |----------|--------------------------------------------------|
    | masses   | how many times the largest exceeds the smallest  |
    """
    J = random.standard_normal((rank, rank + 3))
    J = np.concatenate([J, random.uniform(-1, 1, (rows - rank, rank)) @ J])[random.permutation(rows)]
    M = masses ** random.uniform(0, 1, rank + 3)
    Phi = scale * (J / M) @ J.T
    return (Phi + Phi.T) / 2, scale * (J / M) @ random.standard_normal(rank + 3)


def on_floats(f, Phi, b):
    return np.array(f(Phi.tolist(), b.tolist()))


def residual(Phi, x, b):
    """|Phi x - b|, of |Phi| |x|."""
    return np.linalg.norm(Phi @ x - b) / (np.linalg.norm(Phi, 2) * np.linalg.norm(x))


def unrefined(Phi, b):
    return on_floats(solve, Phi + REGULARIZATION * np.diag(np.diag(Phi)), b)


def shortest_solution(Phi, b):
    """The solution with the least sum of Phi_kk x_k^2, by singular values of the matrix with a unit diagonal."""
    scale = np.sqrt(np.diag(Phi))
    return np.linalg.lstsq(Phi / np.outer(scale, scale), b / scale, rcond=1e-9)[0] / scale


# --- positive definite ---


@plenty
@given(seeds, st.integers(1, 8))
def test_a_definite_system_is_solved_and_inverted(seed, n):
    random = np.random.default_rng(seed)
    B = random.standard_normal((n, n + 2))
    A, b = B @ B.T + np.eye(n), random.standard_normal(n)
    np.testing.assert_allclose(on_floats(solve, A, b), np.linalg.solve(A, b), rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.array(inverse(A.tolist())), np.linalg.inv(A), rtol=0, atol=1e-10)
    np.testing.assert_allclose(on_floats(product, A, b), A @ b, rtol=0, atol=1e-10)


# --- positive semi-definite ---


@pytest.mark.repeats(12)
@shapes
@pytest.mark.parametrize("masses", [1.0, 1e4])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_a_loop_is_solved_to_round_off_by_the_shortest_solution(rows, rank, masses, scale):
    random = np.random.default_rng(rows + rank)
    for _ in range(5):
        Phi, b = loop_matrix(random, rows, rank, masses, scale)
        x, shortest = on_floats(solve_semidefinite, Phi, b), shortest_solution(Phi, b)
        assert residual(Phi, x, b) < ROUND_OFF
        assert np.linalg.norm(x - shortest) < 1e-8 * np.linalg.norm(shortest)
        assert residual(Phi, x, Phi @ shortest) < ROUND_OFF


@plenty
@given(seeds, st.integers(1, 12), st.integers(0, 6))
def test_any_size_and_rank(seed, rank, redundant):
    Phi, b = loop_matrix(np.random.default_rng(seed), rank + redundant, rank)
    assert residual(Phi, on_floats(solve_semidefinite, Phi, b), b) < 10 * ROUND_OFF


@shapes
def test_without_more_turns_it_would_not_be_round_off(rows, rank):
    Phi, b = loop_matrix(np.random.default_rng(1), rows, rank)
    assert 10 * ROUND_OFF < residual(Phi, unrefined(Phi, b), b) < 1e-9


def test_what_lies_outside_the_range_is_left_out():
    # a plain solve with Phi + delta E would give it back 1 / delta times as large
    Phi, b = loop_matrix(np.random.default_rng(1), 6, 3)
    null = np.linalg.svd(Phi)[2][-1]
    x, moved = (on_floats(solve_semidefinite, Phi, b + size * null) for size in (0, 1e-6))
    assert np.linalg.norm(moved - x) < 1e-2 * np.linalg.norm(x)
    assert np.linalg.norm(unrefined(Phi, b + 1e-6 * null)) > 1e2 * np.linalg.norm(x)


def test_loops_that_do_not_meet_may_have_any_scale():
    """A light loop beside a heavy one: 1e-6 of the mean diagonal is solved too."""
    (heavy, b), (light, c) = (loop_matrix(np.random.default_rng(k), 6, 3) for k in (1, 2))
    Phi = np.block([[heavy, np.zeros((6, 6))], [np.zeros((6, 6)), 1e-6 * light]])
    x = on_floats(solve_semidefinite, Phi, np.concatenate([b, 1e-6 * c]))
    assert residual(heavy, x[:6], b) < ROUND_OFF
    assert residual(light, x[6:], c) < 1e-6


@shapes
@pytest.mark.repeats(1)
def test_a_batch_is_solved_as_its_entries(rows, rank):
    random = np.random.default_rng(2)
    several = [loop_matrix(random, rows, rank, scale=10.0**k) for k in range(-2, 3)]
    Phi, b = (np.array(parts) for parts in zip(*several, strict=True))
    found = solve_semidefinite(np.moveaxis(Phi, 0, -1), list(b.T))
    for x, one in zip(np.transpose(found), several, strict=True):
        np.testing.assert_array_equal(x, on_floats(solve_semidefinite, *one))


def test_where_nothing_can_move_nothing_is_found():
    zero, b = [[0.0] * 3 for _ in range(3)], [1.0, 0.0, -2.0]
    assert solve_semidefinite(zero, b) == [0, 0, 0]
    assert solve_semidefinite([], []) == []
    with np.errstate(all="raise"):  # also in a batch, beside one that can
        Phi = np.array([zero, np.diag([1.0, 2.0, 4.0])])
        found = np.transpose(solve_semidefinite(np.moveaxis(Phi, 0, -1), [np.full(2, e) for e in b]))
    np.testing.assert_allclose(found, [[0, 0, 0], [1, 0, -0.5]], rtol=1e-15)
