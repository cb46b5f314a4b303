"""Rusanov 2014: misprints of example 1 and 2, against the equations that follow in the paper itself, (10) and the last.

The larger errors, the missing w x I w in (4), the vector H of finite rotations in (5) and the step from (2) to (3), are
in test_rusanov.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import momentree as mt

FOLDER = Path(__file__).parents[2] / "examples" / "03_slider_with_a_rod"
M, m, l, c0, g = 3.0, 1.2, 0.8, 15.0, 9.81
Q, U, DU = np.array([0.2, 0.5]), np.array([0.7, 1.7]), np.array([0.3, -0.9])
sin, cos = np.sin(Q[1]), np.cos(Q[1])
TAU = np.array([cos, sin, 0.0])
WEIGHT = np.array([0.0, -g, 0.0])
F_B = c0 * l * np.array([1 - sin, cos, 0.0])  # of the thread, after (10)
A_B = DU[0] * np.array([1.0, 0, 0]) + l * DU[1] * TAU + l * U[1] ** 2 * np.array([-sin, cos, 0])


def test_the_sign_of_the_weight_in_8_and_9():
    system = mt.load(FOLDER / "model.toml").build()
    residual = system.inverse_dynamics(Q, U, DU)  # T_s - Q_s: factors of x' and of phi' = V_tau / l
    assert residual[0] == pytest.approx(M * DU[0] + m * A_B[0])
    assert residual[1] / l == pytest.approx((m * A_B - m * WEIGHT - F_B) @ TAU)
    assert abs((m * A_B + m * WEIGHT - F_B) @ TAU - residual[1] / l) > 1  # as (8) is printed
    # (9): m a_tau = m g_tau + F_tau; (10) has -m g sin phi, which is + m g_tau
    assert m * WEIGHT @ TAU == pytest.approx(-m * g * sin)
    ten = m * (DU[0] * cos + l * DU[1]) + m * g * sin - c0 * l * cos
    assert residual[1] / l == pytest.approx(ten)
    assert abs(m * A_B @ TAU - (-m * WEIGHT @ TAU + F_B @ TAU) - ten) > 1  # as (9) is printed


def test_internal_active_forces_count_too():
    """The text after (5) has external forces alone; the thread between slider and rod is internal."""
    system = mt.load(FOLDER / "model.toml").build()
    model = mt.load(FOLDER / "model.toml")
    without = mt.Model("without the thread", gravity=(0, "-g", 0))
    for name, value in model.parameters:
        without.parameter(name, value)
    slider = without.body("slider", mass="M")
    rod = without.body("rod", mass="m", com=(0, "-l", 0))
    without.joint("x", mt.Prismatic("x"), without.ground, slider)
    without.joint("phi", mt.Revolute("z"), slider, rod)
    internal = without.build().bias(Q, U) - system.bias(Q, U)
    assert internal == pytest.approx([0, c0 * l**2 * cos])  # as in (10); no force along the guide


def test_the_kinetic_energy_of_example_2_has_the_square_of_v_a():
    system = mt.load(FOLDER / "model2.toml").build()
    V_C = U[0] * np.array([1.0, 0, 0]) + l / 2 * U[1] * TAU
    right = (M * U[0] ** 2 + m * V_C @ V_C + m * l**2 / 12 * U[1] ** 2) / 2
    assert float(system.energy(Q, U).kinetic) == pytest.approx(right)
    assert abs(right - (M * U[0] * Q[0] + m * V_C @ V_C + m * l**2 / 12 * U[1] ** 2) / 2) > 0.1  # M (V_A . A)
