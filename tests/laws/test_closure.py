"""Laws of closure: the Jacobian is the derivative of the closure errors, whatever joints the loop is made of."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, MOVING, four_bar, random_configuration, random_loops, random_tree
from momentree.assembly.configuration import Configuration, constraint_names
from momentree.assembly.configuration_space import integrate
from momentree.assembly.state import State

SEEDS = range(3)


def central(mechanism, q, u, t=0.0, h=1e-6):
    """The velocity of the closure errors, by central differences along a motion."""
    ahead = Configuration(mechanism, integrate(mechanism, q, h * u), t=t + h).closure_errors()
    behind = Configuration(mechanism, integrate(mechanism, q, -h * u), t=t - h).closure_errors()
    return (ahead - behind) / (2 * h)


@pytest.mark.parametrize("closing", [kind for kind in EVERY_JOINT if kind != "Free"])
@pytest.mark.parametrize("seed", SEEDS)
def test_closure_errors_vanish_where_the_closing_joint_was_made_to_fit(closing, seed):
    m, q = random_loops(np.random.default_rng(seed), ["Revolute", "Spherical", "Prismatic"], [closing])
    at = Configuration(m.build().mechanism, q)
    assert np.abs(at.closure_errors()).max() < 1e-12


@pytest.mark.parametrize("closing", [kind for kind in EVERY_JOINT if kind != "Free"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_constraint_jacobian_is_the_derivative_of_the_closure_errors(closing, seed):
    random = np.random.default_rng(seed)
    kinds = list(random.permutation(MOVING))
    m, q = random_loops(random, kinds, [closing])
    mechanism = m.build().mechanism
    u = random.standard_normal(mechanism.nv)
    at = Configuration(mechanism, q, u)
    moved = central(mechanism, q, u)
    assert at.jacobian() @ u == pytest.approx(moved, abs=2e-7)
    assert at.constraint_velocities() == pytest.approx(moved, abs=2e-7)
    assert np.abs(moved).max() > 1e-3  # the loop was really torn


@pytest.mark.parametrize("seed", [0, 2, 3])  # trees whose loops run through the driven joints
def test_prescribed_joints_and_a_moving_ground_add_to_constraint_velocities(seed):
    random = np.random.default_rng(seed)
    m = mt.Model("driven")
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    carrier = m.body("carrier", mt.sphere(mass=1.0, radius=0.1))
    ball = m.body("ball", mt.sphere(mass=1.0, radius=0.1))
    m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t)", lambda t: 2 * t * (1 - t))), carrier, m.ground)
    m.joint("swivel", mt.Spherical(motion=("t", "-2*t", "0.5*t + 0.1")), carrier.at((1, 0, 0)), ball)
    m, q = random_loops(random, ["Revolute", "Universal", "Planar"], ["Revolute", "Spherical"], m)
    mechanism = m.build().mechanism
    u = random.standard_normal(mechanism.nv)
    at = Configuration(mechanism, q, u)
    assert np.abs(at.closure_errors()).max() < 1e-12
    assert at.constraint_velocities() == pytest.approx(central(mechanism, q, u), abs=2e-7)
    drift = Configuration(mechanism, q).constraint_velocities()
    assert at.constraint_velocities() - at.jacobian() @ u == pytest.approx(drift, abs=1e-12)
    assert np.abs(drift).max() > 1e-3


def test_holonomic_constraints_have_the_derivative_of_their_expression():
    random = np.random.default_rng(5)
    m = random_tree(random, ["Revolute", "Planar", "Spherical", "Free", "Prismatic"])
    m.constrain("j1^2 - sin(j5) + t", "first")
    m.constrain("j2.slide1*j2.angle + j3.qx*j4.y - cos(t)", "second")
    m.constrain("j1' + j2.slide2'*j5 - 3*j3.wx + j4.vx - t", "velocities")
    mechanism = m.build().mechanism
    q = random_configuration(random, m.build())
    u = random.standard_normal(mechanism.nv)
    at = Configuration(mechanism, q, u, t=0.3)
    assert at.constraint_velocities()[:2] == pytest.approx(central(mechanism, q, u, t=0.3), abs=1e-7)
    assert constraint_names(mechanism) == ["first", "second"]
    assert constraint_names(mechanism, on_velocities=True) == ["first", "second", "velocities"]
    # velocities: the constraint is linear in u, with the derivative by each velocity
    still = Configuration(mechanism, q, 0 * u, t=0.3).constraint_velocities()[2]
    assert at.constraint_velocities()[2] - still == pytest.approx(at.jacobian(on_velocities=True)[2] @ u, abs=1e-12)


def test_constraints_may_name_joints_of_a_loop_that_is_cut_elsewhere():
    m = four_bar()
    m.cut("D")
    moving = m.build().assemble({"A": 1.0}, velocities={"A": 2.0})
    m.constrain("C - 0.9", "stop")
    m.constrain("C' - A' + 2*B'", "speed")
    mechanism = m.build().mechanism
    q, u = moving.q, moving.v
    at = Configuration(mechanism, q, u)
    assert at.constraint_velocities()[5] == pytest.approx(central(mechanism, q, u)[5], abs=1e-8)
    velocities = {name: at.velocities_of(name)[0] for name in "ABC"}
    assert at.constraint_velocities()[6] == pytest.approx(
        velocities["C"] - velocities["A"] + 2 * velocities["B"], abs=1e-13
    )
    assert (at.jacobian(on_velocities=True) @ u)[5:] == pytest.approx(at.constraint_velocities()[5:], abs=1e-12)


def test_a_constraint_that_names_the_joint_where_a_loop_is_cut_is_refused():
    m = four_bar()
    m.cut("C")
    m.constrain("C - 0.9", "stop")
    with pytest.raises(mt.MomentreeError, match="joint 'C' is named by 'stop'"):
        _ = m.build().mechanism.constraint_formulas


def test_constraints_are_named_by_joint_and_direction():
    assert constraint_names(four_bar().build().mechanism) == [
        "C: translation along x",
        "C: translation along y",
        "C: translation along z",
        "C: rotation about z",
        "C: rotation about x",
    ]


@pytest.mark.repeats(1)
@pytest.mark.parametrize("closing", [kind for kind in EVERY_JOINT if kind != "Free"])
def test_loops_that_any_joint_closes_stay_closed_and_keep_their_energy(closing):
    # balls in the tree: their quaternions are brought back to unit length before and after loops are closed
    random = np.random.default_rng(EVERY_JOINT.index(closing))
    m, q = random_loops(random, ["Spherical", "Universal", "Spherical", "Prismatic"], [closing])
    system = m.build()
    run = system.simulate(State(system.mechanism, q, np.zeros(system.nv)), 0.2, every=0.1, rtol=1e-9)
    assert run.closure_error.max() < 1e-12
    assert run.energy.error < 1e-7


def test_a_universal_joint_may_close_a_loop_in_a_plane():
    # its last constraint depends on both bodies: the loop moves as one closed by a hinge about its first axis
    def moved(joint):
        m = four_bar()
        (C,) = [each for each in m.joints if each.name == "C"]
        m.joints.remove(C)
        m.joint("C", joint, C.first, C.second)
        m.cut("C")
        system = m.build()
        return system.simulate(system.assemble({"A": 1.0}, velocities={"A": 0.5}), 0.5, every=0.1, rtol=1e-11).q

    np.testing.assert_allclose(moved(mt.Universal("y", "z")), moved(mt.Revolute("y")), rtol=0, atol=1e-8)
