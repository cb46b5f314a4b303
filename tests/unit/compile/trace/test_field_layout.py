"""Tables of forms: equal forms have one number, constants are flattened once, variables each time."""

from __future__ import annotations

from mechanisms import four_bars_in_a_row
from momentree.compile.trace.field_layout import FormTable, dual_leaf, flatten, general, unflatten
from momentree.compile.trace.right_hand_sides import positions_code
from momentree.compile.trace.tape import Tape
from momentree.spatial import ZERO, Motion
from momentree.spatial.dual import Dual
from momentree.spatial.vector import Vector


def test_equal_forms_have_one_number_and_zeros_another():
    table = FormTable()
    one, other, still = (
        table.flattened(Motion(Vector(*x), Vector(4, 5, 6)) if x else Motion(ZERO, Vector(4, 5, 6)))
        for x in ((1, 2, 3), (7, 8, 9), ())
    )
    assert table.about(one.kind).form == table.about(other.kind).form != table.about(still.kind).form
    assert len({table.about(field.kind).general for field in (one, other, still)}) == 1
    assert one.numbers != other.numbers


def test_fields_of_one_form_are_of_one_kind_if_they_have_the_same_zeros_and_ones():
    table = FormTable()
    one, other, like = (table.flattened(Vector(*x)) for x in ((1, 0, 3.0), (1, 2, 0), (1, 0.0, -5.0)))
    assert one.kind == like.kind != other.kind
    assert table.about(one.kind).plain == (1, 0, None)
    assert table.about(one.kind).form == table.about(other.kind).form


def test_a_constant_is_flattened_once_and_a_variable_each_time():
    table, thing = FormTable(), Motion(Vector(1, 2, 3), Vector(4, 5, 6))
    assert table.flattened(thing) is table.flattened(thing)
    assert table.flattened(thing)[:2] == flatten(thing)
    x = Tape().input("x")
    moving = Motion(Vector(x, 0, 0), ZERO)
    first = table.flattened(moving)
    assert table.flattened(moving) is not first
    assert unflatten(first.form, first.numbers) == moving


def test_dual_numbers_are_pairs_and_plain_ones_stay_plain():
    x, dx = Tape().inputs("x", "dx")
    leaf = dual_leaf()
    thing = Motion(Vector(Dual(x, dx), 2.0, 0), ZERO)
    form, numbers = flatten(thing, leaf=leaf)
    assert numbers == [x, dx, 2.0, 0, 0, 0]
    moved = unflatten(form, numbers)
    assert (moved.linear.x.value, moved.linear.x.derivative, moved.linear.y, moved.angular) == (x, dx, 2.0, ZERO)
    assert isinstance(moved.linear.y, float)
    for each in (thing, Motion(ZERO, ZERO), Motion(ZERO, Vector(1, x, Dual(x, 1)))):  # all fit the general form
        assert general(flatten(each, leaf=leaf)[0], leaf) == flatten(each, True, leaf)[0]
    twice, numbers = flatten((Dual(Dual(x, dx), 0), 1.0), leaf=dual_leaf(leaf))
    inner, outer = unflatten(twice, numbers)
    assert numbers == [x, dx, 0, 0, 1.0, 0, 0, 0]
    assert (inner.value.derivative, inner.derivative, outer) == (dx, 0, 1.0)


def test_a_list_that_changes_is_read_again():
    table, things = FormTable(), [1.0, 2.0]
    assert table.flattened(things).numbers == [1.0, 2.0]
    things[0] = 3.0
    assert table.flattened(things).numbers == [3.0, 2.0]


def test_what_is_traced_again_of_a_mechanism_gives_the_same_text():
    mechanism = four_bars_in_a_row(12).build().mechanism
    first, second = (positions_code(mechanism, "rolled") for _ in range(2))
    assert first.text(1) == second.text(1)
    assert positions_code(four_bars_in_a_row(12).build().mechanism, "rolled").text(1) == first.text(1)
