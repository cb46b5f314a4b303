"""Exact derivatives of quantities as functions of arrays: closed forms, differences, JAX; batches and errors."""

import pickle

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, four_bars_in_a_row, random_configuration, random_tree
from momentree.compile.trace.functions import RolledFunction, TracedFunction, rolled_function
from momentree.equations.kinematics import coordinate_changes
from rolled_systems import chain


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


@pytest.mark.parametrize("space", ["coordinates", "tangent"])
def test_a_state_stands_for_coordinates_velocities_and_values(space):
    system = pendulum(free=["l"])
    state = system.assemble({"A": 0.4}, {"A": 0.7}, parameters={"l": 1.3})
    given = {"q": state.q, "v": state.v, "parameters": {"l": 1.3}}
    for what, more in (("forward_dynamics", {"tau": [0.2]}), ("inverse_dynamics", {"vdot": [0.5]}), ("bias", {})):
        d = system.derivatives(what, space=space)
        for each in (d, pickle.loads(pickle.dumps(d))):
            assert np.array_equal(each(state, **more), d(**given, **more))
        assert not np.array_equal(d(state, **more), d(state, **more, parameters={"l": 2.0}))


def test_derivatives_at_a_state_of_a_run_are_those_of_what_acts_there():
    m = mt.Model("parts", gravity=(0, 0, -9.81))
    m.joint("x", mt.Prismatic("x", spring=3.0), m.ground, m.body("b", mt.box(mass=2.0, size=(1, 1, 1))))
    m.joint("y", mt.Prismatic("x", spring=5.0), m.ground, m.body("c", mass=1.0))
    m.constrain("y = x", name="tie")
    m.switch("tie", off="t - 0.5")
    system = m.build()
    run = system.simulate(system.assemble({"x": 0.1}), 1.0, every=0.25)
    d = system.derivatives("forward_dynamics", by="q")
    np.testing.assert_allclose(d(run.state(0)), d(run.q[0], run.v[0]), rtol=1e-13)
    np.testing.assert_allclose(d(run.state()), np.diag([-1.5, -5.0]), rtol=1e-13)


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


# --- of any size, and in tangent space ---


def along(system, what, arguments, direction, h=1e-4):
    """The derivative in a direction of tangent space, by differences of fourth order."""
    dq, *others = np.split(direction, len(arguments))

    def moved(by):
        rest = (x + by * dx for x, dx in zip(arguments[1:], others, strict=True))
        return getattr(system, what)(system.integrate(arguments[0], by * dq), *rest)

    return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)


def tree(*kinds):
    return random_tree(np.random.default_rng(1), kinds).build()


SIZES = {
    "all entries": (lambda: tree(*["Revolute"] * 4), TracedFunction, False),
    "columns of straight-line code": (lambda: tree("Free", *["Revolute"] * 8), TracedFunction, True),
    "columns of rolled code": (lambda: chain(24), RolledFunction, True),
    "a hundred bodies": (lambda: chain(100), RolledFunction, True),
    "a large tree": (lambda: tree(*["Revolute", "Spherical"] * 21), RolledFunction, True),
}


@pytest.mark.parametrize("size", [pytest.param(x, marks=[pytest.mark.long] * (x == "a large tree")) for x in SIZES])
def test_mechanisms_of_any_size_have_those_of_differences_in_tangent_space(size):
    make, kind, by_columns = SIZES[size]
    random, system = np.random.default_rng(5), make()
    q, v, tau = random_configuration(random, system, 0.2), *random.standard_normal((2, system.nv))
    d, direction = system.derivatives("forward_dynamics", space="tangent"), random.standard_normal(3 * system.nv)
    assert type(d._derivative.function) is kind
    assert bool(d._derivative.seeds) is by_columns
    J = d(q, v, tau)
    assert J.shape == (system.nv, 3 * system.nv)
    expected = along(system, "forward_dynamics", [q, v, tau], direction)
    np.testing.assert_allclose(J @ direction, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_array_equal(d(np.stack([q] * 9), v, np.stack([tau] * 9))[2], J)


@pytest.mark.parametrize("what", ["bias", "mass_matrix"])
def test_tangent_space_takes_coordinates_along_the_joints_velocities(what):
    random = np.random.default_rng(6)
    system = random_tree(random, ["Spherical", "Free", "Planar"]).build()
    q, v = random_configuration(random, system), random.standard_normal(system.nv)
    arguments = (q, v) if what == "bias" else (q,)
    units = np.eye(system.nv)
    T = np.array([coordinate_changes(system.mechanism, q, unit) for unit in units]).T
    by_q, tangent = (system.derivatives(what, "q", space)(*arguments) for space in ("coordinates", "tangent"))
    np.testing.assert_allclose(tangent, by_q @ T, rtol=0, atol=1e-13 * np.abs(by_q).max())
    assert system.derivatives(what, "q", space="tangent") is not system.derivatives(what, "q")
    again = pickle.loads(pickle.dumps(system.derivatives(what, "q", "tangent")))
    np.testing.assert_array_equal(again(*arguments), tangent)


def test_loops_of_any_length_have_those_of_straight_line_code(monkeypatch):
    """Eight four-bars in a row, row by row; and in loops over the bodies, along motions that keep them closed."""
    system = four_bars_in_a_row(8).build()
    at = system.assemble({"G0": 1.0}, velocities={"G0": 2.0})
    given = at.q, at.v, np.linspace(-1, 1, system.nv)
    by_rows = system.derivatives("forward_dynamics")
    assert by_rows._derivative.by_rows
    rolled = rolled_function(system.mechanism, "forward_dynamics").derivative(("q", "v", "tau"))
    kernel = rolled.function.kernel(gives="column")
    expected = by_rows(*given)
    found = kernel([*given, np.zeros(1)]).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_welded_bodies_do_not_count():
    m = mt.Model("many plates")
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, arm)
    for i in range(60):
        plate = m.body(f"plate{i}", mt.box(mass=0.1, size=(0.1, 0.1, 0.1)))
        m.joint(f"weld{i}", mt.Fixed(), m.bodies[-2].at((0.01, 0.02, 0)), plate)
    system = m.build()
    d = system.derivatives("forward_dynamics")
    assert type(d._derivative.function) is TracedFunction
    expected = along(system, "forward_dynamics", [np.array([0.3]), np.array([0.2]), np.array([0.1])], np.ones(3))
    np.testing.assert_allclose(d([0.3], [0.2], [0.1]) @ np.ones(3), expected, rtol=1e-8)


def test_a_state_stands_for_q_and_v_and_its_values_as_for_the_quantity_itself():
    m = mt.Model("pendulum")
    m.parameter("k", 1.0)
    m.joint("A", mt.Revolute("y", spring="k"), m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.5)))
    system = m.build(free=["k"])
    state = system.assemble({"A": 0.3}, {"A": 0.2}, parameters={"k": 2.0})
    f = system.derivatives("forward_dynamics")
    for found in (f(state, [0.4]), pickle.loads(pickle.dumps(f))(state, tau=[0.4])):
        assert (found == f(state.q, state.v, [0.4], parameters={"k": 2.0})).all()


def test_spaces_are_named():
    with pytest.raises(mt.MomentreeError, match=r"bias: there is no space 'tangents'\. Did you mean 'tangent'\?"):
        pendulum().derivatives("bias", space="tangents")


def test_matrices_of_many_bodies_have_those_of_differences():
    system, random, h = chain(41), np.random.default_rng(4), 1e-4
    q, direction = random.uniform(-0.3, 0.3, (2, system.nv))
    J = system.derivatives("mass_matrix")(q)
    ahead, behind = (system.mass_matrix(system.integrate(q, step * direction)) for step in (h, -h))
    expected = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(J @ direction, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
