"""Tables in C: the arrays and the search stand once, and the compiled code gives the numbers of the tape."""

import math

import numpy as np
import pytest

from momentree.compile.emit.c_code import c_preamble, emit, load
from momentree.compile.trace.tape import Tape
from momentree.model.tables import Table

X = np.cumsum(np.random.default_rng(3).uniform(0.1, 1, 9))
TABLE = Table("cam", X, np.cos(X), outside="linear")


def tape_of(*tables):
    tape = Tape()
    x = tape.input("x")
    tape.outputs([table(x, order) for table in tables for order in range(3)])
    return tape


def test_arrays_stand_once_before_the_functions():
    text = c_preamble([tape_of(TABLE), tape_of(TABLE, Table("other", X, np.sin(X)))])
    assert text.count("static const double momentree_breaks_") == text.count("momentree_rows_") == 2
    assert text.count("static inline double momentree_locate") == 1
    assert "NAN" in text  # the other table has no value beyond its ends
    assert "momentree" not in c_preamble([])


def test_compiled_c_gives_the_numbers_of_the_tape():
    tape = tape_of(TABLE, Table("other", X, np.sin(X)))
    function = load(tape, [("x", ["x"])])
    if function is None:
        pytest.skip("there is no C compiler")
    for x in (*X, X[0] - 1, X[-1] + 1, 2.0, -0.0, math.inf, math.nan):
        np.testing.assert_array_equal(function([x]), tape.evaluate({"x": float(x)}), err_msg=str(x))


def test_a_name_never_reaches_the_code():
    assert "evil" not in emit(tape_of(Table("*/ evil(); /*", X, np.cos(X))), [("x", ["x"])])
