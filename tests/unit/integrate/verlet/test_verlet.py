"""Structure-preserving integrators: the formulas again in plain words, their order, symmetry, two-form and failures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt
from mechanisms import EVERY_JOINT, random_configuration, random_tree
from momentree.assembly.configuration_space import integrate
from momentree.compile.trace.right_hand_sides import velocity_kernel, work_terms_of
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta, right_hand_side
from momentree.errors import MomentreeError
from momentree.integrate.dense_output import within
from momentree.integrate.records import Status
from momentree.integrate.verlet.composition import COMPOSITIONS, VERLET4, Composition
from momentree.integrate.verlet.stepper import VerletStepper
from plain_steps import plain_step

GRAVITY = (1.0, 2.0, -9.0)
TREES = [("Revolute", "Universal"), ("Spherical",), ("Free",), ("Free", "Revolute", "Spherical"), EVERY_JOINT]


def tree(kinds, seed=3, **more):
    random = np.random.default_rng(seed)
    system = random_tree(random, list(kinds), mt.Model("tree", **{"gravity": GRAVITY, **more})).build()
    return system, state(system, random)


def state(system, random, t=0.0):
    """A random state y = (q, p)."""
    q = random_configuration(random, system)
    p = momenta(Evaluation(system._numeric, q.tolist(), t), random.standard_normal(system.nv).tolist())
    return np.array([*q, *p], dtype=float)


def driven():
    """Everything that depends on time and velocities: a moving ground, a prescribed ball, torques, dampers, springs."""
    m = mt.Model("driven", gravity=GRAVITY)
    m.ground.moves(("0.3*sin(2*t)", "0.1*t^2", 0), ("0.2*sin(t)", "0.5*t", 0.1))
    a, b, c, d = (m.body(name, mt.box(mass=1.0, size=(1, 2, 3))) for name in "abcd")
    m.joint("A", mt.Revolute("y", damping=0.3), m.ground, a)
    m.joint("B", mt.Spherical(motion=("sin(t)", "0.3*t", "0.2")), a.at((1, 0, 0)), b)
    m.joint("C", mt.Spherical(damping=(0.2, 0.1, 0.3)), b.at((0, 1, 0)), c)
    m.joint("D", mt.Free(), d, m.ground)
    m.torque("A", "3*cos(4*t)")
    m.spring(m.ground.at((1, 2, 3)), c.at((0.1, 0, 0)), 30.0, rest=0.4, damping=0.5)
    m.spring(c, d.at((0, 0, 1)), 10.0, rest=0.4)
    return m.build()


def steps(system, y, h, t_end, integrator="verlet", t=0.0, **more):
    """Where a motion is at t_end."""
    stepper = VerletStepper(system.mechanism, COMPOSITIONS[integrator], with_work=False, **more)
    integration = stepper.start(y[:, None], t, h)
    status, _ = integration.advance(t_end, 10, 10**9)
    assert status == Status.ARRIVED
    return integration.y[: len(y)].copy()


@pytest.mark.repeats(1, of="code")
@pytest.mark.parametrize("code", ["straight-line", "rolled"])
@pytest.mark.parametrize("kinds", TREES, ids=len)
def test_machine_code_takes_the_steps_of_the_formulas(kinds, code):
    for seed in (3, 4):
        system, y = tree(kinds, seed)
        expected = y
        for k in range(3):
            expected = plain_step(system._numeric, expected, 0.01 * k, 0.01)
        assert steps(system, y, 0.01, 0.03, code=code) == pytest.approx(expected, rel=1e-12, abs=1e-12)


# --- order ---


def exact(system, y, t_end):
    """The motion by scipy's DOP853, from the sweeps on floats."""
    nq = system.nq

    def f(t, y):
        found = right_hand_side(Evaluation(system._numeric, y[:nq].tolist(), t), y[nq:].tolist())
        return [float(x) for part in found for x in part]

    return solve_ivp(f, (0, t_end), y, method="DOP853", rtol=3e-14, atol=1e-14).y[:, -1]


@pytest.mark.repeats(1)
@pytest.mark.parametrize(("integrator", "order", "h"), [("verlet", 2, 0.005), ("verlet4", 4, 0.01)])
@pytest.mark.parametrize("which", ["every joint", "driven"])
def test_the_error_is_of_the_order_that_is_told(which, integrator, order, h):
    system, y = tree(EVERY_JOINT) if which == "every joint" else (driven(), None)
    y = state(system, np.random.default_rng(1)) if y is None else y
    expected = exact(system, y, 0.2)
    errors = [np.abs(steps(system, y, k * h, 0.2, integrator) - expected).max() for k in (2, 1, 0.5)]
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert slopes[-1] == pytest.approx(order, abs=0.15), errors
    assert errors[-1] < (1e-2 if order == 2 else 1e-5)


# --- structure ---


@pytest.mark.repeats(2)
@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.parametrize("kinds", TREES, ids=len)
def test_the_way_back_is_the_way_there(kinds, integrator):
    system, y = tree(kinds)
    there = steps(system, y, 0.01, 0.1, integrator)
    back = steps(system, there, 0.01, 0.0, integrator, t=0.1)
    assert np.abs(there - y).max() > 0.05
    assert back == pytest.approx(y, rel=1e-12, abs=1e-12)


def two_form(mechanism, p):
    """theta ^ dp + p([ , ]) in the basis (theta, dp), theta a step of the coordinates: structure-preserving.md (V2)."""
    nv = mechanism.nv
    W = np.zeros((2 * nv, 2 * nv))
    W[:nv, nv:], W[nv:, :nv] = np.eye(nv), -np.eye(nv)
    for body in mechanism.bodies:
        if body.v.stop - body.v.start != body.q.stop - body.q.start:
            w = slice(body.v.stop - 3, body.v.stop)
            for start in range(body.v.start, body.v.stop, 3):
                triple = slice(start, start + 3)
                crossed = -np.cross(np.eye(3), p[triple])  # a' crossed b = p.(a x b)
                W[w, triple] = crossed
                W[triple, w] = crossed
    return W


def difference(mechanism, q, later):
    free = [body for body in mechanism.bodies if body.v.stop > body.v.start]
    return np.concatenate([body.joint.type.difference(q[body.q], later[body.q]) for body in free])


@pytest.mark.repeats(2, of="integrator")
@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.parametrize("kinds", [*TREES[:4], ("Planar", "Spherical", "PinSlot", "Screw")], ids=len)
def test_a_step_keeps_the_two_form(kinds, integrator):
    system, y = tree(kinds)
    m, nq, nv, d, h = system._numeric, system.nq, system.nv, 1e-5, 0.05
    stepper = VerletStepper(system.mechanism, COMPOSITIONS[integrator], with_work=False)

    def step(y):
        integration = stepper.start(y[:, None], 0.0, h)
        assert integration.advance(h, 1)[0] == Status.ARRIVED
        return integration.y[: len(y)]

    def moved(k, d):
        by = np.zeros(2 * nv)
        by[k] = d
        return step(np.concatenate([integrate(m, y[:nq], by[:nv]), y[nq:] + by[nv:]]))

    end = step(y)
    J = np.empty((2 * nv, 2 * nv))
    for k in range(2 * nv):
        ahead, behind = moved(k, d), moved(k, -d)
        J[:nv, k] = difference(m, end[:nq], ahead[:nq]) - difference(m, end[:nq], behind[:nq])
        J[nv:, k] = ahead[nq:] - behind[nq:]
    J /= 2 * d
    before, after = two_form(m, y[nq:]), two_form(m, end[nq:])
    assert np.abs(J - np.eye(2 * nv)).max() > 0.01
    assert J.T @ after @ J == pytest.approx(before, abs=3e-9 * np.abs(J).max() ** 2)


# --- iterations ---


def test_steps_do_not_depend_on_how_the_last_ones_went():
    system, y = tree(("Free", "Revolute", "Spherical"))
    stepper = VerletStepper(system.mechanism, VERLET4, with_work=False)
    known = stepper.start(y[:, None], 0.0, 0.01)
    known.advance(0.5, 1, 10**9)
    fresh = stepper.start(y[:, None], 0.5, 0.01)
    fresh.y[: 2 * len(y)] = known.y[: 2 * len(y)]
    taken = [int(integration.counts[2]) for integration in (known, fresh)]
    for integration in (known, fresh):
        integration.advance(0.51, 1)
    assert fresh.y[: len(y)] == pytest.approx(known.y[: len(y)], rel=1e-14, abs=1e-14)
    assert known.counts[2] - taken[0] < fresh.counts[2] - taken[1]  # but they help to begin


@pytest.mark.parametrize("integrator", COMPOSITIONS)
@pytest.mark.repeats(1)
def test_a_motion_goes_on_where_it_was_left_to_the_last_bit(integrator):
    system = driven()
    y = np.append(state(system, np.random.default_rng(1)), np.zeros(len(work_terms_of(system.mechanism))))
    stepper = VerletStepper(system.mechanism, COMPOSITIONS[integrator])
    whole, parts, restored = (stepper.start(y[:, None], 0.0, 0.01) for _ in range(3))
    _, records = whole.advance(0.5, 100, 5)
    status, first = parts.advance(0.5, 4, 5)
    assert status == Status.FULL
    restored.y[:], restored.control[:], restored.counts[:] = parts.y, parts.control, parts.counts
    _, rest = restored.advance(0.5, 100, 5)
    assert len(records) == 10
    again = restored.unpacked(np.concatenate([first, rest]))
    assert all(np.array_equal(x, y) for x, y in zip(again[:3], whole.unpacked(records)[:3], strict=True))


# --- accounts, ends ---


@pytest.mark.parametrize(("integrator", "off"), [("verlet", 2e-3), ("verlet4", 2e-7)])
def test_work_terms_make_up_for_the_change_of_energy(integrator, off):
    m = mt.Model("driven pendulum")
    a, b = (m.body(name, mt.box(mass=1.0, size=(0.3, 0.4, 1.0))) for name in "ab")
    m.joint("A", mt.Revolute("y", damping=0.3), m.ground, a)
    m.joint("B", mt.Spherical(damping=(0.1, 0.2, 0.1)), a.at((1, 0, 0)), b)
    m.torque("A", "3*cos(4*t)")
    system = m.build()
    y = state(system, np.random.default_rng(2))
    terms = len(work_terms_of(system.mechanism))
    assert terms == 3
    integration = VerletStepper(system.mechanism, COMPOSITIONS[integrator]).start(
        np.append(y, [0.0] * terms)[:, None], 0.0, 0.01
    )
    integration.advance(2.0, 1, 10**9)
    find_velocities = velocity_kernel(system.mechanism)
    energy = []
    for state_, t in ((y, 0.0), (integration.y[: len(y)].copy(), 2.0)):
        energy.append(system.energy(state_[: system.nq], find_velocities([state_, np.array([t])]), t).total)
    work = integration.y[len(y) : len(y) + terms].sum()
    assert abs(work) > 0.1
    assert energy[1] - energy[0] == pytest.approx(work, abs=off)


def test_a_step_that_is_too_long_says_so_and_is_not_taken():
    system, y = tree(("Revolute", "Spherical", "Universal"))
    for integrator in COMPOSITIONS:
        stepper = VerletStepper(system.mechanism, COMPOSITIONS[integrator], with_work=False)
        integration = stepper.start(y[:, None], 0.0, 2.0)
        status, records = integration.advance(10.0, 10)
        assert status == Status.TOO_SHORT
        assert len(records) == 0
        assert np.array_equal(integration.y[: len(y)], y)
        assert integration.t == 0
        assert integration.failure(status) == (
            "at t = 0 s the step size of 2 s is too large: iteration finds no solution of its equations. "
            "Give a smaller step=, or look at the forces of the model there."
        )


def test_forces_that_are_not_finite_are_told_from_steps_that_are_too_long():
    m = mt.Model("stops")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("a", mt.rod(mass=1.0, length=1.0)))
    m.torque("A", "sqrt(1 - t)")
    system = m.build()
    integration = VerletStepper(system.mechanism, with_work=False).start(np.array([[0.1], [0.2]]), 0.0, 0.03)
    status, records = integration.advance(2.0, 100)
    assert status == Status.NOT_FINITE
    assert integration.t == pytest.approx(0.99)
    assert len(records) == 33
    assert np.isfinite(integration.y).all()


def test_the_last_step_ends_at_stop():
    system, y = tree(("Revolute", "Universal"))
    stepper = VerletStepper(system.mechanism, with_work=False)
    integration = stepper.start(y[:, None], 0.0, 0.03)
    t, h, _, _ = integration.unpacked(integration.advance(0.1, 10)[1])
    assert t.tolist() == pytest.approx([0.03, 0.06, 0.09, 0.1])
    assert h[-1] == pytest.approx(0.01)
    assert integration.t == 0.1
    status, records = integration.advance(0.1, 10)
    assert (status, len(records)) == (Status.ARRIVED, 0)


@pytest.mark.parametrize("code", ["straight-line", "rolled"])
@pytest.mark.repeats(1)
def test_dense_output_joins_the_steps(code):
    system = driven()
    y = np.append(state(system, np.random.default_rng(1)), np.zeros(len(work_terms_of(system.mechanism))))
    stepper = VerletStepper(system.mechanism, VERLET4, code=code, dense=True)
    integration = stepper.start(y[:, None], 0.0, 0.02)
    _, records = integration.advance(0.2, 10)
    _, h, ends, stages = integration.unpacked(records)
    starts = np.concatenate([y[None, :, None], ends[:-1]])

    def at(x):
        return within(integration.interpolant, np.full(10, x), h, starts[..., 0], ends[..., 0], stages[..., 0])

    assert at(0.0) == pytest.approx(starts[..., 0], rel=1e-13, abs=1e-13)
    assert at(1.0) == pytest.approx(ends[..., 0], rel=1e-12, abs=1e-12)
    finer = VerletStepper(system.mechanism, VERLET4, code=code).start(y[:, None], 0.0, 0.01)
    expected = finer.unpacked(finer.advance(0.2, 20)[1])[2][::2, :, 0]
    assert np.abs(at(0.5) - expected).max() < 1e-4
    assert np.abs(starts[..., 0] - expected).max() > 1e-2


def test_a_system_with_nothing_left_to_move_only_grows_older():
    m = mt.Model("clockwork")
    m.joint("A", mt.Revolute("y", motion="2*t"), m.ground, m.body("a", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    count = len(work_terms_of(system.mechanism))
    integration = VerletStepper(system.mechanism, VERLET4).start(np.zeros((count, 1)), 0.0, 0.01)
    assert integration.advance(1.0, 1, 10**9)[0] == Status.ARRIVED
    assert integration.t == 1.0


@pytest.mark.parametrize(
    ("order", "weights", "condition"),
    [
        (2, (0.5, 0.4), r"sum w_k = 1"),
        (2, (0.3, 0.7), r"w_k = w_\(n \+ 1 - k\)"),
        (4, (0.25, 0.5, 0.25), r"sum w_k\^3 = 0"),
        (3, (1.0,), "order is 2 or 4"),
    ],
)
def test_a_composition_that_is_not_of_its_order_is_refused(order, weights, condition):
    with pytest.raises(MomentreeError, match=f"composition 'wrong': {condition} does not hold"):
        Composition("wrong", order, weights)
