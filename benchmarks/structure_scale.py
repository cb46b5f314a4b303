"""How the structure of large systems scales: a random tree, the same with chords, a chain. Prints a markdown table.

    python benchmarks/structure_scale.py [--bodies 100000] [--chords 20000] [--seed 1]

Bodies and arcs are numbered at random and arcs turned at random, so that nothing is proper by luck.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from momentree.structure.graph import Graph

Arcs = NDArray[np.int64]


def shuffled(parents: Arcs, chords: int, rng: np.random.Generator) -> Arcs:
    """The arcs of a tree given by the parents of bodies 1..n, and chords, in random numbers, order and direction."""
    n = len(parents)
    tree = np.column_stack([parents, np.arange(1, n + 1)])
    ends = rng.integers(0, n + 1, size=(chords, 2))
    extra = ends[ends[:, 0] != ends[:, 1]]
    new_number = np.concatenate([[0], 1 + rng.permutation(n)])
    arcs = rng.permutation(new_number[np.concatenate([tree, extra])])
    return np.where(rng.random(len(arcs))[:, None] < 0.5, arcs, arcs[:, ::-1])


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def row(name: str, arcs: Arcs, n: int, *, with_T: bool) -> str:
    made: list[Graph] = []
    construction = seconds(lambda: (made.append(Graph(arcs, n=n)), made[0].parents))
    graph = made[0]
    times = [
        construction,
        seconds(lambda: graph.numbering),
        seconds(lambda: graph.sparse("S")),
        seconds(lambda: graph.cycles),
    ]
    T = "-"
    if with_T:
        T = f"{seconds(lambda: graph.sparse('T')):.2f} ({int(graph.depth.sum())} entries)"
    cells = [name, str(graph.n), str(graph.m), str(graph.number_of_loops), *(f"{t:.2f}" for t in times), T]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--chords", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    n, rng = given.bodies, np.random.default_rng(given.seed)
    recursive = rng.integers(0, np.arange(1, n + 1))  # body k hangs on any of 0..k-1
    measured = "construction and parents", "numbering", "sparse S", "cycles", "sparse T"
    print(f"| graph | bodies | arcs | loops | {' | '.join(f'{name} [s]' for name in measured)} |")
    print("|---" * 9 + "|")
    print(row("random tree", shuffled(recursive, 0, rng), n, with_T=True))
    print(row("random tree with chords", shuffled(recursive, given.chords, rng), n, with_T=False))
    print(row("chain", shuffled(np.arange(n), 0, rng), n, with_T=False))


if __name__ == "__main__":
    main()
