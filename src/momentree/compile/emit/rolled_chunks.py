"""Like bodies side by side: rolled code of a single row divides the bodies of a sweep into chunks, one in each lane.

The bodies of a chunk have the same depth, and are in one group in every pass of their sweep. Chunks stand in an order
in which parents come before children. A chunk of n bodies fills lanes of its own choice: a body stands in the lane of
its parent where it can. The ground is the first chunk, and stands in every lane.

The slots of a chunk begin at its base, one vector for each slot; what a chunk reads of its parents, or of other records
that it knows, is one of these:

| mode    | the records of its bodies                            | are read by                                       |
|---------|------------------------------------------------------|---------------------------------------------------|
| aligned | stand in the same lanes of one chunk, or are grounds | one vector                                        |
| one     | are one                                              | one number, for all lanes                         |
| shuffle | stand in other lanes of one or two chunks            | one or two vectors                                |
| gather  | stand anywhere                                       | one number for each lane                          |
| single  | the chunk has one body only                          | one number: its code is that of numbers           |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from momentree.compile.emit.rolled_storage import Key, Need, Storage
from momentree.compile.trace.rolled_groups import Group, Pass

ALIGNED, BLENDED, ONE, SHUFFLE, GATHER, SINGLE = "aligned", "blended", "one", "shuffle", "gather", "single"
_ONE_PARENT, _ANYWHERE = 1.15, 1.3  # what chunks of one parent, or of any, cost against aligned ones
_NOBODY = -1


class Chunk(NamedTuple):
    """Bodies of a sweep side by side: the number of the one in each lane, or -1."""

    sweep: int
    lanes: tuple[int, ...]

    @property
    def bodies(self) -> list[int]:
        return [body for body in self.lanes if body != _NOBODY]

    @property
    def filled(self) -> list[int]:
        """In lanes without a body, the first one again."""
        first = self.bodies[0]
        return [first if body == _NOBODY else body for body in self.lanes]

    @property
    def full(self) -> bool:
        return _NOBODY not in self.lanes

    @property
    def mask(self) -> int:
        """A bit for each lane that has a body."""
        return sum(1 << lane for lane, body in enumerate(self.lanes) if body != _NOBODY)


class Layout:
    """The chunks of all sweeps, and where their slots are.

    | field    | meaning                                                          |
    |----------|------------------------------------------------------------------|
    | width    | lanes of a vector                                                |
    | chunks   | of each sweep, the ground first                                  |
    | places   | of each sweep: by body, the index of its chunk, and its lane     |
    | storage  | slots and strides, nothing in frames                             |
    | nowhere  | where lanes without a body write                                 |
    | size     | of the memory, with room to begin it at the length of a vector   |
    """

    def __init__(
        self, width: int, passes: Sequence[Pass], needs: dict[Group, Need], late: set[Key],
        orders: Sequence[Sequence[int]], parents: Sequence[Sequence[int]],
    ):  # fmt: skip
        self.width, self._parents = width, parents
        self.storage = Storage(passes, needs, late, orders, parents, frames=False)
        self.chunks: list[list[Chunk]] = []
        self.places: list[dict[int, tuple[int, int]]] = []
        for sweep, order in enumerate(orders):
            of_sweep = [p for p in passes if p.sweep == sweep]
            if not self._divide(sweep, order, of_sweep, strictly=False):
                self._divide(sweep, order, of_sweep, strictly=True)
        sizes = [len(of) * stride * width for of, stride in zip(self.chunks, self.storage.strides, strict=True)]
        self._bases = [sum(sizes[:k]) for k in range(len(sizes))]
        self.nowhere = sum(sizes)
        self.size = self.nowhere + max([*self.storage.strides, 1]) * width + 8

    def base(self, sweep: int, chunk: int) -> int:
        """Where the slots of a chunk begin."""
        return self._bases[sweep] + chunk * self.storage.strides[sweep] * self.width

    def at(self, sweep: int, body: int) -> int:
        """Where the first slot of a body is; the next one is a vector behind."""
        chunk, lane = self.places[sweep][body]
        return self.base(sweep, chunk) + lane

    def mode(self, chunk: Chunk, sweep: int, others: Sequence[int]) -> str:
        """How a chunk reads the records of its bodies, in a sweep."""
        places = [self.places[sweep][other] for other in others]
        lanes = [self.places[chunk.sweep][body][1] for body in chunk.bodies]
        if len(lanes) == 1:
            return SINGLE
        in_one_chunk = all(others) and len({at for at, _ in places}) == 1
        if not any(others) or (in_one_chunk and [lane for _, lane in places] == lanes):
            return ALIGNED
        if len({*others}) == 1:
            return ONE
        return SHUFFLE if len({at for at, _ in places}) <= 2 else GATHER

    def shuffle(self, chunk: Chunk, sweep: int, others: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
        """The two chunks that records stand in, and in which lanes of both; -1 in lanes without a body."""
        places = dict(zip(chunk.bodies, (self.places[sweep][other] for other in others), strict=True))
        chunks = sorted({at for at, _ in places.values()})
        lanes = (
            _NOBODY if body == _NOBODY else places[body][1] + self.width * (places[body][0] != chunks[0])
            for body in chunk.lanes
        )
        return [chunks[0], chunks[-1]], tuple(lanes)

    def addition(self, chunk: Chunk, mode: str) -> str:
        """How a chunk adds to its parents; "blended": to some of the lanes of a chunk."""
        if mode != ALIGNED:
            return mode
        parents = [self._parents[chunk.sweep][body] for body in chunk.bodies]
        others = self.chunks[chunk.sweep][self.places[chunk.sweep][parents[0]][0]]
        return ALIGNED if len(parents) == len(others.bodies) else BLENDED

    # --- the division into chunks ---

    def _divide(self, sweep: int, order: Sequence[int], passes: Sequence[Pass], strictly: bool) -> bool:
        """Divide the bodies of a sweep; whether children then add to their parents in the order of the sweep.

        Always, if it is done `strictly`: only children of the same rank, or that follow one another, share a chunk.
        """
        parents = self._parents[sweep]
        among = _ranks(order, lambda body: parents[body])  # of each body: how many siblings come before
        groups: dict[int, list[int]] = {body: [] for body in order}
        for group in (group for p in passes for group in p.groups):
            for body in group.bodies:
                groups[body].append(group.number)
        depth, levels = {0: 0}, defaultdict[int, dict[tuple[int, ...], list[int]]](dict)
        for body in order:
            depth[body] = depth[parents[body]] + 1
            levels[depth[body]].setdefault((*groups[body],), []).append(body)
        guides = self._guides(passes)
        self.chunks[sweep:], self.places[sweep:] = [[Chunk(sweep, (0,) * self.width)]], [{0: (0, 0)}]
        for level in sorted(levels):
            alike = levels[level].values()
            rows = [row for each in alike for row in self._rows(sweep, each, guides, among if strictly else {})]
            for row in sorted(rows, key=lambda row: min(among[body] for body in row if body != _NOBODY)):
                self.places[sweep] |= {body: (len(self.chunks[sweep]), lane) for lane, body in enumerate(row)}
                self.chunks[sweep].append(Chunk(sweep, row))
        self.places[sweep].pop(_NOBODY, None)
        return not any(p.inward for p in passes) or self._adds_in_order(sweep, order)

    def _adds_in_order(self, sweep: int, order: Sequence[int]) -> bool:
        latest: dict[int, tuple[int, int]] = {}
        for body in order:
            parent, place = self._parents[sweep][body], self.places[sweep][body]
            if parent and place < latest.get(parent, place):
                return False
            latest[parent] = place
        return True

    def _guides(self, passes: Sequence[Pass]) -> dict[int, tuple[int, int]]:
        """Of each body on the ground that knows a record of another sweep: where that stands."""
        guides: dict[int, tuple[int, int]] = {}
        linked = [(p.sweep, group, link) for p in passes for group in p.groups for link in group.links]
        for sweep, group, link in linked:
            other, numbers = group.links[link]
            if other < sweep:
                for body, number in zip(group.bodies, numbers, strict=True):
                    if number:
                        guides.setdefault(body, self.places[other][number])
        return guides

    def _rows(
        self, sweep: int, bodies: Sequence[int], guides: Mapping[int, tuple[int, int]], among: Mapping[int, int]
    ) -> list[tuple[int, ...]]:
        """The lanes of bodies of one level and one code: the division that is expected to run fastest.

        Where ranks `among` siblings are given, others must not come between those of one chunk.
        """
        parents, places = self._parents[sweep], self.places[sweep]
        anchor = {body: places[parents[body]] if parents[body] else guides.get(body) for body in bodies}
        anchored = {body: at for body in bodies if (at := anchor[body]) is not None}
        ordered = sorted(anchored, key=anchored.__getitem__) + [body for body in bodies if body not in anchored]
        ranks = _ranks(ordered, lambda body: parents[body] or -body)
        ranks |= {body: among[body] for body in bodies if parents[body] and among}
        ways = [(_ANYWHERE, self._in_rows(ordered, ranks.__getitem__))]
        if len(anchored) == len(bodies):
            ways.append((1.0, self._in_their_lanes(ordered, anchored, ranks)))
        if all(parents[body] for body in bodies):
            before = _ranks(ordered, lambda body: parents[body])
            between = {body: among[body] - before[body] if among else 0 for body in bodies}
            ways.append((_ONE_PARENT, self._in_rows(ordered, lambda body: (parents[body], between[body]))))
        return min(ways, key=lambda way: (way[0] * len(way[1]), way[0]))[1]

    def _in_rows(self, bodies: Sequence[int], kind: Callable[[int], object]) -> list[tuple[int, ...]]:
        """Bodies of one kind side by side, from the first lane on."""
        kinds = defaultdict[object, list[int]](list)
        for body in bodies:
            kinds[kind(body)].append(body)
        rows = [of[i : i + self.width] for of in kinds.values() for i in range(0, len(of), self.width)]
        return [(*row, *[_NOBODY] * (self.width - len(row))) for row in rows]

    def _in_their_lanes(
        self, bodies: Sequence[int], at: Mapping[int, tuple[int, int]], ranks: Mapping[int, int]
    ) -> list[tuple[int, ...]]:
        """Bodies in the lanes of their parents, or of what they know: those of one chunk and rank side by side."""
        again, rows = _ranks(bodies, lambda body: (*at[body], ranks[body])), dict[tuple[int, ...], list[int]]()
        for body in bodies:
            chunk, lane = at[body]
            rows.setdefault((chunk, ranks[body], again[body]), [_NOBODY] * self.width)[lane] = body
        return [tuple(row) for row in rows.values()]


def _ranks(bodies: Iterable[int], kind: Callable[[int], object]) -> dict[int, int]:
    """Of each body, how many of its kind come before."""
    counts = defaultdict[object, int](int)
    ranks = {}
    for body in bodies:
        ranks[body] = counts[kind(body)]
        counts[kind(body)] += 1
    return ranks
