"""What `print(system.equations(...))` shows, read back: the equations that the program computes with in numbers.

Of trees, the residual of each printed equation is inverse dynamics; of mechanisms with constraints, what is printed is
compared with the matrices, which are compared with numbers elsewhere (test_constraint_equations.py).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from mechanisms import MOVING, random_loops, random_planar_loops, random_tree
from momentree.symbols.formalisms import FORMALISMS
from momentree.symbols.writing import Text
from printed import sections, value

SIX_DIGITS = 1e-4  # of the terms: numbers are printed with six digits
TREES = [by for by in FORMALISMS if by not in ("hamiltonian", "newton_euler")]


class Read:
    """Printed equations, and numbers for all symbols in them."""

    def __init__(self, system, equations, seed=0):
        random = np.random.default_rng(seed)
        write = Text(equations.ranks).write
        values = system.mechanism.values
        given = equations.symbols
        self.numbers = {s: float(values.scalar(s.name)) for s in given.parameters}
        symbols = [given.t, *equations.coordinates, *given.q, *equations.velocities, *equations.accelerations]
        symbols += [*given.u, *equations.multipliers]
        self.numbers |= {s: random.uniform(0.2, 0.9) for s in symbols if s not in self.numbers}
        spelt = [write(symbol) for symbol in self.numbers]
        assert len({*spelt}) == len(spelt), "different symbols are spelt alike"
        self.names = dict(zip(spelt, self.numbers.values(), strict=True)) | {"π": np.pi}
        self.text = sections(str(equations))
        definitions = [pair for title, pairs in self.text.items() if title in ("with", "where") for pair in pairs]
        while definitions:  # those that name others come after these
            ready = [pair for pair in definitions if not self.unknown(pair[1])]
            assert ready, f"nothing says what {definitions[0]} is"
            self.names |= {left: value(right, self.names) for left, right in ready}
            definitions = [pair for pair in definitions if pair not in ready]

    def unknown(self, text):
        try:
            value(text, self.names)
        except KeyError:
            return True
        return False

    def residuals(self, title=""):
        return np.array([value(a, self.names) - value(b, self.names) for a, b in self.text.get(title, [])])

    def computed(self, expressions):
        return np.array([float(sp.sympify(x).xreplace(self.numbers)) for x in expressions])


def check_text_against_matrices(system, equations):
    read, full = Read(system, equations), equations.expanded
    left = full.A * sp.Matrix(full.accelerations) + full.b - full.right
    sizes = [sp.Abs(x) for x in full.A * sp.Matrix(full.accelerations)]
    scale = max(1.0, np.abs(read.computed(sizes)).max(), np.abs(read.computed([*full.b, *full.right])).max())
    np.testing.assert_allclose(read.residuals(), read.computed(left), rtol=0, atol=SIX_DIGITS * scale)
    positions = [c.position for c in full.constraints if c.position is not None]
    np.testing.assert_allclose(read.residuals("subject to")[: len(positions)], read.computed(positions), atol=1e-4)
    if equations.multipliers:
        velocities = read.residuals("with velocities" if positions else "subject to")
        np.testing.assert_allclose(velocities, read.computed([c.velocity for c in full.constraints]), atol=1e-4)
    return read


def named(model):
    """With parameters whose names look alike."""
    for name, number in (("m1", 1.1), ("m_1", 0.7), ("e", 0.3), ("alpha", 0.4), ("α", 0.25)):
        model.parameter(name, number)
    given = zip(model.bodies, ("m1", "m_1", "m1"), ("e", "alpha", "α"), strict=False)
    model.bodies[:3] = [replace(body, mass=mass, com=(com, *body.com[1:])) for body, mass, com in given]
    return model


@pytest.mark.parametrize("kind", [kind for kind in MOVING if kind != "Free"])
@pytest.mark.parametrize("by", TREES)
@pytest.mark.repeats(3, of="by")
def test_printed_equations_of_trees_are_inverse_dynamics(kind, by):
    model = named(
        random_tree(np.random.default_rng(len(kind)), [kind, "Revolute"], mt.Model("tree", gravity=(1, 2, -9)))
    )
    model.torque("j2", "exp(-j2) - 0.3*j2'")
    system = model.build()
    equations = system.equations(by)
    read = Read(system, equations)
    q, v, a = (np.array([read.numbers[x] for x in symbols]) for symbols in (
        equations.symbols.q, equations.symbols.u, equations.accelerations))  # fmt: skip
    if kind == "Spherical":  # a unit quaternion
        at = system.mechanism.bodies[0].q if system.mechanism.bodies[0].joint.name == "j1" else slice(1, 5)
        q[at] /= np.linalg.norm(q[at])
        write = Text(equations.ranks).write
        read.numbers |= dict(zip(equations.symbols.q, q, strict=True))
        again = Read.__new__(Read)
        again.numbers, again.text = read.numbers, read.text
        again.names = {write(s): x for s, x in read.numbers.items()} | {"π": np.pi}
        for left, right in read.text.get("where", []) * 3:
            if not again.unknown(right):
                again.names[left] = value(right, again.names)
        read = again
    expected = system.inverse_dynamics(q, v, a, t=float(read.numbers[equations.symbols.t]))
    np.testing.assert_allclose(read.residuals(), expected, rtol=0, atol=SIX_DIGITS * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("law", ["0.3", "sin(2*t)", None])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.repeats(4)
def test_printed_equations_of_separate_bodies_are_their_matrices(seed, law):
    """With a joint that is prescribed or constrained, frames turned by any angle."""
    random = np.random.default_rng(seed)
    model, _ = random_planar_loops(random, 2, 0)
    model = named(model)
    driven = model.body("driven", mass=1.0, com=(0.2, 0.1, 0), inertia=(1, 1, 1))
    joint = mt.Revolute("z", motion=law) if law else mt.Revolute("z")
    model.joint(
        "D", joint, model.bodies[0].at((0.3, 0.2, 0), mt.turn("z", 0.7)), driven.at((0.1, 0, 0), mt.turn("z", 0.4))
    )
    if not law:
        model.constrain("D - 0.4*t^2", "drive")
    system = model.build()
    check_text_against_matrices(system, system.equations("newton_euler"))


@pytest.mark.parametrize("by", TREES)
def test_printed_equations_with_loops_are_their_matrices(by):
    model, _ = random_planar_loops(np.random.default_rng(5), 3, 1)
    system = named(model).build()
    check_text_against_matrices(system, system.equations(by))


@pytest.mark.long
@pytest.mark.parametrize("by", TREES)
def test_printed_equations_of_loops_in_space_are_their_matrices(by):
    model, _ = random_loops(np.random.default_rng(3), ["Revolute", "Prismatic"], ["Spherical"])
    system = model.build()
    check_text_against_matrices(system, system.equations(by))


ROUND_OFF = r"\de-(1[5-9]|[2-9]\d)|(^|[ (])1 [^\W\d]"


@pytest.mark.parametrize("by", FORMALISMS)
def test_round_off_of_turned_frames_is_not_printed(by):
    m = mt.Model("turned", gravity=(0, 0, "-g"))
    m.parameter("g", 9.81)
    m.parameter("e", 0.3)
    a = m.body("a", mass=1.5, com=("e", 0, 0), inertia=(1, 1, 1))
    b = m.body("b", mass=2.0, com=(0.1, "e", 0.2), inertia=(0.1, 0.1, 0.1))
    m.joint("q", mt.Revolute("z"), m.ground.at((0, 0, 0), mt.turn("x", 0.3)), a.at((0, 0, 0), mt.turn("x", 0.7)))
    m.joint("r", mt.Revolute("z", motion="t"), a.at(("e", 0, 0), mt.turn("y", 0.4)), b)
    text = str(m.build().equations(by))
    assert not re.search(ROUND_OFF, text), re.search(ROUND_OFF, text)


def test_moments_of_inertia_of_micro_bodies_are_kept():
    m = mt.Model("micro", gravity=(0, 0, 0))
    rod = m.body("rod", mt.rod(mass=1.234567891234e-12, length=1.1234567891e-3, along="x"))
    m.joint("q", mt.Revolute("z"), m.ground, rod)
    system = m.build()
    (J,) = system.equations().A
    assert float(J) == pytest.approx(float(system.mass_matrix([0.0])[0, 0]), rel=1e-12)
