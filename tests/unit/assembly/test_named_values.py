"""Coordinates and velocities by name: numbers, and texts as models have them; how a state prints them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar


def pendulum_on_a_slider(**build):
    m = mt.Model("pendulum on a slider")
    m.parameter("h", 0.25)
    block, rod = m.body("block", mt.sphere(1.0, 0.1)), m.body("rod", mt.rod(1.0, "4*h"))
    m.joint("x", mt.Prismatic("x"), m.ground, block)
    m.joint("theta", mt.Revolute("y"), block, rod)
    return m.build(**build)


def floating_ball():
    m = mt.Model("ball")
    m.joint("hull", mt.Free(), m.ground, m.body("hull", mt.sphere(1.0, 0.1)))
    return m.build()


def test_texts_are_expressions_of_units_and_parameters():
    state = pendulum_on_a_slider().assemble({"theta": "30*deg", "x": "2*h"}, {"theta": "-pi/2"})
    assert (state["theta"], state["x"], state.velocity("theta")) == (30 * (math.pi / 180), 0.5, -math.pi / 2)


def test_lists_may_have_texts():
    state = floating_ball().assemble(
        {"hull": [0, "1/2", 1, "sin(45*deg)", 0, 0, "cos(45*deg)"]}, {"hull.wx": "360*deg"}
    )
    assert np.allclose(state["hull"], [0, 0.5, 1, math.sqrt(0.5), 0, 0, math.sqrt(0.5)], atol=1e-15)
    assert state.velocity("hull")[3] == 2 * math.pi


def test_texts_of_a_guess():
    system = four_bar().build()
    by_text = system.assemble({"A": "60*deg"}, guess={"D": "2*pi/3"})
    assert np.array_equal(by_text.q, system.assemble({"A": 60 * (math.pi / 180)}, guess={"D": 2 * math.pi / 3}).q)


def test_texts_use_free_parameters_with_the_values_of_the_call():
    system = pendulum_on_a_slider(free=["h"])
    assert system.assemble({"x": "2*h"})["x"] == 0.5
    assert system.assemble({"x": "2*h"}, parameters={"h": 0.75})["x"] == 1.5


def test_texts_in_many_states_follow_the_parameters_of_each():
    system = pendulum_on_a_slider(free=["h"])
    many = system.assemble_many(
        {"x": "2*h", "theta": "30*deg"}, {"x": "h^2"}, guess={"x": "h"}, parameters={"h": [0.25, 0.5, 1.0]}
    )
    assert many.q[:, 0].tolist() == [0.5, 1.0, 2.0]
    assert (many.q[:, 1] == 30 * (math.pi / 180)).all()
    assert np.allclose(many.v[:, 0], [1 / 16, 1 / 4, 1], rtol=1e-15)
    free = floating_ball().assemble_many({"hull": ["1/4", 0, 0, 0, 0, 0, 1]})
    assert free.q.tolist() == [[0.25, 0, 0, 0, 0, 0, 1]]


@pytest.mark.parametrize("text", ["__import__('os')", "theta", "30 deg", "1/0", "", "1e999", "h.x", "open('x')"])
def test_other_texts_are_refused(text):
    system = pendulum_on_a_slider()
    for call in (lambda: system.assemble({"theta": text}), lambda: system.assemble_many({"theta": text})):
        with pytest.raises(mt.MomentreeError, match=r"^given: 'theta'|^given: .* in 'theta'"):
            call()


def test_velocities_of_free_bodies_are_suggested_by_their_own_names():
    system = floating_ball()
    with pytest.raises(mt.MomentreeError, match=r"the joint has no 'x'. Did you mean 'vx'\?"):
        system.assemble({}, {"hull.x'": 1.0})
    with pytest.raises(mt.MomentreeError, match=r"Did you mean 'hull.vx'\?"):
        system.simulate(system.assemble(), 1.0, events={"stops": "hull.x'"})


def test_a_state_prints_units_and_quaternions():
    state = floating_ball().assemble({"hull": (0, 0, 1, 0, 0, 0, 1)}, {"hull.wx": 2.0, "hull.vz": -0.5})
    _, line = str(state).splitlines()
    assert line.strip() == f"{'hull':<12} 0 0 1 m, quaternion (0, 0, 0, 1), velocity 0 0 -0.5 m/s, 2 0 0 rad/s"
    state = pendulum_on_a_slider().assemble({"theta": 1.5}, {"x": 2.0})
    assert [line.split(maxsplit=1)[1] for line in str(state).splitlines()[1:]] == [
        "0 m, velocity 2 m/s",
        "1.5 rad, velocity 0 rad/s",
    ]


HINT = "'theta' is 30 rad, 4.8 turns. Angles are in radians; for 30 degrees write '30[*]deg'"


@pytest.mark.parametrize(
    "call",
    [
        lambda system: system.assemble({"theta": 30}),
        lambda system: system.assemble({"theta": "30"}),
        lambda system: system.assemble(guess={"theta": 30.0}),
        lambda system: system.start({"theta": 30}),
        lambda system: system.assemble_many({"theta": np.arange(0, 91, 30)}, follow=False),
    ],
)
def test_angles_that_look_like_degrees_are_told(call):
    with pytest.warns(mt.AssemblyWarning, match=HINT) as told:
        call(pendulum_on_a_slider())
    assert len(told) == 1


@pytest.mark.parametrize("theta", [12, 3.1, -6, "30*deg", "10*pi", 29.8, 31.4159, np.linspace(0, 4 * math.pi, 5)])
def test_angles_of_several_turns_are_not(theta):
    system = pendulum_on_a_slider()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system.assemble_many({"theta": theta}, {"theta": 100.0})
        if np.ndim(theta) == 0:
            system.assemble({"theta": theta}, {"theta": 100.0})


def test_slides_and_threads_have_no_degrees():
    m = mt.Model("thread")
    m.joint("S", mt.Screw("z", pitch=0.01), m.ground, m.body("nut", mt.box(mass=1.0, size=(1, 1, 1))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.build().assemble({"S": 90})
        pendulum_on_a_slider().assemble({"x": 30})
