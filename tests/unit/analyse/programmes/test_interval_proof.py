"""Proofs of decay rates: never above what is true, near it, and refused where there is nothing to prove."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.programmes.interval_proof import _Fields, prove
from programme_cart import ONCE_AROUND, cart, random_programme


def proven(programme, region, rate, **options):
    return prove(programme.expressions, programme.parameters, region, rate, **options)


@pytest.mark.parametrize("d3", [11, pytest.param(10.1, marks=pytest.mark.long), 20])
@pytest.mark.repeats(1)
def test_the_cart_is_proven_within_two_percent(d3):
    p = cart(d=(10, 5, d3))
    found = p.certify(ONCE_AROUND, prove=True)
    assert 0.98 * found.rate < found.proven <= found.rate
    assert found.boxes < 1000


@pytest.mark.long
def test_numbers_in_texts_are_proven_as_parameters_are():
    one = mt.programme("x y phi", velocity={"x": "cos(phi)", "y": "sin(phi)", "phi": 1}, dissipation=["2", "1.5", 3])
    other = mt.programme(
        "x y phi",
        velocity={"x": "v*cos(phi)", "y": "v*sin(phi)", "phi": "w"},
        dissipation=["a", "b", "c"],
        parameters={"v": 1, "w": 1, "a": 2, "b": 1.5, "c": 3},
    )
    bounds = [p.certify(ONCE_AROUND, prove=True).proven for p in (one, other)]
    # least eigenvalue of [[a, 0, -s/2], [0, b, c/2], [-s/2, c/2, c3]]: 1.5 and 3 with 1/2 between them at phi = 0
    exact = (4.5 - math.sqrt(1.5**2 + 1)) / 2
    assert bounds == [pytest.approx(exact, rel=0.01)] * 2
    assert max(bounds) <= exact


def test_a_rate_without_coordinates_is_proven_at_once():
    p = mt.programme("x y", velocity={"x": "-y", "y": "x"}, gain="1/3")
    found = p.certify(prove=True)
    assert found.boxes == 1
    assert 0.99 / 3 < found.proven <= 1 / 3


def test_masses_that_change_with_coordinates_and_time_are_proven():
    """m = 2 + sin(x) cos(t), v = 1, d = m: the rate is 1 + 1/2 cos(x + t)/m."""
    p = mt.programme("x", velocity={"x": 1}, mass="2 + sin(x)*cos(t)", gain=1, periods={"x": 2 * math.pi})
    x, t = np.meshgrid(np.linspace(-np.pi, np.pi, 2001), np.linspace(0, 0.25, 101))
    exact = (1 + np.cos(x + t) / (2 * (2 + np.sin(x) * np.cos(t)))).min()
    found = p.certify({"t": (0, 0.25)}, prove=True)
    assert found.rate == pytest.approx(exact, abs=1e-5)
    assert 0.98 * exact < found.proven <= found.rate


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_random_programmes_in_a_coordinate_and_time(seed):
    p, region = random_programme(1, seed), {"t": (0, 1)}
    p = p.with_gain(p.auto_k(2, region))
    found = p.certify(region, prove=True)
    assert 0.98 * found.rate < found.proven <= found.rate


def test_a_dip_that_sampling_misses_is_found():
    """Negative dissipation on a width of 1e-5, between all samples."""
    p = mt.programme("x y", velocity={"x": 1, "y": 0}, gain="1 - 3*exp(-((x - 0.71)*3e5)^2)", dissipative=False)
    assert p.decay_rate({"x": (0, 1)}).rate == pytest.approx(1)
    with pytest.raises(mt.MomentreeError, match=r"the decay rate is -\S+ 1/s at x = 0.7\d+, which sampling had missed"):
        p.certify({"x": (0, 1)}, prove=True)


@pytest.mark.long
def test_a_shallow_dip_only_lowers_what_is_proven():
    p = mt.programme("x y", velocity={"x": 1, "y": 0}, gain="1 - 0.5*exp(-((x - 0.71)*3e5)^2)")
    found = p.certify({"x": (0, 1)}, prove=True)
    assert found.rate > 0.99
    assert found.proven <= 0.5
    assert found.proven > 0.49


@pytest.mark.long
def test_the_limit_of_boxes_leaves_what_is_proven_so_far():
    p = cart()
    few, many = (proven(p, ONCE_AROUND, 0.461237, boxes=boxes) for boxes in (75, 1000))
    assert 0 < few.bound < many.bound
    with pytest.raises(mt.MomentreeError, match=r"with 9 boxes: \d of them are left, such as phi in \[.*by sampling"):
        proven(p, ONCE_AROUND, 0.461237, boxes=9)


def test_where_matrices_are_not_bounded_nothing_is_proven():
    p = mt.programme("x y", velocity={"x": 1, "y": 0}, dissipation="2 + 1/(x - 1/3)^2", region={"x": (1, 2)})
    with pytest.raises(mt.MomentreeError, match=r"no positive decay rate could be proven .* nothing is known there"):
        proven(p, {"x": (0.0, 1.0)}, 2.0, boxes=200)


def test_jumps_are_no_obstacle():
    p = mt.programme("x y", velocity={"x": 1, "y": 0}, dissipation="select(x - 0.3, 2, 5) + abs(x)")
    found = p.certify({"x": (-1, 1)}, prove=True)
    assert found.proven == pytest.approx(2.3, rel=0.01)
    assert found.proven <= 2.3


def test_masses_must_be_positive_too():
    """m = x, S = 1: S - lambda m is positive where m is not, and proves nothing there."""
    p = mt.programme("x", velocity={"x": 0}, mass="x", dissipation=1, region={"x": (1, 2)})
    assert proven(p, {"x": (0.5, 2.0)}, 0.5).bound == pytest.approx(0.5, rel=0.01)
    with pytest.raises(mt.MomentreeError, match=r"could be proven|not positive"):
        proven(p, {"x": (-0.5, 2.0)}, 0.5, boxes=100)


@pytest.mark.parametrize("width", [0.03, 0.3, 1.0])
@pytest.mark.repeats(1)
def test_the_bound_of_a_box_is_below_every_rate_in_it(width):
    """The least generalized eigenvalue on a grid; the matrices change so much that circles must overlap."""
    the_cart, waves = cart(), random_programme(2, 4, gain=5)
    rng = np.random.default_rng(int(100 * width))
    for p, names in ((the_cart, ("phi",)), (waves, ("q1", "q2", "t"))):
        fields = _Fields(p.expressions, p.parameters, names)
        for _ in range(6):
            low = rng.uniform(-3, 3, len(names))
            found = fields.bounded(tuple((x, x + width) for x in low.tolist()))
            inside = low + width * rng.uniform(0, 1, (2000, len(names)))
            q = np.zeros((2000, len(p.coordinates)))
            if p is the_cart:
                q[:, 2], t = inside[:, 0], np.zeros(2000)
            else:
                q, t = inside[:, :2], inside[:, 2]
            L_inv = np.linalg.inv(np.linalg.cholesky(p.mass_matrix(q, t)))
            rates = np.linalg.eigvalsh(L_inv @ p.decay_matrix(q, t) @ np.swapaxes(L_inv, 1, 2))[:, 0]
            assert found.bound <= rates.min()
            if width < 0.1:
                assert found.bound > rates.min() - 1  # and not far below


def test_entries_beside_the_diagonal_count():
    """S = [[1, x], [x, 1]] has the least eigenvalue 1 - |x|, which its diagonal does not show."""
    p = mt.programme("x y", velocity={"x": 0, "y": 0}, dissipation=[[1, "x"], ["x", 1]], region={"x": (-0.9, 0.9)})
    assert proven(p, {"x": (-0.9, 0.9)}, 0.1).bound == pytest.approx(0.1, rel=0.011)
    assert proven(p, {"x": (-0.9, 0.9)}, 0.1, boxes=1).bound <= 0.1
