"""Descriptions of programmes: constraints become a q' = b; mistakes are named with the way out."""

from __future__ import annotations

import pytest

from momentree import sin
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Reference
from momentree.model.programme_description import described

BLADE = "x'*sin(phi) - y'*cos(phi) = 0"
CART = {"coordinates": "x y phi", "constraints": [BLADE], "velocity": {"x": "cos(phi)", "phi": 1}}


def test_an_equation_affine_in_velocities_becomes_a_row():
    (row,) = described("x y", ["2*x'*sin(y) + t = y' - x"], velocity={"x": 1}).constraints
    at = {Reference("x"): 3.0, Reference("y"): 0.5, Reference("t"): 7.0}
    assert [x.evaluate(at) for x in row.a] == pytest.approx([2 * 0.479425538604203, -1])
    assert row.b.evaluate(at) == -10
    assert row.position is None


def test_a_holonomic_constraint_enters_by_its_derivative_and_its_error_dies_out():
    (row,) = described("x y", ["x^2 + y = 3*t"], velocity={"x": 1}, position_gain=2).constraints
    at = {Reference("x"): 3.0, Reference("y"): 0.5, Reference("t"): 2.0}
    assert [x.evaluate(at) for x in row.a] == [6, 1]
    assert row.b.evaluate(at) == 3 - 2 * (9 + 0.5 - 6)


def test_expressions_may_be_numbers_texts_and_functions():
    said = described("x y", velocity=(lambda x, t: sin(x) * t, 2.5), mass=[[2, 0], [0, "1 + y^2"]])
    assert str(said.velocity[0]) == "sin(x)*t"
    assert said.velocity[1].value == 2.5
    assert [[str(x) for x in row] for row in said.mass] == [["2", "0"], ["0", "1 + y^2"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coordinates": "x y x"}, "each once"),
        ({"coordinates": "x y t"}, "'t' cannot name a coordinate"),
        ({"coordinates": "x y sin"}, "'sin' cannot name a coordinate"),
        ({"parameters": {"x": 1}}, "'x' cannot name a parameter"),
        ({"parameters": {"k": "x"}}, "parameter 'k' is 'x'. Give a number"),
        ({"constraints": ["x'*sin(ph) = 0"]}, r"constraint 1 names 'ph'.*Did you mean 'phi'"),
        ({"constraints": ["x'^2 = 1"]}, r"constraint 1, 'x'\^2 = 1', is not affine in x'"),
        ({"constraints": ["2 = t"]}, "names no coordinate"),
        ({"constraints": ["x' +"]}, r"constraint 1: unexpected end"),
        ({"velocity": {"z": 1}}, "there is no coordinate 'z'"),
        ({"velocity": {"x": "phi'", "phi": 1}}, "velocity of x depends on phi', a velocity"),
        ({"velocity": {"phi": 1}}, "gives 1 of 3 components; number of constraints: 1. Give 2"),
        ({"velocity": None}, "1 constraint leaves 2 of 3 velocities open"),
        ({"wanted": (0, 0, 0)}, "velocity and wanted both complete"),
        ({"velocity": None, "completion": []}, "completion has 0 vectors.*takes 1"),
        ({"velocity": None, "null_space": [(1, 0, 0)]}, "null_space and along belong together"),
        ({"velocity": None, "null_space": [(1, 0, 0)], "along": [1]}, "Give 2 of each"),
        ({"mass": [1, 2]}, "mass has 2 entries. Give one for each coordinate: x, y, phi"),
        ({"mass": [[1, 0], [0, 1]]}, "mass has 2 entries"),
        ({"dissipation": 1, "gain": 2}, "dissipation and gain both say what d is"),
        ({"potential": "phi"}, "potential and K belong together"),
        ({"potential": "phi", "K": 1}, "are for mode='DQ'"),
        ({"mode": "DX"}, "mode 'DX' is not known. Choose 'DU' or 'DQ'"),
        ({"periods": {"phi": -1}}, "period of phi is -1"),
        ({"periods": {"psi": 1}}, "there is no coordinate 'psi'"),
        ({"position_gain": "x"}, "position_gain names 'x'"),
        ({"position_gain": "k", "parameters": {"k": -2}}, "position_gain is k: errors would grow"),
    ],
)
def test_mistakes_are_named_with_the_way_out(change, message):
    with pytest.raises(MomentreeError, match=message):
        described(**{**CART, **change})


def test_text_is_never_evaluated_as_python():
    with pytest.raises(MomentreeError):
        described("x y", velocity=("__import__('os').getcwd()", 1))
