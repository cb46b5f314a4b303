"""Arcs as text: what is read, and every mistake with its place and the way out."""

import pytest

from momentree.errors import GraphError
from momentree.structure.arc_text import read_arcs, read_pair
from momentree.structure.graph import Graph


@pytest.mark.parametrize(
    "text",
    [
        "0-1 1-2 1-3",
        "0-1,1-2;1-3",
        "0->1 1→2\n\n1-3",
        "s0-s1 s1->s2 s1-s3",
        "# lecture\n0-1 # base\n1-2\t1-3",
        "\ufeff0-1 1-2 1-3",
    ],
)
def test_texts_of_the_same_arcs(text):
    assert read_arcs(text) == [(0, 1), (1, 2), (1, 3)]
    assert Graph(text) == Graph([(0, 1), (1, 2), (1, 3)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            r"^arcs: there is no arc. Write an arc as 0-1, from the body that it leaves to .*: 0-1 1-2 1-3",
        ),
        ("  # nothing", r"^arcs: there is no arc"),
        ("0-1 1-1", r"^arcs: arc 2: self-loop at body 1. A joint joins two different bodies"),
        ("0-1 1-2 2-1", r"^arcs: arc 3: arc 2 joins bodies 2 and 1 already. One joint .* omit one"),
        ("0-1 0-1", r"^arcs: arc 2: arc 1 joins bodies 0 and 1 already"),
        ("0-1 1-3", r"^arcs: body 2: no arc names it. Number the bodies 1 to 2 without gaps, or add an arc"),
        ("0-1 1-5", r"^arcs: bodies 2, 3, 4: no arc names them. Number the bodies 1 to 2"),
        ("0-10000000", r"^arcs: bodies 1, 2, 3, 4, 5, 6, 7, 8 and 9999991 more: no arc names them"),
        ("0-10000001", r"^arcs: arc 1: there is no body 10000001"),
        ("1-2 2-3", r"^arcs: no arc names the external body 0. Join a body with it: 0-1"),
        ("0-1 12", r"^arcs: arc 2: '12' is not an arc. Write an arc as 0-1"),
        ("0--1", r"^arcs: arc 1: '0--1' is not an arc"),
        ("0-1.5", r"^arcs: arc 1: '0-1.5' is not an arc"),
        ("0 - 1", r"^arcs: arc 1: '0' is not an arc"),
        ("٠-١", r"^arcs: arc 1: '٠-١' is not an arc"),
        ("0-1 <b>\x07" + "x" * 99, r"^arcs: arc 2: '<b>\?x{36}\.\.\.' is not an arc"),
        ("0-1\n1-2 2-2\n5", r"^arcs:2: arc 3: self-loop at body 2.*\narcs:3: arc 4: '5' is not an arc"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(GraphError, match=message):
        Graph(text)


def test_of_many_mistakes_the_first_are_named():
    with pytest.raises(GraphError, match=r"and 12 more$"):
        read_arcs("x " * 20)


@pytest.mark.parametrize("text", ["3-4", " s3 - s4 ", "3,4", "3 4", "3->4"])
def test_pairs_of_bodies(text):
    assert read_pair(text, "--path") == (3, 4)


@pytest.mark.parametrize("text", ["", "3", "3-4-5", "a-b", "3-", "--path"])
def test_what_is_no_pair_is_refused(text):
    with pytest.raises(GraphError, match=r"^--path '.*': is not a pair of bodies. Write it as 3-4"):
        read_pair(text, "--path")
