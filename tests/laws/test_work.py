"""The energy account: the work of all forces, of prescribed joints and of a moving ground is the change of energy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from agree.test_dynamics import loaded
from mechanisms import four_bar, random_configuration
from momentree.assembly.configuration_space import integrate
from momentree.compile.emit.llvm import compile_tape
from momentree.compile.trace.tape import Tape
from momentree.equations.articulated import forward_dynamics
from momentree.equations.balance import energy
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import names_of
from momentree.equations.kinematics import coordinate_derivatives, move, records
from momentree.equations.work_terms import motion_powers, motion_terms, powers, stored_energies, work_terms
from momentree.spatial import Force, Vector
from momentree.spatial.dual import Dual

SEEDS = range(8)


def all_powers(mechanism, q, v, t):
    moving = records(Evaluation(mechanism, q, t), v)
    return powers(mechanism, moving, names_of(Evaluation(mechanism, q, t), moving))


def slope_of(quantity, mechanism, q, v, a, t):
    """Central differences along the motion, with the error of second order taken off (Richardson)."""

    def slope(h):
        ahead, behind = (
            quantity(Evaluation(mechanism, integrate(mechanism, q, k * v + k * k / 2 * a), t + k), v + k * a)
            for k in (h, -h)
        )
        return (ahead - behind) / (2 * h)

    return (4 * slope(5e-5) - slope(1e-4)) / 3


def stored(at, v):
    """The energy that the account has in each of the work terms, where it has any."""
    energies = stored_energies(at.mechanism, records(at))
    return np.array([energies.get(name, 0.0) for name, _ in work_terms(at.mechanism)])


def rates_of_stored(mechanism, q, v, t):
    """How fast what is stored grows, exactly: where a contact begins, difference quotients are off by their step."""
    moving = records(Evaluation(mechanism, q, t), v)
    moving.locally(move)
    dq = coordinate_derivatives(mechanism, moving)
    at = Evaluation(mechanism, [Dual(x, dx) for x, dx in zip(q, dq, strict=True)], Dual(t, 1.0))
    energies = stored_energies(mechanism, records(at))
    return [getattr(energies.get(name, 0.0), "derivative", 0.0) for name, _ in work_terms(mechanism)]


def energy_outside_work_terms(at, v):
    return energy(at, v).total - stored(at, v).sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sum_of_all_powers_is_the_derivative_of_energy(seed):
    system, q, v, tau, t = loaded(seed)
    m = system.mechanism
    a = np.array(forward_dynamics(Evaluation(m, q, t), v, tau))
    parts = [*all_powers(m, q, v, t), *motion_powers(Evaluation(m, q, t), v, a), tau @ v]
    change = slope_of(energy_outside_work_terms, m, q, v, a, t)
    assert sum(parts) == pytest.approx(change, abs=1e-7 * np.abs(parts).max())


def test_the_energy_account_has_every_kind_of_work_term():
    kinds = {}
    for seed in SEEDS:
        system, q, v, tau, t = loaded(seed)
        m = system.mechanism
        a = forward_dynamics(Evaluation(m, q, t), v, tau)
        parts = [*all_powers(m, q, v, t), *motion_powers(Evaluation(m, q, t), v, a)]
        for (_, kind), power in zip((*work_terms(m), *motion_terms(m)), parts, strict=True):
            kinds[kind] = max(kinds.get(kind, 0.0), abs(power))
    expected = {"drive", "force", "damper", "stop", "spring damping", "contact", "friction", "motion", "ground"}
    assert set(kinds) == expected
    assert min(kinds.values()) > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.repeats(3)
def test_dissipative_elements_never_do_positive_work(seed):
    system, q, _, _, t = loaded(seed)
    passive = ("damper", "stop", "spring damping", "contact", "friction")
    random = np.random.default_rng(seed)
    for _ in range(20):
        m, v = system.mechanism, 3 * random.standard_normal(system.nv)
        parts, stores = all_powers(m, q, v, t), rates_of_stored(m, q, v, t)
        for (name, kind), power, rate in zip(work_terms(m), parts, stores, strict=True):
            assert kind not in passive or power + rate <= 1e-12 * (1 + abs(rate)), name


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.repeats(1)
def test_powers_in_machine_code_are_those_on_floats(seed):
    system, q, v, _, t = loaded(seed)
    tape = Tape()
    inputs = {"q": [f"q{i}" for i in range(len(q))], "v": [f"v{i}" for i in range(len(v))], "t": ["t"]}
    on_tape = {name: tape.inputs(*names) for name, names in inputs.items()}
    tape.outputs(all_powers(system.mechanism, on_tape["q"], on_tape["v"], on_tape["t"][0]))
    compiled = compile_tape(tape, tuple((name, tuple(names)) for name, names in inputs.items()))
    expected = all_powers(system.mechanism, q, v, t)
    np.testing.assert_allclose(compiled([q, v, np.array([t])]), expected, rtol=1e-11, atol=1e-12)


def test_the_work_of_a_prescribed_crank_includes_that_against_constraint_forces():
    # a four-bar without gravity: cut at C, where equal and opposite forces on coupler and rocker close it
    m = four_bar()
    m.gravity = (0, 0, 0)
    m.joints[0] = type(m.joints[0])("A", mt.Revolute("y", motion="1 + 2*t"), m.joints[0].first, m.joints[0].second)
    m.cut("C")
    system = m.build()
    mechanism = system.mechanism
    random = np.random.default_rng(0)
    q, v, a = random_configuration(random, system), *random.standard_normal((2, system.nv))
    loop = mechanism.loops[0]
    force = random.standard_normal(3)
    placed = records(Evaluation(mechanism, q, 0.3), v)
    reactions = [Force.zero() for _ in placed]
    for end, sign in ((loop.first, 1), (loop.second, -1)):
        f = placed[end.body].X_0.rotation.T @ Vector(*(sign * force))
        reactions[end.body] = Force(f, end.placement.offset.cross(f))
    with_loop, without = (
        motion_powers(Evaluation(mechanism, q, 0.3), v, a, reactions=given) for given in (reactions, ())
    )
    # what the crank must bear more is the force at C on the coupler, by the part of its velocity that is the crank's
    frame, h = m.bodies[1].at((2.0, 0, 0)), 1e-6
    velocity = (system.position(q, frame, 0.3 + h) - system.position(q, frame, 0.3 - h)) / (2 * h)
    assert with_loop[0] - without[0] == pytest.approx(-velocity @ force, rel=1e-8)


def driven_rows(n: int) -> mt.Model:
    """Four-bars side by side, each crank at its own prescribed velocity."""
    m = mt.Model("driven four-bars")
    for i in range(n):
        crank, coupler, rocker = (m.body(f"{name}{i}", mt.rod(mass=1, length=x)) for name, x in LENGTHS.items())
        m.joint(
            f"A{i}",
            mt.Revolute("y", motion=f"{0.5 + 0.1 * i} * t + 1"),
            m.ground.at((5 * i, 0, 0)),
            crank.at((0, 0, -0.5)),
        )
        m.joint(f"B{i}", mt.Revolute("y"), crank.at((0, 0, 0.5)), coupler.at((0, 0, -1)))
        m.joint(f"C{i}", mt.Revolute("y"), coupler.at((0, 0, 1)), rocker.at((0, 0, 1)))
        m.joint(f"D{i}", mt.Revolute("y"), m.ground.at((5 * i + 2.5, 0, 0)), rocker.at((0, 0, -1)))
    return m


LENGTHS = {"crank": 1, "coupler": 2, "rocker": 2}


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
def test_what_prescribed_motions_do_is_accounted_for_with_any_number_of_bodies(formulation):
    system = driven_rows(14).build()  # 42 bodies: rolled code
    run = system.simulate(system.assemble(), t_end=0.2, formulation=formulation)
    assert [term.kind for term in run.work_terms] == ["motion"] * 14
    exchanged = np.abs(run.samples.work).sum(axis=1).max()
    assert exchanged > 1
    assert np.abs(run.energy.balance).max() < 1e-9 * exchanged
    assert not run.warnings


@pytest.mark.filterwarnings("ignore::momentree.RunWarning")  # the start is in the stop: that is the subject
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.parametrize(("x", "outward"), [(1.1, 1), (-0.2, -1), (1.0, 0)])
def test_a_stop_gives_back_what_it_stores_at_the_start(x, outward, formulation):
    m, k, depth = 2.0, 800.0, max(x - 1.0, -x, 0.0)
    model = mt.Model("buffer")
    model.gravity = (0, 0, 0)
    slide = mt.Prismatic("x", limits=(0.0, 1.0), stops=(k, 0.0))
    model.joint("x", slide, model.ground, model.body("block", mass=m))
    system = model.build()
    run = system.simulate(system.assemble({"x": x}), 0.2, formulation=formulation)
    assert run.energy.total[0] == pytest.approx(k * depth**2 / 2, abs=1e-12)
    np.testing.assert_allclose(run.energy.total, run.energy.total[0], rtol=0, atol=1e-8)
    assert run.velocity("x")[-1] == pytest.approx(-outward * depth * np.sqrt(k / m), abs=1e-7)
    # a quarter of a period in the stop, the rest on its way
    away = 0.2 - np.pi / 2 * np.sqrt(m / k)
    assert run["x"][-1] == pytest.approx(x - outward * (depth + away * depth * np.sqrt(k / m)), abs=1e-7)


def losing(kind: str, c: float | str, **free):
    """Two bodies that lose energy in one way, the first by c, the second by 2; and a start in which they do."""
    on_plane = kind in ("contact", "friction")
    m = mt.Model("losing", gravity=(0, 0, -9.81 if on_plane else 0))
    if isinstance(c, str):
        m.parameter(c, 0.0)
    for name, x in (("x1", c), ("x2", 2.0)):
        body = m.body(f"body of {name}", mt.box(mass=1.0, size=(1, 1, 1)))
        options = {"damper": {"damping": x}, "stop": {"limits": (-0.1, 0.1), "stops": (1e4, x)}}.get(kind, {})
        m.joint(name, mt.Planar("y") if on_plane else mt.Prismatic("x", **options), m.ground, body)
        if kind == "spring damping":
            m.spring(m.ground.at((-2, 0, 0)), body, 10.0, rest=1.5, damping=x)
        if on_plane:
            m.contact(body, stiffness=1e3, **{{"contact": "damping"}.get(kind, kind): x})
    system, along = m.build(**free), (-0.5, 1.0, 0.0) if on_plane else 1.0
    return system, system.assemble({}, velocities={"x1": along, "x2": along})


@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange", "absolute"])
@pytest.mark.parametrize("kind", ["damper", "stop", "spring damping", "contact", "friction"])
def test_a_free_parameter_with_the_value_zero_leaves_all_work_where_it_belongs(kind, formulation):
    both = losing(kind, "c", free=["c"]), losing(kind, 0.0)
    (work, name), (expected, other) = (
        (run.energy.work, [term.name for term in run.work_terms])
        for run in (system.simulate(start, 0.2, formulation=formulation) for system, start in both)
    )
    assert name[1:] == other
    np.testing.assert_allclose(work[name[0]], 0, atol=1e-9)
    assert work[other[0]][-1] < -1e-3
    assert work[other[0]][-1] == pytest.approx(expected[other[0]][-1], rel=1e-4)


def letting_go(kind: str):
    """A body that is thrown back again and again by what lets go of it while it is still deformed."""
    m = mt.Model("letting go", gravity=(0, 0, -9.81))
    ball = m.body("ball", mt.sphere(mass=1.0, radius=0.1))
    stops = {"limits": (-math.inf, 0.0), "stops": (1e4, 60.0)} if kind == "stop" else {}
    m.joint("fall", mt.Prismatic((0, 0, -1), **stops), m.ground, ball)
    if kind == "thread":
        m.spring(m.ground.at((0, 0, 1)), ball, 1e4, rest=1.0, damping=60.0, tension_only=True)
    elif kind != "stop":
        law = {"damping": 60.0} if kind == "linear" else {"law": kind, "damping": 0.9}
        m.contact(ball, stiffness=1e4, **law)
    system = m.build()
    return system, system.assemble({"fall": -0.5}, velocities={"fall": 1.0})


@pytest.mark.parametrize(
    "settings", [{}, {"every": 0.07}, {"formulation": "lagrange"}, {"integrator": "radau"}], ids=str
)
@pytest.mark.parametrize("kind", ["stop", "thread", "linear", "hunt-crossley"])
def test_the_account_of_what_lets_go_while_it_is_deformed_is_as_precise_as_the_motion(kind, settings):
    system, start = letting_go(kind)
    run = system.simulate(start, 1.5, **settings)
    (work,) = run.energy.work.values()
    assert work[-1] < -3
    assert run.energy.error < 1e-8 * run.energy.through
    assert not run.warnings
    # what is lost stays lost
    assert np.diff(work).max() < 1e-8


MOVING_CONSTRAINTS = {
    "a coordinate": lambda m, tip: m.constrain("A = 0.3 + sin(3*t)", name="drive"),
    "a velocity": lambda m, tip: m.constrain("A' = 1 + t", name="drive"),
    "a frame": lambda m, tip: [m.frame("tip", tip), m.constrain("tip.x = 1.2 + 0.3*sin(3*t)", name="drive")],
    "a surface": lambda m, tip: m.on_surface(tip, "x = 1.2 + 0.3*sin(3*t)", name="drive"),
    "a curve": lambda m, tip: m.on_curve(tip, ["x = 1.2 + 0.3*sin(3*t)", "y"], name="drive"),
}


@pytest.mark.parametrize("constraint", MOVING_CONSTRAINTS)
def test_what_constraints_that_move_do_is_accounted_for(constraint):
    m = mt.Model("driven", gravity=(0, 0, -9.81))
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.0)) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("y"), m.ground, upper)
    m.joint("B", mt.Revolute("y"), upper.at((1, 0, 0)), lower)
    MOVING_CONSTRAINTS[constraint](m, lower.at((1, 0, 0)))
    system = m.build()
    run = system.simulate(system.assemble(guess={"A": 0.5, "B": 1.0}), t_end=0.3, rtol=1e-9)
    assert np.ptp(run.energy.work["motion of drive"]) > 0.1
    assert np.abs(run.energy.balance).max() < 1e-6


@pytest.mark.parametrize("kind", ["cubic", "linear", "hold"])
@pytest.mark.parametrize("latched", [False, True])
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
def test_the_work_of_an_input_of_few_points_is_as_precise_within_steps_as_the_motion(kind, latched, formulation):
    """The motion is a polynomial, which dense output has exactly; its work is one of higher degree."""
    m = mt.Model("pushed", gravity=(0, 0, 0))
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("mass", mt.sphere(mass=1.0, radius=0.1)))
    m.input("u", 0.0)
    m.torque("x", "u")
    if latched:
        m.latch("x", at=5.0)
    system = m.build()
    push = mt.signal([0, 1, 2, 4], [0, 3.0, -2.0, 1.0], kind)
    run = system.simulate(system.assemble(), 4.0, inputs={"u": push}, every=0.05, formulation=formulation)
    assert run.statistics.longest > 0.4
    assert run.energy.work["torque on x"].max() > 1
    assert run.energy.error < 1e-10
    assert not run.warnings
