"""Walks: which is a trail, a path, closed, a circuit, a cycle."""

import itertools

import pytest

from momentree.structure.graph import Graph
from momentree.structure.walks import Walk, around
from random_graphs import law

EIGHT = Graph([(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 0), (1, 2)])  # two triangles at s0; u2 and u7 are parallel


@pytest.mark.parametrize(
    ("steps", "kind", "trail", "path", "closed"),
    [
        ("s2", "path", True, True, False),
        ("s0 u1 s1 u2 s2", "path", True, True, False),
        ("s0 u1 s1 u2 s2 u3 s0", "cycle", True, False, True),
        ("s1 u2 s2 u7 s1", "cycle", True, False, True),
        ("s1 u2 s2 u2 s1", "closed walk", False, False, True),
        ("s0 u1 s1 u2 s2 u3 s0 u4 s3 u5 s4 u6 s0", "circuit", True, False, True),
        ("s1 u2 s2 u3 s0 u4 s3 u5 s4 u6 s0", "trail", True, False, False),
        ("s0 u1 s1 u2 s2 u2 s1", "walk", False, False, False),
    ],
)
def test_words_for_walks(steps, kind, trail, path, closed):
    walk = EIGHT.walk(steps)
    assert walk.kind == kind
    assert (walk.is_trail, walk.is_path, walk.is_closed) == (trail, path, closed)
    assert walk.is_circuit == (kind in ("cycle", "circuit"))
    assert walk.is_cycle == (kind == "cycle")


@law(examples=60)
def test_every_fundamental_cycle_is_a_cycle_and_walks_contain_each_other(graph):
    for cycle in graph.cycles:
        walk = around(cycle)
        assert walk.kind == "cycle"
        assert walk == graph.walk(str(walk))
        opened = Walk(walk.bodies[:-1], walk.arcs[:-1], walk.signs[:-1])
        assert opened.kind == "path"


def test_a_path_is_a_trail_and_a_cycle_a_circuit():
    steps = [f"{i}" for i in range(5)]
    for length in range(1, 6):
        for bodies in itertools.product(steps[:3], repeat=length):
            if all(a != b for a, b in itertools.pairwise(bodies)):
                walk = Graph("0-1 1-2 0-2").walk("-".join(bodies))
                assert walk.is_trail or not walk.is_path
                assert walk.is_circuit or not walk.is_cycle
                assert (walk.is_trail and walk.is_closed) == walk.is_circuit
