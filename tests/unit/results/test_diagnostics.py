"""Warnings of runs: loops that are nearly singular from the start to the end, starts that are far from t = 0."""

from __future__ import annotations

import math

import pytest

import momentree as mt
from momentree.errors import RunWarning


def triangle(tilt: float) -> mt.Model:
    """Two hinges and a slide across the line between them, but for a tilt: at its dead point, which holds nothing."""
    m = mt.Model("triangle")
    a, b = (m.body(name, mass=0.3, com=(0.1, 0, 0), inertia=(1e-4, 1e-3, 1e-3)) for name in "ab")
    m.joint("A", mt.Revolute("z"), m.ground, a)
    m.joint("B", mt.Revolute("z", spring=1500.0), m.ground.at((0, 0.035, 0)), b)
    axis = (math.cos(tilt), math.sin(tilt), 0)
    m.joint("slide", mt.Prismatic(axis), a.at((0.1, 0, 0)), b.at((0.1, -0.035, 0)))
    return m


@pytest.mark.parametrize("tilt", [1e-6, 3e-5])
def test_a_loop_that_is_nearly_singular_is_named(tilt):
    with pytest.warns(RunWarning, match=r"'slide: translation along .* is nearly singular from the start to the end"):
        run = triangle(tilt).build().simulate(t_end=0.01)
    assert run.end.reason == "arrived"


@pytest.mark.parametrize("tilt", [1e-2, 0.3])
def test_a_loop_that_surely_holds_is_not(tilt):
    assert not triangle(tilt).build().simulate(t_end=0.01).warnings


def test_a_loop_that_only_passes_a_singular_configuration_is_not():
    m = mt.Model("parallelogram")
    rod = m.body("rod", mt.rod(mass=0.01, length=0.1))
    for name, x in (("A", 0.0), ("B", 0.1)):
        crank = m.body(f"crank{name}", mt.rod(mass=0.005, length=0.04))
        m.joint(name, mt.Revolute("z"), m.ground.at((x, 0, 0)), crank)
        m.joint(f"{name}_rod", mt.Revolute("z"), crank.at((0.04, 0, 0)), rod.at((x, 0, 0)))
    system = m.build()
    start = system.assemble({"A": 1e-5, "B": 1e-5}, guess={"A_rod": -1e-5}, velocities={"A": 5.0})
    assert not system.simulate(start, t_end=0.1).warnings


@pytest.mark.parametrize("settings", [{}, {"integrator": "dopri5"}, {"integrator": "rk4", "step": 1e-3}], ids=str)
@pytest.mark.filterwarnings("ignore::momentree.errors.RunWarning")
def test_a_start_so_far_from_zero_that_steps_are_rounded_is_told(settings):
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)).at((-0.5, 0, 0)))
    system = m.build()
    expected = system.simulate(system.assemble({"A": 0.3}), 1.0, **settings)
    for t in (0.0, 1e2, 1e4, 1e8, 1e10, 1e12):
        run = system.simulate(system.assemble({"A": 0.3}, t=t), t + 1.0, **settings)
        told = any("steps are rounded to one: the motion may be late by" in warning for warning in run.warnings)
        assert told == (t >= 1e8)
        assert told or run["A"][-1] == pytest.approx(expected["A"][-1], abs=1e-8)
