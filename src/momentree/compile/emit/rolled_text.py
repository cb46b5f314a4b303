"""What rolled code of every form shares: the main tape between its loops, and when a loop stores what it finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from momentree.compile.emit.lanes import Lanes, Rows, Writer
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.rolled_storage import Key, Need
from momentree.compile.trace.rolled_groups import Pass
from momentree.compile.trace.tape import edges_of

if TYPE_CHECKING:
    from momentree.compile.emit.rolled_llvm import Rolled


class RolledText(ABC):
    """A function over rows or lanes: the loops of all passes, and the main tape between them.

    | field     | meaning                                             |
    |-----------|-----------------------------------------------------|
    | constants | the texts of the tables that it reads               |
    | functions | what it calls and the module defines, with widths   |
    """

    def __init__(self, code: Rolled, rows: Rows | Lanes):
        self.code, self.width, self.rows = code, rows.width, rows
        self.lines = self.rows.body
        self.main = Writer(self.lines, code.nodes, self._leaf, rows.numbers)
        self.functions: set[tuple[str, int]] = set()
        self.constants: list[str] = []

    def write(self) -> None:
        """Everything, in its order."""
        code = self.code
        for number, p in enumerate(code.passes):
            if any(code.needs[group].stores() for group in p.groups):
                self._before(number, p)
                self.loop(number, p)
        for output, edge in code.remaining.items():
            self.rows.store(self.lines, self.value(edge), output)
        self.functions |= self.main.functions

    def function(self, linkage: str = "") -> str:
        return self.rows.text(linkage)

    @abstractmethod
    def loop(self, number: int, p: Pass) -> None:
        """The loop of a pass."""

    @abstractmethod
    def address(self, sweep: int, body: int, key: str) -> str:
        """Where a number stands that the main tape reads."""

    @abstractmethod
    def store_at(self, number: int, sweep: int, body: int, key: str, value: str) -> None:
        """Store a number of the main tape that a pass reads."""

    def _leaf(self, index: int) -> str:
        name = self.code.nodes[index][1]
        if name in self.code.reads:
            return self.load(self.lines, self.address(*self.code.reads[name]))
        return self.rows.load(self.lines, *self.code.columns[name])

    def value(self, edge: int) -> str:
        """A result of the main tape, all that leads to it written first."""
        nodes = self.code.nodes
        wanted, stack = set(), [abs(edge)]
        while stack:
            index = stack.pop()
            if index not in wanted and index not in self.main.names and edges_of(nodes[index]):
                wanted.add(index)
                stack += [abs(e) for e in edges_of(nodes[index])]
        for index in sorted(wanted):
            self.main.operate(index)
        return self.main.value(edge)

    def _before(self, number: int, p: Pass) -> None:
        """What a pass reads that no pass has made: of grounds, and results of the main tape."""
        read = set[Key]().union(*(self.code.needs[group].from_slots(others=True) for group in p.groups))
        for sweep, key in sorted(read & {*self.code.ground}):
            self.store_at(number, sweep, 0, key, self.value(self.code.ground[sweep, key]))
        for group in p.groups:
            for key in sorted({*group.values} & self.code.needs[group].reads):
                for body, edge in zip(group.bodies, self.code.values[group][key], strict=True):
                    self.store_at(number, p.sweep, body, key, self.value(edge))

    def load(self, lines: Lines, at: str) -> str:
        return lines.let(f"load {lines.type}, ptr {at}, align {8 * self.width}")

    def store(self, lines: Lines, value: str, at: str) -> None:
        lines.do(f"store {lines.type} {value}, ptr {at}, align {8 * self.width}")


def write_and_store(
    writer: Writer, need: Need, order: Iterable[int], store: Callable[[bool, str, int, bool], bool],
    give: Callable[[str, int], None],
) -> None:  # fmt: skip
    """Write the operations of a group in this order; behind each of them what can be stored now.

    | argument | meaning                                                                                             |
    |----------|-----------------------------------------------------------------------------------------------------|
    | store    | stores a number, whether it is added to the parent, its key and its edge; the last argument is      |
    |          | whether it must; gives whether it did                                                               |
    | give     | stores a result, by key and edge                                                                    |
    """
    group, edge = need.group, need.group.tape.edge
    puts: dict[int, list[Callable[[bool], bool]]] = {}
    for to_parent, of in ((False, need.own), (True, need.parents)):
        for key, x in of.items():
            puts.setdefault(abs(edge(x)), []).append(partial(store, to_parent, key, edge(x)))
    given: dict[int, list[Callable[[], None]]] = {}
    for key in group.results:
        given.setdefault(abs(edge(need.made[key])), []).append(partial(give, key, edge(need.made[key])))
    waiting: list[Callable[[bool], bool]] = []
    for index in order:
        writer.operate(index)
        waiting = [put for put in [*waiting, *puts.pop(index, ())] if not put(False)]
        for result in given.pop(index, ()):
            result()
    for put in [*waiting, *(put for rest in puts.values() for put in rest)]:  # the rest is merely read
        put(True)
    for result in (result for rest in given.values() for result in rest):
        result()
