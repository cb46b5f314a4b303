"""Every backend of a tape, on every operation: found by the registry, so that a new one is tested as it is added."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from momentree.compile.emit.backends import Backend, backend, backends
from momentree.compile.trace.operations import LOOKUPS, OPERATIONS, complete
from momentree.compile.trace.tape import Tape
from momentree.errors import MomentreeError
from momentree.spatial.scalar import maximum, minimum, select

BACKENDS = backends()
ARRAYS = [("pair", ("x", "y")), ("z", ("z",))]  # a column of several inputs, and an input by itself
ORDINARY = np.random.default_rng(1).uniform(-1.5, 1.5, (50, 3)).tolist()
SPECIAL = (0.0, 1.0, -2.5, math.inf, -math.inf)


def every_operation():
    """A tape with each operation once on inputs, once on minus inputs, and its numbers and signs among the outputs."""
    tape = Tape()
    x = tape.inputs("x", "y", "z")
    outputs = []
    for signed in (x, tuple(-each for each in x)):
        for operation in OPERATIONS.values():
            outputs.append(operation.compute(*signed[: operation.arity]))
    tape.outputs([*outputs, 0, -2.5, x[0], -x[1]])
    return tape


def loaded(name, tape, arrays=ARRAYS):
    function = BACKENDS[name].load(tape, arrays)
    if function is None:
        pytest.skip(f"nothing here can run {name}")
    return function


def compare(function, tape, points, tolerance=0.0):
    for x, y, z in points:
        expected = np.array(tape.evaluate({"x": x, "y": y, "z": z}), dtype=float)
        found = function([x, y], [z])
        np.testing.assert_allclose(found, expected, rtol=2e-15, atol=tolerance, err_msg=f"at {x}, {y}, {z}")


def test_the_tape_holds_every_operation():
    tape = every_operation()
    assert {tape.nodes[index][0] for index in tape.live()} >= set(OPERATIONS)


@pytest.mark.parametrize("name", BACKENDS)
def test_every_operation_gives_what_the_tape_gives(name):
    tape = every_operation()
    compare(loaded(name, tape), tape, ORDINARY, 1e-15)


@pytest.mark.parametrize("name", BACKENDS)
def test_every_operation_at_zeros_and_infinities(name):
    tape = every_operation()
    compare(loaded(name, tape), tape, itertools.product(SPECIAL, repeat=3))


@pytest.mark.parametrize("name", BACKENDS)
def test_infinities_may_stand_on_a_tape(name):
    tape, inf = Tape(), math.inf
    x, y, z = tape.inputs("x", "y", "z")
    chosen = [minimum(x, inf), maximum(y, -inf), minimum(x, -inf), select(x, inf, -y), select(y, z, -inf)]
    tape.outputs([inf, -inf, x + inf, y - inf, x * inf, -y * inf, z / inf, inf / (2 + z), abs(x) ** inf, *chosen])
    compare(loaded(name, tape), tape, [*ORDINARY[:10], (0.5, -2.0, 1.0), (-3.0, 0.25, 0.0), (inf, -inf, 1.0)])


@pytest.mark.parametrize("name", BACKENDS)
def test_a_branch_that_is_not_chosen_may_have_no_value(name):
    tape = Tape()
    x, y, z = tape.inputs("x", "y", "z")
    tape.outputs([select(x, 1 / x, 7), select(x, OPERATIONS["log"].compute(x), -x), y * z])
    np.testing.assert_array_equal(loaded(name, tape)([0.0, 2.0], [3.0]), [7, 0, 6])


@pytest.mark.parametrize("name", BACKENDS)
def test_arguments_that_do_not_fit_are_all_reported(name):
    if name == "CasADi":
        pytest.importorskip("casadi")
    tape = Tape()
    x, y = tape.inputs("x", "y")
    tape.outputs([x * y])
    with pytest.raises(MomentreeError) as error:
        BACKENDS[name].emit(tape, [("a", ["x", "x"]), ("b", ["yy"]), ("a", [])])
    for part in (
        "argument 'a' appears twice",
        "argument 'a': 'x' appears in two columns",
        "argument 'b': the tape has no input 'yy'",
        "input 'y' is in no argument, but the outputs need it",
    ):
        assert part in str(error.value)


def test_a_backend_that_lacks_an_operation_is_refused_when_it_is_made():
    spellings = dict.fromkeys([*OPERATIONS, *LOOKUPS], "f({})")
    del spellings["tanh"]
    with pytest.raises(MomentreeError, match="backend 'MATLAB': no spelling of tanh"):
        Backend("MATLAB", spellings, print, print)
    with pytest.raises(MomentreeError, match="no such operation as gamma"):
        complete("MATLAB", {**spellings, "tanh": "tanh({})", "gamma": "gamma({})"})


def test_backends_are_found_by_name():
    assert backend("C") is BACKENDS["C"]
    with pytest.raises(MomentreeError, match=r"there is no backend 'Casadi'\. .*'CasADi'"):
        backend("Casadi")
