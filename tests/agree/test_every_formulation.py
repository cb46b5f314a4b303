"""Every formulation of the registry, a new one too, moves a tree as the others do and keeps its energy."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.equations.formulations import FORMULATIONS


def swing() -> mt.Model:
    """A rod on a ball, a slider on a spring along it, and a bob whose hinge moves as prescribed."""
    m = mt.Model("swing")
    rod = m.body("rod", mt.box(mass=1.0, size=(0.1, 0.2, 1.0)))
    slider = m.body("slider", mt.box(mass=0.5, size=(0.1, 0.1, 0.1)))
    bob = m.body("bob", mt.box(mass=0.2, size=(0.3, 0.1, 0.1)))
    m.joint("ball", mt.Spherical(), m.ground, rod.at((0.02, 0, 0.5)))
    m.joint("rail", mt.Prismatic((0.1, 0, -1), spring=40.0, rest=0.1), rod, slider)
    m.joint("hinge", mt.Revolute("y", motion="0.2*sin(3*t)"), slider, bob.at((0.2, 0, 0)))
    return m


@pytest.fixture(scope="module")
def system():
    return swing().build()


@pytest.fixture(scope="module")
def start(system):
    return system.assemble({"rail": 0.2}, velocities={"ball": (0.3, 1.0, -0.5), "rail": 0.4})


@pytest.fixture(scope="module")
def expected(system, start):
    return system.simulate(start, 1.0, formulation="lagrange", rtol=1e-11, every=0.1)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_tree_moves_the_same_and_its_energy_balances(system, start, expected, formulation):
    run = system.simulate(start, 1.0, formulation=formulation, rtol=1e-11, every=0.1)
    np.testing.assert_allclose(run.q, expected.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.v, expected.v, rtol=0, atol=1e-7)
    assert np.abs(run.energy.balance).max() < 1e-8 * run.energy.through
