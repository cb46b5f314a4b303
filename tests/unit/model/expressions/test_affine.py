"""Which expressions are affine in velocities: against second differences of their values."""

import random

import pytest

from momentree.model.expressions.affine import not_affine
from momentree.model.expressions.expression import Reference, parse

A, B = Reference("A", velocity=True), Reference("B", velocity=True)
AFFINE = ["A'", "2*A' - sin(q)*B' + t", "(A' + B')/(1 + q^2)", "-A'", "select(q, A', 2*B')", "q^2", "(A' + 1)*q*3"]
NOT_AFFINE = [
    "A'*B'",
    "A'^2",
    "sin(A')",
    "sign(A')",
    "abs(A')",
    "1/A'",
    "select(A', 1, 2)",
    "min(A', q)",
    "atan2(A', 1)",
]


@pytest.mark.parametrize("text", AFFINE)
def test_affine_expressions_have_no_second_difference(text):
    expression, generator = parse(text), random.Random(1)
    assert not_affine(expression, {A, B}) is None
    for _ in range(5):
        names = {Reference("q"): generator.uniform(0.1, 2), Reference("t"): generator.uniform(-2, 2)}
        a, b, da, db = (generator.uniform(-2, 2) for _ in range(4))
        values = [expression.evaluate({**names, A: a + k * da, B: b + k * db}) for k in (-1, 0, 1)]
        assert values[0] - 2 * values[1] + values[2] == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("text", NOT_AFFINE)
def test_others_are_named(text):
    assert not_affine(parse(text), {A, B}) == A


def test_only_velocities_count():
    assert not_affine(parse("sin(A)*q^2"), {A, B}) is None
    assert not_affine(parse("sin(A')*q^2"), ()) is None
