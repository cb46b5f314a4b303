"""Elimination order of constraints: the plan by which one pass inward and one outward solve for all of them.

A constraint acts on the bodies at its ends: two if a joint closes a loop, one or many in general; or along the
velocities of the joint that precedes a body, and so between this body and its parent. Its rows are open in the bodies
on the paths from its ends inward to their common ancestor. There, on an elimination node welded to that body
(or to the ground), the constraint is closed and its rows are eliminated. The constraints of one ancestor are eliminated
in the order of minimum degree, first the one coupled with the fewest others, as in sparse factorization: so loops in a
row cost as much as their number.

The wrenches of a constraint on its ends balance, or the ground is one of its ends; a single end is held by the ground.
Nodes are numbered after the bodies, and stand between them and the body that they are welded to.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class ConstraintEnds(NamedTuple):
    """A constraint as the elimination sees it: how many rows it has, and the number of the body at each of its ends.

    The first `along` ends are at joints, those that precede these bodies.
    """

    rows: int
    bodies: tuple[int, ...]
    along: int = 0


@dataclass(frozen=True)
class ConstraintEnd:
    """An end of a constraint at a body or node: which constraint, which of its ends, and the slot of its first row."""

    constraint: int
    index: int
    start: int


@dataclass(frozen=True)
class ConstraintSlots:
    """Where the rows of open constraints stand in a body or node: equal in all that one piece of code serves.

    | field           | meaning                                                               |
    |-----------------|-----------------------------------------------------------------------|
    | rows            | how many are open here                                                |
    | closes          | how many of them, the first, are closed here                          |
    | above           | how many are open in the parent                                       |
    | up              | the slots in the parent of those that stay open                       |
    | ends            | of constraints, here: slot of the first row, index of the end, and    |
    |                 | whether it is at the joint that precedes the body                     |
    | on_fixed_ground | the parent is the ground, or a node on it, and does not move          |
    """

    rows: int = 0
    closes: int = 0
    above: int = 0
    up: tuple[int, ...] = ()
    ends: tuple[tuple[int, int, bool], ...] = ()
    on_fixed_ground: bool = False


@dataclass(frozen=True)
class EliminationNode:
    """A body or a node: its parent, the ends of constraints at it, and the slots of their rows."""

    parent: int
    ends: tuple[ConstraintEnd, ...]
    slots: ConstraintSlots


@dataclass(frozen=True)
class EliminationPlan:
    """The ground, the bodies and the nodes, by number; `order` has parents before children.

    `node_of` is the number of the node where each constraint is closed.
    """

    constraints: tuple[ConstraintEnds, ...]
    nodes: tuple[EliminationNode, ...]
    order: tuple[int, ...]
    node_of: tuple[int, ...]


def elimination_plan(
    parents: Sequence[int], constraints: Sequence[ConstraintEnds], fixed_ground: bool
) -> EliminationPlan:
    """The plan for constraints between the bodies of a tree, given by the parent of each; entry 0 is the ground's."""
    parents = list(parents)
    open_at: list[list[int]] = [[] for _ in parents]  # constraints on whose paths a body is
    meeting: dict[int, list[int]] = {}  # constraints by the common ancestor of their ends
    for number, constraint in enumerate(constraints):
        paths, base = paths_inward(parents, constraint.bodies, constraint.along)
        for body in dict.fromkeys(itertools.chain(*paths)):
            open_at[body].append(number)
        meeting.setdefault(base, []).append(number)
    children = _children(parents)
    node_of = [0] * len(constraints)
    # the nodes at each body, the outermost first
    for base in sorted(meeting, reverse=True):
        carrying = {child: open_at[child] for child in children[base] if open_at[child]}
        for number, parts in _eliminated(meeting[base], carrying, len(parents)):
            node_of[number] = len(parents)
            inside = {other for part in parts for other in open_at[part] if node_of[other] != part} | {number}
            for part in parts:
                parents[part] = len(parents)
            parents.append(base)
            open_at.append(list(inside))
    # rows in the order in which constraints are closed
    for numbers in open_at:
        numbers.sort(key=node_of.__getitem__)
    grounded = {0, *(node_of[number] for number in meeting.get(0, ()))}
    nodes = _with_slots(parents, constraints, open_at, node_of, grounded if fixed_ground else set())
    return EliminationPlan(tuple(constraints), tuple(nodes), tuple(_outward(parents)), tuple(node_of))


def paths_inward(parents: Sequence[int], bodies: Sequence[int], along: int = 0) -> tuple[list[list[int]], int]:
    """The bodies from each end inward, and the common ancestor of all ends, which is in none of the paths.

    The first `along` ends are at joints, whose paths go on from the parents of these bodies. The path of another single
    end leads to the ground. Parents have smaller numbers than their children.
    """
    paths: list[list[int]] = [[body] for body in bodies[:along]] + [[] for _ in bodies[along:]]
    at = [*(parents[body] for body in bodies[:along]), *bodies[along:]]
    if len(bodies) == 1 and not along:
        at.append(0)
    while min(at) < (outermost := max(at)):
        for path, (end, body) in zip(paths, enumerate(at), strict=False):
            if body == outermost:
                path.append(body)
                at[end] = parents[body]
    return paths, at[0]


def _with_slots(
    parents: Sequence[int],
    constraints: Sequence[ConstraintEnds],
    open_at: Sequence[Sequence[int]],
    node_of: Sequence[int],
    at_rest: set[int],
) -> Iterator[EliminationNode]:
    """All bodies and nodes, from the constraints that are open in each; `at_rest` are those that never move."""
    starts = [_starts(numbers, constraints) for numbers in open_at]
    ends: list[list[ConstraintEnd]] = [[] for _ in parents]
    for number, constraint in enumerate(constraints):
        for index, body in enumerate(constraint.bodies):
            at = body if number in starts[body] else node_of[number]
            ends[at].append(ConstraintEnd(number, index, starts[at][number]))
    rows = [sum(constraints[number].rows for number in numbers) for numbers in open_at]
    yield EliminationNode(0, (), ConstraintSlots())
    for number, parent in enumerate(parents[1:], 1):
        staying = [other for other in open_at[number] if node_of[other] != number]
        up = tuple(starts[parent][other] + k for other in staying for k in range(constraints[other].rows))
        begun = tuple((e.start, e.index, e.index < constraints[e.constraint].along) for e in ends[number])
        slots = ConstraintSlots(rows[number], rows[number] - len(up), rows[parent], up, begun, parent in at_rest)
        yield EliminationNode(parent, tuple(ends[number]), slots)


def _eliminated(
    numbers: Sequence[int], carrying: Mapping[int, Sequence[int]], node: int
) -> Iterator[tuple[int, list[int]]]:
    """Constraints in the order of elimination, each with what its node carries: children, and earlier nodes.

    Nodes are numbered from `node` on.
    """
    remaining = set(numbers)
    inside = {part: remaining & {*carried} for part, carried in carrying.items()}
    of: dict[int, set[int]] = {number: set() for number in numbers}
    for part, carried in inside.items():
        for number in carried:
            of[number].add(part)

    def degree(number: int) -> int:
        return len(set[int]().union(*(inside[part] for part in of[number])))

    waiting = [(degree(number), number) for number in numbers]
    heapq.heapify(waiting)
    while waiting:
        queued, number = heapq.heappop(waiting)
        if number not in remaining or degree(number) != queued:
            continue  # eliminated already, or it is in the heap again with its present degree
        remaining.remove(number)
        parts = sorted(of[number])
        yield number, parts
        coupled = set[int]().union(*(inside[part] for part in parts)) - {number}
        inside[node] = coupled
        for other in coupled:
            of[other] = of[other] - {*parts} | {node}
        for other in coupled:
            heapq.heappush(waiting, (degree(other), other))
        node += 1


def _starts(numbers: Sequence[int], constraints: Sequence[ConstraintEnds]) -> dict[int, int]:
    """The slot of the first row of each constraint."""
    starts, start = {}, 0
    for number in numbers:
        starts[number] = start
        start += constraints[number].rows
    return starts


def _children(parents: Sequence[int]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for number, parent in enumerate(parents[1:], 1):
        children[parent].append(number)
    return children


def _outward(parents: Sequence[int]) -> list[int]:
    """All bodies and nodes but the ground, parents before children."""
    children, order, waiting = _children(parents), list[int](), [0]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(children[order[-1]])
    return order[1:]
