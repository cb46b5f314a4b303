"""A spanning tree of a graph, its rooting at body 0, and the walks along it: up to 0, and around a loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Entries = tuple[Ints, Ints, Ints]  # rows, columns and values of the non-zero entries of a matrix
Array = TypeVar("Array", bound=NDArray[Any])


def frozen(array: Array) -> Array:
    """The same array, which nobody can write into any more."""
    array.flags.writeable = False
    return array


def kruskal(n: int, arcs: Ints, order: Ints) -> tuple[NDArray[np.bool_], Ints]:
    """The spanning forest of the arcs that, taken in the given order, close no loop (Kruskal 1956).

    Returns, for each arc, whether it is in the forest and, for each body 0..n, one body that stands for its component.
    """
    chief = list(range(n + 1))

    def find(body: int) -> int:
        while chief[body] != body:
            chief[body] = chief[chief[body]]  # halve the path for later searches
            body = chief[body]
        return body

    in_forest = np.zeros(len(arcs), dtype=bool)
    ends = arcs.tolist()
    for a in order.tolist():
        one, other = find(ends[a][0]), find(ends[a][1])
        if one != other:
            chief[other] = one
            in_forest[a] = True
    return in_forest, np.array([find(body) for body in range(n + 1)])


@dataclass(frozen=True)
class Cycle:
    """The loop that a cut arc closes, walked in the direction of that arc.

    | field  | meaning                                                                                    |
    |--------|--------------------------------------------------------------------------------------------|
    | cut    | the number of the cut arc                                                                  |
    | arcs   | the numbers of the arcs in the order of the walk, the cut arc first                        |
    | signs  | +1 for an arc passed along its direction, -1 against it                                    |
    | bodies | the body that each of these arcs leads to; the last is the one that the cut arc leaves     |
    """

    cut: int
    arcs: tuple[int, ...]
    signs: tuple[int, ...]
    bodies: tuple[int, ...]


@dataclass(frozen=True)
class Rooting:
    """A tree seen from body 0. Every array has an entry for each body 0..n; that of body 0 is 0.

    | field     | meaning                                                                 |
    |-----------|-------------------------------------------------------------------------|
    | parent    | the body before body k on the path from 0                               |
    | preceding | the number (from 1) of the arc between them                             |
    | direction | +1 if that arc points towards 0 (it leaves body k), -1 if away          |
    | depth     | how many arcs lie between 0 and body k                                  |
    | outward   | the bodies 1..n, those nearest to 0 first, so parents before children   |
    """

    parent: Ints
    preceding: Ints
    direction: Ints
    depth: Ints
    outward: tuple[int, ...]

    def heights(self) -> Ints:
        """How many arcs lie between each body and the farthest leaf that it carries."""
        height, parent = [0] * len(self.parent), self.parent.tolist()
        for body in reversed(self.outward):
            height[parent[body]] = max(height[parent[body]], height[body] + 1)
        return np.array(height)

    def paths(self, tree: Ints) -> Entries:
        """The entries of T: walk from all the bodies to 0 at once, one arc at a time."""
        row = np.searchsorted(tree, self.preceding)
        steps = [np.zeros((3, 0), dtype=np.int64)]
        start = at = np.arange(1, len(self.parent))
        while at.size:
            steps.append(np.array([row[at], start - 1, self.direction[at]]))
            at = self.parent[at]
            start, at = start[at > 0], at[at > 0]
        rows, columns, values = np.concatenate(steps, axis=1)
        return rows, columns, values

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Parents, preceding arcs, directions and depths as lists, which are quicker to walk along."""
        parent, preceding, direction, depth = (
            x.tolist() for x in (self.parent, self.preceding, self.direction, self.depth)
        )
        return parent, preceding, direction, depth

    def between(self, first: int, last: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Bodies, arcs and signs of the path between two bodies: walk from both until they meet.

        That is at their nearest common ancestor. A sign is +1 where the path passes an arc along its direction.
        """
        parent, preceding, direction, depth = self._lists
        up: list[int] = []  # bodies from the first towards 0
        down: list[int] = []  # bodies from the last towards 0
        high, low = first, last
        while low != high:
            if depth[high] >= depth[low]:
                up.append(high)
                high = parent[high]
            else:
                down.append(low)
                low = parent[low]
        down.reverse()
        arcs = tuple(preceding[body] for body in up + down)
        signs = (*(direction[body] for body in up), *(-direction[body] for body in down))
        return (*up, high, *down), arcs, signs

    def cycles(self, arcs: Ints, cut: Iterable[int]) -> tuple[Cycle, ...]:
        """The cycle of each cut arc: along it, then back by the path through the tree."""
        ends = arcs.tolist()

        def cycle(c: int) -> Cycle:
            leaves, enters = ends[c - 1]
            bodies, tree_arcs, signs = self.between(enters, leaves)
            return Cycle(c, (c, *tree_arcs), (1, *signs), bodies)

        return tuple(cycle(c) for c in cut)


def root(n: int, arcs: Ints, tree: Iterable[int]) -> Rooting:
    """Root a spanning tree, given by the numbers of its arcs, at body 0: breadth first."""
    beside: list[list[tuple[int, int, int]]] = [[] for _ in range(n + 1)]
    ends = arcs.tolist()
    for a in tree:
        leaves, enters = ends[a - 1]
        beside[leaves].append((enters, a, -1))
        beside[enters].append((leaves, a, +1))

    parent, preceding, direction, depth = ([0] * (n + 1) for _ in range(4))
    reached = [0]
    for body in reached:  # grows as it is read
        for other, a, sign in beside[body]:
            if a != preceding[body]:
                parent[other], preceding[other], direction[other] = body, a, sign
                depth[other] = depth[body] + 1
                reached.append(other)
    parents, arcs_before, directions, depths = (frozen(np.array(x)) for x in (parent, preceding, direction, depth))
    return Rooting(parents, arcs_before, directions, depths, tuple(reached[1:]))
