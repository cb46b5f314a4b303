"""Constraint equations in symbols: as a textbook writes them, and with velocities that are their derivatives."""

from __future__ import annotations

import json

import pytest
import sympy as sp

import momentree as mt
from constrained import blade, four_bar_in_letters, parametrized, two_wheels
from mechanisms import four_bar, slider_crank
from momentree.symbols.constraints import constraints_of
from momentree.symbols.equations import freed
from momentree.symbols.scalars import symbolic
from momentree.symbols.shortest import simplified


def rows(model):
    mechanism = freed(model)
    s = symbolic(mechanism)
    return s, constraints_of(mechanism, s)


def section(equations, title):
    """The lines under a title of the printed equations."""
    lines = str(equations).splitlines()
    start = lines.index(title) + 1
    return [line.strip() for line in lines[start : lines.index("", start) if "" in lines[start:] else None]]


# --- as textbooks have them ---


def test_a_four_bar_closes_by_two_equations():
    A, B, D, a, b, c, d = sp.symbols("A B D a b c d", real=True)
    _, found = rows(four_bar_in_letters())
    expected = [
        a * sp.cos(A) + b * sp.cos(A + B) - c * sp.cos(D) - d,
        a * sp.sin(A) + b * sp.sin(A + B) - c * sp.sin(D),
    ]
    assert [sp.expand_trig(row.position - right).expand() for row, right in zip(found, expected, strict=True)] == [0, 0]
    assert [(row.of, row.meaning) for row in found] == [
        ("joint 'C'", "offset along x"),
        ("joint 'C'", "offset along y"),
    ]


def test_a_slider_closes_a_planar_loop_by_its_guide_and_its_angle():
    equations = slider_crank().build().equations()
    assert section(equations, "subject to") == ["3 sin(A + B) + sin(A) = 0", "A + B + C = 0"]
    assert section(equations, "with velocities")[1] == "A′ + B′ + C′ = 0"


def test_an_angle_sum_counts_turned_frames():
    m = parametrized("turned")
    first, second = m.body("first", mt.rod(mass=1.0, length=1.0)), m.body("second", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("z"), m.ground, first)
    m.joint("B", mt.Revolute("z"), first.at((1, 0, 0), mt.turn("z", "30*deg")), second)
    m.joint("S", mt.Prismatic("x"), m.ground.at((0, 0, 0), mt.turn("z", "90*deg")), second)
    m.cut("S")
    _, found = rows(m)
    A, B = sp.symbols("A B", real=True)
    assert sp.simplify(found[-1].position - (A + B - sp.pi / 3)) == 0


def test_the_sleigh_with_its_multiplier():
    equations = blade().build().equations()
    assert [line.strip() for line in str(equations).splitlines()[2:]] == [
        "m s_x″ - m a s_angle″ sin(s_angle) - m a s_angle′² cos(s_angle) = -λ₁ sin(s_angle)",
        "m s_y″ + m a s_angle″ cos(s_angle) - m a s_angle′² sin(s_angle) = λ₁ cos(s_angle)",
        "-m a s_x″ sin(s_angle) + m a s_y″ cos(s_angle) + (J + m a²) s_angle″ = 0",
        "",
        "subject to",
        "-s_x′ sin(s_angle) + s_y′ cos(s_angle) = 0",
        "",
        "Lagrange multipliers",
        "λ₁: 'blade'",
    ]


def test_gears_with_an_offset():
    equations = two_wheels(("mesh", "A + i*B - 0.1")).build().equations("aggregative")
    assert [line.strip() for line in str(equations).splitlines()[2:]] == [
        "J₁ A″ = λ₁",
        "J₂ B″ = i λ₁",
        "",
        "subject to",
        "A + i B - 0.1 = 0",
        "",
        "with velocities",
        "A′ + i B′ = 0",
        "",
        "Lagrange multipliers",
        "λ₁: 'mesh'",
    ]


# --- laws ---


def driven():
    m = four_bar_in_letters()
    m.constrain("sin(A)*D - 0.3*t^2", "driven")
    return m


@pytest.mark.parametrize("model", [four_bar_in_letters, slider_crank, four_bar, driven])
def test_velocities_are_derivatives_of_positions(model):
    s, found = rows(model())
    for row in found:
        velocity = sum(J * u for J, u in zip(row.J, s.u, strict=True)) + row.j
        assert simplified(s.total_derivative(row.position) - velocity) == 0


def test_accelerations_are_derivatives_of_velocities():
    equations = driven().build().equations()
    s = equations.symbols
    for constraint, found in zip(
        equations.expanded.constraints, equations.expanded.constraint_accelerations(), strict=True
    ):
        by_velocities = sum(constraint.velocity.diff(u) * du for u, du in zip(s.u, s.du, strict=True))
        right = s.total_derivative(constraint.velocity) + by_velocities
        assert simplified(sp.expand(found - right)) == 0


def test_both_formalisms_have_the_same_constraints():
    by_energy, by_aggregation = (driven().build().equations(by) for by in ("energy", "aggregative"))
    for field in ("A", "b", "Q", "J", "j", "constraints", "multipliers", "definitions"):
        assert getattr(by_energy, field) == getattr(by_aggregation, field)


def test_gears_in_closed_form():
    """A turns with A'' = T i^2 / (J1 i^2 + J2) under a torque T on A."""
    m = two_wheels(("mesh", "A + i*B"))
    m.parameter("T", 2.0)
    m.torque("A", "T")
    found = m.build().equations().sympy()
    unknown = [*found["accelerations"], *found["multipliers"]]
    second = m.build().equations().constraint_accelerations()
    (solution,) = sp.solve([*found["equations"], *second], unknown, dict=True)
    T, i, J1, J2 = sp.symbols("T i J1 J2", real=True)
    assert sp.simplify(solution[unknown[0]] - T * i**2 / (J1 * i**2 + J2)) == 0
    assert sp.simplify(solution[unknown[2]] + T * J2 / (J1 * i**2 + J2)) == 0


# --- what can be done with them ---


def test_sympy_and_data_have_constraints():
    equations = two_wheels(("mesh", "A + i*B - 0.1")).build().equations()
    found, data = equations.sympy(), json.loads(json.dumps(equations.data()))
    i = sp.Symbol("i", real=True)
    assert found["J"] == sp.Matrix([[1, i]])
    assert [str(x) for x in found["multipliers"]] == data["multipliers"] == ["lambda_1"]
    assert found["equations"][1].rhs == i * found["multipliers"][0]
    assert len(found["positions"]) == len(found["constraint velocities"]) == 1
    assert data["J"] == [["1", "i"]]
    assert data["constraints"][0]["of"] == "'mesh'"
    assert data["constraints"][0]["position"] == "A + B*i - 1/10"


def test_operations_count_constraints():
    with_mesh, without = (two_wheels(*c).build().equations().operations() for c in ([("m", "A*A + i*B*A - 1")], []))
    assert with_mesh.multiplications > without.multiplications


def test_latex_has_constraints_and_a_legend():
    fragment = two_wheels(("my_mesh", "A + i*B - 0.1")).build().equations().latex()
    assert r"J_{2} \ddot{B} &= i \lambda_{1}" in fragment
    assert r"A + i B - 0.1 &= 0" in fragment
    assert r"Lagrange multipliers: $\lambda_{1}$: 'my\_mesh'." in fragment


@pytest.mark.long
def test_long_entries_of_the_jacobian_are_named_once():
    m = parametrized("spatial", l=0.7)
    first = m.body("first", mt.rod(mass=1.0, length="l"))
    second = m.body("second", mt.rod(mass=1.0, length="l"))
    m.joint("A", mt.Universal("x", "y"), m.ground, first)
    m.joint("B", mt.Universal("z", "y"), first.at(("l", 0, 0)), second)
    m.joint("C", mt.Spherical(), second.at(("l", 0, 0)), m.ground.at((1, 0, 0)))
    equations = m.build().equations()
    assert equations.expanded.J != equations.J
    named = {symbol for symbol, _ in equations.definitions}
    assert named & equations.J.free_symbols


def test_a_parameter_called_lambda_keeps_its_name():
    m = parametrized("names", lambda_1=2.0)
    m.joint("A", mt.Revolute("z"), m.ground, m.body("wheel", mass=1.0, inertia=("lambda_1", "lambda_1", "lambda_1")))
    m.constrain("A - 0.3", "stop")
    assert [str(x) for x in m.build().equations().multipliers] == ["lambda_1_"]


def test_trees_have_no_constraints():
    equations = two_wheels().build().equations(reduced=True)
    assert equations.multipliers == equations.constraints == equations.dependent == ()
    assert equations.constraint_accelerations() == ()
    assert "subject to" not in str(equations)
