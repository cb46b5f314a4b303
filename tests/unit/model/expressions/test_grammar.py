"""Equations: a = b means a - b where equations are expected, and nothing elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from momentree import ExpressionError
from momentree.model.expressions.expression import Reference, parse, parse_equation

SIDES = st.sampled_from(["A", "2*B - t", "tip.x^2", "-hull.y'", "sin(q)/3", "1e-3", "(a + b)*c", "min(a, b)"])


@given(SIDES, SIDES)
def test_an_equation_is_the_difference_of_its_sides(left, right):
    assert parse_equation(f"{left} = {right}") == parse(f"({left}) - ({right})")


@given(SIDES)
def test_an_expression_alone_is_kept_at_zero(side):
    assert parse_equation(side) == parse_equation(f"{side} = 0") == parse(side)


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("A = B = 1", "one sign of equality", 6),
        ("A == B", "expected a number", 3),
        ("(A = B)", "outside of all parentheses", 3),
        ("sin(A = 1)", "outside of all parentheses", 6),
        ("A =", "unexpected end", 3),
        ("= A", "expected a number", 0),
        ("A < B", "no comparisons", 2),
    ],
)
def test_wrong_equations(text, message, position):
    with pytest.raises(ExpressionError, match=message) as caught:
        parse_equation(text)
    assert caught.value.position == position


def test_elsewhere_an_equation_is_a_mistake():
    with pytest.raises(ExpressionError, match="a = b is written as a - b"):
        parse("A = B")


def test_components_of_frames_are_references():
    names = parse_equation("tip.x^2 + tip.y' = tip.wx").references()
    assert names == {Reference("tip", "x"), Reference("tip", "y", True), Reference("tip", "wx")}
