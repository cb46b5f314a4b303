"""Sums as chains: the same values, as few operations as products, and the latest factor last."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import EVERY_JOINT, random_tree
from momentree.compile.emit.lanes import fused_products
from momentree.compile.emit.order import FUSED, LATENCIES
from momentree.compile.emit.sums import ChainedTape
from momentree.compile.trace.quantities import trace
from momentree.compile.trace.tape import LEAVES, Tape


def written(tape: Tape) -> int:
    """How many operations are written, products within sums not counted."""
    nodes, live = tape.nodes, tape.live()
    operations = [index for index in live if nodes[index][0] not in LEAVES]
    return len(operations) - len(fused_products(nodes, operations, tape.output_edges()))


@pytest.mark.parametrize("seed", range(3))
def test_a_sum_has_the_same_value_whatever_its_order(seed):
    random = np.random.default_rng(seed)
    tape, arguments = trace(random_tree(random, EVERY_JOINT).build().mechanism, "forward_dynamics")
    values = {name: random.uniform(-1, 1) for _, columns in arguments for name in columns}
    before, after = (np.array(t.evaluate(values)) for t in (tape, ChainedTape(tape).tape))
    assert after == pytest.approx(before, rel=1e-9, abs=1e-9 * np.abs(before).max())
    assert not np.array_equal(after, before)  # some sums were in another order
    assert written(ChainedTape(tape).tape) <= written(tape)


def test_a_sum_of_products_takes_one_operation_for_each():
    tape = Tape()
    a, b, c, d, e, f, g = tape.inputs(*"abcdefg")
    tape.outputs([(a * b - c * d) + (e * f + g)])  # recorded: two products that wait for sums of their own
    assert written(tape) == 4
    assert written(ChainedTape(tape).tape) == 3
    values = dict(zip("abcdefg", (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0), strict=True))
    assert ChainedTape(tape).tape.evaluate(values) == [2 * 3 - 5 * 7 + 11 * 13 + 17]


def test_the_factor_that_arrives_last_is_waited_for_once():
    tape = Tape()
    a, b, c, d, late = tape.inputs("a", "b", "c", "d", "late")
    total = ((late * a + b * c) + c * d) + a * d
    tape.outputs([total])
    assert ChainedTape(tape, {"late": 1000}).known_at(total) == 1000 + FUSED
    assert ChainedTape(tape).known_at(total) == LATENCIES["*"] + 3 * FUSED


def test_sums_of_what_is_no_product_stay_side_by_side():
    tape = Tape()
    a, b, c, d = tape.inputs(*"abcd")
    total = (a + b) + (c + d)
    tape.outputs([total])
    assert ChainedTape(tape).known_at(total) == 2 * LATENCIES["+"]


def test_what_is_needed_twice_is_computed_once():
    tape = Tape()
    a, b, c, d = tape.inputs(*"abcd")
    inner = a * b + c * d
    tape.outputs([inner, inner + a * c])
    chained = ChainedTape(tape).tape
    assert written(chained) == written(tape) == 3
    first, second = chained.evaluate({"a": 2.0, "b": 3.0, "c": 5.0, "d": 7.0})
    assert (first, second) == (41.0, 51.0)


def test_differences_keep_their_signs():
    tape = Tape()
    a, b, c = tape.inputs(*"abc")
    results = [-(a - b * c), (a - (b - c)) - a * b, -(a + b) - c, (a - b) * (b - a)]
    tape.outputs(results)
    chained = ChainedTape(tape)
    values = {"a": 2.0, "b": 3.0, "c": 7.0}
    assert chained.tape.evaluate(values) == tape.evaluate(values)
    chained.tape.outputs([chained.scalar(x) for x in (*results, 4.0)])
    assert chained.tape.evaluate(values) == [*tape.evaluate(values), 4.0]
