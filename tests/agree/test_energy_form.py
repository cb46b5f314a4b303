"""Projected kinetic energy against the aggregative form, Lagrange's equations and the balance of power."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import momentree as mt
from mechanisms import EVERY_JOINT, random_configuration, random_tree
from momentree.assembly.configuration_space import integrate
from momentree.equations.aggregative import inverse_dynamics, mass_matrix, second_form
from momentree.equations.articulated import forward_dynamics
from momentree.equations.balance import energy
from momentree.equations.energy import energy_form, equations_of_motion, power
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.model.expressions.expression import Reference
from symbolic import is_zero, lagrange, state, symbolic

SEEDS = range(4)


def every_tree(seed: int) -> mt.Model:
    """Every joint type, in random order and direction, on each other."""
    random = np.random.default_rng(seed)
    return random_tree(random, list(random.permutation(EVERY_JOINT)))


def driven_tree(seed: int) -> mt.Model:
    """The same on carriers that move as prescribed, on a ground that moves, with a force of each kind."""
    random = np.random.default_rng(seed)
    m = mt.Model("driven")
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    carrier, ball, ship, nut = (m.body(name, mt.box(mass=1.0, size=(0.1, 0.2, 0.3))) for name in "abcd")
    m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t)", "2*t*(1 - t)")), carrier, m.ground)
    m.joint("swivel", mt.Spherical(motion=("t", "-2*t", "0.5*t + 0.1")), carrier.at((1, 0, 0)), ball)
    m.joint("voyage", mt.Planar("y", motion=("t", "cos(t)", "t^2")), ball.at((0, 1, 0)), ship)
    m.joint("hinge", mt.Revolute((1, 2, 3), spring=3.0, damping=0.2, rest=0.1), ship.at((0, 0.3, 0)), nut)
    random_tree(random, list(random.permutation(EVERY_JOINT)), m)
    m.torque("hinge", "2*hinge - 0.3*hinge' + sin(3*t)")
    m.force(nut.at((0.1, 0.2, 0.3)), ("t", "hinge", 1.5), moment=(0.2, "hinge'", -1))
    m.force(m.bodies[-1].at((0.3, 0, 0.1)), (1, "-2*t", 0.5), moment=(0.1, 0, 0), axes="body")
    m.spring(nut.at((0, 0.1, 0)), m.bodies[6].at((0.2, 0, 0)), stiffness=4.0, damping=0.5, rest=0.3)
    m.spring(m.ground.at((0, 0, 2)), m.bodies[9], stiffness=2.0, rest=0.1, tension_only=True)
    return m


def at_random(m: mt.Model, seed: int):
    random = np.random.default_rng(100 + seed)
    system = m.build()
    q = random_configuration(random, system)
    return system.mechanism, q, *random.standard_normal((2, system.nv))


def close(found, expected, tolerance=1e-12):
    scale = max(1.0, np.abs(expected).max())
    return np.abs(np.subtract(found, expected)).max() < tolerance * scale


@pytest.mark.parametrize("tree", [every_tree, driven_tree])
@pytest.mark.parametrize("seed", SEEDS)
def test_projection_equals_the_aggregative_form(tree, seed):
    mechanism, q, u, du = at_random(tree(seed), seed)
    form = energy_form(Evaluation(mechanism, q, 0.3), u, du)
    assert close(np.subtract(form.T, form.Q), inverse_dynamics(Evaluation(mechanism, q, 0.3), u, du))
    assert close(form.A, mass_matrix(Evaluation(mechanism, q, 0.3)))
    # and the term w x I w takes part in it
    gyroscopic = [V.angular.cross(I.turning(V.angular)) for I, V in zip(form.inertia, form.velocity, strict=True)]
    moments = zip(gyroscopic, form.partial, strict=True)
    assert np.abs(np.sum([[g @ v.angular for v in by_velocity] for g, by_velocity in moments], axis=0)).max() > 1e-2


@pytest.mark.parametrize("tree", [every_tree, driven_tree])
def test_velocity_is_the_sum_of_partial_velocities_and_of_its_explicit_time_part(tree):
    mechanism, q, u, du = at_random(tree(1), 1)
    form = energy_form(Evaluation(mechanism, q, 0.3), u, du)
    still = energy_form(Evaluation(mechanism, q, 0.3), 0 * u, du).velocity
    for V, by_velocity, v_t in zip(form.velocity, form.partial, still, strict=True):
        made = sum((v * velocity for v, velocity in zip(by_velocity, u, strict=True)), v_t)
        assert close([*V], [*made])


def test_free_parameters_in_laws_are_given_with_the_state():
    m = mt.Model("pendulum")
    m.parameter("k", 2.0)
    block = m.body("block", mass=1.0, inertia=(1, 1, 1))
    bob = m.body("bob", mt.rod(mass=1.0, length=1.0, along="z"))
    m.joint("x", mt.Prismatic("x", motion="k*t^2"), m.ground, block)
    m.joint("a", mt.Revolute("y"), block, bob)
    m.torque("a", "k*a")
    free, k = m.build(free=["k"]).mechanism, {Reference("k"): 5.0}
    m.parameters[0] = ("k", 5.0)
    fixed, u, du = Evaluation(m.build().mechanism, [0.3], 0.4), [0.2], [0.1]
    free = fixed._replace(mechanism=free, parameters=k)
    assert equations_of_motion(free, u, du) == pytest.approx(equations_of_motion(fixed, u, du), abs=1e-14)
    assert equations_of_motion(free, u, du) == pytest.approx(inverse_dynamics(free, u, du), abs=1e-14)
    assert power(free, u, du) == pytest.approx(power(fixed, u, du), abs=1e-14)


# --- Lagrange's equations, as identities in symbols: `is_zero` divides polynomials, nothing is sampled ---


def planar() -> mt.Model:
    """A double pendulum with a sliding bob, every number a parameter."""
    m = mt.Model("planar", gravity=(0, "-g", 0))
    for name in ("m1", "m2", "c1", "c2", "l", "J1", "J2", "g"):
        m.parameter(name, 1.0)
    first = m.body("first", mass="m1", com=("c1", 0, 0), inertia=("J1", "J1", "J1"))
    second = m.body("second", mass="m2", com=("c2", 0, 0), inertia=("J2", "J2", "J2"))
    m.joint("a", mt.Revolute("z"), m.ground, first)
    m.joint("b", mt.PinSlot("x", "z"), first.at(("l", 0, 0)), second)
    return m


def asymmetric_top() -> mt.Model:
    """Three hinges ZXZ, two carriers without mass, a body of which every number is a parameter."""
    names = ("m", "x", "y", "z", "Jx", "Jy", "Jz", "Jxy", "Jxz", "Jyz")
    m = mt.Model("top")
    for name in names:
        m.parameter(name, 0.1 if name in names[-3:] else 1.0)
    carriers = [m.body(name, massless=True) for name in ("precession", "nutation")]
    body = m.body("top", mass="m", com=names[1:4], inertia=names[4:])
    for name, axis, parts in zip("abc", "zxz", zip([m.ground, *carriers], [*carriers, body], strict=True), strict=True):
        m.joint(name, mt.Revolute(axis), *parts)
    return m


def on_a_moving_base() -> mt.Model:
    """Two asymmetric bodies in space on a ground that moves and turns: explicit time."""
    m = mt.Model("base")
    m.ground.moves(("sin(t)", "t*t", 0), ("t", 0, "t"))
    first = m.body("first", mass=1.2, com=(0.2, -0.1, 0.3), inertia=(0.3, 0.4, 0.5, 0.02, -0.01, 0.03))
    second = m.body("second", mass=0.7, com=(-0.3, 0.2, 0.1), inertia=(0.2, 0.3, 0.25, -0.02, 0.01, 0.05))
    m.joint("a", mt.Revolute("y"), m.ground.at((0.5, 0, 0.2)), first)
    m.joint("b", mt.Cylindrical("x"), second, first.at((0.4, 0.1, 0), ((0.6, -0.8, 0), (0.8, 0.6, 0), (0, 0, 1))))
    return m


def with_a_prescribed_joint() -> mt.Model:
    """A body on an arm that a motor turns and tilts as prescribed."""
    m = mt.Model("arm")
    arm = m.body("arm", mass=1.2, com=(0.2, -0.1, 0.3), inertia=(0.3, 0.4, 0.5, 0.02, -0.01, 0.03))
    body = m.body("body", mass=0.7, com=(-0.3, 0.2, 0.1), inertia=(0.2, 0.3, 0.25, -0.02, 0.01, 0.05))
    m.joint("motor", mt.Universal("x", "z", motion=("t", "t + t")), m.ground, arm)
    m.joint("a", mt.Universal("x", "y"), arm.at((0.4, 0.1, 0)), body)
    return m


@pytest.mark.repeats(1)
@pytest.mark.parametrize("model", [planar, asymmetric_top, on_a_moving_base, with_a_prescribed_joint])
def test_lagranges_equations_are_recovered_identically(model):
    m = model()
    system = m.build(free=[name for name, _ in m.parameters])
    mechanism = symbolic(system.mechanism)
    q, qd, qdd, t = state(system.nv)
    kinetic = energy(Evaluation(mechanism, q, t), qd).kinetic
    form = energy_form(Evaluation(mechanism, q, t), qd, qdd)
    for T, row in zip(form.T, lagrange(kinetic, q, qd, qdd, t), strict=True):
        assert is_zero(T - row)
        assert not is_zero(row)
    for s, row in enumerate(form.A):
        assert all(is_zero(A - sympy.diff(kinetic, qd[s], qd[r])) for r, A in enumerate(row))


@pytest.mark.parametrize("model", [planar, asymmetric_top, on_a_moving_base])
@pytest.mark.repeats(1)
def test_active_forces_of_gravity_are_the_slope_of_its_potential(model):
    m = model()
    system = m.build(free=[name for name, _ in m.parameters])
    mechanism = symbolic(system.mechanism)
    q, qd, qdd, t = state(system.nv)
    potential = energy(Evaluation(mechanism, q, t), qd).potential
    form = energy_form(Evaluation(mechanism, q, t), qd, qdd)
    assert all(is_zero(Q + sympy.diff(potential, x)) for Q, x in zip(form.Q, q, strict=True))


# --- power, with explicit time ---


@pytest.mark.parametrize("tree", [every_tree, driven_tree])
@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_changes_by_the_power_of_active_forces_and_of_prescribed_motions(tree, seed):
    mechanism, q, u, _ = at_random(tree(seed), seed)
    t, h = 0.3, 1e-5
    du = np.array(forward_dynamics(Evaluation(mechanism, q, t), u, [0.0] * mechanism.nv))
    balance = power(Evaluation(mechanism, q, t), u, du)
    size = abs(balance.kinetic) + abs(balance.active)
    assert abs(balance.surplus) < 1e-11 * size
    ahead, behind = (
        energy(
            Evaluation(mechanism, integrate(mechanism, q, step * u + step**2 / 2 * du), t + step), u + step * du
        ).kinetic
        for step in (h, -h)
    )
    assert (ahead - behind) / (2 * h) == pytest.approx(balance.kinetic, abs=1e-6 * size)
    assert (abs(balance.rheonomic) > 1e-2) == (tree is driven_tree)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_of_prescribed_motions_is_that_of_the_reactions_in_their_joints(seed):
    mechanism, q, u, _ = at_random(driven_tree(seed), seed)
    t, still = 0.3, np.zeros(mechanism.nv)
    reactions = second_form(Evaluation(mechanism, q, t), u).Z
    moving = records(Evaluation(mechanism, q, t), u)
    expected = 0.0
    for body, Z in zip(mechanism.bodies, reactions, strict=True):
        record = moving[body.number]
        expected += (record.A @ record.u) @ Z if body.laws else 0.0
        expected += record.X.motion(moving[0].v) @ Z if not body.parent else 0.0
    balance = power(Evaluation(mechanism, q, t), u, still)
    assert balance.rheonomic == pytest.approx(expected, rel=1e-11)
    residual = equations_of_motion(Evaluation(mechanism, q, t), u, still)
    assert balance.surplus == pytest.approx(np.dot(residual, u), rel=1e-10)
