"""What the loop over the chunks of a pass reads of each chunk: where its numbers are, lane by lane, and constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy

from momentree.compile.emit.rolled_chunks import GATHER, ONE, SHUFFLE, SINGLE, Chunk, Layout
from momentree.compile.emit.rolled_tables import table_texts
from momentree.compile.trace.rolled_groups import Group, Pass

if TYPE_CHECKING:
    from momentree.compile.emit.rolled_llvm import Rolled

FIXED = 3  # integers of each chunk: its slots, its variant, and which lanes have a body
PARENT = ""  # as a link
MOST_SHUFFLES, MOST_WIDE = 3, 3  # variants of a group that shuffle, and that have several bodies: each is code


class ChunkVariant(NamedTuple):
    """Chunks of one group with the same code.

    | field    | meaning                                                                      |
    |----------|------------------------------------------------------------------------------|
    | full     | every lane has a body                                                        |
    | modes    | how parents (link "") and linked records are read, with the lanes of shuffles |
    | addition | how the chunk adds to its parents                                            |
    """

    group: Group
    full: bool
    modes: tuple[tuple[str, str, tuple[int, ...]], ...]
    addition: str
    single: bool

    def mode(self, link: str) -> tuple[str, tuple[int, ...]]:
        """How records are read, and the lanes of a shuffle."""
        return next((mode, lanes) for name, mode, lanes in self.modes if name == link)

    @property
    def shuffles(self) -> bool:
        return any(lanes for _, _, lanes in self.modes)

    def unshuffled(self) -> ChunkVariant:
        """The same, but lanes are gathered instead."""
        modes = ((link, GATHER if mode == SHUFFLE else mode, tuple[int, ...]()) for link, mode, _ in self.modes)
        return self._replace(modes=(*modes,), addition=GATHER if self.addition == SHUFFLE else self.addition)

    def general(self) -> ChunkVariant:
        """The same, as code for most chunks of the group: all lanes are gathered, some may have no body."""
        if self.single:
            return self
        one_parent = self.addition == ONE
        modes = ((link, ONE if one_parent and link == PARENT else GATHER, tuple[int, ...]()) for link, *_ in self.modes)
        return self._replace(modes=(*modes,), full=False, addition=self.addition and (ONE if one_parent else GATHER))


class ChunkTables:
    """Integers and numbers of the chunks of a pass, in the order of its loop.

    | field    | meaning                                            |
    |----------|----------------------------------------------------|
    | name     | what the names of its tables begin with            |
    | integers | how many each chunk has                            |
    | numbers  | how many vectors of constants each chunk has       |
    | count    | of chunks                                          |
    | variants | of chunks, in the order in which the switch has them |
    """

    def __init__(self, name: str, p: Pass, code: Rolled, layout: Layout):
        self.name, self._p, self._code, self._layout = name, p, code, layout
        pairs, members = variants_of(code, layout, p), dict[ChunkVariant, list[int]]()
        self._chunks, self.count = [chunk for chunk, _ in pairs], len(pairs)
        for i, (_, variant) in enumerate(pairs):
            members.setdefault(variant, []).append(i)
        self.variants = list(members)
        self._data = {g: [key for key in g.data if key in code.needs[g].reads] for g in p.groups}
        self.numbers = max(1, *(len(self._data[g]) for g in p.groups))
        self._where: dict[ChunkVariant, dict[tuple[str, str], list[int]]] = {}
        columns = {variant: self._columns(variant, at) for variant, at in members.items()}
        self.integers = FIXED + max(len(each) for each in columns.values())
        self._integers = numpy.zeros((self.count, self.integers), dtype="<i4")
        self._numbers = numpy.zeros((self.count, self.numbers, layout.width), dtype="<f8")
        for k, (variant, at) in enumerate(members.items()):
            self._integers[at, 1] = k
            for column, entries in enumerate(columns[variant], FIXED):
                self._integers[at, column] = entries
            self._enter(variant, at)

    def _enter(self, variant: ChunkVariant, at: Sequence[int]) -> None:
        """Where slots are, which lanes have bodies, and constants."""
        group, sweep = variant.group, self._p.sweep
        for i in at:
            chunk = self._chunks[i]
            first, own = chunk.bodies[0], self._layout.places[sweep]
            begin = self._layout.at(sweep, first) if variant.single else self._layout.base(sweep, own[first][0])
            self._integers[i, 0], self._integers[i, 2] = begin, chunk.mask
            places = [group.place[body] for body in chunk.filled]
            for column, key in enumerate(self._data[group]):
                self._numbers[i, column] = [group.data[key][place] for place in places]

    def _columns(self, variant: ChunkVariant, at: Sequence[int]) -> list[list[int]]:
        """The integers of the chunks of a variant; what is alike in all of them is there once."""
        found: dict[tuple[int, ...], int] = {}
        self._where[variant] = {}
        for what, rows in self._lists(variant, [self._chunks[i] for i in at]).items():
            columns = list(zip(*rows, strict=True))
            self._where[variant][what] = [FIXED + found.setdefault(column, len(found)) for column in columns]
        return [list(column) for column in found]

    def _lists(self, variant: ChunkVariant, chunks: Sequence[Chunk]) -> dict[tuple[str, str], list[list[int]]]:
        """By kind and name: of each chunk the integers, one or one for each lane."""
        group, code, sweep = variant.group, self._code, self._p.sweep
        lists: dict[tuple[str, str], list[list[int]]] = {}
        for link, mode, _ in variant.modes:
            other, numbers = group.links.get(link, (sweep, [code.parents[sweep][body] for body in group.bodies]))
            of = dict(zip(group.bodies, numbers, strict=True))
            lists["link", link] = [self._starts(mode, chunk, other, of) for chunk in chunks]
        if variant.addition == GATHER:
            parents = code.parents[sweep]
            lists["add", ""] = [
                [self._layout.nowhere if body < 0 else self._layout.at(sweep, parents[body]) for body in chunk.lanes]
                for chunk in chunks
            ]
        for key, names in group.arguments.items():
            if key in code.needs[group].reads:
                columns = [code.columns[name][1] for name in names]
                lists["argument", key] = self._entries(variant, chunks, columns)
        for key, columns in group.results.items():
            lists["result", key] = self._entries(variant, chunks, columns)
        return lists

    def _starts(self, mode: str, chunk: Chunk, other: int, of: dict[int, int]) -> list[int]:
        """Where the slots of the records are that a chunk reads."""
        layout, first = self._layout, of[chunk.bodies[0]]
        if mode == SHUFFLE:
            both, _ = layout.shuffle(chunk, other, [of[body] for body in chunk.bodies])
            return [layout.base(other, at) for at in both]
        if mode == GATHER:
            return [layout.at(other, of[body]) for body in chunk.filled]
        if mode in (SINGLE, ONE):
            return [layout.at(other, first)]
        return [layout.base(other, layout.places[other][first][0])]

    def _entries(self, variant: ChunkVariant, chunks: Sequence[Chunk], columns: Sequence[int]) -> list[list[int]]:
        """The entries of arguments or results: the first, where the others of each chunk follow, or all."""
        place = variant.group.place
        entries = [[columns[place[body]] for body in chunk.filled] for chunk in chunks]
        following = variant.full and all(row == list(range(row[0], row[0] + len(row))) for row in entries)
        return [row[:1] for row in entries] if following or variant.single else entries

    def where(self, variant: ChunkVariant, kind: str, name: str) -> list[int]:
        """The places of integers in the table."""
        return self._where[variant][kind, name]

    def number(self, group: Group, key: str) -> int:
        """The place of a constant, counted in vectors."""
        return self._data[group].index(key)

    def texts(self) -> list[str]:
        return table_texts(self.name, self._integers, self._numbers, 64)


def variants_of(code: Rolled, layout: Layout, p: Pass) -> list[tuple[Chunk, ChunkVariant]]:
    """The chunks for which a pass does anything, each with its variant: not too many of a group."""
    group_of = {body: group for group in p.groups for body in group.bodies if code.needs[group].stores()}
    pairs = [(chunk, group_of[chunk.bodies[0]]) for chunk in layout.chunks[p.sweep][1:] if chunk.bodies[0] in group_of]
    variants = [_variant(code, layout, p, group, chunk) for chunk, group in pairs]
    shuffles = Counter(variant.group for variant in {*variants} if variant.shuffles)
    variants = [each.unshuffled() if shuffles[each.group] > MOST_SHUFFLES else each for each in variants]
    wide = Counter(variant.group for variant in {*variants} if not variant.single)
    variants = [each.general() if wide[each.group] > MOST_WIDE else each for each in variants]
    return [(chunk, variant) for (chunk, _), variant in zip(pairs, variants, strict=True)]


def _variant(code: Rolled, layout: Layout, p: Pass, group: Group, chunk: Chunk) -> ChunkVariant:
    """The variant of a chunk in a pass, the fastest."""
    need, parents = code.needs[group], code.parents[p.sweep]
    read = {name.rpartition("^")[0] for name in need.reads if "^" in name}
    others = {PARENT: (p.sweep, [parents[body] for body in chunk.bodies])} if need.parents or PARENT in read else {}
    for link, (sweep, numbers) in group.links.items():
        if link in read:
            others[link] = sweep, [numbers[group.place[body]] for body in chunk.bodies]
    modes = []
    for link, (sweep, of) in others.items():
        mode = layout.mode(chunk, sweep, of)
        modes.append((link, mode, layout.shuffle(chunk, sweep, of)[1] if mode == SHUFFLE else ()))
    addition = layout.addition(chunk, modes[0][1]) if need.parents else ""
    return ChunkVariant(group, chunk.full, (*modes,), addition, len(chunk.bodies) == 1)
