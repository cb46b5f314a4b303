"""Two bodies that float freely and roll, skate or slide on one another: both momenta and the energy are kept.

Whatever constrains them to each other acts by a wrench and its opposite, at one point: what one body loses, the other
gets. An ideal constraint that does not depend on time does no work. Constraints that move with both bodies show whether
the motion of their wrenches is accounted for.
"""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt

pytestmark = pytest.mark.filterwarnings("ignore:.*would have to pull")  # here it may
FORMULATIONS = ("hamiltonian", "lagrange", pytest.param("absolute", marks=pytest.mark.long))
TURNED = mt.turn((1, 2, -1), 0.7)


def ball_on_plane(m, big, small):
    m.roll(small.at((0.02, 0.01, 0)), on=big.at((0, 0, 0.3), TURNED), radius=0.2)


def disc_on_plane(m, big, small):
    m.roll(small, on=big.at((0, 0, 0.3), TURNED), radius=0.2, disc=(0.3, 0.2, 1))


def ball_on_ball(m, big, small):
    m.roll(small, on=big.at((0.1, 0, 0)), radius=0.2, ball=0.5)


def ball_in_ball(m, big, small):
    m.roll(small, on=big.at((0.1, 0, 0)), radius=0.2, ball=-0.9)


def disc_on_ball(m, big, small):
    m.roll(small, on=big.at((0.1, 0, 0)), radius=0.2, ball=0.5, disc=(0.3, 0.2, 1))


def skate_on_body(m, big, small):
    m.skate(small.at((0.1, 0.2, 0)), across=(1, 0.2, 0), on=big)


def rod_between(m, big, small):
    m.distance(big.at((0.3, 0, 0.1)), small.at((0, 0.1, 0)), 0.8)


def point_on_surface(m, big, small):
    m.on_surface(small.at((0.1, 0, 0)), "x^2 + 2*y^2 + z^2 = 0.5", of=big.at((0, 0.1, 0), TURNED))


def point_on_curve(m, big, small):
    m.on_curve(small.at((0.1, 0, 0)), ("z = 0.3*sin(3*x)", "y = x^2"), of=big.at((0, 0.1, 0), TURNED))


def rod_by_expression(m, big, small):
    m.frame("P", big.at((0.3, 0, 0.1)))
    m.frame("Q", small.at((0, 0.1, 0)))
    m.constrain("(P.x - Q.x)^2 + (P.y - Q.y)^2 + (P.z - Q.z)^2 = 0.64")


PAIRS = {
    pair.__name__: pair
    for pair in (
        ball_on_plane,
        disc_on_plane,
        ball_on_ball,
        ball_in_ball,
        disc_on_ball,
        skate_on_body,
        rod_between,
        point_on_surface,
        point_on_curve,
        rod_by_expression,
    )
}


def floating(name):
    """A big and a small body, neither held anywhere; from a start that is as good as any other."""
    m = mt.Model(name.replace("_", " "), gravity=(0, 0, 0))
    big = m.body("big", mass=3.0, com=(0.1, -0.05, 0.02), inertia=(0.5, 0.6, 0.7))
    small = m.body("small", mass=0.8, com=(0.02, 0.01, 0), inertia=(0.02, 0.025, 0.03))
    m.joint("big", mt.Free(), m.ground, big)
    m.joint("small", mt.Free(), m.ground, small)
    PAIRS[name](m, big, small)
    system = m.build()
    axis = np.array([0.3, -0.5, 0.2])
    turned = (*np.sin(0.4) * axis / np.linalg.norm(axis), np.cos(0.4))
    guess = {"small": (0.3, 0.5, 0.6, *turned)}
    velocities = {"big": (0.1, -0.2, 0.3, 0.4, -0.7, 0.5), "small.wx": 1.0, "small.wy": -1.5, "small.wz": 2.0}
    return system, system.assemble({"big": (0, 0, 0, 0, 0, 0, 1)}, velocities, guess=guess)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", PAIRS)
def test_momenta_and_energy_of_two_floating_bodies(name, formulation):
    system, start = floating(name)
    run = system.simulate(start, t_end=5.0, every=0.1, formulation=formulation)
    momentum = system.momentum(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * max(1.0, np.abs(momentum).max())
    assert run.energy.error < 1e-9 * max(1.0, run.energy.kinetic.max())
    assert run.closure_error.max() < 1e-12
    assert run.closure_velocity.max() < 1e-11
    assert np.ptp(run.v, axis=0).max() > 0.1  # they do act on each other


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", PAIRS)
def test_two_floating_bodies_accelerate_as_differences_of_their_velocities_say(name):
    # forward dynamics at a sample against the motion: central differences of order 6
    system, start = floating(name)
    h = 1e-3
    run = system.simulate(start, t_end=0.1 + 3 * h, every=h, rtol=1e-13)
    i = 100
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    expected = weights @ run.v[i - 3 : i + 4]
    found = system.forward_dynamics(run.q[i], run.v[i])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * max(1.0, np.abs(expected).max()))
