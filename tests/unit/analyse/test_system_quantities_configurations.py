"""Configurations on the groups of the joints: steps, differences, what lies between; near half a turn, and batches."""

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_configuration, random_tree
from momentree.equations.kinematics import coordinate_changes

FREE = mt.Model("free")
FREE.joint("J", mt.Free(), FREE.ground, FREE.body("b", mt.sphere(mass=1.0, radius=0.1)))
SYSTEM = FREE.build()
Q = np.array([1.0, -2.0, 0.5, 0.1, 0.7, -0.1, 0.7])


def of_everything(seed):
    random = np.random.default_rng(seed)
    system = random_tree(random, EVERY_JOINT).build()
    return random, system, *(random_configuration(random, system) for _ in range(2))


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-150, 1e-12, 1e-4, 1.0, 3.0, np.pi - 1e-5, np.pi - 1e-9, np.pi])
def test_a_difference_is_the_step_up_to_half_a_turn(angle):
    v = np.array([3.0, 1.0, -2.0, *(angle * np.array([2.0, -1.0, 2.0]) / 3)])
    later = SYSTEM.integrate(Q, v)
    assert abs(np.linalg.norm(later[3:]) - 1) < 1e-15
    np.testing.assert_allclose(SYSTEM.difference(Q, later), v, rtol=0, atol=1e-14)
    other = later * [1, 1, 1, -1, -1, -1, -1]  # the same orientation
    arrived = SYSTEM.integrate(Q, SYSTEM.difference(Q, other))
    np.testing.assert_allclose(arrived[:3], later[:3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(abs(arrived[3:] @ later[3:]), 1, rtol=0, atol=1e-14)


def test_a_free_body_moves_along_a_screw():
    """Half a turn about z at one metre a radian ahead: a half circle, whose diameter is two metres."""
    q = SYSTEM.integrate(SYSTEM.neutral, [np.pi, 0, 0.3, 0, 0, np.pi])
    np.testing.assert_allclose(q, [0, 2, 0.3, 0, 0, 1, 0], atol=1e-15)


def test_differences_lead_from_one_configuration_to_the_other_on_every_joint():
    _, system, q, other = of_everything(3)
    arrived = system.integrate(q, system.difference(q, other))
    np.testing.assert_allclose(system.difference(arrived, other), 0, atol=1e-13)
    np.testing.assert_allclose(system.difference(q, q), 0, atol=1e-15)
    np.testing.assert_allclose(system.integrate(q, np.zeros(system.nv)), q, atol=1e-15)


def test_velocities_are_those_of_the_motion():
    random, system, q, _ = of_everything(4)
    v, h = random.standard_normal(system.nv), 1e-5
    numerical = (system.integrate(q, h * v) - system.integrate(q, -h * v)) / (2 * h)
    np.testing.assert_allclose(numerical, coordinate_changes(system.mechanism, q, v), atol=1e-8)


def test_batches_broadcast_and_shares_too():
    _, system, q, other = of_everything(5)
    V = np.linspace(0, 1, 4)[:, None] * system.difference(q, other)
    rows = system.integrate(q, V)
    assert rows.shape == (4, system.nq)
    np.testing.assert_array_equal(rows[2], system.integrate(q, V[2]))
    np.testing.assert_array_equal(system.interpolate(q, other, np.linspace(0, 1, 4)), rows)
    assert system.interpolate(q, other, 0.5).shape == (system.nq,)
    np.testing.assert_allclose(system.difference(q, rows), V, atol=1e-13)
    np.testing.assert_allclose(system.difference(system.interpolate(q, other, 1.0), other), 0, atol=1e-13)


def test_the_neutral_configuration_is_the_reference():
    _, system, *_ = of_everything(6)
    states = {body.joint.name: system.neutral[body.q] for body in system.mechanism.bodies}
    for body in system.mechanism.bodies:
        assert tuple(states[body.joint.name]) == body.joint.type.reference()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SYSTEM.integrate(Q[:3], np.zeros(6)), "q has the shape 3; its last axis must have length 7"),
        (lambda: SYSTEM.integrate(Q, np.zeros(7)), "v has the shape 7; its last axis must have length 6"),
        (lambda: SYSTEM.integrate(2 * Q, np.zeros(6)), "q: the quaternion of joint 'J' is not of unit length"),
        (lambda: SYSTEM.difference(Q, 2 * Q), "q1: the quaternion of joint 'J' is not of unit length"),
        (lambda: SYSTEM.difference([np.nan] * 7, Q), "q0 holds NaN"),
        (lambda: SYSTEM.interpolate(Q, Q, "half"), "s is 'half'; a number is expected"),
        (lambda: SYSTEM.interpolate(Q, Q, np.inf), "s holds NaN or infinity"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(mt.MomentreeError, match=message):
        call()
