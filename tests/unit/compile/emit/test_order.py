"""The order of operations: arguments first, the same bits, few values alive."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import EVERY_JOINT, random_tree
from momentree.compile.emit import order
from momentree.compile.emit.lanes import fused_products
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.emit.order import arguments_of, fewest_alive, forwards, in_time, most_alive
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import trace
from momentree.compile.trace.tape import edges_of


def timed(arguments):
    return in_time(arguments, dict.fromkeys(arguments, 4), {}, {max(arguments)} if arguments else set())


ORDERS = [forwards, fewest_alive, timed]


def binary_tree(depth: int) -> dict[int, tuple[int, ...]]:
    """Operations in levels, the leaves first: the result of each is taken once."""
    arguments: dict[int, tuple[int, ...]] = {}
    level = list(range(10, 10 + 2**depth))
    arguments |= dict.fromkeys(level, ())
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        level = [1000 * (len(arguments) + i) + 7 for i in range(len(pairs))]
        arguments |= dict(zip(level, pairs, strict=True))
    return arguments


@pytest.mark.parametrize("depth", range(7))
def test_a_tree_takes_its_ershov_number_of_registers(depth):
    # A. P. Ershov, On programming of arithmetic operations, 1958: depth + 1, the result in the place of an argument
    tree = binary_tree(depth)
    assert most_alive(tree, list(tree)) == max(2**depth + (depth > 0), 1)
    assert most_alive(tree, fewest_alive(tree)) == depth + 1 + (depth > 0)


def forward_dynamics(seed: int):
    tape, arguments = trace(random_tree(np.random.default_rng(seed), EVERY_JOINT).build().mechanism, "forward_dynamics")
    return tape, arguments


@pytest.mark.repeats(1, of="ordering")
@pytest.mark.parametrize("ordering", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_arguments_come_first_and_nothing_is_lost(ordering, seed):
    tape, _ = forward_dynamics(seed)
    nodes, written, outputs = tape.nodes, tape.online(), list(tape.output_edges())
    fused = fused_products(nodes, written, outputs)
    arguments = arguments_of(nodes, written, fused)
    ordered = ordering(arguments)
    place = {index: i for i, index in enumerate(ordered)}
    assert sorted(ordered) == sorted(set(written) - fused)
    for index in ordered:
        for edge in edges_of(nodes[index]):
            taken = map(abs, edges_of(nodes[abs(edge)])) if abs(edge) in fused else [abs(edge)]
            assert all(place[one] < place[index] for one in taken if one in place)
    assert most_alive(arguments, fewest_alive(arguments)) <= most_alive(arguments, list(arguments))


def test_orders_give_the_same_bits():
    tape, arrays = forward_dynamics(1)
    random = np.random.default_rng(2)
    inputs = [random.standard_normal((16, len(columns))) for _, columns in arrays]
    codes = [StraightLine.of(tape, arrays, Target.host()), StraightLine.of(tape, arrays, Target.host())]
    codes[1]._lanes = 1  # as on a GPU
    results = [Kernel(code, width, Target.host())(inputs) for code in codes for width in (1, 4)]
    assert codes[0].text(1) != codes[1].text(1)
    assert all(np.array_equal(result, results[0], equal_nan=True) for result in results)


def test_in_a_loop_what_the_next_body_waits_for_comes_first():
    # 9 is handed over late; 3 to 5 lead to what is handed on, 1 and 2 do not
    arguments = {1: (), 2: (1,), 3: (), 4: (3, 9), 5: (4,)}
    cycles = dict.fromkeys(arguments, 4)
    assert in_time(arguments, cycles, {9: 0}, {5}) == [3, 1, 4, 2, 5]
    assert in_time(arguments, cycles, {9: 0}, {2}) == [1, 3, 2, 4, 5]
    assert in_time(arguments, cycles, {9: 20}, {5}) == [3, 1, 2, 4, 5]


def test_in_a_loop_registers_are_not_filled_with_what_can_wait(monkeypatch):
    # 20 pairs, whose results are added up: first all on the longest path, or one pair after the other
    pairs = {100 + 3 * i + k: () for i in range(20) for k in range(2)}
    sums = {102 + 3 * i: (100 + 3 * i, 101 + 3 * i) for i in range(20)}
    arguments = pairs | sums
    cycles = dict.fromkeys(arguments, 4)
    few = most_alive(arguments, in_time(arguments, cycles, {}, set(sums)))
    monkeypatch.setattr(order, "REGISTERS", 1000)
    assert few < most_alive(arguments, in_time(arguments, cycles, {}, set(sums)))


def test_a_tape_without_operations_has_an_order():
    assert forwards({}) == fewest_alive({}) == timed({}) == []
    assert most_alive({}, []) == 0
