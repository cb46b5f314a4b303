"""Parameters that nothing uses are told; those that are used anywhere are not."""

from pathlib import Path

import pytest

import momentree as mt
from momentree.model.unused_parameters import unused_parameters

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/*.toml"))


def pendulum():
    m = mt.Model("k")  # a name uses nothing
    for name, value in (("k", 2.0), ("l", 0.5), ("c", "2*l"), ("twice", "k"), ("late", 1.0), ("out", 1.0)):
        m.parameter(name, value)
    m.input("u")
    m.input("idle", default="c", description="u and l")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length="l")))
    m.torque("A", "-u*A")
    m.output("power", "out*A'")
    m.start_at({"A": 0.1}, t_end="late")
    return m


def test_they_are_told_by_name():
    assert unused_parameters(pendulum()) == ["twice", "idle"]
    assert "parameters that nothing uses: twice, idle" in str(pendulum().build())


def test_a_law_as_a_function_uses_its_arguments():
    m = pendulum()
    m.torque("A", lambda A, twice, idle: -twice * A * idle)
    assert unused_parameters(m) == []
    assert "nothing uses" not in str(m.build())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_examples_use_all_of_theirs(path):
    assert unused_parameters(mt.load(path)) == []
