"""Explicit Runge-Kutta methods in machine code: their order, what they do with step sizes, tolerances and failures."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.tape import Tape
from momentree.integrate.dense_output import within
from momentree.integrate.methods import METHODS
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.stepper import RungeKuttaStepper
from momentree.integrate.tableau import ImplicitTableau
from momentree.spatial import scalar

RUNGE_KUTTA = {name: method.tableau for name, method in METHODS.items() if method.tableau is not None}
TABLEAUX = {name: tableau for name, tableau in RUNGE_KUTTA.items() if not isinstance(tableau, ImplicitTableau)}
ADAPTIVE = [name for name, tableau in TABLEAUX.items() if tableau.adaptive]


# --- problems with known solutions ---


def code_of(formula, n, parameters=0):
    tape = Tape()
    names = [f"y{i}" for i in range(n)]
    y, t = [tape.input(name) for name in names], tape.input("t")
    given = [tape.input(f"p{i}") for i in range(parameters)]
    tape.outputs(formula(y, t, *([given] if parameters else [])))
    arrays = [("y", tuple(names)), ("t", ("t",))]
    if parameters:
        arrays.append(("parameters", tuple(f"p{i}" for i in range(parameters))))
    return StraightLine.of(tape, tuple(arrays), Target.host())


def nonlinear(y, t):
    """y0' = y0 cos t, y1' = -y1^2, y2' = -y3 y2 ...: solutions exp(sin t), 1 / (1 + t), and a turning pair."""
    return [y[0] * scalar.cos(t), -y[1] * y[1], -y[3] * (1 + t), y[2] * (1 + t)]


def exact(t):
    angle = t + t * t / 2
    return np.array([np.exp(np.sin(t)), 1 / (1 + t), np.cos(angle), np.sin(angle)])


START = np.array([1.0, 1.0, 1.0, 0.0])


def stepper(name, formula=nonlinear, n=4, **options):
    floor = options.pop("floor", np.zeros(n))
    quaternions = options.pop("quaternions", [])
    code = code_of(formula, n, options.get("parameters", 0))
    return RungeKuttaStepper(code, TABLEAUX[name], floor, quaternions, **options)


def run(s, y, t_end, h, rtol=1e-8, atol=1e-10, room=100_000, each=1, parameters=None):
    integration = s.start(y[:, None], 0.0, h, rtol, atol, parameters)
    status, records = integration.advance(t_end, room, each)
    return integration, status, integration.unpacked(records)


@pytest.mark.parametrize("name", TABLEAUX)
def test_the_error_falls_with_the_order(name):
    s = stepper(name)
    tableau = TABLEAUX[name]
    coarse = 0.05 if tableau.order < 6 else 0.1 if tableau.order < 8 else 0.25
    errors = []
    for h in (coarse, coarse / 2):
        integration = s.start(START[:, None], 0.0, h, 1e6, 1e6, None)  # tolerances that accept every step
        status, _ = integration.advance(2.0, 10_000, longest=h)
        assert status == Status.ARRIVED
        errors.append(np.abs(integration.y[:4] - exact(2.0)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(tableau.order, abs=0.7)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_the_error_follows_the_tolerance(name, rtol):
    integration, status, _ = run(stepper(name), START, 3.0, 1e-4, rtol, rtol, each=10**9)
    assert status == Status.ARRIVED
    assert integration.t == 3.0
    assert np.abs(integration.y[:4] - exact(3.0)).max() < 50 * rtol


@pytest.mark.parametrize("name", ADAPTIVE)
def test_dense_output_is_right_within_steps_and_meets_their_ends(name):
    s = stepper(name, dense=True)
    _, _, (t, h, y, stages) = run(s, START, 2.0, 1e-3, 1e-9, 1e-11)
    begin = np.concatenate([START[None], y[:-1, :, 0]])
    for x, tolerance in ((0.0, 1e-15), (1.0, 1e-14), (0.37, 1e-8), (0.8, 1e-8)):
        found = within(TABLEAUX[name].dense, np.full(len(t), x), h, begin, y[:, :, 0], stages[..., 0])
        expected = np.array([exact(a) for a in t - h + x * h]) if 0 < x < 1 else (y[:, :, 0] if x else begin)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * 10)


def test_a_fixed_step_meets_the_end_and_is_recorded_as_often_as_asked():
    integration, status, (t, _, _, _) = run(stepper("rk4"), START, 1.0, 1e-3, each=100)
    assert status == Status.ARRIVED
    assert integration.counts[0] == 1000
    np.testing.assert_allclose(t, np.arange(1, 11) / 10, rtol=1e-12)
    integration, _, _ = run(stepper("rk4"), START, 1.0, 0.3)
    assert integration.counts[0] == 4
    assert integration.t == 1.0


@pytest.mark.parametrize("name", TABLEAUX)
def test_many_calls_give_the_bits_of_one(name):
    s = stepper(name)
    _, _, (t, _, y, _) = run(s, START, 2.0, 1e-2)
    integration = s.start(START[:, None], 0.0, 1e-2, 1e-8, 1e-10)
    seen = []
    while True:
        status, records = integration.advance(2.0, 3)
        seen.append(integration.unpacked(records))
        if status != Status.FULL:
            break
    np.testing.assert_array_equal(np.concatenate([part[0] for part in seen]), t)
    np.testing.assert_array_equal(np.concatenate([part[2] for part in seen]), y)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_what_is_not_controlled_is_integrated_but_does_not_shorten_steps(name):
    def with_an_account(y, t):
        return [*nonlinear(y[:4], t), 1e6 * scalar.sin(50 * t)]

    floor = np.array([0, 0, 0, 0, np.inf])
    alone, _, _ = run(stepper(name), START, 1.0, 1e-3)
    both, _, _ = run(stepper(name, with_an_account, 5, floor=floor), np.append(START, 0.0), 1.0, 1e-3)
    assert both.counts[0] == alone.counts[0]
    np.testing.assert_array_equal(both.y[:4], alone.y[:4])
    assert both.y[4] != 0


@pytest.mark.parametrize("name", TABLEAUX)
def test_quaternions_stay_of_unit_length(name):
    def spinning(y, t):
        x, yy, z, w = y
        a, b, c = 1.0, scalar.cos(t), 0.5
        return [
            0.5 * (w * a + yy * c - z * b),
            0.5 * (w * b + z * a - x * c),
            0.5 * (w * c + x * b - yy * a),
            -0.5 * (x * a + yy * b + z * c),
        ]

    s = stepper(name, spinning, 4, quaternions=[0])
    _, _, (_, _, y, _) = run(s, np.array([0.0, 0, 0, 1]), 5.0, 0.05, 1e-3, 1e-3)
    np.testing.assert_allclose(np.linalg.norm(y[:, :, 0], axis=1), 1, rtol=0, atol=4e-16)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_derivative_that_is_not_a_number_ends_where_it_begins(name):
    integration, status, _ = run(stepper(name, lambda y, t: [scalar.sqrt(1 - t)], 1), np.zeros(1), 2.0, 1e-3)
    assert status == Status.NOT_FINITE
    assert integration.t == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_solution_that_runs_away_asks_for_steps_that_are_too_short(name):
    integration, status, _ = run(stepper(name, lambda y, t: [y[0] * y[0]], 1), np.ones(1), 2.0, 1e-3, each=10**9)
    assert status in (Status.TOO_SHORT, Status.NOT_FINITE)
    assert integration.t == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("name", "theirs"), [("dopri5", "RK45"), ("dop853", "DOP853")])
def test_scipy_takes_about_as_many_evaluations(name, theirs):
    from scipy.integrate import solve_ivp

    def right_hand_side(t, y):
        return [float(x) for x in nonlinear(list(y), t)]

    solution = solve_ivp(right_hand_side, (0, 5), START, method=theirs, rtol=1e-8, atol=1e-10)
    integration, _, _ = run(stepper(name), START, 5.0, 1e-3)
    assert integration.counts[2] < 1.3 * solution.nfev + 100
