"""The compiled solution of Phi x = b: what floats give, scalar and batched, at any rank."""

import numpy as np
import pytest

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.execute.kernel import WIDTHS
from momentree.compile.trace.tape import Tape
from momentree.spatial.symmetric import semidefinite_solver
from semidefinite import solve_semidefinite

ROUND_OFF = 1e-14  # of |Phi| |x|
SHAPES = [(1, 1), (2, 1), (3, 3), (6, 3), (12, 6)]  # rows, rank; no joint has more than six rows


def loop_matrices(random, rows, rank, count, masses=1e4):
    """Phi = J M^-1 J' with redundant rows, and b in its range; masses up to so many times the smallest."""
    J = random.standard_normal((count, rank, rank + 3))
    J = np.concatenate([J, random.uniform(-1, 1, (count, rows - rank, rank)) @ J], axis=1)
    M = masses ** random.uniform(0, 1, (count, 1, rank + 3))
    Phi = (J / M) @ J.swapaxes(1, 2)
    return (Phi + Phi.swapaxes(1, 2)) / 2, ((J / M) @ random.standard_normal((count, rank + 3, 1)))[:, :, 0]


def trace_loop_solve(rows):
    """The tape of x with Phi x = b, and its inputs: the lower triangle of Phi, row by row, and b."""
    tape = Tape()
    lower = {(i, j): f"Phi{i}_{j}" for i in range(rows) for j in range(i + 1)}
    names = tuple(f"b{i}" for i in range(rows))
    entries = dict(zip(lower, tape.inputs(*lower.values()), strict=True))
    Phi = [[entries[max(i, j), min(i, j)] for j in range(rows)] for i in range(rows)]
    tape.outputs(solve_semidefinite(Phi, tape.inputs(*names)))
    return tape, (("Phi", tuple(lower.values())), ("b", names))


def lower(Phi):
    """The lower triangle of each matrix, row by row."""
    rows, columns = np.tril_indices(Phi.shape[-1])
    return np.ascontiguousarray(Phi[..., rows, columns])


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("rows", "rank"), SHAPES)
def test_compiled_loops_are_solved_to_round_off(rows, rank):
    Phi, b = loop_matrices(np.random.default_rng(rows), rows, rank, 21)
    tape, arguments = trace_loop_solve(rows)
    x = compile_tape(tape, arguments)([lower(Phi), b])
    error = np.linalg.norm((Phi @ x[:, :, None])[:, :, 0] - b, axis=1)
    assert (error < ROUND_OFF * np.linalg.norm(Phi, 2, axis=(1, 2)) * np.linalg.norm(x, axis=1)).all()
    # the shortest solution, by the least sum of Phi_kk x_k^2
    for entry, matrix, side in zip(x, Phi, b, strict=True):
        scale = np.sqrt(np.diag(matrix))
        near(entry, np.linalg.lstsq(matrix / np.outer(scale, scale), side / scale, rcond=1e-9)[0] / scale)


@pytest.mark.parametrize(("rows", "rank"), [(3, 3), (6, 3)])
@pytest.mark.repeats(1)
def test_scalar_and_batched_are_the_same(rows, rank):
    Phi, b = loop_matrices(np.random.default_rng(3), rows, rank, 21)
    tape, arguments = trace_loop_solve(rows)
    kernels = [compile_tape(tape, arguments, width) for width in WIDTHS]
    alone = np.array([kernels[0]([lower(one), side]) for one, side in zip(Phi, b, strict=True)])
    for kernel in kernels:
        np.testing.assert_array_equal(kernel([lower(Phi), b]), alone)


def test_the_tape_replays_what_floats_give():
    (Phi,), (b,) = loop_matrices(np.random.default_rng(4), 6, 3, 1)
    tape, ((_, entries), (_, sides)) = trace_loop_solve(6)
    given = dict(zip(entries, lower(Phi).tolist(), strict=True)) | dict(zip(sides, b.tolist(), strict=True))
    assert tape.evaluate(given) == solve_semidefinite(Phi.tolist(), b.tolist())


@pytest.mark.parametrize("width", WIDTHS)
def test_where_nothing_can_move_nothing_is_found(width):
    Phi, b = loop_matrices(np.random.default_rng(5), 3, 2, 9)
    Phi[::2] = 0
    tape, arguments = trace_loop_solve(3)
    found = compile_tape(tape, arguments, width)([lower(Phi), b])
    assert (found[::2] == 0).all()
    assert (found[1::2] != 0).all()


def test_one_more_right_hand_side_takes_two_turns_of_the_same_factors():
    """Each turn L D L' and Z, n^2 products each, and delta; Phi x once between them."""
    n, counts = 6, []
    for sides in (1, 2):
        tape = Tape()
        entries = tape.inputs(*(f"Phi{k}" for k in range(n * (n + 1) // 2)))
        Phi = [[entries[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)]
        solve = semidefinite_solver(Phi, tape.inputs(*(f"delta{k}" for k in range(n))))
        found = [solve(tape.inputs(*(f"b{k}_{side}" for k in range(n)))) for side in range(sides)]
        tape.outputs([x for each in found for x in each])
        counts.append(tape.operations())
    assert counts[0].divisions == counts[1].divisions == n
    assert counts[1].multiplications - counts[0].multiplications == 5 * n**2 + 2 * n
