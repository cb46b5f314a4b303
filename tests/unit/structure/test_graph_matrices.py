"""T by its definition and by inversion, and the rounds of peeling; other laws of the matrices are in test_graph.py."""

import numpy as np
import pytest

from momentree.errors import GraphError
from momentree.structure.graph import Graph
from random_graphs import law, random_graph


@law(examples=80)
def test_T_by_inversion_is_that_of_numpy_and_that_by_definition(graph):
    assert (graph.T_by_inversion == graph.T).all()
    assert np.allclose(np.linalg.inv(graph.S), graph.T_by_inversion)
    assert graph.T_by_inversion.dtype == graph.T.dtype


@law(examples=80)
def test_rounds_of_peeling_number_every_body_properly(graph):
    """Round by round, leaves of what is left: neither knows the height by which they are found."""
    left = {arc: {*graph.arcs[arc - 1].tolist()} for arc in graph.tree}
    body_map, arc_map = graph.peel()
    next_number = graph.n
    for one in graph.peeling:
        degrees = {k: sum(k in ends for ends in left.values()) for k in range(1, graph.n + 1)}
        assert list(one.bodies) == sorted((k for k, degree in degrees.items() if degree == 1), reverse=True)
        for body, arc, number in zip(one.bodies, one.arcs, one.numbers, strict=True):
            assert number == next_number == body_map[body] == arc_map[arc - 1]
            assert body in left.pop(arc)
            next_number -= 1
    assert not left
    assert next_number == 0


def test_inversion_of_a_large_graph():
    graph = random_graph(500, 0, 3)
    assert (graph.T_by_inversion == graph.T).all()
    with pytest.raises(GraphError, match=r"T_by_inversion: .* at most 2000 bodies, not of 2001. Use T"):
        _ = Graph.from_parents(range(2001)).T_by_inversion


def test_no_bodies_need_no_rounds():
    assert Graph([]).peeling == ()
    assert Graph([]).T_by_inversion.shape == (0, 0)
    assert not Graph("0-1").T_by_inversion.flags.writeable
