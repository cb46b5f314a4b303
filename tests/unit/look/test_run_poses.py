"""Poses of a run between its samples: they agree with a run that was sampled there."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.look.run_poses import coordinates_at, poses_at


@pytest.fixture(scope="module")
def system():
    m = mt.Model("top", gravity=(0, 0, -9.81))
    body = m.body("top", mass=1.0, com=(0.1, 0, 0.3), inertia=(0.2, 0.3, 0.1))
    m.joint("ball", mt.Spherical(), "ground", body)
    m.joint("arm", mt.Revolute("y"), body.at((0, 0, 1)), m.body("arm", mt.rod(mass=0.5, length=0.5)))
    return m.build()


def test_between_samples_it_follows_the_motion_to_the_fourth_order(system):
    start = system.assemble(velocities={"ball": (1, 2, 3), "arm": 1.0})
    fine = system.simulate(start, t_end=1.0, every=0.0025, rtol=1e-11)
    errors = []
    for every in (0.02, 0.01):
        coarse = system.simulate(start, t_end=1.0, every=every, rtol=1e-11)
        poses = poses_at(coarse, fine.t)
        errors.append(np.abs(poses.positions[:, 2] - fine.position("arm")).max())
        q = coordinates_at(coarse, fine.t)
        assert np.linalg.norm(q[:, :4], axis=1) == pytest.approx(np.ones(len(q)))
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.2)


def test_at_samples_and_beyond_the_end_it_is_the_sample(system):
    run = system.simulate(system.assemble(velocities={"arm": 1.0}), t_end=0.1, every=0.05)
    assert coordinates_at(run, run.t) == pytest.approx(run.q, abs=1e-15)
    assert coordinates_at(run, np.array([9.0]))[0] == pytest.approx(run.q[-1], abs=1e-15)


def test_the_jump_of_an_event_is_a_jump():
    m = mt.Model("latch", gravity=(0, 0, 0))
    m.joint("A", mt.Revolute("z"), "ground", m.body("rod", mt.rod(mass=1.0, length=1.0)))
    m.latch("A", at=0.5)
    system = m.build()
    run = system.simulate(system.assemble(velocities={"A": 1.0}), t_end=1.0, every=0.25)
    times = np.linspace(0, 1, 41)
    assert coordinates_at(run, times)[:, 0] == pytest.approx(np.minimum(times, 0.5), abs=1e-9)
