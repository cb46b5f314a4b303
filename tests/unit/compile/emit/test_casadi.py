"""A tape as a function of CasADi: random expressions and dynamics give the same numbers, arguments are as asked for."""

import operator
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import momentree as mt
from mechanisms import bennett, four_bar, random_configuration, random_tree
from momentree.compile.emit.llvm import compile_tape
from momentree.compile.trace import functions
from momentree.compile.trace.functions import traced_function
from momentree.compile.trace.quantities import trace
from momentree.compile.trace.tape import Tape
from momentree.errors import MomentreeError
from momentree.spatial.scalar import FUNCTIONS, select

NAMES = ("x", "y", "z")


@pytest.fixture(autouse=True)
def casadi():
    return pytest.importorskip("casadi")


def called(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.array(function(*arguments))[:, 0]


leaves = st.sampled_from(NAMES) | st.integers(-3, 3) | st.integers(-24, 24).map(lambda n: n / 8)


def wider(children):
    ring = st.sampled_from([operator.add, operator.sub, operator.mul, FUNCTIONS["min"], FUNCTIONS["atan2"]])
    one = st.sampled_from([operator.neg, FUNCTIONS["sin"], FUNCTIONS["tanh"], FUNCTIONS["abs"]])
    choice = st.tuples(st.just(select), children, children, children)
    return st.tuples(ring, children, children) | st.tuples(one, children) | choice


def computed(tree, values):
    if isinstance(tree, tuple):
        return tree[0](*(computed(part, values) for part in tree[1:]))
    return values[tree] if isinstance(tree, str) else tree


@settings(deadline=None, max_examples=60)
@given(st.recursive(leaves, wider, max_leaves=12), st.integers(0, 2**32 - 1))
def test_random_expressions_replay(tree, seed):
    tape = Tape()
    tape.outputs([computed(tree, dict(zip(NAMES, tape.inputs(*NAMES), strict=True)))])
    point = np.random.default_rng(seed).uniform(-2, 2, 3)
    expected = tape.evaluate(dict(zip(NAMES, point.tolist(), strict=True)))
    np.testing.assert_allclose(called(tape.to_casadi([("point", NAMES)]), point), expected, rtol=1e-12, atol=1e-12)


def test_forward_dynamics_agrees_with_the_replay_and_with_machine_code():
    random = np.random.default_rng(3)
    system = random_tree(random, ["Revolute", "Prismatic", "Revolute", "Universal", "Revolute"]).build()
    tape, arguments = trace(system.mechanism, "forward_dynamics")
    function, kernel = tape.to_casadi(arguments), compile_tape(tape, arguments)
    for _ in range(5):
        given = [random.uniform(-1, 1, len(names)) for _, names in arguments]
        names = [name for _, names in arguments for name in names]
        replayed = tape.evaluate(dict(zip(names, np.concatenate(given).tolist(), strict=True)))
        found = called(function, *given)
        np.testing.assert_allclose(found, replayed, rtol=1e-10, atol=1e-10 * np.abs(replayed).max())
        np.testing.assert_allclose(found, kernel(given), rtol=1e-10, atol=1e-10 * np.abs(replayed).max())


# --- arguments ---


def test_parameters_are_arguments_like_inputs():
    tape = Tape()
    x, p, _ = tape.input("x"), tape.parameter("p"), tape.input("unused")
    tape.outputs([x * p])
    assert called(tape.to_casadi(), 3.0, 5.0, 0.0) == [15]
    assert called(tape.to_casadi([("p", ["p"]), ("many", ["unused", "x"])]), 5.0, [0.0, 3.0]) == [15]


def test_names_that_casadi_does_not_take():
    tape = Tape()
    x, y = tape.inputs("x", "two words")
    tape.outputs([x * y])
    with pytest.raises(MomentreeError, match="argument 'a b': CasADi does not accept this name"):
        tape.to_casadi([("a b", ["x", "two words"])])
    with pytest.raises(MomentreeError, match="argument 'two words': CasADi does not accept this name"):
        tape.to_casadi()
    with pytest.raises(MomentreeError, match="no outputs yet"):
        Tape().to_casadi()


def test_without_casadi_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    tape = Tape()
    tape.outputs([tape.input("x")])
    with pytest.raises(MomentreeError, match=r"pip install momentree\[casadi\]"):
        tape.to_casadi()


# --- functions of a system ---


def of_cart():
    """A pendulum on a slider: its spring and the mass are free."""
    m = mt.Model("cart")
    k, mass = m.parameter("k", 30.0), m.parameter("m_1", 2.0)
    slider = m.body("slider", mass=mass, inertia=(0.1, 0.1, 0.1))
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("s", mt.Prismatic("x", spring=k), m.ground, slider)
    m.joint("a", mt.Revolute("y"), slider, rod)
    m.torque("a", "-0.1*a' + sin(3*t)")
    return m.build(free=["m_1", "k"])


def test_functions_take_what_may_be_omitted_from_the_system(casadi):
    system, (q, v, tau) = of_cart(), np.random.default_rng(1).standard_normal((3, 2))
    f = system.casadi_function("forward_dynamics")
    assert f.name() == "forward_dynamics"
    assert f.name_in() == ["q", "v", "tau", "t", "m_1", "k"]
    near = partial(np.testing.assert_allclose, rtol=1e-12)
    near(f(q=q, v=v)["out"].full()[:, 0], system.forward_dynamics(q, v))
    near(f(q=q, v=v, tau=tau, t=0.7)["out"].full()[:, 0], system.forward_dynamics(q, v, tau, 0.7))
    expected = system.forward_dynamics(q, v, tau, 0.7, parameters={"k": 50.0, "m_1": 3.0})
    near(f(q, v, tau, 0.7, 3.0, 50.0).full()[:, 0], expected)
    stiffer = system.with_parameters(k=90.0)
    near(stiffer.casadi_function("forward_dynamics")(q=q, v=v)["out"].full()[:, 0], stiffer.forward_dynamics(q, v))
    assert np.isnan(f(q=q)["out"].full()).all()  # v was forgotten
    coriolis = of_cart().casadi_function("coriolis_matrix")(q=q, v=v)["out"].full()
    near(coriolis, system.coriolis_matrix(q, v))
    assert np.abs(coriolis - coriolis.T).max() > 0.1


def test_every_function_has_the_numbers_of_machine_code():
    system = four_bar().build()
    at = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    given = {"q": at.q, "v": at.v, "tau": at.v, "vdot": at.q, "t": np.zeros(1)}
    for what in functions.FUNCTIONS:
        frame = "rocker" if what == "position" else None
        function = traced_function(system.mechanism, what, frame)
        expected = function.kernel()([given[name] for name, _ in function.arguments]).reshape(function.shape)
        found = system.casadi_function(what, frame)(*(given[name] for name, _ in function.arguments)).full()
        np.testing.assert_allclose(found if found.shape == expected.shape else found[:, 0], expected, atol=1e-12)


def derivatives(system, given, by):
    """Of forward dynamics: CasADi's own, and ours."""
    f = system.casadi_function("forward_dynamics")
    theirs = f.jacobian()(**given, out_out=0)
    function = traced_function(system.mechanism, "forward_dynamics")
    derivative = function.derivative(by)
    columns = [np.atleast_1d(given.get(name, np.zeros(len(names)))).astype(float) for name, names in function.arguments]
    seeds = [np.eye(derivative.seeds)] if derivative.seeds else []
    ours = derivative.function.kernel()([*columns, *seeds])
    ours = ours if derivative.by_rows or not seeds else ours.T
    return np.hstack([theirs[f"jac_out_{name}"].full() for name in by]), ours.reshape(derivative.shape)


def slack_thread():
    m = mt.Model("thread")
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, rod)
    m.spring(rod.at((1, 0, 0)), m.ground.at((0, 0, 3)), stiffness=30.0, rest=100.0, damping=1.0, tension_only=True)
    return m


@pytest.mark.parametrize(
    "model",
    [four_bar(), slack_thread(), random_tree(np.random.default_rng(5), ["Spherical", "Revolute", "Free"])],
    ids=["four-bar", "thread", "tree"],
)
def test_derivatives_by_casadi_are_ours(model):
    system, random = model.build(), np.random.default_rng(2)
    at = system.assemble({"A": 1.0}, velocities={"A": 2.0}) if system.mechanism.constrained else None
    q = at.q if at else random_configuration(random, system)
    given = {"q": q, "v": at.v if at else random.standard_normal(system.nv), "tau": random.standard_normal(system.nv)}
    theirs, ours = derivatives(system, given, ["q", "v", "tau"])
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-10 * np.abs(ours).max())
    # and what differences approach
    h, names = 1e-5, ("q", "v", "tau")
    parts = [given[name] for name in names]
    f = system.casadi_function("forward_dynamics")
    for k, column in [(0, 0), (1, 0), (2, system.nv - 1)]:
        step = [h * np.eye(len(x))[column] if i == k else np.zeros(len(x)) for i, x in enumerate(parts)]
        ahead, behind = (f(*(x + s * e for x, e in zip(parts, step, strict=True)), 0).full()[:, 0] for s in (1, -1))
        start = sum(len(x) for x in parts[:k])
        expected = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(ours[:, start + column], expected, atol=1e-7 * max(1, np.abs(ours).max()))


def test_overconstrained_loops_have_exact_derivatives_along_their_motion():
    system = bennett().build()
    at = system.assemble({"R1": 1.0}, velocities={"R1": 2.0})
    a = system.forward_dynamics(at.q, at.v)
    theirs, ours = derivatives(system, {"q": at.q, "v": at.v}, ["q", "v"])
    along = np.concatenate([at.v, a])  # along the motion itself: a third derivative of it
    np.testing.assert_allclose(theirs @ along, ours @ along, rtol=0, atol=1e-10 * np.abs(ours @ along).max())


def test_names_of_parameters_that_casadi_does_not_take():
    m = mt.Model("named")
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y", spring=m.parameter("tau", 3.0)), m.ground, rod)
    with pytest.raises(MomentreeError, match="argument 'tau' appears twice"):
        m.build(free=["tau"]).casadi_function("forward_dynamics")


def test_an_optimal_control_problem_is_solved(casadi):
    """The least torque that holds a four-bar still is that of the virtual work of its weight."""
    system = four_bar().build()
    f, g = system.casadi_function("forward_dynamics"), system.casadi_function("closure_errors")
    opti = casadi.Opti()
    q, torque = opti.variable(3), opti.variable()
    opti.subject_to(g(q=q)["out"] == 0)
    opti.subject_to(q[0] == 1.0)
    opti.subject_to(f(q=q, v=[0, 0, 0], tau=casadi.vertcat(torque, 0, 0))["out"][0] == 0)
    opti.minimize(torque**2)
    at = system.assemble({"A": 1.0})
    opti.set_initial(q, at.q + 0.05)
    opti.solver("ipopt", {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-12}})
    found = opti.solve()
    np.testing.assert_allclose(found.value(q), at.q, atol=1e-9)
    h = 1e-5
    ahead, behind = (system.assemble({"A": 1 + s * h}, guess=at) for s in (1, -1))
    work = system.energy(ahead.q, ahead.v).potential - system.energy(behind.q, behind.v).potential
    np.testing.assert_allclose(found.value(torque), work / (2 * h), rtol=1e-7)
