"""Variables of FMUs: outputs in closed form, where the ground moves as well."""

from __future__ import annotations

import math

import pytest

import momentree as mt
from momentree.equations.evaluation import Evaluation
from momentree.export.fmu_variables import input_names, outputs_formula, variables_of
from momentree.results.run_inputs import output_laws


def slider_on_a_turning_ground():
    """A slider along x of a ground that moves along x and turns about z; its frame `nose` stands at (0.2, 0.1, 0)."""
    m = mt.Model("slider", gravity=(0, 0, 0))
    body = m.body("slider", mt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
    m.ground.moves(("5*t", 0, 0), (0, 0, "0.7*t"))
    m.joint("s", mt.Prismatic("x"), m.ground, body)
    m.frame("nose", body.at((0.2, 0.1, 0)))
    for name in ("nose.x", "nose.y", "nose.x'", "nose.y'", "nose.wz", "s*s'"):
        m.output(name, name)
    return m


def test_outputs_of_frames_are_relative_to_the_ground_and_positions_to_inertial_space():
    system = slider_on_a_turning_ground().build()
    mechanism, s, v, t = system.mechanism, 0.4, -1.5, 2.0
    laws = [*output_laws(mechanism, system._model).values()]
    *position, x, y, vx, vy, wz, product = outputs_formula(laws)(Evaluation(mechanism, [s], t), [v])
    assert position == pytest.approx([5 * t + s * math.cos(0.7 * t), s * math.sin(0.7 * t), 0.0])
    assert (x, y, vx, vy, wz, product) == pytest.approx((s + 0.2, 0.1, v, 0.0, 0.0, s * v), abs=1e-14)


def test_inputs_are_those_of_the_model_unless_others_are_chosen():
    m = slider_on_a_turning_ground()
    m.parameter("k", 2.0)
    m.input("push", 1.5, unit="N", description="of the wind")
    m.torque("s", "push - k*s")
    system = m.build(free=["k"])
    assert input_names(system) == ("push",)
    assert input_names(system, ["k"]) == ("k",)
    assert input_names(system, []) == ()
    listed = variables_of(system, system.start(), system.parameters, ("push",))
    push = next(each for each in listed if each.name == "push")
    assert (push.causality, push.start, push.unit, push.description) == ("input", 1.5, "N", "of the wind")
    assert [each.name for each in listed if each.causality == "output"][-6:] == [*system.outputs]
