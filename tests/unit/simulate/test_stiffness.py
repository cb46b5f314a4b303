"""Stiff motions are found in the run: an implicit method goes on from there, once; others keep every bit."""

from __future__ import annotations

import functools
import os
import signal

import numpy as np
import pytest

import momentree as mt
from children import in_child
from mechanisms import four_bar
from momentree.errors import MomentreeError
from momentree.look.report import _settings
from momentree.look.run_tables import run_summary
from momentree.results import recorder
from momentree.results.recorder import record
from momentree.simulate import stiffness
from momentree.simulate.simulation import new_simulation
from momentree.simulate.stiffness import STEPS, is_smooth


@functools.cache
def block():
    """x'' = -1e5 x - 1e5 x': two exponentials, one of which dies out in 10 us."""
    m = mt.Model("block", gravity=(0, 0, 0))
    body = m.body("block", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x", spring=1e5, damping=1e5), m.ground, body)
    system = m.build()
    return system, system.assemble({"x": 0.1})


def position_of_block(t):
    slow, fast = np.roots([1, 1e5, 1e5])[::-1]
    slow = 1e5 / fast  # without cancellation
    return 0.1 * (fast * np.exp(slow * t) - slow * np.exp(fast * t)) / (fast - slow)


@functools.cache
def strut():
    """A pendulum whose bob sits on a stiff, strongly damped spring, and a stop event below."""
    m = mt.Model("strut")
    rod = m.body("rod", mass=1.0, com=(1, 0, 0), inertia=(0.01, 0.01, 0.01))
    bob = m.body("bob", mass=1.0, com=(0, 0, 0), inertia=(0.01, 0.01, 0.01))
    m.joint("A", mt.Revolute("y"), m.ground, rod)
    m.joint("B", mt.Prismatic("x", spring=1e6, damping=1e4, rest=1.0), rod, bob)
    system = m.build()
    return system, system.assemble({"A": 0.5, "B": 1.0})


STRUT = {"t_end": 5.0, "every": 0.1}


@functools.cache
def run_of_strut(integrator=None, **settings):
    system, start = strut()
    return system.simulate(start, integrator=integrator, **{**STRUT, **settings})


REMAINING = stiffness.REMAINING


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Short runs do, for quick tests."""
    monkeypatch.setattr(stiffness, "REMAINING", 2000)


@pytest.fixture
def at_once(monkeypatch):
    """Every block is looked at, however few steps remain."""
    monkeypatch.setattr(stiffness, "REMAINING", 0)
    monkeypatch.setattr(stiffness, "LONGEST_WAIT", 1)
    monkeypatch.setattr(stiffness.StiffnessWatch.__init__, "__defaults__", (0.0, 1, float("nan")))


# --- a motion that is stiff ---


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
def test_the_motion_goes_on_by_radau9_and_is_that_of_the_closed_form(formulation):
    system, start = block()
    run = system.simulate(start, 10.0, every=0.5, formulation=formulation)
    assert run.statistics.switched_to == "radau9"
    assert 0 < run.statistics.stiff_from < 0.5
    assert run.statistics.accepted < 10_000  # about 1,000,000 without
    assert np.abs(run["x"] - position_of_block(run.t)).max() < 1e-11
    assert not run.warnings


def test_its_accuracy_is_that_of_a_tight_tolerance_and_energy_stays_in_balance():
    run, reference = run_of_strut(), run_of_strut("radau", rtol=1e-12)
    assert run.statistics.switched_to == "radau9"
    assert np.abs(run.q - reference.q).max() < 1e-8
    assert np.abs(run.v - reference.v).max() < 1e-7
    assert run.energy.error < 1e-8 * run.energy.through
    assert run.energy.work["damper of B"][-1] == pytest.approx(reference.energy.work["damper of B"][-1], rel=1e-6)
    assert run.t.tolist() == reference.t.tolist()


def test_the_balance_of_energy_is_judged_by_the_tolerance_after_the_switch():
    m = mt.Model("van der Pol", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x", spring=1.0), m.ground, body)
    m.torque("x", "1000*(1 - x^2)*x'")
    system = m.build()
    run = system.simulate(system.assemble({"x": 2.0}), 3000.0, every=30.0)
    assert run.statistics.switched_to == "radau9"
    assert run.energy.error > 1e-6 * run.energy.through  # what 1e-12 allows; 3e-10 allows 3e-6
    assert not run.warnings


def test_it_switches_once_and_only_where_nobody_chose_the_integrator():
    run, given = run_of_strut(), run_of_strut("dopri5")
    chosen = ("integrator", "if_stiff", "rtol_if_stiff")
    assert [run.settings[name] for name in chosen] == ["dop853", "radau9", 3e-10]
    assert given.statistics.stiff_from is not None
    assert given.statistics.switched_to is None
    assert given.statistics.accepted > 10 * run.statistics.accepted
    assert given.settings["if_stiff"] is None
    assert not given.warnings  # it is slow, not wrong


def test_what_is_found_is_said_and_kept(tmp_path):
    run, given = run_of_strut(), run_of_strut("dopri5")
    at = f"{run.statistics.stiff_from:.6g}"
    assert f"from dop853 to radau9 at t = {at} s: stiff" in run_summary(run)
    assert "integrator='radau9' takes fewer" in run_summary(given)
    run.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    assert again.statistics == run.statistics
    assert run_summary(again) == run_summary(run)
    assert f"from dop853 to radau9 at t = {at} s" in str(_settings(run))


def test_a_given_integrator_switches_where_it_is_asked_to():
    system, start = strut()
    run = system.simulate(start, integrator="dopri5", if_stiff="radau", rtol_if_stiff=1e-7, **STRUT)
    assert run.statistics.switched_to == "radau"
    assert system.simulate(start, **run.settings).statistics == run.statistics
    with pytest.raises(MomentreeError, match="if_stiff 'rk4' is not known"):
        system.simulate(start, integrator="dopri5", if_stiff="rk4", **STRUT)
    with pytest.raises(MomentreeError, match="rtol_if_stiff is 0; give a number"):
        system.simulate(start, integrator="dopri5", if_stiff="radau", rtol_if_stiff=0, **STRUT)


@pytest.mark.parametrize("chosen", [{"rtol": 1e-13}, {"stabilization": "none"}])
def test_settings_that_an_implicit_method_cannot_keep_stay(chosen):
    system, start = strut()
    run = system.simulate(start, 0.01, **chosen)
    assert run.settings["if_stiff"] is None


def test_a_tolerance_that_was_given_holds_after_the_switch_too():
    run = run_of_strut(rtol=1e-8)
    assert run.settings["rtol_if_stiff"] is None
    assert run.statistics.switched_to == "radau9"
    assert np.abs(run.q - run_of_strut("radau", rtol=1e-12).q).max() < 1e-6


def test_a_tolerance_for_where_it_is_stiff_holds_there_whoever_chose_the_integrator():
    system, start = strut()
    for chosen in ({}, {"rtol": 1e-9}, {"if_stiff": "radau9"}):
        run = system.simulate(start, rtol_if_stiff=1e-6, **chosen, **STRUT)
        assert (run.statistics.switched_to, run.settings["rtol_if_stiff"]) == ("radau9", 1e-6)
    stiff = mt.Model("stiff")
    stiff.joint(
        "x", mt.Prismatic("x", spring=1e4, damping=1e3), stiff.ground, stiff.body("x", mt.rod(mass=1.0, length=0.1))
    )
    stiff.start_at(stiff=True)
    assert stiff.build().simulate(t_end=0.1, rtol_if_stiff=1e-6).settings["rtol"] == 1e-6
    for chosen in ({"integrator": "dopri5"}, {"rtol": 1e-13}, {"stabilization": "none"}):  # nothing goes on
        with pytest.raises(MomentreeError, match=r"rtol_if_stiff is given, but dop.* stays.*if_stiff='radau9'"):
            system.simulate(start, rtol_if_stiff=1e-6, **chosen, **STRUT)


def test_in_long_systems_a_switch_pays_for_fewer_steps(monkeypatch):
    """A hand of 40 fingers with the dry friction that robot files get, -f tanh(v/0.01)."""
    monkeypatch.setattr(stiffness, "REMAINING", REMAINING)
    m = mt.Model("hand")
    for i in range(40):
        m.joint(f"J{i}", mt.Revolute("y"), m.ground, m.body(f"finger {i}", mt.rod(mass=0.02 + 0.001 * i, length=0.1)))
        m.torque(f"J{i}", f"-0.5*tanh(J{i}'/0.01) + 0.1*sin(5*t)")
    run = m.build().simulate(t_end=0.3, every=0.03)
    assert run.statistics.switched_to == "radau9"
    assert run.statistics.accepted < 5000  # 36,000 without, far fewer than short systems need for a switch


def test_a_run_is_worth_it_only_if_it_is_long(monkeypatch):
    system, start = strut()
    monkeypatch.setattr(stiffness, "REMAINING", REMAINING)
    short, long = (system.simulate(start, t_end, every=t_end).statistics for t_end in (0.5, 20.0))
    assert 2000 < short.accepted < REMAINING
    assert short.stiff_from is None
    assert long.switched_to == "radau9"


def test_the_error_is_estimated_by_a_run_that_switches_too():
    system, start = strut()
    run = system.simulate(start, 5.0, every=0.5, verify=True)
    assert run.error.angle < 1e-7
    assert run.error.by == "rtol 1e-14 instead of 1e-12, 3e-12 where it is stiff"


# --- with loops, events, latches ---


def test_loops_stay_closed():
    m = mt.Model("four-bar with a stiff strut")
    crank, coupler, rocker, bob = (
        m.body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        for name in ("crank", "coupler", "rocker", "bob")
    )
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2, 0, 0)), rocker.at((1, 0, 0)))
    m.joint("E", mt.Prismatic("x", spring=1e6, damping=1e4), coupler, bob)
    system = m.build()
    start = system.assemble({"A": -1.0}, guess={"B": 1.0, "D": -1.0})
    run = system.simulate(start, 20.0, every=0.1)
    reference = system.simulate(start, 20.0, every=0.1, integrator="radau9", rtol=1e-11)
    assert run.statistics.switched_to == "radau9"
    assert run.closure_error.max() < 1e-12
    assert np.abs(run.q - reference.q).max() < 1e-7


def test_events_are_found_and_latches_act_after_the_switch():
    m = mt.Model("strut with a latch")
    rod = m.body("rod", mass=1.0, com=(1, 0, 0), inertia=(0.01, 0.01, 0.01))
    bob, tip = (m.body(name, mass=1.0, com=(0, 0, 0), inertia=(0.01, 0.01, 0.01)) for name in ("bob", "tip"))
    m.joint("A", mt.Revolute("y", damping=0.1), m.ground, rod)
    m.joint("B", mt.Prismatic("x", spring=1e6, damping=1e4, rest=1.0), rod, bob)
    m.joint("C", mt.Prismatic("x"), rod.at((0, 0.1, 0)), tip)
    m.latch("C", at=1.5)
    system = m.build()
    start = system.assemble({"A": 0.5, "B": 1.0, "C": 1.0}, velocities={"C": 0.0})
    runs = [
        system.simulate(start, 20.0, every=0.1, events={"back": "A'"}, **by) for by in ({}, {"integrator": "radau9"})
    ]
    assert runs[0].statistics.switched_to == "radau9"
    (names, times), (others, expected) = (zip(*run.end.events, strict=True) for run in runs)
    assert "latch of C" in names
    assert dict(runs[0].end.events)["latch of C"] > runs[0].statistics.stiff_from
    assert names == others
    assert times == pytest.approx(expected, abs=1e-7)


# --- stopped and continued ---


def test_what_follows_a_checkpoint_is_the_same_to_the_last_bit():
    system, start = strut()
    settings = {"t_end": 20.0, "every": 0.1, "if_stiff": "radau9", "rtol_if_stiff": 3e-10}
    running = new_simulation(system, start, **settings)
    blocks, checkpoints, switched = [], [running.checkpoint()], []
    while (block := running.advance()) is not None:
        blocks.append(block)
        checkpoints.append(running.checkpoint())
        switched.append(running.statistics.switched_to is not None)
    first = switched.index(True)
    assert 0 < first < len(blocks) - 1
    for i in (0, first, first + 1, len(blocks) - 1):
        anew = new_simulation(system, start, **settings)
        anew.restore(checkpoints[i])
        rest = list(iter(anew.advance, None))
        for name in ("t", "q", "v", "work"):
            found, expected = (np.concatenate([getattr(b, name) for b in part]) for part in (rest, blocks[i:]))
            assert np.array_equal(found, expected), (i, name)
        assert (anew.statistics, anew.end) == (running.statistics, running.end)


@pytest.mark.parametrize("blocks", [1, 3])  # before and after the switch
def test_a_killed_run_ends_with_the_same_bits(blocks, tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "SECONDS", 0.0)  # a chunk after every block
    system, start = strut()
    path, seen = tmp_path / "run.nc", []

    def kill(t, closure_error):
        seen.append(t)
        if len(seen) > blocks:
            os.kill(os.getpid(), signal.SIGKILL)

    def simulated(path=None, progress=False):
        settings = {"t_end": 20.0, "every": 0.1, "if_stiff": "radau9", "rtol_if_stiff": 3e-10}
        return record(new_simulation(system, start, **settings), path, progress)

    assert in_child(lambda: simulated(path, kill) and None) == -signal.SIGKILL
    again, whole = mt.resume_run(path, progress=False), simulated()
    assert again.statistics == whole.statistics
    assert again.statistics.switched_to == "radau9"
    for name in ("t", "q", "v"):
        assert np.array_equal(getattr(again, name), getattr(whole, name)), name
    assert np.array_equal(again.samples.work, whole.samples.work)


# --- motions that are not stiff ---


def pendulum():
    m = mt.Model("double pendulum")
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.0, along="-z")) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("y"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at((0, 0, -1)), lower)
    system = m.build()
    return system, system.assemble({"A": 1.5})


def linkage():
    system = four_bar().build()
    return system, system.assemble({"A": 1.0}, velocities={"A": 3.0})


def oscillators():
    """One swings 300 times as quickly as the other, with a thousandth of its amplitude: it has to be followed."""
    m = mt.Model("oscillators", gravity=(0, 0, 0))
    for name, rate in (("slow", 1.0), ("fast", 300.0)):
        body = m.body(name, mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
        m.joint(f"of {name}", mt.Prismatic("x", spring=rate**2), m.ground, body)
    system = m.build()
    return system, system.assemble({"of slow": 1.0, "of fast": 1e-3})


@pytest.mark.parametrize("make", [pendulum, linkage, oscillators])
@pytest.mark.parametrize("rtol", [None, 1e-5])
def test_a_motion_that_needs_its_steps_keeps_them(make, rtol, at_once):
    system, start = make()
    run, given = (system.simulate(start, 30.0, rtol=rtol, integrator=by) for by in (None, "dop853"))
    assert run.settings["if_stiff"] == "radau9"
    assert run.statistics.stiff_from is None
    assert run.statistics.accepted > STEPS
    assert run.q.tobytes() == given.q.tobytes()
    assert run.v.tobytes() == given.v.tobytes()


def test_a_largest_step_size_is_no_stiffness(at_once):
    system, start = pendulum()
    assert system.simulate(start, 5.0, step=1e-3).statistics.stiff_from is None


def test_steps_that_inputs_cut_are_no_stiffness(at_once):
    m = mt.Model("pushed", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x"), m.ground, body)
    m.input("force")
    m.torque("x", "force")
    system = m.build()
    run = system.simulate(system.assemble({}), 10.0, inputs={"force": mt.sampled(lambda t: 1.0, every=0.01)})
    assert run.statistics.stiff_from is None


# --- whether steps lie on a polynomial ---


def test_polynomials_are_smooth_up_to_their_degree():
    t = 3.0 + np.cumsum(np.random.default_rng(1).uniform(0.5, 1.0, 40)) * 1e-3
    x = (t - t[0]) / (t[-1] - t[0])
    five, six = x**5 - 2 * x, x**6
    assert is_smooth(t, np.stack([five, 1 + x], axis=1), np.full(2, 1e-13))
    assert not is_smooth(t, np.stack([five, six], axis=1), np.full(2, 1e-4 / stiffness.WITHIN))
    assert is_smooth(t, np.stack([five, six], axis=1), np.full(2, 1e-2))
    assert not is_smooth(t, np.full((40, 1), np.nan), np.ones(1))
    assert not is_smooth(np.full(40, 3.0), np.zeros((40, 1)), np.ones(1))  # steps below the resolution of time


# --- many motions ---


def test_many_motions_take_the_integrator_of_the_model_and_stay_with_it():
    m = mt.Model("block", gravity=(0, 0, 0))
    body = m.body("block", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x", spring=1e5, damping=1e5), m.ground, body)
    m.start_at(stiff=True)
    system = m.build()
    motions = system.simulate_many([[0.1], [0.2]], np.zeros((2, 1)), t_end=1.0, every=0.5)
    assert motions.settings.integrator == "radau9"
    assert np.abs(motions.q[0, :, 0] - position_of_block(motions.t)).max() < 1e-10
    with pytest.raises(MomentreeError, match="many motions stay with their integrator"):
        system.simulate_many([[0.1]], [[0.0]], t_end=1.0, every=0.5, integrator="dop853", if_stiff="radau9")
