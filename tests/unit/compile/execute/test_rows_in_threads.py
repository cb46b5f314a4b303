"""Rows that stand anywhere in memory, computed by any number of threads, are those of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.execute import threads
from momentree.compile.execute.rows_in_threads import Strided, compute_rows
from momentree.compile.trace.tape import Tape


@pytest.fixture(scope="module")
def kernel():
    tape = Tape()
    x, y, z = tape.inputs("x", "y", "z")
    tape.outputs([x * y + z, x - y])
    return compile_tape(tape, [("point", ["x", "y"]), ("z", ["z"])])


@pytest.mark.parametrize("rows", [1, 7, 1000])
@pytest.mark.parametrize("limit", [1, 4])
def test_rows_of_a_slice(kernel, rows, limit, monkeypatch):
    monkeypatch.setenv("MOMENTREE_THREADS", "4")
    monkeypatch.setattr(threads, "PAYS", 1e-12)
    points = np.random.default_rng(1).uniform(size=(rows, 3, 2))
    out = np.empty((rows, 2))
    compute_rows(kernel, [Strided(points[0, 1], 6), Strided.of(np.array([0.5]))], out, limit)
    x, y = points[:, 1].T
    np.testing.assert_allclose(out, np.stack([x * y + 0.5, x - y], axis=1), rtol=1e-15)
    z = np.arange(rows, dtype=float)[:, None]
    compute_rows(kernel, [Strided(points[0, 1], 6), Strided.of(z)], out, limit)
    np.testing.assert_allclose(out[:, 0], x * y + z[:, 0], rtol=1e-15)


def test_no_rows_are_none(kernel):
    compute_rows(kernel, [Strided(np.zeros((0, 2)), 2), Strided(np.zeros(1), 0)], np.empty((0, 2)))
