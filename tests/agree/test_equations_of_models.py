"""Equations in symbols of every example of the gallery and of random models: all formalisms, and no crash.

What is too large for symbols is an error that says so, with the limit and the way out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from mechanisms import random_planar_loops
from momentree.symbols.formalisms import FORMALISMS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/model.toml"))
QUICK = ("01", "03", "08", "18")
# its derivatives of T are too many to multiply out before they cancel
TOO_LARGE_EXAMPLES = [("19_bicycle", "lagrange"), ("25_manipulator", "newton_euler")]
# by newton_euler, a spring between two bodies with quaternions: 219,000 terms where it is multiplied out
TOO_LARGE_SEEDS = (69, 84)
TOO_LARGE = "is too large for symbols"


def answered(system, by):
    """Whether there are equations; if not, there must be the error that says why."""
    refused = ""
    try:
        equations = system.equations(by)
    except mt.MomentreeError as error:
        refused = str(error)
    if refused:
        assert (TOO_LARGE in refused and "system.forward_dynamics" in refused) or "is free to move" in refused
        return False
    text = str(equations)
    assert "Dummy" not in text
    assert "zoo" not in text
    assert "nan" not in text
    return True


@pytest.fixture
def soon(monkeypatch):
    """Equations that are less short, sooner."""
    monkeypatch.setattr("momentree.symbols.shortest.MOST_TRIED", 20_000)


@pytest.mark.parametrize("by", FORMALISMS)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.parent.name, marks=[pytest.mark.long] * (path.parent.name[:2] not in QUICK))
        for path in EXAMPLES
    ],
)
def test_every_example_has_equations(path, by, soon):
    assert answered(mt.load(path).build(), by) != ((path.parent.name, by) in TOO_LARGE_EXAMPLES)


def random_model(seed):
    """Two or three bodies in a plane, hinges, sliders and pins in slots, loops, laws, springs, a prescribed joint."""
    random = np.random.default_rng([3, seed])
    model, _ = random_planar_loops(random, int(random.integers(2, 4)), int(random.integers(0, 2)))
    model.name = f"random {seed}"
    joints = [joint for joint in model.joints if len(joint.type.velocities) == 1 and not joint.name.startswith("c")]
    bodies = model.bodies
    if random.random() < 0.7:
        model.spring(bodies[0].at((0.1, 0.2, 0)), bodies[-1].at((0, 0.3, 0)), 12.0, rest=0.3, damping=0.2)
    if joints and random.random() < 0.7:
        name = joints[0].name
        model.torque(name, f"2*sin(3*t) - 0.4*{name}'")
    if random.random() < 0.4:
        model.ground.moves(("0.2*sin(2*t)", 0, 0))
    if random.random() < 0.5:
        crank = model.body("driven", mt.rod(mass=1.0, length=0.5))
        model.joint("motor", mt.Revolute("z", motion="2*t + 0.1"), bodies[0], crank)
    return model


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_random_models(seed, soon):
    system = random_model(seed).build()
    assert answered(system, list(FORMALISMS)[seed % len(FORMALISMS)]) != (seed in TOO_LARGE_SEEDS)


def test_a_long_chain_is_refused_at_once():
    m = mt.Model("chain")
    end = m.ground
    for i in range(300):
        link = m.body(f"link {i}", mt.rod(mass=1.0, length=0.1))
        m.joint(f"q{i}", mt.Revolute("y"), end, link)
        end = link.at((0.1, 0, 0))
    with pytest.raises(mt.MomentreeError, match="300 velocities, more than 60"):
        m.build().equations()


@pytest.mark.parametrize("limit", ["trigonometry.MOST_PRODUCTS", "equations.MOST_WRITTEN"])
def test_too_many_terms_are_refused_with_a_way_out(limit, monkeypatch):
    monkeypatch.setattr(f"momentree.symbols.{limit}", 5)
    with pytest.raises(mt.MomentreeError, match=r"too large for symbols: .*more than 5.* choose by 'newton_euler'"):
        mt.load(EXAMPLES[3]).build().equations()
