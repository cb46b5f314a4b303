"""What default settings reach: 1e-9 on smooth textbook problems, in trees and in loops.

References are the same motions in the other formulation at the smallest tolerance; where numbers are stored, the tests
of these motions ask the same (test_classical_motions.py, test_loop_benchmarks.py).
"""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, slider_crank

DEFAULT = 1e-9


def furuta():
    m = mt.Model("Furuta's pendulum", gravity=(0, 0, -9.81))
    arm = m.body("arm", mt.rod(mass=0.3, length=0.5, along="x"))
    pendulum = m.body("pendulum", mt.rod(mass=0.2, length=0.6, along="-z"))
    m.joint("A", mt.Revolute("z"), m.ground, arm)
    m.joint("B", mt.Revolute("x"), arm.at((0.5, 0, 0)), pendulum)
    system = m.build()
    return system, system.assemble({"B": 2.5}, velocities={"A": 3.0}), 10.0


def flipping():
    m = mt.Model("flipping body", gravity=(0, 0, 0))
    m.joint("F", mt.Free(), m.ground, m.body("body", mass=1.0, com=(0, 0, 0), inertia=(1.0, 2.0, 3.0)))
    system = m.build()
    return system, system.assemble(velocities={"F": [0.3, -0.2, 0.1, 0.1, 2.0, 0.1]}), 10.0


def gimbals():
    m = mt.Model("gimbals", gravity=(0, 0, -9.81))
    sizes = {"a": (0.02, 0.03, 0.04), "b": (0.01, 0.02, 0.03), "c": (0.1, 0.1, 0.02)}
    a, b, c = (m.body(x, mass=1.0, com=(0, 0, 0.1 * (x == "c")), inertia=i) for x, i in sizes.items())
    m.joint("A", mt.Revolute("z"), m.ground, a)
    m.joint("B", mt.Revolute("x"), a, b)
    m.joint("C", mt.Revolute("z"), b, c)
    system = m.build()
    return system, system.assemble({"B": 1.0}, velocities={"C": 60.0}), 10.0


def spatial_slider_crank():
    m = mt.Model("spatial slider-crank")
    crank = m.body("crank", mass=0.12, com=(0, 0, 0.04), inertia=(1e-4, 1e-4, 1e-5))
    rod = m.body("rod", mass=0.5, com=(0.15, 0, 0), inertia=(4e-4, 4e-3, 4e-3))
    slider = m.body("slider", mass=2.0, com=(0, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    m.joint("A", mt.Revolute("x"), m.ground.at((0, 0.1, 0.12)), crank)
    m.joint("B", mt.Spherical(), crank.at((0, 0, 0.08)), rod)
    m.joint("S", mt.Prismatic("x"), m.ground, slider)
    m.joint("U", mt.Universal("y", "z"), slider, rod.at((0.3, 0, 0)))
    system = m.build()
    return system, system.assemble({"A": 0.0}, velocities={"A": 6.0}, guess={"S": 0.2}), 5.0


def linkage(make, angle, velocity):
    def made():
        system = make().build()
        first = system.mechanism.bodies[0].joint.name
        return system, system.assemble({first: angle}, velocities={first: velocity}), 5.0

    return made


SMOOTH = {
    "Furuta": furuta,
    "flipping body": flipping,
    "gimbals": gimbals,
    "spatial slider-crank": spatial_slider_crank,
    "four-bar": linkage(four_bar, 1.0, 2.0),
    "slider-crank": linkage(slider_crank, 0.5, 6.0),
    "Bennett": linkage(bennett, 0.8, 3.0),
}


@pytest.mark.repeats(1)
@pytest.mark.parametrize("problem", SMOOTH.values(), ids=SMOOTH)
def test_default_settings_reach_a_billionth(problem):
    system, start, t_end = problem()
    run = system.simulate(start, t_end, every=t_end / 50)
    reference = system.simulate(start, t_end, every=t_end / 50, rtol=1e-14, formulation="lagrange")
    assert np.abs(run.q - reference.q).max() < DEFAULT
    assert np.abs(run.v - reference.v).max() < DEFAULT * max(1.0, np.abs(run.v).max())
    assert not run.warnings
