"""The tape: one node for equal operations, no cost for signs and constants, and the same values when replayed."""

import math
import operator

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import momentree as mt
from mechanisms import EVERY_JOINT, MOVING, random_configuration, random_tree
from momentree.compile.trace.derivatives import gradient
from momentree.compile.trace.tape import Operations, Tape, Variable
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Reference, parse
from momentree.spatial import Motion, RigidInertia, Transform, Vector, Z, turn
from momentree.spatial.rotation import quaternion_rotation
from momentree.spatial.scalar import FUNCTIONS, absolute, atan2, cos, cosh, maximum, minimum, select, sign, sin, sqrt

plenty = settings(deadline=None, max_examples=150)
some = settings(deadline=None, max_examples=15)


def traced(formula, *names):
    """The tape whose outputs are those of a formula of inputs."""
    tape = Tape()
    tape.outputs(list(formula(*tape.inputs(*names))))
    return tape


def counts(formula, *names):
    return traced(formula, *names).operations()


# --- one node for what is equal ---

SAME = {
    "sums commute": lambda x, y: (x + y, y + x),
    "products commute": lambda x, y: (x * y, y * x),
    "numbers commute": lambda x, y: (3 + x, x + 3.0),
    "a double negative": lambda x, y: (operator.neg(-x), x),
    "minus a negative": lambda x, y: (x - (-y), x + y),
    "plus a negative": lambda x, y: (x + (-y), x - y),
    "a difference turned round": lambda x, y: (y - x, -(x - y)),
    "a negative sum": lambda x, y: (-x - y, -(y + x)),
    "a number less x": lambda x, y: (3 - x, -(x - 3)),
    "a sign leaves a product": lambda x, y: ((-x) * y, -(y * x)),
    "two signs leave a product": lambda x, y: ((-x) * (-y), x * y),
    "a sign leaves a number": lambda x, y: (-3 * x, -(x * 3)),
    "a sign leaves a quotient": lambda x, y: (-x / y, x / -y),
    "a quotient is a product": lambda x, y: (x / y, x * (1 / y)),
    "by a number": lambda x, y: (x / 4, 0.25 * x),
    "by a negative number": lambda x, y: (x / -4, -0.25 * x),
    "adding nothing": lambda x, y: (x + 0, x),
    "adding nothing, reflected": lambda x, y: (0.0 + x, x),
    "taking nothing": lambda x, y: (x - 0, x),
    "from nothing": lambda x, y: (0 - x, -x),
    "times one": lambda x, y: (1 * x, x),
    "times minus one": lambda x, y: (x * -1.0, -x),
    "over one": lambda x, y: (x / 1, x),
    "twice": lambda x, y: (2 * x, x + x),
    "twice with a sign": lambda x, y: (-2 * x, -x - x),
    "a plus sign": lambda x, y: (+x, x),
    "square": lambda x, y: (x**2, x * x),
    "square of a negative": lambda x, y: ((-x) ** 2, x * x),
    "cube": lambda x, y: (x**3.0, x * (x * x)),
    "fourth": lambda x, y: (x**4, (x * x) * (x * x)),
    "to the first": lambda x, y: (x**1, x),
    "to minus two": lambda x, y: (x**-2, 1 / (x * x)),
    "to one half": lambda x, y: (x**0.5, sqrt(x)),
    "odd": lambda x, y: (sin(-x), -sin(x)),
    "even": lambda x, y: (cos(-x), cos(x)),
    "even too": lambda x, y: (cosh(y - x), cosh(x - y)),
    "abs": lambda x, y: (abs(-x), absolute(x)),
    "sign": lambda x, y: (sign(x - y), -sign(y - x)),
    "arc": lambda x, y: (atan2(-y, x), -atan2(y, x)),
    "least commutes": lambda x, y: (minimum(x, y), minimum(y, x)),
    "least with a number": lambda x, y: (minimum(3.0, x), minimum(x, 3)),
    "least of negatives": lambda x, y: (minimum(-x, -y), -maximum(y, x)),
    "least of x and -x": lambda x, y: (minimum(-x, x), -absolute(x)),
    "greatest of x and -x": lambda x, y: (maximum(-x, x), absolute(x)),
    "least with nothing": lambda x, y: (minimum(0, -x), -maximum(x, 0)),
    "least of the same": lambda x, y: (minimum(-x, -x), -x),
    "a choice of negatives": lambda x, y: (select(x, -y, -3), -select(x, y, 3)),
    "a choice of nothing": lambda x, y: (select(x, 0, -y), -select(x, 0, y)),
    "no choice": lambda x, y: (select(x, -y, -y), -y),
    "a choice made": lambda x, y: (select(2.0, x, y), x),
    "the other choice made": lambda x, y: (select(0, x, y), y),
    "a NumPy number on the left": lambda x, y: (np.float64(3) * x, x * 3),
    "a NumPy number less x": lambda x, y: (np.float32(3) - x, -(x - 3)),
    "over x": lambda x, y: (np.int64(3) / x, 3 * (1 / x)),
}


@pytest.mark.parametrize("formula", SAME.values(), ids=SAME)
def test_two_ways_to_write_it_are_one_node(formula):
    a, b = formula(*Tape().inputs("x", "y"))
    assert isinstance(a, Variable)
    assert a == b
    assert hash(a) == hash(b)


DIFFERENT = {
    "sum and difference": lambda x, y: (x + y, x - y),
    "signs": lambda x, y: (x, -x),
    "quotients": lambda x, y: (x / y, y / x),
    "neither odd nor even": lambda x, y: ((-x).exp(), x.exp()),
    "arc cosine": lambda x, y: ((-x).acos(), x.acos()),
    "one sign in a choice": lambda x, y: (select(x, -y, 3), -select(x, y, 3)),
    "the sign of a condition": lambda x, y: (select(-x, y, 3), select(x, y, 3)),
    "a sign in the second place": lambda x, y: (atan2(y, -x), atan2(y, x)),
    "order of a power": lambda x, y: (x**y, y**x),
    "numbers": lambda x, y: (x * 3, x * 4),
    "least and greatest": lambda x, y: (minimum(x, y), maximum(x, y)),
    "one sign in the least": lambda x, y: (minimum(x, -y), -maximum(x, -y)),
    "another tape": lambda x, y: (x, Tape().input("x")),
    "a number": lambda x, y: (x, 0),
    "a NumPy number": lambda x, y: (np.float64(0), x),
}


@pytest.mark.parametrize("formula", DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_stays_apart(formula):
    a, b = formula(*Tape().inputs("x", "y"))
    assert a != b
    assert b != a


NUMBERS = {
    "x - x": (lambda x, y: x - x, 0),
    "x + -x": (lambda x, y: -x + x, 0),
    "a difference and its negative": (lambda x, y: (x - y) + (y - x), 0),
    "a product and its negative": (lambda x, y: x * y + y * -x, 0),
    "0 x": (lambda x, y: 0.0 * x, 0),
    "0 / x": (lambda x, y: 0 / x, 0),
    "x / x": (lambda x, y: x / x, 1),
    "x / -x": (lambda x, y: x / -x, -1),
    "x ** 0": (lambda x, y: x**0, 1),
    "1 ** x": (lambda x, y: 1**x, 1),
    "a choice made": (lambda x, y: select(-1, x, -7), -7),
    "no choice": (lambda x, y: select(x, 7.0, 7.0), 7),
}


@pytest.mark.parametrize(("formula", "value"), NUMBERS.values(), ids=NUMBERS)
def test_what_is_constant_becomes_a_plain_number(formula, value):
    found = formula(*Tape().inputs("x", "y"))
    assert type(found) in (int, float)
    assert found == value


def test_numbers_on_the_tape_are_python_numbers():
    tape = Tape()
    x = tape.input("x")
    tape.outputs([np.float64(0.5) * x, np.int64(-3), 2.5])
    assert all(type(node[1]) in (int, float) for node in tape.nodes if node[0] == "number")
    assert tape.evaluate({"x": 4}) == [2.0, -3, 2.5]


def test_division_by_the_number_zero_is_an_error_at_once():
    with pytest.raises(ZeroDivisionError):
        Tape().input("x") / 0


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge], ids=lambda f: f.__name__)
def test_a_variable_cannot_be_compared(compare):
    x, y = Tape().inputs("x", "y")
    for a, b in ((x, y), (x, 1.0), (1.0, x), (np.float64(1), x)):
        with pytest.raises(TypeError, match=r"select\(x, a, b\)"):
            compare(a, b)


def test_a_variable_is_no_truth_value_and_no_float():
    x = Tape().input("x")
    with pytest.raises(TypeError, match=r"select\(x, a, b\)"):
        bool(x)
    with pytest.raises(TypeError, match=r"momentree\.sin"):
        math.sin(x)


def test_strangers_are_refused():
    x = Tape().input("x")
    for stranger in ("text", None, 1j, [1.0], parse("x")):
        with pytest.raises(TypeError):
            x + stranger
        with pytest.raises(TypeError):
            Tape().outputs([stranger])
    for array in (np.ones(2), np.array(1.0)):
        with pytest.raises(TypeError):
            array * x
    for combine in (operator.add, operator.mul, operator.truediv, operator.pow, minimum, atan2):
        with pytest.raises(TypeError, match="two tapes"):
            combine(x, Tape().input("x"))


def test_a_vector_of_variables_can_be_asked_which_axis_it_is():
    x, y = Tape().inputs("x", "y")
    assert Vector(x, 0, y) != Z
    assert Vector(0 * x, x - x, y / y) == Z
    assert Vector(x, y, x * y) == Vector(x, y, y * x)
    assert x * Vector(1, 0, y) == Vector(x, 0, y * x)


# --- counts ---


def test_counts_of_each_kind():
    def formula(x, y):
        yield x * y + 1  # 1 x, 1 +
        yield sin(x) + cos(x) + atan2(x, y)  # 3 trigonometric, 2 +
        yield sqrt(y) - (x / y) * (3 / y)  # 1 root, 1 reciprocal, 3 x, 1 +
        yield select(x, y.exp(), absolute(y)) + x**y  # 4 other, 1 +

    assert counts(formula, "x", "y") == Operations(4, 5, 1, 3, 1, 4)


HAND_COUNTED = {  # multiplications, additions
    "cross product": ("abcdef", lambda *s: Vector(*s[:3]).cross(Vector(*s[3:])), (6, 3)),
    "scalar product": ("abcdef", lambda *s: [Vector(*s[:3]) @ Vector(*s[3:])], (3, 2)),
    "square of a vector and its length": ("abc", lambda *s: [Vector(*s) @ Vector(*s), Vector(*s).norm ** 2], (4, 2)),
    "turn about z": ("tabc", lambda t, *s: turn(Z, t) @ Vector(*s), (4, 2)),
    "turn and back": ("tabc", lambda t, *s: [*(turn(Z, t) @ Vector(*s)), *(turn(Z, -t).T @ Vector(*s))], (4, 2)),
    "two turns about z": (
        "st",
        lambda s, t: [e for row in (turn(Z, s) @ turn(Z, t)).rows for e in row],
        (4, 2),
    ),
    # 9 products; 3 + 6 sums, each doubled, and 3 differences from one
    "quaternion": ("xyzw", lambda *q: [e for row in quaternion_rotation(q).rows for e in row], (9, 21)),
    # m v: 3 x; w x h and h x v: 12 x, 6 +; J w: 9 x, 6 +; two sums of vectors: 6 +
    "momentum": (
        "mabcdefghijklnop",
        lambda m, *s: RigidInertia(m, Vector(*s[:3]), s[3:9]) @ Motion(Vector(*s[9:12]), Vector(*s[12:])),
        (24, 18),
    ),
    "momentum at the centre, principal axes": (
        "mxyzabcdef",
        lambda m, x, y, z, *s: (
            RigidInertia(m, Vector(0, 0, 0), (x, y, z, 0, 0, 0)) @ Motion(Vector(*s[:3]), Vector(*s[3:]))
        ),
        (6, 0),
    ),
    # w x p: 2 x; v + w x p: 2 +; two turns about z: 8 x, 4 +
    "motion carried along a link": (
        "tlabcdef",
        lambda t, l, *s: Transform(turn(Z, t), Vector(l, 0, 0)).motion(Motion(Vector(*s[:3]), Vector(*s[3:]))),
        (10, 6),
    ),
}


@pytest.mark.parametrize(("names", "formula", "count"), HAND_COUNTED.values(), ids=HAND_COUNTED)
def test_counts_are_those_of_the_hand(names, formula, count):
    found = counts(formula, *names)
    assert found[:2] == count
    assert found.divisions == found.other == 0


def test_sine_and_cosine_count_each_and_once():
    assert counts(lambda t: [sin(t), cos(t), sin(-t) * cos(-t)], "t") == Operations(1, 0, 0, 2)


def test_reciprocals_are_shared():
    assert counts(lambda a, b, d: [a / d, b / d, a / -d, 1 / d, (a + b) / d], "a", "b", "d") == Operations(3, 1, 1)


def test_division_by_a_number_is_a_multiplication():
    assert counts(lambda x: [x / 3], "x") == Operations(1)


def test_powers_take_the_fewest_squares():
    assert counts(lambda x: [x**8], "x") == Operations(3)
    assert counts(lambda x: [x**7, x**-7], "x") == Operations(4, 0, 1)
    assert counts(lambda x: [x**2.5, x**1000, x**-0.1, x**math.inf], "x") == Operations(other=4)


def test_dead_code_does_not_count():
    tape = Tape()
    x, y = tape.inputs("x", "y")
    product = x * y
    for dead in range(3, 10):
        sin(product * dead) / (x + dead)
    tape.outputs([product])
    assert tape.operations() == Operations(1)
    assert "sin" not in tape.listing()
    tape.outputs([0, x, -1.5])
    assert tape.operations() == Operations()
    assert tape.evaluate({"x": 2.0}) == [0, 2.0, -1.5]


def test_what_depends_on_parameters_alone_is_done_once():
    tape = Tape()
    m, l = tape.parameter("m"), tape.parameter("l")
    x = tape.input("x")
    inertia = m * l**2 / 3 + sqrt(sin(m) / l)
    tape.outputs([inertia, x * inertia, x / inertia + 3 * m])
    assert tape.operations() == Operations(2, 1)
    listing = tape.listing().splitlines()
    # l l, m, / 3; sin, 1 / l, their product, sqrt; the sum J, 1 / J; 3 m
    assert len([line for line in listing if line.endswith("(once)")]) == 10
    assert len(listing) == 10 + 3 + 3  # and what is done at every call, and the outputs
    direct = 2.0 * 0.5**2 / 3 + math.sqrt(math.sin(2.0) / 0.5)
    found = tape.evaluate({"m": 2.0, "l": 0.5, "x": 7.0})
    assert found == pytest.approx([direct, 7 * direct, 7 / direct + 6])


def test_a_parameter_and_an_input_meet_at_every_call():
    tape = Tape()
    x, p = tape.input("x"), tape.parameter("p")
    tape.outputs([x * p + p * p])
    assert tape.operations() == Operations(1, 1)


def test_the_listing_can_be_read():
    tape = Tape()
    x, y = tape.inputs("x", "y")
    g = tape.parameter("g")
    tape.outputs([-(x - 2.5) / y, atan2(-y, -x), 3 * g, 4.0])
    assert tape.listing().splitlines() == [
        "v7 = x - 2.5",
        "v8 = 1 / y",
        "v9 = v7 * v8",
        "v10 = atan2(y, -x)",
        "v12 = g * 3  (once)",
        "output 0 = -v9",
        "output 1 = -v10",
        "output 2 = v12",
        "output 3 = 4.0",
    ]


# --- names and outputs ---


def test_names_are_unique_and_known():
    tape = traced(lambda speed, unused: [speed * 2], "speed", "unused")
    with pytest.raises(MomentreeError, match=r"already has .* 'speed'"):
        tape.parameter("speed")
    with pytest.raises(MomentreeError, match=r"no input 'sped'.*Did you mean 'speed'"):
        tape.evaluate({"sped": 1.0})
    with pytest.raises(MomentreeError, match="'speed' has no value"):
        tape.evaluate({"unused": 1.0})
    assert tape.evaluate({"speed": 1.5}) == [3.0]


def test_a_tape_without_outputs_says_so():
    tape = Tape()
    for question in (tape.operations, tape.listing, tape.live, lambda: tape.evaluate({})):
        with pytest.raises(MomentreeError, match=r"outputs\(\[\.\.\.\]\)"):
            question()


# --- replay ---

NAMES = ("x", "y", "z")
exact = st.integers(-24, 24).map(lambda n: n / 8)  # sums and products of a few of these have no rounding
leaves = st.sampled_from(NAMES) | st.integers(-3, 3) | exact
values = st.fixed_dictionaries(dict.fromkeys(NAMES, exact))


def rings(children):
    return (
        st.tuples(st.sampled_from([operator.add, operator.sub, operator.mul]), children, children)
        | st.tuples(st.just(operator.neg), children)
        | st.tuples(st.just(lambda a: 2 * a - a), children)
    )


TAME = (  # functions whose values stay small and whose slopes are bounded
    lambda a, b: a / (2 + cos(b)),
    lambda a, b: b / 3 - 1 / (1.5 + sin(a)),
    lambda a, b: sin(a) ** 3 + (2 + cos(b)) ** -2,
    lambda a, b: (2 + sin(a)) ** 2.5 + 2.0 ** cos(b),
    lambda a, b: atan2(sin(a), 2 + cos(b)) + FUNCTIONS["atan"](a),
    lambda a, b: FUNCTIONS["tanh"](a) - FUNCTIONS["sinh"](sin(b)) + FUNCTIONS["cosh"](cos(a)),
    lambda a, b: FUNCTIONS["exp"](sin(a)) * FUNCTIONS["log"](2 + sin(b)),
    lambda a, b: FUNCTIONS["asin"](sin(a) / 2) + FUNCTIONS["acos"](sin(b) / 2) + FUNCTIONS["tan"](sin(a)),
    lambda a, b: sqrt(2 - sin(-a)) + absolute(-b),
    lambda a, b: minimum(a, -b) + maximum(-a, 0.5),
    lambda a, b: maximum(b, a) - minimum(0.25, b),
)


def functions(children):
    steps = st.tuples(st.just(select), leaves, children, children) | st.tuples(st.just(sign), leaves)
    return st.tuples(st.sampled_from(TAME), children, children) | steps | rings(children)


ring_trees = st.recursive(leaves, rings, max_leaves=16)
function_trees = st.recursive(leaves, functions, max_leaves=8)


def computed(tree, at):
    """The value of an expression tree, on scalars of any kind."""
    if isinstance(tree, tuple):
        return tree[0](*(computed(part, at) for part in tree[1:]))
    return at[tree] if isinstance(tree, str) else tree


def trace_trees(trees):
    tape = Tape()
    at = dict(zip(NAMES, tape.inputs(*NAMES), strict=True))
    tape.outputs([computed(tree, at) for tree in trees])
    return tape


@plenty
@given(ring_trees, values)
def test_signs_sums_and_products_replay_exactly(tree, at):
    assert trace_trees([tree]).evaluate(at) == [computed(tree, at)]


@plenty
@given(function_trees, values)
def test_functions_replay_as_they_are_computed(tree, at):
    (found,) = trace_trees([tree]).evaluate(at)
    assert found == pytest.approx(computed(tree, at), rel=1e-9, abs=1e-9)


@plenty
@given(function_trees, st.lists(values, min_size=2, max_size=4))
def test_a_batch_replays_as_its_entries(tree, several):
    batch = {name: np.array([at[name] for at in several]) for name in NAMES}
    (found,) = trace_trees([tree]).evaluate(batch)
    direct = [computed(tree, at) for at in several]
    np.testing.assert_allclose(np.broadcast_to(found, len(several)), direct, rtol=1e-9, atol=1e-9)


@plenty
@given(function_trees)
def test_what_is_written_twice_is_done_once(tree):
    once, twice = trace_trees([tree]), trace_trees([tree, tree])
    assert once.nodes == twice.nodes
    assert once.operations() == twice.operations()


@plenty
@given(function_trees)
def test_a_replay_on_another_tape_records_nothing_more(tree):
    tape, copy = trace_trees([tree]), Tape()
    copy.outputs(tape.evaluate(dict(zip(NAMES, copy.inputs(*NAMES), strict=True))))
    assert copy.operations() == tape.operations()


@plenty
@given(ring_trees)
def test_the_tape_never_does_more_than_was_written(tree):
    written = [0, 0]

    def count(part):
        if isinstance(part, tuple):
            written[0] += part[0] is operator.mul
            # the last of the rules is 2 a - a, where twice is an addition
            written[1] += {operator.add: 1, operator.sub: 1, operator.mul: 0, operator.neg: 0}.get(part[0], 2)
            for inner in part[1:]:
                count(inner)

    count(tree)
    found = trace_trees([tree]).operations()
    assert sum(found) <= sum(written)
    assert found.multiplications <= written[0]


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_the_language_is_on_the_tape(name, direction):
    tape = Tape()
    arguments = {"atan2": "ab", "min": "ab", "max": "ab", "select": "abc"}.get(name, "a")
    variables = {Reference(letter): direction * tape.input(letter) for letter in arguments}
    law = parse(f"{name}({', '.join(arguments)}) + 1")
    tape.outputs([law.evaluate(variables)])
    assert sum(tape.operations()) == 2
    at = dict(zip(arguments, (0.3, -0.7, 0.2), strict=False))
    direct = law.evaluate({Reference(letter): value for letter, value in at.items()})
    assert tape.evaluate({letter: direction * value for letter, value in at.items()}) == [direct]


def test_symbols_replay():
    tape = traced(lambda x, y: [x * y - 3 * sin(-x), sqrt(y) ** 2], "x", "y")
    x, y = sympy.symbols("x y", positive=True)
    assert tape.evaluate({"x": x, "y": y}) == [x * y + 3 * sympy.sin(x), y]


def test_a_branch_that_is_not_chosen_may_have_no_value():
    tape = traced(lambda x: [select(x, sqrt(x), 0), select(x, 1 / x, 1), x**2.5, x.log()], "x")
    assert tape.evaluate({"x": 4.0}) == [2.0, 0.25, 32.0, math.log(4)]
    np.testing.assert_equal(tape.evaluate({"x": -4.0}), [0, 1, math.nan, math.nan])
    np.testing.assert_equal(tape.evaluate({"x": 0.0}), [0, 1, 0, -math.inf])


# --- sweeps ---


def results(moving):
    """All that the sweeps find: placements, velocities, accelerations."""
    found = []
    for body in moving[1:]:
        found += [*body.X_0.offset, *(e for row in body.X_0.rotation.rows for e in row), *body.v, *body.dv]
    return found


def trace_sweeps(mechanism, times=1):
    tape = Tape()
    q = tape.inputs(*(f"q{i}" for i in range(mechanism.nq)))
    u, du = (tape.inputs(*(f"{letter}{i}" for i in range(mechanism.nv))) for letter in ("u", "du"))
    parameters = {Reference("a"): tape.parameter("a")}
    t = tape.input("t")
    found = [results(records(Evaluation(mechanism, q, t, parameters), u, du)) for _ in range(times)]
    tape.outputs([e for one in found for e in one])
    return tape


def random_mechanism(random):
    """Six joints of any kind, and two that move as prescribed, by a law with an open parameter."""
    m = mt.Model("driven tree")
    m.parameter("a", 0.3)
    driven = m.body("driven", mt.rod(mass=1.0, length=1.0))
    m.joint("drive", mt.Revolute((1, 2, 2), motion="a*sin(2*t)"), m.ground, driven)
    swung = m.body("swung", mt.rod(mass=1.0, length=1.0))
    m.joint("swing", mt.Spherical(motion=("a*t", "t^2", 0.1)), driven.at((1, 0, 0)), swung)
    return random_tree(random, [str(kind) for kind in random.choice(EVERY_JOINT, 6)], m).build(free=["a"])


def sweep_floats(mechanism, q, u, du, t, a):
    q, u, du = (x.tolist() for x in (q, u, du))
    return results(records(Evaluation(mechanism, q, float(t), {Reference("a"): a}), u, du))


def named(q, u, du, t, a):
    several = {f"{letter}{i}": e for letter, x in (("q", q), ("u", u), ("du", du)) for i, e in enumerate(x)}
    return {**several, "t": t, "a": a}


@some
@given(st.integers(0, 2**32 - 1))
def test_sweeps_replay_as_they_run_on_floats_and_batches(seed):
    random = np.random.default_rng(seed)
    system = random_mechanism(random)
    mechanism = system.mechanism
    tape = trace_sweeps(mechanism)
    q = np.array([random_configuration(random, system) for _ in range(3)]).T
    u, du = random.uniform(-2, 2, (2, mechanism.nv, 3))
    t, a = random.uniform(0, 2, 3), 0.7
    direct = [sweep_floats(mechanism, q[:, k], u[:, k], du[:, k], t[k], a) for k in range(3)]
    for k in range(3):
        found = tape.evaluate(named(q[:, k].tolist(), u[:, k].tolist(), du[:, k].tolist(), float(t[k]), a))
        np.testing.assert_allclose(found, direct[k], rtol=1e-10, atol=1e-10)
    batch = [np.broadcast_to(e, 3) for e in tape.evaluate(named(q, u, du, t, a))]
    np.testing.assert_allclose(np.transpose(batch), direct, rtol=1e-10, atol=1e-10)


@some
@given(st.integers(0, 2**32 - 1))
def test_sweeps_run_twice_are_recorded_once(seed):
    mechanism = random_mechanism(np.random.default_rng(seed)).mechanism
    assert trace_sweeps(mechanism, times=2).nodes == trace_sweeps(mechanism).nodes


def test_every_kind_of_joint_can_be_traced():
    random = np.random.default_rng(5)
    for kind in MOVING:
        tape = trace_sweeps(random_tree(random, [kind]).build().mechanism)
        assert sum(tape.operations()) > 0


def test_a_planar_arm_costs_what_the_hand_needs():
    """Two hinges about z, links of length l: what the velocity sweep computes, counted by hand.

    Four sines and cosines. X_0 of the second body: a product of two turns, 4 x and 2 +; its origin l (c, s), 2 x.
    Its velocity: the origin's is l u1, seen along its own axes (s2 l u1, c2 l u1), 3 x; it turns with u1 + u2.
    """
    m = mt.Model("arm")
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.5)) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("z"), m.ground, upper)
    m.joint("B", mt.Revolute("z"), upper.at((1.5, 0, 0)), lower)
    tape = Tape()
    _, arm, hand = records(Evaluation(m.build().mechanism, tape.inputs("q1", "q2")), tape.inputs("u1", "u2"))
    placed = [e for body in (arm, hand) for row in body.X_0.rotation.rows for e in row]
    tape.outputs([*placed, *hand.X_0.offset, *arm.v, *hand.v])
    assert tape.operations() == Operations(4 + 2 + 3, 2 + 1, 0, 4)


# --- infinities ---


def test_infinities_are_numbers_of_a_tape():
    x = (tape := Tape()).input("x")
    tape.outputs(
        [math.inf, -math.inf, x + math.inf, minimum(x, math.inf), x / math.inf, x * -math.inf, abs(x) ** math.inf]
    )
    assert tape.evaluate({"x": 0.5}) == [math.inf, -math.inf, math.inf, 0.5, 0, -math.inf, 0]
    assert "inf + x" in tape.listing() or "x + inf" in tape.listing()


def test_rules_of_algebra_take_numbers_to_be_finite():
    x = (tape := Tape()).input("x")
    tape.outputs([0 * x, x - x, x / x, math.inf * x - math.inf * x])
    assert tape.evaluate({"x": math.inf}) == [0, 0, 1, 0]


def test_infinite_numbers_have_derivatives():
    x = (tape := Tape()).input("x")
    results = [minimum(x * x, math.inf), maximum(x, -math.inf), x + math.inf]
    tape.outputs([slope for result in results for slope in gradient(tape, result, [x])])
    assert tape.evaluate({"x": 3.0}) == [6, 1, 1]
