"""The text of rolled code: for each pass a loop over the bodies, and in it the code of the group that a body is in.

The bodies of a sweep have the same slots, `stride` of them, at scratch + base + body * stride; a slot holds one number
for each lane (rolled_storage.py). What a loop needs to know of a body stands in two tables of the pass: where its slots
are, its parent's and those of records that it knows, its group, the frames, which entries of the arguments and of the
results are its own (integers), and its constants (numbers).
"""

from __future__ import annotations

import contextlib
import copy
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from momentree.compile.emit import rolled_costs
from momentree.compile.emit.angles import operations_before
from momentree.compile.emit.arguments import Arrays
from momentree.compile.emit.lanes import ByColumns, Lanes, Rows, Writer, fused_products, module
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.number_tables import INVARIANT
from momentree.compile.emit.order import arguments_of, cycles_of, forwards, in_time
from momentree.compile.emit.rolled_angles import AnglesLoop, GroupAngles, angles_of_groups
from momentree.compile.emit.rolled_chunks import Layout
from momentree.compile.emit.rolled_lanes import ChunksText
from momentree.compile.emit.rolled_registers import Handover, Variant
from momentree.compile.emit.rolled_storage import Key, Place, Storage, needs_of
from momentree.compile.emit.rolled_tables import BodyTables
from momentree.compile.emit.rolled_text import RolledText, write_and_store
from momentree.compile.trace.field_layout import FormTable
from momentree.compile.trace.rolled import Program, RolledRecords
from momentree.compile.trace.rolled_groups import Group, Pass
from momentree.compile.trace.tape import Tape, Variable, edges_of
from momentree.equations.sweeps import Record, Records, Runner
from momentree.spatial import Scalar

OWN, PARENT = "own", "parent"


class Rolled:
    """The code (compile/execute/kernel.py) of what was swept by rolled records: `results` on their main tape.

    Where a unit vector `gives` a "row" or a "column", the results are linear in the last argument, and this matrix is
    wanted instead; "columns of rows": one for each unit vector of the argument before it. `lanes` of a vector do the
    angles of a single row, or like bodies; one means a processor without vectors, such as a GPU.
    """

    def __init__(self, program: Program, results: Sequence[Scalar], arrays: Arrays, gives: str = "", lanes: int = 1):
        program.run_deferred()
        parameters = {node[1] for node in program.tape.nodes if node[0] == "parameter"}
        passed = arrays[: len(arrays) - (gives != "") - (gives == "columns of rows")]
        self.arrays = tuple((name, len(columns)) for name, columns in passed)
        self.constant = tuple(any(name in parameters for name in columns) for _, columns in passed)
        self.matrix: ByColumns | None = None
        if gives:
            matrices = len(arrays[-2][1]) if gives == "columns of rows" else 0
            self.matrix = ByColumns(len(arrays) - 1, len(arrays[-1][1]), len(results), gives == "row", matrices)
        self.outputs = self.matrix.outputs if self.matrix else len(results)
        self.columns = {name: (k, j) for k, (_, columns) in enumerate(arrays) for j, name in enumerate(columns)}
        self.tape, self.passes, self.reads = program.tape, program.passes, program.reads
        self.orders = [list(sweep.order) for sweep in program.sweeps]
        self.parents = [[0, *(record.parent for record in sweep[1:])] for sweep in program.sweeps]
        edge = self.tape.edge
        self.ground = {
            (number, key): edge(x)
            for number, sweep in enumerate(program.sweeps)
            for key, x in sweep.ground_numbers().items()
        }
        self.values = {g: {k: [*map(edge, column)] for k, column in g.values.items()} for g in _groups(self.passes)}
        remaining = self._assign_to_groups(results)
        self.remaining = {output: edge(x) for output, x in remaining.items()}
        self.tape.outputs(
            [*remaining.values(), *(x for g in _groups(self.passes) for c in g.values.values() for x in c)]
        )
        self.nodes = self.tape.nodes
        late = self._read_late()
        self.needs = needs_of(self.passes, late)
        for p in self.passes:
            for group in p.groups:
                self.needs[group].chain_sums(p.inward)
        self.storage = Storage(self.passes, self.needs, late, self.orders, self.parents)
        self.handovers = [
            Handover(p, self.needs, frames.places, self.orders[p.sweep], self.parents[p.sweep])
            for p, frames in zip(self.passes, self.storage.frames, strict=True)
        ]
        self._late, self._divided = late, dict[int, Layout]()
        self.vector = lanes
        if gives.startswith("column"):
            self.bodies_at_a_time = 1  # results of bodies side by side would not stand side by side
        self.angles = angles_of_groups(_groups(self.passes), self.needs, self.storage.size, lanes) if lanes > 1 else {}

    @cached_property
    def bodies_at_a_time(self) -> int:
        """In code of single rows: so many like bodies are computed side by side, at most."""
        return rolled_costs.bodies_at_a_time(self, self.vector)

    @classmethod
    def of(
        cls, tape: Tape, arrays: Arrays, trace: Callable[[Runner], Sequence[Scalar]], gives: str = "",
        forms: FormTable | None = None, lanes: int = 1,
    ) -> Rolled:  # fmt: skip
        """The code of what `trace` gives when its records are swept by the runner that it is handed."""
        program = Program(tape, forms)

        def run(bodies: Iterable[Record], order: Sequence[int] | None = None) -> Records:
            return RolledRecords(bodies, program, order)

        with _uncollected():
            return cls(program, trace(run), arrays, gives, lanes)

    def without_vectors(self) -> Rolled:
        """The same for processors that have no vectors: angles are done when they are needed."""
        other = copy.copy(self)
        other.vector, other.angles, other.bodies_at_a_time = 1, {}, 1
        return other

    def side_by_side(self, lanes: int) -> Rolled:
        """The same with so many bodies at a time in code of single rows; one: one after the other."""
        other = copy.copy(self)
        other.bodies_at_a_time = lanes
        return other

    def layout(self, lanes: int) -> Layout:
        """The chunks of so many bodies at most."""
        if lanes not in self._divided:
            self._divided[lanes] = Layout(lanes, self.passes, self.needs, self._late, self.orders, self.parents)
        return self._divided[lanes]

    def _assign_to_groups(self, results: Sequence[Scalar]) -> dict[int, Scalar]:
        """Let groups store the results that they compute for all their bodies; gives the remaining ones, by index."""
        where: dict[tuple[int, int, str], int] = {}
        remaining: dict[int, Scalar] = {}
        for output, x in enumerate(results):
            name = self.tape.name_of(x)
            read = self.reads.get(name) if name is not None else None
            if read is None or read in where:
                remaining[output] = x
            else:
                where[read] = output
        wanted = {(sweep, key) for sweep, _, key in where}
        last = {
            (p.sweep, body, key): group
            for p in self.passes
            for group in p.groups
            for key in _varying(group)
            if (p.sweep, key) in wanted
            for body in group.bodies
        }
        by_group: dict[tuple[Group, str], dict[int, int]] = {}
        for (sweep, body, key), output in where.items():
            by_group.setdefault((last[sweep, body, key], key), {})[body] = output
        for (group, key), outputs in by_group.items():
            if len(outputs) == len(group.bodies):
                group.results[key] = [outputs[body] for body in group.bodies]
            else:
                remaining |= {output: results[output] for output in outputs.values()}
        return remaining

    def _read_late(self) -> set[Key]:
        """Keys that the main tape reads."""
        names = (self.nodes[index][1] for index in self.tape.live() if self.nodes[index][0] == "input")
        reads = (self.reads[name] for name in names if name in self.reads)
        return {(sweep, key) for sweep, _, key in reads}

    def scratch(self, width: int) -> int:
        """The slots of all bodies, and of the ground, the frames, and sines and cosines of single rows."""
        if width == 1 and self.bodies_at_a_time > 1:
            return self.layout(self.bodies_at_a_time).size
        return max(self.storage.size * width, self.storage.size + sum(own.size for own in self.angles.values()))

    def text(self, width: int) -> str:
        """The module that defines rows_W."""

        def write(rows: Rows) -> tuple[list[str], set[tuple[str, int]]]:
            text = self._written(rows)
            return text.constants, text.functions

        if self.matrix is not None:
            return self.matrix.module(width, write)
        constants, functions = write(rows := Rows(width, len(self.arrays), self.outputs))
        return module(width, [*constants, rows.text()], functions)

    def lanes(self, width: int, name: str) -> tuple[list[str], set[tuple[str, int]]]:
        """The function `name`_W on columns of lanes (lanes.py), its constants, and what it calls."""
        text = self._written(Lanes(width, len(self.arrays), self.outputs, name))
        return [*text.constants, text.function()], text.functions

    def _written(self, rows: Rows | Lanes) -> RolledText:
        text: RolledText
        if rows.width == 1 and self.bodies_at_a_time > 1:
            text = ChunksText(self, rows, self.layout(self.bodies_at_a_time))
        else:
            text = _Text(self, rows)
        text.write()
        return text


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for garbage: of the many records and variables of a trace all are needed until its end."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _groups(passes: Sequence[Pass]) -> list[Group]:
    return [group for p in passes for group in p.groups]


def _varying(group: Group) -> set[str]:
    """Keys of a group's body that are not constant."""
    return {key for key, x in group.computed_numbers().items() if isinstance(x, Variable)}


# --- the text ---


class _Text(RolledText):
    """One body after the other, in the lanes of a row each."""

    def address(self, sweep: int, body: int, key: str) -> str:
        storage = self.code.storage
        return self.slot(self.lines, str(storage.at(sweep, body)), storage.slots[sweep, key])

    def store_at(self, number: int, sweep: int, body: int, key: str, value: str) -> None:
        storage = self.code.storage
        frames = storage.frames[number]
        if (sweep, key) in frames.places:
            base, place = storage.frame_at(number, body), frames.places[sweep, key]
        else:
            base, place = storage.at(sweep, body), storage.slots[sweep, key]
        self.store(self.lines, value, self.slot(self.lines, str(base), place))

    # --- slots ---

    def slot(self, lines: Lines, base: str, place: int) -> str:
        start = lines.let(f"getelementptr {lines.type}, ptr %scratch, i64 {base}")
        return lines.let(f"getelementptr {lines.type}, ptr {start}, i64 {place}")

    # --- loops ---

    def loop(self, number: int, p: Pass) -> None:
        count, name = len(self.code.orders[p.sweep]), f"{self.rows.name}.pass{number}"
        begin, step, stop = (count - 1, -1, -1) if p.inward else (0, 1, count)
        tables, handover = BodyTables(name, number, p, self.code), self.code.handovers[number]
        self.constants += tables.texts()
        do = self.lines.do
        for group in p.groups if self.width == 1 else ():
            self._find_angles(group, tables)
        do(f"br label %{name}")
        self.lines.label(name)
        do(f"%{name}.i = phi i64 [ {begin}, %{self.rows.block} ], [ %{name}.next, %{name}.end ]")
        kind, nothing = self.lines.type, self.lines.number(0.0)
        registers = {key: f"%{name}.handed{i}" for i, key in enumerate(handover.keys)}
        for register in registers.values():
            do(f"{register} = phi {kind} [ {nothing}, %{self.rows.block} ], [ {register}.on, %{name}.end ]")
        do(f"%{name}.from = mul i64 %{name}.i, {tables.integers}")
        do(f"%{name}.ints = getelementptr i32, ptr @{name}.integers, i64 %{name}.from")
        do(f"%{name}.begin = mul i64 %{name}.i, {tables.numbers}")
        do(f"%{name}.data = getelementptr double, ptr @{name}.numbers, i64 %{name}.begin")
        slots, frames = ({who: self.integer(name, at + i) for i, who in enumerate((OWN, PARENT))} for at in (0, 3))
        if len(handover.variants) == 1:
            do(f"br label %{name}.variant0")
        else:
            cases = " ".join(f"i64 {i}, label %{name}.variant{i}" for i in range(1, len(handover.variants)))
            do(f"switch i64 {self.integer(name, 2)}, label %{name}.variant0 [ {cases} ]")
        loop, bodies = _Loop(number, tables, slots, frames, registers, handover.opposite), list[_Body]()
        for i, variant in enumerate(handover.variants):
            self.lines.label(f"{name}.variant{i}")
            bodies.append(_Body(self, loop, variant, f"{name}.v{i}."))
            self.functions |= bodies[-1].writer.functions
            do(str(bodies[-1].lines).strip())
            do(f"br label %{name}.end")
        self.lines.label(f"{name}.end")
        for key, register in registers.items():
            handed = (f"[ {body.handed.get(key, nothing)}, %{name}.variant{i} ]" for i, body in enumerate(bodies))
            do(f"{register}.on = phi {kind} {', '.join(handed)}")
        do(f"%{name}.next = add i64 %{name}.i, {step}")
        do(f"%{name}.more = icmp ne i64 %{name}.next, {stop}")
        do(f"br i1 %{name}.more, label %{name}, label %{name}.done")
        self.lines.label(f"{name}.done")
        self.rows.block = f"{name}.done"

    def _find_angles(self, group: Group, tables: BodyTables) -> None:
        """Before the loop of a pass, sines and cosines of the bodies of a group that are had from tables alone."""
        own = self.code.angles.get(group)
        if own is not None:
            loop = AnglesLoop(self.rows, self.code.columns, group, own, tables, self.code.vector)
            self.constants += loop.constants
            self.functions |= loop.functions
            self.lines.do(loop.text(own.room, self.rows.block).strip())
            self.rows.block = f"{loop.name}.done"

    def integer(self, name: str, index: int, lines: Lines | None = None) -> str:
        """An integer of the body in the tables of a pass."""
        lines = lines or self.lines
        at = lines.let(f"getelementptr i32, ptr %{name}.ints, i64 {index}")
        return lines.let(f"sext i32 {lines.let(f'load i32, ptr {at}, align 4')} to i64")


class _Loop(NamedTuple):
    """What the bodies of a pass share: its number and tables, where slots and frames are, registers handed on."""

    number: int
    tables: BodyTables
    slots: dict[str, str]
    frames: dict[str, str]
    registers: dict[Key, str]
    opposite: set[Key]


class _Body:
    """The code of one body in a loop; each number is stored as soon as it is computed, or is `handed` on."""

    def __init__(self, text: _Text, loop: _Loop, variant: Variant, prefix: str):
        code, group = text.code, variant.group
        self._text, self._loop, self._variant, self._group = text, loop, variant, group
        self.lines, self.handed, self._need = Lines(text.width, prefix), dict[Key, str](), code.needs[group]
        self._places, p = code.storage.frames[loop.number].places, code.passes[loop.number]
        self._sweep, (self._before, self._after) = p.sweep, (OWN, PARENT) if p.inward else (PARENT, OWN)
        links = {link: self._integer(loop.tables.link(group, link)) for link in loop.tables.links(group)}
        self._bases = loop.slots | links
        nodes = group.tape.nodes
        self._operations = [index for index in group.tape.live() if edges_of(nodes[index])]
        self._fused = fused_products(nodes, self._operations, group.tape.output_edges())
        self.writer = Writer(self.lines, nodes, self._leaf, text.rows.numbers, self._fused)
        if text.width == 1 and group in code.angles:
            self._read_angles(code.angles[group])
        self._standing: dict[Place, list[int]] = {}  # what is read from each place
        for key, edges in self._need.inputs_by_key().items():
            self._standing.setdefault(code.storage.place(loop.number, key), []).extend(edges)
        write_and_store(self.writer, self._need, self._order(), self._store, self._give)

    def _read_angles(self, own: GroupAngles) -> None:
        """Take sines and cosines from where they were stored before the loop; what led to them need not be done."""
        tape, place = self._group.tape, self._integer(self._loop.tables.place(self._group))
        for edge in own.angles.edges:
            starts = (
                self.lines.let(f"getelementptr double, ptr %scratch, i64 {own.at(edge, x)}") for x in (False, True)
            )
            at = [self.lines.let(f"getelementptr double, ptr {start}, i64 {place}") for start in starts]
            self.writer.know_angle(edge, *[self._text.load(self.lines, one) for one in at])
        needed = operations_before(tape.nodes, tape.output_edges(), own.angles.edges)
        self._operations = [index for index in self._operations if index in needed]

    def _integer(self, index: int) -> str:
        return self._text.integer(self._loop.tables.name, index, self.lines)

    def _address(self, who: str, key: Key) -> str:
        """Of a key of the body itself, of its parent or of a linked record."""
        if who in (OWN, PARENT) and key in self._places:
            return self._text.slot(self.lines, self._loop.frames[who], self._places[key])
        return self._text.slot(self.lines, self._bases[who], self._text.code.storage.slots[key])

    def _leaf(self, index: int) -> str:
        lines, group, tables, text = self.lines, self._group, self._loop.tables, self._text
        name = group.tape.nodes[index][1]
        if name in group.arguments:
            k = text.code.columns[group.arguments[name][0]][0]
            return text.rows.load(lines, k, self._integer(tables.integer(group, name)))
        if name in group.data:
            at = lines.let(f"getelementptr double, ptr %{tables.name}.data, i64 {tables.number(group, name)}")
            return lines.splat(lines.let(f"load double, ptr {at}, align 8, {INVARIANT}"))
        who, key = (name.rpartition("^")[0] or PARENT) if "^" in name else OWN, self._need.key(name)
        if self._variant.takes and who == self._before and key in self._places:
            register = self._loop.registers[key]
            return lines.negative(register) if key in self._loop.opposite else register
        return text.load(lines, self._address(who, key))

    def _order(self) -> list[int]:
        """Where the next body waits, what it waits for longest comes first."""
        tape, need, written = self._group.tape, self._need, self._operations
        if not (self._variant.takes and self._variant.hands):
            return forwards(arguments_of(tape.nodes, written, self._fused))
        given = {tape.edge(self._group.input(name)): cycles for name, cycles in need.arrivals.items()}
        stored = need.parents if self._after == PARENT else need.own
        handed = {abs(tape.edge(x)) for key, x in stored.items() if (self._sweep, key) in self._places}
        cycles = {index: cycles_of(tape.nodes, index, self._fused) for index in written}
        return in_time(arguments_of(tape.nodes, written, self._fused, given), cycles, given, handed)

    def _store(self, to_parent: bool, name: str, edge: int, at_last: bool) -> bool:
        """Store a number once what stands there has been read, or hand it on; whether it is done."""
        key, writer, who = (self._sweep, name), self.writer, PARENT if to_parent else OWN
        if self._variant.hands and who == self._after and key in self._places:
            self.handed[key] = writer.value(-edge if key in self._loop.opposite else edge)
            return True
        old = self._standing.get(self._text.code.storage.place(self._loop.number, key), ())
        if not at_last and any(abs(read) not in writer.names for read in old):
            return False
        for read in old:
            writer.value(read)
        self._text.store(self.lines, writer.value(edge), self._address(who, key))
        return True

    def _give(self, key: str, edge: int) -> None:
        """Store a result."""
        at = self._integer(self._loop.tables.integer(self._group, key, True))
        self._text.rows.store(self.lines, self.writer.value(edge), at)
