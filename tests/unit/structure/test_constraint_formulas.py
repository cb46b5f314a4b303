"""Formulas of expression constraints: slopes, drifts, ends and inputs; equal where only numbers differ."""

from __future__ import annotations

import dataclasses

import pytest

import momentree as mt
from momentree.model.expressions.expression import parse
from momentree.model.frames import Frame
from momentree.structure.constraint_formulas import (
    constraint_formula,
    coordinate,
    derivatives_of_formula,
    names_of_formula,
    position,
)
from momentree.structure.mechanism import Constraint


@pytest.fixture(scope="module")
def mechanism():
    m = mt.Model("chain")
    end = m.ground
    for name in "ABC":
        rod = m.body(name.lower(), mt.rod(mass=1.0, length=1.0))
        m.joint(name, mt.Revolute("y"), end if end is m.ground else end.at((1, 0, 0)), rod)
        end = rod
    ball = m.body("ball", mt.sphere(mass=1.0, radius=0.2))
    m.joint("S", mt.Spherical(), end.at((1, 0, 0)), ball)
    frozen = m.build().mechanism
    tip, rim = (frozen.attach(Frame(body, (0.5, 0, 0))) for body in ("c", "ball"))
    return dataclasses.replace(frozen, frames=(("tip", tip), ("rim", rim)))


def formula_of(mechanism, text, holonomic=True, **more):
    return constraint_formula(mechanism, Constraint("k", parse(text), holonomic, **more))


def evaluated(of, expression, q, x, t=0.0, dq=(), dx=()):
    inputs = [value.evaluate(dict.fromkeys(value.references(), t)) for value in of.inputs]
    return expression.evaluate(names_of_formula(inputs, q, x) | derivatives_of_formula(dq, dx))


def test_ends_are_joints_then_frames_then_the_ground(mechanism):
    numbers = mechanism.numbers
    assert formula_of(mechanism, "C - 2*A").ends == (numbers["a"], numbers["c"])
    with_frames = formula_of(mechanism, "B + tip.x*rim.y")
    assert with_frames.bodies == (numbers["b"],)
    assert with_frames.ends == (numbers["b"], numbers["ball"], numbers["c"], 0)  # frames by name


def test_slopes_and_drift_of_a_holonomic_constraint(mechanism):
    of = formula_of(mechanism, "A^2*tip.x + sin(3*t)*B")
    q, x, t = [[0.7], [0.2]], [[1.1, 0.0, 0.0]], 0.4
    value = {
        "value": of.formula.value,
        "A": of.formula.by_joint[0][0],
        "B": of.formula.by_joint[1][0],
        "x": of.formula.by_frame[0][0],
        "drift": of.formula.drift,
    }
    found = {name: evaluated(of, expression, q, x, t) for name, expression in value.items()}
    sin, cos = 0.9320390859672263, 0.3623577544766736  # of 1.2
    expected = {"value": 0.49 * 1.1 + sin * 0.2, "A": 1.4 * 1.1, "B": sin, "x": 0.49, "drift": 3 * cos * 0.2}
    assert found == pytest.approx(expected, rel=1e-12)
    change = evaluated(of, of.formula.by_joint_derivative[0][0], q, x, t, [[2.0], [0.0]], [[0.3, 0, 0]])
    assert change == pytest.approx(2 * 2.0 * 1.1 + 2 * 0.7 * 0.3)  # of 2 A x
    assert of.formula.moves


def test_slopes_and_drift_of_a_constraint_on_velocities(mechanism):
    of = formula_of(mechanism, "cos(A)*B' + tip.z*tip.wx - 4*t", holonomic=False)
    assert of.formula.value is None
    assert not of.formula.holonomic
    q, x = [[0.5], [0.0]], [[0.0, 0.0, 0.9]]
    slopes = [evaluated(of, slope, q, x) for slope in of.formula.by_frame[0]]
    assert slopes == pytest.approx([0, 0, 0, 0.9, 0, 0])
    assert evaluated(of, of.formula.by_joint[1][0], q, x) == pytest.approx(0.8775825618903728)
    assert evaluated(of, of.formula.drift, q, x, t=2.0) == pytest.approx(-8)


def test_formulas_that_differ_in_numbers_only_are_equal(mechanism):
    first, second = formula_of(mechanism, "A - 2.5*B + 0.3"), formula_of(mechanism, "B - 7.1*C + 9.2")
    assert first.formula == second.formula
    assert [float(x) for x in first.inputs] != [float(x) for x in second.inputs]
    assert formula_of(mechanism, "A - 2.5*B^2").formula != first.formula


def test_a_quaternion_is_mapped_and_an_angle_is_not(mechanism):
    of = formula_of(mechanism, "S.qx*A")
    assert [None if joint is None else joint.kind for joint in of.formula.joint_types] == [None, "Spherical"]
    assert len(of.formula.by_joint[1]) == 4
    assert len(formula_of(mechanism, "S.wx*A", holonomic=False).formula.by_joint[1]) == 3


def test_while_time_stands_still_a_constraint_does_not_drift(mechanism):
    of = formula_of(mechanism, "A - sin(t)", still=True)
    assert of.formula.drift.value == 0
    assert not of.formula.moves
    assert evaluated(of, of.formula.value, [[0.0]], [], 0.5) == pytest.approx(-0.479425538604203)


def test_names_are_told_apart():
    assert coordinate(0, 1) != position(0, "1")
    assert names_of_formula([5.0], [[1.0]], [[2.0, 3.0, 4.0]])[position(0, "z")] == 4.0
