"""Programmes by expressions: four ways to complete constraints, exact derivatives, dissipation."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError
from momentree.model.programme_description import described

BLADE = "x'*sin(phi) - y'*cos(phi) = 0"


def of(*arguments, **more):
    return ExpressionProgramme(described(*arguments, **more))


def at(given, q, t=0.0):
    return np.array([x.evaluate(given.values(q, t)) for x in given.v])


WAYS = {
    "completion": {"completion": [("w*cos(phi)", "w*sin(phi)", "-v")]},
    "scaled": {"completion": [("w/v*cos(phi)", "w/v*sin(phi)", -1)], "scale": "v"},
    "all": {"velocity": ("v*cos(phi)", "v*sin(phi)", "w")},
    "independent": {"velocity": {"x": "v*cos(phi)", "phi": "w"}},
    "null space": {"null_space": [("cos(phi)", "sin(phi)", 0), (0, 0, 1)], "along": ["v", "w"]},
    "wanted": {"wanted": {"x": "v*cos(phi) + 3*sin(phi)", "y": "v*sin(phi) - 3*cos(phi)", "phi": "w"}},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_of_completing_the_constraint_gives_the_field_of_the_cart(way):
    cart = of("x y phi", [BLADE], parameters={"v": 1.5, "w": -0.7}, **way)
    for phi in (0.3, 2.0, -1.1):
        expected = [1.5 * np.cos(phi), 1.5 * np.sin(phi), -0.7]
        assert at(cart, [0.4, -2.0, phi]) == pytest.approx(expected)


def test_as_many_constraints_as_coordinates_determine_the_field():
    p = of("x y", ["x = 2*sin(3*t)", "y' + x' = t"], position_gain=4)
    x, t = 0.7, 0.2
    v = 6 * np.cos(3 * t) - 4 * (x - 2 * np.sin(3 * t))
    assert at(p, [x, 0.1], t) == pytest.approx([v, t - v])


def test_the_nearest_field_is_measured_by_the_mass_matrix():
    p = of("x y", ["x' + y' = 1"], wanted=(0, 0), mass=(1, 3))
    assert at(p, [0, 0]) == pytest.approx([0.75, 0.25])


def test_a_cross_product_needs_homogeneous_constraints():
    with pytest.raises(MomentreeError, match=r"'x' = 1' is not homogeneous.*velocity="):
        _ = of("x y z", ["x' = 1"], completion=[(0, 0, 1)]).v


def test_derivatives_are_those_of_differences():
    p = of("x y", velocity=("sin(x*y) + t^2", "x/(2 + cos(t))"), mass=[["2 + x^2", "y*t/9"], ["y*t/9", 3]])
    q, t, h = np.array([0.4, -0.8]), 0.6, 1e-6
    f = p.fields(p.values(q.tolist(), t))

    def difference(index, part):
        ends = [p.fields(p.values((q + s * h * np.eye(2)[index]).tolist(), t)) for s in (1, -1)]
        return (np.array(getattr(ends[0], part)) - np.array(getattr(ends[1], part))) / (2 * h)

    for k in range(2):
        assert np.array(f.v_q)[:, k] == pytest.approx(difference(k, "v"), abs=1e-8)
        assert np.array(f.m_q[k]) == pytest.approx(difference(k, "m"), abs=1e-8)
    later, earlier = (p.fields(p.values(q.tolist(), t + s * h)) for s in (1, -1))
    assert np.array(f.v_t) == pytest.approx((np.array(later.v) - np.array(earlier.v)) / (2 * h), abs=1e-8)
    assert np.array(f.m_t) == pytest.approx((np.array(later.m) - np.array(earlier.m)) / (2 * h), abs=1e-8)


def test_a_gain_multiplies_the_mass_matrix():
    p = of("x y", velocity=(1, 2), mass=[[2, 1], [1, "3 + x"]], gain="k", parameters={"k": 5})
    assert p.fields(p.values([1, 0], 0)).d == [[10, 5], [5, 20]]


def test_a_potential_gives_dissipation_that_takes_v_to_its_gradient():
    cart = of(
        "x y phi", [BLADE], velocity={"x": "cos(phi)", "phi": 1}, mode="DQ",
        potential="7/2*phi - 5/4*sin(2*phi)", K=(10, 5, 0),
    )  # fmt: skip
    for phi in (0.0, 0.8, 2.5):
        c, s = np.cos(phi), np.sin(phi)
        printed = [[10, 0, -10 * c], [0, 5, -5 * s], [-10 * c, -5 * s, 11]]  # section 6 of the paper
        assert np.array(cart.fields(cart.values([0, 0, phi], 0)).d) == pytest.approx(np.array(printed))


def test_constraints_that_determine_nothing_are_refused():
    with pytest.raises(MomentreeError, match="do not determine the velocities"):
        _ = of("x y phi", [BLADE], velocity={"x": 1, "y": "tan(phi)"}).v
