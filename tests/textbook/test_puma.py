"""The PUMA 560 of example 25: published gravity torques, mass matrix and Coriolis terms.

Source of the numbers: the Robotics Toolbox of P. I. Corke, whose tests keep them to four digits for the pose `qn` of
its model of this arm. Its data are those of Armstrong, Khatib and Burdick 1986 and Corke and Armstrong-Helouvry 1994,
with these differences from the example: d2 + d3 and d4 are 0.15005 and 0.4318 m, the centre of mass of link 3 is at
z = 0.0141 m, and that of link 4 on the other side of the wrist. Its frames (standard Denavit-Hartenberg) are turned by
pi about the first three axes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import momentree as mt

MODEL = Path(__file__).parents[2] / "examples" / "25_manipulator" / "model.toml"
QN = np.pi * np.array([0 + 1, 0.25 + 1, 1 + 1, 0, 0.25, 0])

GRAVITY = [0, 31.6399, 6.0351, 0, 0.0283, 0]  # N m
INERTIA = [
    [3.6594, -0.4044, 0.1006, -0.0025, 0.0000, 0.0000],
    [-0.4044, 4.4137, 0.3509, 0.0000, 0.0024, 0.0000],
    [0.1006, 0.3509, 0.9378, 0.0000, 0.0015, 0.0000],
    [-0.0025, 0.0000, 0.0000, 0.1925, 0.0000, 0.0000],
    [0.0000, 0.0024, 0.0015, 0.0000, 0.1713, 0.0000],
    [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.1941],
]  # kg m2, with the rotors
ROTORS = np.array([200e-6] * 3 + [33e-6] * 3) * np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686]) ** 2
VELOCITIES = np.array([1.0, 2, 3, 1, 2, 3])
CORIOLIS = [
    [-0.1735, -2.0494, -0.1178, -0.0002, -0.0045, 0.0001],
    [0.6274, 1.1572, 1.9287, -0.0015, -0.0003, 0],
    [-0.3608, -0.7734, -0.0018, -0.0009, -0.0064, 0],
    [0.0011, 0.0005, -0.0001, 0.0002, 0.0002, -0.0001],
    [-0.0002, 0.0028, 0.0046, -0.0002, 0, 0],
    [0.0001, 0, 0, 0, 0, 0],
]  # at these velocities


@pytest.fixture(scope="module")
def toolbox():
    """The arm of the toolbox, from that of the example."""
    m = mt.load(MODEL)
    m.torques.clear()
    m.parameters = [(name, {"d3": 0.15005 - 0.2435, "d4": 0.4318}.get(name, value)) for name, value in m.parameters]
    moved = {"link 3": (0, -0.070, 0.0141), "link 4": (0, 0, 0.019)}
    m.bodies = [replace(body, com=moved.get(body.name, body.com)) for body in m.bodies]
    with pytest.warns(mt.ModelWarning, match="link 3"):  # the published moments of inertia are impossible
        return m.build()


def test_gravity_torques_are_those_published(toolbox):
    assert toolbox.inverse_dynamics(QN, np.zeros(6), np.zeros(6)) == pytest.approx(GRAVITY, abs=6e-5)


def test_the_mass_matrix_is_that_published(toolbox):
    assert toolbox.mass_matrix(QN) + np.diag(ROTORS) == pytest.approx(np.array(INERTIA), abs=6e-5)


def test_velocity_torques_are_those_published(toolbox):
    quick = toolbox.bias(QN, VELOCITIES) - toolbox.bias(QN, np.zeros(6))
    assert quick == pytest.approx(np.array(CORIOLIS) @ VELOCITIES, abs=6e-5 * VELOCITIES.sum())


def test_shapes_that_are_only_drawn_do_not_change_the_arm(toolbox):
    m = mt.load(MODEL)
    m.torques.clear()
    m.bodies = [replace(body, shapes=()) for body in m.bodies]
    with pytest.warns(mt.ModelWarning, match="link 3"):
        plain = m.build()
    m = mt.load(MODEL)
    m.torques.clear()
    with pytest.warns(mt.ModelWarning, match="link 3"):
        drawn = m.build()
    assert np.array_equal(drawn.mass_matrix(QN), plain.mass_matrix(QN))


def test_inverse_dynamics_supplies_the_power_that_the_energy_gains(toolbox):
    """tau v = dE/dt along the path of the example, by central differences of the energy."""
    t = np.linspace(0.1, 1.9, 7)
    travel = np.radians([110, 15, -60, 60, -45, 90])

    def path(t):
        s = t[:, None] / 2
        return QN + travel * s**3 * (10 - 15 * s + 6 * s**2), travel * 15 * (s * (1 - s)) ** 2

    h = 1e-4
    q, v = path(t)
    a = (path(t + h)[1] - path(t - h)[1]) / (2 * h)
    after, before = (sum(np.array(toolbox.energy(*path(t + step))[:2])) for step in (h, -h))
    power = np.sum(toolbox.inverse_dynamics(q, v, a) * v, axis=1)
    assert power == pytest.approx((after - before) / (2 * h), abs=1e-6)
