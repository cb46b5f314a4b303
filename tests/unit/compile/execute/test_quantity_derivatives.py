"""Exact derivatives of quantities as functions of arrays: closed forms, differences, JAX; batches and errors."""

import pickle

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, random_configuration, random_tree


def pendulum(free=()):
    m = mt.Model("pendulum", gravity=(0, 0, -9.81))
    m.parameter("l", 2.0)
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.5, length="l", along="-z")))
    return m.build(free=free)


def test_a_rod_that_swings_has_the_derivatives_of_its_one_equation():
    system, q, v, tau = pendulum(), np.array([0.7]), np.array([0.3]), np.array([0.2])
    inertia, moment = 1.5 * 4 / 3, 1.5 * 9.81  # m l^2 / 3, m g l / 2
    found = system.derivatives("forward_dynamics")(q, v, tau)
    assert found == pytest.approx(np.array([[-moment * np.cos(0.7) / inertia, 0.0, 1 / inertia]]), abs=1e-14)
    assert system.derivatives("gravity_forces", "q")(q) == pytest.approx(
        np.array([[np.cos(0.7) * moment]]) * np.sign(system.gravity_forces(q)[0]), abs=1e-13
    )


def differences(function, arguments, which, h=1e-6):
    """Of fourth order, by the numbers of one argument."""
    columns = []
    for k in range(len(arguments[which])):

        def moved(by, k=k):
            at = [np.array(x) for x in arguments]
            at[which][k] += by
            return function(*at)

        columns.append((8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "coriolis_matrix"])
def test_derivatives_are_those_of_differences(what):
    random = np.random.default_rng(2)
    system = random_tree(random, ["Revolute", "Prismatic", "Cylindrical", "Revolute", "Universal"]).build()
    q = random_configuration(random, system)
    arguments = [q, *random.standard_normal((2 if "dynamics" in what else 1, system.nv))]
    expected = [differences(getattr(system, what), arguments, k, 1e-3) for k in range(len(arguments))]
    found = system.derivatives(what)(*arguments)
    np.testing.assert_allclose(found, np.concatenate(expected, axis=-1), atol=1e-8 * np.abs(found).max())


def test_closed_loops_have_those_that_jax_gets():
    jax = pytest.importorskip("jax")
    system = four_bar().build()
    start = system.assemble({"A": 0.6}, velocities={"A": 2.0})
    tau = np.array([0.3, -0.2, 0.1])
    found = system.derivatives("forward_dynamics", by=("q", "v"))(start.q, start.v, tau)
    with jax.enable_x64(True):
        parts = jax.jacrev(system.jax_function("forward_dynamics"), argnums=(0, 1))(start.q, start.v, tau)
    np.testing.assert_allclose(found, np.concatenate(parts, axis=-1), rtol=1e-9, atol=1e-9)


def test_rows_of_a_batch_and_values_of_parameters():
    system = pendulum(free=["l"])
    d = system.derivatives("forward_dynamics", by="tau")
    Q = np.linspace(-1, 1, 50)[:, None]
    lengths = np.linspace(1, 3, 50)
    found = d(Q, 0 * Q, parameters={"l": lengths})
    assert found.shape == (50, 1, 1)
    np.testing.assert_allclose(found[:, 0, 0], 3 / (1.5 * lengths**2), rtol=1e-13)
    assert np.array_equal(d(Q, 0 * Q)[7], d(Q[7], 0 * Q[7]))
    assert np.array_equal(d(Q, 0 * Q, parameters={"l": 2.0}), d(Q, 0 * Q))
    assert system.derivatives("forward_dynamics", by=["tau"]) is d
    assert np.array_equal(pickle.loads(pickle.dumps(d))(Q, 0 * Q), d(Q, 0 * Q))
    assert np.array_equal(system.with_parameters(l=1.0).derivatives("forward_dynamics", "tau")(Q, 0 * Q)[3], [[2.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.derivatives("foward_dynamics"), "there is no quantity 'foward_dynamics'.*'forward_dynamics'"),
        (lambda s: s.derivatives("bias", by="tau"), "by= names 'tau', which is no argument of it.*'q', 'v', 't'"),
        (lambda s: s.derivatives("bias", by=()), "by= is empty"),
        (lambda s: s.derivatives("bias")([np.nan], [0.0]), "q holds NaN or infinity"),
        (lambda s: s.derivatives("bias")([0.0, 1.0], [0.0]), "its last axis must have length 1"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(mt.MomentreeError, match=message):
        call(pendulum())


def test_where_the_code_would_be_too_long_the_way_out_is_named():
    random = np.random.default_rng(1)
    system = random_tree(random, ["Spherical"] * 12).build()
    with pytest.raises(mt.MomentreeError, match=r"too long. Name fewer arguments in by=, or use system\.jax_function"):
        system.derivatives("forward_dynamics")
