"""Tables in mechanisms: against the same laws in formulas, and machine code against floats, C and rolled code."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.assembly.closing_search import Closing
from momentree.compile.emit import c_code
from momentree.compile.execute.choice import kernel_of
from momentree.compile.execute.kernel import WIDTHS
from momentree.compile.trace.derivatives import jacobian
from momentree.compile.trace.quantities import trace
from momentree.equations import articulated
from momentree.equations.evaluation import Evaluation
from momentree.errors import RunWarning

RANDOM = np.random.default_rng(17)
KNOTS = np.linspace(-2, 2, 23)
TURN = np.linspace(0, 2 * math.pi, 241)


def polynomial(x):
    return 40 * x + 300 * x**3 - 25 * x**2


def chain(law, bodies=3, free=()):
    """A chain of bodies on slides and hinges, alternately; `law` of the coordinate, in words, acts on each joint."""
    m = mt.Model("chain")
    m.table("f", KNOTS, polynomial(KNOTS), outside="linear")
    m.table("g", [-1, 0.3, 2], [-1, 0.2, 7], "linear", outside="linear")
    m.parameter("k", 1.5)
    last = m.ground
    for i in range(bodies):
        body = m.body(f"b{i}", mass=1 + 0.1 * i, com=(0.1, 0, -0.3), inertia=(0.3, 0.4, 0.5))
        m.joint(f"q{i}", mt.Prismatic("x") if i % 2 else mt.Revolute("y"), last, body)
        m.torque(f"q{i}", law.replace("x", f"q{i}"))
        last = body.at((0, 0, -0.7))
    return m.build(free=list(free))


BY_TABLE = "-f(k*x) - 0.02*f'(x)*x' + g(x)"
BY_FORMULA = (
    "-(40*k*x + 300*(k*x)^3 - 25*(k*x)^2) - 0.02*(40 + 900*x^2 - 50*x)*x'"
    " + select(x - 0.3, 0.2 + 4*(x - 0.3), -1 + (12/13)*(x + 1))"
)


def state(system, rows=()):
    return RANDOM.uniform(-1, 1, (*rows, system.nq)), RANDOM.uniform(-1, 1, (*rows, system.nv))


def near(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


# --- one law as a table and as a formula ---


@pytest.mark.parametrize("code", ["straight-line", "rolled"])
def test_a_table_of_a_cubic_is_the_cubic(code):
    systems = [chain(law, free=["k"]) for law in (BY_TABLE, BY_FORMULA)]
    systems = [type(s).of(s._model, ["k"], code, None) for s in systems]
    q, v = state(systems[0], (20,))
    for k in (1.5, 0.7):
        found, expected = (s.forward_dynamics(q, v, 0 * v, parameters={"k": k}) for s in systems)
        near(found, expected, 1e-12)


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_a_motion_by_tables_is_that_by_formulas(integrator):
    runs = []
    for law in ("-f(x) - 0.02*f'(x)*x'", "-(40*x + 300*x^3 - 25*x^2) - 0.02*(40 + 900*x^2 - 50*x)*x'"):
        s = chain(law, 2)
        runs.append(s.simulate(s.assemble({"q0": 0.5, "q1": 0.2}), t_end=1.0, integrator=integrator, rtol=1e-9))
    near(runs[0].q[-1], runs[1].q[-1], 1e-7)


def test_derivatives_of_forward_dynamics():
    def derivatives(law):
        system = chain(law)
        tape, arrays = trace(system.mechanism.at_defaults(), "forward_dynamics")
        inputs = [tape.known_input(name) for _, names in arrays for name in names]
        accelerations = [tape.scalar(edge) for edge in tape.output_edges()]
        J = jacobian(tape, accelerations, [x for x in inputs if x is not None])
        values = dict(zip((n for _, names in arrays for n in names), AT, strict=True))
        tape.outputs([x for row in J.dense() for x in row])
        return np.array(tape.evaluate(values), dtype=float)

    AT = [*RANDOM.uniform(-1, 1, 9), 0.0]
    near(derivatives(BY_TABLE), derivatives(BY_FORMULA), 1e-11)


# --- machine code, floats, C ---


def test_lanes_and_single_rows_give_the_same_bits():
    mechanism = chain(BY_TABLE).mechanism
    q, v = state(mechanism, (17,))
    q[3] = KNOTS[:3]
    q[4] = [-0.0, 0.0, 0.3]
    arguments = [q, v, 0 * v, np.zeros((17, 1))]
    for rolled in (False, True):
        kernel = kernel_of(mechanism, "forward_dynamics", "rolled" if rolled else "straight-line")
        results = []
        for width in WIDTHS:
            out = np.empty((17, mechanism.nv))
            run(kernel, width, arguments, out)
            results.append(out)
        for other in results[1:]:
            np.testing.assert_array_equal(other, results[0])
        for row in range(17):
            at = Evaluation(mechanism, q[row].tolist(), 0.0)
            floats = articulated.forward_dynamics(at, v[row].tolist(), [0.0] * mechanism.nv)
            near(results[0][row], np.array(floats), 1e-12)


def run(kernel, width, arguments, out):
    kernel.width = width
    kernel(arguments, out)


def test_c_gives_what_floats_give():
    mechanism = chain(BY_TABLE).mechanism
    tape, arrays = trace(mechanism, "forward_dynamics")
    function = c_code.load(tape, arrays)
    if function is None:
        pytest.skip("there is no C compiler")
    for _ in range(5):
        q, v = state(mechanism)
        values = dict(zip((n for _, names in arrays for n in names), [*q, *v, 0, 0, 0, 0.0], strict=True))
        found = function(q, v, [0, 0, 0], [0.0])
        np.testing.assert_array_equal(found, tape.evaluate({k: float(x) for k, x in values.items()}))


# --- constraints, in straight-line and rolled code ---


def followers(laws, tables=True):
    """A disc that turns, and followers that it lifts, each by its own law of the angle."""
    m = mt.Model("followers")
    disc = m.body("disc", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("y"), m.ground, disc)
    for i, (name, f) in enumerate(laws.items()):
        if tables:
            m.table(name, TURN, f(TURN), periodic=True)
        body = m.body(f"follower {i}", mass=0.5, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
        m.joint(f"z{i}", mt.Prismatic("z"), m.ground.at((0.3 * i, 0, 0)), body)
        m.constrain(f"z{i} = {name}(A)" if tables else f"z{i} = {name}")
    return m


LIFTS = {
    "low": lambda x: 0.05 * np.sin(x),
    "high": lambda x: 0.2 + 0.1 * np.cos(2 * x),
    "low2": lambda x: np.sin(3 * x),
}
FORMULAS = {"0.05*sin(A)": None, "0.2 + 0.1*cos(2*A)": None, "sin(3*A)": None}


@pytest.mark.parametrize("code", ["straight-line", pytest.param("rolled", marks=pytest.mark.long)])
def test_cams_with_different_tables(code):
    found, expected = followers(LIFTS).build(code=code), followers(FORMULAS, tables=False).build(code=code)
    starts = [s.assemble({"A": 0.4}, velocities={"A": 3.0}) for s in (found, expected)]
    near(starts[0].q, starts[1].q, 1e-6)
    near(starts[0].v, starts[1].v, 1e-5)
    runs = [s.simulate(start, t_end=0.5) for s, start in zip((found, expected), starts, strict=True)]
    assert runs[0].closure_error.max() < 1e-12
    near(runs[0].q[-1], runs[1].q[-1], 1e-5)


def test_a_road_by_a_table():
    m = mt.Model("road")
    x = np.linspace(-3, 3, 121)
    m.table("road", x, 0.3 * np.cos(2 * x))
    bead = m.body("bead", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("p", mt.Planar("y"), m.ground, bead)
    m.on_surface(bead, "z = road(x)")
    s = m.build()
    run = s.simulate(s.assemble({"p.x": 0.3}), t_end=1.5)
    x, _, z = run.position("bead").T
    near(z, 0.3 * np.cos(2 * x), 1e-5)
    assert np.ptp(x) > 0.5


# --- prescribed motion ---


@pytest.mark.filterwarnings("ignore:.*energy is out of balance")
def test_a_prescribed_motion_by_a_periodic_table():
    def final(motion, count=241):
        m = mt.Model("shaken")
        turn = np.linspace(0, 2 * math.pi, count)
        m.table("cam", turn, 0.1 * np.sin(turn), periodic=True)
        cart = m.body("cart", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
        bob = m.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        m.joint("x", mt.Prismatic("x", motion=motion), m.ground, cart)
        m.joint("A", mt.Revolute("y"), cart, bob)
        s = m.build()
        run = s.simulate(s.assemble({"A": 0.3}), t_end=4.0, rtol=1e-11)
        assert run.t[-1] == 4.0
        return run["A"][-1]

    exact = final("0.1*sin(5*t)")
    errors = [abs(final("cam(5*t)", count) - exact) for count in (31, 61)]
    assert errors[1] < 2e-5
    assert errors[0] / errors[1] > 6  # the acceleration is of second order, its mean over a turn of fourth
    assert final("cam(5*t - 600*pi)", 61) == pytest.approx(final("cam(5*t)", 61), abs=1e-6)


# --- where a table ends ---


def spring(**options):
    m = mt.Model("spring")
    m.table("f", [-1, 0, 1], [-10, 0, 10], **options)
    m.parameter("k", 1.0)
    mass = m.body("mass", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("x", mt.Prismatic("x"), m.ground, mass)
    m.torque("x", "-f(k*x)")
    return m.build(free=["k"])


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk4"])
def test_a_motion_that_leaves_a_table_ends_there_and_says_so(integrator):
    s = spring()
    step = {"step": 0.001} if integrator == "rk4" else {}
    with pytest.warns(
        RunWarning, match=r"the torque on x, -f\(x\), has no finite value: table 'f' is given from -1 to 1"
    ):
        run = s.simulate(s.assemble({"x": 0.0}, velocities={"x": 5.0}), t_end=2.0, integrator=integrator, **step)
    assert run.end.reason == "failed"
    # harmonic motion up to the end of the table
    assert run.t[-1] == pytest.approx(math.asin(math.sqrt(10) / 5) / math.sqrt(10), abs=2e-3)
    assert s.simulate(s.assemble({"x": 0.0}, velocities={"x": 3.0}), t_end=2.0).end.reason == "arrived"


def test_one_motion_of_many_may_leave_a_table():
    s = spring()
    v = np.array([[1.0], [5.0], [2.0], [3.0]])
    motions = s.simulate_many(np.zeros((4, 1)), v, t_end=1.0, every=0.5)
    ends = motions.q[:, -1, 0]
    assert motions.failed == pytest.approx([math.inf, math.asin(math.sqrt(10) / 5) / math.sqrt(10), math.inf, math.inf])
    assert np.isnan(ends[1])
    near(ends[[0, 2, 3]], v[[0, 2, 3], 0] * math.sin(math.sqrt(10)) / math.sqrt(10), 1e-6)


def lifted(power=2):
    m = mt.Model("lifted")
    x = np.linspace(0, 1, 11)
    m.table("f", x, x**power)
    disc = m.body("disc", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    follower = m.body("follower", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("y"), m.ground, disc)
    m.joint("z", mt.Prismatic("x"), m.ground, follower)
    m.constrain("z = f(A)", name="lift")
    return m.build()


@pytest.mark.parametrize("A", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_constraints_by_tables_are_closed_up_to_the_ends(A):
    start = lifted().assemble({"A": A}, velocities={"A": 1.0})
    assert start.q == pytest.approx([A, A**2], abs=1e-12)
    assert start.v == pytest.approx([1, 2 * A], abs=1e-12)


@pytest.mark.parametrize(("power", "A", "guess"), [(2, 0.9, 0.5), (2, 0.999, 0.01), (5, 0.5, 0.05), (5, 0.9, 0.05)])
def test_steps_that_would_leave_a_table_are_shortened(power, A, guess):
    start = lifted(power).assemble({"z": A**power}, guess={"A": guess})
    assert start.q == pytest.approx([A, A**power], abs=1e-4)
    closing = Closing(lifted(power).mechanism, 0.0, held=[1])  # from this guess alone
    assert closing.close(np.array([max(guess, 0.5), 0.999**power])).q[0] == pytest.approx(0.999, abs=1e-4)
    assert closing.misfit(np.array([2.0, 0.5])) == math.inf


def test_a_constraint_that_leaves_its_table_ends_the_motion():
    s = lifted()
    with pytest.warns(
        RunWarning, match=r"the constraint lift, z - f\(A\) = 0, has no finite value: table 'f' is given"
    ):
        run = s.simulate(s.assemble({"A": 0.5}, velocities={"A": 1.0}), t_end=2.0)
    assert run["A"][-1] == pytest.approx(1, abs=1e-6)
    with pytest.raises(mt.AssemblyError, match="no value there: table 'f' is given from 0 to 1, and its argument is 2"):
        s.assemble({"A": 2.0})
    with pytest.raises(mt.AssemblyError, match=r"^row 1: .*table 'f' is given from 0 to 1"):
        s.assemble_many({"A": np.array([0.5, 2.0, 0.25])})
    A = np.array([0.5, 0.0, 0.25, 1.0])
    np.testing.assert_allclose(s.assemble_many({"A": A}).q[:, 1], A**2, atol=1e-12)


def test_a_table_may_go_on():
    s = spring(outside="constant", kind="linear")
    run = s.simulate(s.assemble({"x": 0.0}, velocities={"x": 5.0}), t_end=0.6)
    energy = 0.5 * run.v[:, 0] ** 2 + np.where(
        np.abs(run.q[:, 0]) < 1, 5 * run.q[:, 0] ** 2, 10 * np.abs(run.q[:, 0]) - 5
    )
    assert run.q[-1, 0] > 1.1
    near(energy, np.full_like(energy, 12.5), 1e-6)  # across the kink


def test_free_parameters_are_arguments_of_tables():
    s = spring(outside="linear")
    k = np.array([0.25, 1.0, 4.0])
    motions = s.simulate_many(np.zeros((3, 1)), np.ones((3, 1)), t_end=1.0, every=0.5, parameters={"k": k})
    ends = motions.q[:, -1, 0]
    near(ends, np.sin(np.sqrt(10 * k)) / np.sqrt(10 * k), 1e-6)


# --- other places ---


def test_events_and_switches_know_tables():
    s = spring()
    events = {"half": mt.Event("f(x) - 5", direction="rising")}
    run = s.simulate(s.assemble({"x": 0.0}, velocities={"x": 3.0}), t_end=1.0, events=events)
    assert run.end.events[0][1] == pytest.approx(math.asin(0.5 * math.sqrt(10) / 3) / math.sqrt(10), abs=1e-8)


def test_equations_name_tables_and_list_them():
    m = followers({"lift": LIFTS["low"]})
    m.parameter("m", 2.0)
    equations = m.build().equations("energy", reduced=True)
    text = str(equations)
    assert "lift′(A)²" in text
    assert "lift″(A)" in text
    assert "lift: a table (cubic, 241 knots from 0 to 6.28318531, periodic)." in text
    assert r"\mathrm{lift}''" in equations.latex()


def test_a_law_may_not_hide_a_released_joint_in_a_table():
    m = followers({"lift": LIFTS["low"]})
    m.release("z0", at=1.0)
    m.torque("A", "lift(z0)")
    with pytest.raises(mt.ModelError, match="torque on 'A': the law names joint 'z0', which is switched or released"):
        m.build()
