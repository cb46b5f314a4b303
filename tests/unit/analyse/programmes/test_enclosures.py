"""Enclosures hold every value and every slope of a function on its box: against mpmath with 60 digits."""

from __future__ import annotations

import random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.analyse.programmes.enclosures import UNDEFINED, constant, interval, iv, variables
from momentree.model.expressions.expression import parse
from momentree.model.expressions.references import Reference

X, Y = Reference("x"), Reference("y")
SMOOTH = ["x + y", "x - y", "x*y", "x/(2 + y^2)", "x*x", "x^2 - y^3", "x^-2 + 7", "-x", "sin(x)*cos(y)", "tan(x/4)"]
SMOOTH += ["exp(x*y)", "log(6 + x + y)", "sqrt(8 + x*y)", "asin(x/4)", "acos(y/4)", "atan(x - y)", "sinh(x)", "cosh(x)"]
SMOOTH += [
    "tanh(x + y)",
    "atan2(y, x + 3)",
    "atan2(3 + y, x)",
    "atan2(y - 3, x)",
    "(3 + x)^1.5",
    "4^(x*y)",
    "(3 + x)^y",
]
CORNERED = ["abs(x - y)", "min(x, y)", "max(x, 1)", "abs(x)*y"]
JUMPING = ["sign(x - y)", "select(x, y, 1 - y)", "select(x - y, log(3 + x), 2)"]
PRECISE = mpmath.mp.clone()
PRECISE.dps = 60
FUNCTIONS = {
    name: getattr(PRECISE, name)
    for name in ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log"]
}
FUNCTIONS |= {"sqrt": PRECISE.sqrt, "abs": abs, "min": min, "max": max, "sign": PRECISE.sign, "number": PRECISE.mpf}
FUNCTIONS |= {"select": lambda x, a, b: a if x > 0 else b}
ends = st.tuples(st.floats(-2, 2), st.floats(0, 1, exclude_min=True)).map(lambda pair: (pair[0], pair[0] + pair[1] / 2))


def holds(found, value):
    low, high = (PRECISE.make_mpf(end) for end in found._mpi_)
    return low <= value <= high


def at(expression, x, y):
    return expression.evaluate({X: PRECISE.mpf(x), Y: PRECISE.mpf(y)}, FUNCTIONS)


@pytest.mark.parametrize("text", [*SMOOTH, *CORNERED, *JUMPING])
@settings(max_examples=15, deadline=None)
@given(box=st.tuples(ends, ends), seed=st.integers(0, 1000))
@pytest.mark.repeats(9)
def test_values_are_held(text, box, seed):
    rng, f = random.Random(seed), parse(text)
    found = f.evaluate(dict(zip((X, Y), variables([interval(*pair) for pair in box]), strict=True)))
    if found is UNDEFINED:
        assert text.startswith("x^-2")  # the only one with a pole
        return
    points = [tuple(rng.choice([low, high, rng.uniform(low, high)]) for low, high in box) for _ in range(6)]
    for x, y in points:
        assert holds(found.value, at(f, x, y))


@pytest.mark.parametrize("text", [text for text in [*SMOOTH, *CORNERED] if text != "4^(x*y)"])
@settings(max_examples=15, deadline=None)
@given(box=st.tuples(ends, ends), seed=st.integers(0, 1000))
@pytest.mark.repeats(9)
def test_slopes_are_held(text, box, seed):
    """Inside of the box; log(4), which the derivative of a power has as a double, is left out."""
    rng, f = random.Random(seed), parse(text)
    found = f.evaluate(dict(zip((X, Y), variables([interval(*pair) for pair in box]), strict=True)))
    x, y = (rng.uniform(low, high) for low, high in box)
    inside = all(low < z < high for z, (low, high) in zip((x, y), box, strict=True))
    for k, name in enumerate((X, Y)):
        if found is not UNDEFINED and inside:
            assert holds(found.slopes[k] if found.slopes else iv.mpf(0), at(f.derivative(name), x, y))


@pytest.mark.parametrize("text", JUMPING)
def test_what_jumps_has_no_bounded_slope_across_the_jump(text):
    box = variables([interval(-1, 1), interval(-1.0, 1.0)])
    found = parse(text).evaluate(dict(zip((X, Y), box, strict=True)))
    assert found.slopes[0].a == -iv.inf
    assert found.slopes[0].b == iv.inf


@pytest.mark.parametrize(
    "text", ["1/x", "log(x)", "sqrt(x)", "asin(2 + x)", "x^-1", "x^0.5", "atan2(x, -1)", "tan(2*x)", "sin(sqrt(x))"]
)
def test_what_is_not_defined_everywhere_is_undefined(text):
    (x,) = variables([interval(-1, 1)])
    assert parse(text).evaluate({X: x}) is UNDEFINED
    assert parse(f"0*({text}) + 1" if text != "1/x" else "y + 1/x").evaluate({X: x, Y: constant(1.0)}) in (
        UNDEFINED,
        1.0,  # the text says that it does not matter
    )


def test_a_branch_that_is_not_taken_need_not_be_defined():
    (x,) = variables([interval(1, 2)])
    assert holds(parse("select(x, x, log(-x))").evaluate({X: x}).value, 1.5)
    assert parse("select(-x, x, log(-x))").evaluate({X: x}) is UNDEFINED


def test_squares_are_not_negative():
    (x,) = variables([interval(-1, 2)])
    for square in (x * x, x**2, parse("x^2").evaluate({X: x})):
        assert (square.value.a, square.value.b) == (0, 4)


@pytest.mark.parametrize("fraction", [(3893924827815215, 1125899906842624), (1381846513289487, 70368744177664)])
def test_exponentials_that_mpmath_rounds_to_the_wrong_side_are_held(fraction):
    """mpmath issue 1181: a number whose exponential is just above a double, and not in iv.exp of 53 bits."""
    x = fraction[0] / fraction[1]
    assert holds(constant(x).exp().value, PRECISE.exp(PRECISE.mpf(x)))


def test_the_precision_of_mpmath_stays_as_it_was():
    assert iv.prec == 80
    assert mpmath.iv.prec == mpmath.mp.prec == 53
