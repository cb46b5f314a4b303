"""Inputs and outputs of a model: names that laws use, free parameters, [[input]] and [[output]] of files."""

from __future__ import annotations

import pickle

import pytest

import momentree as mt
from momentree.errors import ModelError
from momentree.files.model_files import dumps


def arm() -> mt.Model:
    m = mt.Model("arm")
    m.input("u", 0.5, unit="N m", description="torque of the motor")
    m.parameter("k", 3)  # after an input: files have parameters first
    m.input("wind")
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, rod)
    m.frame("tip", rod.at((1, 0, 0)))
    m.torque("A", "u - k*A'")
    m.force(rod.at((1, 0, 0)), ("wind", 0, 0))
    m.output("height", "tip.z", unit="m")
    m.output("motor power", "u*A'", unit="W")
    return m


def test_a_model_with_inputs_and_outputs_loads_equal():
    m = arm()
    again = mt.loads(dumps(m))
    assert again == m
    assert [said.name for said in again.inputs] == ["u", "wind"]
    assert again.inputs[0].unit == "N m"
    assert dict(again.parameters) == {"k": 3, "u": 0.5, "wind": 0.0}
    assert [output.name for output in again.outputs] == ["height", "motor power"]
    assert pickle.loads(pickle.dumps(again)) == m


def test_inputs_stay_free_when_the_model_is_built():
    system = arm().build()
    assert system.inputs == system.mechanism.inputs == ("u", "wind")
    assert system.mechanism.free == ("u", "wind")
    assert arm().build(free=["wind", "k"]).mechanism.free == ("wind", "k", "u")
    slope = system.forward_dynamics([0.0], [0.0], parameters={"u": 1.5}) - system.forward_dynamics([0.0], [0.0])
    assert slope == pytest.approx(1 / (1 / 3))  # of a rod about its end


def test_a_value_of_an_input_is_part_of_the_text_of_its_model():
    view = arm().build().with_parameters(u=2.0)
    assert dict(mt.loads(dumps(view._model)).parameters)["u"] == 2.0


@pytest.mark.parametrize(
    ("say", "message"),
    [
        (lambda m: m.input("A"), r"input 'A': has the same name as a joint; expressions cannot tell them apart"),
        (lambda m: m.input("k"), r"input 'k': the name is used 2 times"),
        (lambda m: m.input("u"), r"input 'u': the name is used 2 times"),
        (lambda m: m.input("tip"), r"frame 'tip': has the same name as a parameter"),
        (lambda m: m.input("t"), r"input 't': the name means time"),
        (lambda m: m.input("my torque"), r"input 'my torque': cannot be used in expressions"),
        (lambda m: m.input("w", "2*t"), r"input 'w': 't' appears in its value, which must be constant"),
        (lambda m: m.input("w", None), r"input 'w': its value is missing"),
        (lambda m: m.input("w", float("nan")), r"input 'w': its value is nan"),
        (lambda m: m.input("w", unit=3), r"input 'w': unit is 3; a printable string is expected"),
        (lambda m: m.input("w", unit="m" * 41), r"input 'w': unit has 41 characters"),
        (lambda m: m.input("w", description="a\nb"), r"input 'w': description is 'a\\nb'"),
        (lambda m: m.output("A", "t"), r"output 'A': has the same name as a joint"),
        (lambda m: m.output("u", "t"), r"output 'u': has the same name as a parameter"),
        (lambda m: m.output("height", "t"), r"output 'height': the name is used twice"),
        (lambda m: m.output("w", "2*tp.x"), r"output 'w': unknown name 'tp.x' .*Did you mean 'tip.x'"),
        (lambda m: m.output("w", None), r"output 'w': expression is missing"),
        (lambda m: m.output("", 1), r"output '': name is ''"),
        (lambda m: m.torque("A", "torque_u"), r"unknown name 'torque_u'"),
    ],
)
def test_mistakes_have_their_place_and_the_way_out(say, message):
    m = arm()
    say(m)
    with pytest.raises(ModelError, match=message):
        m.build()


def test_mistakes_in_files_have_their_line():
    text = dumps(arm())
    lines = text.splitlines()
    wrong = (
        text.replace("default = 0.5", 'default = "q"').replace('"tip.z"', '"tap.z"').replace('unit = "W"', "unt = 1")
    )
    with pytest.raises(ModelError) as error:
        mt.loads(wrong, "x.toml")
    for said, line in (("input 'u': unknown name 'q'", "default = 0.5"), ("output 'height'", 'expression = "tip.z"')):
        assert f"x.toml:{lines.index(line) + 1}: {said}" in str(error.value)
    assert "output 'motor power': unknown key 'unt'. Did you mean 'unit'?" in str(error.value)
    with pytest.raises(ModelError, match=r"^x.toml:1: input 1: has no name. Write name = \"...\".$"):
        mt.loads('input = [{default = 2}]\nbody = [{name = "a", mass = 1, inertia = [1, 1, 1]}]', "x.toml")
