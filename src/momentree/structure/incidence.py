"""Bodies and the arcs between them: which are incident, which adjacent, walks. For every graph, connected or not.

Yudintsev 2019: V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import GraphError, listed, spell_checked
from momentree.structure.arc_checks import checked_arc, checked_arcs, checked_body
from momentree.structure.arc_text import read_arcs, read_walk
from momentree.structure.spanning_tree import Ints
from momentree.structure.walks import Neighbors, Walk, every_path

Arcs = str | Iterable[Sequence[int]] | NDArray[Any]


@spell_checked
class Incidence:
    """Bodies 0..n and arcs 1..m. Questions about numbers of bodies or arcs that do not exist are errors."""

    n: int
    m: int
    arcs: Ints

    def __init__(self, arcs: Arcs, n: int | None = None) -> None:
        pairs = checked_arcs(read_arcs(arcs) if isinstance(arcs, str) else arcs, n)
        vars(self).update(arcs=pairs, m=len(pairs), n=int(pairs.max(initial=0)) if n is None else int(n))

    @property
    def i_plus(self) -> Ints:
        """The body that each arc leaves (Yudintsev 2019)."""
        return self.arcs[:, 0]

    @property
    def i_minus(self) -> Ints:
        """The body that each arc enters (Yudintsev 2019)."""
        return self.arcs[:, 1]

    @cached_property
    def _neighbors(self) -> Neighbors:
        """Of each body: the arcs at it, the body at the other end of each, and +1 where that is i_minus."""
        beside: list[list[tuple[int, int, int]]] = [[] for _ in range(self.n + 1)]
        for a, (leaves, enters) in enumerate(self.arcs.tolist(), 1):
            beside[leaves].append((a, enters, +1))
            beside[enters].append((a, leaves, -1))
        return beside

    # --- incidence and adjacency ---

    def is_incident(self, body: int, arc: int) -> bool:
        """Whether the arc leaves or enters the body (Yudintsev 2019, incidence)."""
        arc = checked_arc(arc, self.m, "is_incident")
        return checked_body(body, self.n, "is_incident") in self.arcs[arc - 1]

    def incident_arcs(self, body: int) -> tuple[int, ...]:
        """The arcs that leave or enter a body, ascending."""
        return tuple(arc for arc, _, _ in self._neighbors[checked_body(body, self.n, "incident_arcs")])

    def are_adjacent(self, i: int, j: int) -> bool:
        """Whether some arc joins two bodies (Yudintsev 2019, adjacent vertices)."""
        return checked_body(j, self.n, "are_adjacent") in self.adjacent_bodies(i)

    def adjacent_bodies(self, body: int) -> tuple[int, ...]:
        """The bodies that some arc joins with a body, ascending."""
        here = checked_body(body, self.n, "adjacent_bodies")
        return tuple(sorted({other for _, other, _ in self._neighbors[here]}))

    def are_adjacent_arcs(self, a: int, b: int) -> bool:
        """Whether two different arcs are incident with the same body (Yudintsev 2019, adjacent arcs)."""
        return checked_arc(b, self.m, "are_adjacent_arcs") in self.adjacent_arcs(a)

    def adjacent_arcs(self, arc: int) -> tuple[int, ...]:
        """The other arcs at the two bodies of an arc, ascending."""
        ends = self.arcs[checked_arc(arc, self.m, "adjacent_arcs") - 1].tolist()
        return tuple(sorted({a for end in ends for a, _, _ in self._neighbors[end]} - {int(arc)}))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The bodies that share an arc, in the tree or cut, with the external body."""
        beside_zero = self.arcs[(self.arcs == 0).any(axis=1)].max(axis=1, initial=0)
        return tuple(np.unique(beside_zero).tolist())

    @cached_property
    def parallel(self) -> tuple[tuple[int, ...], ...]:
        """The groups of arcs between the same two bodies.

        The lecture forbids them: one joint unites all that acts between two bodies. Here each other closes a loop.
        """
        low, high = np.sort(self.arcs, axis=1).T
        order = np.lexsort((high, low))
        new_pair = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
        groups = np.split(order + 1, np.flatnonzero(new_pair) + 1)
        return tuple(sorted(tuple(group.tolist()) for group in groups if len(group) > 1))

    # --- walks ---

    def walk(self, steps: str | Sequence[int]) -> Walk:
        """A walk, checked step by step (Yudintsev 2019); `kind` says whether it is a trail, a path, a cycle.

        It is written as the lecture writes it, "s3, u4, s4, u5, s2", or by its bodies alone: "3-4-2" or [3, 4, 2].
        """
        first, words = read_walk(steps)
        bodies, arcs, signs = [checked_body(first, self.n, "walk")], list[int](), list[int]()
        for named_arc, body in words:
            arc, _, sign = self._step(bodies[-1], named_arc, checked_body(body, self.n, "walk"))
            for passed, one in ((arcs, arc), (bodies, int(body)), (signs, sign)):
                passed.append(one)
        return Walk(tuple(bodies), tuple(arcs), tuple(signs))

    def _step(self, here: int, arc: int | None, there: int) -> tuple[int, int, int]:
        """Arc, body and sign of the step from one body to the next, along the arc if it is named."""
        steps = [step for step in self._neighbors[here] if step[1] == there]
        if arc is not None:
            leaves, enters = ends = self.arcs[checked_arc(arc, self.m, "walk") - 1].tolist()
            for body in (here, there):
                if body not in ends:
                    joins = f"u{arc} joins s{leaves} and s{enters}."
                    raise GraphError(f"walk: s{body} and u{arc} are not incident. {joins}")
            if here == there:
                other = leaves + enters - here
                raise GraphError(f"walk: u{arc} leads from s{here} to s{other}. Name s{other} after it.")
            return next(step for step in steps if step[0] == arc)
        if not steps:
            others = listed([f"s{body}" for body in self.adjacent_bodies(here)]) or "no body"
            raise GraphError(f"walk: s{here} and s{there} are not adjacent. Adjacent to s{here}: {others}.")
        if len(steps) > 1:
            arcs = [f"u{a}" for a, _, _ in steps]
            how = f"Name one: s{here}, {arcs[0]}, s{there}."
            raise GraphError(f"walk: {len(arcs)} arcs join s{here} and s{there}: {listed(arcs)}. {how}")
        return steps[0]

    def all_paths(self, i: int, j: int) -> Iterator[Walk]:
        """Every path between two bodies, one by one; in a tree there is one, between parts that no arc joins none.

        A graph with many loops has very many: take the first with itertools.islice.
        """
        first, last = (checked_body(body, self.n, "all_paths") for body in (i, j))
        return every_path(self._neighbors, first, last)
