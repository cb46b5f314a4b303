"""Where loops close: the plan by which one pass inward and one outward solve for all of them.

The rows of a loop are open in the bodies on its two ways from the closing joint to the body where they meet. There, on
a node welded to that body (or to the ground), the loop is closed and its rows are gone. Where several loops meet at one
body their nodes form a tree, by eliminating the loop first that is coupled with the fewest others (minimum degree): so
loops in a row cost as much as their number.

Nodes are numbered after the bodies, and stand between them and the body that they are welded to.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from momentree.structure.mechanism import Mechanism


@dataclass(frozen=True)
class End:
    """An end of a loop at a body or node: the record of the loop, which of its ends, and where its rows begin."""

    loop: int
    second: bool
    start: int


@dataclass(frozen=True)
class ConstraintSlots:
    """How rows stand in a body or node: the same in all that one piece of code serves.

    | field  | meaning                                                                              |
    |--------|--------------------------------------------------------------------------------------|
    | rows   | how many are open here                                                                |
    | closes | how many of them, the first, are closed here                                          |
    | above  | how many are open in what it stands on                                                |
    | up     | where those that stay open stand there                                               |
    | ends   | of loops whose rows begin here: where, and whether it is the second end               |
    | onto_still | it stands on a node on the ground, which never moves                            |
    """

    rows: int = 0
    closes: int = 0
    above: int = 0
    up: tuple[int, ...] = ()
    ends: tuple[tuple[int, bool], ...] = ()
    onto_still: bool = False


@dataclass(frozen=True)
class EliminationNode:
    """A body or a node: what it stands on, its ends of loops, and how its rows are arranged."""

    parent: int
    ends: tuple[End, ...]
    slots: ConstraintSlots


@dataclass(frozen=True)
class EliminationPlan:
    """The places of bodies (from 1) and nodes, the ground's first; `order` has parents before children."""

    places: tuple[EliminationNode, ...]
    order: tuple[int, ...]
    node_of: tuple[int, ...]  # of each loop


def elimination_plan(mechanism: Mechanism, rows: Sequence[int], still: bool) -> EliminationPlan:
    """The plan for loops with so many rows each, on a ground that stands still or does not."""
    parents = [0, *(body.parent for body in mechanism.bodies)]
    open_at: list[list[int]] = [[] for _ in parents]  # loops on whose ways a body stands
    meeting: dict[int, list[int]] = {}  # loops by the body where their ways meet
    for number, loop in enumerate(mechanism.loops):
        *paths, base = mechanism.paths(loop)
        for passed in itertools.chain(*paths):
            open_at[passed].append(number)
        meeting.setdefault(base, []).append(number)
    node_of = [0] * len(mechanism.loops)
    children: dict[int, list[int]] = {}
    for body in mechanism.bodies:
        children.setdefault(body.parent, []).append(body.number)
    # the nodes at each body, the outermost first
    for base in sorted(meeting, reverse=True):
        carrying = {child: open_at[child] for child in children.get(base, ()) if open_at[child]}
        for loop_number, parts in _eliminated(meeting[base], carrying, len(parents)):
            node_of[loop_number] = len(parents)
            inside = {other for part in parts for other in open_at[part] if node_of[other] != part} | {loop_number}
            for part in parts:
                parents[part] = len(parents)
            parents.append(base)
            open_at.append(list(inside))
    # rows in the order in which loops close
    for loops in open_at:
        loops.sort(key=node_of.__getitem__)
    starts = [_starts(loops, rows) for loops in open_at]
    ends: list[list[End]] = [[] for _ in parents]
    for number, loop in enumerate(mechanism.loops):
        for second, end in ((False, loop.first), (True, loop.second)):
            at = end.body if number in starts[end.body] else node_of[number]
            ends[at].append(End(number, second, starts[at][number]))
    places = [EliminationNode(0, (), ConstraintSlots())]
    grounded = {node_of[loop] for loop in meeting.get(0, ())}
    counts = [sum(rows[loop] for loop in loops) for loops in open_at]
    for number, parent in enumerate(parents[1:], 1):
        left = [loop for loop in open_at[number] if node_of[loop] != number]
        up = tuple(starts[parent][loop] + k for loop in left for k in range(rows[loop]))
        begun = tuple((end.start, end.second) for end in ends[number])
        onto_still = still and (parent == 0 or parent in grounded)
        slots = ConstraintSlots(counts[number], counts[number] - len(up), counts[parent], up, begun, onto_still)
        places.append(EliminationNode(parent, tuple(ends[number]), slots))
    return EliminationPlan(tuple(places), tuple(_outward(parents)), tuple(node_of))


def _eliminated(
    loops: Sequence[int], carrying: Mapping[int, Sequence[int]], node: int
) -> Iterator[tuple[int, list[int]]]:
    """Loops as they close, each with what its node carries: children, and earlier nodes, numbered from `node` on."""
    mine = set(loops)
    inside = {part: mine & {*found} for part, found in carrying.items()}
    of = {loop: {part for part, found in inside.items() if loop in found} for loop in loops}

    def degree(loop: int) -> int:
        return len(set[int]().union(*(inside[part] for part in of[loop])))

    waiting = [(degree(loop), loop) for loop in loops]
    heapq.heapify(waiting)
    while waiting:
        known, loop = heapq.heappop(waiting)
        if loop not in mine or degree(loop) != known:
            continue  # closed already, or it stands in the heap again with what it is now
        mine.remove(loop)
        parts = sorted(of[loop])
        yield loop, parts
        left = set[int]().union(*(inside[part] for part in parts)) - {loop}
        inside[node] = left
        for other in left:
            of[other] = of[other] - {*parts} | {node}
        for other in left:
            heapq.heappush(waiting, (degree(other), other))
        node += 1


def _starts(loops: Sequence[int], rows: Sequence[int]) -> dict[int, int]:
    """Where the rows of each loop begin."""
    found, start = {}, 0
    for loop in loops:
        found[loop] = start
        start += rows[loop]
    return found


def _outward(parents: Sequence[int]) -> list[int]:
    """All places but the ground's, parents before children."""
    children: list[list[int]] = [[] for _ in parents]
    for number, parent in enumerate(parents[1:], 1):
        children[parent].append(number)
    found, waiting = [], [0]
    while waiting:
        found.append(waiting.pop())
        waiting += reversed(children[found[-1]])
    return found[1:]
