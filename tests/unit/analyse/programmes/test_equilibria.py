"""Equilibria: where v = 0, and the eigenvalues of its derivatives there."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.equilibria import find_equilibrium


def found(coordinates, velocity, region=None):
    field = mt.programme(coordinates, velocity=velocity)
    return find_equilibrium(field, Region.of(field.coordinates, region))


def test_a_saddle_has_real_eigenvalues():
    rest = found("x y", ("2*(x - 0.3)", "-5*(y + 1)"))
    assert rest.q == pytest.approx({"x": 0.3, "y": -1}, abs=1e-8)
    assert sorted(rest.eigenvalues.real) == pytest.approx([-5, 2])
    assert not rest.turns
    assert "x = 0.3, y = -1: v = 0, dv/dq has eigenvalues" in str(rest)


def test_a_spiral_has_complex_ones():
    rest = found("x y", ("-x - 2*y", "2*x - y"))
    assert sorted(rest.eigenvalues.imag) == pytest.approx([-2, 2])
    assert rest.eigenvalues.real == pytest.approx([-1, -1])
    assert rest.turns


def test_a_region_without_one_has_none():
    assert found("x y", ("x", "-y"), {"x": (0.01, 3)}) is None
    assert found("x y", ("1", "sin(x)")) is None


def test_a_field_that_rests_at_one_time_has_one():
    rest = found("x", ("cos(t)*(2 + x^2)",), {"t": (1, 2)})
    assert np.cos(rest.t) == pytest.approx(0, abs=1e-9)


def test_a_field_that_vanishes_everywhere_is_at_rest_everywhere():
    assert not found("x y", (0, 0)).eigenvalues.any()
