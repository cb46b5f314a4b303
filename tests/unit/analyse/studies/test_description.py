"""What a study is made of: names that are varied, starts, settings; and how two studies differ."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.studies.description import differences, kinds_of, start_of
from study_models import four_bar, rotor

KEEP = {"x": "last(A)"}


def test_names_are_parameters_coordinates_or_velocities():
    system = rotor().build(free=["r"])
    assert kinds_of(system, ("r", "A", "A'")) == ("parameter", "coordinate", "velocity")


def test_a_part_of_a_joint_is_varied_and_the_rest_stays():
    m = mt.Model("plate")
    m.joint("hull", mt.Planar("z"), m.ground, m.body("plate", mass=1.0, inertia=(1, 1, 1)))
    m.start_at({"hull": (1, 2, 3)}, velocities={"hull": (4, 5, 6)})
    system = m.build()
    names = system.mechanism.by_joint["hull"].joint.type.coordinates
    varied = {f"hull.{names[1]}": "coordinate", f"hull.{names[0]}'": "velocity"}
    start = start_of(system, varied, None, None, None)
    assert start.coordinates == {f"hull.{names[0]}": 1, f"hull.{names[2]}": 3}
    assert start.velocities == {f"hull.{names[1]}": 5, f"hull.{names[2]}": 6}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"over": {"rr": [1.0]}}, "there is no parameter, joint or velocity 'rr' to vary. Did you mean 'r'?"),
        ({"over": {"B": [1.0]}}, "there is no parameter, joint or velocity 'B'"),
        ({"over": {"r": [1.0], "x": [2.0]}}, "'x'"),
        ({"parameters": {"r": 1.0}}, "'r' is varied, and given in parameters= too"),
        ({"outputs": {"r": "last(A)"}}, "'r' is varied, and an output has its name"),
        ({"every": None}, "Give every="),
        ({"every": -1}, "every is -1"),
        ({"t_end": -1}, "t_end is -1"),
        ({"integrator": "rk5"}, "integrator 'rk5' is not known"),
        ({"speed": 1}, "there is no setting 'speed'"),
        ({"given": {"B": 1.0}}, "there is no joint 'B'"),
        ({"device": "tpu"}, "device is 'tpu'"),
        ({"chunk": 0}, "chunk is 0"),
        ({"together": True, "events": {"half": "A - pi"}}, "cannot be computed together where events are noted"),
        ({"together": 2}, "together is 2"),
        ({"system": 3}, "Give a system or a model"),
    ],
)
def test_a_wrong_study_is_refused_before_anything_is_computed(change, words):
    arguments = {"system": rotor(), "over": {"r": [0.5, 0.6]}, "outputs": KEEP, "every": 0.1, **change}
    with pytest.raises(mt.MomentreeError) as error:
        mt.study(**arguments)
    assert words in str(error.value)


def test_a_parameter_that_is_not_free_is_named():
    with pytest.raises(mt.MomentreeError, match=r"'r' is a parameter that is not free.*free=\['r'\]"):
        mt.study(rotor().build(), {"r": [1.0]}, KEEP, every=0.1)


def test_times_that_change_with_what_is_varied_are_refused():
    m = rotor()
    m.start_at({"A": 0.0}, t_end="4*r")
    with pytest.raises(mt.MomentreeError, match="all motions have the same times"):
        mt.study(m, {"r": [1.0, 2.0]}, KEEP, every=0.1)
    assert mt.study(m, {"mass": [1.0, 2.0]}, KEEP, every=0.1).description.settings.t_end == 2.0


def test_differences_are_told_in_words():
    ours = mt.study(four_bar(), {"a": [0.9, 1.0]}, {"peak": "max(C.force)"}, every=0.1).description.identity
    heavier = four_bar()
    heavier.gravity = (0, 0, -1.6)
    others = {
        "the model, where it has": mt.study(heavier, {"a": [0.9, 1.0]}, {"peak": "max(C.force)"}, every=0.1),
        "the values of the design": mt.study(four_bar(), {"a": [0.9, 1.1]}, {"peak": "max(C.force)"}, every=0.1),
        "settings every: 0.2 there, 0.1 here": mt.study(
            four_bar(), {"a": [0.9, 1.0]}, {"peak": "max(C.force)"}, every=0.2
        ),
        'outputs peak: "max(B.force)" there': mt.study(
            four_bar(), {"a": [0.9, 1.0]}, {"peak": "max(B.force)"}, every=0.1
        ),
    }
    for words, other in others.items():
        found = differences(ours, other.description.identity)
        assert len(found) == 1
        assert words in found[0]
    assert differences(ours, ours) == []


def test_the_start_of_the_model_follows_from_what_is_varied():
    study = mt.study(rotor(), {"r": [0.5, 1.0, 2.0]}, {"w": "first(A')"}, every=0.5)  # A' is 1/(2 r)
    assert np.allclose(study.run().w.values, [1.0, 0.5, 0.25], rtol=1e-15)
