"""Who decides how many bodies are computed at a time: eight for eight legs, one along a chain."""

import pytest

from momentree.compile.emit import rolled_costs
from momentree.compile.emit.rolled_costs import PRICES, Work, bodies_at_a_time, work
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import trace_rolled
from rolled_systems import binary_tree, brush, chain, four_bars_side_by_side, legs

WHAT = "forward_dynamics"


@pytest.mark.parametrize(
    ("make", "lanes", "wanted"),
    [
        (lambda: legs(8, 6), 8, 8),
        (lambda: legs(8, 6), 4, 4),
        (lambda: legs(8, 6), 1, 1),
        (lambda: legs(4, 3), 8, 4),
        (lambda: brush(40), 8, 8),
        (lambda: binary_tree(6), 8, 8),
        (lambda: four_bars_side_by_side(12), 8, 8),
        (lambda: chain(30), 8, 1),
        (lambda: chain(10, twigs=True), 8, 1),
    ],
)
def test_as_many_bodies_at_a_time_as_there_are_equal_branches(make, lanes, wanted):
    assert bodies_at_a_time(trace_rolled(make().mechanism, WHAT), lanes) == wanted


def test_the_code_of_a_single_row_follows():
    code = trace_rolled(legs(8, 6).mechanism, WHAT)
    lanes = bodies_at_a_time(code, Target.host().lanes(0))
    assert code.bodies_at_a_time == lanes
    assert code.text(1) == code.side_by_side(lanes).text(1)
    assert code.scratch(1) == code.side_by_side(lanes).scratch(1)
    assert code.without_vectors().bodies_at_a_time == 1
    assert " x double>" not in code.without_vectors().text(1)


def test_side_by_side_there_is_less_work():
    code = trace_rolled(legs(8, 6).mechanism, WHAT)
    alone, together = work(code, 1), work(code, 8)
    assert alone.vectors == alone.gathers == 0
    assert together.numbers + 8 * together.vectors == pytest.approx(alone.numbers, rel=0.1)
    assert together.chunks < alone.chunks / 5


def test_along_a_chain_there_is_as_much():
    code = trace_rolled(chain(12).mechanism, WHAT)
    assert work(code, 4) == work(code, 1)


def test_times_are_those_of_the_prices():
    assert Work(1.0, 0.0, 0, 0).time(PRICES[1]) == 1.0
    assert Work(10.0, 20.0, 3, 4).time(PRICES[8]) == pytest.approx(
        sum(n * price for n, price in zip((10, 20, 3, 4), PRICES[8], strict=True))
    )


def test_where_little_is_gained_bodies_stay_one_after_the_other(monkeypatch):
    code = trace_rolled(legs(8, 6).mechanism, WHAT)
    monkeypatch.setattr(rolled_costs, "WORTH", 0.01)
    assert bodies_at_a_time(code, 8) == 1
