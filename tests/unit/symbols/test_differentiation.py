"""Derivatives along a direction are those of SymPy."""

from __future__ import annotations

import pytest
import sympy as sp

from momentree.symbols.differentiation import Differentiation

x, y, v, w = sp.symbols("x y v w", real=True)


@pytest.mark.parametrize(
    "expression",
    [
        x**2 * sp.sin(y * x) + 3,
        sp.sqrt(x**2 + y**2) / (1 + x),
        sp.atan2(x * y, x + y),
        sp.exp(-x) * sp.Abs(y) + sp.tanh(x * y),
        sp.Max(x, y) * y,
        sp.Piecewise((x * y, x > 0), (x**2, True)),
        2**x,
    ],
)
def test_as_by_sympy(expression):
    found = Differentiation({x: v, y: w})(expression)
    said = expression.diff(x) * v + expression.diff(y) * w
    for point in ({x: 0.3, y: 0.8}, {x: 1.2, y: 0.5}):
        values = {**point, v: 1.7, w: -0.6}
        assert float((found - said).subs(values)) == pytest.approx(0, abs=1e-12)


def test_shared_parts_are_differentiated_once():
    part = x
    for _ in range(60):  # 2^60 terms, if it were multiplied out
        part = (part + y) * (part + 1)
    assert Differentiation({y: v})(part) != 0
