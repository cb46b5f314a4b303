"""Rayleigh coefficients in mode DQ: the paper's cart, programmes where they exist, and why elsewhere they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.rayleigh_search import constant_dissipation
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Reference

CART = mt.programme(
    "x y phi", ["x'*sin(phi) - y'*cos(phi) = 0"], completion=[("w*cos(phi)", "w*sin(phi)", "-v")],
    parameters={"v": 1, "w": 1}, periods={"phi": 2 * math.pi}, name="cart",
)  # fmt: skip
SADDLE = mt.programme("x y", velocity=("x", "-y"))


def sampled(programme, region=None, count=200, seed=23):
    return Region.of(programme.coordinates, region).samples(count, seed)


def assert_admissible(found, region=None):
    """d v = grad Psi by differences of Psi, and d > 0, at points that the search did not see."""
    p, h = found.programme(), 1e-6
    q, t = sampled(p, region)
    d = p.dissipation(q, t)
    assert np.linalg.eigvalsh(d)[:, 0].min() > 0
    forces = np.einsum("kij,kj->ki", d, p.velocity(q, t))

    def psi(at):
        return found.potential.evaluate({Reference(name): at[:, i] for i, name in enumerate(p.coordinates)})

    slopes = np.stack([(psi(q + h * e) - psi(q - h * e)) / (2 * h) for e in np.eye(len(p.coordinates))], axis=1)
    assert forces == pytest.approx(slopes, abs=1e-6 * np.abs(slopes).max())
    assert (forces * p.velocity(q, t)).sum(axis=1).min() >= found.margin * (1 - 1e-6)


def test_the_matrix_of_the_paper_is_one_of_the_family():
    """Kaspirovich and Mukharlyamov 2019, section 6: d = (10, 5, 11), v = w = 1, Psi = 7 phi/2 - 5 sin(2 phi)/4."""
    p = mt.programme(
        "x y phi", ["x'*sin(phi) - y'*cos(phi) = 0"], completion=[("cos(phi)", "sin(phi)", "-1")],
        mode="DQ", potential="7*phi/2 - 5*sin(2*phi)/4", K=[10, 5, 0],
    )  # fmt: skip
    for phi in np.linspace(-3, 3, 13):
        c, s = math.cos(phi), math.sin(phi)
        printed = [[10, 0, -10 * c], [0, 5, -5 * s], [-10 * c, -5 * s, 11]]
        assert p.dissipation([0.3, 0.2, phi]) == pytest.approx(np.array(printed), abs=1e-12)


def test_the_cart_has_a_multivalued_potential_that_grows_with_phi():
    found = CART.rayleigh()
    assert str(found.potential) == "2*phi"
    assert found.margin == pytest.approx(2)
    assert_admissible(found)
    assert found.programme().description.mode == "DQ"
    assert "Psi = 2*phi" in str(found)
    assert "no proof" in str(found)


def test_the_cart_with_the_matrix_K_of_the_paper():
    found = CART.rayleigh(K=[10, 5, 0])
    assert_admissible(found)
    d = found.programme().dissipation([0.0, 0.0, 0.8])
    assert d[:2] == pytest.approx(np.array([[10, 0, -10 * math.cos(0.8)], [0, 5, -5 * math.sin(0.8)]]))


def test_deviations_of_what_is_found_die_out():
    away = {"x": (0.1, 2), "y": (-2, 2)}
    for p, region in ((CART, None), (CART.with_parameters(v=3, w=2), None), (SADDLE, away)):
        damped = p.rayleigh(region).programme()
        assert np.linalg.eigvalsh(damped.decay_matrix(*sampled(p, region)))[:, 0].min() > 0  # m = E


def test_what_is_found_satisfies_the_helmholtz_conditions():
    """Of the Rayleigh function 1/2 q' d q' and the Lagrangian with Psi, identically; not where d v is no gradient."""
    pytest.importorskip("momentree.symbols.programme_equations")
    away = {"x": (0.1, 2), "y": (-2, 2)}
    assert SADDLE.rayleigh(away).programme().helmholtz().proved
    assert not mt.programme("x y", velocity=("x", "-y"), mode="DQ", dissipation=["1 + x^2", "1 + x^2"]).helmholtz()


def test_the_cart_has_no_single_valued_potential_because_it_drives_in_circles():
    found = CART.rayleigh(multivalued=False)
    assert not found.found
    assert found.impossible
    (orbit,) = found.obstacles
    assert orbit.period == pytest.approx(2 * math.pi, rel=1e-9)
    assert orbit.turns == {"phi": 1}
    assert "period 6.28319 s, winding number 1 of phi" in str(found)
    assert "multivalued=True" in str(found)
    with pytest.raises(MomentreeError, match=r"no admissible d > 0 was found. Closed orbit through"):
        found.programme()


def test_rotation_is_impossible_even_with_a_multivalued_potential():
    found = mt.programme("x y", velocity=("-y", "x")).rayleigh()
    rest, orbit = found.obstacles
    assert found.impossible
    assert rest.q == pytest.approx({"x": 0, "y": 0}, abs=1e-8)
    assert orbit.period == pytest.approx(2 * math.pi, rel=1e-9)
    assert "even a multivalued one" in found.explanation


def test_a_part_of_the_rotation_that_no_orbit_stays_in_is_possible():
    region = {"x": (1, 2), "y": (-1, 1)}
    assert_admissible(mt.programme("x y", velocity=("-y", "x")).rayleigh(region), region)


def test_a_saddle_away_from_its_equilibrium():
    region = {"x": (0.1, 2), "y": (-2, 2)}
    found = SADDLE.rayleigh(region)
    assert_admissible(found, region)


def test_a_saddle_with_its_equilibrium_has_a_constant_d_only():
    found = SADDLE.rayleigh()
    assert found.potential is None
    (rest,) = found.obstacles
    assert rest.q == pytest.approx({"x": 0, "y": 0}, abs=1e-8)
    assert sorted(rest.eigenvalues.real) == pytest.approx([-1, 1])
    assert "v . grad Psi = 0 there, whatever Psi" in found.explanation
    d = found.programme().dissipation([0.4, 0.5])  # d v = (x, -y) is the gradient of (x^2 - y^2)/2
    assert d == pytest.approx(d[0, 0] * np.eye(2))


@pytest.mark.parametrize("seed", range(3))
def test_a_constant_d_is_found_where_v_is_a_gradient_in_its_metric(seed):
    """v = d^-1 grad Psi: d dv/dq is the Hessian of Psi; a generic Hessian leaves d alone, up to a factor."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 2))
    d = A @ A.T + np.eye(2)
    slopes = ["x + 0.3*y^2", "0.6*x*y - 2*y + cos(y)"]  # of x^2/2 + 0.3 x y^2 - y^2 + sin(y)
    v = [f"({row[0]!r})*({slopes[0]}) + ({row[1]!r})*({slopes[1]})" for row in np.linalg.inv(d).tolist()]
    p = mt.programme("x y", velocity=v)
    found = constant_dissipation(p, Region.of(p.coordinates, None))
    assert found / found[0, 0] == pytest.approx(d / d[0, 0], rel=1e-8)


def test_no_constant_d_suits_a_rotation_or_a_generic_field():
    for velocity in (("-y", "x"), ("x^2 + y", "x*y^2 - 2*x")):
        p = mt.programme("x y", velocity=velocity)
        assert constant_dissipation(p, Region.of(p.coordinates, None)) is None


def test_a_programme_that_depends_on_time():
    region = {"x": (-2, 2), "t": (0, 7)}
    found = mt.programme("x y", velocity=("1 + 0.3*sin(t)", "x^2 - 1")).rayleigh(region)
    assert_admissible(found, region)
    assert found.where["t"] == pytest.approx(1.5 * math.pi, abs=0.01)  # where it is slowest


@pytest.mark.long
def test_an_ansatz_that_is_too_small_says_where_and_what_to_try():
    p = mt.programme("x y", velocity=("cos(3*x)", "sin(3*x)"))
    region = {"x": (-0.8, 0.8), "y": (-1, 1)}
    found = p.rayleigh(region)
    assert not found.found
    assert not found.impossible
    assert "may be too small" in found.explanation
    assert "Try degree=3 or harmonics=3" in found.explanation
    assert "It is limited at x = " in found.explanation
    assert_admissible(p.rayleigh(region, degree=4), region)


def test_what_the_search_cannot_use_is_an_error():
    with pytest.raises(MomentreeError, match=r"with this K, d has the eigenvalue .* positive for velocities with grad"):
        CART.rayleigh(K=[1, -1, 1])
    with pytest.raises(MomentreeError, match="K has 2 entries"):
        CART.rayleigh(K=[1, 1])
    with pytest.raises(MomentreeError, match="no coordinate 'ph'"):
        CART.rayleigh({"ph": (0, 1)})
