"""Radau IIA in machine code: coefficients, order, stiff problems with published solutions, and what it does with steps.

Hairer and Wanner, Solving Ordinary Differential Equations II, 1996: sections are those of this book.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt
from mechanisms import random_tree
from momentree.compile.emit.jacobian_code import Differentiated
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.right_hand_sides import right_hand_side_code
from momentree.compile.trace.tape import Tape
from momentree.equations.formulations import FORMULATIONS
from momentree.integrate.dense_output import within
from momentree.integrate.radau.step import IMPLICIT
from momentree.integrate.radau.tableau import A_INVERSE, ALPHA, BETA, GAMMA, RADAU, T_INVERSE, A, C, E, T
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.stepper import EXPLICIT, RungeKuttaStepper
from momentree.integrate.tableaux.dop853 import DOP853
from momentree.spatial import scalar

TAPE, DIFFERENCES = Differentiated, StraightLine


def code_of(formula, n, kind=TAPE, parameters=0):
    tape = Tape()
    names, given = [f"y{i}" for i in range(n)], [f"p{i}" for i in range(parameters)]
    y, t, p = [tape.input(name) for name in names], tape.input("t"), [tape.input(name) for name in given]
    tape.outputs(formula(y, t, *([p] if parameters else [])))
    arrays = [("y", tuple(names)), ("t", ("t",))]
    return kind.of(tape, (*arrays, ("parameters", tuple(given))) if parameters else tuple(arrays), Target.host())


def stepper(formula, n, kind=TAPE, **options):
    floor, quaternions = options.pop("floor", np.zeros(n)), options.pop("quaternions", [])
    code = code_of(formula, n, kind, options.get("parameters", 0))
    return RungeKuttaStepper(code, RADAU, floor, quaternions, emitter=IMPLICIT, **options)


def run(s, y, t_end, rtol=1e-8, atol=None, h=1e-6, room=100_000, parameters=None):
    integration = s.start(
        np.asarray(y, dtype=float)[:, None], 0.0, h, rtol, rtol / 100 if atol is None else atol, parameters
    )
    status, records = integration.advance(t_end, room)
    return integration, status, integration.unpacked(records)


def nonlinear(y, t):
    """Solutions exp(sin t), 1 / (1 + t), and a turning pair."""
    return [y[0] * scalar.cos(t), -y[1] * y[1], -y[3] * (1 + t), y[2] * (1 + t)]


def exact(t):
    angle = t + t * t / 2
    return np.array([np.exp(np.sin(t)), 1 / (1 + t), np.cos(angle), np.sin(angle)])


START = np.array([1.0, 1.0, 1.0, 0.0])


# --- coefficients ---


def test_the_stages_are_collocation_and_the_order_is_5():
    # IV.5: B(5), C(3), and the last stage is the solution
    a, c = np.array(A), np.array(C)
    for k in range(1, 6):
        assert a[2] @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-15)
    for k in range(1, 4):
        np.testing.assert_allclose(a @ c ** (k - 1), c**k / k, rtol=0, atol=1e-15)
    np.testing.assert_allclose(a @ np.array(A_INVERSE), np.eye(3), rtol=0, atol=2e-15)


def test_the_transformation_parts_one_real_from_one_complex_root():
    found = np.array(T_INVERSE) @ np.array(A_INVERSE) @ np.array(T)
    np.testing.assert_allclose(found, [[GAMMA, 0, 0], [0, ALPHA, -BETA], [0, BETA, ALPHA]], rtol=0, atol=2e-14)
    np.testing.assert_allclose(np.array(T) @ np.array(T_INVERSE), np.eye(3), rtol=0, atol=1e-15)


def test_the_error_vanishes_for_polynomials_of_degree_3():
    # IV.8: f at the beginning and the stages; y = t^k / k has z_i = c_i^k / k
    for k in range(1, 4):
        assert (k == 1) + np.array(E) @ np.array(C) ** k / k == pytest.approx(0, abs=1e-14)
    assert abs(np.array(E) @ np.array(C) ** 4 / 4) > 1e-3


def test_dense_output_meets_the_stages():
    powers = np.array([[row[j] for j in range(3)] for row in RADAU.dense.rows])
    for c, row in zip(C, A, strict=True):
        np.testing.assert_allclose(c ** np.arange(1, 4) @ powers, row, rtol=0, atol=1e-15)


# --- accuracy ---


def stability(z):
    """What one step makes of 1 for y' = lambda y, z = h lambda: the Pade approximation of exp, IV.3."""
    return (1 + 2 * z / 5 + z**2 / 20) / (1 - 3 * z / 5 + 3 * z**2 / 20 - z**3 / 60)


@pytest.mark.repeats(3)
@pytest.mark.parametrize("kind", [TAPE, DIFFERENCES])
@pytest.mark.parametrize("z", [-0.1, -1.0, -30.0, -1e6, 3j, -1 + 5j, -1e3 + 1e5j])
def test_one_step_of_a_linear_system_is_the_stability_function(z, kind):
    # L-stable: what is very stiff is gone after one step
    def turning(y, t):
        return [z.real * y[0] - z.imag * y[1], z.imag * y[0] + z.real * y[1]]

    z = complex(z)
    integration, status, _ = run(stepper(turning, 2, kind), [1, 0], 1.0, 0.1, 1e6, h=1.0)
    assert (status, integration.counts[0]) == (Status.ARRIVED, 1)
    assert complex(*integration.y[:2]) == pytest.approx(stability(z), abs=1e-12 if kind is TAPE else 1e-7)
    assert abs(complex(*integration.y[:2])) < max(1.0, 3.1 / abs(z))


def test_the_error_falls_with_the_fifth_power_of_the_step():
    errors = []
    for h in (0.1, 0.05, 0.025):
        # a floor that accepts every step, and leaves Newton's iteration as exact as rtol says
        s = stepper(nonlinear, 4, floor=np.full(4, 1e10 * h**4))
        integration = s.start(START[:, None], 0.0, h, 1e-10, 1e-12)
        status, _ = integration.advance(3.0, 1000, longest=h)
        assert status == Status.ARRIVED
        errors.append(np.abs(integration.y[:4] - exact(3.0)).max())
    np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 5, rtol=0, atol=0.4)


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10, 1e-12])
def test_the_error_follows_the_tolerance(rtol):
    integration, status, _ = run(stepper(nonlinear, 4), START, 3.0, rtol, rtol)
    assert status == Status.ARRIVED
    assert integration.t == 3.0
    assert np.abs(integration.y[:4] - exact(3.0)).max() < 5 * rtol


def test_dense_output_is_of_order_3_within_steps_and_meets_their_ends():
    s = stepper(nonlinear, 4, dense=True)
    steps, errors = [], []
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9):
        _, _, (t, h, y, slopes) = run(s, START, 3.0, rtol, rtol)
        y, slopes = y[..., 0], slopes[..., 0]
        begin = np.concatenate([START[None], y[:-1]])
        np.testing.assert_array_equal(within(RADAU.dense, 0 * t, h, begin, y, slopes), begin)
        np.testing.assert_allclose(within(RADAU.dense, 0 * t + 1, h, begin, y, slopes), y, rtol=0, atol=2e-14)
        found = within(RADAU.dense, 0 * t + 0.8, h, begin, y, slopes)
        steps.append(len(t))
        errors.append(np.abs(found - exact(t - 0.2 * h).T).max())
    # the polynomial is of degree 3, so what is left within a step is h^4
    assert -np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4, abs=0.5)
    assert errors[-1] < 1e-8


# --- stiff problems ---


def van_der_pol(y, t):
    return [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) * 1e6]


@pytest.mark.parametrize("kind", [TAPE, DIFFERENCES])
def test_van_der_pol(kind):
    # IV.10, eps = 1e-6, with the solution printed there
    published = {1.0: (-0.1863646254808130e1, 0.7535430865435460e0), 2.0: (0.1706167732170456e1, -0.8928097010248257e0)}
    s = stepper(van_der_pol, 2, kind)
    for t, expected in published.items():
        integration, status, _ = run(s, [2, 0], t, 1e-7, 1e-7)
        assert status == Status.ARRIVED
        np.testing.assert_allclose(integration.y[:2], expected, rtol=1e-8)
    integration, _, _ = run(s, [2, 0], 2.0, 1e-10, 1e-10)
    np.testing.assert_allclose(integration.y[:2], expected, rtol=1e-12)


def test_robertson():
    # IV.10: three reactions over eleven decades of time
    def reactions(y, t):
        first, second, third = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
        return [second - first, first - second - third, third]

    integration, status, _ = run(stepper(reactions, 3), [1, 0, 0], 1e11, 1e-7, 1e-14)
    assert status == Status.ARRIVED
    expected = (0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050)
    np.testing.assert_allclose(integration.y[:3], expected, rtol=1e-6)
    assert integration.counts[0] < 1500
    assert integration.y[:3].sum() == pytest.approx(1, abs=1e-12)  # nothing is lost


def test_scipy_takes_about_as_many_steps():
    for rtol in (1e-4, 1e-6):
        theirs = solve_ivp(
            lambda t, y: np.array(van_der_pol(y, t)), (0, 2), [2, 0], "Radau", rtol=rtol, atol=rtol,
            jac=lambda t, y: [[0, 1], [-1e6 * (2 * y[0] * y[1] + 1), 1e6 * (1 - y[0] ** 2)]],
        )  # fmt: skip
        integration, _, _ = run(stepper(van_der_pol, 2), [2, 0], 2.0, rtol, rtol)
        assert integration.counts[0] < 1.1 * (len(theirs.t) - 1)
        assert integration.counts[2] < 1.1 * theirs.nfev


# --- mechanisms ---


def arm(kind="Revolute", **options):
    m = mt.Model("arm", gravity=(0, 0, -9.81))
    upper = m.body("upper", mt.rod(mass=1.0, length=0.5))
    lower = m.body("lower", mt.rod(mass=0.5, length=0.4))
    m.joint("shoulder", mt.Revolute("y", damping=0.1), m.ground, upper)
    if kind == "Fixed":
        m.joint("elbow", mt.Fixed(), upper.at((0.5, 0, 0)), lower)
    else:
        m.joint("elbow", mt.Revolute("y", **options), upper.at((0.5, 0, 0)), lower)
    return m.build()


def mechanism_stepper(system, tableau=RADAU, code=None, formulation="lagrange", quaternions=(), **options):
    mechanism = system.mechanism
    made = right_hand_side_code(mechanism, FORMULATIONS[formulation], code, False, tableau is RADAU)
    floor = np.zeros(mechanism.nq + mechanism.nv)
    for place in quaternions:
        floor[place : place + 4] = 1
    emitter = IMPLICIT if tableau is RADAU else EXPLICIT
    return RungeKuttaStepper(made, tableau, floor, list(quaternions), emitter=emitter, **options), made


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_an_arm_with_a_very_stiff_joint_moves_as_if_it_were_rigid(formulation):
    s, _ = mechanism_stepper(arm(spring=1e8, damping=1e5), formulation=formulation)
    integration, status, _ = run(s, [0.3, 0, 0, 0], 2.0, 1e-8)
    rigid, _ = mechanism_stepper(arm("Fixed"), DOP853)
    expected, _, _ = run(rigid, [0.3, 0], 2.0, 1e-11)
    assert status == Status.ARRIVED
    assert integration.y[0] == pytest.approx(expected.y[0], abs=2e-7)
    assert abs(integration.y[1]) < 1e-7
    assert integration.counts[0] < 400


def test_an_arm_with_a_stiff_and_damped_spring_agrees_with_scipy():
    s, code = mechanism_stepper(arm(spring=1e8, damping=1e4))
    kernel, start = Kernel(code, 1, Target.host()), [0.3, 1e-3, 0, 0]
    theirs = solve_ivp(
        lambda t, y: kernel([np.array(y)[None], np.array([[t]])])[0], (0, 1), start, "Radau", rtol=1e-7, atol=1e-9
    )
    integration, status, _ = run(s, start, 1.0, 1e-7, 1e-9)
    assert status == Status.ARRIVED
    np.testing.assert_allclose(integration.y[:4], theirs.y[:, -1], rtol=1e-6, atol=1e-9)
    assert integration.counts[0] < 1.2 * len(theirs.t)


def test_rolled_code_takes_the_steps_of_straight_line_code():
    m = mt.Model("chain", gravity=(0, 0, -9.81))
    at = m.ground
    for i in range(8):
        link = m.body(f"link{i}", mt.rod(mass=0.1, length=0.1))
        m.joint(f"hinge{i}", mt.Revolute("y", spring=1e3, damping=1.0), at, link)
        at = link.at((0.1, 0, 0))
    system, found = m.build(), []
    for code in ("straight-line", "rolled"):
        s, _ = mechanism_stepper(system, code=code)
        integration, status, _ = run(s, np.zeros(16), 0.5, 1e-6)
        assert status == Status.ARRIVED
        found.append(integration)
    np.testing.assert_allclose(found[1].y[:16], found[0].y[:16], rtol=0, atol=1e-8)
    assert found[1].counts[0] == pytest.approx(found[0].counts[0], rel=0.05)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_free_bodies_with_quaternions_move_as_by_an_explicit_method(formulation):
    system = random_tree(np.random.default_rng(3), ["Free", "Spherical"]).build()
    places = [body.q.stop - 4 for body in system.mechanism.bodies]
    start = np.zeros(system.nq + system.nv)
    start[[place + 3 for place in places]] = 1
    start[system.nq :] = np.linspace(-1, 1, system.nv)
    found = []
    for tableau in (RADAU, DOP853):
        s, _ = mechanism_stepper(system, tableau, formulation=formulation, quaternions=places)
        integration, status, (_, _, y, _) = run(s, start, 1.0, 1e-9)
        assert status == Status.ARRIVED
        for place in places:
            np.testing.assert_allclose(np.linalg.norm(y[:, place : place + 4, 0], axis=1), 1, rtol=0, atol=4e-16)
        found.append(integration.y[: len(start)])
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-7)


# --- steps, calls, accounts ---


def test_many_calls_give_the_bits_of_one_and_so_does_a_motion_that_is_taken_up_again():
    s = stepper(van_der_pol, 2)
    whole, _, (t, _, y, _) = run(s, [2, 0], 1.5, 1e-5)
    integration, seen = s.start(np.array([[2.0], [0.0]]), 0.0, 1e-6, 1e-5, 1e-7), []
    while True:
        status, records = integration.advance(1.5, 7)
        seen.append(integration.unpacked(records))
        if status != Status.FULL:
            break
        other = s.start(np.zeros((2, 1)), 0.0, 1.0, 1.0, 1.0)
        other.y[:], other.control[:], other.counts[:] = integration.y, integration.control, integration.counts
        integration = other
    np.testing.assert_array_equal(np.concatenate([part[0] for part in seen]), t)
    np.testing.assert_array_equal(np.concatenate([part[2] for part in seen]), y)
    np.testing.assert_array_equal(integration.counts[:2], whole.counts[:2])


@pytest.mark.parametrize("target", [Target(), Target.host()], ids=["oldest", "host"])
def test_every_processor_takes_the_same_steps(target):
    integration, _, _ = run(stepper(nonlinear, 4, target=target), START, 3.0)
    expected, _, _ = run(stepper(nonlinear, 4), START, 3.0)
    np.testing.assert_allclose(integration.y[:4], expected.y[:4], rtol=1e-11)
    assert integration.counts[0] == pytest.approx(expected.counts[0], abs=1)


def test_the_jacobian_of_a_linear_system_is_computed_once():
    def linear(y, t):
        return [-1e4 * y[0] + y[1], scalar.sin(t) - y[1]]

    integration, _, _ = run(stepper(linear, 2), [1, 1], 10.0)
    assert integration.counts[0] > 100
    assert integration.counts[7] == 1


def test_a_jacobian_that_is_not_finite_is_replaced_by_differences():
    # the slope of the root is infinite where y1 stays
    def with_a_root(y, t):
        return [-1e5 * (y[0] - 1) + scalar.sqrt(scalar.absolute(y[1])), 0 * t]

    integration, status, _ = run(stepper(with_a_root, 2), [0, 0], 1.0)
    assert status == Status.ARRIVED
    assert integration.y[0] == pytest.approx(1, abs=1e-8)


def test_what_is_not_controlled_is_integrated_but_does_not_disturb_the_others():
    def stiff(y):
        return [y[1], -1e8 * y[0] - 1e6 * y[1]]

    def with_an_account(y, t):
        return [*stiff(y), 1e6 * (y[1] * y[1])]

    floor = np.array([0, 0, np.inf])
    alone, _, _ = run(stepper(lambda y, t: stiff(y), 2), [1e-3, 1], 0.1)
    both, status, _ = run(stepper(with_an_account, 3, floor=floor), [1e-3, 1, 0], 0.1)
    assert status == Status.ARRIVED
    np.testing.assert_array_equal(both.counts[:2], alone.counts[:2])
    np.testing.assert_array_equal(both.y[:2], alone.y[:2])
    # what the damper has taken is what is missing
    energies = [(1e8 * x * x + v * v) / 2 for x, v in ([1e-3, 1], both.y[:2])]
    assert both.y[2] == pytest.approx(energies[0] - energies[1], rel=1e-9)


def test_parameters_reach_the_right_hand_side_and_the_jacobian():
    def decay(y, t, p):
        return [-p[0] * (y[0] - scalar.cos(t))]

    s = stepper(decay, 1, parameters=1)
    integration, _, _ = run(s, [0], 3.0, parameters=np.array([[1e7]]))
    assert integration.y[0] == pytest.approx(np.cos(3.0), abs=1e-7)
    assert integration.counts[0] < 300


@pytest.mark.parametrize("longest", [0.01, 0.3])
def test_steps_are_no_longer_than_asked_and_the_last_one_ends_at_stop(longest):
    integration = stepper(nonlinear, 4).start(START[:, None], 0.0, 1e-3, 1e-3, 1e-3)
    status, records = integration.advance(2.0, 1000, longest=longest)
    t, h, _, _ = integration.unpacked(records)
    assert status == Status.ARRIVED
    assert t[-1] == 2.0
    assert h.max() <= longest * (1 + 1e-10)


# --- failure ---


@pytest.mark.parametrize("kind", [TAPE, DIFFERENCES])
def test_a_derivative_that_is_not_a_number_ends_where_it_begins(kind):
    integration, status, _ = run(stepper(lambda y, t: [scalar.sqrt(1 - t) - y[0]], 1, kind), [0], 2.0)
    assert status == Status.NOT_FINITE
    assert integration.t == pytest.approx(1.0, abs=1e-6)


def test_a_start_without_derivatives_fails_at_once():
    integration, status, _ = run(stepper(lambda y, t: [scalar.log(y[0])], 1), [-1], 1.0)
    assert (status, integration.t, integration.counts[0]) == (Status.NOT_FINITE, 0.0, 0)


def test_a_solution_that_runs_away_asks_for_steps_that_are_too_short():
    integration, status, _ = run(stepper(lambda y, t: [y[0] * y[0]], 1), [1], 2.0)
    assert status in (Status.TOO_SHORT, Status.NOT_FINITE)
    assert integration.t == pytest.approx(1.0, abs=1e-3)


def test_a_jump_back_and_forth_asks_for_steps_that_are_too_short():
    # y' = -1 above 0, +1 below: no solution beyond y = 0, and no root for Newton
    integration, status, _ = run(stepper(lambda y, t: [-scalar.sign(y[0])], 1), [1], 2.0, 1e-12, 1e-16)
    assert status == Status.TOO_SHORT
    assert integration.t == pytest.approx(1.0, abs=1e-3)
