"""Equations in symbols of every example of the gallery and of random models: all formalisms, and no crash.

What is too large for symbols is an error that says so, with the limit and the way out.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import momentree as mt
from campaign.generator import sample
from momentree.symbols.formalisms import FORMALISMS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/model.toml"))
QUICK = ("01", "03", "04", "08", "09", "14", "15", "18", "23")
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


@pytest.mark.parametrize("by", FORMALISMS)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.parent.name, marks=[pytest.mark.long] * (path.parent.name[:2] not in QUICK))
        for path in EXAMPLES
    ],
)
def test_every_example_has_equations(path, by):
    assert answered(mt.load(path).build(), by)


@pytest.mark.long
@pytest.mark.parametrize("by", FORMALISMS)
@pytest.mark.parametrize("seed", range(1, 101))
def test_random_models(seed, by):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = sample(seed).model.build()
    answered(system, by)


def test_a_long_chain_is_refused_at_once():
    m = mt.Model("chain")
    end = m.ground
    for i in range(300):
        link = m.body(f"link {i}", mt.rod(mass=1.0, length=0.1))
        m.joint(f"q{i}", mt.Revolute("y"), end, link)
        end = link.at((0.1, 0, 0))
    with pytest.raises(mt.MomentreeError, match="300 velocities, more than 60"):
        m.build().equations()


def test_a_spatial_arm_is_told_its_terms():
    m = mt.Model("arm", gravity=(1.0, 2.0, -9.81))
    end = m.ground
    for i in range(5):
        link = m.body(f"link {i}", mass=1.3, com=(0.21, 0.13, 0.37), inertia=(0.31, 0.42, 0.53, 0.01, 0.02, 0.03))
        m.joint(f"q{i}", mt.Spherical(), end, link)
        end = link.at((0.11, 0.23, 0.37), mt.turn("x", 0.3))
    with pytest.raises(mt.MomentreeError, match="too large for symbols: more than 400000 products"):
        m.build().equations()
