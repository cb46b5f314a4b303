"""Releases and switches: what they mean, what is refused, and that files keep them."""

from __future__ import annotations

import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import ModelError


def model():
    m = four_bar()
    m.switch("C", on="A - 1", off="A - 2")
    m.release("B", at=2.5)
    return m


def test_a_model_with_switches_loads_as_it_was_saved(tmp_path):
    m = model()
    m.release("D", when=lambda t, A: A - t)
    m.save(tmp_path / "x.toml")
    assert mt.load(tmp_path / "x.toml") == m
    text = (tmp_path / "x.toml").read_text()
    assert "[[release]]" in text
    assert "[[switch]]" in text


def test_conditions_are_expressions_of_the_mechanism():
    m = four_bar()
    m.parameter("T", 1.25)
    m.switch("C", off="A' - T")
    m.switch("C", on="t - 2*T")
    switches = m.build().mechanism.switches
    assert [(switch.name, switch.turns_on) for switch in switches] == [("C", False), ("C", True)]
    m.switches.clear()
    m.release("C", at="2*T")
    switches = m.build().mechanism.switches
    assert str(switches[0].when) == "t - 2.5"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.release("crnk", at=1), "release of 'crnk': there is no joint 'crnk'"),
        (lambda m: m.release("A"), "release of 'A': has neither when nor at. Give one of them"),
        (lambda m: m.release("A", when="t - 1", at=1), "release of 'A': has both when and at"),
        (lambda m: (m.release("A", at=1), m.release("A", at=2)), "joint 'A' is released twice"),
        (lambda m: m.release("A", when="t - E"), "release of 'A': unknown name 'E' in when"),
        (lambda m: m.release("A", when="t - "), "release of 'A'"),
        (lambda m: m.release("A", at="t"), "release of 'A'.*must be constant"),
        (lambda m: m.release("A", at=float("nan")), "release of 'A'.*at is nan"),
        (lambda m: (m.latch("A", at=1), m.release("A", at=1)), "joint 'A' has a latch, too"),
        (lambda m: m.switch("gear", on="t"), "switch of 'gear': there is no constraint or joint 'gear'"),
        (lambda m: m.switch("a", off="t"), "there is no constraint or joint 'a'.* Did you mean 'A'"),
        (lambda m: m.switch("A"), "switch of 'A': has neither on nor off"),
        (lambda m: (m.release("A", at=1), m.switch("A", off="t")), "joint 'A' is released too"),
        (
            lambda m: (m.release("A", at=1), m.torque("B", "-A")),
            "torque on 'B': the law names joint 'A', which is switched or released",
        ),
        (
            lambda m: (
                m.joint("M", mt.Revolute("y", motion="t"), "ground", m.body("m", mt.sphere(1.0, 0.1)))
                and m.release("M", at=1)
            ),
            "joint 'M' has a prescribed motion. Released joints must move freely",
        ),
        (
            lambda m: m.joint("F", mt.Free(), "ground", m.body("f", mt.sphere(1.0, 0.1))) and m.release("F", at=1),
            "joint 'F' is free: there is nothing to release",
        ),
        (lambda m: (m.split(m.bodies[1], "B"), m.release("B", at=1)), "a body is split at joint 'B'"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_error(change, words):
    m = four_bar()
    change(m)
    with pytest.raises(ModelError, match=words) as error:
        m.build()
    assert len(error.value.problems) == 1


def test_problems_have_their_lines():
    text = 'momentree = 1\n[[body]]\nname = "a"\nsphere = { mass = 1, radius = 1 }\n[[release]]\njoint = "b"\nat = 1\n'
    with pytest.raises(ModelError, match="model text:6: release of 'b': there is no joint 'b'"):
        mt.loads(text)


def test_a_torque_on_a_joint_that_releases_may_name_it():
    m = four_bar()
    m.torque("C", "-C'")
    m.release("C", at=0.1)
    system = m.build()
    run = system.simulate(system.assemble({"A": 1.0}), 0.3, every=0.1)
    work = run.energy.work["torque on C"]
    assert work[1] != 0
    assert work[-1] == work[2]  # it ceases with the joint
    assert run.energy.error < 1e-9
