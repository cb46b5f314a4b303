"""How many bodies rolled code of a single row computes at a time: an estimate of the time that it takes, either way.

Times are counted in operations on numbers; benchmarks/like_bodies.py measures what everything else takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from momentree.compile.emit.rolled_chunk_tables import ChunkVariant, variants_of
from momentree.compile.emit.rolled_chunks import GATHER
from momentree.compile.trace.rolled_groups import Group
from momentree.compile.trace.tape import edges_of

if TYPE_CHECKING:
    from momentree.compile.emit.rolled_llvm import Rolled

WORTH = 0.8  # of the time one after the other: bodies are put side by side if they take less
_SINE_AND_COSINE = 30.0


class Prices(NamedTuple):
    """What things take, in operations on numbers.

    | field   | of what                                                                      |
    |---------|------------------------------------------------------------------------------|
    | number  | an operation on numbers, which a loop over chunks does not keep in registers |
    | vector  | an operation on a vector                                                     |
    | gather  | a vector that is read or written lane by lane                                |
    | chunk   | the rest of a chunk in a pass; where lanes are 1, of a body                  |
    """

    number: float
    vector: float
    gather: float
    chunk: float


# by the lanes of a vector; measured on an AMD EPYC with AVX-512 (Zen 5): half of the estimates are within 14 %
PRICES = {1: Prices(1.0, 0.0, 0.0, 23.0), 2: Prices(1.25, 1.0, 6.0, 35.0)}
PRICES |= {4: Prices(1.25, 1.2, 6.0, 43.0), 8: Prices(1.2, 1.6, 9.0, 59.0)}


class Work(NamedTuple):
    """What is done in an evaluation of a single row: operations, gathers and chunks, counted as in `Prices`."""

    numbers: float
    vectors: float
    gathers: int
    chunks: int

    def time(self, prices: Prices) -> float:
        return sum(count * price for count, price in zip(self, prices, strict=True))


def bodies_at_a_time(code: Rolled, lanes: int) -> int:
    """So many bodies as take the least time, at most as many as there are lanes; one, if little is gained."""
    least, best = WORTH * work(code, 1).time(PRICES[1]), 1
    levels = _levels(code)
    for width in PRICES:
        # the division into chunks takes time itself, and is not made where it cannot gain
        if 1 < width <= lanes and _at_best(levels, width).time(PRICES[width]) < least:
            time = work(code, width).time(PRICES[width])
            if time < least:
                least, best = time, width
    return best


def _levels(code: Rolled) -> list[tuple[float, int]]:
    """Of each group and each level of the tree in a pass: operations of a body, and how many bodies."""
    depths = []
    for order, parents in zip(code.orders, code.parents, strict=True):
        depth = {0: 0}
        for body in order:
            depth[body] = depth[parents[body]] + 1
        depths.append(depth)
    groups = [(p.sweep, group) for p in code.passes for group in p.groups if code.needs[group].stores()]
    counts = [(_operations(group), Counter(map(depths[sweep].__getitem__, group.bodies))) for sweep, group in groups]
    return [(operations, bodies) for operations, of_level in counts for bodies in of_level.values()]


def _at_best(levels: Sequence[tuple[float, int]], lanes: int) -> Work:
    """If all chunks could be full, and nothing had to be gathered."""
    chunks = [(operations, -(-bodies // lanes), bodies % lanes == 1) for operations, bodies in levels]
    numbers = sum(operations for operations, _, single in chunks if single)
    vectors = sum(operations * (count - single) for operations, count, single in chunks)
    return Work(numbers, vectors, 0, sum(count for _, count, _ in chunks))


def work(code: Rolled, lanes: int) -> Work:
    """With so many bodies at a time."""
    counts = {g: _operations(g) for p in code.passes for g in p.groups if code.needs[g].stores()}
    if lanes == 1:
        bodies = sum(len(g.bodies) for g in counts)
        return Work(sum(counts[g] * len(g.bodies) for g in counts), 0.0, 0, bodies)
    variants = [variant for p in code.passes for _, variant in variants_of(code, code.layout(lanes), p)]
    numbers = sum(counts[variant.group] for variant in variants if variant.single)
    vectors = sum(counts[variant.group] for variant in variants if not variant.single)
    return Work(numbers, vectors, sum(_gathers(code, variant) for variant in variants), len(variants))


def _operations(group: Group) -> float:
    """Of one body."""
    nodes = group.tape.nodes
    live = [nodes[index][0] for index in group.tape.live() if edges_of(nodes[index])]
    return len(live) + _SINE_AND_COSINE / 2 * sum(op in ("sin", "cos") for op in live)


def _gathers(code: Rolled, variant: ChunkVariant) -> int:
    """How many vectors of a chunk are read or written lane by lane."""
    if variant.single:
        return 0
    need, group = code.needs[variant.group], variant.group
    links = {link for link, mode, _ in variant.modes if mode == GATHER}
    read = sum(name.rpartition("^")[0] in links for name in need.reads if "^" in name)
    entries = sum(name in group.arguments for name in need.reads) + len(group.results)
    return read + entries + (len(need.parents) if variant.addition == GATHER else 0)
