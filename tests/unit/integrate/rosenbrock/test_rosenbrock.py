"""Rosenbrock methods: order conditions, stability, stiff problems with published solutions, and where J comes from.

Hairer and Wanner, Solving Ordinary Differential Equations II, 1996: sections are those of this book.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import momentree as mt
from momentree.compile.emit.jacobian_code import Differentiated, DifferentiatedInTime
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.tape import Tape
from momentree.errors import MomentreeError
from momentree.integrate.records import Status
from momentree.integrate.rosenbrock.order_conditions import density, different_trees
from momentree.integrate.rosenbrock.rodas5p import COEFFICIENTS, RODAS5P
from momentree.integrate.rosenbrock.step import ROSENBROCK
from momentree.integrate.rosenbrock.tableau import RosenbrockTableau
from momentree.integrate.runge_kutta.stepper import RungeKuttaStepper
from momentree.integrate.stability import stability_function
from momentree.spatial import scalar

KINDS = {"df/dy and df/dt": DifferentiatedInTime, "df/dy": Differentiated, "differences": StraightLine}


def stepper(formula, n, kind="df/dy and df/dt", parameters=0, **options):
    tape, names, given = Tape(), [f"y{i}" for i in range(n)], [f"p{i}" for i in range(parameters)]
    y, t, p = [tape.input(name) for name in names], tape.input("t"), [tape.input(name) for name in given]
    tape.outputs(formula(y, t, *([p] if parameters else [])))
    arrays = [("y", tuple(names)), ("t", ("t",)), *([("parameters", tuple(given))] if parameters else [])]
    code, floor = KINDS[kind].of(tape, tuple(arrays), Target.host()), options.pop("floor", np.zeros(n))
    return RungeKuttaStepper(code, RODAS5P, floor, [], parameters, emitter=ROSENBROCK, **options)


def run(s, y, t_end, rtol=1e-8, atol=None, h=1e-6, parameters=None):
    atol = rtol / 100 if atol is None else atol
    integration = s.start(np.asarray(y, dtype=float)[:, None], 0.0, h, rtol, atol, parameters)
    status, _ = integration.advance(t_end, 100_000)
    return integration, status


# --- coefficients ---


def test_there_are_as_many_trees_as_books_say():
    # Hairer, Norsett and Wanner 1993, II.2, table 2.1: 1, 1, 2, 4, 9, 20 conditions; 17 up to order 5
    assert [len(list(different_trees(n))) for n in range(1, 7)] == [1, 1, 2, 4, 9, 20]
    assert sorted(density(tree) for tree in different_trees(4)) == [4, 8, 12, 24]


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ((6, 4, 4), "order condition of order 6: sum b_i"),
        ((5, 5, 4), "order condition of order 5: sum e_i"),
        ((5, 4, 5), r"order condition of order 5: sum b\(x\)"),
    ],
)
def test_no_order_is_higher_than_it_is_said_to_be(orders, message):
    with pytest.raises(MomentreeError, match=message):
        RosenbrockTableau.of("better", COEFFICIENTS, *orders)


@pytest.mark.parametrize("field", ["a", "c", "nodes", "times", "dense", "gamma"])
def test_a_wrong_digit_is_found(field):
    def wrong(x):
        return tuple(map(wrong, x)) if isinstance(x, tuple) else x * (1 + 1e-9)

    with pytest.raises(MomentreeError, match="tableau 'rodas5p': "):
        RosenbrockTableau.of(
            "rodas5p", dataclasses.replace(COEFFICIENTS, **{field: wrong(getattr(COEFFICIENTS, field))}), 5, 4, 4
        )


def test_it_is_stable_for_any_decay_and_forgets_what_is_very_stiff():
    P, Q = stability_function(RODAS5P)
    assert abs(P[-1] / Q[-1]) < 1e-8  # R(infinity)
    y = np.concatenate([1j * np.linspace(0, 100, 2001), -np.logspace(-3, 8, 200)])  # A-stable: on both axes
    R = np.polynomial.polynomial.polyval(y, P) / np.polynomial.polynomial.polyval(y, Q)
    assert np.abs(R).max() < 1 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("z", [-0.1, -30.0, 3j, -1e3 + 1e5j])
def test_one_step_of_a_linear_system_is_the_stability_function(z, kind):
    def turning(y, t):
        return [z.real * y[0] - z.imag * y[1], z.imag * y[0] + z.real * y[1]]

    z = complex(z)
    integration, status = run(stepper(turning, 2, kind), [1, 0], 1.0, 0.1, 1e6, h=1.0)
    assert (status, integration.counts[0]) == (Status.ARRIVED, 1)
    P, Q = (np.polynomial.polynomial.polyval(z, x) for x in stability_function(RODAS5P))
    assert complex(*integration.y[:2]) == pytest.approx(P / Q, abs=1e-9 if kind == "differences" else 1e-11)


# --- accuracy ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [0.0, 1e6])
def test_the_error_falls_with_the_fifth_power_of_the_step_however_stiff(kind, rate):
    # Prothero and Robinson: y' = -rate (y - sin t) + cos t has the solution sin t. Many methods lose orders there
    def robinson(y, t):
        return [scalar.cos(t) - rate * (y[0] - scalar.sin(t)), -y[1] * y[1] * scalar.cos(t)]

    errors = []
    for h in (0.2, 0.1):
        integration = stepper(robinson, 2, kind).start(np.array([[0.0], [0.5]]), 0.0, h, 1e-3, 1e3)
        assert integration.advance(2.0, 1000, longest=h)[0] == Status.ARRIVED
        errors.append(np.abs(integration.y[:2] - [np.sin(2.0), 1 / (2 + np.sin(2.0))]))
    orders = np.log2(errors[0]) - np.log2(np.maximum(errors[1], 1e-15))
    assert orders[1] == pytest.approx(5, abs=0.6)
    assert orders[0] > 4.4 or errors[1][0] < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_van_der_pol(kind):
    # IV.10, eps = 1e-6, with the solution printed there
    s = stepper(lambda y, t: [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) * 1e6], 2, kind)
    integration, status = run(s, [2, 0], 2.0, 1e-8)
    assert status == Status.ARRIVED
    np.testing.assert_allclose(integration.y[:2], (0.1706167732170456e1, -0.8928097010248257e0), rtol=1e-7)
    assert integration.counts[0] < 3000


def test_robertson():
    # IV.10: three reactions over eleven decades of time
    def reactions(y, t):
        first, second, third = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
        return [second - first, first - second - third, third]

    integration, status = run(stepper(reactions, 3), [1, 0, 0], 1e11, 1e-7, 1e-14)
    assert status == Status.ARRIVED
    expected = (0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050)
    np.testing.assert_allclose(integration.y[:3], expected, rtol=1e-5)


# --- steps ---


def test_one_jacobian_a_step_and_none_for_another_try():
    # the spike at t = 1 is met by steps that are too long
    def spike(y, t):
        return [1 / (1e-4 + (t - 1) * (t - 1)) - y[0]]

    integration, status = run(stepper(spike, 1), [0], 2.0, 1e-6, h=0.5)
    assert status == Status.ARRIVED
    assert integration.counts[1] > 0
    assert integration.counts[7] == integration.counts[0]


def test_parameters_reach_the_right_hand_side_and_the_jacobian():
    s = stepper(lambda y, t, p: [-p[0] * (y[0] - scalar.cos(t))], 1, parameters=1)
    integration, _ = run(s, [0], 3.0, parameters=np.array([[1e7]]))
    assert integration.y[0] == pytest.approx(np.cos(3.0), abs=1e-7)
    assert integration.counts[0] < 300


def test_what_is_not_controlled_is_integrated_but_does_not_disturb_the_others():
    def stiff(y):
        return [y[1], -1e8 * y[0] - 1e6 * y[1]]

    alone, _ = run(stepper(lambda y, t: stiff(y), 2), [1e-3, 1], 0.1)
    floor = np.array([0, 0, np.inf])
    both, status = run(stepper(lambda y, t: [*stiff(y), 1e6 * (y[1] * y[1])], 3, floor=floor), [1e-3, 1, 0], 0.1)
    assert status == Status.ARRIVED
    np.testing.assert_array_equal(both.counts[:2], alone.counts[:2])
    np.testing.assert_allclose(both.y[:2], alone.y[:2], rtol=1e-12)
    # what the damper has taken is what is missing
    energies = [(1e8 * x * x + v * v) / 2 for x, v in ([1e-3, 1], both.y[:2])]
    assert both.y[2] == pytest.approx(energies[0] - energies[1], rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_derivative_that_is_not_a_number_ends_where_it_begins(kind):
    integration, status = run(stepper(lambda y, t: [scalar.sqrt(1 - t) - y[0]], 1, kind), [0], 2.0)
    assert status == Status.NOT_FINITE
    assert integration.t == pytest.approx(1.0, abs=1e-6)


def test_a_law_of_time_is_differentiated_and_a_system_without_one_is_known_to_be_autonomous():
    def of(formula):
        tape = Tape()
        y, t = tape.input("y"), tape.input("t")
        tape.outputs([formula(y, t)])
        return DifferentiatedInTime.of(tape, (("y", ("y",)), ("t", ("t",))), Target.host())

    driven, free = of(lambda y, t: -y * scalar.cos(t)), of(lambda y, t: -y)
    assert (driven.autonomous, driven.pattern) == (False, ((0, 0), (0, 1)))
    assert (free.autonomous, free.pattern) == (True, ((0, 0),))


def test_an_arm_that_is_driven_by_a_law_of_time_moves_as_by_an_explicit_method():
    m = mt.Model("arm", gravity=(0, 0, -9.81))
    m.joint("A", mt.Revolute("y", damping=0.2), m.ground, m.body("rod", mt.rod(mass=1.0, length=0.5)))
    m.torque("A", "3*sin(5*t) - 20*(A - 0.3*cos(t))")
    system = m.build()
    start = system.assemble({"A": 0.3})
    ends = [system.simulate(start, 3.0, integrator=name, rtol=1e-9).q[-1] for name in ("rodas5p", "dop853")]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-8)
