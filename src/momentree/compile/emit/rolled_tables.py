"""What the loop of a pass in rolled code reads of each body: integers that say where its numbers are, and constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy

from momentree.compile.emit.number_tables import table_text
from momentree.compile.trace.rolled_groups import Group, Pass

if TYPE_CHECKING:
    from momentree.compile.emit.rolled_llvm import Rolled

FIXED = 5  # integers of each body: its slots, those of its parent, its variant, its frame, that of its parent


class BodyTables:
    """What the loop of a pass reads of each body: integers and numbers, as many for each."""

    def __init__(self, name: str, number: int, p: Pass, code: Rolled):
        self.name, storage, handover = name, code.storage, code.handovers[number]
        self._columns = {g: [k for k in g.arguments if k in code.needs[g].reads] for g in p.groups}
        self._data = {g: [k for k in g.data if k in code.needs[g].reads] for g in p.groups}
        self._results = {g: list(g.results) for g in p.groups}
        read = {g: {name.rpartition("^")[0] for name in code.needs[g].reads if "^" in name} for g in p.groups}
        self._links = {g: [link for link in g.links if link in read[g]] for g in p.groups}
        parts = (self._links, self._columns, self._results)
        self.integers = FIXED + max(sum(len(part[g]) for part in parts) + (g in code.angles) for g in p.groups)
        self.numbers = max(1, *(len(self._data[g]) for g in p.groups))
        order, parents = numpy.array(code.orders[p.sweep]), numpy.array(code.parents[p.sweep])
        where = numpy.zeros(len(parents), dtype=int)
        where[order] = numpy.arange(len(order))
        self._where = where
        base, stride = storage.bases, storage.strides
        self._integers = numpy.zeros((len(order), self.integers), dtype="<i4")
        self._numbers = numpy.zeros((len(order), self.numbers), dtype="<f8")
        for g in p.groups:
            bodies = numpy.array(g.bodies)
            own = [base[p.sweep] + of * stride[p.sweep] for of in (bodies, parents[bodies])]
            frames = [[storage.frame_at(number, body) for body in of] for of in (g.bodies, parents[bodies])]
            variants = [handover.variants.index(handover.of_body[body]) for body in g.bodies]
            columns = [*own, variants, *frames]
            columns += [base[at] + numpy.array(of) * stride[at] for at, of in (g.links[x] for x in self._links[g])]
            columns += [[code.columns[name][1] for name in g.arguments[key]] for key in self._columns[g]]
            columns += [g.results[key] for key in self._results[g]]
            columns += [range(len(bodies))] if g in code.angles else []
            for column, entries in enumerate(columns):
                self._integers[where[bodies], column] = entries
            for column, key in enumerate(self._data[g]):
                self._numbers[where[bodies], column] = g.data[key]

    def links(self, group: Group) -> list[str]:
        return self._links[group]

    def link(self, group: Group, link: str) -> int:
        return FIXED + self._links[group].index(link)

    def integer(self, group: Group, key: str, result: bool = False) -> int:
        columns, results = self._columns[group], self._results[group]
        return FIXED + len(self._links[group]) + (len(columns) + results.index(key) if result else columns.index(key))

    def place(self, group: Group) -> int:
        """The place of a body in its group, where the group has angles of its own."""
        return FIXED + len(self._links[group]) + len(self._columns[group]) + len(self._results[group])

    def rows_of(self, group: Group) -> list[int]:
        """Where the bodies of a group stand in the tables."""
        return [int(row) for row in self._where[list(group.bodies)]]

    def number(self, group: Group, key: str) -> int:
        return self._data[group].index(key)

    def texts(self) -> list[str]:
        return table_texts(self.name, self._integers, self._numbers)


def table_texts(name: str, integers: numpy.ndarray, numbers: numpy.ndarray, alignment: int = 8) -> list[str]:
    """The tables of a pass."""
    bits = numbers.view("<u8").ravel().tolist()
    return [
        integer_table(f"{name}.integers", integers.ravel().tolist()),
        table_text(f"{name}.numbers", list(map("0x%016X".__mod__, bits)), alignment),
    ]


def integer_table(name: str, values: Iterable[int]) -> str:
    """A constant array of integers."""
    entries = [f"i32 {value}" for value in values]
    return f"@{name} = internal constant [{len(entries)} x i32] [{', '.join(entries)}], align 4"
