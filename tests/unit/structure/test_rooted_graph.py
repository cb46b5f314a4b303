"""What is connected, paths between bodies and the order of bodies, against SciPy and the definitions."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from momentree.errors import GraphError
from momentree.structure.graph import Graph
from random_graphs import law, parts, random_graph


def links(graph, arcs=None):
    """The symmetric adjacency matrix of the graph, or of some of its arcs."""
    arcs = graph.arcs if arcs is None else graph.arcs[np.array(arcs, dtype=int) - 1]
    matrix = np.zeros((graph.n + 1, graph.n + 1))
    matrix[arcs[:, 0], arcs[:, 1]] = matrix[arcs[:, 1], arcs[:, 0]] = 1
    return csr_array(matrix)


@law(parts, examples=80)
def test_parts_are_those_that_scipy_finds(graph):
    count, label = connected_components(links(graph), directed=False)
    assert graph.components == count
    assert graph.is_connected == (count == 1)
    assert graph.is_acyclic == (graph.m == graph.n + 1 - count)
    assert graph.is_tree == (count == 1 and graph.m == graph.n)
    for i, j in itertools.product(range(graph.n + 1), repeat=2):
        assert graph.are_connected(i, j) == (label[i] == label[j])
    for i in range(graph.n + 1):
        assert list(graph.reachable(i)) == np.flatnonzero(label == label[i]).tolist()


@law(examples=60)
def test_the_path_between_two_bodies_is_the_one_through_the_tree(graph):
    lengths = shortest_path(links(graph, graph.tree))
    for i, j in itertools.product(range(graph.n + 1), repeat=2):
        path = graph.path_between(i, j)
        assert path == graph.walk(str(path))
        assert path.is_path
        assert (path.bodies[0], path.bodies[-1]) == (i, j)
        assert {*path.arcs} <= {*graph.tree}
        assert len(path) == lengths[i, j]
    for k in range(1, graph.n + 1):
        assert graph.path_between(0, k).arcs == graph.path(k)


@law(examples=60)
def test_signed_arcs_of_a_path_are_a_difference_of_columns_of_T(graph):
    """T_k sums the path from k to 0; from i to j it is T_i - T_j, as the part that both share cancels."""
    T = np.column_stack([np.zeros(graph.n, dtype=int), graph.T])
    row = {arc: r for r, arc in enumerate(graph.tree)}
    for i, j in itertools.product(range(graph.n + 1), repeat=2):
        passed = np.zeros(graph.n, dtype=int)
        path = graph.path_between(i, j)
        for arc, sign in zip(path.arcs, path.signs, strict=True):
            passed[row[arc]] = sign
        assert (passed == T[:, i] - T[:, j]).all()


@law(examples=80)
def test_the_order_is_a_partial_order_with_the_external_body_first(graph):
    order = graph.order
    assert order[0].all()
    assert order.diagonal().all(), "reflexive"
    assert not (order & order.T & ~np.eye(graph.n + 1, dtype=bool)).any(), "antisymmetric"
    assert (order.astype(int) @ order.astype(int) > 0)[~order].sum() == 0, "transitive"
    for j in range(graph.n + 1):  # what lies before one body is a chain
        before = np.flatnonzero(order[:, j])
        assert (order | order.T)[np.ix_(before, before)].all()


@law(examples=80)
def test_a_body_is_before_another_if_it_lies_on_its_path_to_0(graph):
    for i, j in itertools.product(range(graph.n + 1), repeat=2):
        on_the_path = i in graph.path_between(j, 0).bodies
        assert graph.at_or_before(i, j) == graph.order[i, j] == on_the_path
        assert graph.before(i, j) == (on_the_path and i != j)
        assert (j in graph.followers(i)) == graph.before(i, j)


@law(examples=80)
def test_T_without_signs_is_the_order_of_the_bodies(graph):
    """Arc a precedes one body i; it lies on the path of body k just where s_i <= s_k."""
    row = [graph.tree.index(arc) for arc in graph.preceding.tolist()]
    assert (np.abs(graph.T[row]) == graph.order[1:, 1:]).all()


def test_distance_in_the_tree_of_a_thousand_bodies():
    graph = random_graph(1000, 200, 1)
    lengths = shortest_path(links(graph, graph.tree), indices=[0, 17])
    for i, start in enumerate((0, 17)):
        assert [len(graph.path_between(start, j)) for j in range(1001)] == lengths[i].tolist()


def test_questions_that_need_a_root_are_refused_without_one():
    apart = Graph("0-1 2-3")
    for call in (
        lambda: apart.path_between(2, 3),
        lambda: apart.at_or_before(2, 3),
        lambda: apart.before(0, 1),
        lambda: apart.order,
        lambda: apart.followers(0),
        lambda: apart.peeling,
        lambda: apart.T_by_inversion,
    ):
        with pytest.raises(GraphError, match=r"^bodies 2, 3: no path to the external body 0. Add an arc"):
            call()
    assert apart.reachable(3) == (2, 3)
    assert [str(path) for path in apart.all_paths(2, 3)] == ["s2, u2, s3"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.reachable(5), "reachable: there is no body 5; bodies are numbered 0 to 2"),
        (lambda g: g.are_connected(0, 3), "are_connected: there is no body 3"),
        (lambda g: g.path_between(0, 3), "path_between: there is no body 3"),
        (lambda g: g.at_or_before(0, -1), "at_or_before: there is no body -1"),
        (lambda g: g.before("0", 1), "at_or_before: there is no body '0'"),
        (lambda g: g.followers(9), "followers: there is no body 9"),
    ],
)
def test_a_body_that_does_not_exist_is_named(call, message):
    with pytest.raises(GraphError, match=message):
        call(Graph("0-1 1-2"))


def test_an_order_too_large_to_write_out_is_refused():
    graph = Graph.from_parents(range(45_000))
    with pytest.raises(GraphError, match=r"order: of 45000 bodies it is too large .* at_or_before"):
        _ = graph.order
    assert graph.before(7, 40_000)
