"""Answers about pairs of bodies, bodies, arcs and walks."""

from momentree.look.graph_answers import Questions, about_arc, about_body, about_pair, about_walk, answers
from momentree.structure.graph import Graph
from random_graphs import law, parts

GRAPH = Graph("0-1 1-2 1-3 3-4 4-2 2-3")


def test_about_two_bodies():
    assert about_pair(Graph("0-1 1-2 1-3 3-4"), 2, 4).lines == [
        "path from s2 to s4: s2, u2, s1, u3, s3, u4, s4",
        "3 arcs; against their direction: u2",
        "s2 and s4 are not adjacent",
        "neither s2 < s4 nor s4 < s2",
    ]
    answer = about_pair(GRAPH, 4, 1)
    assert "s1 < s4: s1 lies on the path from s4 to s0" in answer.lines
    assert answer.lines[0].startswith("path from s4 to s1 through the spanning tree: s4, u4, s3, u3, s1")
    assert len(answer.data["other_paths"]) == 3
    assert "s1 <= s1, one and the same body" in about_pair(GRAPH, 1, 1).lines


def test_about_bodies_of_different_parts():
    apart = Graph("0-1 2-3")
    assert about_pair(apart, 1, 2).lines[0] == "no path from s1 to s2: they are not connected"
    assert about_pair(apart, 2, 3).lines[0] == "path from s2 to s3: s2, u2, s3"
    assert about_body(apart, 2).data["reachable"] == [2, 3]


def test_about_a_body():
    lines = about_body(GRAPH, 3).lines
    assert lines[1:4] == ["incident with u3, u4, u6", "adjacent to s1, s2, s4", "reachable from it: s0, s1, s2, s3, s4"]
    assert lines[4:] == ["preceded by arc u3 and body s1", "path to s0: s3, u3, s1, u1, s0", "s3 < s4"]
    assert about_body(GRAPH, 4).lines[-1] == "a leaf: it lies before no other body"
    assert about_body(GRAPH, 0).lines[-1] == "s0 < s1, s2, s3, s4"
    assert about_body(Graph([]), 0).lines[1:3] == ["incident with no arc", "adjacent to no body"]


def test_about_an_arc():
    assert about_arc(GRAPH, 2).lines == [
        "u2 leaves s1 (i+) and enters s2 (i-), and is incident with both",
        "adjacent to u1, u3, u5, u6",
        "in the spanning tree",
    ]
    assert about_arc(GRAPH, 5).lines[-1] == "cut: it closes a loop"
    assert about_arc(Graph("0-1"), 1).lines[1] == "adjacent to no arc"


def test_about_a_walk():
    assert about_walk(GRAPH, "s3, u4, s4, u5, s2, u6, s3").lines == [
        "s3, u4, s4, u5, s2, u6, s3: a cycle",
        "no arc comes twice: it is a trail",
        "it ends where it begins: a closed trail, which the lecture calls a cycle",
    ]
    assert about_walk(GRAPH, "1-3-4").lines[-1] == "no body comes twice: it is a path (a simple trail)"
    assert about_walk(GRAPH, "1-2-1-3").lines[1:] == ["arcs that come twice: u2", "bodies that come twice: s1"]
    assert about_walk(GRAPH, "1-2-1").lines[-1] == "it ends where it begins"


@law(parts, examples=60)
def test_every_question_has_an_answer(graph):
    pairs = [(i, j) for i in range(min(3, graph.n + 1)) for j in range(graph.n + 1)]
    found = answers(graph, Questions(pairs, range(graph.n + 1), range(1, graph.m + 1), ["0"]))
    assert len(found) == len(pairs) + graph.n + 1 + graph.m + 1
    for (i, j), answer in zip(pairs, found, strict=False):
        assert answer.data["adjacent"] == graph.are_adjacent(i, j)
        assert ("path" in answer.data) == graph.are_connected(i, j)
    assert all(str(answer) for answer in found)
