"""Random graphs, and a decorator that holds a law on many of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.structure.graph import Graph


def random_graph(bodies, chords, seed):
    """A tree in random numbering, order and direction, with several roots, and chords, some of them parallel arcs."""
    rng = np.random.default_rng(seed)
    tree = [(int(rng.integers(max(0, body - 4), body)), body) for body in range(1, bodies + 1)]
    extra = [tuple(rng.choice(bodies + 1, size=2, replace=False)) for _ in range(chords)]
    number = np.concatenate([[0], 1 + rng.permutation(bodies)])
    arcs = [tuple(rng.permutation(number[list(pair)]).tolist()) for pair in rng.permutation(tree + extra).tolist()]
    return Graph(arcs, n=bodies, weights=rng.integers(1, 7, size=len(arcs)))


def random_parts(bodies, arcs, seed):
    """Arcs between any two bodies: connected or not, with parallel arcs."""
    rng = np.random.default_rng(seed)
    return Graph([tuple(rng.choice(bodies + 1, size=2, replace=False).tolist()) for _ in range(arcs)], n=bodies)


random_graphs = st.builds(
    random_graph, bodies=st.integers(1, 12), chords=st.integers(0, 6), seed=st.integers(0, 2**32 - 1)
)
small_graphs = st.builds(
    random_graph, bodies=st.integers(1, 6), chords=st.integers(0, 3), seed=st.integers(0, 2**32 - 1)
)
parts = st.builds(random_parts, bodies=st.integers(1, 10), arcs=st.integers(0, 12), seed=st.integers(0, 2**32 - 1))


def law(graphs=random_graphs, examples=500):
    """Hold the law on many random graphs, the same ones every time."""

    def decorate(test):
        return settings(max_examples=examples, deadline=None, derandomize=True, database=None)(given(graphs)(test))

    return decorate
