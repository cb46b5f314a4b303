"""Joint limits: nothing within them, a spring and damper that never pull beyond them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import momentree as mt
from momentree.compile.trace.tape import Tape
from momentree.equations.stops import RAMP, stop_energy, stop_force, stops_of
from momentree.model.joint_type import STOPS
from momentree.model.values import Values

INF = math.inf
STOP = (-0.5, 1.0, 2e3, 30.0)


def slider(**options):
    """A mass of 1 kg along x, without weight."""
    m = mt.Model("slider", gravity=(0, 0, 0))
    m.joint("x", mt.Prismatic("x", **options), m.ground, m.body("mass", mt.sphere(mass=1.0, radius=0.1)))
    return m.build()


def test_the_force_is_a_spring_and_a_damper_beyond_the_limit():
    assert stop_force(STOP, 1.01, 0.2) == pytest.approx(-(2e3 * 0.01 + 30.0 * 0.2))
    assert stop_force(STOP, -0.51, -0.2) == pytest.approx(2e3 * 0.01 + 30.0 * 0.2)
    # the damping sets in over the first of the way
    assert stop_force(STOP, 1.0 + RAMP / 4, 0.2) == pytest.approx(-(2e3 * RAMP / 4 + 30.0 * 0.2 / 4))
    for q in (-0.5, 0.0, 0.3, 1.0):
        assert stop_force(STOP, q, 5.0) == stop_energy(STOP, q) == 0
    assert stop_force(None, 3.0, 1.0) == 0


@given(q=st.floats(-3, 3), u=st.floats(-1e3, 1e3))
@settings(deadline=None)
def test_a_stop_never_pulls_and_never_gives_energy(q, u):
    force = stop_force(STOP, q, u)
    assert force <= 0 if q > 1.0 else force >= 0 if q < -0.5 else force == 0
    # with what its spring stores, its power is never positive
    slope = 2e3 * (max(q - 1.0, 0.0) - max(-0.5 - q, 0.0))
    assert force * u + slope * u <= 1e-9 * abs(force * u)


def test_limits_at_infinity_cost_nothing():
    def operations(**options):
        tape = Tape()
        q, u = tape.inputs("q", "u")
        joint = mt.Revolute("z", **options).resolved(Values({}))
        tape.outputs([stop_force(stop, q, u) for stop in stops_of(joint) or ()])
        return sum(tape.operations())

    assert stops_of(mt.Revolute("z", limits=(-INF, INF)).resolved(Values({}))) is None
    assert operations(limits=(-INF, INF)) == operations() == 0
    assert 0 < operations(limits=(-INF, 1.0)) < operations(limits=(-1.0, 1.0))
    plane = mt.Planar("z", limits=((-INF, INF), (0, INF), (-INF, INF))).resolved(Values({}))
    assert stops_of(plane) == (None, (0, None, *STOPS), None)


def test_stops_act_in_every_formulation_and_in_machine_code():
    system = slider(limits=(-0.5, 1.0), stops=(2e3, 30.0))
    assert system.forward_dynamics([1.01], [0.2]) == pytest.approx([-26.0])
    assert system.forward_dynamics([-0.51], [-0.2]) == pytest.approx([26.0])
    assert system.bias([1.01], [0.2]) == pytest.approx([26.0])
    assert system.energy([1.01], [0.0]).potential == pytest.approx(2e3 * 1e-4 / 2)


def test_stops_may_depend_on_parameters():
    m = mt.Model("slider", gravity=(0, 0, 0))
    m.parameter("wall", 1.0)
    m.parameter("k", 2e3)
    m.joint("x", mt.Prismatic("x", limits=(-INF, "wall"), stops=("k", 0)), m.ground, m.body("mass", mass=1.0))
    for free in ((), ("wall", "k")):
        assert m.build(free=free).forward_dynamics([1.01], [0.2]) == pytest.approx([-20.0])


def test_one_pair_of_stops_serves_all_rates():
    plane = mt.Planar("z", limits=((0, 1),) * 3, stops=(5.0, 6.0)).resolved(Values({}))
    assert plane.stops == ((5.0, 6.0),) * 3
    each = mt.Cylindrical("z", limits=((0, 1),) * 2, stops=((5, 6), (7, 8))).resolved(Values({}))
    assert each.stops == ((5.0, 6.0), (7.0, 8.0))


def bounce(system, speed):
    """The speed at which it comes back, and how long it stays."""

    def velocities(_, y):
        return [y[1], system.forward_dynamics(y[:1], y[1:])[0]]

    def leaves(_, y):
        return y[0]

    leaves.direction, leaves.terminal = -1, True
    found = solve_ivp(velocities, (0, 1), [1e-12, speed], method="DOP853", rtol=1e-10, atol=1e-14, events=leaves)
    return -found.y[1, -1] / speed, found.t[-1]


def test_a_stop_without_damping_gives_everything_back_in_half_a_period():
    e, time = bounce(slider(limits=(-INF, 0), stops=(1e4, 0)), 1.0)
    assert e == pytest.approx(1.0, rel=1e-8)
    assert time == pytest.approx(math.pi * math.sqrt(1.0 / 1e4), rel=1e-6)


def test_the_default_stop_returns_three_tenths_of_the_speed_of_one_kilogram():
    # of a spring and damper that let go at zero force: exp(-zeta w t), where w_d t = 2 pi / 3 for zeta = 1/2
    k, c = STOPS
    zeta = c / (2 * math.sqrt(k))
    assert zeta == 0.5
    e, _ = bounce(slider(limits=(-INF, 0)), 10.0)  # so fast that the ramp is nothing
    assert e == pytest.approx(math.exp(-zeta / math.sqrt(1 - zeta**2) * 2 * math.pi / 3), rel=0.02)


def test_a_pendulum_swings_between_its_limits():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y", limits=(1.0, 2.0)), m.ground, m.body("bob", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    found = solve_ivp(
        lambda t, y: [y[1], system.forward_dynamics(y[:1], y[1:])[0]], (0, 5), [1.5, 3.0], rtol=1e-8, atol=1e-10,
        max_step=0.01,
    )  # fmt: skip
    assert 0.9 < found.y[0].min() < found.y[0].max() < 2.1
    assert found.y[0].max() > 2.0
    energy = system.energy(found.y[0][:, None], found.y[1][:, None]).total
    assert np.diff(energy).max() < 1e-6
