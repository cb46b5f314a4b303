"""Simplification never changes a value, and finds what a person would write."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.symbols.shortest import simplified
from momentree.symbols.trigonometry import Trigonometry

a, b, c, m, r = symbols = sp.symbols("a b c m r", real=True)
sin, cos = sp.sin, sp.cos


@pytest.mark.parametrize(
    ("given", "short"),
    [
        (sin(a) ** 2 + cos(a) ** 2, 1),
        (sin(a) * cos(b) + cos(a) * sin(b), sin(a + b)),
        (cos(a) * cos(b) + sin(a) * sin(b), cos(a - b)),
        (m * r * sin(a) * cos(b) - m * r * cos(a) * sin(b), m * r * sin(a - b)),
        (m * r**2 + 2 * m * r * cos(a) + m * cos(a) ** 2, m * (r + cos(a)) ** 2),
        (m * (1 - cos(a) ** 2), m * sin(a) ** 2),
        (m * a + m * b - r * a - r * b, (a + b) * (m - r)),
        ((m + r) ** 2 - m**2 - 2 * m * r, r**2),
        (sp.sqrt(r**2 * sin(a) ** 2 + (m + r * cos(a)) ** 2), sp.sqrt(m**2 + 2 * m * r * cos(a) + r**2)),
        (m * r / m, r),
        ((m * r + m * a) / m, r + a),
        (sp.sqrt(2) * sp.sqrt(2) * m, 2 * m),
        (sp.Float(0.5) * m + sp.Float(0.25) * m * 2, m),
        (sin(2 * sp.pi * a) ** 2 + cos(2 * sp.pi * a) ** 2, 1),
    ],
)
def test_what_a_person_would_write(given, short):
    found = simplified(sp.expand(given)) if not given.has(sp.sqrt) else simplified(given)
    assert found == short


def test_absolute_angles_are_used_where_axes_are_parallel():
    arm = (m * cos(a) + r * cos(a + b)) ** 2
    relative = sp.expand(sp.expand_trig(arm))
    assert simplified(relative, {b: (a, 1)}) == arm
    assert simplified(sp.expand(sp.expand_trig(arm.subs(b, -b))), {b: (a, -1)}) == (m * cos(a) + r * cos(a - b)) ** 2


factors = st.sampled_from([sin(a), cos(a), sin(b), cos(b), sin(c), cos(c), m, r, sp.Integer(2), sp.Rational(-1, 3)])
terms = st.lists(factors, min_size=1, max_size=4).map(lambda parts: sp.Mul(*parts))
sums = st.lists(terms, min_size=1, max_size=4).map(lambda parts: sp.Add(*parts))
AT = dict(zip(symbols, (0.7, -1.3, 0.4, 1.9, 0.6), strict=True))


@pytest.mark.long
@settings(max_examples=6, deadline=None)
@given(sums, sums)
def test_simplification_keeps_the_value(one, other):
    given_ = one * other
    for carried in ({}, {b: (a, 1)}, {b: (a, 1), c: (b, -1)}):
        found = simplified(given_, carried)
        assert float(found.subs(AT)) == pytest.approx(float(given_.subs(AT)), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(sums)
def test_harmonics_are_the_same_function(given_):
    trigonometry = Trigonometry([given_])
    found = sp.Add(
        *(f * factor.as_expr() for f, factor in trigonometry.harmonics(trigonometry.polynomials[0]).items())
    ).xreplace(trigonometry.letters)
    assert float(found.subs(AT)) == pytest.approx(float(given_.subs(AT)), abs=1e-9)


def test_equal_functions_have_equal_normal_forms():
    random = np.random.default_rng(0)
    for _ in range(20):
        k = random.integers(-3, 4, 4)
        one = sum(int(n) * f for n, f in zip(k, (sin(a + b), cos(2 * a), sin(a - b), cos(b) ** 2), strict=True))
        trigonometry = Trigonometry([sp.S(one), sp.expand_trig(sp.S(one))])
        assert trigonometry.polynomials[0] == trigonometry.polynomials[1]
