"""One of many motions as a run: the same samples, and the energy account of the motion simulated alone."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from parametric import linkage


@pytest.fixture(scope="module")
def motions():
    system = linkage().build(free=["a", "m"])
    starts = system.assemble_many({"A": [0.3, 0.5]}, {"A": 0.4}, {"B": 0.7, "D": 0.5}, parameters={"a": [0.55, 0.6]})
    return system.simulate_many(starts, t_end=0.4, every=0.1)


def test_it_has_the_samples_and_parameters_of_the_motion(motions):
    run = motions.run(1)
    assert np.array_equal(run.q, motions.q[1])
    assert np.array_equal(run.v, motions.v[1])
    assert run.parameters == {"a": 0.6, "m": 1.0}
    assert run.end.reason == "arrived"
    assert not run.warnings
    assert "0 to 0.4 s, arrived" in str(run)


def test_its_work_is_that_of_the_motion_simulated_alone(motions, tmp_path):
    run, start = motions.run(0), motions.run(0).state(0)
    alone = motions.system.simulate(start, t_end=0.4, every=0.1, parameters=start.parameters)
    assert run.energy.work.keys() == alone.energy.work.keys()
    assert run.energy.error < 1e-9
    for name, work in alone.energy.work.items():
        np.testing.assert_allclose(run.energy.work[name], work, atol=1e-10)
    run.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    assert np.array_equal(again.q, run.q)
    assert again.energy.work.keys() == alone.energy.work.keys()


def test_where_nothing_does_work_there_is_nothing_to_account_for():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1)))
    run = m.build().simulate_many([[0.3]], [[0.0]], t_end=1.0, every=0.1).run(0)
    assert run._accounted is run
    assert run.energy.error < 1e-9
    assert "energy" in str(run)


def test_of_a_motion_that_failed_it_has_what_was_computed():
    m = mt.Model("runaway")
    body = m.body("b", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("S", mt.Prismatic("x"), m.ground, body)
    m.torque("S", "S^3")
    motions = m.build().simulate_many([[1.0], [0.0]], [[1.0], [0.0]], t_end=3.0, every=0.1)
    assert motions.failed[0] < 3
    run = motions.run(0)
    assert run.end.reason == "failed"
    assert run.t[-1] <= motions.failed[0]
    assert np.isfinite(run.q).all()
    assert "failed" in run.warnings[0]
    assert motions.run(1).end.reason == "arrived"
    assert np.isnan(motions.reactions("S")[0, -1]).all()
    assert np.isfinite(motions.reactions("S")[1]).all()


@pytest.mark.parametrize("i", [2, -3, 0.5, True])
def test_a_motion_that_there_is_not_is_named(motions, i):
    with pytest.raises(mt.MomentreeError, match=f"there are 2 motions; there is no motion {i}"):
        motions.run(i)
