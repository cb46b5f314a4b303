"""A tape as a function of CasADi: random expressions and dynamics give the same numbers, arguments are as asked for."""

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


@pytest.fixture(autouse=True)
def casadi():
    return pytest.importorskip("casadi")


def called(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.array(function(*arguments))[:, 0]


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


def test_names_that_casadi_does_not_take():
    tape = Tape()
    x, y = tape.inputs("x", "two words")
    tape.outputs([x * y])
    with pytest.raises(MomentreeError, match="argument 'a b': CasADi does not accept this name"):
        tape.to_casadi([("a b", ["x", "two words"])])
    with pytest.raises(MomentreeError, match="argument 'two words': CasADi does not accept this name"):
        tape.to_casadi()
    with pytest.raises(MomentreeError, match="no outputs yet"):
        Tape().to_casadi()


def test_without_casadi_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    tape = Tape()
    tape.outputs([tape.input("x")])
    with pytest.raises(MomentreeError, match=r"pip install momentree\[casadi\]"):
        tape.to_casadi()
