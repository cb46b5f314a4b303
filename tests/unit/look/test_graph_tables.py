"""The tables of a graph: what they say is what the graph says, small, large, connected or not."""

import json
import sys
import time

import pytest

import momentree as mt
from momentree.errors import GraphError
from momentree.look.graph_tables import graph_data, graph_report, identities
from momentree.structure.graph import Graph
from random_graphs import law, parts, random_graph


def rows(report, header):
    """The cells of the table that begins with the header, as far as two spaces part them."""
    lines = report.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(header))
    body = lines[first + 2 :]
    return [[cell for cell in line.split("  ") if cell] for line in body[: [*body, ""].index("")]]


def test_the_lecture_example():
    report = str(mt.Graph("0-1 1-2 1-3 3-4"))
    assert report.startswith("4 bodies and the external body s0, 4 arcs: a tree, numbered properly\n")
    assert [[cell.strip() for cell in row] for row in rows(report, "arc")][2] == ["u3", "s1", "s3", "u1, u2, u4"]
    assert "s4, u4, s3, u3, s1, u1, s0" in report
    assert "  s0 < s1 < s2\n  s0 < s1 < s3 < s4\n" in report
    assert "S0 = [ +1   0   0   0 ]" in report
    assert "S = [ -1  +1  +1   0 ]    T = [ -1  -1  -1  -1 ]" in report
    assert "T by its definition (paths to s0) equals S^-1 by elimination" in report
    assert "The present numbering is proper already and is kept." in report
    assert "cut" not in report.replace("cut off", "")


def test_a_graph_with_loops_names_tree_cut_arcs_and_cycles():
    report = graph_report(Graph([(0, 1), (1, 2), (1, 2), (2, 0)]))
    assert "connected, 2 loops" in report
    assert "spanning tree: u1, u2; cut: u3, u4" in report
    assert "u2, u3 join the same two bodies" in report
    assert "s1, u3, s2, u2, s1" in report
    assert "S_full Phi = 0" in report


def test_both_numberings_are_shown_if_the_first_is_not_proper():
    report = graph_report(Graph("5-6 2-1 0-4 3-2 4-5 2-4"))
    assert "not numbered properly" in report
    assert "the same graph, numbered properly: 0-1 2-1 1-3 2-4 5-2 3-6" in report
    assert report.count("S T = T S = E") == 2
    assert "Cut arcs come last: u2 becomes u3." in graph_report(Graph("0-2 0-1 2-1", weights=[1, 2, 1]))


def test_a_graph_that_is_not_connected_has_no_tree():
    report = graph_report(Graph("0-1 2-3 3-4 4-2"))
    assert "not connected, with 1 loop, 2 parts\n  s0, s1\n  s2, s3, s4\n" in report
    assert not any(word in report for word in ("path to s0", "order", "round", "T ="))
    assert "T" not in graph_data(Graph("0-1 2-3"))


def test_small_graphs():
    lines = str(Graph([])).splitlines()
    assert lines[0] == "0 bodies and the external body s0, 0 arcs: a tree, numbered properly"
    assert lines[-1].split() == ["s0", "-", "-", "-", "-", "s0"]
    assert len(lines) == 5
    assert str(Graph("0-1")).startswith("1 body and the external body s0, 1 arc: a tree")
    assert "is the image of s3" in str(Graph("0-1 1-2 1-3 2-3").split([(3, 4)]))


def test_a_thousand_bodies_have_short_tables():
    for graph in (Graph.from_parents(range(1000)), Graph.from_parents([0] * 1000), random_graph(1000, 300, 1)):
        begun = time.process_time()
        report = str(graph)
        assert time.process_time() - begun < 20
        assert len(report.splitlines()) < 350
        assert max(map(len, report.splitlines())) < 300
        assert f"... and {graph.m - 60} more" in report
        assert "... and 941 more" in report
        assert "S0, S and T of 1000 bodies are too large to print; --json has them up to 1000 bodies." in report


@law(examples=40)
def test_all_identities_hold(graph):
    found = identities(graph)
    assert len(found) >= 4 + bool(graph.cut)
    proper = graph.renumbered()
    if list(proper.k).count(0) == 1:
        assert any("only S01" in law for law in identities(proper))
    assert str(graph)


@law(parts, examples=40)
def test_data_are_those_of_the_graph(graph):
    data = json.loads(json.dumps(graph_data(graph)))
    assert data["connected"] == graph.is_connected
    assert Graph(data["arcs"], n=data["n"]) == graph
    assert sorted(body for part in data["parts"] for body in part) == list(range(graph.n + 1))
    if graph.is_connected:
        assert data["T"] == graph.T.tolist()
        assert Graph(data["proper_arcs"], n=graph.n, cut=range(graph.n + 1, graph.m + 1)).is_proper
        assert sum(len(one["leaves"]) for one in data["peeling"]) == graph.n
    assert str(graph)


def test_identities_are_computed(monkeypatch):
    """A wrong T, and none of its laws is said."""
    graph = Graph("0-1 1-2")
    vars(graph).update(T=-graph.T)
    assert identities(graph) == ["every column of S_full sums to zero"]


GROWING = {
    "floating": lambda n: Graph([(0, 1)], n=n),
    "chain": lambda n: Graph([(i, i + 1) for i in range(n)]),
    "parallel arcs": lambda n: Graph([(0, 1)] * n),
    "cycles through all": lambda n: Graph([(i, i + 1) for i in range(n)] + [(0, n)] * n),
    "star": lambda n: Graph([(0, i) for i in range(1, n)]),
    "not numbered properly": lambda n: Graph([(i + 1, i) for i in range(n - 1)] + [(n - 1, n)]),
    "pairs": lambda n: Graph([(i + j, i + 1) for j in (0, 2) for i in range(n - 2)]),
}


@pytest.mark.parametrize("what", GROWING)
def test_the_work_of_printing_a_graph_grows_as_the_graph(what):
    """Counted are lines of code, which no other process disturbs: of four times as many bodies, four times as many."""

    def work(n: int) -> tuple[int, int]:
        graph, lines = GROWING[what](n), 0

        def count(frame, event, argument):
            nonlocal lines
            lines += event == "line"
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            text = str(graph)
        finally:
            sys.settrace(before)
        return lines, len(text)

    work(100)  # what is done once
    (few, short), (more, long) = work(400), work(1600)
    assert more < 6 * few
    assert long < 3 * short


def test_a_graph_of_more_bodies_than_fit_into_memory_is_refused():
    for arcs, n in (([(0, 1)], 10**9), ([(0, 10**9)], None), ([(0, 1)], 10_000_001)):
        with pytest.raises(GraphError, match="10,000,000"):
            Graph(arcs, n=n)
