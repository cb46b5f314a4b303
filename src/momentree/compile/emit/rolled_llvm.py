"""The text of rolled code: for each pass a loop over the bodies, and in it the code of the group that a body is in.

The bodies of a sweep have the same slots, `stride` of them, at scratch + base + body * stride; a slot holds one number
for each lane (rolled_storage.py). What a loop needs to know of a body stands in two tables of the pass: where its slots
are, its parent's and those of records that it knows, its group, the frames, which entries of the arguments and of the
results are its own (integers), and its constants (numbers).
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy

from momentree.compile.emit.arguments import Arrays
from momentree.compile.emit.lanes import Lanes, Rows, Writer, fused_products, module, rows_by_columns
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.number_tables import INVARIANT, table_text
from momentree.compile.emit.order import arguments_of, forwards
from momentree.compile.emit.rolled_storage import Key, Place, Storage, needs_of
from momentree.compile.trace.field_layout import FormTable
from momentree.compile.trace.rolled import Program, RolledRecords
from momentree.compile.trace.rolled_groups import Group, Pass
from momentree.compile.trace.tape import Tape, Variable, edges_of
from momentree.equations.sweeps import Record, Records, Runner
from momentree.spatial import Scalar

OWN, PARENT = "own", "parent"
FIXED = 5  # integers of each body: its slots, those of its parent, its group, its frame, that of its parent


class Rolled:
    """The code (compile/execute/kernel.py) of what was swept by rolled records: `results` on their main tape.

    `by_columns`: the results are linear in the last argument, and the matrix is wanted that gives them from it.
    """

    def __init__(self, program: Program, results: Sequence[Scalar], arrays: Arrays, by_columns: bool = False):
        program.run_deferred()
        parameters = {node[1] for node in program.tape.nodes if node[0] == "parameter"}
        passed = arrays[:-1] if by_columns else arrays
        self.arrays = tuple((name, len(columns)) for name, columns in passed)
        self.constant = tuple(any(name in parameters for name in columns) for _, columns in passed)
        self.results, self.unit = len(results), len(passed) if by_columns else None
        self.outputs = len(results) * (len(arrays[-1][1]) if by_columns else 1)
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
        self.storage = Storage(self.passes, self.needs, late, self.orders, self.parents)

    @classmethod
    def of(
        cls, tape: Tape, arrays: Arrays, trace: Callable[[Runner], Sequence[Scalar]], by_columns: bool = False,
        forms: FormTable | None = None,
    ) -> Rolled:  # fmt: skip
        """The code of what `trace` gives when its records are swept by the runner that it is handed."""
        program = Program(tape, forms)

        def run(bodies: Iterable[Record], order: Sequence[int] | None = None) -> Records:
            return RolledRecords(bodies, program, order)

        with _uncollected():
            return cls(program, trace(run), arrays, by_columns)

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
        """The slots of all bodies, and of the ground, and the frames."""
        return self.storage.size * width

    def text(self, width: int) -> str:
        """The module that defines rows_W."""
        if self.unit is None:
            text = _Text(self, self._rows(width, "rows"))
            return module(width, [*text.constants, text.function()], text.functions)
        texts = [_Text(self, self._rows(w, "columns")) for w in sorted({1, width})]
        functions = [text.function("internal ") for text in texts]
        parts = [*texts[0].constants, *functions, rows_by_columns(width, len(self.arrays), self.results, self.outputs)]
        return module(1, parts, {name for text in texts for name in text.functions})

    def lanes(self, width: int, name: str) -> tuple[list[str], set[tuple[str, int]]]:
        """The function `name`_W on columns of lanes (rows.py), its constants, and what it calls."""
        text = _Text(self, Lanes(width, len(self.arrays), self.outputs, name))
        return [*text.constants, text.function()], text.functions

    def _rows(self, width: int, name: str) -> Rows:
        return Rows(width, len(self.arrays) + (self.unit is not None), self.results, name, self.unit)


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


class _Text:
    def __init__(self, code: Rolled, rows: Rows | Lanes):
        self.code, self.width, self.rows = code, rows.width, rows
        self.lines = self.rows.body
        self.main = Writer(self.lines, code.nodes, self._leaf, rows.numbers)
        self.functions: set[tuple[str, int]] = set()
        self.constants: list[str] = []
        for number, p in enumerate(code.passes):
            if any(code.needs[group].stores() for group in p.groups):
                self._before(number, p)
                self._loop(number, p)
        for output, edge in code.remaining.items():
            self.rows.store(self.lines, self._value(edge), output)
        self.functions |= self.main.functions

    def function(self, linkage: str = "") -> str:
        return self.rows.text(linkage)

    # --- between the loops: the main tape ---

    def _leaf(self, index: int) -> str:
        name = self.code.nodes[index][1]
        if name in self.code.reads:
            sweep, body, key = self.code.reads[name]
            at = self._slot(self.lines, str(self.code.storage.at(sweep, body)), self.code.storage.slots[sweep, key])
            return self._load(self.lines, at)
        return self.rows.load(self.lines, *self.code.columns[name])

    def _value(self, edge: int) -> str:
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
            self._store_at(number, sweep, 0, key, self.code.ground[sweep, key])
        for group in p.groups:
            for key in sorted({*group.values} & self.code.needs[group].reads):
                for body, edge in zip(group.bodies, self.code.values[group][key], strict=True):
                    self._store_at(number, p.sweep, body, key, edge)

    def _store_at(self, number: int, sweep: int, body: int, key: str, edge: int) -> None:
        value, storage = self._value(edge), self.code.storage
        frames = storage.frames[number]
        if (sweep, key) in frames.places:
            base, place = storage.frame_at(number, body), frames.places[sweep, key]
        else:
            base, place = storage.at(sweep, body), storage.slots[sweep, key]
        self._store(self.lines, value, self._slot(self.lines, str(base), place))

    # --- slots ---

    def _slot(self, lines: Lines, base: str, place: int) -> str:
        start = lines.let(f"getelementptr {lines.type}, ptr %scratch, i64 {base}")
        return lines.let(f"getelementptr {lines.type}, ptr {start}, i64 {place}")

    def _load(self, lines: Lines, at: str) -> str:
        return lines.let(f"load {lines.type}, ptr {at}, align {8 * self.width}")

    def _store(self, lines: Lines, value: str, at: str) -> None:
        lines.do(f"store {lines.type} {value}, ptr {at}, align {8 * self.width}")

    # --- loops ---

    def _loop(self, number: int, p: Pass) -> None:
        count, name = len(self.code.orders[p.sweep]), f"{self.rows.name}.pass{number}"
        begin, step, stop = (count - 1, -1, -1) if p.inward else (0, 1, count)
        tables = _Tables(name, number, p, self.code)
        self.constants += tables.texts()
        do = self.lines.do
        do(f"br label %{name}")
        self.lines.label(name)
        do(f"%{name}.i = phi i64 [ {begin}, %{self.rows.block} ], [ %{name}.next, %{name}.end ]")
        do(f"%{name}.from = mul i64 %{name}.i, {tables.integers}")
        do(f"%{name}.ints = getelementptr i32, ptr @{name}.integers, i64 %{name}.from")
        do(f"%{name}.begin = mul i64 %{name}.i, {tables.numbers}")
        do(f"%{name}.data = getelementptr double, ptr @{name}.numbers, i64 %{name}.begin")
        bases = {who: self._integer(name, i) for i, who in enumerate((OWN, PARENT))}
        frames = {who: self._integer(name, 3 + i) for i, who in enumerate((OWN, PARENT))}
        if len(p.groups) == 1:
            do(f"br label %{name}.group0")
        else:
            kind = self._integer(name, 2)
            cases = " ".join(f"i64 {group.number}, label %{name}.group{group.number}" for group in p.groups[1:])
            do(f"switch i64 {kind}, label %{name}.group0 [ {cases} ]")
        for group in p.groups:
            self.lines.label(f"{name}.group{group.number}")
            do(str(self._group(name, number, p.sweep, group, tables, (bases, frames))).strip())
            do(f"br label %{name}.end")
        self.lines.label(f"{name}.end")
        do(f"%{name}.next = add i64 %{name}.i, {step}")
        do(f"%{name}.more = icmp ne i64 %{name}.next, {stop}")
        do(f"br i1 %{name}.more, label %{name}, label %{name}.done")
        self.lines.label(f"{name}.done")
        self.rows.block = f"{name}.done"

    def _integer(self, name: str, index: int, lines: Lines | None = None) -> str:
        lines = lines or self.lines
        at = lines.let(f"getelementptr i32, ptr %{name}.ints, i64 {index}")
        return lines.let(f"sext i32 {lines.let(f'load i32, ptr {at}, align 4')} to i64")

    def _group(
        self, name: str, number: int, sweep: int, group: Group, tables: _Tables, bases: tuple[dict[str, str], ...]
    ) -> Lines:
        """The code of one body; each result is stored as soon as it is computed."""
        lines, need, storage = Lines(self.width, f"{name}.g{group.number}."), self.code.needs[group], self.code.storage
        places = storage.frames[number].places
        of_links = {link: self._integer(name, tables.link(group, link), lines) for link in tables.links(group)}

        def address(who: str, key: Key) -> str:
            """Of a key of the body itself, of its parent or of a linked record."""
            if who in (OWN, PARENT) and key in places:
                return self._slot(lines, bases[1][who], places[key])
            return self._slot(lines, (bases[0] | of_links)[who], storage.slots[key])

        def leaf(index: int) -> str:
            key = nodes[index][1]
            if key in group.arguments:
                k = self.code.columns[group.arguments[key][0]][0]
                return self.rows.load(lines, k, self._integer(name, tables.integer(group, key), lines))
            if key in group.data:
                at = lines.let(f"getelementptr double, ptr %{name}.data, i64 {tables.number(group, key)}")
                return lines.splat(lines.let(f"load double, ptr {at}, align 8, {INVARIANT}"))
            who = (key.rpartition("^")[0] or PARENT) if "^" in key else OWN
            return self._load(lines, address(who, need.key(key)))

        nodes, edge = group.tape.nodes, group.tape.edge
        operations = [index for index in group.tape.live() if edges_of(nodes[index])]
        fused = fused_products(nodes, operations, group.tape.output_edges())
        writer = Writer(lines, nodes, leaf, self.rows.numbers, fused)
        standing: dict[Place, list[int]] = {}  # what is read from each place
        for input_key, edges in need.inputs_by_key().items():
            standing.setdefault(storage.place(number, input_key), []).extend(edges)

        def store(who: str, key: str, edge: int, at_last: bool) -> bool:
            """Store a number once what stands there has been read; whether it is done."""
            old = standing.get(storage.place(number, (sweep, key)), ())
            if not at_last and any(abs(read) not in writer.names for read in old):
                return False
            for read in old:
                writer.value(read)
            self._store(lines, writer.value(edge), address(who, (sweep, key)))
            return True

        stores: dict[int, list[Callable[[bool], bool]]] = {}
        for who, of in ((OWN, need.own), (PARENT, need.parents)):
            for key, x in of.items():
                stores.setdefault(abs(edge(x)), []).append(partial(store, who, key, edge(x)))
        for key in group.results:
            at, x = self._integer(name, tables.integer(group, key, True), lines), edge(need.made[key])
            stores.setdefault(abs(x), []).append(partial(self._result, lines, writer, x, at))
        waiting: list[Callable[[bool], bool]] = []
        for index in forwards(arguments_of(nodes, operations, fused)):
            writer.operate(index)
            waiting = [put for put in [*waiting, *stores.pop(index, ())] if not put(False)]
        for put in [*waiting, *(put for rest in stores.values() for put in rest)]:  # the rest is merely read
            put(True)
        self.functions |= writer.functions
        return lines

    def _result(self, lines: Lines, writer: Writer, edge: int, at: str, at_last: bool) -> bool:
        self.rows.store(lines, writer.value(edge), at)
        return True


class _Tables:
    """What the loop of a pass reads of each body: integers and numbers, as many for each."""

    def __init__(self, name: str, number: int, p: Pass, code: Rolled):
        self._name, storage = name, code.storage
        self._columns = {g: [k for k in g.arguments if k in code.needs[g].reads] for g in p.groups}
        self._data = {g: [k for k in g.data if k in code.needs[g].reads] for g in p.groups}
        self._results = {g: list(g.results) for g in p.groups}
        read = {g: {name.rpartition("^")[0] for name in code.needs[g].reads if "^" in name} for g in p.groups}
        self._links = {g: [link for link in g.links if link in read[g]] for g in p.groups}
        parts = (self._links, self._columns, self._results)
        self.integers = FIXED + max(sum(len(part[g]) for part in parts) for g in p.groups)
        self.numbers = max(1, *(len(self._data[g]) for g in p.groups))
        order, parents = numpy.array(code.orders[p.sweep]), numpy.array(code.parents[p.sweep])
        where = numpy.zeros(len(parents), dtype=int)
        where[order] = numpy.arange(len(order))
        base, stride = storage.bases, storage.strides
        self._integers = numpy.zeros((len(order), self.integers), dtype="<i4")
        self._numbers = numpy.zeros((len(order), self.numbers), dtype="<f8")
        for g in p.groups:
            bodies = numpy.array(g.bodies)
            own = [base[p.sweep] + of * stride[p.sweep] for of in (bodies, parents[bodies])]
            frames = [[storage.frame_at(number, body) for body in of] for of in (g.bodies, parents[bodies])]
            columns = [*own, numpy.full(len(bodies), g.number), *frames]
            columns += [base[at] + numpy.array(of) * stride[at] for at, of in (g.links[x] for x in self._links[g])]
            columns += [[code.columns[name][1] for name in g.arguments[key]] for key in self._columns[g]]
            columns += [g.results[key] for key in self._results[g]]
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

    def number(self, group: Group, key: str) -> int:
        return self._data[group].index(key)

    def texts(self) -> list[str]:
        bits = self._numbers.view("<u8").ravel().tolist()
        return [
            _table(f"{self._name}.integers", map(str, self._integers.ravel().tolist())),
            table_text(f"{self._name}.numbers", list(map("0x%016X".__mod__, bits))),
        ]


def _table(name: str, values: Iterable[str]) -> str:
    """A constant array of integers."""
    entries = [f"i32 {value}" for value in values]
    return f"@{name} = internal constant [{len(entries)} x i32] [{', '.join(entries)}], align 4"
