"""Functions for JAX against what JAX makes of closed forms written by hand, and against Pinocchio's derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from agree.peers import GRAVITY, Pinocchio, agree
from mechanisms import four_bar, random_body, random_frame, random_joint

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'momentree[jax]'")
jnp = jax.numpy
G = 9.81


@pytest.fixture(autouse=True)
def double_precision():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


# --- a double pendulum, with masses and lengths free ---


def double_pendulum():
    m = mt.Model("double pendulum")
    values = {"m1": 1.3, "m2": 0.7, "l1": 1.1, "l2": 0.9}
    m1, m2, l1, l2 = (m.parameter(name, value) for name, value in values.items())
    upper, lower = m.body("upper", mt.rod(mass=m1, length=l1)), m.body("lower", mt.rod(mass=m2, length=l2))
    m.joint("A", mt.Revolute("y"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at((l1, 0, 0)), lower)
    return m.build(free=list(values)), values


def closed_form(q, v, tau, t, p):
    """Two thin rods; angles from the horizontal, downwards, the second relative to the first."""
    (A, B), (u, w) = q, v
    a, b = (p["m1"] / 3 + p["m2"]) * p["l1"] ** 2, p["m2"] * p["l2"] ** 2 / 3
    c = p["m2"] * p["l1"] * p["l2"] / 2
    M = jnp.array([[a + b + 2 * c * jnp.cos(B), b + c * jnp.cos(B)], [b + c * jnp.cos(B), b]])
    coriolis = c * jnp.sin(B) * jnp.array([-2 * u * w - w * w, u * u])
    lower = p["m2"] * p["l2"] / 2 * jnp.cos(A + B)
    weight = G * jnp.array([(p["m1"] / 2 + p["m2"]) * p["l1"] * jnp.cos(A) + lower, lower])
    return jnp.linalg.solve(M, tau + weight - coriolis)


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree_util.tree_leaves(tree)])


def test_double_pendulum_has_the_derivatives_of_its_closed_form():
    system, values = double_pendulum()
    f = system.jax_function("forward_dynamics")
    at = (*map(jnp.array, np.random.default_rng(0).standard_normal((3, 2))), 0.0, values)
    assert agree(f(*at), closed_form(*at), 1e-13)
    for transform in (jax.jacfwd, jax.jacrev):
        found, expected = (jax.jit(transform(each, argnums=(0, 1, 2, 4)))(*at) for each in (f, closed_form))
        assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(expected)
        assert agree(flat(found), flat(expected), 1e-12)


@pytest.mark.long
def test_double_pendulum_has_the_second_derivatives_of_its_closed_form():
    system, values = double_pendulum()
    f = system.jax_function("forward_dynamics")
    at = (*map(jnp.array, np.random.default_rng(1).standard_normal((3, 2))), 0.0, values)
    for nested in (jax.hessian, lambda f, argnums: jax.jacrev(jax.jacfwd(f, argnums=argnums), argnums=argnums)):
        found, expected = (jax.jit(nested(each, argnums=(0, 1, 4)))(*at) for each in (f, closed_form))
        assert agree(flat(found), flat(expected), 1e-11)


# --- a four-bar, by its one equation I(A) A'' + I'(A) A'^2 / 2 + V'(A) = torque ---

a, b, c, d = 1.0, 2.0, 2.0, 2.5  # crank, coupler, rocker, ground


def coordinates(A):
    """A, B and D of the open branch, by the triangle of coupler, rocker and diagonal; angles downwards from x."""
    diagonal = jnp.array([d - a * jnp.cos(A), -a * jnp.sin(A)])  # from the end of the crank to the hinge D
    length = jnp.sqrt(diagonal @ diagonal)
    coupler = jnp.arctan2(diagonal[1], diagonal[0]) + jnp.arccos((length**2 + b**2 - c**2) / (2 * b * length))
    C = a * jnp.array([jnp.cos(A), jnp.sin(A)]) + b * jnp.array([jnp.cos(coupler), jnp.sin(coupler)])
    return jnp.array([A, coupler - A, jnp.arctan2(C[1], C[0] - d)])


def rates(A):
    """The angles of coupler and rocker, and their derivatives by A."""
    _, B, D = coordinates(A)
    T = A + B
    return T, D, -a * jnp.sin(D - A) / (b * jnp.sin(D - T)), a * jnp.sin(T - A) / (c * jnp.sin(T - D))


def inertia(A):
    """Of thin rods of mass 1."""
    T, _, dT, dD = rates(A)
    coupler = a**2 + (b * dT) ** 2 / 3 + a * b * dT * jnp.cos(T - A)
    return a**2 / 3 + coupler + (c * dD) ** 2 / 3


def one_equation(A, w, torque):
    T, D, dT, dD = rates(A)
    weight = -G * (1.5 * a * jnp.cos(A) + b / 2 * jnp.cos(T) * dT + c / 2 * jnp.cos(D) * dD)
    return (torque - jax.jvp(inertia, (A,), (1.0,))[1] * w**2 / 2 - weight) / inertia(A)


def by_loops(f):
    """The same, from the function of all coordinates."""

    def acceleration(A, w, torque):
        _, _, dT, dD = rates(A)
        q, v = coordinates(A), w * jnp.array([1.0, dT - 1, dD])
        return f(q, v, jnp.array([1.0, 0, 0]) * torque)[0]

    return acceleration


AT = (1.0, 2.0, 3.0)


def test_four_bar_has_the_derivatives_of_its_one_equation():
    system = four_bar((a, b, c, d)).build()
    q = jax.jit(coordinates)(1.0)
    start = system.assemble({"A": 1.0}, guess=dict(zip("ABD", map(float, q), strict=True)))
    assert agree(start.q, q, 1e-12)
    ours = by_loops(system.jax_function("forward_dynamics"))
    value, expected = jax.jit(jax.value_and_grad(one_equation, argnums=(0, 1, 2)))(*AT)
    found = jax.jit(jax.value_and_grad(ours, argnums=(0, 1, 2)))(*AT)
    assert agree(found[0], value, 1e-12)
    assert agree(found[1], expected, 1e-11)
    assert agree(jax.jit(jax.jacfwd(ours, argnums=(0, 1, 2)))(*AT), expected, 1e-11)


@pytest.mark.long
def test_four_bar_has_the_second_derivatives_of_its_one_equation():
    ours = by_loops(four_bar((a, b, c, d)).build().jax_function("forward_dynamics"))
    A = jnp.linspace(0.7, 1.3, 5)
    second = [jax.jit(jax.vmap(jax.jacfwd(jax.grad(f)), (0, None, None))) for f in (ours, one_equation)]
    found, expected = (f(A, 2.0, 3.0) for f in second)
    assert agree(found, expected, 1e-9)


@pytest.mark.long
def test_what_is_nan_in_jax_stays_nan_through_our_code():
    """Beyond the reach of its coupler a four-bar has neither coordinates nor derivatives."""
    ours = by_loops(four_bar((a, b, c, d)).build().jax_function("forward_dynamics"))
    beyond = jax.jit(jax.value_and_grad(lambda cosine: ours(jnp.arccos(cosine), 2.0, 3.0)))
    assert np.isfinite(beyond(0.9)).all()
    assert np.isnan(beyond(1.1)).all()


# --- Pinocchio ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize(
    "kinds", [["Revolute"] * 7, ["Prismatic", "Revolute", "Screw", "Universal"]], ids=["7R", "mixed"]
)
def test_arms_have_the_derivatives_of_pinocchio(kinds):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
    random, m = np.random.default_rng(len(kinds)), mt.Model("arm", gravity=GRAVITY)
    last = m.ground
    for i, kind in enumerate(kinds):
        body = random_body(random, m, f"b{i}")
        m.joint(f"j{i}", random_joint(random, kind), random_frame(random, last), random_frame(random, body))
        last = body
    system = m.build()
    peer = Pinocchio(system.mechanism)
    q, v, tau = random.uniform(-1, 1, (3, system.nv))
    f = jax.jit(jax.jacrev(system.jax_function("forward_dynamics"), argnums=(0, 1, 2)))
    at, T, _ = peer.over(q)  # q_peer = T q, and so on; T is constant for these joints
    back = np.linalg.inv(T)
    pin.computeABADerivatives(peer.model, peer.data, at, T @ v, back.T @ tau)
    theirs = peer.data.ddq_dq @ T, peer.data.ddq_dv @ T, peer.data.Minv @ back.T
    for found, expected in zip(f(q, v, tau), theirs, strict=True):
        assert agree(found, back @ expected, 1e-11)
