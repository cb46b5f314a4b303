"""Equations of gears, skates, rolling bodies, distances and surfaces in symbols against computed accelerations."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from constrained import accelerations_of_reduced, blade, in_numbers, parametrized, solved

AT = 0.4  # s
ACCURACY = 1e-10


def pendulums(**more):
    """Two pendulums side by side, in the plane x z."""
    m = parametrized("pendulums", (0, 0, "-g"), g=9.81, m=1.2, J=0.2, r=0.4, **more)
    for name, x in (("A", 0), ("B", 1)):
        body = m.body(f"pendulum {name}", mass="m", com=("r", 0, 0), inertia=("J", "J", "J"))
        m.joint(name, mt.Revolute("y"), m.ground.at((x, 0, 0)), body)
    return m, *(next(body for body in m.bodies if body.name == f"pendulum {name}") for name in "AB")


def double_pendulum():
    m = parametrized("double pendulum", (0, 0, "-g"), g=9.81, m=1.2, J=0.2, r=0.4, l=0.7)
    first = m.body("first", mass="m", com=("r", 0, 0), inertia=("J", "J", "J"))
    second = m.body("second", mass="m", com=("r", 0, 0), inertia=("J", "J", "J"))
    m.joint("A", mt.Revolute("y"), m.ground, first)
    m.joint("B", mt.Revolute("y"), first.at(("l", 0, 0)), second)
    m.frame("tip", second.at(("l", 0, 0)))
    return m


def gears():
    m, *_ = pendulums(i=3.0)
    m.gear("A", "B", ratio="i")
    return m


def coupled():
    m, *_ = pendulums()
    m.constrain("sin(A)*B = 0.2*t + 0.1", "coupled")
    return m


def tip_on_a_line():
    m = double_pendulum()
    m.constrain("tip.x + 0.5*tip.z = 0.9 + 0.1*sin(t)")
    return m


def tip_moves_at_an_angle():
    m = double_pendulum()
    m.constrain("tip.x' + A*tip.z' = 0.3*tip.wy + t")
    return m


def rod_between_pendulums():
    m, first, second = pendulums()
    m.distance(first.at(("r", 0, 0)), second.at(("r", 0, 0)), 1.1)
    return m


def on_slides(axes):
    """A point mass on slides along some axes."""
    m = parametrized("bead", (0, 0, "-g"), g=9.81, m=1.2, k=0.7)
    at = m.ground
    for axis in axes:
        body = m.body(f"along {axis}", mass="m") if axis == axes[-1] else m.body(f"along {axis}", massless=True)
        m.joint(axis, mt.Prismatic(axis), at, body)
        at = body
    return m, at


def bead_on_a_moving_wire():
    m, bead = on_slides("xz")
    m.on_surface(bead, "z = k*x^2 + 0.1*sin(t)")
    return m


def bead_on_a_curve():
    m, bead = on_slides("xyz")
    m.on_curve(bead, ("y = sin(x)", "z = k*x*y"))
    return m


def skate():
    m = parametrized("sleigh", (0, 0, "-g"), g=9.81, m=1.2, J=0.4, a=0.3)
    sleigh = m.body("sleigh", mass="m", com=("a", 0, 0), inertia=("J", "J", "J"))
    m.joint("s", mt.Planar("z"), m.ground, sleigh)
    m.skate(sleigh.at((0.1, 0.2, 0)))
    return m


def rolling_disc():
    m, post = on_slides("xyz")
    fork, cradle = m.body("fork", massless=True), m.body("cradle", massless=True)
    disc = m.body("disc", mass="m", inertia=(0.2, 0.4, 0.2))
    m.joint("yaw", mt.Revolute("z"), post, fork)
    m.joint("tilt", mt.Revolute("x"), fork, cradle)
    m.joint("spin", mt.Revolute("y"), cradle, disc)
    m.roll(disc, radius="k", disc="y")
    return m


def ball_on_a_turntable():
    m = parametrized("turntable", (0, 0, "-g"), g=9.81, m=1.2, J=0.3, r=0.2)
    table = m.body("table", mass=3.0, inertia=(1, 1, 2))
    m.joint("T", mt.Revolute("z"), m.ground, table)
    ball = m.body("ball", mass="m", inertia=("J", "J", "J"))
    m.joint("b", mt.Free(), m.ground, ball)
    m.roll(ball, on=table, radius="r")
    return m


def wheel_on_a_wheel():
    m = parametrized("wheels", (0, "-g", 0), g=9.81, m=1.2, J=0.3, r=0.2)
    lower = m.body("lower", mass=3.0, inertia=(1, 1, 2))
    m.joint("L", mt.Revolute("z"), m.ground, lower)
    upper = m.body("upper", mass="m", inertia=("J", "J", "J"))
    m.joint("U", mt.Planar("z"), m.ground, upper)
    m.roll(upper, on=lower, radius="r", ball=0.5, disc="z")
    return m


CASES = [
    (gears, {"A": 0.3}, {"A": 1.1}),
    (coupled, {"A": 0.9}, {"A": 1.1}),
    (tip_on_a_line, {"A": 0.3}, {"A": 1.1}),
    (tip_moves_at_an_angle, {"A": 0.3, "B": 0.5}, {"A": 1.1}),
    (rod_between_pendulums, {"A": 0.9}, {"A": 1.1}),
    (bead_on_a_moving_wire, {"x": 0.3}, {"x": 1.1}),
    (bead_on_a_curve, {"x": 0.3}, {"x": 1.1}),
    (blade, {"s.angle": 0.4}, {"s.angle": 0.9, "s.x": 1.1}),
    (skate, {"s.angle": 0.4}, {"s.angle": 0.9, "s.x": 1.1}),
    (rolling_disc, {"tilt": 0.4, "yaw": 0.3}, {"tilt": 0.9, "yaw": 1.1, "spin": 2.0}),
    (ball_on_a_turntable, {"T": 0.4}, {"T": 0.9, "b.wx": 0.3, "b.wy": 0.4, "b.wz": 0.7}),
    (wheel_on_a_wheel, {"U.x": 0.4}, {"L": 0.9, "U.x": 0.3}),
]

SLOW = (wheel_on_a_wheel, ball_on_a_turntable)
REDUCED = [pytest.param(*case, marks=[pytest.mark.long] * (case[0] in SLOW)) for case in CASES]


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("model", "given", "velocities"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_multipliers_give_the_accelerations(model, given, velocities):
    system = model().build()
    state = system.assemble(given, velocities=velocities, t=AT)
    q, u = np.array(state.q), np.array(state.v)
    A, d, J, j, change, g = in_numbers(system, system.equations(), q, u, AT)
    assert np.abs(g).max(initial=0) < 1e-9
    assert np.abs(J @ u + j).max() < 1e-9
    expected = system.forward_dynamics(q, u, t=AT)
    assert np.abs(expected).max() > 1e-3
    assert np.abs(solved(A, d, J, change) - expected).max() < ACCURACY * max(1, np.abs(expected).max())


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("model", "given", "velocities"), REDUCED, ids=lambda x: getattr(x, "__name__", ""))
def test_reduced_equations_give_the_accelerations(model, given, velocities):
    system = model().build()
    state = system.assemble(given, velocities=velocities, t=AT)
    q, u = np.array(state.q), np.array(state.v)
    found = accelerations_of_reduced(system, system.equations(reduced=True), q, u, AT)
    expected = system.forward_dynamics(q, u, t=AT)
    assert np.abs(found - expected).max() < ACCURACY * max(1, np.abs(expected).max())
