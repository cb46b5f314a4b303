"""Belkov and Konoplev 1997: the two-link pendulum on a slider, in numbers and in the letters of the paper.

V3, X3, Y3, Z2 and b are the paper's formulas (section 2), with their misprints corrected, evaluated by an independent
program; A and d were checked there against Lagrange's equations. The slider has no mass.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from momentree.equations.aggregative import first_form
from momentree.equations.evaluation import Evaluation
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Universal

NUMBERS = {"m2": 2.0, "m3": 1.5, "J44": 0.01, "J55": 0.08, "J66": 0.09, "I44": 0.02, "I55": 0.05, "I66": 0.06}
NUMBERS |= {"r2": 0.3, "p": 0.7, "r3": 0.4, "g1": 0.5, "g2": -1.2, "g3": -9.81}
Q, VELOCITIES = [0.25, 0.6, -0.9], [0.8, -1.1, 2.3]
GOLDEN = {
    "V3": [-0.6266615277019868, 0.4972879746165315, 0.77, 0.8616596005902318, -0.6837709650977308, 2.3],
    "X3": [1.1437623416180225, 1.4413215137145694, 0.0, -1.5726732197247808, -1.9818170813575329, 0.0],
    "Y3": [
        -4.244281104314289,
        -1.3487235286905028,
        2.37818049762904,
        -0.04718019659174342,
        -1.1296357363737939,
        -0.5571647459766402,
    ],
    "Z2": [
        -4.420778876255591,
        2.486279611157632,
        2.37818049762904,
        -0.9142017508848479,
        -2.3299616649932227,
        1.1832309818337017,
    ],
    "b": [2.486279611157632, -2.3299616649932227, -0.5571647459766402],
}
A = [[3.5, 0.0, 0.3729659809623987], [0.0, 1.6414800905637912, 0.0], [0.3729659809623987, 0.0, 0.30000000000000004]]
d = [6.686279611157632, -18.137865210191126, -2.9069335508001806]
ALPHA, BETA = 0.4604667322120994, 0.4699961457764901


@pytest.fixture(scope="module")
def system():
    m = mt.Model("pendulum on a slider", gravity=("g1", "g2", "g3"))
    for name, value in NUMBERS.items():
        m.parameter(name, value)
    slider = m.body("slider", massless=True)
    link2 = m.body("link 2", mass="m2", com=("r2", 0, 0), inertia=("J44", "J55", "J66"))
    link3 = m.body("link 3", mass="m3", com=("r3", 0, 0), inertia=("I44", "I55", "I66"))
    m.joint("o", mt.Prismatic("y"), m.ground, slider)
    m.joint("th5", mt.Revolute("y"), slider, link2)
    m.joint("th6", mt.Revolute("z"), link2.at(("p", 0, 0)), link3)
    return m.build()


def test_the_sweep_in_numbers(system):
    form = first_form(Evaluation(system.mechanism, Q), VELOCITIES)
    found = {"V3": form.V[2], "X3": form.X[2], "Y3": form.Y[2], "Z2": form.Z[1], "b": form.b}
    for name, golden in GOLDEN.items():
        assert [*found[name]] == pytest.approx(golden, abs=1e-14), name


def test_mass_matrix_and_second_form_in_numbers(system):
    assert system.mass_matrix(Q) == pytest.approx(np.array(A), abs=1e-14)
    assert system.bias(Q, VELOCITIES) == pytest.approx(np.array(d), abs=1e-13)


@pytest.mark.parametrize("by", ["aggregative", "energy"])
@pytest.mark.repeats(1)
def test_the_letters_of_the_paper(system, by):
    equations = system.equations(by, velocities={"th5": "w5", "th6": "w6"})
    alpha, beta, w5, w6 = sp.symbols("alpha beta w5 w6", real=True)
    assert [*equations.b] == [beta * w6**2, 2 * alpha * w5 * w6, -alpha * w5**2]
    assert [symbol.name for symbol, _ in equations.definitions] == ["alpha", "beta", "gamma"]
    m, r, p, I44, I55, angle = sp.symbols("m3 r3 p I44 I55 th6", real=True)
    s, c = sp.sin(angle), sp.cos(angle)
    meaning = dict(equations.definitions)
    assert sp.expand(meaning[alpha] - ((I44 - I55) * c - m * (p + r * c) * r) * s) == 0
    assert meaning[beta] == -m * r * s
    at = {sp.Symbol(name, real=True): value for name, value in {**NUMBERS, "th6": Q[2]}.items()}
    assert float(meaning[alpha].subs(at)) == pytest.approx(ALPHA, abs=1e-15)
    assert float(meaning[beta].subs(at)) == pytest.approx(BETA, abs=1e-15)


def test_the_whole_equations_in_numbers(system):
    equations = system.equations("aggregative").expanded
    at = {sp.Symbol(name, real=True): value for name, value in NUMBERS.items()}
    at |= dict(zip((*equations.coordinates, *equations.velocities), (*Q, *VELOCITIES), strict=True))
    assert np.array(equations.A.subs(at), dtype=float) == pytest.approx(np.array(A), abs=1e-14)
    left_minus_right = np.array((equations.b - equations.Q).subs(at), dtype=float).ravel()
    assert left_minus_right == pytest.approx(np.array(d), abs=1e-13)


def test_the_derivative_of_the_motion_subspace_matters_for_joints_with_several_degrees_of_freedom(monkeypatch):
    """(2.2) of the paper lacks the derivative of the axes, which is not zero for a universal joint."""
    m = mt.Model("universal", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.3, 0.4))
    m.joint("cross", mt.Universal("x", "y"), m.ground, body)
    system = m.build()
    at, u = Evaluation(system.mechanism, [0.4, -0.7]), [1.1, 0.6]
    right = first_form(at, u).b
    monkeypatch.setattr(Universal, "motion_subspace_derivative", JointType.motion_subspace_derivative)
    printed = first_form(at, u).b
    assert abs(np.array(right) - np.array(printed)).max() > 0.01
