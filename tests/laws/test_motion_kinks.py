"""Kinks of prescribed motions: a velocity that jumps is an impact, and no step reaches across a kink."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError
from momentree.simulate.motion_kinks import motion_kinks
from momentree.simulate.simulation import new_simulation

every_formulation = pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])


def carried(law):
    """A mass of 1 kg on a spring of 1 N/m, on a carriage that is moved."""
    m = mt.Model("carried", gravity=(0, 0, 0))
    carriage, mass = (m.body(name, mt.box(mass=1.0, size=(0.1, 0.1, 0.1))) for name in ("carriage", "mass"))
    m.joint("x", mt.Prismatic("x", motion=law), m.ground, carriage)
    m.joint("y", mt.Prismatic("x", spring=1.0), carriage, mass)
    return m.build()


@every_formulation
@pytest.mark.parametrize("every", [None, 0.25])
def test_a_carriage_that_starts_at_once_leaves_the_mass_on_it_behind(formulation, every):
    system = carried("max(0, t - 1)")
    run = system.simulate(system.assemble(), 3.0, formulation=formulation, every=every)
    after = run.t > 1
    np.testing.assert_allclose(run["y"][~after], 0, atol=1e-14)
    np.testing.assert_allclose(run["y"][after], -np.sin(run.t[after] - 1), atol=1e-9)
    np.testing.assert_allclose(run.velocity("y")[after], -np.cos(run.t[after] - 1), atol=1e-9)
    # both samples at the jump, on its two sides; what the drive gives is the energy of the carriage and of the mass
    assert run.velocity("x")[np.searchsorted(run.t, 1) + np.array([-1, 0])].tolist() == [0.0, 1.0]
    assert run.energy.work["motion of x"][-1] == pytest.approx(0.5 + (1 - math.cos(2)) ** 2 / 2 + math.sin(2) ** 2 / 2)
    assert run.energy.error < 1e-9
    assert not run.warnings
    assert run.statistics.rejected < 5


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
def test_a_kink_at_the_start_acts_there(formulation):
    system = carried("abs(t)")
    run = system.simulate(system.assemble(), 2.0, formulation=formulation, every=0.5)
    np.testing.assert_allclose(run["y"], -np.sin(run.t), atol=1e-9)
    assert run.energy.error < 1e-9


def smooth(x):
    """Nearly abs(x)."""
    return f"sqrt(({x})^2 + 1e-8)"


def moved(kind, absolute):
    """A chain of four rods with two prescribed joints; on a ground that moves, with a constraint or a closed loop."""
    m = mt.Model("moved")
    bodies = [m.body(f"b{i}", mt.rod(mass=1.0 + i, length=1.0)) for i in range(4)]
    laws = (absolute("t - 0.5"), None, f"1.7*t + {absolute('t - 0.5')}", None)
    ends = m.ground
    for i, (body, law) in enumerate(zip(bodies, laws, strict=True)):
        options = {} if law is None else {"motion": law}
        m.joint(f"j{i}", mt.Revolute("y", **options), ends, body.at((-0.5, 0, 0)))
        ends = body.at((0.5, 0, 0))
    if kind == "ground":
        m.ground.moves((f"t - {absolute('t - 0.5')}", 0, 0))
    if kind == "constraint":
        m.constrain(f"j3 + j1 - {absolute('t - 0.5')}", name="law")
    if kind == "loop":
        m.joint("closing", mt.PinSlot("x", "y"), m.ground.at((2, 0, -1)), ends)
    system = m.build()
    return system, system.assemble({} if kind == "loop" else {"j1": 0.3})


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.parametrize("kind", ["tree", "ground", "constraint", "loop"])
def test_each_motion_does_the_work_that_it_does_where_its_kink_is_rounded(kind, formulation):
    system, start = moved(kind, lambda x: f"abs({x})")
    run = system.simulate(start, 0.8, formulation=formulation, every=0.1)
    other, beginning = moved(kind, smooth)
    rounded = other.simulate(beginning, 0.8, every=0.1)
    np.testing.assert_allclose(run.q[-1], rounded.q[-1], atol=2e-3)
    assert run.energy.error < 1e-8 * run.energy.through
    for name, work in rounded.energy.work.items():
        assert run.energy.work[name][-1] == pytest.approx(work[-1], abs=1e-3 * run.energy.through)
    assert not run.warnings


def test_every_kink_of_a_fast_law_is_found():
    kinks = motion_kinks(carried("abs(sin(400*t))")._numeric, 0.0, 10.0)
    np.testing.assert_allclose([k.after for k in kinks], np.pi / 400 * np.arange(len(kinks)), atol=1e-13)
    assert len(kinks) == 1 + math.floor(4000 / math.pi)
    assert all(kink.jumps for kink in kinks)
    smooth_velocity = motion_kinks(carried("max(0, t - 1)^2")._numeric, 0.0, 2.0)
    assert [(kink.before < 1 < kink.after, kink.jumps) for kink in smooth_velocity] == [(True, False)]


def test_an_event_on_a_velocity_that_jumps_at_a_kink_happens_there():
    system = carried("max(0, t - 1)")
    events = {"left behind": {"when": "y' + 0.5", "stop": True}, "never": "y' - 0.5"}
    run = system.simulate(system.assemble(), 3.0, every=0.25, events=events)
    ((name, at),) = run.end.events
    assert (name, at) == ("left behind", pytest.approx(1, rel=1e-13))
    assert run.t[-1] == at == run.end.t
    assert run.velocity("y")[-1] == pytest.approx(-1)


@pytest.mark.parametrize("law", ["select(t - 1, 2, 1)", "sign(t - 1)"])
def test_a_position_that_jumps_is_refused(law):
    system = carried(law)
    with pytest.raises(MomentreeError, match=r"the motion of joint 'x', .* jumps at t = 1 s, which no body can"):
        system.simulate(system.assemble(), 2.0)
    assert system.simulate(system.assemble(), 0.5).end.reason == "arrived"


def test_a_velocity_that_jumps_within_steps_of_velocities_is_refused():
    system = carried("abs(t - 1)")
    start, words = system.assemble(), r"its velocity jumps at t = 1 s.*Use formulation='hamiltonian'"
    with pytest.raises(MomentreeError, match=words):
        system.simulate(start, 2.0, formulation="lagrange", integrator="rk4", step=1e-3)
    with pytest.raises(MomentreeError, match=words):
        system.simulate_many([start], t_end=2.0, every=0.5, formulation="lagrange")
    many = system.simulate_many([start], t_end=2.0, every=0.5)
    one = system.simulate(start, 2.0, every=0.5)
    np.testing.assert_allclose(many.q[0, -1], one.q[-1], atol=1e-7)


def test_a_motion_with_kinks_goes_on_from_a_checkpoint():
    system = carried("abs(sin(60*t))")
    whole = new_simulation(system, system.assemble(), t_end=8.0, every=0.01)
    first = whole.advance()
    kept = whole.checkpoint()
    rest = list(iter(whole.advance, None))
    again = new_simulation(system, system.assemble(), t_end=8.0, every=0.01)
    again.restore(kept)
    more = list(iter(again.advance, None))
    assert 0 < first.t[-1] < 7.9
    for name in ("t", "q", "v", "work"):
        expected, found = (np.concatenate([getattr(block, name) for block in blocks]) for blocks in (rest, more))
        np.testing.assert_array_equal(found, expected)
