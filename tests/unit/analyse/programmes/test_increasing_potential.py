"""Potentials that increase along a velocity field: largest margins that are known, and margins that hold everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.programmes import increasing_potential
from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.increasing_potential import LEAST, IncreasingPotential, Points
from momentree.analyse.programmes.potential_ansatz import PotentialAnsatz
from momentree.errors import MomentreeError


def looking(field, region=None, **how):
    ansatz = PotentialAnsatz.of(field.coordinates, field.description.periods, **how)
    return IncreasingPotential(field, ansatz, Region.of(field.coordinates, region))


def test_a_constant_field_increases_a_linear_potential_at_a_constant_pace():
    search = looking(mt.programme("x y", velocity=(3, 0)), degree=1)
    best = search.best()
    assert best.margin == pytest.approx(1)  # of the sizes of its terms: nothing is lost by cancellation
    assert str(search.ansatz.potential(best.coefficients * 3)) == "x"  # y does not change along it


def test_the_margin_holds_at_points_that_the_search_did_not_see():
    field = mt.programme("x y", velocity=("1 + y^2", "x*y"), region={"x": (-1, 1)})
    search = looking(field, {"x": (-1, 1), "y": (-1, 1)})
    best = search.rounded(search.pruned(search.best()))
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 201)] * 2), axis=-1).reshape(-1, 2)
    values = search.increase(best, Points(grid, np.zeros(len(grid))))
    assert 0 < best.margin <= values.min() + 1e-9
    assert best.margin == pytest.approx(values.min(), rel=1e-3)


def test_narrow_places_are_found_by_minimization_and_added(monkeypatch):
    """x has the larger pace at all samples, but it goes back in a place that they miss; y goes on there."""
    field = mt.programme("x y", velocity=("1 - 1.5*exp(-2000*(x - 0.25)^2)", "0.9 + 0.1*x"))
    region = {"x": (-1, 1), "y": (-1, 1)}
    monkeypatch.setattr(increasing_potential, "SAMPLES", 16)
    search = looking(field, region, degree=1)
    best = search.best()
    assert best.margin > 0.8  # that of y alone
    assert search.increase(best, Points(np.array([[0.25, 0.1]]), np.zeros(1)))[0] >= best.margin * (1 - 1e-6)


def test_few_terms_are_kept():
    field = mt.programme("x y z", velocity=("1 + 0.2*sin(y)", "0.3*cos(z)", "0.1*x"))
    search = looking(field)
    pruned = search.pruned(search.best())
    assert [str(term) for term in pruned.ansatz.terms] == ["x"]


def test_the_multipliers_lie_on_the_flow_that_returns():
    """The support of the program is a measure that the flow keeps: sum of y (v . grad psi) = 0 for every term."""
    search = looking(mt.programme("x y", velocity=("-y", "x")))
    best = search.best()
    assert best.margin <= LEAST
    q = best.support.q
    slopes = np.einsum("kfn,kn->kf", search.ansatz.slopes(q), np.stack([-q[:, 1], q[:, 0]], axis=1))
    weights, *_ = np.linalg.lstsq(np.vstack([slopes.T, np.ones(len(q))]), [*[0.0] * slopes.shape[1], 1.0], rcond=None)
    assert np.vstack([slopes.T, np.ones(len(q))]) @ weights == pytest.approx([*[0.0] * slopes.shape[1], 1.0], abs=1e-9)


def test_velocities_that_are_not_finite_are_an_error():
    with pytest.raises(MomentreeError, match=r"v is not finite at x = .* Give region= without that place"):
        looking(mt.programme("x y", velocity=("sqrt(x)", "1")))
