"""Designs: grids, lists, random samples and Latin hypercubes; wrong ones are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kstest, norm, truncnorm

import momentree as mt
from momentree.analyse.studies.designs import design_of


def test_a_grid_goes_through_all_combinations_the_last_fastest():
    design = mt.grid({"A'": [1.0, 2.0]}, b=[3, 4, 5])
    expected = list(itertools.product([1.0, 2.0], [3.0, 4.0, 5.0]))
    assert [tuple(row) for row in design.rows(0, 6).tolist()] == expected
    assert [tuple(row) for row in design.rows(2, 5).tolist()] == expected[2:5]
    assert (design.shape, design.dims, len(design)) == ((2, 3), ("A'", "b"), 6)
    assert design_of({"A'": [1.0, 2.0], "b": [3, 4, 5]}).digest == design.digest


def test_points_are_taken_one_by_one_and_a_number_serves_all():
    design = mt.points(a=[1, 2, 3], b=7.0)
    assert design.rows(1, 3).tolist() == [[2, 7], [3, 7]]
    assert design.dims == ("motion",)


def test_random_values_have_their_distributions_and_depend_on_the_seed():
    design = mt.random(4000, seed=5, a=(2, 3), b=mt.normal(1.0, 0.1), c=mt.normal(0, 1, low=-1, high=0.5))
    a, b, c = design.columns
    assert kstest(a, "uniform", (2, 1)).pvalue > 1e-3
    assert kstest(b, norm(1.0, 0.1).cdf).pvalue > 1e-3
    assert kstest(c, truncnorm(-1, 0.5).cdf).pvalue > 1e-3
    assert c.min() >= -1
    assert c.max() <= 0.5
    again = mt.random(4000, seed=5, a=(2, 3), b=mt.normal(1.0, 0.1), c=mt.normal(0, 1, low=-1, high=0.5))
    assert again.digest == design.digest
    assert mt.random(4000, seed=6, a=(2, 3)).digest != mt.random(4000, seed=5, a=(2, 3)).digest


def test_a_latin_hypercube_draws_once_from_each_part():
    design = mt.latin_hypercube(50, {"A'": mt.uniform(-1, 1)}, seed=2, b=mt.normal(3, 0.2))
    parts = [np.floor(50 * (design.columns[0] + 1) / 2), np.floor(50 * norm(3, 0.2).cdf(design.columns[1]))]
    for part in parts:
        assert sorted(part.astype(int).tolist()) == list(range(50))
    assert not np.array_equal(*parts)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mt.grid(), "names nothing"),
        (lambda: mt.grid(a=[]), "'a' has no values"),
        (lambda: mt.grid(a=[1, np.nan]), "value 1 of 'a' is nan"),
        (lambda: mt.grid(a="x"), "list of numbers"),
        (lambda: mt.grid(a=[[1, 2]]), "list of numbers"),
        (lambda: mt.grid(a=mt.normal(0, 1)), "is a distribution"),
        (lambda: mt.grid({"a": [1]}, a=[2]), "'a' is given twice"),
        (lambda: mt.points(a=[1, 2], b=[1, 2, 3]), "a has 2, b has 3"),
        (lambda: mt.random(0, a=(0, 1)), "n is 0"),
        (lambda: mt.random(2.5, a=(0, 1)), "n is 2.5"),
        (lambda: mt.random(10, seed=-1, a=(0, 1)), "seed is -1"),
        (lambda: mt.random(10**9, a=(0, 1)), "do not fit into memory"),
        (lambda: mt.random(10, a=[1, 2, 3]), "give (low, high)"),
        (lambda: mt.random(10, a=(2, 1)), "'a': uniform: from 2 to 1"),
        (lambda: mt.normal(0, -1), "not negative"),
        (lambda: mt.normal(0, float("nan")), "sd is nan"),
        (lambda: mt.random(10, a=mt.normal(0, 1, low=50)), "too little to draw from"),
        (lambda: mt.grid({name: range(1000) for name in "abcde"}), "1e+15 motions"),
        (lambda: design_of([1, 2]), "over is [1, 2]"),
    ],
)
def test_a_wrong_design_is_refused(make, words):
    with pytest.raises(mt.MomentreeError, match=None) as error:
        make()
    assert words in str(error.value)
