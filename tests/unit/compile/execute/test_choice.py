"""Which code is made by itself: rolled for many bodies, long tapes, and trees of like bodies that gain by it."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import random_body, random_frame
from momentree.compile.execute.choice import LONG_FOR_ALIKE, MANY, is_rolled, is_too_long, kernel_of
from momentree.compile.trace.quantities import trace


def tree(n: int, carrier) -> mt.Model:
    """n bodies on hinges, each on the body that carrier(i) numbers."""
    random = np.random.default_rng(n)
    m = mt.Model("tree")
    ends = [m.ground]
    for i in range(n):
        ends.append(random_body(random, m, f"b{i}"))
        m.joint(f"j{i}", mt.Revolute("z"), random_frame(random, ends[carrier(i)]), random_frame(random, ends[-1]))
    return m


def chain(n: int) -> mt.Model:
    return tree(n, lambda i: i)


def choice(model: mt.Model, code: str | None = None) -> bool:
    mechanism = model.build().mechanism
    return is_rolled(mechanism, code, trace(mechanism, "forward_dynamics")[0])


def test_short_chains_are_straight_line_code_and_longer_ones_are_rolled():
    assert not choice(chain(8))
    assert choice(chain(20))
    assert not is_rolled(chain(20).build().mechanism, None)  # before its tape is known


@pytest.mark.parametrize(
    "carrier", [lambda i: (i + 1) // 2, lambda i: max(0, i - 1)], ids=["binary tree", "two chains"]
)
def test_trees_of_general_bodies_are_rolled_from_the_same_length_on(carrier):
    assert not choice(tree(8, carrier))
    assert choice(tree(20, carrier))


def test_a_tree_whose_bodies_have_zeros_of_their_own_is_straight_line_code_as_long_as_it_can_be_made_quickly():
    def along_axes(n):
        random = np.random.default_rng(n)
        m = mt.Model("tree")
        ends = [m.ground]
        for i in range(n):
            ends.append(random_body(random, m, f"b{i}"))
            carrier = ends[(i + 1) // 2]
            m.joint(f"j{i}", mt.Revolute("xyz"[i % 3]), carrier.at((0, 0, 0.2)), ends[-1])
        return m

    mechanism = along_axes(31).build().mechanism
    tape = trace(mechanism, "forward_dynamics")[0]
    assert len(tape.online()) > LONG_FOR_ALIKE
    assert not is_rolled(mechanism, None, tape)
    assert choice(along_axes(MANY + 1))


def test_a_chain_that_closes_a_loop_is_no_chain():
    m = chain(20)
    m.spring(m.bodies[0].at((0, 0, 0)), m.bodies[19].at((0, 0, 0)), 10.0)  # a force is no loop
    assert choice(m)
    m.joint("closing", mt.Spherical(), m.ground.at((1, 0, 0)), m.bodies[19].at((1, 0, 0)))
    mechanism = m.build().mechanism
    tape = trace(chain(20).build().mechanism, "forward_dynamics")[0]
    assert mechanism.constrained
    assert len(tape.online()) > LONG_FOR_ALIKE
    assert not is_rolled(mechanism, None, tape)


def test_what_is_asked_for_is_made():
    assert choice(chain(2), "rolled")
    assert not choice(chain(20), "straight-line")
    assert not is_too_long(chain(20).build().mechanism)


def test_either_code_gives_the_same_numbers():
    system = chain(20).build()
    random = np.random.default_rng(5)
    arrays = [*random.standard_normal((3, 20)), np.zeros(1)]
    codes = [kernel_of(system.mechanism, "forward_dynamics", code)(arrays) for code in (None, "straight-line")]
    np.testing.assert_allclose(codes[0], codes[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(codes[0], kernel_of(system.mechanism, "forward_dynamics", "rolled")(arrays))
