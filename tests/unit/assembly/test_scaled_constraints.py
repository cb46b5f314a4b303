"""J in scaled rows and columns: pure numbers, dense and sparse alike."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import MOVING, bennett, bennett_off, four_bars_in_a_row, random_loops
from momentree.assembly import scaled_constraints
from momentree.assembly.configuration import Configuration
from momentree.assembly.scaled_constraints import CUT_OFF, Scales


def rows_of(mechanism, q):
    return Scales(mechanism).scaled(Configuration(mechanism, q))


@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1e5])
def test_strengths_do_not_depend_on_the_unit_of_length(scale):
    q = bennett().build().assemble({"R1": 0.8}).q
    small, usual = (rows_of(m.build().mechanism, q).strengths for m in (bennett_off(scale=scale), bennett()))
    np.testing.assert_allclose(small, usual, rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_sparse_and_dense_agree(seed, monkeypatch):
    random = np.random.default_rng(seed)
    m, q = random_loops(random, list(random.choice(MOVING, 8)), ["Revolute", "Spherical", "Cylindrical"])
    mechanism = m.build().mechanism
    dense = rows_of(mechanism, q)
    monkeypatch.setattr(scaled_constraints, "LARGEST_DENSE", 0)
    sparse = rows_of(mechanism, q)
    assert dense.dense
    assert not sparse.dense
    np.testing.assert_array_equal(dense.J, sparse.J.toarray())
    assert sparse.rank(CUT_OFF) == dense.rank(CUT_OFF)
    closure_errors = dense.J @ random.standard_normal(mechanism.nv)
    np.testing.assert_allclose(
        sparse.shortest(closure_errors, CUT_OFF), dense.shortest(closure_errors, CUT_OFF), rtol=0, atol=1e-8
    )
    np.testing.assert_allclose(
        sparse.damped(closure_errors, 1e-3), dense.damped(closure_errors, 1e-3), rtol=0, atol=1e-10
    )


def test_independent_rows_span_the_others(monkeypatch):
    system = four_bars_in_a_row(12).build()
    q = system.assemble({"G0": 0.4}).q
    for largest in (0, 10**6):
        monkeypatch.setattr(scaled_constraints, "LARGEST_DENSE", largest)
        rows = rows_of(system.mechanism, q)
        kept = rows.independent(CUT_OFF)
        J = rows.J if rows.dense else rows.J.toarray()
        assert len(kept) == np.linalg.matrix_rank(J[kept], tol=1e-6) == np.linalg.matrix_rank(J, tol=1e-6) == 24


def test_what_is_weaker_than_the_cut_off_is_not_followed():
    # Bennett's linkage with an axis off by 1e-6: the third direction has a strength of 3e-7
    system = bennett_off(axis=1e-6).build()
    rows = rows_of(system.mechanism, system.assemble({"R1": 0.8}).q)
    assert 1e-8 < rows.strengths[2] < 1e-6
    assert rows.rank(CUT_OFF) == 2
    weakest = rows.directions[:, 2]
    np.testing.assert_allclose(rows.shortest(weakest, CUT_OFF), 0, rtol=0, atol=1e-9)
