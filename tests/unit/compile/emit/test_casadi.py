"""A tape as a function of CasADi: every operation, random expressions and dynamics give the same numbers."""

import operator
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import random_tree
from momentree.compile.emit.llvm import compile_tape
from momentree.compile.trace.quantities import trace
from momentree.compile.trace.tape import Tape
from momentree.errors import MomentreeError
from momentree.spatial.scalar import FUNCTIONS, select

NAMES = ("x", "y", "z")
ARITHMETIC = {
    "sum": lambda x, y, z: x + y,
    "difference": lambda x, y, z: -x - y,
    "product": lambda x, y, z: -x * y,
    "quotient": lambda x, y, z: -x / y,
    "power": lambda x, y, z: abs(x) ** y,
    "power of a number": lambda x, y, z: 2.5**-x,
    "third root": lambda x, y, z: abs(x) ** (1 / 3),
    "negative choice": lambda x, y, z: select(-x, 3, -y),
}
ARGUMENTS = {**dict.fromkeys(FUNCTIONS, 1), "atan2": 2, "min": 2, "max": 2, "select": 3}
FORMULAS = ARITHMETIC | {name: lambda *x, f=FUNCTIONS[name], n=n: f(*x[:n]) for name, n in ARGUMENTS.items()}


@pytest.fixture(autouse=True)
def casadi():
    return pytest.importorskip("casadi")


def called(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.array(function(*arguments))[:, 0]


def test_every_operation_gives_what_the_tape_gives():
    tape = Tape()
    inputs = tape.inputs(*NAMES)
    tape.outputs([formula(*inputs) for formula in FORMULAS.values()] + [0, -2.5])
    function = tape.to_casadi()
    assert [function.name_in(i) for i in range(3)] == list(NAMES)
    points = np.concatenate([np.random.default_rng(1).uniform(-1.5, 1.5, (50, 3)), np.zeros((1, 3))])
    for point in points.tolist():
        expected = np.array(tape.evaluate(dict(zip(NAMES, point, strict=True))), dtype=float)
        np.testing.assert_allclose(called(function, *point), expected, rtol=1e-14, atol=1e-15)


def test_a_branch_that_is_not_chosen_may_have_no_value():
    tape = Tape()
    x = tape.input("x")
    tape.outputs([select(x, 1 / x, 7), select(x, FUNCTIONS["log"](x), -x)])
    np.testing.assert_array_equal(called(tape.to_casadi(), 0.0), [7, 0])


leaves = st.sampled_from(NAMES) | st.integers(-3, 3) | st.integers(-24, 24).map(lambda n: n / 8)


def wider(children):
    ring = st.sampled_from([operator.add, operator.sub, operator.mul, FUNCTIONS["min"], FUNCTIONS["atan2"]])
    one = st.sampled_from([operator.neg, FUNCTIONS["sin"], FUNCTIONS["tanh"], FUNCTIONS["abs"]])
    choice = st.tuples(st.just(select), children, children, children)
    return st.tuples(ring, children, children) | st.tuples(one, children) | choice


def computed(tree, values):
    if isinstance(tree, tuple):
        return tree[0](*(computed(part, values) for part in tree[1:]))
    return values[tree] if isinstance(tree, str) else tree


@settings(deadline=None, max_examples=60)
@given(st.recursive(leaves, wider, max_leaves=12), st.integers(0, 2**32 - 1))
def test_random_expressions_replay(tree, seed):
    tape = Tape()
    tape.outputs([computed(tree, dict(zip(NAMES, tape.inputs(*NAMES), strict=True)))])
    point = np.random.default_rng(seed).uniform(-2, 2, 3)
    expected = tape.evaluate(dict(zip(NAMES, point.tolist(), strict=True)))
    np.testing.assert_allclose(called(tape.to_casadi([("point", NAMES)]), point), expected, rtol=1e-12, atol=1e-12)


def test_forward_dynamics_agrees_with_the_replay_and_with_machine_code():
    random = np.random.default_rng(3)
    system = random_tree(random, ["Revolute", "Prismatic", "Revolute", "Universal", "Revolute"]).build()
    tape, arguments = trace(system.mechanism, "forward_dynamics")
    function, kernel = tape.to_casadi(arguments), compile_tape(tape, arguments)
    for _ in range(5):
        given = [random.uniform(-1, 1, len(names)) for _, names in arguments]
        names = [name for _, names in arguments for name in names]
        replayed = tape.evaluate(dict(zip(names, np.concatenate(given).tolist(), strict=True)))
        found = called(function, *given)
        np.testing.assert_allclose(found, replayed, rtol=1e-10, atol=1e-10 * np.abs(replayed).max())
        np.testing.assert_allclose(found, kernel(given), rtol=1e-10, atol=1e-10 * np.abs(replayed).max())


# --- arguments ---


def test_parameters_are_arguments_like_inputs():
    tape = Tape()
    x, p, _ = tape.input("x"), tape.parameter("p"), tape.input("unused")
    tape.outputs([x * p])
    assert called(tape.to_casadi(), 3.0, 5.0, 0.0) == [15]
    assert called(tape.to_casadi([("p", ["p"]), ("many", ["unused", "x"])]), 5.0, [0.0, 3.0]) == [15]


def test_arguments_that_do_not_fit():
    tape = Tape()
    x, y, z = tape.inputs("x", "y", "two words")
    tape.outputs([x * y * z])
    with pytest.raises(MomentreeError) as told:
        tape.to_casadi([("a", ["x", "x"]), ("a b", ["yy"]), ("a", [])])
    for part in (
        "argument 'a b': CasADi takes no such name",
        "argument 'a' stands twice",
        "'x' stands in two places",
        "no input 'yy'",
        "input 'y' stands in no argument",
    ):
        assert part in str(told.value)
    with pytest.raises(MomentreeError, match="argument 'two words': CasADi takes no such name"):
        tape.to_casadi()
    with pytest.raises(MomentreeError, match="no outputs yet"):
        Tape().to_casadi()


def test_without_casadi_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    tape = Tape()
    tape.outputs([tape.input("x")])
    with pytest.raises(MomentreeError, match=r"pip install momentree\[casadi\]"):
        tape.to_casadi()
