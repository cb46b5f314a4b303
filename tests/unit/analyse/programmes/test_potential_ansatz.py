"""The ansatz for a potential: which terms it has, exact gradients, how it is written."""

from __future__ import annotations

import math

import numpy as np
import pytest

from momentree.analyse.programmes.potential_ansatz import PotentialAnsatz
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Reference

ANGLE = {"phi": 2 * math.pi}


def written(ansatz):
    return [str(term) for term in ansatz.terms]


def test_monomials_of_lines_have_all_degrees_up_to_the_given():
    assert written(PotentialAnsatz.of("xy", degree=2)) == ["x", "y", "x^2", "x*y", "y^2"]
    for n, degree in [(3, 2), (2, 4), (4, 3)]:
        assert len(PotentialAnsatz.of("abcd"[:n], degree=degree).terms) == math.comb(n + degree, n) - 1


def test_angles_have_harmonics_and_are_terms_if_multivalued():
    assert written(PotentialAnsatz.of(["phi"], ANGLE)) == ["phi", "sin(phi)", "cos(phi)", "sin(2*phi)", "cos(2*phi)"]
    single = PotentialAnsatz.of(["x", "phi"], ANGLE, degree=1, harmonics=1, multivalued=False)
    assert written(single) == ["sin(phi)", "cos(phi)", "x", "x*sin(phi)", "x*cos(phi)"]


def test_harmonics_have_the_period_of_the_angle():
    ansatz = PotentialAnsatz.of(["s", "phi"], {"s": 0.7, "phi": 2 * math.pi}, harmonics=3, multivalued=False)
    q = np.random.default_rng(0).normal(size=(5, 2))
    assert ansatz.slopes(q + np.array([0.7, -4 * math.pi])) == pytest.approx(ansatz.slopes(q), abs=1e-9)


def test_the_gradient_of_a_multivalued_ansatz_is_single_valued():
    ansatz = PotentialAnsatz.of(["x", "phi"], ANGLE)
    q = np.random.default_rng(1).normal(size=(5, 2))
    assert ansatz.slopes(q + np.array([0, 2 * math.pi])) == pytest.approx(ansatz.slopes(q), abs=1e-12)


def test_slopes_are_the_differences_of_the_potential():
    ansatz = PotentialAnsatz.of(["x", "y", "phi"], ANGLE, degree=3)
    weights = np.random.default_rng(2).normal(size=len(ansatz.terms))
    psi, q, h = ansatz.potential(weights), np.array([0.4, -1.2, 2.0]), 1e-6

    def value(at):
        return psi.evaluate({Reference(name): float(x) for name, x in zip(ansatz.coordinates, at, strict=True)})

    differences = [(value(q + h * e) - value(q - h * e)) / (2 * h) for e in np.eye(3)]
    assert weights @ ansatz.slopes(q[None])[0] == pytest.approx(differences, abs=1e-7)


def test_a_potential_is_written_without_needless_signs():
    ansatz = PotentialAnsatz.of(["x", "phi"], ANGLE, degree=1, harmonics=1)
    assert (
        str(ansatz.potential(np.array([-2.0, 0, 0.5, 0, 1.0, -3.0])))
        == "-2*phi + 0.5*cos(phi) + x*sin(phi) - 3*x*cos(phi)"
    )


def test_one_is_no_factor():
    ansatz = PotentialAnsatz.of("xy", degree=2)
    assert str(ansatz.potential(np.array([0, 0, 0, -1.0, 1.0]))) == "-x*y + y^2"


def test_an_ansatz_that_cannot_be_is_an_error():
    with pytest.raises(MomentreeError, match=r"degree is -1. Give a whole number"):
        PotentialAnsatz.of("xy", degree=-1)
    with pytest.raises(MomentreeError, match=r"harmonics is 1.5"):
        PotentialAnsatz.of("xy", harmonics=1.5)
    with pytest.raises(MomentreeError, match=r"has no terms. Give degree= of at least 1"):
        PotentialAnsatz.of("xy", degree=0)
    with pytest.raises(MomentreeError, match=r"more than 400. Give a lower degree="):
        PotentialAnsatz.of("abcdefgh", degree=5)
