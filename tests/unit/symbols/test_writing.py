"""Numbers, names, text, LaTeX and the count of operations."""

from __future__ import annotations

import math

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.parsing.sympy_parser import (
    convert_xor,
    implicit_multiplication_application,
    parse_expr,
    standard_transformations,
)

from momentree.symbols.names import LETTERS, Name, number_text, plain
from momentree.symbols.operations import count
from momentree.symbols.scalars import exact
from momentree.symbols.writing import ACCELERATION, COORDINATE, GRAVITY, INERTIAL, OTHER, VELOCITY, Latex, Text

m, g, l, k, x, y = sp.symbols("m g l k x y", real=True)
theta5, u, du = (sp.Symbol(name, real=True) for name in ("theta5", "theta5'", "theta5''"))
RANKS = {m: (INERTIAL, 0), g: (GRAVITY, 0), l: (OTHER, 0), k: (OTHER, 1), u: (VELOCITY, 0), du: (ACCELERATION, 0)}
RANKS |= {x: (COORDINATE, 0), y: (COORDINATE, 1)}


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (0.5, "1/2"),
        (9.81, "981/100"),
        (-0.25, "-1/4"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-20, "1/100000000000000000000"),
        (1 / 3, "1/3"),
        (1 / 12, "1/12"),
        (0.1 + 0.2, "3/10"),
        (math.sqrt(2) / 2, "sqrt(2)/2"),
        (-math.sqrt(3), "-sqrt(3)"),
        (math.cos(math.radians(60)), "1/2"),
        (math.cos(math.pi / 2), "0"),
        (2 * math.pi, "2*pi"),
        (math.pi / 180, "pi/180"),
        (0.1 / (2 * math.pi), "1/(20*pi)"),
        (0.123456789, "123456789/1000000000"),
    ],
)
def test_a_float_stands_for_the_number_that_was_meant(value, meant):
    found = exact(value)
    assert str(found) == meant
    assert math.isclose(float(found), value, rel_tol=1e-15, abs_tol=1e-14)


def test_other_floats_stay_floats():
    assert exact(0.12345678912345) == sp.Float(0.12345678912345)
    assert exact(math.inf) == sp.oo


@pytest.mark.parametrize(
    ("name", "text", "latex"),
    [
        ("m", "m", "m"),
        ("m1", "m₁", "m_{1}"),
        ("theta5''", "θ₅″", r"\ddot{\theta}_{5}"),
        ("phi'", "φ′", r"\dot{\phi}"),
        ("I44", "I₄₄", "I_{44}"),
        ("Jxy", "Jxy", "J_{xy}"),
        ("Jz2", "Jz₂", "J_{z2}"),
        ("hull_y", "hull_y", r"\mathrm{hull}_{y}"),
        ("theta_hip", "θ_hip", r"\theta_{\mathrm{hip}}"),
        ("Omega", "Ω", r"\Omega"),
        ("Alpha", "Α", r"\mathrm{Alpha}"),
        ("λ2", "λ₂", r"\lambda_{2}"),
        ("a_b_1'", "a_b_1′", r"\dot{a}_{\mathrm{b\_1}}"),
        ("угол", "угол", r"\text{угол}"),
        ("_", "_", r"\mathrm{\_}"),
    ],
)
def test_names(name, text, latex):
    found = Name.of(sp.Symbol(name))
    assert found.text == text
    assert found.latex == latex


def test_every_greek_letter_is_one_letter():
    assert len(set(LETTERS.values())) == len(LETTERS) == 48
    assert (LETTERS["alpha"], LETTERS["sigma"], LETTERS["omega"], LETTERS["Omega"]) == ("α", "σ", "ω", "Ω")


@pytest.mark.parametrize(
    ("number", "text"),
    [("2", "2"), ("1/2", "1/2"), ("981/100", "9.81"), ("1/37", "1/37"), ("19/2", "9.5"), ("1/5", "0.2")],
)
def test_numbers(number, text):
    assert number_text(sp.Rational(number)) == text


def test_long_numbers_are_cut_to_six_digits():
    assert number_text(sp.Float(0.12345678912345)) == "0.123457"
    assert number_text(sp.Rational(123456789123, 10**12)) == "0.123457"
    assert Latex({}).write(sp.Float(1.5e-9)) == r"1.5 \cdot 10^{-9}"


@pytest.mark.parametrize(
    ("expression", "text", "latex"),
    [
        (l * g * m * sp.sin(theta5), "m g l sin(θ₅)", r"m g l \sin \theta_{5}"),
        (sp.cos(theta5) * du * l * m, "m l θ₅″ cos(θ₅)", r"m l \ddot{\theta}_{5} \cos \theta_{5}"),
        (m * l**2 + k, "k + m l²", "k + m l^{2}"),
        (-x + y, "y - x", "y - x"),
        (-x - y, "-x - y", "-x - y"),
        (m * l / 2, "½ m l", r"\frac{1}{2} m l"),
        (sp.Rational(5, 12) * m, "(5/12) m", r"\frac{5}{12} m"),
        (x / 2 + y / 2, "½ (x + y)", r"\frac{1}{2} \left(x + y\right)"),
        (-x / 2 - y / 2, "-½ (x + y)", r"-\frac{1}{2} \left(x + y\right)"),
        (-(x - y) * m, "m (y - x)", r"m \left(y - x\right)"),
        (m * (2 * x + 2 * y), "2 m (x + y)", r"2 m \left(x + y\right)"),
        (m * (-x - y), "-m (x + y)", r"-m \left(x + y\right)"),
        (-m * (x - 2 * y - l), "m (l - x + 2 y)", r"m \left(l - x + 2 y\right)"),
        (l**k, "l^k", "l^{k}"),
        (k * x / l, "k x/l", r"\frac{k x}{l}"),
        (1 / (1 + x**2), "1/(1 + x²)", r"\frac{1}{1 + x^{2}}"),
        (x / (l * (1 + y)), "x/(l (1 + y))", r"\frac{x}{l \left(1 + y\right)}"),
        (sp.sqrt(x + y), "√(x + y)", r"\sqrt{x + y}"),
        (sp.sin(x + y) ** 2, "sin²(x + y)", r"\sin^{2}\left(x + y\right)"),
        ((x + y) ** 3, "(x + y)³", r"\left(x + y\right)^{3}"),
        (x ** sp.Rational(3, 2), "x^(3/2)", r"x^{\frac{3}{2}}"),
        (sp.Abs(x), "|x|", r"\left|x\right|"),
        (sp.exp(-x), "exp(-x)", "e^{-x}"),
        (sp.tanh(x), "tanh(x)", r"\tanh x"),
        (sp.atan2(x, y), "atan2(x, y)", r"\operatorname{atan2}\left(x, y\right)"),
        (sp.Max(x, 0), "max(0, x)", r"\max\left(0, x\right)"),
        (sp.pi * x, "π x", r"\pi x"),
        (sp.Integer(0), "0", "0"),
    ],
)
def test_expressions(expression, text, latex):
    assert Text(RANKS).write(expression) == text
    assert Latex(RANKS).write(expression) == latex


factors = st.sampled_from(
    [m, g, l, x, y, sp.sin(x), sp.cos(x + y), sp.Integer(2), sp.Integer(-3), sp.Rational(1, 2), 1 / l]
)
products = st.lists(factors, min_size=1, max_size=4).map(lambda parts: sp.Mul(*parts))
sums = st.lists(products, min_size=1, max_size=4).map(lambda parts: sp.Add(*parts))
READ = (*standard_transformations, convert_xor, implicit_multiplication_application)


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(sums, sums, products)
def test_what_is_written_reads_as_it_was(one, other, third):
    expression = one * other + third
    read = parse_expr(plain(Text(RANKS).write(expression)), {str(s): s for s in (m, g, l, x, y)}, READ)
    at = {m: 1.3, g: 0.7, l: 1.9, x: 0.6, y: -0.8}
    assert float(read.subs(at)) == pytest.approx(float(expression.subs(at)), rel=1e-9, abs=1e-9)


def test_cases():
    x = sp.Symbol("x", real=True)
    cases = sp.Piecewise((1, x > 0), (2, True))
    assert Text({}).write(cases) == "{1 if x > 0; 2 otherwise}"
    assert Latex({}).write(cases) == r"\begin{cases} 1 & x > 0 \\ 2 & \text{otherwise} \end{cases}"


def test_text_for_terminals_without_greek():
    assert plain("½ m₁ θ₅″ cos²(θ₅) + √(x)") == "(1/2) m1 theta5'' cos^2(theta5) + sqrt(x)"


@pytest.mark.parametrize(
    ("expressions", "counted"),
    [
        ([x + y], (0, 1, 0, 0, 0)),
        ([x - y], (0, 1, 0, 0, 0)),
        ([-x * y], (1, 0, 0, 0, 0)),
        ([x / y], (0, 0, 1, 0, 0)),
        ([1 / x], (0, 0, 1, 0, 0)),
        ([x * y / (k * l)], (2, 0, 1, 0, 0)),
        ([x**5], (3, 0, 0, 0, 0)),
        ([sp.sin(x) + sp.cos(x)], (0, 1, 0, 2, 0)),
        ([sp.sin(x) * y, sp.sin(x) * k], (2, 0, 0, 1, 0)),
        ([sp.sqrt(x) + sp.exp(y)], (0, 1, 0, 0, 2)),
        ([x / 2], (1, 0, 0, 0, 0)),
    ],
)
def test_operations(expressions, counted):
    assert tuple(count(expressions)) == counted


# --- names that look alike ---

ALIKE = ["m1 m_1", "alpha α", "theta5 theta_5 θ5 θ_5", "e E m", "beta β beta1 beta_1", "Jxy J_xy", "x_y xy", "π p i"]


@pytest.mark.parametrize("names", ALIKE)
@pytest.mark.parametrize("writer", [Text, Latex])
def test_different_symbols_never_look_alike(names, writer):
    ranks = {sp.Symbol(name, real=True): (OTHER, i) for i, name in enumerate(names.split())}
    ranks |= {sp.Symbol(f"{name}{dots}", real=True): (VELOCITY, 0) for name in names.split() for dots in ("'", "''")}
    write = writer(ranks).write
    spelt = [write(symbol) for symbol in [*ranks, sp.pi, sp.exp(x)]]
    assert len({*spelt}) == len(spelt)


def test_names_that_nothing_looks_like_are_spelt_as_ever():
    write = Text({sp.Symbol(name): (OTHER, 0) for name in ("m_1", "alpha", "e")}).write
    assert [write(sp.Symbol(name)) for name in ("m_1", "alpha", "e")] == ["m₁", "α", "e"]


def test_a_parameter_e_is_no_exponential():
    e = sp.Symbol("e")
    assert Latex({e: (OTHER, 0)}).write(sp.exp(e) * e) == r"e \exp\left(e\right)"
    assert Latex({}).write(sp.exp(-x)) == "e^{-x}"
