"""What a loop of rolled code hands from one body to the next in registers instead of in a frame.

A body that comes right after its only child, on the way inward, takes over what that child has added; one that comes
right after its parent, whose only child it is, on the way outward, what the parent has found. Memory would make each
body wait for what the one before has just stored. Along a chain, all bodies but the ends do both.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from momentree.compile.emit.rolled_storage import Key, Need
from momentree.compile.trace.rolled_groups import Group, Pass
from momentree.spatial import Scalar

SHARE = 0.5  # of the bodies, at least, that must take over from the one before


class Variant(NamedTuple):
    """Bodies of one group with the same code: whether they take over from the one before, and hand on to the next."""

    group: Group
    takes: bool
    hands: bool


class Handover:
    """What a pass hands on in registers.

    | field    | meaning                                               |
    |----------|-------------------------------------------------------|
    | variants | in the order of their groups                          |
    | of_body  | the variant of each body                              |
    | keys     | of the numbers that are handed on, with their places  |
    | opposite | those of which registers hold the negative            |
    """

    def __init__(
        self, p: Pass, needs: Mapping[Group, Need], places: Mapping[Key, int], order: Sequence[int],
        parents: Sequence[int],
    ):  # fmt: skip
        self._places, self._inward = places, p.inward
        group_of = {body: group for group in p.groups for body in group.bodies}
        children = Counter(parents[body] for body in order)
        sequence = list(reversed(order)) if p.inward else list(order)
        taken = {group: self._taken(needs[group]) for group in p.groups}
        handed = {group: self._handed(needs[group]) for group in p.groups}
        pairs = []
        for before, after in itertools.pairwise(sequence):
            child, parent = (before, after) if p.inward else (after, before)
            alone = parents[child] == parent and children[parent] == 1
            if alone and taken[group_of[after]] <= handed[group_of[before]].keys():
                pairs.append((before, after))
        if len(pairs) < SHARE * len(sequence):
            pairs = []
        hands, takes = {before for before, _ in pairs}, {after for _, after in pairs}
        self.of_body = {body: Variant(group_of[body], body in takes, body in hands) for body in order}
        self.variants = sorted({*self.of_body.values()}, key=lambda variant: (variant.group.number, *variant[1:]))
        self.keys = sorted({key for _, after in pairs for key in taken[group_of[after]]})
        bodies = Counter(self.of_body.values())
        negative = Counter[Key]()
        for variant, count in bodies.items():
            edge = variant.group.tape.edge
            for key, x in handed[variant.group].items() if variant.hands else ():
                negative[key] += count if edge(x) < 0 else -count
        self.opposite = {key for key in self.keys if negative[key] > 0}

    def _taken(self, need: Need) -> set[Key]:
        """What a body reads of the one before: sums over children, or fields of the parent."""
        tables = {*need.group.data, *need.group.arguments}
        names = [name for name in need.reads - tables if ("^" not in name if self._inward else name.startswith("^"))]
        return {need.key(name) for name in names if need.key(name) in self._places}

    def _handed(self, need: Need) -> dict[Key, Scalar]:
        """What a body stores for the next one."""
        stored = need.parents if self._inward else need.own
        return {(need.sweep, key): x for key, x in stored.items() if (need.sweep, key) in self._places}
