"""Derivations by every formalism: lines numbered with a letter, what they say, and names that do no harm."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import sympy as sp

import momentree as mt
from constrained import blade, four_bar_in_letters, parametrized
from momentree.symbols.formalisms import FORMALISMS
from momentree.symbols.steps.derivation_steps import STEPS
from momentree.symbols.steps.page import _said
from momentree.symbols.trigonometry import Trigonometry
from rusanov_examples import slider

ROOT = Path(__file__).parents[4]
FAMILY = {"slider": lambda: slider(2), "four-bar": four_bar_in_letters, "blade": blade}


def ball():
    m = parametrized("ball", (0, 0, "-g"), g=9.81, m=1.4, r=0.4, J1=0.3, J3=0.2)
    body = m.body("top", mass="m", com=(0, 0, "r"), inertia=("J1", "J1", "J3"))
    m.joint("ball", mt.Spherical(), m.ground, body)
    return m


def same(found, said):
    return not any(Trigonometry([sp.S(found) - sp.S(said)]).polynomials)


def test_every_formalism_has_a_derivation():
    assert set(STEPS) == set(FORMALISMS)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("by", FORMALISMS)
@pytest.mark.parametrize("model", [pytest.param(model, id=name) for name, model in {**FAMILY, "ball": ball}.items()])
def test_lines_are_numbered_with_a_letter_and_latex_is_well_formed(by, model):
    derivation = model().build().equations(by).derivation()
    assert [line.number for line in derivation.lines] == [f"D{i}" for i in range(1, len(derivation.lines) + 1)]
    text, latex = str(derivation), derivation.latex()
    assert all(f"({line.number})" in text and rf"\tag{{{line.number}}}" in latex for line in derivation.lines)
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\left(") == latex.count(r"\right)")
    assert latex.count(r"\begin{align*}") == latex.count(r"\end{align*}")
    assert "Dummy" not in text
    assert latex.isascii(), [c for c in latex if not c.isascii()]
    assert derivation._repr_latex_() == latex
    assert derivation.data()["steps"][0]["title"] == "Coordinates and velocities"


def test_lagrange_derives_what_it_says():
    equations = slider(1).build().equations("lagrange")
    steps = equations.derivation()
    s = equations.symbols
    line = {steps.text(x).split(" = ")[0]: x.right for x in steps.lines}
    T, V = line["T"], line["Π"]
    assert same(line["∂T/∂φ′"], sp.diff(T, s.u[1]))
    assert same(line["∂T/∂φ"], sp.diff(T, s.q[1]))
    assert same(line["∂Π/∂φ"], sp.diff(V, s.q[1]))
    for n, name in enumerate("xφ"):
        left = line[f"d/dt ∂T/∂{name}′"] - line[f"∂T/∂{name}"] + line[f"∂Π/∂{name}"]
        row = (equations.A * sp.Matrix(equations.accelerations) + equations.b - equations.Q)[n]
        assert same(left, row)


def test_aggregative_forms_gather_what_the_next_bodies_have():
    steps = slider(1).build().equations("aggregative").derivation()
    line = {steps.text(x).split(" = ")[0]: steps.text(x) for x in steps.lines}
    # Belkov and Konoplev 1997, (2.2) to (2.4)
    assert line["X(rod)"] == "X(rod) = -(sin(φ) i + cos(φ) j) x′ φ′"
    assert line["Y(rod)"] == "Y(rod) = m l φ′² j"
    assert line["Z(block)"] == "Z(block) = m l (cos(φ) j - sin(φ) i) φ′²"
    assert line["b_x"] == "b_x = -m l φ′² sin(φ)"


def test_each_body_by_itself():
    equations = four_bar_in_letters((0, -9.81, 0)).build().equations("newton_euler")
    assert equations.A.is_diagonal()  # of centers of mass
    assert len(equations.constraints) == 8  # four hinges in a plane
    titles = [step.title for step in equations.derivation().steps]
    assert titles[-3:] == ["Body 'rod a'", "Body 'rod b'", "Body 'rod c'"]


def test_a_body_without_mass_balances_forces():
    m = mt.Model("massless", gravity=(0, "-g", 0))
    for name, value in (("m", 1.2), ("l", 0.8), ("g", 9.81)):
        m.parameter(name, value)
    m.joint("phi", mt.Revolute("z"), m.ground, m.body("bob", mass="m", com=(0, "-l", 0)))
    lines = str(m.build().equations("newton_euler")).splitlines()
    (balance,) = [line for line in lines if line.startswith("  0 = ")]
    assert "λ₁ cos(bob_angle)" in balance
    assert "λ₂ sin(bob_angle)" in balance


def test_axes_are_renamed_where_the_model_has_these_letters():
    m = parametrized("spring", k=3.0, m=1.0)
    m.joint("x", mt.Prismatic("x", spring="k"), m.ground, m.body("block", mass="m", inertia=(1, 1, 1)))
    assert "V(block) = x′ e_x" in str(m.build().equations().derivation())


def test_hostile_names_do_no_harm():
    m = mt.Model("a_{b}$", gravity=(0, 0, 0))
    body = m.body(r"\input{x} & <script>" + "y" * 5000, mass=1.0, inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x"), m.ground, body)
    derivation = m.build().equations().derivation()
    assert r"\input" not in derivation.latex()
    assert max(map(len, str(derivation).splitlines())) < 300


def test_a_line_that_is_not_there():
    with pytest.raises(mt.MomentreeError, match=r"there is no line 'D99'"):
        slider(1).build().equations().derivation()["D99"]


def test_no_page_of_ours_numbers_a_line_as_a_paper_does():
    derivation = str(slider(1).build().equations().derivation())
    assert not re.search(r"\s\(\d+(\.\d+)?\)$", derivation, re.MULTILINE)


@pytest.mark.long
def test_the_command_shows_a_derivation(tmp_path):
    model = ROOT / "examples" / "01_pendulum" / "model.toml"
    words = [sys.executable, "-m", "momentree", "equations", str(model), "--by", "lagrange", "--derivation"]
    found = subprocess.run(
        [*words, "--latex", str(tmp_path / "out.tex")], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert "∂T/∂φ′" in found.stdout
    assert r"\tag{D1}" in (tmp_path / "out.tex").read_text(encoding="utf-8")


def test_each_step_is_a_paragraph_and_letters_with_an_index_are_mathematics():
    derivation = slider(1).build().equations("energy").derivation()
    lines = derivation.latex().splitlines()
    begins = [i for i, line in enumerate(lines) if re.match(r"\d+\. ", line)]
    assert len(begins) == len(derivation.steps)
    assert all(lines[i - 1] == "" for i in begins)
    for by in FORMALISMS:
        for step in slider(1).build().equations(by).derivation().latex_lines():
            assert not re.search(r"(?<![A-Za-z])[A-Za-z]\\_[A-Za-z0-9]", step)
    assert _said("V_parent, Q_s of left_arm") == r"$V_{\mathrm{parent}}$, $Q_{\mathrm{s}}$ of left\_arm"
