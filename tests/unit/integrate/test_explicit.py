"""Integrators in machine code: their coefficients, their order, what they do with steps, tolerances and failures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.tape import Tape
from momentree.integrate.dense_output import within
from momentree.integrate.explicit import Status
from momentree.integrate.stepper import Stepper
from momentree.integrate.tableaux import TABLEAUX
from momentree.spatial import scalar

ADAPTIVE = [name for name, tableau in TABLEAUX.items() if tableau.adaptive]
OLDEST = Target()


def dense_rows(tableau):
    """a as a full matrix, b and c: as the books print them."""
    s = tableau.stages
    a = np.zeros((s, s))
    for i, row in enumerate(tableau.a):
        for j, x in row.items():
            a[i, j] = x
    b = np.array([tableau.b.get(i, 0) for i in range(s)])
    return a, b, np.array(tableau.c, dtype=float)


def trees(order):
    """All rooted trees with so many nodes, each the sorted tuple of its branches."""
    if order == 1:
        return {()}
    found = set()
    for part in partitions(order - 1):
        for branches in itertools.product(*(sorted(trees(k)) for k in part)):
            found.add(tuple(sorted(branches)))
    return found


def partitions(n, most=None):
    most = n if most is None else most
    if n == 0:
        return [()]
    return [(k, *rest) for k in range(min(n, most), 0, -1) for rest in partitions(n - k, k)]


def size(tree):
    return 1 + sum(map(size, tree))


def density(tree):
    return size(tree) * int(np.prod([density(branch) for branch in tree])) if tree else 1


def weight(tree, a):
    """The vector of elementary weights: of a leaf 1, of a tree the product of a times those of its branches."""
    found = np.ones(len(a))
    for branch in tree:
        found = found * (a @ weight(branch, a))
    return found


@pytest.mark.parametrize("name", TABLEAUX)
def test_the_order_conditions_of_all_rooted_trees_hold(name):
    # Butcher 1963: b' Phi(tree) = 1 / gamma(tree) for every tree of up to `order` nodes
    tableau = TABLEAUX[name]
    a, b, c = dense_rows(tableau)
    np.testing.assert_allclose(a.sum(axis=1), c, rtol=0, atol=1e-14)
    for order in range(1, tableau.order + 1):
        for tree in trees(order):
            assert b @ weight(tree, a) == pytest.approx(1 / density(tree), abs=2e-14), tree


@pytest.mark.parametrize("name", ADAPTIVE)
def test_the_error_vanishes_for_what_its_order_integrates(name):
    tableau = TABLEAUX[name]
    a, b, _ = dense_rows(tableau)
    # f at the end is one more stage, whose row is b
    a = np.block([[a, np.zeros((len(b), 1))], [b, 0]])
    for error, order in zip(tableau.errors, (5, 3) if len(tableau.errors) == 2 else (4,), strict=True):
        e = np.array([error.get(i, 0) for i in range(len(a))])
        conditions = [abs(e @ weight(tree, a)) for k in range(1, order + 1) for tree in trees(k)]
        assert max(conditions) < 1e-14
        assert max(abs(e @ weight(tree, a)) for tree in trees(order + 1)) > 1e-6


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
    return Stepper(code_of(formula, n, options.get("parameters", 0)), TABLEAUX[name], floor, quaternions, **options)


def run(s, y, t_end, h, rtol=1e-8, atol=1e-10, room=100_000, each=1, parameters=None):
    motion = s.motion(np.repeat(y[:, None], s.width, axis=1) if y.ndim == 1 else y, 0.0, h, rtol, atol, parameters)
    status, records = motion.advance(t_end, room, each)
    return motion, status, motion.unpacked(records)


@pytest.mark.parametrize("name", TABLEAUX)
def test_the_error_falls_with_the_order(name):
    s = stepper(name)
    tableau = TABLEAUX[name]
    coarse = 0.05 if tableau.order < 8 else 0.25
    errors = []
    for h in (coarse, coarse / 2):
        motion = s.motion(START[:, None], 0.0, h, 1e6, 1e6, None)  # tolerances that accept every step
        status, _ = motion.advance(2.0, 10_000, longest=h)
        assert status == Status.ARRIVED
        errors.append(np.abs(motion.y[:4] - exact(2.0)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(tableau.order, abs=0.7)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_the_error_follows_the_tolerance(name, rtol):
    motion, status, _ = run(stepper(name), START, 3.0, 1e-4, rtol, rtol)
    assert status == Status.ARRIVED
    assert motion.t == 3.0
    assert np.abs(motion.y[:4] - exact(3.0)).max() < 50 * rtol


@pytest.mark.parametrize("name", TABLEAUX)
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_every_width_takes_the_same_steps(name, width):
    one, _, (t, h, y, _) = run(stepper(name), START, 1.0, 0.01)
    many, _, (ts, hs, ys, _) = run(stepper(name, width=width), START, 1.0, 0.01)
    np.testing.assert_array_equal(many.counts[:3], one.counts[:3])
    np.testing.assert_allclose(ts, t, rtol=1e-12)
    np.testing.assert_allclose(hs, h, rtol=1e-6)
    for lane in range(width):
        np.testing.assert_allclose(ys[:, :, lane], y[:, :, 0], rtol=1e-10)


def test_the_worst_lane_decides():
    def decay(y, t, p):
        return [-p[0] * y[0]]

    s = stepper("dop853", decay, 1, parameters=1, width=4)
    velocities = np.array([[1.0, 2.0, 3.0, 40.0]])
    motion, status, _ = run(s, np.ones((1, 4)), 1.0, 1e-3, 1e-9, 1e-12, parameters=velocities)
    assert status == Status.ARRIVED
    np.testing.assert_allclose(motion.y[:4], np.exp(-velocities[0]), rtol=2e-8, atol=1e-11)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_dense_output_is_right_within_steps_and_meets_their_ends(name):
    s = stepper(name, dense=True)
    _, _, (t, h, y, stages) = run(s, START, 2.0, 1e-3, 1e-9, 1e-11)
    begin = np.concatenate([START[None], y[:-1, :, 0]])
    for x, tolerance in ((0.0, 1e-15), (1.0, 1e-14), (0.37, 1e-8), (0.8, 1e-8)):
        found = within(TABLEAUX[name], np.full(len(t), x), h, begin, y[:, :, 0], stages[..., 0])
        expected = np.array([exact(a) for a in t - h + x * h]) if 0 < x < 1 else (y[:, :, 0] if x else begin)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * 10)


def test_a_fixed_step_meets_the_end_and_is_recorded_as_often_as_asked():
    motion, status, (t, _, _, _) = run(stepper("rk4"), START, 1.0, 1e-3, each=100)
    assert status == Status.ARRIVED
    assert motion.counts[0] == 1000
    np.testing.assert_allclose(t, np.arange(1, 11) / 10, rtol=1e-12)
    motion, _, _ = run(stepper("rk4"), START, 1.0, 0.3)
    assert motion.counts[0] == 4
    assert motion.t == 1.0


@pytest.mark.parametrize("name", TABLEAUX)
def test_many_calls_give_the_bits_of_one(name):
    s = stepper(name)
    _, _, (t, _, y, _) = run(s, START, 2.0, 1e-2)
    motion = s.motion(START[:, None], 0.0, 1e-2, 1e-8, 1e-10)
    seen = []
    while True:
        status, records = motion.advance(2.0, 3)
        seen.append(motion.unpacked(records))
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
    motion, status, _ = run(stepper(name, lambda y, t: [scalar.sqrt(1 - t)], 1), np.zeros(1), 2.0, 1e-3)
    assert status == Status.NOT_FINITE
    assert motion.t == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_solution_that_runs_away_asks_for_steps_that_are_too_short(name):
    motion, status, _ = run(stepper(name, lambda y, t: [y[0] * y[0]], 1), np.ones(1), 2.0, 1e-3)
    assert status in (Status.TOO_SHORT, Status.NOT_FINITE)
    assert motion.t == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_scipy_takes_about_as_many_evaluations(name):
    from scipy.integrate import solve_ivp

    def velocities(t, y):
        return [float(x) for x in nonlinear(list(y), t)]

    theirs = solve_ivp(
        velocities, (0, 5), START, method={"dopri5": "RK45", "dop853": "DOP853"}[name], rtol=1e-8, atol=1e-10
    )
    motion, _, _ = run(stepper(name), START, 5.0, 1e-3)
    assert motion.counts[2] < 1.3 * theirs.nfev + 100
