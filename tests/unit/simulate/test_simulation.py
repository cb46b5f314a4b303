"""What a simulation gives: samples, statistics, checkpoints; what it refuses, and how it fails."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, random_configuration, random_tree
from momentree.assembly.state import State
from momentree.simulate import simulation as module
from momentree.simulate.blocks import Block
from momentree.simulate.simulation import RECORDS, new_simulation

pytestmark = pytest.mark.filterwarnings("ignore::momentree.RunWarning")  # runs that fail say so; that is tested here

WAYS = [
    {"formulation": formulation, "integrator": integrator, **({"step": 0.01} if integrator == "rk4" else {})}
    for formulation in ("hamiltonian", "lagrange")
    for integrator in ("dop853", "dopri5", "rk4")
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way['formulation']}-{way['integrator']}")


def pendulum(law=None, **joint):
    m = mt.Model("pendulum")
    bob = m.body("bob", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("y", **joint), m.ground, bob)
    if law is not None:
        m.torque("A", law)
    return m.build()


def flying():
    """With quaternions among its coordinates."""
    random = np.random.default_rng(5)
    system = random_tree(random, ["Free", "Spherical", "Revolute", "Planar"]).build()
    return system, State(system.mechanism, random_configuration(random, system), random.standard_normal(system.nv), 0.5)


def blocks_of(running):
    found = []
    while (block := running.advance()) is not None:
        found.append(block)
    return found


def whole(blocks):
    """All samples in one block."""
    first = blocks[0]
    return Block.joined(blocks, first.q.shape[1], first.v.shape[1], first.work.shape[1])


# --- samples ---


@every_way
@pytest.mark.repeats(2)
def test_without_every_there_is_a_sample_at_each_step(way):
    system, start = flying()
    run = system.simulate(start, 2.0, **way)
    assert len(run.t) == 1 + run.statistics.accepted
    assert np.all(np.diff(run.t) > 0)
    assert run.end.reason == "arrived"
    assert run.end.t == run.t[-1] == 2.0


@pytest.mark.repeats(3)
@every_way
@pytest.mark.parametrize("t_end", [1.5, 1.53])
def test_every_gives_its_multiples_after_the_start_and_the_end_exactly(way, t_end):
    system, start = flying()
    run = system.simulate(start, t_end, every=0.1, **way)
    expected = 0.5 + 0.1 * np.arange(11)
    assert run.t.tolist() == [*expected[expected < t_end - 1e-9], t_end]


@every_way
@pytest.mark.repeats(2)
def test_the_first_sample_is_the_start(way):
    system, start = flying()
    for every in (None, 0.1):
        run = system.simulate(start, 1.0, every=every, **way)
        assert run.t[0] == start.t
        np.testing.assert_array_equal(run.q[0], start.q)
        np.testing.assert_allclose(run.v[0], start.v, rtol=0, atol=1e-13)  # through the momenta and back


@every_way
def test_samples_between_steps_are_on_the_way(way):
    # to what the tolerance leaves: the same motion with many more steps
    system, start = flying()
    run = system.simulate(start, 1.0, every=0.1, **{**way, "rtol": 1e-9})
    finer = system.simulate(start, 1.0, every=0.1, formulation=way["formulation"], rtol=1e-13, step=0.005)
    np.testing.assert_allclose(run.q, finer.q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.v, finer.v, rtol=0, atol=1e-6)


@every_way
@pytest.mark.repeats(2)
def test_quaternions_of_all_samples_are_of_unit_length(way):
    system, start = flying()
    for every in (None, 0.01):
        run = system.simulate(start, 3.0, every=every, **way)
        for joint in ("j1", "j2"):
            np.testing.assert_allclose(np.linalg.norm(run[joint][:, -4:], axis=1), 1, rtol=0, atol=1e-15)


def test_one_sample_may_take_more_steps_than_a_block_has_room_for():
    system = pendulum()
    run = system.simulate(system.assemble({"A": 1.0}), 60.0, integrator="dopri5", rtol=1e-12, every=30.0)
    assert run.statistics.accepted > 4 * RECORDS
    assert run.t.tolist() == [0, 30, 60]


def test_where_nothing_can_move_time_passes():
    m = mt.Model("prescribed")
    m.joint("A", mt.Revolute("y", motion="sin(t)"), m.ground, m.body("arm", mt.rod(mass=1.0, length=1.0)))
    for system in (m.build(), mt.Model("nothing").build()):
        run = system.simulate(system.assemble(), 1.0, every=0.25)
        assert run.t.tolist() == [0, 0.25, 0.5, 0.75, 1]
        assert run.q.shape == run.v.shape == (5, 0)


# --- statistics ---


def test_steps_and_evaluations_are_counted():
    system = pendulum()
    start = system.assemble({"A": 1.0})
    fixed = system.simulate(start, 1.0, integrator="rk4", step=0.01).statistics
    assert (fixed.accepted, fixed.rejected) == (100, 0)
    assert fixed.evaluations == 4 * 100  # four stages for each step
    assert fixed.shortest == pytest.approx(0.01)
    assert fixed.longest == pytest.approx(0.01)
    # the first and the last stage of a step coincide: 6 and 12 evaluations each, 3 more for dense output of dop853
    for integrator, stages, dense in (("dopri5", 6, 0), ("dop853", 12, 3)):
        for every, extra in ((None, 0), (0.5, dense)):
            run = system.simulate(start, 1.0, integrator=integrator, every=every)
            found = run.statistics
            calls = 1 + (found.accepted - 1) // RECORDS
            assert found.evaluations == calls + stages * (found.accepted + found.rejected) + extra * found.accepted
            assert 0 < found.shortest < found.longest < 1


def test_a_tighter_tolerance_takes_more_steps_and_gives_more_digits():
    system = pendulum()
    start = system.assemble({"A": 1.0})
    ends = {rtol: system.simulate(start, 2.0, rtol=rtol) for rtol in (1e-4, 1e-7, 1e-10, 1e-14)}
    steps = [run.statistics.accepted for run in ends.values()]
    errors = [abs(run["A"][-1] - ends[1e-14]["A"][-1]) for run in ends.values()]
    assert steps == sorted(steps)
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-8


def test_a_step_that_is_given_is_the_longest():
    system = pendulum()
    run = system.simulate(system.assemble({"A": 1.0}), 1.0, step=0.003)
    assert run.statistics.longest == pytest.approx(0.003)


# --- stopping and continuing ---


@every_way
@pytest.mark.parametrize("every", [None, 0.01])
@pytest.mark.repeats(4)
def test_what_follows_a_checkpoint_is_the_same_to_the_last_bit(way, every, monkeypatch):
    monkeypatch.setattr(module, "RECORDS", 10)  # steps in a block
    system, start = flying()
    settings = {"t_end": 3.0, "rtol": 1e-10, "every": every, **way}
    running = new_simulation(system, start, **settings)
    blocks, checkpoints = [], [running.checkpoint()]
    while (block := running.advance()) is not None:
        blocks.append(block)
        checkpoints.append(running.checkpoint())
    assert len(blocks) > 2
    for i in {0, 1, len(blocks) // 2, len(blocks) - 1}:
        anew = new_simulation(system, start, **settings)
        anew.restore(checkpoints[i])
        rest, expected = whole(blocks_of(anew)), whole(blocks[i:])
        for name in ("t", "q", "v", "work"):
            assert np.array_equal(getattr(rest, name), getattr(expected, name)), (i, name)
        assert anew.statistics == running.statistics
        assert anew.end == running.end
    ended = new_simulation(system, start, **settings)
    ended.restore(checkpoints[-1])
    assert ended.advance() is None
    assert ended.end == running.end


def test_a_simulation_goes_back_to_a_checkpoint_of_its_own(monkeypatch):
    monkeypatch.setattr(module, "RECORDS", 10)
    system, start = flying()
    running = new_simulation(system, start, t_end=3.0, rtol=1e-10)
    running.advance()
    checkpoint = running.checkpoint()
    once = blocks_of(running)
    running.restore(checkpoint)
    again = blocks_of(running)
    assert np.array_equal(whole(once).q, whole(again).q)


def test_the_start_may_be_changed_while_it_runs():
    system, start = flying()
    running = new_simulation(system, start, t_end=1.0)
    start.q[:] = np.nan
    assert np.isfinite(whole(blocks_of(running)).q).all()


# --- settings that are wrong ---


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"formulation": "hamiltonion"}, "formulation 'hamiltonion' is not known.*Did you mean 'hamiltonian'"),
        ({"formulation": ["lagrange"]}, "formulation .* is not known. Choose 'hamiltonian', 'lagrange'"),
        ({"integrator": "dop835"}, "integrator 'dop835' is not known.*Did you mean 'dop853'"),
        ({"stabilization": "projekt"}, "stabilization 'projekt' is not known.*Did you mean 'project'"),
        ({"t_end": 0.0}, "t_end is 0.0; give a time after the start, 0 s"),
        ({"t_end": -1.0}, "t_end is -1.0; give a time after the start, 0 s"),
        ({"t_end": math.nan}, "t_end is nan; give a time after the start"),
        ({"t_end": math.inf}, "t_end is inf; give a time after the start"),
        ({"t_end": "1"}, "t_end is 1; give a time after the start"),
        ({"rtol": 0}, "rtol is 0; give a number from 1e-14 to 0.1"),
        ({"rtol": -1e-6}, "rtol is -1e-06; give a number from 1e-14 to 0.1"),
        ({"rtol": "tight"}, "rtol is tight; give a number"),
        ({"rtol": True}, "rtol is True; give a number"),
        ({"atol": 0.0}, "atol is 0.0; give a positive number, or None"),
        ({"atol": math.nan}, "atol is nan; give a positive number"),
        ({"step": -0.1}, "step is -0.1; give a positive number of seconds"),
        ({"every": 0}, "every is 0; give a positive number of seconds"),
        ({"every": math.nan}, "every is nan; give a positive number of seconds"),
        ({"integrator": "rk4"}, "rk4 has a fixed step size. Give step="),
        (
            {"integrator": "rk4", "step": 0.1, "every": 0.25},
            "every is 0.25, which is not a multiple of the step of rk4",
        ),
        (
            {"integrator": "rk4", "step": 0.1, "every": 0.05},
            "every is 0.05, which is not a multiple of the step of rk4",
        ),
        (
            {"integrator": "rk4", "step": 0.1, "every": 1e-9},
            "every is 1e-09, which is not a multiple of the step of rk4",
        ),
        ({"every": 1e-12}, r"every is 1e-12: that is 1e\+12 samples, of at most 20,000,000. Give .* at least 5e-08"),
        ({"integrator": "rk4", "step": 1e-12}, r"step is 1e-12: that is 1e\+12 steps, of at most 10,000,000,000. Give"),
        ({"verify": "yes"}, "verify is yes; give True or False"),
    ],
)
def test_settings_that_are_wrong_are_named_with_the_way_out(settings, told):
    system = pendulum()
    with pytest.raises(mt.MomentreeError, match=told):
        system.simulate(system.assemble({"A": 1.0}), **{"t_end": 1.0, **settings})


def test_everything_that_is_wrong_is_told_at_once():
    system = pendulum()
    with pytest.raises(mt.MomentreeError) as told:
        system.simulate(system.assemble(), -1.0, formulation="newton", integrator="heun", rtol=0, every=-1)
    for name in ("formulation 'newton'", "integrator 'heun'", "t_end is -1.0", "rtol is 0", "every is -1"):
        assert name in str(told.value)


def test_an_unknown_setting_is_named():
    system = pendulum()
    with pytest.raises(mt.MomentreeError, match=r"no setting 'rtoll'. Did you mean 'rtol'"):
        new_simulation(system, system.assemble(), t_end=1.0, rtoll=1e-9)
    with pytest.raises(mt.MomentreeError, match=r"no setting 'evry'. Did you mean 'every'"):
        system.simulate_many([[0.0]], [[0.0]], 1.0, evry=0.1)


# --- starts that are wrong ---


@pytest.mark.parametrize(
    ("q", "v", "t", "told"),
    [
        ([math.nan], [0.0], 0.0, "q holds NaN or infinity"),
        ([0.0], [math.inf], 0.0, "v holds NaN or infinity"),
        ([0.0, 0.0], [0.0], 0.0, "q has the shape 2; its last axis must have length 1"),
        ([0.0], [], 0.0, "v has the shape 0; its last axis must have length 1"),
        ([[0.0], [1.0]], [[0.0], [0.0]], 0.0, "the start holds several states. Use system.simulate_many"),
        ([0.0], [0.0], math.nan, "the start has t = nan; give a finite time"),
        (["zero"], [0.0], 0.0, "q is .*numbers is expected"),
    ],
)
def test_a_start_that_is_no_state_of_the_system_is_refused(q, v, t, told):
    system = pendulum()
    with pytest.raises(mt.MomentreeError, match=told):
        system.simulate(State(system.mechanism, np.array(q), np.array(v), t), 1.0)


@pytest.mark.parametrize("start", [{"A": 1.0}, [0.0, 0.0], 1.0])
def test_a_start_must_be_assembled(start):
    with pytest.raises(mt.MomentreeError, match=r"the start is a (dict|list|float). Create it with system.assemble"):
        pendulum().simulate(start, 1.0)


def test_a_model_without_a_start_begins_where_assemble_puts_it():
    system = pendulum()
    assert np.array_equal(system.simulate(t_end=0.1).q, system.simulate(system.assemble(), 0.1).q)


@pytest.mark.parametrize("length", [0.0, 0.9])
def test_a_quaternion_must_be_of_unit_length(length):
    system, start = flying()
    (ball,) = (body for body in system.mechanism.bodies if body.joint.name == "j2")
    start.q[ball.q] *= length
    with pytest.raises(mt.MomentreeError, match="j2"):
        system.simulate(start, 1.0)


def test_a_start_outside_the_limits_of_a_joint_is_in_the_stop():
    system = pendulum(limits=(-0.5, 1.0))
    told = (
        r"at the start, joint 'A': angle = 2 is outside its limits \(-0.5, 1\)\. Stops push back there\. Start within"
    )
    with pytest.warns(mt.RunWarning, match=told) as caught:
        run = system.simulate(system.assemble({"A": 2.0}), 0.5, verify=True)
    assert run.end.reason == "arrived"
    assert run["A"].min() < 1.0
    assert len([w for w in caught if "Stops push back" in str(w.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", mt.RunWarning)
        for angle in (1.0, 1.0 + 1e-9, -0.5 - 1e-21):  # round-off of the range
            assert system.simulate(system.assemble({"A": angle}), 0.01).end.reason == "arrived"


def test_a_start_that_does_not_close_is_refused_with_its_gap():
    system = four_bar().build()
    start = system.assemble({"A": 1.0})
    open_start = dataclasses.replace(start, q=start.q + 0.1)
    with pytest.raises(
        mt.MomentreeError, match=r"start does not close 'C: translation along z': closure error .*assemble"
    ):
        system.simulate(open_start, 1.0)
    opening = dataclasses.replace(start, v=start.v + 1.0)
    with pytest.raises(mt.MomentreeError, match=r"start does not close 'C: translation along .': velocity .*assemble"):
        system.simulate(opening, 1.0)


# --- forces that are wrong ---


@pytest.mark.repeats(2)
@every_way
@pytest.mark.parametrize("every", [None, 0.1])
def test_where_a_law_has_no_value_the_simulation_fails_and_keeps_what_was_before(way, every):
    broken, sound = pendulum("sqrt(3 - t)"), pendulum("sqrt(abs(3 - t))")
    start = broken.assemble({"A": 0.3})
    run = broken.simulate(start, 5.0, every=every, **way)
    assert run.end.reason == "failed"
    assert run.end.t == pytest.approx(3, abs=1e-9)
    assert run.end.message.startswith("at t = 3 s the derivatives are no longer finite numbers")
    assert "the torque on A, sqrt(3 - t), has no finite value" in run.end.message
    assert any(run.end.message in told for told in run.warnings)
    # all samples before are there, and right
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.v).all()
    expected = sound.simulate(start, 3.0, every=every or 0.01, **{**way, "rtol": 1e-12})
    assert run.t[-1] > 3 - (every or 1e-9) - 1e-9
    if every:
        near = np.searchsorted(expected.t, run.t - 1e-9)
        np.testing.assert_allclose(run.q, expected.q[near], rtol=0, atol=1e-6)
    else:
        np.testing.assert_allclose(run.q[-1], expected.q[-1], rtol=0, atol=1e-6)


@every_way
def test_a_law_without_a_value_at_the_start(way):
    system = pendulum("log(t)")
    run = system.simulate(system.assemble({"A": 0.3}), 1.0, **way)
    assert (run.end.reason, run.end.t, len(run.t)) == ("failed", 0.0, 1)
    assert "the torque on A, log(t), has no finite value" in run.end.message


def test_laws_that_fail_by_the_state_are_named_too():
    # it falls from 0.3 rad towards 0 with a growing velocity
    for law in ("sqrt(A - 0.1)", "sqrt(0.5 + A')"):
        system = pendulum(law)
        run = system.simulate(system.assemble({"A": 0.3}), 2.0)
        assert run.end.reason == "failed"
        assert f"the torque on A, {law}, has no finite value" in run.end.message


def test_forces_and_prescribed_motions_without_a_value_are_named():
    m = mt.Model("arm")
    moved, arm = m.body("moved", massless=True), m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("P", mt.Prismatic("x", motion="(2 - t)^2.5"), m.ground, moved)
    m.joint("A", mt.Revolute("y"), moved, arm)
    run = m.build().simulate(m.build().assemble(), 5.0)
    assert run.end.reason == "failed"
    assert run.end.t == pytest.approx(2, abs=1e-9)
    assert "the motion of P, (2 - t)^2.5, or a derivative of it has no finite value" in run.end.message

    m = mt.Model("arm")
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, arm)
    m.force(arm.at((1, 0, 0)), (0, 0, "acos(t)"))
    run = m.build().simulate(m.build().assemble(), 5.0)
    assert run.end.t == pytest.approx(1, abs=1e-9)
    assert "a force, acos(t), has no finite value" in run.end.message


@pytest.mark.parametrize("integrator", ["dop853", "dopri5"])
@pytest.mark.parametrize("law", ["1/(1 - t)^2", "-3/(1 - t)^4"])
def test_a_law_that_grows_without_bound_is_named_where_steps_become_too_short(integrator, law):
    system = pendulum(law)
    run = system.simulate(system.assemble({"A": 0.3}), 5.0, integrator=integrator, rtol=1e-8)
    assert run.end.reason == "failed"
    assert run.end.t == pytest.approx(1, abs=1e-9)
    assert run.t[-1] == run.end.t
    assert "the step size that the tolerance asks for fell below the resolution of time" in run.end.message
    assert f"the torque on A, {law}, grows without bound" in run.end.message
    assert "Allow a larger rtol, or look at the forces of the model" in run.end.message
    assert np.isfinite(run.q).all()


def test_many_fixed_steps_whose_sum_ends_a_round_off_early_give_each_sample_once():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    run = system.simulate(system.assemble({"A": 1.0}), 1.5, integrator="rk4", step=1e-6, every=1e-4)
    assert len(run.t) == 15001
    assert run.t[-1] == 1.5
    assert run.t == pytest.approx(1e-4 * np.arange(15001), abs=1e-12)
