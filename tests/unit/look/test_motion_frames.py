"""Frames of runs: exact at samples, nearly so between them, and as many as the eye needs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError
from momentree.look.motion_frames import MOST_FRAMES, frame_times, motion_frames, quaternions, rotated


@pytest.fixture(scope="module")
def system():
    return four_bar().build()


@pytest.fixture(scope="module")
def run(system):
    return system.simulate(system.assemble({"A": 1.0}), t_end=1.0, every=0.05)


def test_quaternions_are_those_of_scipy():
    wanted = Rotation.random(200, random_state=1)
    found = quaternions(wanted.as_matrix())
    x, y, z, w = wanted.as_quat().T
    same = np.stack([w, x, y, z], axis=-1)
    assert np.abs(np.abs((found * same).sum(axis=-1)) - 1).max() < 1e-14
    v = np.array([0.3, -2.0, 0.7])
    assert rotated(found, v) == pytest.approx(wanted.apply(v), abs=1e-14)


def test_frames_are_exact_at_samples(run):
    frames = motion_frames(run, t=run.t)
    for number, body in enumerate(run.mechanism.bodies, 1):
        assert frames.positions[:, number] == pytest.approx(run.position(body.name), abs=1e-14)


def test_frames_between_samples_follow_the_motion(system, run):
    """The cubic is far better than a straight line."""
    exact = system.simulate(system.assemble({"A": 1.0}), t_end=1.0, every=0.025)
    between = motion_frames(run, t=exact.t)
    errors = np.abs(between.q - exact.q).max()
    line = np.abs(np.stack([np.interp(exact.t, run.t, q) for q in run.q.T], axis=-1) - exact.q).max()
    assert errors < 1e-4
    assert errors < line / 30


def test_a_tumbling_body_keeps_unit_quaternions():
    m = mt.Model("tumbling", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, inertia=(1.0, 2.0, 3.0))
    m.joint("free", mt.Free(), m.ground, body)
    system = m.build()
    start = system.assemble(velocities={"free": (0, 0, 0, 0.1, 3.0, 0.1)})
    coarse = system.simulate(start, t_end=2.0, every=0.05)
    fine = system.simulate(start, t_end=2.0, every=0.0125)
    frames = motion_frames(coarse, t=fine.t)
    assert np.abs(np.linalg.norm(frames.q[:, 3:], axis=1) - 1).max() < 1e-15
    assert np.abs(frames.q - fine.q).max() < 1e-4


def test_times_of_frames():
    assert frame_times(np.array([0.0, 1.0]), 30) == pytest.approx(np.arange(31) / 30)
    assert frame_times(np.array([0.0, 0.99]), 10)[-2:] == pytest.approx([0.9, 0.99])
    assert len(frame_times(np.array([0.0, 1e6]))) <= MOST_FRAMES + 2
    assert frame_times(np.array([2.0])).tolist() == [2.0]
    with pytest.raises(MomentreeError, match="Choose a positive one"):
        frame_times(np.array([0.0, 1.0]), -1)
