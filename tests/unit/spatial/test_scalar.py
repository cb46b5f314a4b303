"""Functions of one scalar: the same function on floats, batches, SymPy symbols, expressions and kinds that join."""

import math
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.model.expressions.expression import Expression, Reference, parse
from momentree.spatial import Vector, turn
from momentree.spatial.scalar import FUNCTIONS, absolute, atan2, cos, maximum, minimum, select, sign, sin, sqrt

plenty = settings(deadline=None, max_examples=20)

ANY, POSITIVE, UNIT, STEEP = (-3.0, 3.0), (0.1, 5.0), (-0.99, 0.99), (-1.4, 1.4)
RANGES = {  # of each argument
    **dict.fromkeys(("sin", "cos", "atan", "sinh", "cosh", "tanh", "exp", "abs", "sign"), (ANY,)),
    "tan": (STEEP,),
    **dict.fromkeys(("asin", "acos"), (UNIT,)),
    **dict.fromkeys(("log", "sqrt"), (POSITIVE,)),
    **dict.fromkeys(("atan2", "min", "max"), (ANY, ANY)),
    "select": (ANY, ANY, ANY),
}
SYMPY = {
    **{name: getattr(sympy, name) for name in RANGES if hasattr(sympy, name)},
    "abs": sympy.Abs,
    "min": sympy.Min,
    "max": sympy.Max,
    "select": lambda x, a, b: sympy.Piecewise((a, x > 0), (b, True)),
}
names = pytest.mark.parametrize("name", sorted(FUNCTIONS))


def inside(bounds):
    return st.floats(*bounds).filter(lambda x: abs(x) > 1e-3)


def arguments(name):
    return st.tuples(*(inside(bounds) for bounds in RANGES[name]))


def test_every_function_of_the_language_is_proved_here():
    assert set(FUNCTIONS) == set(RANGES)


@names
@pytest.mark.repeats(6)
def test_a_float_gives_the_value_that_sympy_finds_with_exact_numbers(name):
    @plenty
    @given(arguments(name))
    def holds(x):
        value = FUNCTIONS[name](*x)
        assert isinstance(value, float)
        exact = SYMPY[name](*(sympy.Rational(one) for one in x))
        assert value == pytest.approx(float(sympy.N(exact, 30)), rel=1e-13, abs=1e-13)

    holds()


@names
@pytest.mark.repeats(6)
def test_a_batch_is_the_loop_over_its_entries(name):
    @plenty
    @given(st.lists(arguments(name), min_size=5, max_size=5))
    def holds(rows):
        batch = FUNCTIONS[name](*np.array(rows).T)
        assert batch.shape == (5,)
        np.testing.assert_allclose(batch, [FUNCTIONS[name](*row) for row in rows], rtol=1e-14, atol=1e-15)

    holds()


@names
@pytest.mark.repeats(6)
def test_a_symbol_stays_exact_and_gives_the_same_value(name):
    @plenty
    @given(arguments(name))
    def holds(x):
        symbols = sympy.symbols("x:3", real=True)[: len(x)]
        expression = FUNCTIONS[name](*symbols)
        assert not expression.atoms(sympy.Float)
        value = expression.subs({s: sympy.Rational(one) for s, one in zip(symbols, x, strict=True)})
        assert float(value) == pytest.approx(FUNCTIONS[name](*x), rel=1e-13, abs=1e-13)

    holds()


@names
def test_an_expression_is_what_the_text_means(name):
    places = ["x", "y", "z"][: len(RANGES[name])]
    written = parse(f"{name}({', '.join(places)})")
    assert FUNCTIONS[name](*map(parse, places)) == written

    @plenty
    @given(arguments(name))
    def holds(x):
        values = {Reference(place): one for place, one in zip(places, x, strict=True)}
        assert written.evaluate(values) == FUNCTIONS[name](*x)

    holds()


@pytest.mark.parametrize("name", [name for name in sorted(RANGES) if len(RANGES[name]) > 1])
@pytest.mark.parametrize("kind", ["sympy", "expression", "batch"])
def test_plain_numbers_may_stand_at_any_place_beside_another_kind(name, kind):
    x = [0.5, -0.7, 1.3][: len(RANGES[name])]
    for place, value in enumerate(x):
        if kind == "sympy":
            symbol = sympy.Symbol("s", real=True)
            mixed = FUNCTIONS[name](*x[:place], symbol, *x[place + 1 :])
            found = float(sympy.sympify(mixed).subs(symbol, value))
        elif kind == "expression":
            mixed = FUNCTIONS[name](*x[:place], parse("s"), *x[place + 1 :])
            assert isinstance(mixed, Expression)
            found = mixed.evaluate({Reference("s"): value})
        else:
            found = FUNCTIONS[name](*x[:place], np.full(5, value), *x[place + 1 :])
        np.testing.assert_allclose(found, FUNCTIONS[name](*x), rtol=1e-15)


@names
def test_numpy_scalars_and_whole_numbers_are_numbers(name):
    x = [1, 2, 3][: len(RANGES[name])]
    expected = FUNCTIONS[name](*map(float, x))
    for kind in (int, np.float64, np.int64, np.asarray):
        assert FUNCTIONS[name](*map(kind, x)) == pytest.approx(expected, rel=1e-15)


def test_exact_angles_have_exact_sines():
    assert sin(sympy.pi / 6) == sympy.Rational(1, 2)
    assert cos(sympy.pi / 4) == sympy.sqrt(2) / 2
    assert sqrt(sympy.Integer(8)) == 2 * sympy.sqrt(2)
    assert atan2(sympy.Integer(-1), sympy.Integer(-1)) == -3 * sympy.pi / 4


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, np.zeros(5), sympy.Integer(0), parse("0")])
def test_zero_has_no_sign_and_is_not_above_zero(zero):
    assert np.all(np.asarray(sign(zero), dtype=float) == 0)
    assert np.all(np.asarray(absolute(zero), dtype=float) == 0)
    assert np.all(np.asarray(select(zero, 1.0, 2.0), dtype=float) == 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: minimum(x, 1.0),
        lambda x: minimum(1.0, x),
        lambda x: maximum(x, 1.0),
        lambda x: maximum(1.0, x),
        sign,
        absolute,
        sin,
    ],
)
def test_what_is_not_a_number_is_not_hidden(function):
    assert np.isnan(function(np.full(5, math.nan))).all()
    assert math.isnan(function(math.nan))


@dataclass(frozen=True)
class Dual:
    """A number and its derivative: a kind of scalar that the library has never heard of."""

    value: float
    slope: float

    @staticmethod
    def of(x):
        return x if isinstance(x, Dual) else Dual(x, 0.0)

    def __add__(self, other):
        other = Dual.of(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __sub__(self, other):
        return self + -Dual.of(other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        other = Dual.of(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    __rmul__ = __mul__

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.slope)

    def cos(self):
        return Dual(math.cos(self.value), -math.sin(self.value) * self.slope)

    def atan2(self, other):
        other = Dual.of(other)
        square = self.value**2 + other.value**2
        slope = (other.value * self.slope - self.value * other.slope) / square
        return Dual(math.atan2(self.value, other.value), slope)


@plenty
@given(st.floats(-7, 7), st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1), (2 / 3, -1 / 3, 2 / 3)]))
def test_another_kind_of_scalar_joins_by_its_methods(angle, axis):
    # R' = [n x] R, here by dual numbers
    R = turn(Vector(*axis), Dual(angle, 1.0))
    entries = [[Dual.of(e) for e in row] for row in R.rows]
    values = np.array([[e.value for e in row] for row in entries])
    slopes = np.array([[e.slope for e in row] for row in entries])
    np.testing.assert_allclose(slopes, np.cross(axis, values, axisb=0, axisc=0), atol=1e-14)


@plenty
@given(st.floats(0.1, 3), st.floats(0.1, 3))
def test_a_number_before_another_kind_is_lifted_to_it(y, x):
    # d atan2(y, x) / dx = -y / (x^2 + y^2)
    found = atan2(y, Dual(x, 1.0))
    assert found.value == math.atan2(y, x)
    assert found.slope == pytest.approx(-y / (x * x + y * y))


def test_sympy_is_not_needed():
    program = """
import sys, numpy
from momentree.spatial import Vector, turn
R = turn(Vector(0.6, 0.0, 0.8), numpy.array([0.1, 0.2]))
assert R.rows[0].x.shape == (2,)
assert "sympy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
