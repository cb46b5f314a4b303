"""Functions for JAX: values, batches and derivatives under every transformation, parameters, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, random_configuration, random_tree
from momentree.compile.emit.jax import Columns, through_python
from momentree.compile.trace import functions
from momentree.compile.trace.functions import FUNCTIONS, RolledFunction, rolled_function, traced_function
from momentree.errors import MomentreeError
from rolled_systems import chain

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'momentree[jax]'")
jnp = jax.numpy
TREES = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", "gravity_forces", "kinetic_energy")


@pytest.fixture(autouse=True)
def double_precision():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture(scope="module")
def four():
    system = four_bar().build()
    return system, system.assemble({"A": 1.0}, velocities={"A": 2.0})


def cart(free=("k", "m")):
    """A pendulum on a slider, whose mass and spring are free."""
    m = mt.Model("cart")
    k, mass = m.parameter("k", 30.0), m.parameter("m", 2.0)
    slider = m.body("slider", mass=mass, inertia=(0.1, 0.1, 0.1))
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("s", mt.Prismatic("x", spring=k), m.ground, slider)
    m.joint("a", mt.Revolute("y"), slider, rod)
    m.torque("a", "-0.1*a' + sin(3*t)")
    return m.build(free=free)


def differences(f, x, h=1e-5):
    """Derivatives of f by the entries of x, in the last axes: central differences of fourth order."""
    x = np.asarray(x, dtype=float)
    columns = []
    for i in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[i] = h
        a, b, c, d = (np.asarray(f(x + k * e)) for k in (-2, -1, 1, 2))
        columns.append((a - 8 * b + 8 * c - d) / (12 * h))
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *x.shape)


def near(found, expected, tolerance=1e-8):
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# --- values ---


def test_values_are_those_of_the_system(four):
    system, at = four
    random = np.random.default_rng(0)
    x = {"q": at.q, "v": at.v, "vdot": random.standard_normal(3), "tau": random.standard_normal(3)}
    for what in ("forward_dynamics", "inverse_dynamics", "coriolis_matrix", "gravity_forces"):
        given = [x[name] for name in FUNCTIONS[what] if name != "t"]
        near(system.jax_function(what)(*given), getattr(system, what)(*given), 1e-13)
    energy = system.energy(at.q, at.v)
    near(system.jax_function("kinetic_energy")(at.q, at.v), energy.kinetic, 1e-13)
    near(system.jax_function("potential_energy")(at.q), energy.potential, 1e-13)
    frame = system.mechanism.name and mt.Model("x").body("coupler", mass=1.0).at((2.0, 0.3, 0.1))
    near(system.jax_function("position", frame=frame)(at.q), system.position(at.q, frame), 1e-13)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("kind", ["Spherical", "Free"])
def test_quaternions_are_scaled_and_q_dot_is_theirs(kind):
    random = np.random.default_rng(1)
    system = random_tree(random, ["Revolute", kind]).build()
    q, v = random_configuration(random, system), random.standard_normal(system.nv)
    f, rate = system.jax_function("forward_dynamics"), system.jax_function("coordinate_derivatives")
    start = next(body.q.stop - 4 for body in system.mechanism.bodies if body.joint.type.kind == kind)
    longer = q.copy()
    longer[start : start + 4] *= 3.0
    near(f(longer, v), system.forward_dynamics(q, v), 1e-12)
    # constant along each quaternion, so the derivative along it vanishes
    radial = np.zeros(system.nq)
    radial[start : start + 4] = q[start : start + 4]
    near(jax.jvp(lambda q: f(q, v), (q,), (radial,))[1], np.zeros(system.nv), 1e-10)
    # the power balance holds with the derivatives of potential energy by q and q' = rate(q, v)
    power = jax.grad(system.jax_function("potential_energy"))(q) @ rate(q, v)
    near(power, -system.generalized_forces(q, v) @ v, 1e-11)


# --- derivatives ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("what", TREES)
def test_derivatives_are_those_that_differences_approach(what):
    random = np.random.default_rng(2)
    system = random_tree(random, ["Revolute", "Spherical", "Cylindrical"]).build()
    x = {"q": random_configuration(random, system)}
    x |= {name: random.standard_normal(system.nv) for name in ("v", "vdot", "tau")}
    names = [name for name in FUNCTIONS[what] if name != "t"]
    f, given = system.jax_function(what), [x[name] for name in names]
    found = jax.jit(jax.jacfwd(f, argnums=tuple(range(len(names)))))(*given)
    compiled = jax.jit(f)
    for i, derivative in enumerate(found):
        near(derivative, differences(lambda y, i=i: compiled(*given[:i], y, *given[i + 1 :]), given[i]))


def test_every_transformation_gives_the_same_derivatives(four):
    system, at = four
    f = system.jax_function("forward_dynamics")
    expected = jax.jacfwd(f)(at.q, at.v)
    for transformed in (jax.jacrev(f), jax.jit(jax.jacrev(f))):
        near(transformed(at.q, at.v), expected, 1e-13)
    random = np.random.default_rng(3)
    w, Q = random.standard_normal(3), at.q + 0.01 * random.standard_normal((5, 3))
    gradient = jax.grad(lambda q: w @ f(q, at.v))
    near(gradient(at.q), w @ expected, 1e-13)
    near(jax.jvp(lambda q: f(q, at.v), (at.q,), (w,))[1], expected @ w, 1e-13)
    near(jax.vjp(lambda q: f(q, at.v), at.q)[1](w)[0], w @ expected, 1e-13)
    each = [gradient(q) for q in Q]
    near(jax.jit(jax.vmap(gradient))(Q), each, 1e-13)
    near(jax.jit(jax.grad(lambda Q: (f(Q, at.v) @ w).sum()))(Q), each, 1e-13)


@pytest.mark.long
def test_second_derivatives_nest(four):
    system, at = four
    f = system.jax_function("kinetic_energy")
    # T = v' M v / 2, so its Hessian by v is M and the mixed one is the derivative of the momenta
    near(jax.hessian(f, argnums=1)(at.q, at.v), system.mass_matrix(at.q), 1e-13)
    near(jax.jacfwd(jax.jacrev(f, argnums=1))(at.q, at.v), jax.jacrev(jax.jacfwd(f), argnums=1)(at.q, at.v).T, 1e-13)
    a, q, v = cart().jax_function("forward_dynamics"), np.array([0.3, 0.5]), np.array([0.2, -1.0])
    first = jax.jit(jax.jacfwd(a))
    near(jax.jacfwd(jax.jacrev(a))(q, v), differences(lambda q: first(q, v), q, 1e-3))


@pytest.mark.long
def test_derivatives_row_by_row_are_the_same(four, monkeypatch):
    system, at = four
    expected = jax.jacfwd(system.jax_function("forward_dynamics"), argnums=(0, 1))(at.q, at.v)
    monkeypatch.setattr(functions, "LONG", 0)
    f = system.jax_function("forward_dynamics")
    for transform in (jax.jacfwd, jax.jacrev):
        near(jnp.stack(transform(f, argnums=(0, 1))(at.q, at.v)), jnp.stack(expected), 1e-12)
    Q = jnp.stack([at.q, at.q + 0.01])
    found = jax.jit(jax.vmap(jax.jacrev(f), (0, None)))(Q, at.v)
    near(found[0], expected[0], 1e-12)


@pytest.mark.long
def test_columns_of_columns_are_second_derivatives(monkeypatch):
    q, v = np.array([0.3, 0.5]), np.array([0.2, -1.0])
    expected = jax.jacfwd(jax.jacrev(cart().jax_function("forward_dynamics")))(q, v)
    monkeypatch.setattr(functions, "LONG", 0)
    near(jax.jacrev(jax.jacfwd(cart().jax_function("forward_dynamics")))(q, v), expected, 1e-12)


@pytest.mark.long
def test_rollouts_are_differentiated_through_scan():
    """Symplectic Euler of a pendulum for 50 steps: the derivative by its start is that of the steps written out."""
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    f, h = m.build().jax_function("forward_dynamics"), 0.02

    def rollout(acceleration):
        def step(state, _):
            v = state[1] + h * acceleration(*state)
            return (state[0] + h * v, v), None

        return lambda q: jax.lax.scan(step, (q, jnp.zeros(1)), None, length=50)[0][0][0]

    exact = rollout(lambda q, v: 1.5 * 9.81 * jnp.cos(q))  # a rod: g / (2/3 l)
    for derivative in (jax.grad, jax.jacfwd, lambda f: jax.jit(jax.hessian(f))):
        near(derivative(rollout(f))(jnp.array([0.3])), derivative(exact)(jnp.array([0.3])), 1e-11)


# --- batches ---


@pytest.mark.long
def test_leading_axes_are_batches_and_vmap_nests(four):
    system, at = four
    random = np.random.default_rng(4)
    Q, V = at.q + 0.1 * random.standard_normal((4, 1, 3)), random.standard_normal((5, 3))
    f = system.jax_function("forward_dynamics")
    expected = system.forward_dynamics(Q, V)
    near(f(Q, V), expected, 1e-13)
    near(jax.jit(f)(Q, V), expected, 1e-13)
    both = jax.vmap(jax.vmap(f, (None, 0)), (0, None))
    near(both(Q[:, 0], V), expected, 1e-13)
    near(jax.vmap(f, (1, None), 1)(Q[:, 0].T, V[0]).T, expected[:, 0], 1e-13)
    near(jax.jit(lambda a: f([a, at.q[1], at.q[2]], at.v))(at.q[0]), system.forward_dynamics(at.q, at.v), 1e-13)
    near(f(at.q.astype("f4"), [1, 2, 3]), system.forward_dynamics(at.q.astype("f4"), [1, 2, 3]), 1e-13)
    near(f(at.q, at.v, t=np.zeros((2, 3))), np.broadcast_to(system.forward_dynamics(at.q, at.v), (2, 3, 3)), 1e-13)
    many = np.broadcast_to(at.q, (1001, 3))
    assert f(many, at.v).shape == (1001, 3)
    assert system.jax_function("mass_matrix")(Q).shape == (4, 1, 3, 3)
    assert system.jax_function("kinetic_energy")(Q, V).shape == (4, 5)
    assert f(np.zeros((0, 3)), at.v).shape == (0, 3)


def test_functions_of_many_bodies_have_derivatives_of_any_order():
    """In loops over the bodies, by memory of their own."""
    system = chain(41)
    f, random = system.jax_function("forward_dynamics"), np.random.default_rng(3)
    assert isinstance(f._columns._function, RolledFunction)
    q, v, tau, direction = random.uniform(-0.3, 0.3, (4, system.nv))
    near(f(q, v, tau), system.forward_dynamics(q, v, tau), 1e-12)
    J = jax.jit(jax.jacfwd(f, argnums=(0, 1, 2)))(q, v, tau)
    np.testing.assert_array_equal(np.concatenate(J, axis=-1), system.derivatives("forward_dynamics")(q, v, tau))
    gradient = jax.jit(jax.grad(lambda q: f(q, v, tau) @ direction))(q)
    near(gradient, direction @ J[0], 1e-12)


@pytest.mark.long
def test_second_derivatives_of_rolled_code_are_those_of_straight_line_code():
    mechanism = chain(3).mechanism
    q, v, tau = np.random.default_rng(3).uniform(-0.3, 0.3, (3, mechanism.nv))
    rolled, straight = (Columns(make(mechanism, "forward_dynamics")) for make in (rolled_function, traced_function))
    for by in ((0, 0), (0, 1), (2, 0)):
        found, expected = (
            jax.jit(jax.jacfwd(jax.jacfwd(f, argnums=by[0]), argnums=by[1]))(q, v, tau, np.zeros(1))
            for f in (rolled, straight)
        )
        near(found, expected, 1e-12)


def test_other_devices_are_served_through_python(four):
    system, at = four
    columns = Columns(traced_function(system.mechanism, "forward_dynamics"))
    Q, still = at.q + np.linspace(0, 0.1, 5)[:, None], jnp.zeros((5, 3))
    found = jax.jit(lambda Q: through_python(Q, still, still, jnp.zeros((5, 1)), function=columns))(Q)
    near(found, system.forward_dynamics(Q, np.zeros(3)), 1e-13)
    assert "momentree_" in jax.jit(columns).lower(Q, still, still, jnp.zeros((5, 1))).as_text()  # here, without Python


# --- parameters and time ---


@pytest.mark.long
def test_parameters_are_a_dictionary_that_jax_differentiates():
    system = cart()
    random = np.random.default_rng(5)
    q, v, tau = random.standard_normal((3, 2))
    f = system.jax_function("forward_dynamics")
    values = {"m": 3.0, "k": 50.0}
    near(f(q, v, tau, 0.7), system.forward_dynamics(q, v, tau, 0.7), 1e-13)
    near(f(q, v, tau, 0.7, {"m": 3.0}), system.forward_dynamics(q, v, tau, 0.7, parameters={"m": 3.0}), 1e-13)
    near(f(q, v, tau, 0.7, values), system.forward_dynamics(q, v, tau, 0.7, parameters=values), 1e-13)
    found = jax.jacrev(f, argnums=4)(q, v, tau, 0.7, values)
    assert set(found) == {"m", "k"}
    for name in values:
        by_name = lambda x, name=name: f(q, v, tau, 0.7, {**values, name: x})  # noqa: E731
        near(found[name], differences(by_name, values[name]))
    near(jax.jacfwd(f, argnums=3)(q, v, tau, 0.7, values), differences(lambda t: f(q, v, tau, t, values), 0.7))
    K = np.linspace(10, 60, 4)
    near(f(q, v, parameters={"k": K}), system.forward_dynamics(q, v, parameters={"k": K}), 1e-13)
    stiffer = system.with_parameters(k=90.0)
    near(stiffer.jax_function("forward_dynamics")(q, v), stiffer.forward_dynamics(q, v), 1e-13)


def test_prescribed_motion_is_differentiated_by_time():
    """A pendulum on a slider driven by s(t): A'' = 1.5 (g cos A + s'' sin A), s'' = -7.5 sin 5 t."""
    m = mt.Model("driven")
    slider, rod = m.body("slider", mass=1.0, inertia=(1, 1, 1)), m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("s", mt.Prismatic("x", motion="0.3*sin(5*t)"), m.ground, slider)
    m.joint("A", mt.Revolute("y"), slider, rod)
    f, A = m.build().jax_function("forward_dynamics"), 0.3
    found, slope = jax.jit(jax.value_and_grad(lambda t: f([A], [0.5], t=t)[0]))(0.2)
    near(found, 1.5 * (9.81 * np.cos(A) - 7.5 * np.sin(1.0) * np.sin(A)), 1e-13)
    near(slope, -1.5 * 37.5 * np.cos(1.0) * np.sin(A), 1e-13)


def test_a_frame_may_stand_on_a_free_parameter():
    m = mt.Model("arm")
    length = m.parameter("length", 2.0)
    arm = m.body("arm", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, arm)
    f = m.build(free=["length"]).jax_function("position", frame=arm.at((length, 0, 0)))
    # a turn by A about y takes x to (cos A, 0, -sin A)
    near(f([0.3], parameters={"length": 5.0}), [5 * np.cos(0.3), 0, -5 * np.sin(0.3)], 1e-14)
    found = jax.jacfwd(f, argnums=2)(jnp.array([0.3]), 0.0, {"length": 5.0})
    near(found["length"], [np.cos(0.3), 0, -np.sin(0.3)], 1e-14)


# --- what cannot be had ---


def test_wrong_arguments_are_refused(four):
    system, at = four
    f = system.jax_function("forward_dynamics")
    with pytest.raises(MomentreeError, match=r"q has the shape \(4,\). Give it \(3,\), or \(..., 3\) for a batch"):
        f(np.zeros(4), at.v)
    with pytest.raises(MomentreeError, match=r"v has the shape \(\)"):
        jax.jit(f)(at.q, 1.0)
    with pytest.raises(MomentreeError, match=r"leading axes do not fit together: q has \(4,\), v has \(5,\)"):
        f(np.zeros((4, 3)), np.zeros((5, 3)))
    with pytest.raises(MomentreeError, match="q is complex"):
        f(at.q * 1j, at.v)
    with pytest.raises(MomentreeError, match="q is a str"):
        f("A", at.v)
    with pytest.raises(MomentreeError, match="q has rows of different lengths"):
        f([[1, 2], [3]], at.v)
    with pytest.raises(TypeError, match="'v'"):
        f(at.q)
    with pytest.raises(TypeError, match="parameters"):
        f(at.q, at.v, parameters={"k": 1.0})  # none is free
    with pytest.raises(MomentreeError, match=r"no function 'forward_dynamic'\. Did you mean 'forward_dynamics'"):
        system.jax_function("forward_dynamic")
    with pytest.raises(MomentreeError, match="give frame= to position"):
        system.jax_function("position")
    with pytest.raises(MomentreeError, match="'cart' is a tree"):
        cart().jax_function("closure_errors")
    with pytest.raises(MomentreeError, match=r"no free parameter 'kk'\. Did you mean 'k'"):
        cart().jax_function("bias")(np.zeros(2), np.zeros(2), parameters={"kk": 1.0})
    with pytest.raises(MomentreeError, match="parameters is a float"):
        cart().jax_function("bias")(np.zeros(2), np.zeros(2), parameters=3.0)
    with pytest.raises(MomentreeError, match=r"parameter 'k' has \(2,\), parameter 'm' has \(3,\)"):
        cart().jax_function("bias")(np.zeros(2), np.zeros(2), parameters={"k": np.ones(2), "m": np.ones(3)})


def test_numbers_that_are_not_finite_give_nan(four):
    system, at = four
    f = system.jax_function("forward_dynamics")
    found = f(np.stack([at.q, at.q * np.nan]), at.v)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


def test_single_precision_is_refused(four):
    system, at = four
    f = system.jax_function("forward_dynamics")
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(MomentreeError, match=r"jax.config.update\(\"jax_enable_x64\", True\)"):
        f(at.q, at.v)


@pytest.mark.long
def test_matrices_of_many_bodies_have_derivatives():
    """That of v' M v / 2 by q is that of the kinetic energy."""
    system = chain(41)
    M, T = (system.jax_function(what) for what in ("mass_matrix", "kinetic_energy"))
    q, v = np.random.default_rng(4).uniform(-0.3, 0.3, (2, system.nv))
    near(M(q), system.mass_matrix(q), 1e-12)
    found, expected = (jax.jit(jax.grad(f))(q) for f in (lambda q: v @ M(q) @ v / 2, lambda q: T(q, v)))
    near(found, expected, 1e-12)


def test_jax_is_imported_only_when_it_is_asked_for():
    code = "import sys, momentree as mt; m = mt.Model('x'); m.build(); print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"]


# --- loops ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("make", [four_bar, bennett], ids=["four-bar", "Bennett"])
def test_closed_loops_move_on_their_manifold(make):
    """Along the manifold, J v = 0 and J v' + J' v = 0 hold identically, so their derivatives vanish too."""
    system = make().build()
    joint = system.mechanism.bodies[0].joint.name
    at = system.assemble({joint: 1.0}, velocities={joint: 2.0})
    errors, opening = system.jax_function("closure_errors"), system.jax_function("constraint_velocities")
    close, project = system.jax_function("closed_coordinates"), system.jax_function("closed_velocities")
    near(errors(at.q), 0 * errors(at.q), 1e-12)
    near(opening(at.q, at.v), 0 * opening(at.q, at.v), 1e-12)
    # the velocities of closure errors are constraint velocities
    v = np.random.default_rng(6).standard_normal(system.nv)
    near(jax.jvp(errors, (at.q,), (v,))[1], opening(at.q, v), 1e-12)
    # steps of Newton's method close what is open by a little, quadratically
    far, nearer = at.q + 1e-4 * v, close(at.q + 1e-4 * v)
    assert np.abs(errors(nearer)).max() < 1e-2 * np.abs(errors(far)).max()
    assert np.abs(errors(close(nearer))).max() < 1e-12
    near(opening(at.q, project(at.q, v)), 0 * opening(at.q, v), 1e-11)
    # accelerations keep them closed: d/dt of J(q) v along (q', v') = (v, f(q, v))
    a = system.jax_function("forward_dynamics")(at.q, at.v)
    near(jax.jvp(opening, (at.q, at.v), (at.v, a))[1], 0 * opening(at.q, at.v), 1e-10)
