"""The energy account: the work of all forces, of prescribed joints and of a moving ground is the change of energy."""

from __future__ import annotations

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
from momentree.equations.kinematics import records
from momentree.equations.work_terms import motion_powers, motion_terms, powers, work_terms
from momentree.spatial import Force, Vector

SEEDS = range(8)


def all_powers(mechanism, q, v, t):
    moving = records(Evaluation(mechanism, q, t), v)
    return powers(mechanism, moving, names_of(Evaluation(mechanism, q, t), moving))


def energy_derivative(mechanism, q, v, a, t):
    """Central differences along the motion, with the error of second order taken off (Richardson)."""

    def slope(h):
        ahead, behind = (
            energy(Evaluation(mechanism, integrate(mechanism, q, k * v + k * k / 2 * a), t + k), v + k * a).total
            for k in (h, -h)
        )
        return (ahead - behind) / (2 * h)

    return (4 * slope(5e-5) - slope(1e-4)) / 3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sum_of_all_powers_is_the_derivative_of_energy(seed):
    system, q, v, tau, t = loaded(seed)
    m = system.mechanism
    a = np.array(forward_dynamics(Evaluation(m, q, t), v, tau))
    parts = [*all_powers(m, q, v, t), *motion_powers(Evaluation(m, q, t), v, a), tau @ v]
    assert sum(parts) == pytest.approx(energy_derivative(m, q, v, a, t), abs=1e-7 * np.abs(parts).max())


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
        parts = all_powers(system.mechanism, q, 3 * random.standard_normal(system.nv), t)
        for (name, kind), power in zip(work_terms(system.mechanism), parts, strict=True):
            assert kind not in passive or power <= 1e-12, name


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
