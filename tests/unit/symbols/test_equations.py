"""Equations in symbols: equal to the numbers of the system, readable, and the same by every formalism."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from command_line import command
from constrained import blade, four_bar_in_letters
from mechanisms import MOVING, four_bar, random_configuration, random_tree
from momentree.symbols.equations import derive, freed
from momentree.symbols.names import LETTERS
from momentree.symbols.parallel import carriers
from momentree.symbols.scalars import symbolic

EXAMPLES = Path(__file__).parents[3] / "examples"
KNOWN_COMMANDS = "begin end left right frac sqrt dot ddot sin cos tan tanh mathrm text quad min max operatorname"
FORMALISMS = ("energy", "aggregative")
t = sp.Symbol("t", real=True)


# --- mechanisms ---


def parametrised(name, gravity, **parameters):
    m = mt.Model(name, gravity=gravity)
    for parameter, value in parameters.items():
        m.parameter(parameter, value)
    return m


def pendulum():
    m = parametrised("pendulum", (0, "-g", 0), J=0.2, m=1.3, r=0.4, g=9.81)
    m.joint("phi", mt.Revolute("z"), m.ground, m.body("bob", mass="m", com=(0, "-r", 0), inertia=("J", "J", "J")))
    return m


def chain(n):
    m = parametrised(f"chain of {n}", (0, "-g", 0), g=9.81)
    at = m.ground
    for i in range(1, n + 1):
        for letter, value in (("J", 0.1), ("m", 1.0 + i), ("r", 0.5), ("l", 1.0 + i / 7)):
            m.parameter(f"{letter}{i}", value)
        link = m.body(f"link {i}", mass=f"m{i}", com=(f"r{i}", 0, 0), inertia=(0, f"J{i}", f"J{i}"))
        m.joint(f"q{i}", mt.Revolute("z"), at, link)
        at = link.at((f"l{i}", 0, 0))
    return m


def slider():
    return mt.load(EXAMPLES / "02_pendulum_on_a_slider" / "model.toml")


def arm():
    m = parametrised(
        "arm", (0, 0, "-g"), g=9.81, m1=3.0, m2=2.0, m3=1.0, l=0.5, r2=0.2, r3=0.3, Jx=0.1, Jy=0.12, Jz=0.15
    )
    column = m.body("column", mass="m1", inertia=("Jx", "Jy", "Jz"))
    upper = m.body("upper", mass="m2", com=("r2", 0, 0), inertia=("Jx", "Jy", "Jz"))
    lower = m.body("lower", mass="m3", com=("r3", 0, 0), inertia=(0.01, 0.02, 0.02))
    m.joint("q1", mt.Revolute("z"), m.ground, column)
    m.joint("q2", mt.Revolute("y"), column.at((0, 0, "l")), upper)
    m.joint("q3", mt.Revolute("-y"), upper.at(("l", 0, 0)), lower)
    return m


def planar():
    m = parametrised("planar", (0, 0, "-g"), g=9.81, m=2.0, h=0.2, J=0.3)
    hull = m.body("hull", mass="m", com=(0, "h", 0.1), inertia=("J", "J", "J"))
    m.joint("hull", mt.Planar("x"), m.ground, hull)
    return m


def universal():
    m = parametrised("universal", (0, 0, "-g"), g=9.81, m=2.0, h=0.2, A=0.3, B=0.4, C=0.5)
    m.joint("u", mt.Universal("x", "y"), m.ground, m.body("top", mass="m", com=(0, 0, "h"), inertia=("A", "B", "C")))
    return m


def driven():
    """A spring with a rest length, dampers, a torque law, and a force that the rod carries."""
    m = parametrised("driven", (0, "-g", 0), g=9.81, m=1.2, k=15.0, c=0.1, l=0.8, l0=0.5, h=1.0, d=0.2, mu=0.3)
    rod = m.body("rod", mt.rod(mass="m", length="l", along="-y"))
    m.joint("phi", mt.Revolute("z", damping="d", spring=3.0, rest=0.1), m.ground, rod)
    m.spring(m.ground.at(("h", 0, 0)), rod.at((0, "-l", 0)), "k", "c", "l0")
    m.torque("phi", "mu*sin(3*t) - 0.1*tanh(phi') + min(phi, 0.1)*exp(-t) + 1/(1 + phi^2)")
    m.force(rod.at((0, "-l/2", 0)), ("3*t^2", "phi/h", 0), axes="body")
    return m


def thread():
    """A thread that only pulls, and a law with cases."""
    m = parametrised("thread", (0, "-g", 0), g=9.81, m=1.2, k=15.0, c=0.1, l=0.8, h=1.0)
    rod = m.body("rod", mt.rod(mass="m", length="l", along="-y"))
    m.joint("phi", mt.Revolute("z"), m.ground, rod)
    m.spring(m.ground.at(("h", 0, 0)), rod.at((0, "-l", 0)), "k", "c", "h", tension_only=True)
    m.torque("phi", "select(phi, 1, 2)*abs(phi') - sign(phi')")
    return m


def prescribed():
    """A crank that is driven as prescribed, on a ground that moves; explicit time in A, b and Q."""
    m = parametrised("prescribed", (0, "-g", 0), g=9.81, m=1.2, a=0.3, w=2.0, l=0.8)
    crank = m.body("crank", mass="m", com=(0, "-l", 0))
    bob = m.body("bob", mass="2*m", com=("l/3", 0.25, 0), inertia=(0.1, 0.2, "m*l^2/7"))
    m.joint("drive", mt.Revolute("z", motion="a*sin(w*t)"), m.ground, crank)
    m.joint("psi", mt.Revolute("y"), crank.at((0, "-l", 0), mt.turn("x", "30*deg")), bob)
    m.joint("slide", mt.Prismatic("x"), bob, m.body("bead", mass="m"))
    m.ground.moves((0, "0.1*cos(w*t)", 0))
    return m


def free_body():
    m = parametrised("free body", (0, 0, "-g"), g=9.81, m=1.2, h=0.3, A=0.3, B=0.4, C=0.5)
    m.body("stone", mass="m", com=("h", 0, 0), inertia=("A", "B", "C"))
    return m


def screw():
    m = parametrised("screw", (0, 0, "-g"), g=9.81, m=1.2, J=0.3, pitch=0.1)
    m.joint("s", mt.Screw("z", pitch="pitch"), m.ground, m.body("nut", mass="m", inertia=("J", "J", "J")))
    return m


def odd_laws():
    """Reciprocals of what is negative, tangents, fast oscillations, powers."""
    m = parametrised("odd laws", (0, "-g", 0), g=9.81, m=1.2, l=0.8, k=2.5)
    rod = m.body("rod", mt.rod(mass="m", length="l", along="-y"))
    m.joint("phi", mt.Revolute("z"), m.ground, rod)
    m.torque("phi", "k/(phi*l + k*cos(phi) - 2*k - 3*l - 7) + sin(37.5*t) - cos(-12*t)*tan(phi)^3/cos(phi)^2")
    m.force(rod.at((0, "-l", 0)), ("k^1.5", "2^(phi)", "1/sqrt(1 + phi^2) + 1/(1 + phi^2)"), axes="body")
    m.force(rod.at((0, "-l", 0)), ("l^k*sin(phi + 0.3)", 0, 0))
    return m


def on_a_floating_base():
    m = parametrised("floating", (0, 0, "-g"), g=9.81, m=1.2, l=0.8)
    base = m.body("base", mass="m", inertia=(1, 1, 1))
    at = base
    for name in ("a", "b"):
        link = m.body(name, mass="m", com=("l", 0, 0))
        m.joint(name, mt.Revolute("z"), at, link)
        at = link.at(("l", 0, 0))
    return m


def reversed_chain():
    """Joints whose first frame is on the outer body."""
    m = parametrised("reversed", (0, "-g", 0), g=9.81, m=1.2, l=0.8)
    inner = m.body("inner", mt.rod(mass="m", length="l"))
    outer = m.body("outer", mt.rod(mass="m", length="l"))
    m.joint("a", mt.Revolute("z"), inner, m.ground)
    m.joint("b", mt.Revolute("z"), outer, inner.at(("l", 0, 0)))
    return m


def driven_loop():
    """Laws in a loop, on the joint that closes it and of its coordinate; in its tree, and from outside."""
    m = parametrised("driven loop", (0, 0, "-g"), g=9.81, a=1.0, k=2.5, c=0.3)
    rods = [m.body(name, mt.rod(mass=1.0, length=length)) for name, length in (("r", "a"), ("s", 2), ("u", 2))]
    m.joint("A", mt.Revolute("y"), m.ground, rods[0])
    m.joint("B", mt.Revolute("y"), rods[0].at(("a", 0, 0)), rods[1])
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rods[2])
    m.joint("C", mt.Revolute("y"), rods[1].at((2, 0, 0)), rods[2].at((2, 0, 0)))
    m.torque("A", "-c*A' + k*sin(C)*t")
    m.torque("C", "-k*C - c*C'")
    m.force(rods[1].at((1, 0, 0)), ("k*t", 0, 0))
    return m


MODELS = [
    *(pendulum, lambda: chain(2), lambda: chain(3), slider, arm, planar, universal, driven, thread, prescribed),
    *(free_body, screw, reversed_chain, odd_laws, on_a_floating_base, driven_loop),
]
NAMES = [model().name for model in MODELS]


def differs_from_the_system(system, equations, seed=0, at=0.4):
    """The largest relative difference of A and of b - Q from mass_matrix and bias, at three random states."""
    expanded = equations.expanded
    values = system.mechanism.values
    numbers = {sp.Symbol(name, real=True): float(values.scalar(name)) for name in values.names}
    arguments = [expanded.coordinates, expanded.velocities, t, list(numbers)]
    compute = sp.lambdify(arguments, [sp.Matrix(expanded.A), sp.Matrix(expanded.b - expanded.Q)], "numpy")
    random, worst = np.random.default_rng(seed), 0.0
    for _ in range(3):
        q, u = random_configuration(random, system), random.uniform(-1, 1, system.nv)
        A, d = compute(q, u, at, list(numbers.values()))
        for found, right in ((A, system.mass_matrix(q, at)), (np.ravel(d), system.bias(q, u, at))):
            worst = max(worst, np.abs(found - right).max() / max(1.0, np.abs(right).max()))
    return worst


# --- equal to numbers, and to each other ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_symbols_agree_with_numbers_and_formalisms_with_each_other(model):
    system = model().build()
    by_energy, by_aggregation = (system.equations(by) for by in FORMALISMS)
    assert differs_from_the_system(system, by_energy) < 1e-13
    for field in ("A", "b", "Q", "definitions", "kinematics"):
        assert getattr(by_energy, field) == getattr(by_aggregation, field)


SLOW = ("Free", "Universal", "Spherical", "Planar")


@pytest.mark.repeats(1)
@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.long) if k in SLOW else k for k in MOVING])
def test_every_joint_in_random_directions(kind):
    system = random_tree(np.random.default_rng(3), [kind, "Revolute"]).build()
    for by in FORMALISMS:
        assert differs_from_the_system(system, system.equations(by)) < 1e-12


def test_a_mistake_would_be_seen():
    system = chain(2).build()
    equations = derive(freed(chain(2)), "energy")
    wrong = equations.b.as_mutable()
    wrong[0] += sp.Rational(1, 1000) * equations.velocities[0] ** 2
    object.__setattr__(equations, "b", sp.ImmutableMatrix(wrong))
    assert differs_from_the_system(system, equations) > 1e-6


@pytest.mark.long
def test_what_moves_the_mass_matrix_in_time_is_in_it():
    equations = prescribed().build().equations("aggregative").expanded
    assert t in equations.b.free_symbols
    assert t in equations.Q.free_symbols


def test_coordinates_of_free_bodies_follow_from_rates():
    system = free_body().build()
    equations = system.equations("energy")
    q, u = random_configuration(np.random.default_rng(1), system), np.array([0.3, -0.2, 0.5, 1.1, -0.7, 0.4])
    names = [symbol.name for symbol, _ in equations.kinematics]
    assert names == [f"{coordinate}'" for coordinate in equations.coordinates]
    changes = sp.lambdify([equations.coordinates, equations.velocities], [change for _, change in equations.kinematics])
    joint = system.mechanism.bodies[0].joint.type
    assert changes(q, u) == pytest.approx(joint.coordinate_derivatives(q, u), abs=1e-14)


def test_rusanov_2014_in_numbers():
    """T_s - Q_s of examples 1 and 2 at a state, by an independent program."""
    at = {"M": 3.0, "m": 1.2, "l": 0.8, "g": 9.81, "c0": 15.0, "phi": 0.5, "phi'": 1.7, "x''": 0.3, "phi''": -0.9}
    numbers = {sp.Symbol(name, real=True): value for name, value in at.items()}
    golden = {"model": [-0.8283495477767828, -4.348210863964209], "model2": [0.2158252261116086, -6.271301729055894]}
    for name, residual in golden.items():
        equations = mt.load(EXAMPLES / "03_slider_with_a_rod" / f"{name}.toml").build().equations("energy").sympy()
        found = [float((one.lhs - one.rhs).subs(numbers)) for one in equations["equations"]]
        assert found == pytest.approx(residual, abs=1e-13)


# --- readable ---


def lines(equations):
    return [line.strip() for line in str(equations).splitlines()[2:]]


def test_the_pendulum_in_one_line():
    assert lines(pendulum().build().equations()) == ["(J + m r²) φ″ = -m g r sin(φ)"]


def test_the_pendulum_on_a_slider_on_a_slide():
    assert lines(slider().build().equations("aggregative", velocities={"theta5": "w5", "theta6": "w6"})) == [
        "(m₂ + m₃) o″ + m₃ r₃ w₆′ cos(θ₆) + β w₆² = 0",
        "γ w₅′ + 2 α w₅ w₆ = -g (m₂ r₂ + m₃ (p + r₃ cos(θ₆))) sin(θ₅)",
        "m₃ r₃ o″ cos(θ₆) + (I₆₆ + m₃ r₃²) w₆′ - α w₅² = -m₃ g r₃ cos(θ₅) sin(θ₆)",
        "",
        "where",
        "α = ((I₄₄ - I₅₅ - m₃ r₃²) cos(θ₆) - m₃ p r₃) sin(θ₆)",
        "β = -m₃ r₃ sin(θ₆)",
        "γ = J₅₅ + m₂ r₂² + m₃ (p + r₃ cos(θ₆))² + I₄₄ sin²(θ₆) + I₅₅ cos²(θ₆)",
    ]


def test_the_readme_of_the_slider_shows_what_is_printed():
    printed = str(slider().build().equations("aggregative", velocities={"theta5": "w5", "theta6": "w6"}))
    readme = (EXAMPLES / "02_pendulum_on_a_slider" / "README.md").read_text(encoding="utf-8")
    assert printed.partition("\n\n")[2] in readme


def test_the_double_pendulum_adds_its_angles():
    assert lines(chain(2).build().equations()) == [
        "β q₁″ + α q₂″ - m₂ l₁ r₂ (2 q₁′ + q₂′) q₂′ sin(q₂) = -g (m₂ r₂ cos(q₁ + q₂) + (m₁ r₁ + m₂ l₁) cos(q₁))",
        "α q₁″ + (J₂ + m₂ r₂²) q₂″ + m₂ l₁ r₂ q₁′² sin(q₂) = -m₂ g r₂ cos(q₁ + q₂)",
        "",
        "where",
        "α = J₂ + m₂ r₂ (r₂ + l₁ cos(q₂))",
        "β = J₁ + J₂ + m₁ r₁² + m₂ (l₁² + r₂² + 2 l₁ r₂ cos(q₂))",
    ]


@pytest.mark.long
def test_angles_add_also_on_a_floating_base():
    mechanism = freed(on_a_floating_base())
    s = symbolic(mechanism)
    assert carriers(mechanism, s) == {s.q[-1]: (s.q[-2], 1)}
    assert "cos(a + b)" in str(on_a_floating_base().build().equations())


def test_long_coefficients_share_names_and_letters_come_from_the_last_equation():
    equations = chain(3).build().equations()
    alpha, beta, gamma = sp.symbols("alpha beta gamma", real=True)
    u1, u2, u3 = equations.velocities
    expected = [
        alpha * u3 * (2 * u1 + 2 * u2 + u3) + gamma * u2 * (2 * u1 + u2),
        beta * u3 * (2 * u1 + 2 * u2 + u3) - gamma * u1**2,
        -alpha * u1**2 - beta * u2 * (2 * u1 + u2),
    ]
    assert [sp.expand(found - right) for found, right in zip(equations.b, expected, strict=True)] == [0, 0, 0]


def test_names_of_the_model_are_not_given_again():
    m = slider()
    m.parameters = [("alpha" if name == "m3" else name, value) for name, value in m.parameters]
    m.bodies[2] = m.body("link 3", mass="alpha", com=("r3", 0, 0), inertia=("I44", "I55", "I66"))
    del m.bodies[3]
    equations = m.build().equations()
    assert [symbol.name for symbol, _ in equations.definitions] == ["beta", "gamma", "delta"]


def test_a_long_length_of_a_spring_is_named_once():
    equations = thread().build().equations()
    root = [(symbol, meaning) for symbol, meaning in equations.definitions if meaning.is_Pow]
    assert len(root) == 1
    assert all(not meaning.has(root[0][1]) for _, meaning in equations.definitions if meaning != root[0][1])


@pytest.mark.long
def test_names_of_coordinates_and_rates():
    m = parametrised("names", (0, 0, 0), hull_y=1.0)
    body = m.body("body", mass="hull_y", inertia=(1, 1, 1))
    m.joint("hull", mt.Planar("x"), m.ground, body)
    m.joint("ball joint", mt.Spherical(), body, m.body("bob", mass=1.0, inertia=(1, 1, 1)))
    equations = m.build().equations(velocities={"hull.angle": "omega", "ball joint.wx": "p"})
    names = [[symbol.name for symbol in symbols] for symbols in (equations.coordinates, equations.velocities)]
    assert names[0][:4] == ["hull_y_", "hull_z", "hull_angle", "ball_joint_qx"]  # hull_y is the mass
    assert names[1] == ["hull_y_'", "hull_z'", "omega", "p", "ball_joint_wy", "ball_joint_wz"]
    assert [symbol.name for symbol in equations.accelerations][1:4] == ["hull_z''", "omega'", "p'"]


@pytest.mark.parametrize(
    ("velocities", "told"),
    [
        ({"theta": "w"}, "there is no velocity 'theta'"),
        ({"q1": "m1"}, "'q1' cannot be called 'm1'"),
        ({"q1": "t"}, "'q1' cannot be called 't'"),
        ({"q1": "w", "q2": "w"}, "'q2' cannot be called 'w'"),
        ({"q1": "not a name"}, "cannot be called"),
    ],
)
def test_rates_that_cannot_be_renamed(velocities, told):
    with pytest.raises(mt.MomentreeError, match=told):
        chain(2).build().equations(velocities=velocities)


# --- LaTeX ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_latex_is_well_formed_and_free_of_float_noise(model):
    equations = model().build().equations()
    assert_well_formed(equations.latex())


@pytest.mark.repeats(1)
@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("model", [blade, four_bar_in_letters, four_bar], ids=lambda model: model.__name__)
def test_latex_of_constraints_is_well_formed(model, reduced):
    assert_well_formed(model().build().equations(reduced=reduced).latex())


def assert_well_formed(fragment):
    depth = 0
    for character in re.sub(r"\\\\|\\[{}]", "", fragment):
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert fragment.count(r"\left") == fragment.count(r"\right")
    opened, closed = (re.findall(rf"\\{word}{{(.*?)}}", fragment) for word in ("begin", "end"))
    assert sorted(opened) == sorted(closed)
    for block in re.findall(r"\\begin{align\*}(.*?)\\end{align\*}", fragment, re.S):
        rows = re.sub(r"\\begin{cases}.*?\\end{cases}", "", block, flags=re.S).split(r"\\")
        assert all(row.count("&") == 1 for row in rows)
    assert not re.search(r"[1-9][\d.]{9,}|\de[-+]?\d|[^\x00-\x7f]", fragment)
    for word in re.findall(r"\\([A-Za-z]+)", fragment):
        assert word in {*KNOWN_COMMANDS.split(), *LETTERS}, word


def test_latex_of_the_pendulum_and_its_document(tmp_path):
    equations = pendulum().build().equations()
    fragment = equations.latex(tmp_path / "pendulum.tex")
    line = r"  \left(J + m r^{2}\right) \ddot{\phi} &= -m g r \sin \phi"
    assert fragment.splitlines() == [r"\begin{align*}", line, r"\end{align*}"]
    document = (tmp_path / "pendulum.tex").read_text(encoding="utf-8").splitlines()
    assert document[0] == r"\documentclass{article}"
    assert document[-1] == r"\end{document}"
    assert line in document
    with pytest.raises(mt.MomentreeError, match=r"into a \.tex file"):
        equations.latex(tmp_path / "pendulum.pdf")


def test_latex_escapes_what_users_call_things(tmp_path):
    m = mt.Model("50 % of $ & #_{}~^\\", gravity=(0, 0, 0))
    m.joint("a&b%", mt.Prismatic("x"), m.ground, m.body("block", mass=2.0))
    equations = m.build().equations()
    equations.latex(tmp_path / "odd.tex")
    title = (tmp_path / "odd.tex").read_text(encoding="utf-8").splitlines()[6]
    assert title.startswith(r"50 \% of \$ \& \#\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}: ")
    assert r"\ddot{a}_{\mathrm{b\_}}" in equations.latex()


# --- what is told, what is refused ---


def test_the_reader_is_told_what_multipliers_belong_to():
    equations = four_bar().build().equations()
    assert "λ₁: joint 'C', offset along x" in str(equations)
    assert "$\\lambda_{1}$: joint 'C', offset along x" in equations.latex()


@pytest.mark.parametrize("by", ["hamilton", "enrgy", None])
def test_unknown_formalisms_are_refused_with_what_there_is(by):
    with pytest.raises(mt.MomentreeError, match="Choose 'energy', 'aggregative', 'lagrange', 'hamiltonian' or 'newton"):
        pendulum().build().equations(by)


def test_nothing_to_derive():
    m = mt.Model("rigid")
    m.joint("weld", mt.Fixed(), m.ground, m.body("block", mass=1.0))
    with pytest.raises(mt.MomentreeError, match="nothing in 'rigid' is free to move"):
        m.build().equations()


def test_parameters_that_decide_directions_stay_numbers():
    m = parametrised("tilted", (0, 0, "-g"), g=9.81, m=2.0, n=0.75)
    m.joint("phi", mt.Revolute((1, 0, "n")), m.ground, m.body("bob", mass="m", com=(0, 1, 0)))
    system = m.build()
    equations = system.equations()
    assert equations.notes == ("n: kept as numbers, because directions depend on them.",)
    assert differs_from_the_system(system, equations) < 1e-13
    assert {symbol.name for symbol in equations.Q.free_symbols} == {"g", "m", "phi"}


def test_a_model_may_change_after_it_is_built():
    m = pendulum()
    system = m.build()
    m.parameter("more", 1.0)
    m.body("more", mass="more")
    m.ground.moves(("t", 0, 0))
    assert str(system.equations()) == str(pendulum().build().equations())


def test_a_system_without_parameters():
    m = mt.Model("numbers")
    m.joint("a", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.5, length=0.7)))
    assert lines(m.build().equations()) == ["0.245 a″ = 5.15025 cos(a)"]
    empty = mt.Model("slide", gravity=(0, 0, 0))
    empty.joint("x", mt.Prismatic("x"), empty.ground, empty.body("block", mass=2.0))
    assert lines(empty.build().equations()) == ["2 x″ = 0"]


# --- what can be done with them ---


def test_operations_of_the_pendulum_counted_by_hand():
    operations = pendulum().build().equations().operations()
    # J + m r r: 2 products, 1 sum; m g r sin(phi): 3 products, 1 sine
    assert operations._asdict() == {
        "multiplications": 5,
        "additions": 1,
        "divisions": 0,
        "trigonometric": 1,
        "others": 0,
    }


def test_names_do_not_change_what_equations_say():
    equations = slider().build().equations()
    known = dict(equations.definitions)
    assert equations.expanded.definitions == ()
    assert equations.A.xreplace(known) == equations.expanded.A
    assert not set(known) & equations.expanded.b.free_symbols


def test_sympy_objects():
    found = pendulum().build().equations().sympy()
    (equation,) = found["equations"]
    J, m, r, g, phi = sp.symbols("J m r g phi", real=True)
    assert equation == sp.Eq((J + m * r**2) * sp.Symbol("phi''", real=True), -m * g * r * sp.sin(phi))
    assert found["A"] == sp.Matrix([[J + m * r**2]])
    assert found["coordinates"] == (phi,)


def test_show_prints_text_or_displays_in_a_notebook(capsys, monkeypatch):
    equations = pendulum().build().equations()
    assert equations.show() is None
    assert capsys.readouterr().out == f"{equations}\n"
    shown = []
    shell = type("ZMQInteractiveShell", (), {})()
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=shown.append))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    equations.show()
    assert shown == [equations]
    assert equations._repr_latex_() == equations.latex()
    assert repr(equations) == "Equations('pendulum' by energy: 1 velocities)"


# --- the command line, here and in real processes ---


def run(*words, **environment):
    command = [sys.executable, "-m", "momentree", "equations", *map(str, words)]
    return subprocess.run(command, capture_output=True, env={**os.environ, **environment}, encoding="utf-8")


PENDULUM = EXAMPLES / "01_pendulum" / "model.toml"


def test_the_command_prints_equations():
    told = command("equations", PENDULUM, "--by", "aggregative")
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[0] == "pendulum: equations of motion by the aggregative forms"
    assert "⅓ m l² φ″ = -½ m g l sin(φ)" in told.stdout


@pytest.mark.long
def test_the_command_prints_plain_text_where_greek_cannot_be_printed():
    told = run(PENDULUM, PYTHONIOENCODING="ascii")
    assert told.returncode == 0, told.stderr
    assert "(1/3) m l^2 phi'' = -(1/2) m g l sin(phi)" in told.stdout


def test_the_command_writes_latex_and_json(tmp_path):
    told = command("equations", PENDULUM, "--latex", tmp_path / "out.tex", "--json")
    assert told.returncode == 0, told.stderr
    data = json.loads(told.stdout)
    assert data["A"] == [["l**2*m/3"]]
    assert data["velocities"] == ["phi'"]
    assert data["operations"]["trigonometric"] == 1
    assert "out.tex" in told.stderr
    assert (tmp_path / "out.tex").read_text(encoding="utf-8").startswith(r"\documentclass")


@pytest.mark.long
def test_the_command_reduces(tmp_path):
    four_bar().save(tmp_path / "four-bar.toml")
    for words, remaining in ((["--reduced"], ["A'"]), (["--keep", "D"], ["D'"])):
        told = run(tmp_path / "four-bar.toml", *words, "--json")
        assert told.returncode == 0, told.stderr
        assert json.loads(told.stdout)["velocities"] == remaining


@pytest.mark.long
def test_wrong_commands(tmp_path):
    for words, told in (
        ([PENDULUM, "--by", "hamilton"], "Did you mean 'hamiltonian'?"),
        ([PENDULUM, "--latex", tmp_path / "out.pdf"], ".tex file"),
        ([PENDULUM, "--latex", tmp_path / "none" / "out.tex"], "cannot be written"),
        ([tmp_path / "none.toml"], "does not exist"),
    ):
        found = run(*words)
        assert found.returncode == 1
        assert told in found.stderr
        assert "Traceback" not in found.stderr
    assert run().returncode == 2
