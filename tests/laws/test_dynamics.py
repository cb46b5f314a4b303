"""Laws of mechanics that the dynamics of a tree must obey."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_body, random_configuration, random_frame, random_joint, random_tree
from momentree.assembly.configuration_space import integrate

SEEDS = range(5)


def moving(seed, kinds=EVERY_JOINT, **more):
    random = np.random.default_rng(seed)
    m = random_tree(random, list(random.permutation(kinds)), mt.Model("tree", **more))
    system = m.build()
    return m, system, random_configuration(random, system), random.standard_normal(system.nv), random


def along(system, q, v, a, h, f):
    """Central difference of f(q, v) along the motion with velocities v that change with a."""
    ahead, behind = (f(integrate(system.mechanism, q, k * v + h * h / 2 * a), v + k * a) for k in (h, -h))
    return (ahead - behind) / (2 * h)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_mass_matrix_is_the_hessian_of_kinetic_energy(seed):
    _, system, q, v, _ = moving(seed)
    M = system.mass_matrix(q)
    T = system.energy(q, v).kinetic
    assert v @ M @ v / 2 == pytest.approx(T, rel=1e-13)
    assert np.linalg.eigvalsh(M).min() > 0
    unit = np.eye(system.nv)
    for i in range(0, system.nv, 3):
        for j in range(0, system.nv, 5):
            mixed = (
                sum(s * t * system.energy(q, s * unit[i] + t * unit[j]).kinetic for s in (1, -1) for t in (1, -1)) / 4
            )
            assert mixed == pytest.approx(M[i, j], abs=1e-12 * np.abs(M).max())


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_power_of_generalized_forces_is_the_derivative_of_energy(seed):
    m, system, q, v, random = moving(seed, gravity=(1.0, -2.0, -9.81))
    m.spring(m.ground.at((1, 2, 3)), m.bodies[-1].at((0.1, 0, 0)), 30.0, rest=0.4)
    system = m.build()
    tau = random.standard_normal(system.nv)
    a = system.forward_dynamics(q, v, tau)
    power = along(system, q, v, a, 1e-5, lambda q, v: system.energy(q, v).total)
    assert power == pytest.approx(tau @ v, abs=2e-5 * max(1.0, abs(system.energy(q, v).total)))


@pytest.mark.parametrize("seed", SEEDS)
def test_damping_dissipates_energy(seed):
    random = np.random.default_rng(seed)
    m = mt.Model("damped", gravity=(0, 0, 0))
    first = m.body("first", mt.box(mass=1.0, size=(1, 2, 3)))
    m.joint("A", mt.Universal("x", "y", damping=(0.3, 0.7)), m.ground, first)
    second = m.body("second", mt.box(mass=1.0, size=(1, 2, 3)))
    m.joint("B", mt.Spherical(damping=(0.1, 0.2, 0.3)), first.at((1, 0, 0)), second)
    m.spring(m.ground.at((3, 0, 0)), second.at((0, 1, 0)), 0.0, damping=2.0)
    system = m.build()
    q, v = random_configuration(random, system), random.standard_normal(system.nv)
    a = system.forward_dynamics(q, v)
    power = along(system, q, v, a, 1e-5, lambda q, v: system.energy(q, v).total)
    joints = np.array([0.3, 0.7, 0.1, 0.2, 0.3]) @ v**2
    h = 1e-6
    length = [np.linalg.norm(system.position(integrate(system.mechanism, q, k * v), second.at((0, 1, 0))) - (3, 0, 0))
              for k in (h, -h)]  # fmt: skip
    assert power == pytest.approx(-joints - 2.0 * ((length[0] - length[1]) / (2 * h)) ** 2, rel=1e-6)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_floating_tree_conserves_its_momentum(seed):
    random = np.random.default_rng(seed)
    m = mt.Model("satellite", gravity=(0, 0, 0))
    base = m.body("base", mt.box(mass=3.0, size=(1, 2, 3)))
    m.joint("base", mt.Free(), m.ground, base)
    kinds = [kind for kind in random.permutation(EVERY_JOINT) if kind != "Free"]
    bodies = [base]
    for i, kind in enumerate(kinds):
        body = random_body(random, m, f"b{i}")
        m.joint(f"j{i}", random_joint(random, kind), random_frame(random, bodies[random.integers(len(bodies))]),
                random_frame(random, body))  # fmt: skip
        bodies.append(body)
    system = m.build()
    q, v = random_configuration(random, system), random.standard_normal(system.nv)
    # whatever the joints between the bodies do
    tau = random.standard_normal(system.nv)
    tau[system.mechanism.by_joint["base"].v] = 0
    a = system.forward_dynamics(q, v, tau)
    change = along(system, q, v, a, 1e-5, system.momentum)
    assert np.abs(change).max() < 1e-6 * np.abs(system.momentum(q, v)).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_acts_at_the_centres_of_mass(seed):
    _, system, q, v, _ = moving(
        seed, kinds=["Revolute", "Prismatic", "Universal", "Planar"], gravity=(1.0, -2.0, -9.81)
    )
    # at rest the bias is the slope of the potential
    slope = [
        (system.energy(integrate(system.mechanism, q, 1e-6 * e), 0 * v).potential
         - system.energy(integrate(system.mechanism, q, -1e-6 * e), 0 * v).potential) / 2e-6
        for e in np.eye(system.nv)
    ]  # fmt: skip
    np.testing.assert_allclose(system.bias(q, 0 * v), slope, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_jacobian_of_a_frame_is_the_derivative_of_its_position(seed):
    m, system, q, v, random = moving(seed)
    for body in m.bodies:
        frame = body.at(random.uniform(-1, 1, 3))
        h = 1e-6
        moved = [system.position(integrate(system.mechanism, q, k * v), frame) for k in (h, -h)]
        np.testing.assert_allclose(system.jacobian(q, frame)[:3] @ v, (moved[0] - moved[1]) / (2 * h), atol=1e-7)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_motion_is_reversible(seed):
    # without friction the accelerations do not know the sense of time
    _, system, q, v, _ = moving(seed)
    np.testing.assert_allclose(system.forward_dynamics(q, v), system.forward_dynamics(q, -v), rtol=1e-9, atol=1e-9)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_moving_ground_is_felt_as_gravity_and_inertia(seed):
    # a ground that falls freely: nothing that hangs on it feels its weight
    m, _, q, v, _ = moving(seed, gravity=(1.0, -2.0, -9.81))
    m.ground.moves(("0.5*t^2 + 3*t", "-t^2", "-9.81/2*t^2"))
    falling = m.build()
    m.ground.position = m.ground.rotation = None
    m.gravity = (0, 0, 0)
    floating = m.build()
    np.testing.assert_allclose(falling.bias(q, v, t=1.3), floating.bias(q, v), atol=1e-11)


@pytest.mark.parametrize("code", ["straight-line", "rolled"])
def test_a_uniform_velocity_of_everything_is_not_felt(code):
    # Galilei: exactly, for no force depends on it, and even if it is so large that its square has no room
    random = np.random.default_rng(7)
    m = mt.Model("train")
    cart = random_body(random, m, "cart")
    m.joint("rail", mt.Prismatic(tuple(random.standard_normal(3))), m.ground, cart)
    bodies = [cart]
    for i, kind in enumerate(EVERY_JOINT):
        carrier = random_frame(random, bodies[random.integers(len(bodies))])
        bodies.append(random_body(random, m, f"b{i}"))
        m.joint(f"j{i}", random_joint(random, kind), carrier, random_frame(random, bodies[-1]))
    system = m.build(code=code)
    q, v = random_configuration(random, system), random.standard_normal(system.nv)
    expected = system.forward_dynamics(q, v)
    for velocity in (0.0, 1.0, -300.0, 1e200):
        v[0] = velocity
        np.testing.assert_array_equal(system.forward_dynamics(q, v), expected)
