"""Outputs: what they are made of, their units, and what is refused."""

from __future__ import annotations

import pytest

import momentree as mt
from momentree.analyse.studies.output_expressions import function_identity, read_outputs
from study_models import four_bar, rotor


@pytest.fixture(scope="module")
def system():
    return four_bar().build(free=["a"])


@pytest.mark.parametrize(
    ("text", "unit", "over_time"),
    [
        ("max(C.force)", "N", False),
        ("peak(A.my)", "N m", False),
        ("mean(A')", "rad/s", False),
        ("rms(A' - mean(A'))", "rad/s", False),
        ("2*last(energy.total)", "J", False),
        ("integral(energy.kinetic)", "J s", False),
        ("crossing(A - pi)", "s", False),
        ("samples(D)", "rad", True),
        ("last(A)/last(t)", "", False),
        ("max(max(A, B))", "rad", False),
        ("max(A)*a", "", False),
        ("d", "", False),
    ],
)
def test_an_expression_knows_its_unit_and_whether_it_has_samples(system, text, unit, over_time):
    (output,) = read_outputs(system, {"x": text}, {})
    assert (output.attributes["units"], output.over_time, output.attributes["long_name"]) == (unit, over_time, text)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ({"x": "max(C.forse)"}, "there is no 'C.forse'. Did you mean 'C.force'?"),
        ({"x": "A"}, "has a value at every sample"),
        ({"x": "max(A, B)"}, "has a value at every sample"),
        ({"x": "max(3)"}, "nothing in its argument changes"),
        ({"x": "mx(A)"}, "unknown function 'mx'. Did you mean 'max'?"),
        ({"x": "__import__('os').system('true')"}, "unknown function"),
        ({"x": ""}, "empty"),
        ({"x": 3}, "3 is no output"),
        ({"x": ("max(A)", 3)}, "should be a dict of texts"),
        ({"reason": "max(A)"}, "variable of this name"),
        ({"a/b": "max(A)"}, "without '/'"),
        ({}, "give names and what to keep"),
        ({"x": "max(C.forse)", "y": "A"}, "every sample"),
        ({"x": "turn.time"}, "there is no 'turn.time'"),
    ],
)
def test_a_wrong_output_is_refused(system, outputs, words):
    with pytest.raises(mt.MomentreeError) as error:
        read_outputs(system, outputs, {})
    assert words in str(error.value)


def test_all_wrong_outputs_are_reported_at_once(system):
    with pytest.raises(mt.MomentreeError) as error:
        read_outputs(system, {"x": "max(Q)", "y": "A"}, {})
    assert "output 'x'" in str(error.value)
    assert "output 'y'" in str(error.value)


def test_a_function_is_known_by_its_name_its_code_and_what_it_encloses():
    def make(power):
        return lambda run: run.t[-1] ** power

    assert function_identity(make(2)) == function_identity(make(2))
    assert function_identity(make(2)) != function_identity(make(3))
    assert function_identity(lambda run: 1.0) != function_identity(lambda run: 2.0)


def test_events_and_parameters_can_be_named():
    system = rotor().build(free=["r"])
    outputs = read_outputs(system, {"x": "half.time", "y": "half.count", "z": "double + mass"}, {"half": "A - pi"})
    assert [output.attributes["units"] for output in outputs] == ["s", "1", ""]
