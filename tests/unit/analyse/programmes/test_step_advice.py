"""Step sizes: the limit is where integrations begin to diverge, and the deviation that is left is the measured one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.programmes.step_advice import _eigenvalues, _stable_steps
from momentree.integrate.methods import METHODS
from momentree.integrate.stability import real_stability_limit, stability_function
from programme_cart import ONCE_AROUND, cart, random_programme

EXPLICIT = [name for name, method in METHODS.items() if method.tableau is not None and not method.stiff]
# |u| at t = 10 of the cart with d = k m, Euler, h = 0.01, from the programme: the reference of the cart
REFERENCE = [(10, 0.0004977915066882333), (50, 9.99897360510692e-05)]


@pytest.fixture(scope="module")
def the_cart():
    return cart()


# --- stability ---


@pytest.mark.parametrize(("name", "limit"), [("euler", 2.0), ("rk4", 2.7852935634)])
def test_the_largest_step_size_of_a_gain_is_the_limit_of_the_method(the_cart, name, limit):
    found = the_cart.with_gain(40).step_advice(ONCE_AROUND, name)
    assert found.limit == pytest.approx(limit)
    assert found.largest == pytest.approx(limit / 40, rel=1e-6)
    assert found.by_dissipation == pytest.approx(limit / 40)
    assert found.fastest == pytest.approx(40)


@pytest.mark.parametrize("name", ["euler", "rk4"])
def test_beyond_the_largest_step_size_motions_diverge(name):
    """v = 0 and constant d: the linear equations are exact."""
    p = mt.programme("x y", velocity={"x": 0, "y": 0}, mass=[2, 1], dissipation=[[20, 3], [3, 30]])
    largest = p.step_advice(integrator=name).largest
    rates = np.linalg.eigvals(np.linalg.solve([[2, 0], [0, 1]], [[20, 3], [3, 30]]))
    assert largest == pytest.approx(real_stability_limit(name) / rates.max())
    sizes = {
        factor: p.simulate([0, 0], [1, 1], t_end=100 * factor * largest, integrator=name, step=factor * largest).size
        for factor in (0.95, 1.05)
    }
    assert sizes[0.95][-1] < 0.1 * sizes[0.95][0]
    assert sizes[1.05][-1] > 10 * sizes[1.05][0]


def test_eigenvalues_that_are_not_real_need_shorter_steps():
    """v = (-w y, w x) turns deviations: mu = -k +- i w, and |1 + h mu| < 1 for h < 2 k/(k^2 + w^2)."""
    p = mt.programme("x y", velocity={"x": "-w*y", "y": "w*x"}, gain="k", parameters={"w": 30, "k": 4})
    found = p.step_advice(integrator="euler")
    assert found.largest == pytest.approx(2 * 4 / (16 + 900))
    assert found.by_dissipation == pytest.approx(2 / 4)  # which would diverge
    assert found.fastest == pytest.approx(math.hypot(4, 30))


@pytest.mark.parametrize("name", EXPLICIT)
def test_on_the_real_axis_the_ray_ends_at_the_real_limit(name):
    limit = real_stability_limit(name)
    steps = _stable_steps(np.array([[-1.0 + 0j, -5.0, 3.0]]), limit, *stability_function(METHODS[name].tableau))
    assert steps == pytest.approx([limit, limit / 5, math.inf], rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.repeats(1)
def test_eigenvalues_are_those_of_the_linearized_equations(seed):
    """m u' = (p - m') u, from accelerations: q'' - v' = u', differentiated by q' on the programme."""
    p = random_programme(2, seed, gain=3)
    rng = np.random.default_rng(seed)
    q, t, h = rng.uniform(-3, 3, 2), 0.7, 1e-6
    v = p.velocity(q, t)
    slope = np.array(
        [(p.accelerations(q, v + h * e, t) - p.accelerations(q, v - h * e, t)) / (2 * h) for e in np.eye(2)]
    )
    v_q = np.array([(p.velocity(q + h * e, t) - p.velocity(q - h * e, t)) / (2 * h) for e in np.eye(2)])
    expected = np.linalg.eigvals((slope - v_q).T)
    found, _ = _eigenvalues(p, q[None], np.array([t]))
    assert np.sort_complex(found[0]) == pytest.approx(np.sort_complex(expected), abs=1e-6)


# --- what is left ---


@pytest.mark.parametrize(("k", "measured"), REFERENCE)
def test_what_euler_leaves_is_h_over_2_times_the_second_derivative_over_the_rate(the_cart, k, measured):
    """v = (cos phi, sin phi, 1), so that |w| = 1, and the rate is k - 1/2."""
    found = the_cart.with_gain(k).step_advice(ONCE_AROUND, "euler", 0.01)
    assert found.stable
    assert found.expected == pytest.approx(0.01 / 2 / (k - 0.5), rel=1e-3)
    assert measured < found.expected < 1.06 * measured


@pytest.mark.parametrize(("name", "step"), [("euler", 0.002), ("rk4", 0.01), ("rk4", 0.03)])
@pytest.mark.repeats(1)
def test_what_is_left_is_what_motions_show(the_cart, name, step):
    p = the_cart.with_gain(20)
    found = p.step_advice(ONCE_AROUND, name, step)
    run = p.simulate([0, -1, 0], t_end=5, integrator=name, step=step)
    assert found.expected / 1.2 < run.size.max() < found.expected * 1.05


# --- what it says ---


def test_it_says_whether_a_step_size_is_stable(the_cart):
    p = the_cart.with_gain(50)
    assert "euler: stable up to a step size of 0.04 s (deviations decay with up to 50 1/s, at phi = " in str(
        p.step_advice(ONCE_AROUND, "euler")
    )
    assert "; 0.05 s is too large" in str(p.step_advice(ONCE_AROUND, "euler", 0.05))
    assert "; 0.01 s is stable, and leaves a deviation of about 0.0001" in str(
        p.step_advice(ONCE_AROUND, "euler", 0.01)
    )


def test_an_implicit_integrator_has_no_limit(the_cart):
    found = the_cart.step_advice(ONCE_AROUND, "radau", 10.0)
    assert math.isinf(found.largest)
    assert found.stable
    assert str(found) == (
        "radau: stable at every step size; 10 s is stable; "
        "its tolerance, not the step size, says which deviation is left"
    )


def test_what_is_not_known_is_not_a_number(the_cart):
    nothing = the_cart.with_parameters(d3=10.0).step_advice(ONCE_AROUND, "euler", 0.01)  # its rate is negative
    assert nothing.expected is None
    assert "deviations do not decay everywhere" in str(nothing)
    p = mt.programme("x phi", velocity={"x": "cos(phi)", "phi": "x"}, gain=9)  # v depends on x, its slopes do not
    assert "give the region of x, too" in str(p.step_advice(ONCE_AROUND, "euler", 0.01))
    assert p.step_advice({**ONCE_AROUND, "x": (0, 1)}, "euler", 0.01).expected > 0


def test_bad_questions(the_cart):
    with pytest.raises(mt.MomentreeError, match=r"step_advice: step is -1\. Give a positive number of seconds"):
        the_cart.step_advice(ONCE_AROUND, "euler", -1)
    with pytest.raises(mt.MomentreeError, match="integrator 'eulre' is not known"):
        the_cart.step_advice(ONCE_AROUND, "eulre")
    with pytest.raises(mt.MomentreeError, match="region: 'phi' is missing"):
        the_cart.step_advice(None, "euler")
    p = mt.programme("x", velocity={"x": 1}, dissipation="1/x^2")
    with pytest.raises(mt.MomentreeError, match="not finite at x = 0"):
        p.step_advice({"x": (0, 0)}, "euler")
