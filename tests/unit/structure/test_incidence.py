"""Incidence, adjacency, walks and all paths, against the incidence matrix, SciPy and trial of all sequences."""

import itertools

import numpy as np
import pytest

from momentree.errors import GraphError
from momentree.structure.graph import Graph
from momentree.structure.walks import every_path
from random_graphs import law, parts, small_graphs


@law(parts, examples=60)
def test_incident_and_adjacent_are_what_the_incidence_matrix_says(graph):
    B = np.abs(graph.S_full)
    for k, a in itertools.product(range(graph.n + 1), range(1, graph.m + 1)):
        assert graph.is_incident(k, a) == (B[k, a - 1] == 1)
    assert [list(graph.incident_arcs(k)) for k in range(graph.n + 1)] == [list(np.flatnonzero(row) + 1) for row in B]
    adjacent = (B @ B.T) * (1 - np.eye(graph.n + 1, dtype=int)) > 0
    for i, j in itertools.product(range(graph.n + 1), repeat=2):
        assert graph.are_adjacent(i, j) == adjacent[i, j]
    assert [list(graph.adjacent_bodies(k)) for k in range(graph.n + 1)] == [list(np.flatnonzero(r)) for r in adjacent]
    of_arcs = (B.T @ B) * (1 - np.eye(graph.m, dtype=int)) > 0
    for a, b in itertools.product(range(1, graph.m + 1), repeat=2):
        assert graph.are_adjacent_arcs(a, b) == of_arcs[a - 1, b - 1]
        assert list(graph.adjacent_arcs(a)) == (np.flatnonzero(of_arcs[a - 1]) + 1).tolist()


@law(small_graphs, examples=40)
def test_all_paths_are_those_that_trial_finds(graph):
    """Every sequence of different bodies that are adjacent in turn, once for each choice of parallel arcs."""
    joined = {}
    for a, (i, j) in enumerate(graph.arcs.tolist(), 1):
        joined.setdefault(frozenset((i, j)), []).append(a)
    first, last = 0, graph.n
    found = set()
    between = [k for k in range(graph.n + 1) if k not in (first, last)]
    for length in range(len(between) + 1):
        for inner in itertools.permutations(between, length):
            bodies = (first, *inner, last)
            choices = [joined.get(frozenset(pair), []) for pair in itertools.pairwise(bodies)]
            found |= {(bodies, arcs) for arcs in itertools.product(*choices)}
    paths = [*graph.all_paths(first, last)]
    assert {(path.bodies, path.arcs) for path in paths} == found
    assert len(paths) == len(found)
    assert all(path == graph.walk(str(path)) and path.is_path for path in paths)


@law(parts, examples=60)
def test_there_is_a_path_just_between_connected_bodies(graph):
    for j in range(graph.n + 1):
        path = next(graph.all_paths(0, j), None)
        assert (path is not None) == graph.are_connected(0, j)
        assert path is None or (path.bodies[0], path.bodies[-1]) == (0, j)


class Counted(list):
    """A list that counts how often it is asked."""

    asked = 0

    def __getitem__(self, index):
        self.asked += 1
        return super().__getitem__(index)


def test_a_dead_end_full_of_loops_is_not_searched():
    """A complete graph of 9 bodies at body 2 has 100,000 paths from there, but none leads on."""
    crowd = [*itertools.combinations(range(2, 11), 2)]
    graph = Graph([(0, 1), (1, 2), (1, 11), *crowd])
    neighbors = Counted(graph._neighbors)
    assert [str(path) for path in every_path(neighbors, 0, 11)] == ["s0, u1, s1, u3, s11"]
    assert neighbors.asked < 100


def test_there_is_one_path_in_a_tree_and_many_elsewhere():
    tree, ladder = Graph("0-1 1-2 1-3 3-4"), Graph("0-1 0-2 1-2 1-3 2-3")
    assert [str(path) for path in tree.all_paths(2, 4)] == ["s2, u2, s1, u3, s3, u4, s4"]
    assert len([*ladder.all_paths(0, 3)]) == 4
    assert [str(path) for path in tree.all_paths(2, 2)] == ["s2"]


def test_a_walk_passes_arcs_along_and_against():
    graph = Graph("0-1 2-1")
    assert graph.walk([0, 1, 2]) == graph.walk("0-1-2") == graph.walk("s0 u1 s1 u2 s2") == graph.walk("0, 1 -> 2")
    walk = graph.walk("0-1-2")
    assert (walk.bodies, walk.arcs, walk.signs) == ((0, 1, 2), (1, 2), (1, -1))
    assert len(walk) == 2
    assert graph.walk([np.int64(0), 1]) == graph.walk("s0 u1 s1")
    assert str(graph.walk("2")) == "s2"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("s0 u2 s1", r"walk: s0 and u2 are not incident. u2 joins s1 and s2"),
        ("s1 u2 s0", r"walk: s0 and u2 are not incident"),
        ("s1 u2 s1", r"walk: u2 leads from s1 to s2. Name s2 after it"),
        ("s0 u9 s1", r"walk: there is no arc 9; arcs are numbered 1 to 4"),
        ("s0 u1 s7", r"walk: there is no body 7; bodies are numbered 0 to 3"),
        ("0-3", r"walk: s0 and s3 are not adjacent. Adjacent to s0: s1"),
        ("1-3", r"walk: 2 arcs join s1 and s3: u3, u4. Name one: s1, u3, s3"),
        ("s0 u1", r"walk: it ends with an arc. Name the body after u1"),
        ("u1 s1", r"walk: 'u1' stands where a body must"),
        ("s0 s1 u2", r"walk: 's1' stands where an arc must"),
        ("s0 1 u2", r"walk: '1' stands where an arc must"),
        ("s0 ux s1", r"walk: 'ux' is neither a body nor an arc. Write a walk as s3, u4, s4 or by its bodies, 3-4-2"),
        ("", r"walk: there is no body. Write"),
        ([], r"walk: there is no body. Write"),
        ([0, "1"], r"walk: there is no body '1'"),
        ([0, 1.0], r"walk: there is no body 1.0"),
    ],
)
def test_what_is_no_walk_is_refused_with_a_reason(steps, message):
    with pytest.raises(GraphError, match=message):
        Graph([(0, 1), (1, 2), (1, 3), (3, 1)]).walk(steps)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.is_incident(0, 3), "is_incident: there is no arc 3; arcs are numbered 1 to 2"),
        (lambda g: g.is_incident(3, 1), "is_incident: there is no body 3; bodies are numbered 0 to 2"),
        (lambda g: g.incident_arcs(-1), "incident_arcs: there is no body -1"),
        (lambda g: g.adjacent_bodies(True), "adjacent_bodies: there is no body True"),
        (lambda g: g.are_adjacent(0, 5), "are_adjacent: there is no body 5"),
        (lambda g: g.adjacent_arcs(0), "adjacent_arcs: there is no arc 0"),
        (lambda g: g.are_adjacent_arcs(1, 5), "are_adjacent_arcs: there is no arc 5"),
        (lambda g: g.all_paths(0, 9), "all_paths: there is no body 9"),
        (lambda g: Graph([], n=1).adjacent_arcs(1), "there is no arc 1; the graph has no arcs"),
    ],
)
def test_a_body_or_arc_that_does_not_exist_is_named(call, message):
    with pytest.raises(GraphError, match=message):
        call(Graph("0-1 1-2"))
