"""Every run comes to its end: step sizes that shrink without end are an error, and memory stays bounded."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.simulate import simulation as module
from momentree.simulate.law_checks import discontinuous_laws
from momentree.simulate.simulation import new_simulation
from momentree.simulate.stall_detection import StallDetector

pytestmark = pytest.mark.filterwarnings("ignore::momentree.RunWarning")  # runs that fail say so; that is tested here


def pendulum(law):
    m = mt.Model("pendulum")
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, rod)
    m.torque("A", law)
    return m.build()


def block(law):
    m = mt.Model("block", gravity=(0, 0, 0))
    body = m.body("block", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x"), m.ground, body)
    m.torque("x", law)
    return m.build()


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau"])
@pytest.mark.repeats(2)
def test_dry_friction_that_jumps_ends_the_run_and_names_the_law(formulation, integrator):
    system = pendulum("-0.5*sign(A')")
    run = system.simulate(system.assemble({"A": 1.0}), 10.0, formulation=formulation, integrator=integrator)
    assert run.end.reason == "failed"
    assert run.end.t == pytest.approx(2.47834, abs=1e-4)  # it comes to rest there
    assert "he torque on A, -0.5*sign(A'), jumps there" in run.end.message
    assert run.statistics.accepted + run.statistics.rejected < 100_000
    if integrator != "radau":  # whose steps fall below the resolution of time
        assert "hardly advances" in run.end.message
        assert "tanh(v/v0) instead of sign(v)" in run.end.message


@pytest.mark.parametrize("integrator", ["dop853", "dopri5"])
def test_a_block_that_comes_to_rest_under_dry_friction(integrator):
    system = block("-2*sign(x')")
    run = system.simulate(system.assemble(velocities={"x": 1.0}), 5.0, integrator=integrator)
    assert run.end.reason == "failed"
    assert run.end.t == pytest.approx(0.5, abs=0.01)
    assert run.statistics.accepted + run.statistics.rejected < 100_000
    assert "The torque on x, -2*sign(x'), jumps there. Smooth it" in run.end.message


STEEP = ["-1e12*A - 1e3*A'", "-1e9*A'", "-1e6*tanh(A'/1e-3)", "-5*sin(1e6*A)", "1e8*abs(A)", "0"]
JUMPING = ["-0.5*sign(A')", "select(A, -1, 1)", "-sign(A) - 100*A'", "3*sign(A - 4e-7)", "atan2(A, -1)"]


@pytest.mark.parametrize("law", [*STEEP, *JUMPING])
def test_what_jumps_is_told_from_what_is_steep(law):
    """Half of the way has half of the change of a law that is smooth, and all of that of one that jumps."""
    mechanism = pendulum(law)._numeric
    for q, v in ((0.0, 0.0), (3e-7, -2e-7), (-1e-7, 4e-7)):
        jumps = discontinuous_laws(mechanism, np.array([q]), np.array([v]), 0.0)
        assert len(jumps) == (law in JUMPING), (q, v)


def test_a_motion_that_is_only_long_is_not_said_to_jump():
    system = pendulum("0")
    run = system.simulate(system.assemble({"A": 0.1}), 1e9, every=1e8, integrator="dop853")
    assert "t_end is 3e+10 more tries away. The fastest motion there is that of joint 'A'" in run.end.message
    assert "earlier t_end" in run.end.message
    assert "jump" not in run.end.message


def test_a_steep_law_is_named_and_not_called_a_jump():
    system = pendulum("-1e12*A-1e3*A'")
    run = system.simulate(system.assemble({"A": 0.1}), 1e3, every=100)
    assert "joint 'A', which swings at 1.7e+06 rad/s: the torque on A, " in run.end.message
    assert "integrator='radau9'" in run.end.message
    assert "jump" not in run.end.message


def test_what_the_error_recommends_works():
    system = pendulum("-0.5*tanh(A'/1e-3)")
    run = system.simulate(system.assemble({"A": 1.0}), 5.0, integrator="radau", every=0.1)
    assert run.end.reason == "arrived"


def test_a_stiff_run_of_many_steps_is_let_through():
    # strongly damped: 300,000 steps of an explicit method, where one in ten would be called slow
    system = block("-1e8*x - 1e6*x'")
    run = system.simulate(system.assemble({"x": 0.1}), 2.0, integrator="dop853", every=0.1)
    assert run.end.reason == "arrived"
    assert run.statistics.accepted > 200_000


@pytest.mark.parametrize("k", range(3))
def test_each_window_alone_gives_up(k):
    accepted, rejected, came = [(16_000, 4_001, 1e-5), (20_001, 0, 1e-9), (200_001, 0, 1e-6)][k]
    assert StallDetector(0.0).checked(came, 1.0, accepted, rejected)[1]
    assert not StallDetector(0.0).checked(100 * came, 0.1, accepted, rejected)[1]


def test_a_slow_pace_without_rejected_steps_is_only_suspect():
    slow, sure = StallDetector(0.0).checked(1e-5, 1.0, 20_001, 0)
    assert slow
    assert not sure


def test_a_window_says_nothing_before_it_is_over():
    progress = StallDetector(0.0)
    assert progress.checked(1e-15, 1.0, 9_000, 9_000) == ("", False)
    assert progress.checked(1e-15, 1.0, 11_000, 11_000)[1]


def test_a_checkpoint_keeps_the_windows():
    system = pendulum("-0.5*sign(A')")
    start = system.assemble({"A": 1.0})
    whole = new_simulation(system, start, t_end=10.0)
    for _ in range(20):
        whole.advance()
    other = new_simulation(system, start, t_end=10.0)
    other.restore(whole.checkpoint())
    for running in (whole, other):
        while running.advance() is not None:
            pass
    assert whole.end == other.end
    assert whole.end.reason == "failed"


def test_steps_that_are_all_samples_do_not_fill_memory(monkeypatch):
    monkeypatch.setattr(module, "MOST_NUMBERS", 100_000)
    system = block("-1e8*x - 1e6*x'")
    run = system.simulate(system.assemble({"x": 0.1}), 2.0, integrator="dop853")
    assert run.end.reason == "failed"
    assert "every step is one. Give every=, in seconds" in run.end.message
    assert len(run.t) * 4 < 110_000
    assert np.isfinite(run.q).all()


def test_samples_that_would_fill_memory_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_NUMBERS", 1000)
    system = block("-x")
    with pytest.raises(mt.MomentreeError, match=r"every is 0.001: samples of 4 numbers would take more than .* GB"):
        system.simulate(system.assemble({"x": 0.1}), 1.0, every=0.001)


def test_many_motions_come_to_their_end_too():
    system = pendulum("-0.5*sign(A')")
    found = system.simulate_many([[1.0], [0.3]], [[0.0], [0.0]], 10.0, every=0.1)
    assert np.isfinite(found.failed).all()
    assert np.isfinite(found.q[:, :3]).all()
