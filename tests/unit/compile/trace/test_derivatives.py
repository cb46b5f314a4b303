"""Derivatives of a tape: differences, CasADi, and what holds between forward, reverse, Jacobians and Hessians."""

import itertools
import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import momentree as mt
from mechanisms import random_body, random_frame
from momentree.compile.emit.llvm import compile_tape
from momentree.compile.trace import derivatives, operations
from momentree.compile.trace.derivatives import forward, gradient, jacobian, reverse, sparsity
from momentree.compile.trace.quantities import trace
from momentree.compile.trace.tape import Tape, Variable
from momentree.errors import MomentreeError
from momentree.spatial.scalar import FUNCTIONS, absolute, atan2, cos, floor, maximum, minimum, select, sign, sin, sqrt

plenty = settings(deadline=None, max_examples=100)
some = settings(deadline=None, max_examples=5)
NAMES = ("x", "y", "z")


def tape_of(formula, names=NAMES):
    tape = Tape()
    x = tape.inputs(*names)
    return tape, x, list(formula(*x))


def at(tape, results, point, names=NAMES):
    tape.outputs(results)
    return np.array(tape.evaluate(dict(zip(names, map(float, point), strict=True))), dtype=float)


def differences(f, point, step=1e-6):
    """The derivatives of f by each coordinate, a column for each."""
    steps = step * np.eye(len(point))
    return np.transpose([(f(point + e) - f(point - e)) / (2 * step) for e in steps])


def near(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max(initial=0))
    )


# --- every operation ---

OPERATIONS = {  # with arguments inside the domain for inputs in (0.2, 0.9)
    "+": lambda x, y, z: x + y,
    "difference": lambda x, y, z: x - y,
    "twice": lambda x, y, z: x + x,
    "*": lambda x, y, z: -x * y,
    "square": lambda x, y, z: x * x,
    "reciprocal": lambda x, y, z: 1 / (x - 3),
    "power": lambda x, y, z: x**y,
    "power of a number": lambda x, y, z: 2.5**-x,
    "to a number": lambda x, y, z: x**2.7,
    "to a half more": lambda x, y, z: x**1.5,
    "sin": lambda x, y, z: sin(x),
    "cos": lambda x, y, z: cos(-x),
    "tan": lambda x, y, z: FUNCTIONS["tan"](x),
    "asin": lambda x, y, z: FUNCTIONS["asin"](-x),
    "acos": lambda x, y, z: FUNCTIONS["acos"](-x),
    "atan": lambda x, y, z: FUNCTIONS["atan"](x),
    "atan2": lambda x, y, z: atan2(x, -y),
    "atan2 of a number": lambda x, y, z: atan2(0.5, y),
    "sinh": lambda x, y, z: FUNCTIONS["sinh"](x),
    "cosh": lambda x, y, z: FUNCTIONS["cosh"](x),
    "tanh": lambda x, y, z: FUNCTIONS["tanh"](x),
    "exp": lambda x, y, z: FUNCTIONS["exp"](-x),
    "log": lambda x, y, z: FUNCTIONS["log"](x),
    "sqrt": lambda x, y, z: sqrt(x),
    "absolute": lambda x, y, z: absolute(y * x) - absolute(y - 2),
    "sign": lambda x, y, z: sign(x - 2) * y,
    "floor": lambda x, y, z: floor(x + 2) * y,
    "minimum": lambda x, y, z: minimum(x * x, y * z),
    "maximum": lambda x, y, z: maximum(x * x, y * z),
    "extremes with a number": lambda x, y, z: minimum(x, 0.5) - maximum(y, 0.6),
    "select": lambda x, y, z: select(x - y, x * z, -y * z),
    "select of a number": lambda x, y, z: select(x - y, 3, z),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_the_slope_of_its_differences(name):
    tape, inputs, results = tape_of(lambda *x: [OPERATIONS[name](*x)])
    for point in np.random.default_rng(1).uniform(0.2, 0.9, (20, 3)):
        expected = differences(lambda p: at(tape, results, p), point)[0]
        found = [forward(tape, results, {x: 1})[0] for x in inputs]
        near(at(tape, found, point), expected, 1e-8)
        near(at(tape, gradient(tape, *results, inputs), point), expected, 1e-8)


def test_every_operation_that_a_tape_knows_has_a_rule():
    of_texts = {f.__name__ for f in FUNCTIONS.values()}
    assert set(operations.OPERATIONS) == {"+", "*", "reciprocal", "power", "floor", *of_texts}
    tape, _, results = tape_of(lambda *x: [f(*x) for f in OPERATIONS.values()])
    tape.outputs(results)
    tried = {tape.nodes[index][0] for index in tape.live()}
    assert tried >= set(operations.OPERATIONS)


# --- random expressions ---

TAME = (
    lambda a, b: a / (2 + cos(b)),
    lambda a, b: sin(a) ** 3 + (2 + cos(b)) ** -2,
    lambda a, b: (2 + sin(a)) ** 2.5 + (2 + sin(a)) ** cos(b),
    lambda a, b: atan2(sin(a), 2 + cos(b)) + FUNCTIONS["atan"](a),
    lambda a, b: FUNCTIONS["tanh"](a) - FUNCTIONS["sinh"](sin(b)) + FUNCTIONS["cosh"](cos(a)),
    lambda a, b: FUNCTIONS["exp"](sin(a)) * FUNCTIONS["log"](2 + sin(b)),
    lambda a, b: FUNCTIONS["asin"](sin(a) / 2) + FUNCTIONS["acos"](sin(b) / 2) + FUNCTIONS["tan"](sin(a)),
    lambda a, b: sqrt(2 - sin(-a)) + absolute(-b),
    lambda a, b: minimum(a, -b) + maximum(-a, 0.53),
    lambda a, b: maximum(b, a) - minimum(0.27, b),
    lambda a, b: select(a - 0.31, sin(b), b * a) + sign(b) * a,
)
leaves = st.sampled_from(NAMES) | st.integers(-24, 24).map(lambda n: n / 8)


def wider(children):
    ring = st.sampled_from([operator.add, operator.sub, operator.mul])
    return st.tuples(ring | st.sampled_from(TAME), children, children)


trees = st.lists(st.recursive(leaves, wider, max_leaves=8), min_size=1, max_size=3)
seeds = st.integers(0, 2**32 - 1)


def computed(tree, values):
    if isinstance(tree, tuple):
        return tree[0](*(computed(part, values) for part in tree[1:]))
    return values[tree] if isinstance(tree, str) else tree


def traced(several):
    return tape_of(lambda *x: [computed(tree, dict(zip(NAMES, x, strict=True))) for tree in several])


def comparable(*arrays):
    """Whether numbers are so large that rounding is all there is to compare."""
    return all(np.isfinite(array).all() and np.abs(array).max(initial=0) < 1e6 for array in arrays)


@pytest.mark.long
@plenty
@given(trees, seeds)
def test_values_directions_gradients_and_jacobians_agree_with_casadi(several, seed):
    casadi = pytest.importorskip("casadi")
    tape, inputs, results = traced(several)
    tape.outputs(results)
    x, f = casadi.SX.sym("x", 3), tape.to_casadi([("point", NAMES)])
    oracle = casadi.Function("oracle", [x], [casadi.densify(casadi.jacobian(f(x), x))])
    random = np.random.default_rng(seed)
    point, direction, weights = (random.uniform(-2, 2, n) for n in (3, 3, len(several)))
    J = np.array(oracle(point)).reshape(len(several), 3)
    if not comparable(J):
        return
    near(at(tape, results, point), np.array(f(point))[:, 0])
    near(at(tape, forward(tape, results, dict(zip(inputs, direction, strict=True))), point), J @ direction)
    near(at(tape, reverse(tape, results, weights, inputs), point), weights @ J)
    found = jacobian(tape, results, inputs)
    assert found.shape == J.shape
    near(at(tape, [e for row in found.dense() for e in row], point), J.ravel())
    # nothing is left out, and nothing is there that does not depend
    entries = set(zip(found.rows, found.columns, strict=True))
    assert entries <= set(sparsity(tape, results, inputs))
    assert {(i, j) for i, j in np.argwhere(np.abs(J) > 1e-9).tolist()} <= entries


@plenty
@given(trees, seeds)
def test_forward_is_the_transpose_of_reverse(several, seed):
    """w . (J s) = (J' w) . s, whatever w and s, which may be variables too."""
    tape, inputs, results = traced(several)
    s, w = tape.inputs("s0", "s1", "s2"), tape.inputs(*(f"w{i}" for i in range(len(several))))
    there = forward(tape, results, dict(zip(inputs, s, strict=True)))
    back = reverse(tape, results, w, inputs)
    both = [sum(map(operator.mul, w, there)), sum(map(operator.mul, back, s))]
    point = np.random.default_rng(seed).uniform(-2, 2, 6 + len(several))
    names = [*NAMES, "s0", "s1", "s2", *(f"w{i}" for i in range(len(several)))]
    a, b = at(tape, both, point, names)
    parts = at(tape, [*there, *back], point, names)
    if comparable(parts):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9 * max(1, np.abs(parts).max()))


@plenty
@given(trees, seeds)
def test_the_hessian_is_symmetric_and_agrees_with_casadi(several, seed):
    casadi = pytest.importorskip("casadi")
    tape, inputs, results = traced(several[:1])
    tape.outputs(results)
    x, f = casadi.SX.sym("x", 3), tape.to_casadi([("point", NAMES)])
    oracle = casadi.Function("oracle", [x], [casadi.densify(casadi.hessian(f(x), x)[0])])
    point = np.random.default_rng(seed).uniform(-2, 2, 3)
    H = jacobian(tape, gradient(tape, *results, inputs), inputs).dense()
    found, expected = at(tape, [e for row in H for e in row], point).reshape(3, 3), np.array(oracle(point))
    if comparable(expected):
        near(found, found.T)
        near(found, expected)


def test_derivatives_of_derivatives_without_end():
    """The n-th derivative of exp(2x) sin(x) is 5^(n/2) exp(2x) sin(x + n atan(1/2))."""
    tape = Tape()
    x = tape.input("x")
    y = FUNCTIONS["exp"](2 * x) * sin(x)
    for n in range(1, 6):
        (y,) = forward(tape, [y], {x: 1}) if n % 2 else gradient(tape, y, [x])
        tape.outputs([y])
        expected = 5 ** (n / 2) * math.exp(0.6) * math.sin(0.3 + n * math.atan(0.5))
        assert tape.evaluate({"x": 0.3}) == [pytest.approx(expected, rel=1e-12)]


# --- what is 0, what is constant ---


def test_what_is_constant_is_a_number_and_what_is_zero_is_left_out():
    tape, (x, y, z), results = tape_of(lambda x, y, z: [3 * x - y, 7.0, -z, sign(x), x * y, select(z, 1, -2)])
    found = jacobian(tape, results, [x, y, z])
    assert found.dense() == [[3, -1, 0], [0, 0, 0], [0, 0, -1], [0, 0, 0], [y, x, 0], [0, 0, 0]]
    assert list(zip(found.rows, found.columns, strict=True)) == sparsity(tape, results, [x, y, z])
    assert len(found.values) == 5
    assert forward(tape, results, {z: 2.5}) == [0, 0, -2.5, 0, 0, 0]
    assert forward(tape, results, {}) == reverse(tape, [], [], [x]) * 6 == [0] * 6
    assert gradient(tape, 4.0, [x, y]) == [0, 0]
    assert jacobian(tape, [], []).dense() == []


def test_an_output_may_be_an_input_and_stand_twice():
    tape, (x, y, _), results = tape_of(lambda x, y, z: [x, -x, x * y, x * y])
    assert jacobian(tape, results, [x, y, x]).dense() == [[1, 0, 1], [-1, 0, -1], [y, x, y], [y, x, y]]
    assert reverse(tape, results, [1, 1, 2, 1], [x]) == [3 * y]


def test_a_derivative_can_cancel_while_it_is_recorded():
    tape, (x, y, z), results = tape_of(lambda x, y, z: [(x + y) - (x - z)])
    assert sparsity(tape, results, [x, y, z]) == [(0, 0), (0, 1), (0, 2)]
    assert jacobian(tape, results, [x, y, z]).dense() == [[0, 1, 1]]


def test_sparsity_records_nothing():
    tape, inputs, results = tape_of(lambda x, y, z: [sin(x * y), z])
    before = tape.nodes
    assert sparsity(tape, results, inputs) == [(0, 0), (0, 1), (1, 2)]
    assert tape.nodes == before


def test_parameters_have_derivatives_too():
    tape = Tape()
    x, p = tape.input("x"), tape.parameter("p")
    assert gradient(tape, x * p, [p, x]) == [x, p]


def test_only_inputs_and_parameters_of_this_tape():
    tape = Tape()
    x = tape.input("x")
    for wrong in (sin(x), -x, 3.0):
        with pytest.raises(MomentreeError, match="take an input or a parameter"):
            gradient(tape, x * x, [wrong])
    stranger = Tape().input("x")
    for ask in (lambda: forward(tape, [stranger], {x: 1}), lambda: jacobian(tape, [x], [stranger])):
        with pytest.raises(TypeError, match="two tapes"):
            ask()


# --- kinks ---


def slopes(formula, x):
    """Forward and in reverse."""
    tape = Tape()
    variable = tape.input("x")
    y = formula(variable)
    tape.outputs([*forward(tape, [y], {variable: 1}), *gradient(tape, y, [variable])])
    return tape.evaluate({"x": x})


@pytest.mark.parametrize(
    ("formula", "slope"),
    [
        (absolute, 0),
        (sign, 0),
        (lambda x: minimum(x, 3 * x), 3),  # the later one
        (lambda x: maximum(3 * x, x), 3),
        (lambda x: maximum(x, 0), 1),  # 0 is the first node of a tape
        (lambda x: select(x, 5 * x, 2 * x), 2),
    ],
)
def test_at_a_kink_one_side_is_taken(formula, slope):
    assert slopes(formula, 0.0) == [slope, slope]


def test_a_branch_that_is_not_chosen_may_be_infinitely_steep_forward():
    there, back = slopes(lambda x: select(x, sqrt(x), 0), 0.0)
    assert there == 0
    assert math.isnan(back)


def test_a_power_of_zero_does_not_depend_on_its_exponent():
    tape = Tape()
    x, n = tape.inputs("x", "n")
    tape.outputs([*gradient(tape, x**n, [x, n]), *gradient(tape, 0**n, [n]), *gradient(tape, (-2) ** n, [n])])
    assert tape.evaluate({"x": 0.0, "n": 1.5})[:3] == [0, 0, 0]
    assert all(map(math.isnan, [tape.evaluate({"x": -1.0, "n": 1.5})[k] for k in (0, 1, 3)]))


# --- few operations ---


def chained(n):
    """f_i = sin(x_i) x_(i+1): a band of two."""
    names = [f"x{i}" for i in range(n)]
    return tape_of(lambda *x: [sin(a) * b for a, b in itertools.pairwise(x)], names)


def test_a_band_takes_operations_in_proportion_to_its_length():
    counts = []
    for n in (10, 20, 30):
        tape, x, results = chained(n)
        found = jacobian(tape, results, x)
        assert [(row, column) for row in range(n - 1) for column in (row, row + 1)] == sparsity(tape, results, x)
        assert len(found.values) == 2 * (n - 1)
        counts.append(derivatives._operations(tape, [tape.edge(value) for value in found.values]))
    assert counts[1] - counts[0] == counts[2] - counts[1] == 10 * 3  # sin, cos, and cos times the next


def test_a_gradient_costs_a_few_times_its_function():
    """W. Baur, V. Strassen, Theor. Comp. Sci. 22 (1983), p. 317: for rational functions no more than five times."""
    names = [f"x{i}" for i in range(40)]
    tape, x, (product,) = tape_of(lambda *x: [math.prod(x)], names)
    ahead = derivatives._operations(tape, [product.edge])
    values = gradient(tape, product, x)
    assert derivatives._operations(tape, [product.edge, *(value.edge for value in values)]) <= 3 * ahead
    assert jacobian(tape, [product], x).values == tuple(values)


@pytest.mark.parametrize("wide", [True, False])
def test_a_jacobian_takes_the_way_with_fewer_operations(wide):
    names = [f"x{i}" for i in range(12 if wide else 1)]
    formula = (lambda *x: [math.prod(x)]) if wide else (lambda x: [sin(sin(sin(x)) * k) for k in range(3, 15)])
    tape, x, results = tape_of(formula, names)
    ends = [tape.edge(y) for y in results], [tape.edge(v) for v in x]
    costs = [
        derivatives._operations(tape, map(tape.edge, way(tape, *ends).values()))
        for way in (derivatives._by_columns, derivatives._by_rows)
    ]
    assert (costs[0] > costs[1]) == wide
    assert derivatives._operations(tape, map(tape.edge, jacobian(tape, results, x).values)) == min(costs)


# --- dynamics ---


def arm(random, n=4):
    """Hinges about random axes, with a spring and damping."""
    m = mt.Model("arm")
    body = m.ground
    for i in range(n):
        link = random_body(random, m, f"link{i}")
        joint = mt.Revolute(tuple(random.standard_normal(3)), spring=1.0 * i, damping=0.1)
        m.joint(f"hinge{i}", joint, random_frame(random, body), link)
        body = link
    return m.build()


def jacobian_kernel(system, what):
    """The tape of a quantity, its arguments, and the kernels of its values and of all its derivatives but by time."""
    tape, arguments = trace(system.mechanism, what)
    results = [tape.scalar(edge) for edge in tape.output_edges()]
    values = compile_tape(tape, arguments)
    places = {node[1]: index for index, node in enumerate(tape.nodes) if node[0] == "input"}
    by = [Variable(tape, places[name]) for argument, names in arguments if argument != "t" for name in names]
    tape.outputs([entry for row in jacobian(tape, results, by).dense() for entry in row])
    slopes = compile_tape(tape, arguments)
    tape.outputs(results)
    return tape, arguments, values, slopes


@some
@given(seeds)
@pytest.mark.long
def test_the_jacobian_of_forward_dynamics(seed):
    casadi = pytest.importorskip("casadi")
    random = np.random.default_rng(seed)
    system = arm(random)
    tape, arguments, values, slopes = jacobian_kernel(system, "forward_dynamics")
    rows = random.uniform(-1, 1, (5, 12))
    time = np.zeros(1)
    found = slopes([*map(np.ascontiguousarray, np.split(rows, 3, axis=1)), time]).reshape(5, 4, 12)
    x, f = casadi.SX.sym("x", 12), tape.to_casadi(arguments)
    split = casadi.vertsplit(x, [0, 4, 8, 12])
    oracle = casadi.Function("oracle", [x], [casadi.densify(casadi.jacobian(f(*split, 0), x))])
    for row, J in zip(rows, found, strict=True):
        near(J, differences(lambda p: values([*np.split(p, 3), time]), row), 1e-6)
        near(J, np.array(oracle(row)), 1e-10)
        # d vdot / d tau is the inverse of the mass matrix
        near(J[:, 8:], np.linalg.inv(system.mass_matrix(row[:4])), 1e-10)


@some
@given(seeds)
@pytest.mark.long
def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(seed):
    """d vdot / d(q, v) = -M^-1 d tau / d(q, v) at the same motion, and d tau / d vdot = M."""
    random = np.random.default_rng(seed)
    system = arm(random)
    _, _, values, there = jacobian_kernel(system, "forward_dynamics")
    *_, back = jacobian_kernel(system, "inverse_dynamics")
    q, v, tau = random.uniform(-1, 1, (3, 4))
    time = np.zeros(1)
    vdot = values([q, v, tau, time])
    D, E = there([q, v, tau, time]).reshape(4, 12), back([q, v, vdot, time]).reshape(4, 12)
    M = system.mass_matrix(q)
    near(E[:, 8:], M, 1e-10)
    near(D[:, :8], -np.linalg.solve(M, E[:, :8]), 1e-9)
