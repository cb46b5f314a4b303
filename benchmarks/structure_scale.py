"""How structure scales: graphs of 10^5 bodies, a model of 10^4 bodies, and what importing the package costs.

    python benchmarks/structure_scale.py [--bodies 100000] [--chords 20000] [--links 10000] [--write docs/benchmarks.md]

Bodies and arcs are numbered at random and arcs turned at random, so that nothing is proper by luck. CPU seconds of
one process; each number is the median of several runs.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import momentree as mt
from momentree import Graph

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
    begun = time.process_time()
    work()
    return time.process_time() - begun


def graph_row(name: str, arcs: Arcs, n: int, *, with_T: bool) -> str:
    """One line of the table of graphs."""
    runs = [graph_times(arcs, n, with_T) for _ in range(3)]
    graph = Graph(arcs, n=n)
    times = [f"{statistics.median(column):.2f}" for column in zip(*runs, strict=True)]
    if not with_T:
        times[-1] = "not made"
    entries = int(graph.depth.sum())
    cells = [name, str(graph.n), str(graph.m), str(graph.number_of_loops), *times, str(entries)]
    return f"| {' | '.join(cells)} |"


def graph_times(arcs: Arcs, n: int, with_T: bool) -> list[float]:
    made: list[Graph] = []
    construction = seconds(lambda: (made.append(Graph(arcs, n=n)), made[0].parents))
    graph = made[0]
    return [
        construction,
        seconds(lambda: graph.numbering),
        seconds(lambda: graph.sparse("S")),
        seconds(lambda: graph.cycles),
        seconds(lambda: graph.sparse("T")) if with_T else 0.0,
    ]


def chain(links: int) -> mt.Model:
    m = mt.Model(f"chain of {links}")
    end: Any = m.ground
    for i in range(links):
        link = m.body(f"link{i}", mt.rod(mass=1.0, length=0.1))
        m.joint(f"hinge{i}", mt.Revolute("y"), end, link)
        end = link.at((0.1, 0, 0))
    return m


def model_rows(links: int, folder: Path) -> list[str]:
    """Describing, building, saving and loading a long chain, and importing the package."""
    file = folder / "chain.toml"
    described = [seconds(lambda: chain(links)) for _ in range(3)]
    m = chain(links)
    built = [seconds(m.build) for _ in range(3)]
    saved = [seconds(lambda: m.save(file)) for _ in range(3)]
    loaded = [seconds(lambda: mt.load(file)) for _ in range(3)]
    code = "import time; begun = time.process_time(); import momentree; print(time.process_time() - begun)"
    imported = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7)]
    table = {
        f"describe a chain of {links} bodies in Python": described,
        "build it (check, number, freeze)": built,
        "both": [a + b for a, b in zip(described, built, strict=True)],
        "save it": saved,
        "load it": loaded,
        "`import momentree`": imported,
    }
    return [f"| {what} | {statistics.median(runs):.2f} |" for what, runs in table.items()]


def report(given: argparse.Namespace) -> str:
    n, rng = given.bodies, np.random.default_rng(given.seed)
    recursive = rng.integers(0, np.arange(1, n + 1))  # body k hangs on any of 0..k-1
    measured = "construction and parents", "numbering", "sparse S", "cycles", "sparse T"
    lines = [
        "# Benchmarks",
        "",
        f"Made by `make bench`: Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}. "
        "CPU seconds, median of 3 runs (import: 7).",
        "",
        "## Graphs",
        "",
        f"| graph | bodies | arcs | loops | {' | '.join(f'{name} [s]' for name in measured)} | entries of T |",
        "|---" * 10 + "|",
        graph_row("random tree", shuffled(recursive, 0, rng), n, with_T=True),
        graph_row("random tree with chords", shuffled(recursive, given.chords, rng), n, with_T=False),
        graph_row("chain", shuffled(np.arange(n), 0, rng), n, with_T=False),
        "",
        "T is made only when asked for: the chain's would have five thousand million entries.",
        "",
        "## Models",
        "",
        "| what | s |",
        "|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        lines += model_rows(given.links, Path(folder))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--chords", type=int, default=20_000)
    parser.add_argument("--links", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the tables into this file")
    given = parser.parse_args()
    text = report(given)
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
