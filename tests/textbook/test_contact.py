"""Contact in closed form: bounces, restitution, sliding and rolling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt

G = 9.81


def dropped(gravity=G, **contact):
    """A ball of 2 kg on a vertical slide above a plane; its coordinate is the height of its lowest point."""
    m = mt.Model("ball", gravity=(0, 0, -gravity))
    ball = m.body("ball", mt.sphere(mass=2.0, radius=0.1))
    m.joint("slide", mt.Prismatic("z"), m.ground.at((0, 0, 0.1)), ball)
    m.contact(ball, radius=0.1, **contact)
    return m.build()


def run(system, q, v, t_end, **options):
    """The motion of a tree whose velocities are the derivatives of its coordinates."""

    def velocities(_, y):
        return np.concatenate([y[system.nq :], system.forward_dynamics(y[: system.nq], y[system.nq :])])

    return solve_ivp(velocities, (0, t_end), [*q, *v], method="DOP853", rtol=1e-10, atol=1e-12, **options)


def crossing(falling):
    """When the first coordinate passes zero: touch-down or take-off."""

    def event(_, y):
        return y[0]

    event.direction = -1 if falling else 1
    return event


def test_a_ball_on_an_elastic_ground_comes_back_to_its_height():
    system = dropped(stiffness=1e5)
    height = 0.5
    found = run(system, [height], [0.0], 1.0, events=crossing(falling=True), max_step=1e-3)
    (down, *_), late = found.t_events[0], found.t > 0.4
    assert down == pytest.approx(math.sqrt(2 * height / G), rel=1e-9)
    rising = found.y[1] ** 2 / (2 * G) + found.y[0]  # the height that it would reach, or did
    assert rising[late & (found.y[0] > 0)] == pytest.approx(height, rel=1e-7)
    assert found.y[0][late].max() == pytest.approx(height, rel=1e-4)


def test_a_linear_contact_ends_after_half_a_period():
    system = dropped(gravity=0.0, stiffness=1e5)
    found = run(system, [0.01], [-1.0], 0.1, events=[crossing(True), crossing(False)], max_step=1e-3)
    (down,), (up,) = found.t_events
    assert up - down == pytest.approx(math.pi * math.sqrt(2.0 / 1e5), rel=1e-7)
    assert found.y[1, -1] == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("exponent", [1, 1.5, 2])
def test_restitution_by_hunt_and_crossley(exponent):
    # e = 1 - c v to first order, whatever the exponent (Hunt and Crossley 1975, J. Appl. Mech. 42, 440-445); exactly,
    # m v dv / (1 + a v) = -k p^n dp with a = 3/2 c joins the speeds v and e v of one depth: F(v) = F(-e v) where
    # F(v) = v / a - log(1 + a v) / a^2
    speed = 0.8
    for c in (0.05, 0.01):
        system = dropped(gravity=0.0, stiffness=1e6, damping=c, law="hunt-crossley", exponent=exponent)
        found = run(system, [0.001], [-speed], 0.1, events=[crossing(False)], max_step=1e-3)
        e = found.y_events[0][0][1] / speed
        assert e == pytest.approx(1 - c * speed, abs=(c * speed) ** 2)
        a = 1.5 * c

        def F(v, a=a):
            return v / a - math.log(1 + a * v) / a**2

        assert F(speed) == pytest.approx(F(-e * speed), rel=1e-5)


def test_a_sliding_block_slows_down_by_mu_g():
    m = mt.Model("block", gravity=(0, 0, -G))
    block = m.body("block", mt.box(mass=3.0, size=(0.4, 0.4, 0.2)))
    m.joint("block", mt.Planar("y"), m.ground, block)
    for x in (-0.2, 0.2):
        m.contact(block.at((x, 0, -0.1)), stiffness=1e6, damping=3e3, friction=0.3)
    system = m.build()
    names = [str(r) for r in system.mechanism.coordinates]
    x, z = names.index("block.x"), names.index("block.z")
    q, v = np.zeros(3), np.zeros(3)
    q[z], v[x] = 0.1 - 3.0 * G / 2e6, 2.0
    found = run(system, q, v, 0.5, max_step=1e-3)
    late = found.t > 0.2  # the first push of friction, which tips it, has died away
    slope = np.polyfit(found.t[late], found.y[3 + x][late], 1)[0]
    assert slope == pytest.approx(-0.3 * G, rel=1e-3)


def test_a_ball_thrown_without_spin_rolls_with_five_sevenths_of_its_speed():
    # angular momentum about the point of contact is kept: m v R = (m + 2/5 m) v' R
    m = mt.Model("bowl", gravity=(0, 0, -G))
    ball = m.body("ball", mt.sphere(mass=2.0, radius=0.1))
    m.joint("ball", mt.Planar("y"), m.ground, ball)
    m.contact(ball, radius=0.1, stiffness=1e7, damping=2e3, friction=0.4, slip=1e-3)
    system = m.build()
    names = [str(r) for r in system.mechanism.coordinates]
    x, z, angle = (names.index(f"ball.{name}") for name in ("x", "z", "angle"))
    q, v = np.zeros(3), np.zeros(3)
    q[z], v[x] = 0.1 - 2.0 * G / 1e7, 1.0
    found = run(system, q, v, 0.3, max_step=1e-3)
    v = found.y[3:, -1]
    assert v[x] == pytest.approx(5 / 7, rel=1e-4)
    assert v[angle] * 0.1 == pytest.approx(v[x], rel=1e-3)  # rolls
    # sliding stops after 2 v / (7 mu g)
    sliding = np.abs(found.y[3 + x] - 0.1 * found.y[3 + angle]) > 0.01
    assert found.t[sliding].max() == pytest.approx(2 / (7 * 0.4 * G), rel=0.02)
