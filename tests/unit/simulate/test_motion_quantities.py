"""Quantities of many motions are those of a run of each motion, to round-off, and of textbooks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.compile.execute import threads
from parametric import linkage, tree


def near(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


@pytest.fixture(scope="module")
def motions():
    system, random = linkage().build(free=["a", "b", "m", "far"]), np.random.default_rng(2)
    parameters = {"a": random.uniform(0.5, 0.6, 5), "b": random.uniform(1.9, 2.1, 5), "m": 10.0 ** np.arange(-2, 3)}
    given, velocities = {"A": random.uniform(0.2, 1, 5)}, {"A": random.uniform(-1, 1, 5)}
    starts = system.assemble_many(given, velocities, {"B": 0.7, "D": 0.5}, parameters=parameters)
    return system.simulate_many(starts, t_end=0.6, every=0.1)


@pytest.mark.parametrize("joint", "ABCD")
def test_joints_are_those_of_a_run_of_each(motions, joint):
    reactions, q, v = motions.reactions(joint), motions[joint], motions.velocity(joint)
    assert reactions.shape == (5, 7, 6)
    for i in range(5):
        run = motions.run(i)
        near(reactions[i], run.reactions(joint))
        near(q[i], run[joint])
        near(v[i], run.velocity(joint))


def test_energies_positions_and_closure_errors_are_those_of_a_run_of_each(motions):
    energy, positions = motions.energy, motions.position(mt.model.model.as_frame("coupler"))
    for i in (0, 4):
        run = motions.run(i)
        near(energy.kinetic[i], run.energy.kinetic)
        near(energy.total[i], run.energy.total)
        near(positions[i], run.position("coupler"))
        near(motions.closure_errors[i], run.closure_error, 1e-14)
        near(motions.closure_velocities[i], run.closure_velocity, 1e-13)
        near(motions.closure_error[i], run.closure_error.max(), 1e-14)
    assert motions.closure_error.max() < 1e-12
    moved = motions.frame_motion("coupler")
    near(moved[..., :3], positions)  # the ground rests
    near(moved[4, :, 3:], motions.run(4).frame_velocity("coupler"))


def test_the_peak_reaction_of_pendulums_is_that_of_the_textbook():
    """Released at rest from the horizontal, the joint carries 3 m g as the bob passes below: L. Meirovitch, ch. 1."""
    m = mt.Model("pendulum")
    m.parameter("mass", 1.0)
    m.parameter("length", 1.0)
    bob = m.body("bob", mass="mass", com=("length", 0, 0), inertia=(1e-9, 1e-9, 1e-9))
    m.joint("A", mt.Revolute("y"), m.ground, bob)
    system = m.build(free=["mass", "length"])
    mass, length, g = np.array([1e-3, 2.0, 1e3]), np.array([1e-2, 1.0, 100.0]), 9.81
    share = 1 / (1 + 1e-9 / (mass * length**2))  # of the energy that the bob's own turning does not take
    below = np.sqrt(2 * g / length * share)[:, None]
    motions = system.simulate_many(
        [[np.pi / 2]], below, parameters={"mass": mass, "length": length}, t_end=1e-3, every=1e-3
    )
    near(motions.reactions("A")[:, 0, 2] / (mass * g), 1 + 2 * share)


@pytest.mark.long
def test_a_tree_with_prescribed_motion_balls_and_screws():
    system = tree().build(free=["l", "m", "w"])
    q, random = system.start().q, np.random.default_rng(1)
    v = random.uniform(-1, 1, (3, system.nv))
    motions = system.simulate_many(q, v, parameters={"l": [0.5, 0.7, 0.9], "m": 1.5}, t_end=0.3, every=0.05, t=0.2)
    run = motions.run(-1)
    assert run.parameters == {"l": 0.9, "m": 1.5, "w": 2.0}
    for joint in system.mechanism.by_joint:
        near(motions.reactions(joint)[2], run.reactions(joint))
        near(motions[joint][2], run[joint])
        near(motions.velocity(joint)[2], run.velocity(joint))


def test_numpy_computes_the_same_where_code_would_be_long(motions, monkeypatch):
    expected = motions.reactions("C"), motions.energy.total, motions["C"]
    monkeypatch.setattr("momentree.simulate.motion_quantities.compiled_once", lambda *what: None)
    near(motions.reactions("C"), expected[0])
    near(motions.energy.total, expected[1])
    near(motions["C"], expected[2])


@pytest.mark.parametrize("limit", [1, 3])
def test_bits_depend_neither_on_neighbours_nor_on_threads(motions, limit, monkeypatch):
    monkeypatch.setattr(threads, "available", lambda _: limit)
    monkeypatch.setattr(threads, "FIRST", 1 if limit > 1 else 256)
    monkeypatch.setattr(threads, "PAYS", 1e-12)
    expected = motions.reactions("C")
    for order in ([3, 0, 0, 4, 1, 2, 3, 3, 3], [2]):  # more motions than samples, and fewer
        names = ("q", "v", "failed", "parameters")
        other = dataclasses.replace(motions, **{name: getattr(motions, name)[order] for name in names})
        assert np.array_equal(other.reactions("C"), expected[order])


def test_none_are_none():
    system = four_bar().build()
    motions = system.simulate_many(np.zeros((0, 3)), np.zeros((0, 3)), t_end=1.0, every=0.5)
    assert motions.reactions("A").shape == (0, 3, 6)
    assert motions.closure_errors.shape == (0, 3)
    assert motions.closure_error.shape == (0,)
    with pytest.raises(mt.MomentreeError, match="there are 0 motions; there is no motion 0"):
        motions.run(0)


def test_what_there_is_not_is_named(motions):
    for wrong in (lambda: motions["E"], lambda: motions.velocity("E"), lambda: motions.reactions("E")):
        with pytest.raises(mt.MomentreeError, match="there is no joint 'E'"):
            wrong()
    with pytest.raises(mt.MomentreeError, match="there is no contact 'floor'"):
        motions.contact_force("floor")
    with pytest.raises(mt.ModelError, match="there is no body 'piston'"):
        motions.position("piston")
