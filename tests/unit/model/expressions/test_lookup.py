"""Lookups in tables on every kind of scalar: the same numbers, and exact derivatives."""

import math

import numpy as np
import pytest

from momentree.compile.trace.derivatives import jacobian
from momentree.compile.trace.tape import Tape
from momentree.errors import ExpressionError, MomentreeError
from momentree.model.expressions.expression import Reference, parse
from momentree.model.expressions.lookup import Lookup, beyond_tables
from momentree.model.tables import Table
from momentree.spatial.dual import Dual

X = [0.0, 0.5, 0.75, 2.0, 3.5]
TABLES = [
    Table("f", X, [1, -2, 0.5, 3, 1]),
    Table("f", X, [1, -2, 0.5, 3, 1], periodic=True),
    Table("f", X, [1, -2, 0.5, 3, 0], "linear"),
    Table("f", X, [1, -2, 0.5, 3, 0], outside="linear"),
]
HERE = [0.0, 0.1, 0.5, 0.6, 0.75, 1.0, 2.0, 3.0, 3.5]
table_and_order = pytest.mark.parametrize(
    ("table", "order"), [(table, order) for table in TABLES for order in range(table.degree)]
)


@table_and_order
def test_floats_arrays_and_tapes_give_the_same_bits(table, order):
    tape = Tape()
    tape.outputs([Lookup(table, order)(tape.input("x"))])
    one_by_one = [Lookup(table, order)(x) for x in HERE]
    assert one_by_one == table(np.array(HERE), order).tolist() == [tape.evaluate({"x": x})[0] for x in HERE]


@table_and_order
def test_dual_numbers_and_tapes_carry_the_next_derivative(table, order):
    tape = Tape()
    x = tape.input("x")
    tape.outputs(jacobian(tape, [Lookup(table, order)(x)], [x]).values)
    for at in HERE:
        expected = Lookup(table, order + 1)(at)
        assert Lookup(table, order)(Dual(at, 2.0)).derivative == pytest.approx(2 * expected, rel=1e-13, abs=1e-12)
        assert tape.evaluate({"x": at})[0] == pytest.approx(expected, rel=1e-13, abs=1e-12)


def test_a_lookup_and_its_slope_search_once():
    tape = Tape()
    x = tape.input("x")
    tape.outputs([TABLES[0](x), TABLES[0](x, 1), TABLES[0](x, 2), TABLES[3](x)])
    found = [tape.nodes[i][0] for i in tape.live()]
    assert sum(getattr(op, "kind", "") == "locate" for op in found) == 2  # two tables
    assert "locate[f](x)" in tape.listing()


def test_equal_tables_are_one_on_a_tape():
    tape = Tape()
    x = tape.input("x")
    assert TABLES[0](x) == Table("g", X, [1.0, -2.0, 0.5, 3.0, 1.0])(x)
    assert TABLES[0](x) != TABLES[3](x)


def test_scalars_that_know_nothing_of_tables_are_refused():
    with pytest.raises(MomentreeError, match="table 'f' cannot be computed for complex"):
        TABLES[0](1j)


def test_the_search_finds_each_piece():
    pieces = TABLES[0].pieces
    around = [-math.inf, -1.0, 0.0, 0.4, 0.5, 3.4, 3.5, math.nextafter(3.5, 4), 9.0, math.inf, math.nan]
    assert [pieces.located(x) for x in around] == [0, 0, 1, 1, 2, 4, 4, 5, 5, 5, 6]
    assert pieces.located(np.array(around)).tolist() == [0, 0, 1, 1, 2, 4, 4, 5, 5, 5, 6]


def test_why_an_expression_has_no_value():
    e, t = parse("f(2*t) + f(t)^2 + g(log(t))", {"f": TABLES[0], "g": TABLES[0]}), Reference("t")
    assert beyond_tables(e, {t: 1.0}) == []
    assert beyond_tables(e, {t: 3.0}) == ["table 'f' is given from 0 to 3.5, and its argument is 6"]
    assert beyond_tables(e, {t: -1.0})[0].endswith("its argument is -2")
    with pytest.raises(ExpressionError, match=r"^table 'f' is given from 0 to 3.5, and its argument is 6$"):
        e.evaluate({t: 3.0})
