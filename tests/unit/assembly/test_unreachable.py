"""Motions beyond reach: a run ends at the last closed instant, and names the loop and the prescribed joint."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.assembly.unreachable import beyond_reach

pytestmark = pytest.mark.filterwarnings("ignore::momentree.RunWarning")  # runs that fail say so; that is tested here

LIMIT = 2 * math.asin(0.625) - 0.9  # s: coupler and rocker in line, 2.5 m from the crank's tip to the rocker's bearing
STEPS = {"rk4": 0.002, "verlet": 0.002, "verlet4": 0.002}
PROJECTED = [
    *(("hamiltonian", integrator) for integrator in ("dop853", "dopri5", "rk4", "radau", "verlet", "verlet4")),
    *(("lagrange", integrator) for integrator in ("dop853", "rk4", "radau")),
    ("absolute", "dopri5"),
]


def crank_that_cannot_turn_over(code=None):
    m = mt.Model("four-bar")
    lengths = {"crank": 2.0, "coupler": 1.0, "rocker": 1.5}
    crank, coupler, rocker = (m.body(name, mt.rod(mass=1.0, length=x, along="x")) for name, x in lengths.items())
    m.joint("A", mt.Revolute("y", motion="-0.9 - t"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((2, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((1, 0, 0)), rocker.at((1.5, 0, 0)))
    return m.build(code=code)


def slider_drawn_too_far():
    m = mt.Model("spatial slider-crank")
    crank = m.body("crank", mass=0.12, com=(0, 0, 0.04), inertia=(1e-4, 1e-4, 1e-5))
    rod = m.body("rod", mass=0.5, com=(0.15, 0, 0), inertia=(4e-4, 4e-3, 4e-3))
    slider = m.body("slider", mass=2.0, com=(0, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    m.joint("A", mt.Revolute("x"), m.ground.at((0, 0.1, 0.12)), crank)
    m.joint("B", mt.Spherical(), crank.at((0, 0, 0.08)), rod)
    m.joint("S", mt.Prismatic("x", motion="0.2 + 0.3*t"), m.ground, slider)
    m.joint("U", mt.Universal("y", "z"), slider, rod.at((0.3, 0, 0)))
    return m.build()


def cylinder_driven_too_short():
    m = mt.Model("boom")
    sizes = {"boom": (10.0, 2.0), "cylinder": (2.0, 0.5), "piston": (1.0, 0.5)}
    boom, cylinder, piston = (m.body(name, mt.rod(mass=a, length=b, along="x")) for name, (a, b) in sizes.items())
    m.joint("pin", mt.Revolute("y"), m.ground, boom)
    m.joint("base", mt.Revolute("y"), m.ground.at((1, 0, -1)), cylinder)
    m.joint("stroke", mt.Prismatic("x", motion="1.2 - 0.5*t"), cylinder, piston)
    m.joint("tip", mt.Revolute("y"), piston, boom.at((1, 0, 0)))
    return m.build()


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("formulation", "integrator"), PROJECTED)
def test_a_crank_that_cannot_turn_over_stops_at_the_last_closed_instant(formulation, integrator):
    system, step = crank_that_cannot_turn_over(), STEPS.get(integrator)
    run = system.simulate(system.assemble(), 5.0, formulation=formulation, integrator=integrator, step=step)
    assert run.end.reason == "failed"
    assert LIMIT - (step or 1e-7) <= run.t[-1] <= LIMIT + 1e-8
    assert run.closure_error.max() < 1e-8  # nothing open is kept
    assert run.statistics.accepted + run.statistics.rejected < 3000
    told = run.end.message
    assert "joint 'C': closes a loop, but cannot: closure error 0.07" in told  # as assemble(t=...) says it
    assert "The prescribed motion of joint 'A', -0.9 - t, asks for more than the linkage can reach" in told
    assert any(told in warning for warning in run.warnings)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_rolled_code_stops_there_too(integrator):
    system = crank_that_cannot_turn_over("rolled")
    run = system.simulate(system.assemble(), 5.0, integrator=integrator)
    assert run.t[-1] == pytest.approx(LIMIT, abs=1e-7)
    assert "joint 'C': closes a loop, but cannot" in run.end.message


@pytest.mark.repeats(1, of="integrator")
@pytest.mark.parametrize("integrator", ["dop853", "verlet"])
@pytest.mark.parametrize(
    ("system", "guess", "limit", "loop", "driven"),
    [
        (cylinder_driven_too_short(), None, 2 * (1.2 - (math.sqrt(2) - 1)), "tip", "'stroke', 1.2 - 0.5*t,"),
        (slider_drawn_too_far(), {"A": 0.3}, 0.3005331, "B", "'S', 0.2 + 0.3*t,"),
    ],
    ids=["in a plane", "in space"],
)
def test_sliders_driven_beyond_reach(system, guess, limit, loop, driven, integrator):
    run = system.simulate(system.assemble(guess=guess), 5.0, integrator=integrator, step=STEPS.get(integrator))
    assert run.end.reason == "failed"
    assert limit - 0.002 <= run.t[-1] <= limit + 1e-6
    assert run.closure_error.max() < 1e-8
    assert f"joint '{loop}': closes a loop, but cannot" in run.end.message
    assert f"The prescribed motion of joint {driven} asks for more" in run.end.message


@pytest.mark.repeats(1)
@pytest.mark.parametrize(
    ("formulation", "stabilization"),
    [("hamiltonian", "none"), ("hamiltonian", "baumgarte"), ("hamiltonian", "leak"), ("lagrange", "none")],
)
@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_without_projection_it_does_not_arrive_either(formulation, stabilization, integrator):
    system = crank_that_cannot_turn_over()
    settings = {"formulation": formulation, "stabilization": stabilization, "integrator": integrator}
    run = system.simulate(system.assemble(), 5.0, **settings, step=STEPS.get(integrator))
    assert run.end.reason == "failed"
    assert "loops reach the end of what they can follow" in run.end.message
    assert run.statistics.accepted + run.statistics.rejected < 100_000


def test_a_sample_every_so_often_ends_before_too():
    system = crank_that_cannot_turn_over()
    run = system.simulate(system.assemble(), 5.0, every=0.1)
    np.testing.assert_allclose(run.t, [0, 0.1, 0.2, 0.3, 0.4], atol=1e-12)
    assert run.end.t == pytest.approx(LIMIT, abs=1e-7)


def test_the_file_keeps_what_was_computed(tmp_path):
    system = crank_that_cannot_turn_over()
    run = system.simulate(system.assemble(), 5.0, every=0.1, path=tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    assert again.end == run.end
    assert np.array_equal(again.q, run.q)


def test_what_can_be_followed_is_not_beyond_reach():
    m = four_bar()
    system = m.build()
    start = system.assemble({"A": 1.0})
    assert beyond_reach(system._numeric, start.q, 0.0, 10.0) == ""  # nothing is prescribed
    system = crank_that_cannot_turn_over()
    start = system.assemble()
    assert beyond_reach(system._numeric, start.q, 0.0, 1.0) == ""  # for now
