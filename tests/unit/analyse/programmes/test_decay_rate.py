"""Decay rates and certificates: against closed forms, the reference of the cart, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

import momentree as mt
from mechanisms import four_bar
from momentree.analyse.programmes.decay_rate import dependence
from programme_cart import ONCE_AROUND, cart, random_programme

# v = w, d, and the least eigenvalue of the symmetric part of -p: shared reference of the cart, computed independently
REFERENCE = [
    (1, (10, 5, 11), 0.4612372680031622),
    (1, (10, 50, 10), -23.85750546944984),
    (2, (10, 50, 10), -23.8751225828051),
    (5, (10, 50, 10), -23.997930045948173),
    (0.5, (10, 5, 11), 0.4809180942928225),
]


@pytest.fixture(scope="module")
def the_cart():
    return cart()


def closed_form(phi, v, w, d1, d2):
    """Sylvester's criterion for S of the cart: d33 must be larger than this."""
    c, s = np.cos(phi), np.sin(phi)
    return (v / w) ** 2 * (d1 * c**2 + d2 * s**2) + v**2 / 4 * (s**2 / d1 + c**2 / d2)


# --- the cart ---


@pytest.mark.parametrize(("v", "d", "expected"), REFERENCE)
def test_rates_are_those_of_the_reference(the_cart, v, d, expected):
    numbers = dict(zip(("d1", "d2", "d3"), d, strict=True))
    found = the_cart.with_parameters(numbers, v=v, w=v).decay_rate(ONCE_AROUND)
    assert found.rate == pytest.approx(expected, rel=1e-5)  # the reference was taken from a grid of phi
    assert found.rate <= expected + 1e-9


def test_V_may_grow_although_the_dissipation_is_positive(the_cart):
    """v = w = 5, d = (10, 5, 11): d is positive definite, but S is not; the paper's criterion does not see it."""
    p = the_cart.with_parameters(v=5, w=5)
    assert np.linalg.eigvalsh(p.dissipation([0, 0, 0.3]))[0] > 0
    assert p.decay_rate(ONCE_AROUND).rate == pytest.approx(-0.112, abs=5e-4)


def test_the_rate_changes_its_sign_at_10_05(the_cart):
    """v = w = 1, d = (10, 5, .): the corrected condition of stability, where the paper has 10."""

    def rate(d3):
        return the_cart.with_parameters(d3=d3).decay_rate(ONCE_AROUND).rate

    assert brentq(rate, 9.5, 10.5, xtol=1e-7) == pytest.approx(10.05, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_sign_of_the_rate_is_that_of_the_closed_form(the_cart, seed):
    rng = np.random.default_rng(seed)
    v, w, d1, d2 = rng.uniform(0.5, 2, 4) * (1, 1, 5, 5)
    phi = np.linspace(-np.pi, np.pi, 100_001)
    threshold = closed_form(phi, v, w, d1, d2).max()
    at = {"v": v, "w": w, "d1": d1, "d2": d2}
    assert the_cart.with_parameters(at, d3=threshold * 1.0001).decay_rate(ONCE_AROUND).rate > 0
    assert the_cart.with_parameters(at, d3=threshold * 0.9999).decay_rate(ONCE_AROUND).rate < 0


def test_the_direction_decays_with_the_rate_at_the_point(the_cart):
    found = the_cart.decay_rate(ONCE_AROUND)
    u, q = np.array(list(found.direction.values())), [0.3, -2.0, found.where["phi"]]
    S, m = the_cart.decay_matrix(q), the_cart.mass_matrix(q)
    assert S @ u == pytest.approx(found.rate * m @ u, abs=1e-9)
    assert np.abs(u).max() == 1


def test_only_coordinates_that_matter_are_asked_for(the_cart):
    assert dependence(the_cart) == ("phi",)
    with pytest.raises(mt.MomentreeError, match="region: 'phi' is missing, and the decay rate depends on it"):
        the_cart.decay_rate()
    with pytest.raises(mt.MomentreeError, match=r"there is no coordinate 'ph'\. Did you mean 'phi'"):
        the_cart.decay_rate({"ph": (0, 1)})
    found = the_cart.decay_rate({**ONCE_AROUND, "x": (5, 6)})
    assert set(found.where) == set(found.region) == {"phi"}


def test_a_parameter_that_is_zero_makes_others_irrelevant():
    p = mt.programme("x y", velocity={"x": "a*y^2 + 1", "y": 0}, gain=2, parameters={"a": 1})
    assert dependence(p) == ("y",)
    still = p.with_parameters(a=0)
    assert dependence(still) == ()
    assert str(still.decay_rate()) == "at least 2 1/s, everywhere; sampled at 1 points, not proven"


def test_a_period_is_the_whole_line():
    turning = cart(periods={"phi": 2 * math.pi})
    assert turning.decay_rate().rate == pytest.approx(0.4612372680031622, rel=1e-5)
    assert turning.certify({"phi": (0, 0.1)}).rate > 0.4612372680031622
    wrong = cart(periods={"phi": 5})
    with pytest.raises(mt.MomentreeError, match="does not have the period 5 of 'phi'"):
        wrong.decay_rate()


# --- certificates ---


def test_a_certificate_bounds_deviations(the_cart):
    found = the_cart.certify(ONCE_AROUND)
    assert found.proven is None
    assert found.bound(2.0, 3.0) == pytest.approx(2 * math.exp(-3 * found.rate))
    assert found.bound([1.0, 2.0], [0.0, 1.0]).shape == (2,)
    assert str(found).startswith("certificate: at least 0.4612 1/s, at phi = ")
    assert "not proven" in str(found)


@pytest.mark.long
def test_a_proven_certificate_uses_what_is_proven(the_cart):
    found = the_cart.certify(ONCE_AROUND, prove=True)
    assert found.proven < found.rate < found.proven * 1.02
    assert found.bound(1.0, 1.0) == math.exp(-found.proven)
    assert f"proven by intervals in {found.boxes} boxes" in str(found)


def test_the_unstable_case_is_refused_with_a_point_and_a_direction(the_cart):
    with pytest.raises(mt.MomentreeError) as caught:
        the_cart.with_parameters(d2=50, d3=10).certify(ONCE_AROUND)
    words = str(caught.value)
    assert "the least decay rate is -23.86 1/s at phi = " in words
    assert "along phi" in words
    assert "grows" in words
    assert "auto_k(rate)" in words


def test_without_dissipation_nothing_is_certified():
    p = mt.programme("x y", velocity={"x": "-y", "y": "x"})  # a rotation keeps lengths
    assert p.decay_rate().rate == 0
    with pytest.raises(mt.MomentreeError, match=r"the least decay rate is 0 1/s\. There .* does not decay"):
        p.certify()


@pytest.mark.parametrize("what", ["mass", "dissipation"])
def test_points_where_a_matrix_is_not_finite_are_named(what):
    p = mt.programme("x y", velocity={"x": 1, "y": 0}, **{what: "2 + 1/x"}, region={"x": (1, 2)})
    assert p.decay_rate({"x": (1, 2)}).rate < 3
    with pytest.raises(mt.MomentreeError, match=r"is not finite at x = 0, .*Give a region without that point"):
        p.decay_rate({"x": (0, 2)})


def test_points_where_the_mass_matrix_is_not_positive_are_named():
    p = mt.programme("x y", velocity={"x": 1, "y": 0}, mass="x", gain=1, region={"x": (1, 2)})
    with pytest.raises(mt.MomentreeError, match="the mass matrix is not positive definite at x = -1"):
        p.decay_rate({"x": (-1, 2)})


@pytest.mark.long
def test_the_rate_is_no_larger_than_at_any_point():
    """SciPy's generalized eigenvalues on a grid of all coordinates and of time."""
    p = random_programme(2, 5).with_gain(1)
    found = p.decay_rate({"t": (0, 2 * math.pi)})
    line = np.linspace(-np.pi, np.pi, 25)
    q1, q2, t = (x.ravel() for x in np.meshgrid(line, line, line))
    q = np.column_stack([q1, q2])
    grid = [eigh(S, m, eigvals_only=True)[0] for S, m in zip(p.decay_matrix(q, t), p.mass_matrix(q, t), strict=True)]
    assert min(grid) - 0.02 < found.rate <= min(grid) + 1e-12
    at = [found.where[name] for name in ("q1", "q2")]
    S, m = p.decay_matrix(at, found.where["t"]), p.mass_matrix(at, found.where["t"])
    assert eigh(S, m, eigvals_only=True)[0] == pytest.approx(found.rate, abs=1e-12)


# --- gains ---


@pytest.mark.parametrize("rate", [0.2, 3.0, 40.0])
@pytest.mark.repeats(1)
def test_a_gain_certifies_the_rate_it_was_made_for(rate):
    p, region = random_programme(2, 1), {"t": (0, 2 * math.pi)}
    k = p.auto_k(rate, region)
    assert p.with_gain(k).certify(region).rate == pytest.approx(rate, abs=1e-7)


def test_a_gain_of_the_cart_in_closed_form(the_cart):
    """1/2 (dv/dq + its transpose) has the eigenvalues 0 and +- v/2 everywhere."""
    assert the_cart.with_parameters(v=3, w=1).auto_k("5", ONCE_AROUND) == pytest.approx(6.5)


def test_gains_are_never_negative():
    p = mt.programme("x", velocity={"x": "-4*x"}, region={"x": (-1, 1)})  # S = -4: deviations grow with 4 1/s
    assert p.auto_k(1) == pytest.approx(5)
    q = mt.programme("x", velocity={"x": "4*x"})
    assert q.auto_k(1) == 0
    assert q.with_gain(0).certify().rate == pytest.approx(4)


@pytest.mark.parametrize("rate", [0, -1, math.inf, math.nan, "fast", None])
def test_rates_must_be_positive_numbers(the_cart, rate):
    with pytest.raises(mt.MomentreeError, match=r"auto_k: the decay rate is .* Give a positive number in 1/s"):
        the_cart.auto_k(rate, ONCE_AROUND)


# --- mechanisms ---


class FromMechanism:
    """A programme that has no expressions, as one of a mechanism."""

    coordinates = ("x", "y", "phi")
    parameters: dict[str, float] = {}  # noqa: RUF012
    closing = None

    def __init__(self, given):
        self.given = given
        self.decay_matrix, self.mass_matrix = given.decay_matrix, given.mass_matrix

    @property
    def expressions(self):
        raise mt.MomentreeError("it is given by a mechanism.")


def test_programmes_of_mechanisms_are_certified_but_not_proven(the_cart):
    from momentree.analyse.programmes.decay_rate import certify

    p = FromMechanism(the_cart)
    assert dependence(p) == ("phi",)
    assert certify(p, ONCE_AROUND).rate == the_cart.decay_rate(ONCE_AROUND).rate
    with pytest.raises(mt.MomentreeError, match="a proof needs a programme given by expressions"):
        certify(p, ONCE_AROUND, prove=True)


# --- mechanisms with loops ---

ANYWHERE = {**dict.fromkeys("ABD", (-math.pi, math.pi)), "t": (0, math.pi)}


def driven_four_bar(gain=3):
    return mt.programme(four_bar().build(), velocity={"A": "1 + 0.5*sin(2*t)"}, gain=gain)


def closed_four_bars(p):
    """All closed configurations in both branches, by the triangle over the diagonal, at many times."""
    A = np.linspace(-math.pi, math.pi, 721)
    x, z = 2.5 - np.cos(A), np.sin(A)  # from B's hinge to D's; a turn about y takes x towards -z
    diagonal, direction = np.hypot(x, z), np.arctan2(-z, x)
    half = np.arccos(diagonal / 4)  # coupler and rocker are 2 m both
    found = []
    for side in (1, -1):
        coupler = direction + side * half
        rocker = direction + math.pi - side * half
        found.append(np.column_stack([A, coupler - A, rocker]))
    q = np.vstack(found)
    q[:, 1:] = (q[:, 1:] + math.pi) % (2 * math.pi) - math.pi
    assert np.abs(p.closure_errors(q)).max() < 1e-12
    t = np.linspace(0, math.pi, 61)
    return np.repeat(q, len(t), axis=0), np.tile(t, len(q))


def test_rates_of_a_mechanism_are_those_with_closed_loops():
    p = driven_four_bar()
    q, t = closed_four_bars(p)
    S, m = p.decay_matrix(q, t), p.mass_matrix(q, t)
    L_inv = np.linalg.inv(np.linalg.cholesky(m))
    exact = np.linalg.eigvalsh(L_inv @ S @ np.swapaxes(L_inv, 1, 2))[:, 0].min()
    found = p.certify(ANYWHERE)
    assert exact - 2e-3 < found.rate < exact + 1e-6
    where = [found.where[name] for name in "ABD"]
    assert np.abs(p.closure_errors(where, found.where["t"])).max() < 1e-8
    k = p.auto_k(2, ANYWHERE)
    assert k == pytest.approx(3 + 2 - exact, abs=2e-3)
    assert driven_four_bar(k).decay_rate(ANYWHERE).rate == pytest.approx(2, abs=1e-6)
    advice = p.step_advice(ANYWHERE, step=0.1)
    assert advice.stable
    assert np.abs(p.closure_errors([advice.where[name] for name in "ABD"], advice.where["t"])).max() < 1e-8


@pytest.mark.parametrize("call", ["decay_rate", "certify", "step_advice"])
def test_a_region_without_closed_loops_is_refused(call):
    region = {"A": (0.5, 0.6), "B": (3.0, 3.1), "D": (0, 0.1), "t": (0, 1)}
    with pytest.raises(mt.MomentreeError, match=r"no configuration with closed loops was found in the region, A in"):
        getattr(driven_four_bar(), call)(region)
