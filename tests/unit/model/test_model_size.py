"""Long texts and large models: time in proportion to their length, or a refusal with its reason."""

import sys

import numpy as np
import pytest

import momentree as mt
from momentree.errors import ExpressionError
from momentree.model.check import MOST
from momentree.model.expressions import expression as expressions
from momentree.model.values import Mistake, Values
from momentree.structure import rooted_graph


def chained(n, text):
    return {"p0": 1.0, **{f"p{i}": text.format(f"p{i - 1}") for i in range(1, n)}}


def one_body(m, mass=1.0):
    m.body("b", mass=mass, inertia=(1, 1, 1))
    m.joint("A", mt.Revolute("z"), "ground", "b")
    return m


def work(f):
    """How many calls of Python functions something takes: a measure of time that does not depend on the machine."""
    count = 0

    def counted(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        f()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", ["{0} + 1", "0.5*{0} + 0.5*{0}"])
@pytest.mark.repeats(1)
def test_chained_parameters_take_time_in_proportion_to_their_number(text):
    few, many = (work(lambda n=n: Values(chained(n, text))) for n in (50, 200))
    assert many < 4.5 * few
    values = Values(dict(reversed(chained(1500, text).items())))  # deeper than Python's stack, in any order
    assert not values.mistakes
    assert values.scalar("p1499") == (1500 if "+ 1" in text else 1)


def test_a_chain_of_parameters_may_hang_on_a_free_one():
    """Each is used twice by the next: written out it would have 2^300 parts."""
    m = mt.Model("free")
    for name, value in chained(300, "0.5*{0} + 0.5*{0}").items():
        m.parameter(name, value)
    system = one_body(m, "p299").build(free=["p0"])
    np.testing.assert_allclose(system.mass_matrix([0.0]), [[1.0]])


def test_a_long_circle_of_parameters_is_told_briefly():
    values = Values({f"p{i}": f"p{(i + 1) % 2000} + 1" for i in range(2000)})
    (mistake,) = values.mistakes.values()
    assert "depends on itself: p0 -> p1" in str(mistake)
    assert len(str(mistake)) < 200


def test_shared_parts_are_not_written_out_without_end():
    x = expressions.reference("x")
    for _ in range(100):
        x = x + x * 0.5
    assert str(x) == "an expression of 1000000000 parts"
    with pytest.raises(Mistake, match="Define parameters for parts"):
        mt.Model("m").parameter("y", x)


def test_deep_texts_are_refused_with_the_limit():
    for text, limit in (("(" * 100_000 + "1" + ")" * 100_000, "the limit is 10000"), ("(" * 200 + "1", "100 levels")):
        with pytest.raises(ExpressionError, match=limit):
            expressions.parse(text)


@pytest.mark.long
def test_at_most_a_thousand_problems_are_told():
    m = mt.Model("missing")
    for i in range(3 * MOST):
        m.joint(f"j{i}", mt.Revolute("z"), "ground", f"nobody{i}")
    found = m.check()
    assert len(found) == MOST + 1
    assert "only the first 1000 problems" in found[-1].message
    values = Values({f"p{i}": f"q{i}" for i in range(3 * MOST)})
    assert len(values.mistakes) == 3 * MOST


KINDS = {
    "floating": lambda m, i: m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1)),
    "chain": lambda m, i: m.joint(
        f"j{i}", mt.Revolute("y"), f"b{i - 1}" if i else "ground", m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1))
    ),
    "star": lambda m, i: (
        m.joint(f"j{i}", mt.Revolute("y"), "ground", m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1))),
        m.torque(f"j{i}", f"-j{i}' + sin(t)"),
        m.latch(f"j{i}", 1.0),
    ),
    "massless": lambda m, i: m.joint(
        f"j{i}",
        mt.Revolute("xy"[i % 2]),
        m.bodies[-1].at((1, 0.3, 0.2)) if i else m.ground,
        m.body(f"b{i}", massless=True) if i % 2 == 0 else m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1)),
    ),
    "split": lambda m, i: (
        m.joint(f"j{i}", mt.Revolute("y"), "ground", m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1))),
        m.joint(f"k{i}", mt.Revolute("y"), m.ground.at((1, 0, 0)), m.bodies[-1].at((1, 0, 0))),
        m.split(f"b{i}", f"k{i}") if i % 2 else m.cut(f"k{i}"),
    ),
}


@pytest.mark.repeats(1)
@pytest.mark.parametrize("kind", KINDS)
def test_building_takes_time_in_proportion_to_the_number_of_bodies(kind, monkeypatch):
    made = []
    monkeypatch.setattr(rooted_graph, "kruskal", lambda *given, old=rooted_graph.kruskal: made.append(1) or old(*given))

    def build(n):
        m = mt.Model(kind)
        for i in range(2 * n):
            KINDS[kind](m, i)
        m.build()

    build(1)
    few, many = (work(lambda n=n: build(n)) for n in (20, 160))
    assert many < 9 * few
    made.clear()
    build(50)
    assert len(made) <= 4  # as many graphs for any number of bodies
