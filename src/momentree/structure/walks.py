"""Walks through a graph: bodies and arcs in turn; trails, paths, circuits, cycles; all paths between two bodies.

Yudintsev 2019: V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from momentree.structure.spanning_tree import Cycle

Neighbors = Sequence[
    Sequence[tuple[int, int, int]]
]  # of each body: arc, body at its other end, +1 along it, -1 against


@dataclass(frozen=True)
class Walk:
    """Bodies and arcs in turn, neighbors incident (Yudintsev 2019, walk, "Sequence" on the slide).

    It may pass an arc against its direction.

    | field  | meaning                                                                         |
    |--------|---------------------------------------------------------------------------------|
    | bodies | the bodies in order, one more than arcs                                         |
    | arcs   | the numbers of the arcs between them                                            |
    | signs  | +1 for an arc passed along its direction, -1 against it                         |
    """

    bodies: tuple[int, ...]
    arcs: tuple[int, ...]
    signs: tuple[int, ...]

    @property
    def is_trail(self) -> bool:
        """Whether no arc comes twice (Yudintsev 2019, trail)."""
        return len(set(self.arcs)) == len(self.arcs)

    @property
    def is_path(self) -> bool:
        """Whether no body comes twice, hence no arc (Yudintsev 2019, simple trail)."""
        return len(set(self.bodies)) == len(self.bodies)

    @property
    def is_closed(self) -> bool:
        """Whether it ends where it begins, after one arc or more."""
        return bool(self.arcs) and self.bodies[0] == self.bodies[-1]

    @property
    def is_circuit(self) -> bool:
        """Whether it is a closed trail, which the lecture calls a cycle (Yudintsev 2019)."""
        return self.is_closed and self.is_trail

    @property
    def is_cycle(self) -> bool:
        """Whether it is a circuit in which no body but the first comes twice."""
        return self.is_circuit and len(set(self.bodies)) == len(self.arcs)

    @property
    def kind(self) -> str:
        """The narrowest word for it: path, cycle, circuit, trail, closed walk or walk."""
        words = {
            "path": self.is_path,
            "cycle": self.is_cycle,
            "circuit": self.is_circuit,
            "trail": self.is_trail,
            "closed walk": self.is_closed,
        }
        return next((word for word, holds in words.items() if holds), "walk")

    def __len__(self) -> int:
        return len(self.arcs)

    def __str__(self) -> str:
        """As the lecture writes it: "s3, u4, s4, u5, s2"."""
        rest = (f"u{arc}, s{body}" for arc, body in zip(self.arcs, self.bodies[1:], strict=True))
        return ", ".join([f"s{self.bodies[0]}", *rest])


def around(cycle: Cycle) -> Walk:
    """A fundamental cycle as a walk, from the body that its cut arc leaves."""
    return Walk((cycle.bodies[-1], *cycle.bodies), cycle.arcs, cycle.signs)


def every_path(neighbors: Neighbors, first: int, last: int) -> Iterator[Walk]:
    """Every path between two bodies, depth first; there may be very many, so they come one by one.

    It never enters a part from which no path leads on, so the next one comes after at most n searches of the graph.
    """
    bodies, arcs, signs = [first], list[int](), list[int]()
    if first == last:
        yield Walk((first,), (), ())
        return
    ahead = [_leading_on(neighbors, bodies, last)]
    while ahead:
        step = next(ahead[-1], None)
        if step is None:  # nothing more from here: one step back
            for passed in (ahead, bodies, arcs, signs) if arcs else (ahead,):
                passed.pop()
            continue
        arc, body, sign = step
        if body == last:
            yield Walk((*bodies, last), (*arcs, arc), (*signs, sign))
        else:
            for passed, one in ((bodies, body), (arcs, arc), (signs, sign)):
                passed.append(one)
            ahead.append(_leading_on(neighbors, bodies, last))


def _leading_on(neighbors: Neighbors, bodies: list[int], last: int) -> Iterator[tuple[int, int, int]]:
    """The steps from the end of a path after which some path to the last body passes none of its bodies again."""
    passed, reached = {*bodies}, [last]
    known = {last}
    for body in reached:  # grows as it is read
        fresh = [other for _, other, _ in neighbors[body] if other not in known and other not in passed]
        known.update(fresh)
        reached += fresh
    return iter([step for step in neighbors[bodies[-1]] if step[1] in known])
