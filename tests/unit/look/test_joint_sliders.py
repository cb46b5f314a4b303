"""Sliders of joints: names, ranges, and states that stand where a slider is put."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import delta_robot, four_bar, hexapod, slider_crank
from momentree.errors import AssemblyError
from momentree.look.joint_sliders import joint_sliders


def test_every_coordinate_has_a_slider_with_its_unit():
    system = slider_crank().build()
    state = system.assemble()
    sliders = list(joint_sliders(system._numeric, state, 1.0))
    assert {slider.joint for slider in sliders} == {*system._numeric.by_joint}
    for slider in sliders:
        assert slider.label.endswith(f"({slider.unit})")
        assert slider.low <= slider.value(state) <= slider.high
        assert slider.step < (slider.high - slider.low) / 100


def test_limits_of_a_joint_are_those_of_its_slider():
    m = mt.Model("limited")
    m.joint(
        "A", mt.Revolute("y", limits=(-0.5, 1.5), stops=(1e3, 1)), m.ground, m.body("arm", mt.rod(mass=1, length=1))
    )
    system = m.build()
    (slider,) = joint_sliders(system._numeric, system.assemble(), 1.0)
    assert (slider.low, slider.high, slider.cyclic) == (-0.5, 1.5, False)


@pytest.mark.parametrize("make", [four_bar, slider_crank, hexapod, delta_robot])
def test_a_state_stands_where_its_slider_is_put(make):
    system = make().build()
    state = system.start()
    for slider in list(joint_sliders(system._numeric, state, 1.0))[:5]:
        for step in (-0.01, 0.01):  # it may stand at the end of its reach
            wanted = slider.value(state) + step
            with contextlib.suppress(AssemblyError):
                found = slider.moved(system, state, wanted)
                break
        else:
            pytest.fail(slider.label)
        assert slider.value(found) == pytest.approx(wanted, abs=1e-9)
        assert found.closure_error < 1e-9


def test_an_angle_after_many_turns_stays_in_its_turn():
    system = four_bar().build()
    state = system.assemble({"A": 0.3 + 6 * math.pi})
    slider = next(slider for slider in joint_sliders(system._numeric, state, 1.0) if slider.joint == "A")
    assert slider.value(state) == pytest.approx(0.3)
    assert slider.given(state, 0.4)["A"] == pytest.approx(0.4 + 6 * math.pi)


@pytest.mark.parametrize("value", [-2.7, -1.5, 1.2, 2.6, 3.1])
def test_a_slider_that_goes_far_at_once_stays_on_its_branch(value):
    system = four_bar().build()
    state = system.assemble({"A": 0.3})
    slider = next(slider for slider in joint_sliders(system._numeric, state, 1.0) if slider.joint == "A")
    slowly = state
    for each in np.linspace(0.3, value, 200):
        slowly = system.assemble({"A": each}, guess=slowly)
    assert slider.moved(system, state, value).q == pytest.approx(slowly.q, abs=1e-9)


def test_a_slider_does_not_jump_to_another_branch():
    m = mt.Model("fold")  # x = y^3 - 3 y: the branch between y = -1 and 1 ends at x = 2
    for name in ("x", "y"):
        m.joint(name, mt.Prismatic(name), m.ground, m.body(f"b{name}", mt.box(mass=1.0, size=(1, 1, 1))))
    m.constrain("x - y^3 + 3*y")
    system = m.build()
    state = system.assemble({"x": 0.0, "y": 0.0})
    slider = next(slider for slider in joint_sliders(system._numeric, state, 5.0) if slider.joint == "x")
    assert -1 < slider.moved(system, state, 1.5)["y"] < 0
    assert system.assemble({"x": 3.0}, guess=state)["y"] > 1
    with pytest.raises(AssemblyError, match=r"no continuous motion leads to x = 3 m: the branch ends before"):
        slider.moved(system, state, 3.0)


def test_ends_that_are_no_limits_are_short_and_limits_are_exact():
    m = mt.Model("chain")
    bodies = [m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1)) for i in range(4)]
    kinds = [mt.Revolute("y"), mt.Prismatic("x"), mt.Revolute("y", limits=(-1 / 3, 2 / 3)), mt.Spherical()]
    for i, (kind, body) in enumerate(zip(kinds, bodies, strict=True)):
        m.joint(f"J{i}", kind, m.ground if i == 0 else bodies[i - 1].at((0, 0, 0.123456789)), body)
    system = m.build()
    sliders = [*joint_sliders(system._numeric, system.assemble({"J0": 0.1234567, "J1": 0.7654321}), 1.2345678)]
    ends = {slider.joint: (slider.low, slider.high) for slider in sliders}
    assert ends["J0"] == ends["J3"] == (-3.15, 3.15)
    assert ends["J2"] == (-1 / 3, 2 / 3)
    assert ends["J1"] == (-0.47, 2.0)
