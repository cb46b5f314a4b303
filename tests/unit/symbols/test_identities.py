"""Proofs that expressions vanish, and random points where they do not."""

from __future__ import annotations

import pytest
import sympy as sp

from momentree.errors import MomentreeError
from momentree.symbols.identities import RandomPoints, vanishes, with_exact_numbers

x, y = sp.symbols("x y", real=True)
p = sp.Symbol("p", positive=True)


@pytest.mark.parametrize(
    "zero",
    [
        (x + y) ** 3 - x**3 - 3 * x**2 * y - 3 * x * y**2 - y**3,
        sp.sin(x + y) ** 2 + sp.cos(x + y) ** 2 - 1,
        sp.sin(2 * x) - 2 * sp.sin(x) * sp.cos(x),
        1 / (1 + x) + x / (1 + x) - 1,
        sp.tan(x) * sp.cos(x) - sp.sin(x),
        1 / sp.cos(x) ** 2 - 1 - sp.tan(x) ** 2,
        sp.cosh(x) ** 2 - sp.sinh(x) ** 2 - 1,
        sp.sqrt(1 + x**2) * sp.sqrt(1 + x**2) - 1 - x**2,
    ],
)
def test_identities_are_proved(zero):
    assert vanishes(zero)
    assert not vanishes(zero + sp.Rational(1, 10**30))


def test_points_tell_round_off_from_small_numbers():
    points = RandomPoints.where_real([x, y], [x, y], 5, 0)
    # a zero whose terms are differences themselves, and a number far below them
    pieces = [sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, sp.exp(y) * sp.exp(-y, evaluate=False) - 1]
    assert all(value == 0 for _, value, _ in points.sums(pieces))
    tiny = sp.Rational(1, 10**40)
    assert all(value == pytest.approx(1e-40) for _, value, _ in points.sums([x, tiny, -x]))


def test_points_obey_assumptions_and_stay_where_expressions_are_real():
    points = RandomPoints.where_real([x, p], [sp.log(x - p)], 20, 1)
    assert len(points.values) == 20
    assert all(a > b > 0 for a, b in points.values)
    with pytest.raises(MomentreeError, match="not real and finite at any"):
        RandomPoints.where_real([p], [sp.log(-p)], 3, 0)


def test_floats_become_what_they_stand_for():
    assert with_exact_numbers(0.1 * x + 3**0.5 / 2) == (x / 10 + sp.sqrt(3) / 2, True)
    assert not with_exact_numbers(0.1234567890123 * x)[1]
