"""Dual numbers: derivatives of every function of scalars, on floats, tapes and symbols, against differences."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.compile.trace.tape import Tape
from momentree.model.expressions.expression import Reference, parse
from momentree.spatial import Force, Vector, turn
from momentree.spatial.dual import Dual, derivative
from momentree.spatial.scalar import FUNCTIONS, atan2, maximum, minimum, select, sin, sqrt

plenty = settings(deadline=None, max_examples=20)

ANY, POSITIVE, UNIT, STEEP = (-3.0, 3.0), (0.1, 5.0), (-0.9, 0.9), (-1.4, 1.4)
RANGES = {  # of each argument
    **dict.fromkeys(("sin", "cos", "atan", "sinh", "cosh", "tanh", "exp", "abs", "sign"), (ANY,)),
    "tan": (STEEP,),
    **dict.fromkeys(("asin", "acos"), (UNIT,)),
    **dict.fromkeys(("log", "sqrt"), (POSITIVE,)),
    **dict.fromkeys(("atan2", "min", "max"), (ANY, ANY)),
    "select": (ANY, ANY, ANY),
}
OPERATORS = {
    "+": (lambda a, b: a + b, (ANY, ANY)),
    "-": (lambda a, b: a - b, (ANY, ANY)),
    "*": (lambda a, b: a * b, (ANY, ANY)),
    "/": (lambda a, b: a / b, (ANY, POSITIVE)),
    "**": (lambda a, b: a**b, (POSITIVE, ANY)),
    "square": (lambda a: a**2, (ANY,)),
    "reciprocal": (lambda a: 1 / a, (POSITIVE,)),
    "power": (lambda a: 2.0**a, (ANY,)),
    "less": (lambda a: 3 - a, (ANY,)),
}
ALL = {name: (FUNCTIONS[name], ranges) for name, ranges in RANGES.items()} | OPERATORS


def test_every_function_of_the_language_is_proved_here():
    assert set(FUNCTIONS) == set(RANGES)


def numbers(ranges):
    """Arguments and their derivatives, away from where abs, min and select have corners."""
    values = st.tuples(*(st.floats(*bounds).filter(lambda x: abs(x) > 1e-2) for bounds in ranges))
    apart = values.filter(lambda x: len(x) < 2 or abs(x[0] - x[1]) > 1e-2)
    return st.tuples(apart, st.tuples(*(st.floats(-2, 2) for _ in ranges)))


@pytest.mark.parametrize("name", ALL)
@plenty
@given(data=st.data())
@pytest.mark.repeats(9)
def test_derivatives_are_those_of_differences(name, data):
    function, ranges = ALL[name]
    x, dx = data.draw(numbers(ranges))
    found = function(*map(Dual, x, dx))
    assert found.value == pytest.approx(function(*x), rel=1e-14)
    h = 1e-6
    slope = function(*(a + h * b for a, b in zip(x, dx, strict=True)))
    slope = (slope - function(*(a - h * b for a, b in zip(x, dx, strict=True)))) / (2 * h)
    assert found.derivative == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ALL)
@plenty
@given(data=st.data())
@pytest.mark.repeats(9)
def test_dual_numbers_of_variables_of_a_tape_give_what_those_of_floats_give(name, data):
    function, ranges = ALL[name]
    x, dx = data.draw(numbers(ranges))
    tape = Tape()
    on_tape = [Dual(tape.input(f"x{i}"), tape.input(f"dx{i}")) for i in range(len(x))]
    result = function(*on_tape)
    tape.outputs([result.value, result.derivative])
    values = {f"x{i}": a for i, a in enumerate(x)} | {f"dx{i}": a for i, a in enumerate(dx)}
    floats = function(*map(Dual, x, dx))
    assert tape.evaluate(values) == pytest.approx([floats.value, floats.derivative], rel=1e-10, abs=1e-10)


def test_scalars_among_dual_numbers_are_constants():
    tape = Tape()
    p = tape.input("p")
    x = Dual(p * 0 + 2.0, 1.0)
    for result in (p * x, x + p, p - x, select(p, x, 1.0), maximum(p, x), minimum(x, p), atan2(p, x)):
        assert isinstance(result, Dual)
    assert derivative(p) == derivative(3.0) == 0
    assert derivative(np.float64(2.0) * Dual(3.0, 5.0)) == 10


def test_vectors_and_rotations_take_dual_numbers():
    angle, rate = 0.3, 2.0
    v = turn(Vector(0, 0, 1), Dual(angle, rate)) @ Vector(1, 0, 0)
    assert [derivative(x) for x in v] == pytest.approx([-rate * np.sin(angle), rate * np.cos(angle), 0])
    force = Dual(2.0, 1.0) * Force(Vector(1, 2, 3), Vector(0, 0, 1))
    assert [derivative(x) for x in force] == [1, 2, 3, 0, 0, 1]


def test_expressions_are_evaluated_on_dual_numbers():
    law = parse("sin(2*t) + select(t, t^3, 0)")
    value = law.evaluate({Reference("t"): Dual(0.7, 1.0)})
    assert value.derivative == pytest.approx(2 * np.cos(1.4) + 3 * 0.49)


def test_a_constant_has_the_derivative_zero_even_where_the_slope_is_infinite():
    assert sqrt(Dual(0.0)).derivative == 0
    assert atan2(Dual(0.0), Dual(0.0)).derivative == 0


def test_symbols_are_scalars_too():
    x, dx = sympy.symbols("x dx")
    assert (Dual(x, dx) * Dual(x, dx)).derivative == 2 * x * dx
    assert sin(Dual(x, dx)).derivative == dx * sympy.cos(x)
