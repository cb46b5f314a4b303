"""Radau IIA of order 9: coefficients, stability function, stiff problems, and stages in the lanes of a vector."""

from __future__ import annotations

import math

import numpy as np
import pytest

from momentree.compile.emit.jacobian_code import Differentiated
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.tape import Tape
from momentree.integrate.radau.step import IMPLICIT
from momentree.integrate.radau.tableau import ORDER_9, RADAU9
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.stepper import RungeKuttaStepper
from momentree.integrate.stability import stability_function

KINDS = [Differentiated, StraightLine]


def stepper(formula, n, kind=Differentiated, target=None):
    tape, names = Tape(), [f"y{i}" for i in range(n)]
    y, t = [tape.input(name) for name in names], tape.input("t")
    tape.outputs(formula(y, t))
    code = kind.of(tape, (("y", tuple(names)), ("t", ("t",))), Target.host())
    return RungeKuttaStepper(code, RADAU9, np.zeros(n), [], emitter=IMPLICIT, target=target)


def run(s, y, t_end, rtol=1e-9, atol=1e-11, h=1e-6):
    integration = s.start(np.asarray(y, dtype=float)[:, None], 0.0, h, rtol, atol)
    status, _ = integration.advance(t_end, 100_000)
    assert status == Status.ARRIVED
    return integration


# --- coefficients ---


def test_the_nodes_are_those_of_radau_and_the_stages_are_collocation():
    # Hairer and Wanner 1996, IV.5: zeros of d^4/dx^4 x^4 (x - 1)^5; C(5), and the last stage is the solution
    nodes = np.polynomial.Polynomial.fromroots([0] * 4 + [1] * 5).deriv(4).roots()
    np.testing.assert_allclose(ORDER_9.c, np.sort(nodes.real), atol=1e-11)
    a, c = np.array(ORDER_9.a), np.array(ORDER_9.c)
    for k in range(1, 6):
        np.testing.assert_allclose(a @ c ** (k - 1), c**k / k, rtol=0, atol=1e-15)
    for k in range(1, 10):
        assert a[-1] @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-15)


def test_the_transformation_parts_one_real_from_two_pairs_of_complex_roots():
    T, T_inverse, A_inverse = (np.array(x) for x in (ORDER_9.transformation, ORDER_9.inverse, ORDER_9.a_inverse))
    expected = np.zeros((5, 5))
    expected[0, 0] = ORDER_9.gamma
    for k, (alpha, beta) in enumerate(ORDER_9.pairs):
        expected[1 + 2 * k : 3 + 2 * k, 1 + 2 * k : 3 + 2 * k] = [[alpha, -beta], [beta, alpha]]
    np.testing.assert_allclose(T_inverse @ A_inverse @ T, expected, rtol=0, atol=2e-13)
    np.testing.assert_allclose(T @ T_inverse, np.eye(5), rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.array(ORDER_9.a) @ A_inverse, np.eye(5), rtol=0, atol=1e-14)


def test_the_error_vanishes_for_polynomials_of_degree_5():
    for k in range(1, 6):
        assert (k == 1) + np.array(ORDER_9.error) @ np.array(ORDER_9.c) ** k / k == pytest.approx(0, abs=1e-13)
    assert abs(np.array(ORDER_9.error) @ np.array(ORDER_9.c) ** 6 / 6) > 1e-4


def pade(z, above=4, below=5):
    """The Pade approximation of exp(z), Hairer and Wanner 1996, IV.3."""

    def half(j, k, z):
        shares = (math.comb(k, i) * math.factorial(j + k - i) / math.factorial(j + k) for i in range(k + 1))
        return sum(share * z**i for i, share in enumerate(shares))

    return half(below, above, z) / half(above, below, -z)


def test_the_stability_function_is_the_pade_approximation_of_order_9():
    P, Q = stability_function(RADAU9)
    for z in (-3.0, -0.5, 0.25, 1.0 + 2.0j):
        found = np.polynomial.polynomial.polyval(z, P) / np.polynomial.polynomial.polyval(z, Q)
        assert found == pytest.approx(pade(z), abs=1e-13)
    assert abs(pade(-0.5) - math.exp(-0.5)) < 1e-11


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("z", [-0.5, -30.0, -1e6, 3j, -1e3 + 1e5j])
def test_one_step_of_a_linear_system_is_the_stability_function(z, kind):
    def turning(y, t):
        return [z.real * y[0] - z.imag * y[1], z.imag * y[0] + z.real * y[1]]

    z = complex(z)
    integration = stepper(turning, 2, kind).start(np.array([[1.0], [0.0]]), 0.0, 1.0, 0.1, 1e6)
    assert integration.advance(1.0, 10)[0] == Status.ARRIVED
    assert integration.counts[0] == 1
    assert complex(*integration.y[:2]) == pytest.approx(pade(z), abs=1e-12 if kind is Differentiated else 1e-7)


# --- stiff problems ---


@pytest.mark.parametrize("kind", KINDS)
def test_van_der_pol(kind):
    # Hairer and Wanner 1996, IV.10, eps = 1e-6, with the solution printed there
    s = stepper(lambda y, t: [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) * 1e6], 2, kind)
    integration = run(s, [2, 0], 2.0)
    np.testing.assert_allclose(integration.y[:2], (0.1706167732170456e1, -0.8928097010248257e0), rtol=1e-10)


@pytest.mark.parametrize("target", [Target(), Target.host()], ids=["oldest", "host"])
def test_stages_in_lanes_do_what_single_ones_do(target):
    # the oldest processor has two lanes, of five stages the last one is by itself
    def orbit(y, t):
        r = (y[0] * y[0] + y[1] * y[1]) ** 1.5
        return [y[2], y[3], -y[0] / r, -y[1] / r]

    integration = run(stepper(orbit, 4, target=target), [0.5, 0, 0, math.sqrt(3)], 2 * math.pi, 1e-11, 1e-13)
    np.testing.assert_allclose(integration.y[:4], [0.5, 0, 0, math.sqrt(3)], rtol=0, atol=1e-8)
    assert integration.counts[0] < 250


def test_a_derivative_that_is_not_a_number_leaves_nothing_behind():
    s = stepper(lambda y, t: [(1 - t) ** 0.5 - y[0]], 1)
    integration = s.start(np.zeros((1, 1)), 0.0, 1e-6, 1e-8, 1e-10)
    status, _ = integration.advance(2.0, 100_000)
    assert status == Status.NOT_FINITE
    assert integration.t == pytest.approx(1.0, abs=1e-6)
