"""Whole motions in machine code: what one comes to does not depend on its neighbours, to the last bit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.compile.emit import jacobian_code
from momentree.integrate.methods import METHODS
from momentree.integrate.motions import stall_code
from momentree.integrate.motions.job import End
from momentree.integrate.records import Status
from momentree.simulate.motions_batch import Batch
from momentree.simulate.settings import settings_of

WIDTHS = (1, 2, 4, 8)
OF_EACH_KIND = ("dop853", "rk4", "radau9", "rodas5p", "verlet4")
FAILING = (2, 5)  # motions in which the law has no value any more


@pytest.fixture(autouse=True)
def _quick_code(monkeypatch):
    monkeypatch.setenv("MOMENTREE_OPTIMIZE", "0")  # no level changes a bit


def loop_with_a_ball(code=None):
    """A four-bar linkage with a quaternion, a contact, a free parameter and a law that ends beyond 1.6 rad."""
    m = four_bar()
    m.parameter("k", 1.0)
    coupler = next(body for body in m.bodies if body.name == "coupler")
    bob = m.body("bob", mt.box(mass=1.0, size=(0.3, 0.4, 0.5)))
    m.joint("S", mt.Spherical(), coupler.at((1.0, 0, 0)), bob.at((0, 0, 0.2)))
    m.contact(bob.at((0, 0, -0.2)), m.ground.at((0, 0, -0.2)), stiffness=100.0, damping=0.5)
    m.torque("A", "-k*A + 1e-30*sqrt(1.6 - A)")
    return m.build(free=["k"], code=code)


def starts(count, code=None):
    """Coordinates and velocities in rows, and parameters; some motions fail."""
    system = loop_with_a_ball(code)
    speeds = [9.0 if i in FAILING else -0.2 * i for i in range(count)]
    turned = [np.array([0.1 * i, 0.2, 0.0, 1.0]) / np.sqrt(0.01 * i * i + 1.04) for i in range(count)]
    states = [
        system.assemble({"A": 0.8 + 0.02 * i, "S": turned[i]}, velocities={"A": speed, "S": (0.1 * i, 1.0, 0.5)})
        for i, speed in enumerate(speeds)
    ]
    rows = np.array([[*state.q, *state.v] for state in states])
    return system, rows, np.linspace(0.5, 2.0, count)[:, None]


def settings(name, formulation="hamiltonian", **more):
    step = {} if METHODS[name].adaptive else {"step": 0.0025}
    return settings_of(t_end=0.23, every=0.05, integrator=name, formulation=formulation, **step, **more)


def computed(batch, rows, parameters, order=None, **how):
    """Samples and ends, in the order in which motions are given."""
    order = np.arange(len(rows)) if order is None else order
    job = batch.job(rows[order], parameters[order])
    batch.compute(job, **how)
    back = np.argsort(order)
    return job.values[:, :, back], job.ends[:, back]


def same(a, b):
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


FORMULATIONS = [(name, "hamiltonian") for name in METHODS] + [("dop853", "lagrange"), ("radau", "lagrange")]


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("name", "formulation"), FORMULATIONS)
def test_the_bits_of_a_motion_do_not_depend_on_its_neighbours(name, formulation):
    system, rows, parameters = starts(9)
    batch = Batch(system, settings(name, formulation), 0.0)
    one = computed(batch, rows, parameters, threads=1, width=1, vectors=False)
    failed = set(np.flatnonzero(one[1][End.STATUS] != Status.ARRIVED))
    assert failed == set(FAILING) or (METHODS[name].order == 1 and failed > set(FAILING))
    for width in WIDTHS if METHODS[name].most_lanes is None else (1,):
        order = np.random.default_rng(width).permutation(len(rows))
        for chunk, threads in ((1, 1), (3, 2), (100, 1)):
            assert same(computed(batch, rows, parameters, order, width=width, chunk=chunk, threads=threads), one)
    alone = [computed(batch, rows[i : i + 1], parameters[i : i + 1]) for i in (0, FAILING[0], 8)]
    for i, single in zip((0, FAILING[0], 8), alone, strict=True):
        assert same(single, (one[0][:, :, i : i + 1], one[1][:, i : i + 1]))


@pytest.mark.long
@pytest.mark.parametrize(("name", "formulation"), [("dopri5", "lagrange"), ("verlet", "hamiltonian")])
def test_rolled_code_has_the_same_bits_in_every_lane(name, formulation):
    system, rows, parameters = starts(6, "rolled")
    batch = Batch(system, settings(name, formulation), 0.0)
    one = computed(batch, rows, parameters, width=1, vectors=False)
    order = np.array([3, 5, 1, 0, 4, 2])
    assert same(computed(batch, rows, parameters, order, width=4), one)
    straight = computed(Batch(loop_with_a_ball(), settings(name, formulation), 0.0), rows, parameters)
    sound = np.setdiff1d(np.arange(6), FAILING)
    np.testing.assert_allclose(one[0][:, :, sound], straight[0][:, :, sound], rtol=0, atol=1e-6)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.most_lanes == 1])
def test_jacobians_by_differences_in_vectors_have_the_same_bits(name, monkeypatch):
    monkeypatch.setattr(jacobian_code, "LONGEST", 0)  # no code of derivatives
    system, rows, parameters = starts(3)
    batch = Batch(system, settings(name), 0.0)
    one, other = (computed(batch, rows, parameters, vectors=vectors) for vectors in (False, True))
    assert "columns_" in batch.program(1, vectors=True).text
    assert "columns_" not in batch.program(1).text
    assert same(one, other)


def test_samples_close_their_loops_each_by_as_many_steps_as_it_needs():
    # by a coarse tolerance, so that states within steps are open, by more in some motions than in others
    system, rows, parameters = starts(9)
    coarse = settings_of(t_end=0.3, every=0.002, integrator="dopri5", rtol=1e-2)
    batch = Batch(system, coarse, 0.0)
    one = computed(batch, rows, parameters, width=1)
    assert same(computed(batch, rows, parameters, width=8), one)
    assert 0 < one[1][End.OPENED].max() < 0.1
    motions = system.simulate_many(
        rows[:, : system.nq], rows[:, system.nq :], 0.3, every=0.002, integrator="dopri5", rtol=1e-2,
        parameters={"k": parameters[:, 0]},
    )  # fmt: skip
    assert motions.closure_error.max() < 1e-12


@pytest.mark.parametrize("name", ["dop853", "rk4", "verlet4", "radau"])
@pytest.mark.repeats(1)
def test_motions_that_fail_leave_the_others_as_they_are(name):
    system, rows, parameters = starts(9)
    batch = Batch(system, settings(name), 0.0)
    values, ends = computed(batch, rows, parameters, threads=2)
    sound = np.setdiff1d(np.arange(9), FAILING)
    assert same(computed(batch, rows[sound], parameters[sound]), (values[:, :, sound], ends[:, sound]))
    for i in FAILING:
        assert ends[End.STATUS, i] in (Status.NOT_FINITE, Status.TOO_SHORT)
        reached = batch.times <= ends[End.T, i]
        assert 0 < reached.sum() < len(batch.times)
        assert np.isfinite(values[reached, :, i]).all()
        assert np.isnan(values[~reached, :, i]).all()
        if not METHODS[name].adaptive:
            assert ends[End.T, i] == pytest.approx(0.0025 * ends[End.ACCEPTED, i], rel=1e-12)
    motions = system.simulate_many(
        rows[:, : system.nq], rows[:, system.nq :], 0.23, parameters={"k": parameters[:, 0]}, **way(name)
    )
    assert np.array_equal(motions.q, np.moveaxis(values[:, : system.nq], 2, 0), equal_nan=True)
    assert [i for i, reason in enumerate(motions.reasons) if reason] == list(FAILING)
    assert all(motions.reasons[i].startswith(f"at t = {motions.failed[i]:.9g} s ") for i in FAILING)
    assert motions.steps[0] > 0
    assert (motions.evaluations >= motions.steps).all()


def way(name):
    return {"integrator": name, "every": 0.05} | ({} if METHODS[name].adaptive else {"step": 0.0025})


def test_each_motion_counts_the_evaluations_that_it_needs_alone():
    # as many as advance_1 counts, where samples are as dense as steps: a step of dop853 takes 12, and 3 for samples
    system, rows, parameters = starts(4)
    motions = system.simulate_many(
        rows[:, : system.nq], rows[:, system.nq :], 0.2, every=1e-3, rtol=1e-6, parameters={"k": parameters[:, 0]}
    )
    tried = motions.steps + motions.rejected
    found = motions.evaluations
    # one more at the beginning of each accepted step: quaternions and loops move the state after it
    assert (found[[0, 1, 3]] <= (12 * tried + motions.steps + 3 * motions.steps)[[0, 1, 3]]).all()
    assert (found[[0, 1, 3]] >= (12 * tried + motions.steps)[[0, 1, 3]]).all()


def test_a_motion_that_takes_more_tries_than_allowed_is_given_up_alone():
    system, rows, parameters = starts(4)
    batch = Batch(system, settings("dop853"), 0.0)
    free = batch.job(rows, parameters)
    batch.compute(free)
    tries = free.ends[End.ACCEPTED] + free.ends[End.REJECTED]
    most = np.sort(tries)[1]
    few, long = batch.job(rows, parameters, most + 1), tries > most
    batch.compute(few)
    assert 0 < long.sum() < 4
    assert (few.ends[End.STATUS, long] == Status.STALLED).all()
    assert (few.ends[End.ACCEPTED, long] + few.ends[End.REJECTED, long] == most + 1).all()
    assert np.array_equal(few.values[:, :, ~long], free.values[:, :, ~long])


def test_dry_friction_stalls_one_motion_and_not_the_other(monkeypatch):
    # smaller windows, so that it is quick: at this pace more than 1e4 tries remain
    monkeypatch.setattr(stall_code, "WINDOWS", ((200, 1e4, 0.1), (2000, 1e4, 0.0)))
    monkeypatch.setattr(stall_code, "MEMORY", dict(zip((200, 2000), stall_code.MEMORY.values(), strict=True)))
    m = mt.Model("block", gravity=(0, 0, 0))
    body = m.body("block", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x"), m.ground, body)
    m.torque("x", "-2*sign(x')")
    motions = m.build().simulate_many([[0.0], [0.0]], [[1.0], [100.0]], 5.0, every=0.5)
    assert motions.failed[0] == pytest.approx(0.5, abs=0.01)  # it comes to rest there
    assert "hardly advances" in motions.reasons[0]
    assert motions.failed[1] == np.inf
    assert motions.q[1, -1, 0] == pytest.approx(100 * 5 - 5**2, rel=1e-9)


def test_samples_within_steps_lie_on_the_solution():
    # sin and cos, of which a step spans several samples
    m = mt.Model("oscillator", gravity=(0, 0, 0))
    body = m.body("block", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x"), m.ground, body)
    m.torque("x", "-x")
    system = m.build()
    for name in (name for name, method in METHODS.items() if method.adaptive):
        motions = system.simulate_many([[0.0], [1.0]], [[1.0], [0.0]], 6.0, every=1e-3, integrator=name, rtol=1e-10)
        assert motions.steps.max() < 3000
        np.testing.assert_allclose(motions.q[:, :, 0], [np.sin(motions.t), np.cos(motions.t)], rtol=0, atol=2e-8)
        np.testing.assert_allclose(motions.v[:, :, 0], [np.cos(motions.t), -np.sin(motions.t)], rtol=0, atol=2e-8)


@pytest.mark.parametrize("name", [n if n in OF_EACH_KIND else pytest.param(n, marks=pytest.mark.long) for n in METHODS])
def test_the_text_of_single_motions_has_no_vectors_and_calls_nothing_outside(name):
    system, _, _ = starts(1)
    text = Batch(system, settings(name), 0.0).program(1).text
    assert not re.search(r"<\d+ x (double|i64|i1)>", text)
    assert re.findall(r"^declare .*", text, re.MULTILINE) == []
