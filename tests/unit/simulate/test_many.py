"""Many motions at once are the motions one by one."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, random_configuration, random_tree
from momentree.assembly.configuration import Configuration
from momentree.assembly.state import State
from parametric import FOUR_BAR, linkage

WAYS = [(formulation, integrator) for formulation in ("hamiltonian", "lagrange") for integrator in ("dop853", "dopri5")]
every_way = pytest.mark.parametrize(("formulation", "integrator"), WAYS)
by_both = pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])


def tree(count):
    """A tree with a quaternion, a prescribed joint and a law of time, and so many starts."""
    random = np.random.default_rng(11)
    m = mt.Model("tree")
    carrier = m.body("carrier", mt.box(mass=1.0, size=(0.3, 0.2, 0.1)))
    m.joint("driver", mt.Revolute("z", motion="sin(t)"), m.ground, carrier)
    m = random_tree(random, ["Spherical", "Revolute", "Universal"], m)
    m.torque("j2", "cos(t) - j2'")
    system = m.build()
    q = np.stack([random_configuration(random, system) for _ in range(count)])
    return system, q, random.standard_normal((count, system.nv))


def pendulum(law=None, free=()):
    m = mt.Model("pendulum")
    m.parameter("length", 1.0)
    m.parameter("drive", 0.0)
    bob = m.body("bob", mass=1.0, com=(0, 0, "-length"))
    m.joint("A", mt.Revolute("y"), m.ground, bob)
    m.torque("A", law or "drive*cos(t)")
    return m.build(free=free)


def one_by_one(system, q, v, t_end, t=0.0, **settings):
    runs = [system.simulate(State(system.mechanism, *start, t), t_end, **settings) for start in zip(q, v, strict=True)]
    return np.stack([run.q for run in runs]), np.stack([run.v for run in runs])


# --- the same motions ---


@every_way
@pytest.mark.repeats(2)
def test_many_motions_are_those_computed_one_by_one(formulation, integrator):
    # eleven, which fill no whole number of vectors; lanes share their steps, so to the tolerance only
    system, q, v = tree(11)
    settings = {"formulation": formulation, "integrator": integrator, "every": 0.1, "rtol": 1e-11}
    found = system.simulate_many(q, v, 1.23, **settings, t=0.5)
    assert len(found) == 11
    assert found.t.tolist() == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2000000000000002, 1.23]
    expected = one_by_one(system, q, v, 1.23, 0.5, **settings)
    np.testing.assert_allclose(found.q, expected[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.v, expected[1], rtol=0, atol=1e-7)
    assert (found.failed == math.inf).all()


@pytest.mark.repeats(1)
@by_both
@pytest.mark.parametrize("t_end", [0.5, 0.53, 0.50000000001])
def test_with_steps_of_a_fixed_length_they_are_the_same_to_round_off(formulation, t_end):
    system, q, v = tree(11)
    settings = {"formulation": formulation, "integrator": "rk4", "step": 0.01, "every": 0.1}
    found, expected = system.simulate_many(q, v, t_end, **settings), one_by_one(system, q, v, t_end, **settings)
    np.testing.assert_allclose(found.q, expected[0], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found.v, expected[1], rtol=1e-13, atol=1e-13)


@by_both
@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_threads_change_nothing(formulation, integrator):
    system, q, v = tree(19)
    settings = {"formulation": formulation, "integrator": integrator, "every": 0.1}
    settings |= {"step": 0.01} if integrator == "rk4" else {}
    alone, together = (system.simulate_many(q, v, 1.0, threads=threads, **settings) for threads in (1, 4))
    assert np.array_equal(alone.q, together.q)
    assert np.array_equal(alone.v, together.v)


def test_one_start_is_one_motion_and_none_is_none():
    system, q, v = tree(1)
    found = system.simulate_many(q, v, 1.0, every=0.5, rtol=1e-10)
    expected = one_by_one(system, q, v, 1.0, every=0.5, rtol=1e-10)
    np.testing.assert_allclose(found.q, expected[0], rtol=0, atol=1e-9)
    nothing = system.simulate_many(np.zeros((0, system.nq)), np.zeros((0, system.nv)), 1.0, every=0.5)
    assert nothing.q.shape == (0, 3, system.nq)
    assert nothing.v.shape == (0, 3, system.nv)
    assert nothing.failed.shape == (0,)


def test_one_start_may_stand_for_all():
    system, q, v = tree(5)
    found = system.simulate_many(q[0], v, 0.5, every=0.5)
    assert np.array_equal(found.q, system.simulate_many(np.repeat(q[:1], 5, axis=0), v, 0.5, every=0.5).q)


def test_where_nothing_can_move_time_passes():
    m = mt.Model("prescribed")
    m.joint("A", mt.Revolute("y", motion="sin(t)"), m.ground, m.body("arm", mt.rod(mass=1.0, length=1.0)))
    found = m.build().simulate_many(np.zeros((3, 0)), np.zeros((3, 0)), 1.0, every=0.5)
    assert found.q.shape == found.v.shape == (3, 3, 0)


# --- parameters ---


@by_both
@pytest.mark.repeats(1)
def test_each_motion_has_parameters_of_its_own(formulation):
    lengths, drives = np.linspace(0.5, 2, 10), np.linspace(-1, 1, 10)
    settings = {"formulation": formulation, "every": 0.5, "rtol": 1e-11}
    system = pendulum(free=["length", "drive"])
    found = system.simulate_many([0.4], [0.1], 2.0, parameters={"length": lengths, "drive": drives}, **settings)
    for i, (length, drive) in enumerate(zip(lengths, drives, strict=True)):
        m = mt.Model("pendulum")
        bob = m.body("bob", mass=1.0, com=(0, 0, -length))
        m.joint("A", mt.Revolute("y"), m.ground, bob)
        m.torque("A", f"{drive}*cos(t)")
        alone = m.build()
        run = alone.simulate(alone.assemble({"A": 0.4}, velocities={"A": 0.1}), 2.0, **settings)
        np.testing.assert_allclose(found.q[i], run.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.v[i], run.v, rtol=0, atol=1e-9)


def test_a_parameter_that_is_not_given_has_the_value_of_the_model():
    system, q, v = pendulum(free=["length", "drive"]), [[0.4], [0.5]], [0.0]
    given = {"length": [1.0, 1.0], "drive": 0.0}
    found, expected = (system.simulate_many(q, v, 1.0, every=1.0, parameters=each) for each in (None, given))
    assert np.array_equal(found.q, expected.q)


# --- failures ---


@pytest.mark.parametrize(
    "way", [("hamiltonian", "dop853", {}), ("lagrange", "dopri5", {}), ("lagrange", "rk4", {"step": 0.01})]
)
def test_a_motion_that_fails_leaves_the_others_alone(way):
    # the law has no value beyond 1 rad, where only those that are fast come
    formulation, integrator, step = way
    system = pendulum("1e-30*sqrt(1 - A)")
    plain = pendulum()
    q, v = np.zeros((10, 1)), np.full((10, 1), 1.0)
    v[3], v[7] = 8.0, 5.0
    settings = {"formulation": formulation, "integrator": integrator, "every": 0.05, "rtol": 1e-10, **step}
    found = system.simulate_many(q, v, 1.0, **settings)
    sound = one_by_one(plain, q, v, 1.0, **settings)
    for i, speed in enumerate(v[:, 0]):
        if speed == 1.0:
            assert found.failed[i] == math.inf
            np.testing.assert_allclose(found.q[i], sound[0][i], rtol=0, atol=1e-8)
            np.testing.assert_allclose(found.v[i], sound[1][i], rtol=0, atol=1e-8)
            continue
        # it is right until it fails, and there is nothing after
        arrives = np.interp(1.0, sound[0][i, :6, 0], found.t[:6])
        assert found.failed[i] == pytest.approx(arrives, abs=0.05)
        before = found.t <= found.failed[i]
        assert 0 < before.sum() < len(found.t)
        np.testing.assert_allclose(found.q[i, before], sound[0][i, before], rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.v[i, before], sound[1][i, before], rtol=0, atol=1e-8)
        assert np.isnan(found.q[i, ~before]).all()
        assert np.isnan(found.v[i, ~before]).all()


def test_parameters_without_a_motion_fail_at_the_start():
    system = pendulum("sqrt(drive + A)", free=["drive"])
    found = system.simulate_many([0.1], [0.0], 1.0, parameters={"drive": [1.0, -1.0, 2.0]}, every=0.5)
    assert found.failed.tolist() == [math.inf, 0.0, math.inf]
    assert np.isnan(found.q[1, 1:]).all()
    assert np.isfinite(found.q[[0, 2]]).all()


def test_parameters_that_a_law_cannot_be_computed_with_are_refused():
    system = pendulum("sqrt(drive)", free=["drive"])
    with pytest.raises(
        mt.ModelError, match=r"row 1 .*drive = -1: torque on 'A': law: 'sqrt\(drive\)' cannot be computed"
    ):
        system.simulate_many([0.1], [0.0], 1.0, parameters={"drive": [1.0, -1.0, 2.0]}, every=0.5)


# --- what is wrong ---


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"every": None}, "many motions are sampled at the same times. Give every="),
        ({"q": [[0.0, 1.0]]}, "q has the shape 1x2; its last axis must have length 1"),
        ({"v": 0.0}, "v has the shape a single number; its last axis must have length 1"),
        ({"q": [[0.0]] * 3, "v": [[0.0]] * 2}, r"do not fit together: q \(3, 1\), v \(2, 1\)"),
        ({"q": [[[0.0]]]}, "do not fit together"),
        ({"q": [[0.0], [math.nan]]}, "q holds NaN or infinity, first in row 1"),
        ({"v": [[0.0], [math.inf]]}, "v holds NaN or infinity, first in row 1"),
        ({"t": math.nan}, "t = nan; give a finite time"),
        ({"t": 2.0}, "t_end is 1.0; give a time after the start, 2 s"),
        ({"parameters": {"lenght": 1.0}}, "'lenght' is not a free parameter of this system.*Did you mean 'length'"),
        ({"parameters": {"length": [1.0, 2.0, 3.0]}, "q": [[0.0], [1.0]]}, r"do not fit together: q \(2, 1\)"),
        ({"integrator": "rk5"}, "integrator 'rk5' is not known"),
    ],
)
def test_what_is_wrong_is_named(change, told):
    given = {"q": [[0.0]], "v": [[0.0]], "t_end": 1.0, "every": 0.5, **change}
    with pytest.raises(mt.MomentreeError, match=told):
        pendulum(free=["length"]).simulate_many(**given)


def test_quaternions_limits_and_loops_are_looked_at_as_for_one_motion():
    system, q, v = tree(3)
    q[1] *= 0.5
    with pytest.raises(mt.MomentreeError, match="j1"):
        system.simulate_many(q, v, 1.0, every=0.5)
    m = mt.Model("limited")
    m.joint("A", mt.Revolute("y", limits=(-1, 1)), m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)))
    outside = (
        r"joint 'A': angle = 2 is outside its limits \(-1, 1\) \(motion 1, and 1 other motions\)\. Stops push back"
    )
    with pytest.warns(mt.RunWarning, match=outside):
        found = m.build().simulate_many([[0.0], [2.0], [-1.5]], [[0.0]], 1.0, every=0.5)
    with pytest.warns(mt.RunWarning, match="angle = 2 is outside its limits"):
        alone = m.build().simulate(m.build().assemble({"A": 2.0}), 1.0, every=0.5)
    np.testing.assert_allclose(found.q[1], alone.q, rtol=0, atol=1e-6)
    for near in ([[1.0]], [[-1.0 - 1e-9]]):  # within round-off of the range: no warning
        assert m.build().simulate_many(near, [[0.0]], 0.1, every=0.1).failed.tolist() == [math.inf]
    m.parameter("far", 1.0)
    m.joints[0] = dataclasses.replace(m.joints[0], type=mt.Revolute("y", limits=("-far", "far")))
    limited = m.build(free=["far"])
    assert limited.simulate_many([[0.0], [0.5]], [[0.0]], 0.1, every=0.1).failed.tolist() == [math.inf] * 2
    with pytest.warns(mt.RunWarning, match=r"joint 'A': angle = 2 is outside its limits \(-1, 1\) \(motion 1\)"):
        limited.simulate_many([[0.0], [2.0]], [[0.0]], 1.0, every=0.5)
    loop = four_bar().build()
    start = loop.assemble({"A": 1.0})
    with pytest.raises(
        mt.MomentreeError, match=r"the start does not close 'C: translation along .': closure error 0\..*assemble"
    ):
        loop.simulate_many([start.q, start.q + 0.1], [start.v], 1.0, every=0.5)


def test_loops_of_many_motions_stay_closed_and_move_as_those_of_one():
    system = four_bar().build()
    starts = [system.assemble({"A": 1.0 + 0.1 * i}, velocities={"A": 0.5}) for i in range(3)]
    found = system.simulate_many([s.q for s in starts], [s.v for s in starts], 2.0, every=0.25)
    for start, q, v in zip(starts, found.q, found.v, strict=True):
        one = system.simulate(start, 2.0, every=0.25)
        np.testing.assert_allclose(q, one.q, rtol=0, atol=1e-6)
        assert (
            max(
                np.abs(Configuration(system.mechanism, *each).closure_errors()).max() for each in zip(q, v, strict=True)
            )
            < 1e-13
        )


# --- starts and parameters ---


def test_each_start_must_close_with_its_own_parameters():
    system = linkage().build(free=["a", "b", "far"])
    values = np.array([0.9, 1.0, 1.1])
    mine = system.assemble({"A": 1.0}, guess={"B": 0.7, "D": 0.5})
    # starts of other lengths are not moved to where they would close: they are refused
    with pytest.raises(mt.MomentreeError, match=r"motion 0: .*the start does not close 'C: .*': closure error 0\.0"):
        system.simulate_many(mine.q, mine.v, 1.0, parameters={"a": values}, every=0.5)
    with pytest.raises(mt.MomentreeError, match=r"motion 1: .*the start does not close 'C: .*': closure error 0\.0"):
        system.simulate_many(mine.q, mine.v, 1.0, parameters={"a": [1.0, 1.1, 1.2]}, every=0.5)
    # what was closed with them is taken, and moves from there
    starts = system.assemble_many({"A": 1.0}, {"A": 0.5}, {"B": 0.7, "D": 0.5}, parameters={"a": values})
    found = system.simulate_many(starts.q, starts.v, 0.5, parameters={"a": values}, every=0.1)
    np.testing.assert_allclose(found.q[:, 0], starts.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.q[:, 0, 0], 1.0, rtol=0, atol=1e-14)
    for i, a in enumerate(values):
        run = system.simulate(starts[i], 0.5, every=0.1, parameters={"a": a})
        np.testing.assert_allclose(found.q[i], run.q, rtol=0, atol=1e-7)


def test_states_that_were_given_other_values_than_a_view_are_refused_together_as_one_by_one():
    m = mt.Model("pendulum")
    m.parameter("k", 1.0)
    m.joint("A", mt.Revolute("y", spring="k"), m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.5)))
    system = m.build(free=["k"])
    view, varied = system.with_parameters(k=2.0), {"k": [3.0, 4.0]}
    states, short = system.assemble_many({"A": [0.1, 0.2]}, parameters=varied), {"t_end": 0.1, "every": 0.1}
    for starts in (states, list(states)):
        with pytest.raises(mt.MomentreeError, match=r"made with k = 3, not 2\. Give parameters="):
            view.simulate_many(starts, **short)
        assert view.simulate_many(starts, **short, parameters=varied).parameters.ravel().tolist() == [3.0, 4.0]
    own = view.assemble_many({"A": [0.1, 0.2]}, parameters=varied)  # of the view itself
    assert view.simulate_many(own, **short).parameters.ravel().tolist() == [3.0, 4.0]


def test_states_stand_for_starts_with_their_parameters_and_their_time():
    system = linkage().build(free=["a", "b", "far"])
    values = np.array([0.9, 1.0, 1.1])
    batch = system.assemble_many({"A": 0.7}, {"A": 0.5}, {"B": 0.7, "D": 0.5}, t=0.3, parameters={"a": values})
    states = [system.assemble({"A": 0.7}, {"A": 0.5}, {"B": 0.7, "D": 0.5}, t=0.3, parameters={"a": a}) for a in values]
    settings = {"t_end": 0.6, "every": 0.1}
    expected = system.simulate_many(batch.q, batch.v, parameters={"a": values}, t=0.3, **settings)
    for starts in (batch, states):
        found = system.simulate_many(starts, **settings)
        assert found.t[0] == 0.3
        np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-12)
    with pytest.raises(mt.MomentreeError, match=r"the states are of different times, 0 to 0\.3 s"):
        system.simulate_many([states[0], system.assemble({"A": 0.7}, guess={"B": 0.7, "D": 0.5})], **settings)
    with pytest.raises(mt.MomentreeError, match="state 1 belongs to another system"):
        system.simulate_many([states[0], pendulum().assemble({"A": 1.0})], **settings)
    with pytest.raises(mt.MomentreeError, match="give v, m x nv, too"):
        system.simulate_many(batch.q, **settings)


def test_limits_are_those_of_each_motion():
    system = linkage().build(free=["far"])
    start = system.assemble({"A": 1.5}, guess={"B": 0.7, "D": 0.5})
    far = np.array([2.0, 1.8, 1.2])
    with pytest.warns(
        mt.RunWarning, match=r"joint 'A': angle = 1\.5 is outside its limits \(-1\.2, 1\.2\) \(motion 2\)"
    ):
        system.simulate_many(start.q, start.v, 0.1, parameters={"far": far}, every=0.1)
    found = system.simulate_many(start.q, start.v, 0.1, parameters={"far": far[:2]}, every=0.1)
    assert (found.failed == math.inf).all()


def test_the_model_says_when_to_end():
    system = linkage().build(free=["w"])
    start = system.start()
    assert system.simulate_many([start], every=0.5).t[-1] == FOUR_BAR["w"]
    with pytest.raises(mt.MomentreeError, match="the model has no end time"):
        pendulum().simulate_many([[0.0]], [[0.0]], every=0.5)
