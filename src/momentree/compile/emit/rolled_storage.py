"""Where rolled code keeps numbers between its loops, and within one of them.

| numbers that                                              | are in                                                   |
|-----------------------------------------------------------|----------------------------------------------------------|
| later passes, the main tape or linked records read        | slots of the body, as many for each body of a sweep      |
| only children, or the parent, read in the same pass       | a frame, which is free for others as soon as they did it |

Few frames are in use at a time, along a chain two: they stay in the nearest cache, whatever the number of bodies.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from momentree.compile.emit.sums import ChainedTape
from momentree.compile.trace.rolled_groups import Group, Pass
from momentree.spatial import Scalar

BODIES = 2  # after which numbers that are handed on arrive in a rhythm

Key = tuple[int, str]  # of a sweep
Place = tuple[str, int, int]  # in frames or in slots, of a sweep


class Need:
    """What the loop of one group computes: outputs of its tape, by where they go.

    `arrivals` has the inputs that children or the parent hand over, and the cycles by which each comes after the first.
    """

    def __init__(self, sweep: int, group: Group):
        self.sweep, self.group, self.made = sweep, group, group.computed_numbers()
        self.own: dict[str, Scalar] = {}
        self.parents: dict[str, Scalar] = {}
        self.reads: set[str] = set()
        self.arrivals: dict[str, int] = {}

    def update(self, needed: set[Key], own: dict[Key, set[int]], at_once: set[Key]) -> None:
        """Find what is stored, and what that reads.

        | argument | keys that are needed                                    |
        |----------|---------------------------------------------------------|
        | needed   | by other bodies or the main tape, in this pass or later |
        | own      | by some bodies themselves, later                        |
        | at_once  | by bodies themselves in this pass: sums over children   |
        """
        old, added = self.group.tape.known_input, self.group.added
        given = {*self.group.data, *self.group.arguments, *self.group.values}  # there only if this pass reads them
        self.own = {
            key: x
            for key, x in self.made.items()
            if ((self.sweep, key) in needed or not own.get((self.sweep, key), set()).isdisjoint(self.group.bodies))
            and (x != old(key) or key in given)  # else it is there already
        }
        wanted = needed | at_once
        self.parents = {key: x for key, x in added.items() if (self.sweep, key) in wanted and x != old(f"^{key}")}
        results = (self.made[key] for key in self.group.results)
        self.group.tape.outputs([*self.own.values(), *self.parents.values(), *results])
        nodes = self.group.tape.nodes
        self.reads = {nodes[index][1] for index in self.group.tape.live() if nodes[index][0] == "input"}

    def chain_sums(self, inward: bool) -> None:
        """Record the group's tape again, its sums as chains that take last what children or the parent hand over last.

        When that is, along a chain of such bodies, shows after a few of them. To what its siblings have added to the
        parent, a body adds its own sum as a whole: so can several at a time.
        """
        tape, handed = self.group.tape, self.parents if inward else self.own
        names = {key if inward else f"^{key}": x for key, x in handed.items()}
        siblings = {name for name in self.reads if name.startswith("^+")}
        arrivals = dict.fromkeys(sorted(names.keys() & self.reads), 0)
        chained = ChainedTape(tape, arrivals, siblings)
        for _ in range(BODIES):
            known = {name: chained.known_at(names[name]) for name in arrivals}
            first = min(known.values(), default=0)
            arrivals = {name: time - first for name, time in known.items()}
            chained = ChainedTape(tape, arrivals, siblings)
        self.made, self.own, self.parents = (
            {key: chained.scalar(x) for key, x in of.items() if key in kept}
            for of, kept in ((self.made, self.group.results), (self.own, self.own), (self.parents, self.parents))
        )
        self.group.tape, self.arrivals = chained.tape, arrivals

    def stores(self) -> bool:
        """Whether the pass does anything for these bodies."""
        return bool(self.own or self.parents or self.group.results)

    def from_slots(self, others: bool = False) -> set[Key]:
        """Keys that are read from slots; only those of `others`, if asked."""
        tables = {*self.group.data, *self.group.arguments}
        return {self.key(name) for name in self.reads if name not in tables and ("^" in name or not others)}

    def linked(self) -> set[Key]:
        """Keys that are read from linked records."""
        return {self.key(name) for name in self.reads if name.rpartition("^")[0]}

    def inputs_by_key(self) -> dict[Key, list[int]]:
        """The inputs that are read from slots, as edges of the tape."""
        tables, edges = {*self.group.data, *self.group.arguments}, dict[Key, list[int]]()
        for name in sorted(self.reads - tables):
            edges.setdefault(self.key(name), []).append(self.group.input(name).edge)
        return edges

    def key(self, name: str) -> Key:
        """The key of an input, which may be that of the parent or of a record that the body knows."""
        link, _, key = name.rpartition("^")
        return (self.group.links[link][0] if link else self.sweep), key


def needs_of(passes: Sequence[Pass], late: set[Key]) -> dict[Group, Need]:
    """From the last pass to the first: only what is read later, or by others in the same pass, is stored."""
    by_group: dict[Group, Need] = {}
    needed, own = set(late), dict[Key, set[int]]()
    for p in reversed(passes):
        needs = [Need(p.sweep, group) for group in p.groups]
        read = set[Key]()
        while True:
            before = len(needed) + len(read)
            for need in needs:
                need.update(needed, own, read)
                needed |= need.from_slots(others=True)
                read |= need.from_slots()
            if len(needed) + len(read) == before:
                break
        for need in needs:
            for key in need.from_slots() - need.from_slots(others=True):
                own.setdefault(key, set()).update(need.group.bodies)
        by_group |= {need.group: need for need in needs}
    return by_group


class Frames(NamedTuple):
    """The frames of a pass: the place of each key, which frame each body has, and how many are in use at a time."""

    places: dict[Key, int]
    of_body: list[int]
    at_a_time: int


class Storage:
    """The slots of all sweeps, and the frames of all passes behind them, unless all numbers are to stand in slots.

    | field   | meaning                                                                       |
    |---------|-------------------------------------------------------------------------------|
    | slots   | the slot of each key; keys that are not in use at the same time share one     |
    | strides | how many slots a body of each sweep has                                       |
    | bases   | where the slots of each sweep begin                                           |
    | frames  | of each pass                                                                  |
    | size    | of everything                                                                 |
    """

    def __init__(
        self, passes: Sequence[Pass], needs: dict[Group, Need], late: set[Key], orders: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]], frames: bool = True,
    ):  # fmt: skip
        first, last = _times(passes, needs, late)
        fleeting = _fleeting(passes, needs, late, first, last) if frames else set[Key]()
        kept = [key for key in first if key not in fleeting]
        handed_over = [_handed_over(p, needs) for p in passes]
        self.slots, self.strides = _slots(kept, first, last, handed_over, len(orders))
        sizes = [len(of) * stride for of, stride in zip(parents, self.strides, strict=True)]
        self.bases = [sum(sizes[:k]) for k in range(len(sizes))]
        self.frames: list[Frames] = []
        for time, p in enumerate(passes):
            keys = sorted(key for key in fleeting if first[key] == time)
            order, parent_of = orders[p.sweep], parents[p.sweep]
            of_body, count = _frames(p.inward, order, parent_of) if keys else ([0] * len(parent_of), 0)
            self.frames.append(Frames({key: i for i, key in enumerate(keys)}, of_body, count))
        self._frames_at = sum(sizes)
        self.size = sum(sizes) + max((len(f.places) * f.at_a_time for f in self.frames), default=0)

    def at(self, sweep: int, body: int) -> int:
        """Where the slots of a body begin."""
        return self.bases[sweep] + body * self.strides[sweep]

    def place(self, time: int, key: Key) -> Place:
        """Where a key stands in a pass, whatever body it belongs to."""
        places = self.frames[time].places
        return ("frames", key[0], places[key]) if key in places else ("slots", key[0], self.slots[key])

    def frame_at(self, time: int, body: int) -> int:
        """Where the frame of a body begins in a pass."""
        frames = self.frames[time]
        return self._frames_at + frames.of_body[body] * len(frames.places)


def _times(passes: Sequence[Pass], needs: dict[Group, Need], late: set[Key]) -> tuple[dict[Key, int], dict[Key, int]]:
    """The first and the last pass in which each key is used."""
    first: dict[Key, int] = {}
    last: dict[Key, int] = {}
    for time, p in enumerate(passes):
        for group in p.groups:
            need = needs[group]
            begins = need.from_slots(others=True) | {(p.sweep, key) for key in group.values}
            stored = {(p.sweep, key) for key in (*need.own, *need.parents)}
            for key in stored | need.from_slots():
                first.setdefault(key, time)
                last[key] = time
            for key in begins & {*first}:
                first[key] = min(first[key], time)
    for key in late & {*first}:
        first[key], last[key] = -1, len(passes)
    return first, last


def _fleeting(
    passes: Sequence[Pass], needs: dict[Group, Need], late: set[Key], first: dict[Key, int], last: dict[Key, int]
) -> set[Key]:
    """Keys that are used within one pass along their own sweep, by bodies and their parents alone."""
    fleeting: set[Key] = set()
    for time, p in enumerate(passes):
        fleeting |= {key for key in first if first[key] == last[key] == time and key[0] == p.sweep}
    for p in passes:
        for group in p.groups:
            fleeting -= needs[group].linked()
            fleeting -= {(p.sweep, key) for key in group.values}
    return fleeting - late


class _HandedOver(NamedTuple):
    """Keys of a pass whose slots may change hands while a body is at work, in the middle of the pass."""

    read: set[Key]  # by the body itself alone, and not written
    written: set[Key]  # by the body itself alone


def _handed_over(p: Pass, needs: dict[Group, Need]) -> _HandedOver:
    by_others, by_itself, read, given = set[Key](), set[Key](), set[Key](), set[Key]()
    for group in p.groups:
        need = needs[group]
        by_itself |= {(p.sweep, key) for key in need.own}
        by_others |= {(p.sweep, key) for key in need.parents}
        given |= {(p.sweep, key) for key in group.values}
        read |= need.from_slots() - need.from_slots(others=True)
    from_others = set[Key]().union(*(needs[group].from_slots(others=True) for group in p.groups))
    return _HandedOver(read - from_others - by_itself - by_others, by_itself - by_others - given)


def _slots(
    keys: Sequence[Key], first: dict[Key, int], last: dict[Key, int], handed_over: Sequence[_HandedOver], sweeps: int
) -> tuple[dict[Key, int], list[int]]:
    """The slot of each key, and how many each sweep has: of the free ones, that which was in use last.

    A slot is free from the pass on that follows the last one of its key. It is free in that pass already for what a
    body writes where it alone has just read.
    """
    slots: dict[Key, int] = {}
    holders: list[list[Key]] = [[] for _ in range(sweeps)]  # of each slot, the last key

    def is_free(before: Key, key: Key) -> bool:
        time = first[key]
        now = 0 <= time == last[before] and before in handed_over[time].read and key in handed_over[time].written
        return last[before] < time or now

    for key in sorted(keys, key=lambda key: (first[key], key)):
        mine = holders[key[0]]
        free = [slot for slot, before in enumerate(mine) if is_free(before, key)]
        slot = max(free, key=lambda slot: (last[mine[slot]], -slot), default=len(mine))
        mine[slot : slot + 1] = [key]
        slots[key] = slot
    return slots, [max(len(mine), 1) for mine in holders]


def _frames(inward: bool, order: Sequence[int], parents: Sequence[int]) -> tuple[list[int], int]:
    """Of each body its frame: of its own fields until the last child has read them, or of sums until it has."""
    of_body, free, count = [0] * len(parents), list[int](), 0
    waiting = [0] * len(parents)
    for body in order:
        waiting[parents[body]] += 1
    taken = set[int]()

    def take(body: int) -> None:
        nonlocal count
        if body not in taken:
            taken.add(body)
            if not free:
                free.append(count)
                count += 1
            of_body[body] = heapq.heappop(free)

    for body in reversed(order) if inward else [0, *order]:
        if inward:
            take(body)  # of a leaf, for nothing
            take(parents[body])
            heapq.heappush(free, of_body[body])
            continue
        take(body)
        if body:
            waiting[parents[body]] -= 1
        for ended in {body, parents[body]}:
            if not waiting[ended]:
                heapq.heappush(free, of_body[ended])
                waiting[ended] = -1
    return of_body, count
