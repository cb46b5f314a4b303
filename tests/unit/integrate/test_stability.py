"""Stability limits on exponential decay: published numbers, and steps on both sides of each limit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from momentree.errors import MomentreeError
from momentree.integrate.methods import METHODS
from momentree.integrate.stability import real_stability_limit, stability_function
from momentree.integrate.tableau import ImplicitTableau

RUNGE_KUTTA = {name: method.tableau for name, method in METHODS.items() if method.tableau is not None}
EXPLICIT = {name: tableau for name, tableau in RUNGE_KUTTA.items() if not isinstance(tableau, ImplicitTableau)}

PUBLISHED = {
    "euler": 2.0,  # 1 - s = -1
    "rk4": 2.785293563405281,  # the real root of s^3 - 4 s^2 + 12 s - 24: Hairer and Wanner 1996, IV.2
    "dopri5": 3.3,  # to two digits: Hairer and Wanner 1996, IV.2
    "radau": math.inf,  # A-stable: Hairer and Wanner 1996, IV.5
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_limits_are_the_published_ones(name):
    assert real_stability_limit(name) == pytest.approx(PUBLISHED[name], rel=1e-2 if name == "dopri5" else 1e-12)


def test_the_limit_of_rk4_is_the_root_of_its_polynomial():
    # 1 - s + s^2/2 - s^3/6 + s^4/24 = 1
    s = real_stability_limit("rk4")
    assert s**3 - 4 * s**2 + 12 * s - 24 == pytest.approx(0, abs=1e-12)


def test_the_stability_function_of_radau_is_the_pade_approximation():
    # Hairer and Wanner 1996, IV.3: the (2, 3) Pade approximation of exp(z)
    P, Q = stability_function(RUNGE_KUTTA["radau"])
    np.testing.assert_allclose(P, [1, 2 / 5, 1 / 20, 0], atol=1e-14)
    np.testing.assert_allclose(Q, [1, -3 / 5, 3 / 20, -1 / 60], atol=1e-14)


@pytest.mark.parametrize("name", RUNGE_KUTTA)
def test_the_stability_function_is_the_exponential_up_to_the_order(name):
    P, Q = stability_function(RUNGE_KUTTA[name])
    exponential = [1 / math.factorial(k) for k in range(RUNGE_KUTTA[name].order + 1)]
    product = np.convolve(exponential, Q)[: len(exponential)]
    np.testing.assert_allclose(np.append(P, np.zeros(20))[: len(exponential)], product, rtol=0, atol=1e-13)


def step(tableau, J, h):
    """The matrix that a step makes of y' = J y, stage by stage."""
    stages, one = [], np.eye(len(J))
    for row in tableau.a:
        stages.append(J @ (one + h * sum((x * stages[j] for j, x in row.items()), np.zeros_like(J))))
    return one + h * sum(x * stages[i] for i, x in tableau.b.items())


@pytest.mark.parametrize("name", EXPLICIT)
def test_steps_decay_below_the_limit_and_grow_above_it(name):
    limit, J = real_stability_limit(name), np.array([[-1.0]])
    for s in np.linspace(0, limit, 200)[1:-1]:
        assert abs(step(EXPLICIT[name], J, s)[0, 0]) < 1
    assert abs(step(EXPLICIT[name], J, 1.001 * limit)[0, 0]) > 1


@pytest.mark.parametrize("name", EXPLICIT)
@pytest.mark.parametrize(("share", "decays"), [(0.99, True), (1.01, False)])
def test_critical_damping_has_the_same_limit(name, share, decays):
    k = 7.0  # g'' + 2 k g' + k^2 g = 0
    J = np.array([[0.0, 1.0], [-k * k, -2 * k]])
    many = np.linalg.matrix_power(step(EXPLICIT[name], J, share * real_stability_limit(name) / k), 5000)
    assert (np.abs(many).max() < 1e-6) == decays


def test_a_method_without_a_tableau_has_none():
    with pytest.raises(MomentreeError, match=r"'verlet' is no Runge-Kutta method.*Choose .*'rk4'"):
        real_stability_limit("verlet")
    with pytest.raises(MomentreeError, match="integrator 'rk5' is not known"):
        real_stability_limit("rk5")
