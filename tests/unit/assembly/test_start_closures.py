"""Starts that are surely closed, and those within limits, are told from all others, in machine code as by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from constrained import two_wheels
from momentree.assembly import start_closures
from momentree.assembly.closure_check import worst_violation
from momentree.assembly.samples import Samples
from momentree.assembly.start_closures import doubtful_starts
from parametric import linkage


@pytest.fixture(scope="module")
def starts():
    """Forty linkages, every other one opened by a little or a lot, in position or in velocity."""
    system, random = linkage().build(free=["a", "b", "far"]), np.random.default_rng(6)
    parameters = {"a": random.uniform(0.5, 0.6, 40), "b": random.uniform(1.9, 2.1, 40)}
    states = system.assemble_many({"A": random.uniform(0, 1, 40)}, {"A": 2.0}, {"B": 0.7}, parameters=parameters)
    rows = np.column_stack([states.parameters[name] for name in system.mechanism.free])
    q, v = states.q.copy(), states.v.copy()
    q[::4, 1] += 10.0 ** random.uniform(-12, -1, 10)
    v[2::4, 2] += 10.0 ** random.uniform(-12, -1, 10)
    return system, q, v, rows


def test_machine_code_and_numpy_doubt_the_same(starts, monkeypatch):
    system, q, v, rows = starts
    starts = system, q.copy(), v, rows
    starts[1][7, 0] = 3.5  # beyond the limit of A, which is a parameter
    found = doubtful_starts(*starts, 0.0)
    assert not np.delete(found.open[1::2], 3).any()
    assert 4 < found.open.sum() < 20
    assert np.flatnonzero(found.outside).tolist() == [7]
    monkeypatch.setattr(start_closures, "compiled_once", lambda *what: None)
    assert np.array_equal(doubtful_starts(*starts, 0.0), found)


def test_what_is_not_doubtful_has_no_violation(starts):
    system, q, v, rows = starts
    found = doubtful_starts(*starts, 0.0).open
    for k in range(0, 40, 2):
        own = system.with_parameters(dict(zip(system.mechanism.free, rows[k].tolist(), strict=True)))._numeric
        violation = worst_violation(own, Samples(own, q[k : k + 1], v[k : k + 1], np.zeros(1)))
        assert violation is None or found[k]


def test_limits_and_numbers_that_are_not_finite(starts):
    system, q, v, rows = (starts[0], *(each[1::2].copy() for each in starts[1:]))
    rows[3, 2], v[5, 0] = q[3, 0] / 2, np.nan  # beyond its limit, which is a parameter
    found = doubtful_starts(system, q, v, rows, 0.0)
    assert (np.flatnonzero(found.open).tolist(), np.flatnonzero(found.outside).tolist()) == ([5], [3])
    rows[3, 2] = q[3, 0] * (1 - 1e-10)  # within round-off of the room
    assert not doubtful_starts(system, q, v, rows, 0.0).outside.any()


def test_trees_without_limits_need_no_look():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1)))
    assert not doubtful_starts(m.build(), np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 0)), 0.0).open.any()


def test_expression_constraints_count_too():
    system = two_wheels(("twice", "A = 2*B")).build()
    q, v = np.tile([0.6, 0.3], (4, 1)), np.tile([1.2, 0.6], (4, 1))
    q[1, 0] += 1e-6
    v[2, 0] += 1e-6
    assert doubtful_starts(system, q, v, np.zeros((4, 0)), 0.0).open.tolist() == [False, True, True, False]
