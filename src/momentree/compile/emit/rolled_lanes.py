"""The text of rolled code of a single row: loops over chunks of like bodies (rolled_chunks.py), a body in each lane.

Lanes without a body do what the first body of the chunk does, in memory of their own: they hold finite numbers, add
nothing to parents, and give no results. A chunk of one body is computed as numbers.

| what a chunk adds to its parents | when                             | how                                    |
|----------------------------------|----------------------------------|----------------------------------------|
| aligned                          | they are all bodies of one chunk | vectors are added                      |
| blended                          | they are some of them            | the same, other lanes are kept         |
| one                              | there is one parent              | lane after lane                        |
| shuffle                          | they are some of one or two      | the same, in other lanes               |
| gather                           | no two are the same              | lane by lane                           |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from momentree.compile.emit.lanes import Lanes, Rows, Writer, fused_products
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.number_tables import INVARIANT
from momentree.compile.emit.order import arguments_of, forwards
from momentree.compile.emit.rolled_chunk_tables import PARENT, ChunkTables, ChunkVariant
from momentree.compile.emit.rolled_chunks import ALIGNED, BLENDED, GATHER, ONE, SHUFFLE, Layout
from momentree.compile.emit.rolled_text import RolledText, write_and_store
from momentree.compile.trace.rolled_groups import Pass
from momentree.compile.trace.tape import edges_of

if TYPE_CHECKING:
    from momentree.compile.emit.rolled_llvm import Rolled

_OWN = "own"  # as a link: the body itself


class ChunksText(RolledText):
    """Chunk by chunk; the memory begins at the length of a vector, which `scratch` need not do."""

    def __init__(self, code: Rolled, rows: Rows | Lanes, layout: Layout):
        super().__init__(code, rows)
        self.layout = layout
        let = self.lines.let
        at = let("ptrtoint ptr %scratch to i64")
        skipped = let(f"and i64 {let(f'sub i64 0, {at}')}, 63")
        self.lines.do(f"%chunks = getelementptr i8, ptr %scratch, i64 {skipped}")

    def address(self, sweep: int, body: int, key: str) -> str:
        return self._slot(self.layout.at(sweep, body), self.layout.storage.slots[sweep, key])

    def _slot(self, start: int, slot: int) -> str:
        return self.lines.let(f"getelementptr double, ptr %chunks, i64 {start + slot * self.layout.width}")

    def store_at(self, number: int, sweep: int, body: int, key: str, value: str) -> None:
        layout, slot = self.layout, self.layout.storage.slots[sweep, key]
        at, lane = layout.places[sweep][body]
        chunk = layout.chunks[sweep][at]
        others = [i for i, filled in enumerate(chunk.filled) if filled == body] if len(chunk.bodies) > 1 else [lane]
        for each in others:
            self.store(self.lines, value, self._slot(layout.base(sweep, at) + each, slot))

    def loop(self, number: int, p: Pass) -> None:
        name = f"{self.rows.name}.chunks{number}"
        tables, do = ChunkTables(name, p, self.code, self.layout), self.lines.do
        self.constants += tables.texts()
        begin, step, stop = (tables.count - 1, -1, -1) if p.inward else (0, 1, tables.count)
        do(f"br label %{name}")
        self.lines.label(name)
        do(f"%{name}.i = phi i64 [ {begin}, %{self.rows.block} ], [ %{name}.next, %{name}.end ]")
        do(f"%{name}.from = mul i64 %{name}.i, {tables.integers}")
        do(f"%{name}.ints = getelementptr i32, ptr @{name}.integers, i64 %{name}.from")
        do(f"%{name}.begin = mul i64 %{name}.i, {tables.numbers * self.layout.width}")
        do(f"%{name}.data = getelementptr double, ptr @{name}.numbers, i64 %{name}.begin")
        cases = " ".join(f"i64 {i}, label %{name}.variant{i}" for i in range(1, len(tables.variants)))
        do(f"switch i64 {_integer(self.lines, name, 1)}, label %{name}.variant0 [ {cases} ]")
        for i, variant in enumerate(tables.variants):
            self.lines.label(f"{name}.variant{i}")
            chunk = _Chunk(self, number, tables, variant, f"{name}.v{i}.")
            self.functions |= chunk.writer.functions
            do(str(chunk.lines).strip())
            do(f"br label %{name}.end")
        self.lines.label(f"{name}.end")
        do(f"%{name}.next = add i64 %{name}.i, {step}")
        do(f"%{name}.more = icmp ne i64 %{name}.next, {stop}")
        do(f"br i1 %{name}.more, label %{name}, label %{name}.done")
        self.lines.label(f"{name}.done")
        self.rows.block = f"{name}.done"


def _integer(lines: Lines, name: str, index: int) -> str:
    """An integer of the chunk in the tables of a pass."""
    at = lines.let(f"getelementptr i32, ptr %{name}.ints, i64 {index}")
    return lines.let(f"sext i32 {lines.let(f'load i32, ptr {at}, align 4')} to i64")


class _Chunk:
    """The code of one chunk in a loop; each number is stored as soon as it is computed."""

    def __init__(self, text: ChunksText, number: int, tables: ChunkTables, variant: ChunkVariant, prefix: str):
        code, group, self._step = text.code, variant.group, text.layout.width
        self._text, self._tables, self._variant, self._group = text, tables, variant, group
        self._sweep, self._need = code.passes[number].sweep, code.needs[group]
        self._slots = text.layout.storage.slots
        self.lines = Lines(1 if variant.single else self._step, prefix)
        self._mask = "" if variant.single or variant.full else self._find_mask()
        nodes = group.tape.nodes
        self._operations = [index for index in group.tape.live() if edges_of(nodes[index])]
        self._fused = fused_products(nodes, self._operations, group.tape.output_edges())
        self.writer = Writer(self.lines, nodes, self._leaf, text.rows.numbers, self._fused)
        self._standing: dict[tuple[int, int], list[int]] = {}  # what is read from each slot
        for key, edges in self._need.inputs_by_key().items():
            self._standing.setdefault((key[0], self._slots[key]), []).extend(edges)
        order = forwards(arguments_of(nodes, self._operations, self._fused))
        write_and_store(self.writer, self._need, order, self._store, self._give)

    # --- where things are ---

    def _integer(self, index: int) -> str:
        return _integer(self.lines, self._tables.name, index)

    def _find_mask(self) -> str:
        """Which lanes have a body."""
        let, name = self.lines.let, self._tables.name
        bits = let(f"load i32, ptr {let(f'getelementptr i32, ptr %{name}.ints, i64 2')}, align 4")
        return let(f"bitcast i{self._step} {let(f'trunc i32 {bits} to i{self._step}')} to {self.lines.truth}")

    def _addresses(self, kind: str, link: str, slot: int) -> list[str]:
        """Of a slot of records: one, or one for each lane."""
        starts = [0] if kind == _OWN else self._tables.where(self._variant, kind, link)
        begin = [self.lines.let(f"getelementptr double, ptr %chunks, i64 {self._integer(at)}") for at in starts]
        return [self.lines.let(f"getelementptr double, ptr {at}, i64 {slot * self._step}") for at in begin]

    def _number(self, at: str) -> str:
        return self.lines.let(f"load double, ptr {at}, align 8")

    def _vector(self, at: str) -> str:
        return self.lines.let(f"load {self.lines.type}, ptr {at}, align {8 * self.lines.width}")

    # --- what is read ---

    def _leaf(self, index: int) -> str:
        lines, group = self.lines, self._group
        name = group.tape.nodes[index][1]
        if name in group.arguments:
            return self._argument(name)
        if name in group.data:
            at = f"getelementptr double, ptr %{self._tables.name}.data, i64 "
            at = lines.let(f"{at}{self._tables.number(group, name) * self._step}")
            return lines.let(f"load {lines.type}, ptr {at}, align {8 * lines.width}, {INVARIANT}")
        link = name.rpartition("^")[0]
        if "^" not in name:
            found = self._vector(self._addresses(_OWN, "", self._slots[self._sweep, name])[0])
            return lines.choose(self._mask, found, lines.number(0.0)) if self._mask and name[0] == "+" else found
        return self._linked(link, self._slots[self._need.key(name)])

    def _linked(self, link: str, slot: int) -> str:
        """A number of the parents or of linked records."""
        at, (mode, lanes) = self._addresses("link", link, slot), self._variant.mode(link)
        if mode == GATHER:
            return self.lines.of_lanes([self._number(each) for each in at])
        if mode == SHUFFLE:
            first = next(lane for lane in lanes if lane >= 0)
            filled = [lane if lane >= 0 else first for lane in lanes]
            return self._shuffled(self._vector(at[0]), self._vector(at[1]), filled)
        return self._vector(at[0]) if mode == ALIGNED else self.lines.splat(self._number(at[0]))

    def _shuffled(self, one: str, other: str, lanes: Sequence[int]) -> str:
        """Lanes of two vectors, those of the second behind those of the first."""
        pattern = ", ".join(f"i32 {lane}" for lane in lanes)
        kind = self.lines.type
        return self.lines.let(f"shufflevector {kind} {one}, {kind} {other}, <{len(lanes)} x i32> <{pattern}>")

    def _argument(self, name: str) -> str:
        """Entries of an argument, side by side in the call or not."""
        rows, lines = self._text.rows, self.lines
        k = self._text.code.columns[self._group.arguments[name][0]][0]
        columns = [self._integer(at) for at in self._tables.where(self._variant, "argument", name)]
        start = rows.start(k)
        if start is not None and len(columns) < lines.width:
            at = lines.let(f"getelementptr double, ptr {start}, i64 {columns[0]}")
            return lines.let(f"load {lines.type}, ptr {at}, align 8")
        found = []
        for lane, column in enumerate(self._all(columns)):
            scalar = Lines(1, f"{columns[0][1:]}.{lane}.")
            found.append(rows.load(scalar, k, column))
            lines.do(str(scalar).strip())
        return lines.of_lanes(found)

    def _all(self, columns: list[str]) -> list[str]:
        """Columns of all lanes, where the first may stand for those that follow."""
        if len(columns) == self.lines.width:
            return columns
        return [self.lines.let(f"add i64 {columns[0]}, {lane}") for lane in range(self.lines.width)]

    # --- what is stored ---

    def _store(self, to_parent: bool, name: str, edge: int, at_last: bool) -> bool:
        """Store a number once what stands there has been read; whether it is done."""
        slot = self._slots[self._sweep, name]
        old = self._standing.get((self._sweep, slot), ())
        if not at_last and any(abs(read) not in self.writer.names for read in old):
            return False
        for read in old:
            self.writer.value(read)
        if to_parent:
            self._add(name, slot, edge)
        else:
            self._put(self.writer.value(edge), self._addresses(_OWN, "", slot)[0])
        return True

    def _put(self, value: str, at: str) -> None:
        self.lines.do(f"store {self.lines.type} {value}, ptr {at}, align {8 * self.lines.width}")

    def _add(self, name: str, slot: int, edge: int) -> None:
        """Store what parents then have."""
        lines, addition, value = self.lines, self._variant.addition, self.writer.value(edge)
        if addition == GATHER:
            for lane, at in enumerate(self._addresses("add", "", slot)):
                lines.do(f"store double {lines.lane(value, lane)}, ptr {at}, align 8")
            return
        if addition == SHUFFLE:
            self._add_shuffled(slot, value)
            return
        at = self._addresses("link", PARENT, slot)[0]
        if addition == BLENDED:
            value = lines.choose(self._mask, value, self._vector(at)) if self._mask else value
        if addition == ONE:
            lines.do(f"store double {self._added_up(name, at, edge)}, ptr {at}, align 8")
            return
        self._put(value, at)

    def _added_up(self, name: str, at: str, edge: int) -> str:
        """What one parent has and all lanes add to it, from the last to the first, as one body after the other does."""
        lines, zero = self.lines, self.lines.number(-0.0)
        added = [self.writer.value(each) for each in self._addends(name, edge)]
        added = [lines.choose(self._mask, x, zero) for x in added] if self._mask else added
        total = self._number(at)
        for lane in reversed(range(lines.width)):
            each = [lines.lane(x, lane) for x in added]
            if len(each) == 1:
                total = lines.let(f"fadd double {total}, {each[0]}")
            else:
                total = lines.let(f"call double @llvm.fmuladd.f64(double {each[0]}, double {each[1]}, double {total})")
        return total

    def _addends(self, name: str, edge: int) -> tuple[int, ...]:
        """What is added to a sum over children: a number, or two factors whose product is rounded with the sum."""
        nodes, old = self._group.tape.nodes, self._group.input(f"^{name}").edge
        op, (a, b) = nodes[abs(edge)][0], edges_of(nodes[abs(edge)])
        assert op == "+"
        assert abs(old) in (abs(a), abs(b))
        one = b if abs(a) == abs(old) else a
        one = one if edge > 0 else -one
        if abs(one) not in self._fused:
            return (one,)
        x, y = edges_of(nodes[abs(one)])
        return (x if one > 0 else -x, y)

    def _add_shuffled(self, slot: int, value: str) -> None:
        """Into the lanes of one or two chunks, the others are kept."""
        step, (_, lanes), places = self._step, self._variant.mode(PARENT), self._addresses("link", PARENT, slot)
        for which, at in enumerate(places if max(lanes) >= step else places[:1]):
            kept = [step + lane for lane in range(step)]
            for lane, to in enumerate(lanes):
                if to >= 0 and to // step == which:
                    kept[to % step] = lane
            self._put(self._shuffled(value, self._vector(at), kept), at)

    def _give(self, name: str, edge: int) -> None:
        """Store a result of each body."""
        rows, lines, value = self._text.rows, self.lines, self.writer.value(edge)
        columns = [self._integer(at) for at in self._tables.where(self._variant, "result", name)]
        to = [lines.let(f"getelementptr double, ptr {rows.results}, i64 {column}") for column in columns]
        if len(to) < lines.width or self._variant.single:
            lines.do(f"store {lines.type} {value}, ptr {to[0]}, align 8")
            return
        nowhere = lines.let(f"getelementptr double, ptr %chunks, i64 {self._text.layout.nowhere}")
        for lane, at in enumerate(to):
            has_body = lines.let(f"extractelement {lines.truth} {self._mask}, i64 {lane}") if self._mask else "true"
            where = lines.let(f"select i1 {has_body}, ptr {at}, ptr {nowhere}")
            lines.do(f"store double {lines.lane(value, lane)}, ptr {where}, align 8")
