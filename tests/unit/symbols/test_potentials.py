"""Potentials are found where there are any, and never where there are none."""

from __future__ import annotations

import pytest
import sympy as sp

from momentree.symbols.potentials import antiderivative, potential, vector_potential

x, y, z, w = sp.symbols("x y z w", real=True)


@pytest.mark.parametrize(
    "psi",
    [
        x * y * z,
        sp.Rational(7, 2) * z - 5 * sp.sin(2 * z) / 4,
        sp.cos(w * x + y) * z + y**3,
        sp.log(1 + x**2) * y,
        sp.exp(x * y) * z,
        sp.Integer(0),
    ],
)
def test_a_potential_is_found_from_its_gradient(psi):
    found = potential([psi.diff(q) for q in (x, y, z)], [x, y, z])
    assert found is not None
    assert sp.simplify(found - psi).diff(x, y) == 0
    for q in (x, y, z):
        assert sp.simplify((found - psi).diff(q)) == 0


def test_what_is_no_gradient_has_no_potential():
    assert potential([y, -x], [x, y]) is None
    assert potential([y * sp.sin(x), x], [x, y]) is None


def test_integrals_without_a_closed_form_are_not_invented():
    assert antiderivative(sp.sin(sp.sin(x)), x) is None
    assert potential([sp.sin(sp.sin(x))], [x]) is None


def test_a_vector_potential_gives_back_its_field():
    A = [y * sp.sin(z), x**2 * z, sp.cos(x * y)]
    q = [x, y, z]
    F = [[A[a].diff(q[b]) - A[b].diff(q[a]) for b in range(3)] for a in range(3)]
    B = vector_potential(F, q)
    assert B is not None
    assert all(sp.simplify(F[a][b] - B[a].diff(q[b]) + B[b].diff(q[a])) == 0 for a in range(3) for b in range(3))
    F[0][1], F[1][0] = F[0][1] + z, F[1][0] - z  # no longer closed
    assert vector_potential(F, q) is None
