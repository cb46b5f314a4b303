"""Rusanov 2014: both examples of the paper, and where its argument does not hold.

P. G. Rusanov, "The algorithm for generating dynamics equations for a mechanical system with a finite number of degrees
of freedom based on the theorem of change of kinetic energy" (in Russian), Engineering Journal: Science and Innovation,
2014, issue 12. Its (8) and (9) have a misprint in the sign of the weight; (10) and the equations at the end of example
2 are right. Numbers, here of residuals T_s - Q_s: from a program written apart from this library, which evaluates the
final equations of the paper, and for the top agrees with Lagrange's equations to 1e-15.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import momentree as mt
from momentree.equations.balance import energy
from momentree.equations.energy import energy_form, equations_of_motion, power
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from rusanov_examples import SLIDER, slider
from symbolic import is_zero, lagrange, state, symbolic


def top() -> mt.Model:
    """An asymmetric heavy top on a fixed point, by Euler angles ZXZ: three hinges and two carriers without mass."""
    m = mt.Model("top")
    precession, nutation = (m.body(name, massless=True) for name in ("precession", "nutation"))
    body = m.body("top", mass=1.4, com=(0.05, -0.1, 0.4), inertia=(0.3, 0.5, 0.2))
    m.joint("psi", mt.Revolute("z"), m.ground, precession)
    m.joint("theta", mt.Revolute("x"), precession, nutation)
    m.joint("phi", mt.Revolute("z"), nutation, body)
    return m


def without_gyroscopic_term(form) -> list[float]:
    """T_s - Q_s by (4) of the paper, as printed: sum_b [ M a . v_s + I eps . w_s ] - Q_s."""
    bodies = list(zip(form.inertia, form.acceleration, form.partial, strict=True))
    T = [
        sum(a.linear @ v[s].linear * I.mass + I.turning(a.angular) @ v[s].angular for I, a, v in bodies)
        for s in range(len(form.Q))
    ]
    return [t - q for t, q in zip(T, form.Q, strict=True)]


# --- the examples of the paper ---


@pytest.mark.parametrize(
    ("number", "residual"),
    [(1, [-0.8283495477767828, -4.348210863964209]), (2, [0.2158252261116086, -6.271301729055894])],
)
def test_examples_in_numbers(number, residual):
    mechanism = slider(number).build().mechanism
    found = equations_of_motion(Evaluation(mechanism, [0.0, 0.5]), u=[0.0, 1.7], du=[0.3, -0.9])
    assert found == pytest.approx(residual, abs=1e-14)


def test_example_1_is_equation_10():
    mechanism = symbolic(slider(1).build(free=SLIDER).mechanism)
    M, m, l, g, c0 = map(sympy.Symbol, SLIDER)
    q, qd, qdd, _ = state(2)
    (_, phi), (_, w), (a, eps) = q, qd, qdd
    first, second = equations_of_motion(Evaluation(mechanism, q), qd, qdd)
    assert is_zero(first - (M * a + m * (a + l * eps * cos(phi) - l * w**2 * sin(phi))))
    assert is_zero(second - l * (m * (a * cos(phi) + l * eps) + m * g * sin(phi) - c0 * l * cos(phi)))


def test_example_2_is_the_last_equation_of_the_paper():
    mechanism = symbolic(slider(2).build(free=SLIDER).mechanism)
    M, m, l, g, c0 = map(sympy.Symbol, SLIDER)
    q, qd, qdd, _ = state(2)
    (_, phi), (_, w), (a, eps) = q, qd, qdd
    first, second = equations_of_motion(Evaluation(mechanism, q), qd, qdd)
    half = sympy.Rational(1, 2)
    assert is_zero(first - (M * a + m * (a + half * l * eps * cos(phi) - half * l * w**2 * sin(phi))))
    moments = m * g * l * sin(phi) / 2 - c0 * l**2 * cos(phi)
    assert is_zero(second - (m * l * cos(phi) * a / 2 + m * l**2 / 3 * eps + moments))


@pytest.mark.parametrize("number", [1, 2])
def test_examples_are_lagranges_equations(number):
    mechanism = symbolic(slider(number).build(free=SLIDER).mechanism)
    q, qd, qdd, t = state(2)
    form, (kinetic, potential) = energy_form(Evaluation(mechanism, q), qd, qdd), energy(Evaluation(mechanism, q), qd)
    assert all(is_zero(T - row) for T, row in zip(form.T, lagrange(kinetic, q, qd, qdd, t), strict=True))
    assert all(is_zero(Q + sympy.diff(potential, x)) for Q, x in zip(form.Q, q, strict=True))


def test_accelerations_must_not_be_expanded_before_the_projection():
    # the paper's procedure, in the order against which it warns: in dT/dt, all velocities to zero but one, which is one
    mechanism = symbolic(slider(1).build(free=SLIDER).mechanism)
    _, m, l, _, _ = map(sympy.Symbol, SLIDER)
    q, qd, qdd, _ = state(2)
    form = energy_form(Evaluation(mechanism, q), qd, qdd)
    expanded = power(Evaluation(mechanism, q), qd, qdd).kinetic
    assert is_zero(expanded - sum(T * v for T, v in zip(form.T, qd, strict=True)))
    lost = form.T[0] - expanded.subs({qd[0]: 1, qd[1]: 0}, simultaneous=True)
    assert is_zero(lost + m * l * qd[1] ** 2 * sin(q[1]))


# --- where the argument of the paper does not hold ---


def test_heavy_top_needs_the_gyroscopic_term_though_its_power_is_zero():
    q, u, du = [0.4, 0.9, -1.1], [1.3, -0.6, 2.1], [-0.7, 0.5, 0.8]
    mechanism = top().build().mechanism
    residual = [0.15964509542372926, -4.504363087194548, -0.5650067734926946]
    naive = [0.3152106426479335, -4.227435069143567, -0.5821869642359693]
    assert equations_of_motion(Evaluation(mechanism, q), u, du) == pytest.approx(residual, abs=1e-14)
    without = without_gyroscopic_term(energy_form(Evaluation(mechanism, q), u, du))
    assert without == pytest.approx(naive, abs=1e-14)
    # three wrong equations, and the one equation from which the paper concludes does not see it
    assert np.abs(np.subtract(without, residual)).min() > 0.01
    assert np.dot(without, u) == pytest.approx(np.dot(residual, u), abs=1e-14)


def test_partial_angular_velocities_are_no_derivatives_of_a_vector():
    # of a vector H of finite rotations, (5) of the paper, dw_s/dq_r would equal dw_r/dq_s; in body axes it is
    # dw_s/dq_r - dw_r/dq_s = w_s x w_r
    q, qd, qdd, _ = state(3)
    by_velocity = energy_form(Evaluation(symbolic(top().build().mechanism), q), qd, qdd).partial[2]
    w = [v.angular for v in by_velocity]
    for s, r in ((0, 1), (0, 2), (1, 2)):
        pairs = zip(w[s], w[r], w[s].cross(w[r]), strict=True)
        closure_errors = [(sympy.diff(a, q[r]) - sympy.diff(b, q[s]), product) for a, b, product in pairs]
        assert all(is_zero(closure_error - product) for closure_error, product in closure_errors)
        assert not all(is_zero(closure_error) for closure_error, _ in closure_errors)


def test_bead_on_a_turning_rod_gains_energy_from_the_reaction():
    # prescribed angle Omega t: T_s = Q_s gives r'' - Omega^2 r = 0; dT/dt = W of active forces would give + Omega^2 r
    m = mt.Model("bead", gravity=(0, 0, 0))
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    bead = m.body("bead", mass=0.5)
    m.joint("turning", mt.Revolute("z", motion="3*t"), m.ground, rod)
    m.joint("r", mt.Prismatic("x"), rod, bead)
    mechanism = m.build().mechanism
    mass, Omega, r, rd, rdd = 0.5, 3.0, 0.7, 0.2, 9 * 0.7
    assert equations_of_motion(Evaluation(mechanism, [r], 0.4), [rd], [rdd]) == pytest.approx([0], abs=1e-14)
    balance = power(Evaluation(mechanism, [r], 0.4), [rd], [rdd])
    assert balance.active == 0
    assert balance.rheonomic == pytest.approx(2 * mass * Omega**2 * r * rd, rel=1e-14)
    assert balance.kinetic == pytest.approx(mass * (rd * rdd + Omega**2 * r * rd), rel=1e-14)
    assert balance.surplus == pytest.approx(0, abs=1e-14)


def test_centre_of_mass_of_the_rod_moves_as_the_paper_says():
    # V_C = V_x i + l w tau / 2, a_C = x'' i + l phi'' tau / 2 + l phi'^2 n / 2, in axes of the ground
    mechanism = symbolic(slider(2).build(free=SLIDER).mechanism)
    l = sympy.Symbol("l")
    q, qd, qdd, _ = state(2)
    form = energy_form(Evaluation(mechanism, q), qd, qdd)
    R = records(Evaluation(mechanism, q))[2].X_0.rotation
    tau, n = sympy.Matrix([cos(q[1]), sin(q[1]), 0]), sympy.Matrix([-sin(q[1]), cos(q[1]), 0])
    i = sympy.Matrix([1, 0, 0])
    V = qd[0] * i + l * qd[1] / 2 * tau
    a = qdd[0] * i + l * qdd[1] / 2 * tau + l * qd[1] ** 2 / 2 * n
    for found, said in ((form.velocity[1], V), (form.acceleration[1], a)):
        assert all(is_zero(x - y) for x, y in zip(R @ found.linear, said, strict=True))
