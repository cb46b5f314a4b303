"""The text of rolled code: for each pass a loop over the bodies, and in it the code of the group that a body is in.

The bodies of a sweep have the same slots, `stride` of them, at scratch + base + body * stride; a slot holds one number
for each lane. What a loop needs to know of a body stands in two tables of the pass: where its slots are, its parent's
and those of records that it knows, its group, which entries of the arguments and of the results are its own (integers),
and its constants (numbers).
"""

from __future__ import annotations

import contextlib
import gc
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy

from momentree.compile.emit.arguments import Arrays
from momentree.compile.emit.lanes import ROWS_ARGUMENTS, Lanes, Rows, Writer, fused_products, module
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.number_tables import INVARIANT, table_text
from momentree.compile.trace.rolled import Group, Pass, Program, RolledRecords
from momentree.compile.trace.tape import Tape, Variable, edges_of
from momentree.equations.sweeps import Record, Records, Runner
from momentree.spatial import Scalar

Key = tuple[int, str]  # of a sweep


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
        self.needs = _needs(self.passes, late)
        self.slots, self.strides = _slots(self.passes, self.needs, late, len(program.sweeps))
        sizes = [len(sweep) * stride for sweep, stride in zip(program.sweeps, self.strides, strict=True)]
        self.bases = [sum(sizes[:k]) for k in range(len(sizes))]
        self.size = sum(sizes)

    @classmethod
    def of(
        cls, tape: Tape, arrays: Arrays, trace: Callable[[Runner], Sequence[Scalar]], by_columns: bool = False
    ) -> Rolled:
        """The code of what `trace` gives when its records are swept by the runner that it is handed."""
        program = Program(tape)

        def run(bodies: Iterable[Record], order: Sequence[int] | None = None) -> Records:
            return RolledRecords(bodies, program, order)

        with _uncollected():
            return cls(program, trace(run), arrays, by_columns)

    def at(self, sweep: int, body: int) -> int:
        """Where the slots of a body begin."""
        return self.bases[sweep] + body * self.strides[sweep]

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
        last = {
            (p.sweep, body, key): group
            for p in self.passes
            for group in p.groups
            for key in _varying(group)
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
        """The slots of all bodies, and of the ground."""
        return self.size * width

    def text(self, width: int) -> str:
        """The module that defines rows_W."""
        if self.unit is None:
            text = _Text(self, self._rows(width, "rows"))
            return module(width, [*text.constants, text.function()], text.functions)
        texts = [_Text(self, self._rows(w, "columns")) for w in sorted({1, width})]
        functions = [text.function("internal ") for text in texts]
        parts = [*texts[0].constants, *functions, _by_columns(width, len(self.arrays), self.results, self.outputs)]
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


# --- what has to be stored ---


class Need:
    """What the loop of one group computes: outputs of its tape, by where they go."""

    def __init__(self, sweep: int, group: Group):
        self.sweep, self.group, self.made = sweep, group, group.computed_numbers()
        self.own: dict[str, Scalar] = {}
        self.parents: dict[str, Scalar] = {}
        self.reads: set[str] = set()

    def update(self, needed: set[Key]) -> None:
        """Find what is stored if these keys are needed, and what that reads."""
        self.own = {key: x for key, x in self.made.items() if (self.sweep, key) in needed}
        old, added = self.group.tape.known_input, self.group.added
        self.parents = {key: x for key, x in added.items() if (self.sweep, key) in needed and x != old(f"^{key}")}
        results = (self.made[key] for key in self.group.results)
        self.group.tape.outputs([*self.own.values(), *self.parents.values(), *results])
        nodes = self.group.tape.nodes
        self.reads = {nodes[index][1] for index in self.group.tape.live() if nodes[index][0] == "input"}

    def from_slots(self, others: bool = False) -> set[Key]:
        """Keys that are read from slots; only those of `others`, if asked."""
        tables = {*self.group.data, *self.group.arguments}
        return {self.key(name) for name in self.reads if name not in tables and ("^" in name or not others)}

    def key(self, name: str) -> Key:
        """The key of an input, which may be that of the parent or of a record that the body knows."""
        link, _, key = name.rpartition("^")
        return (self.group.links[link][0] if link else self.sweep), key


def _needs(passes: Sequence[Pass], late: set[Key]) -> dict[Group, Need]:
    """From the last pass to the first: only what is read later, or by children in the same pass, is stored."""
    by_group: dict[Group, Need] = {}
    needed = set(late)
    for p in reversed(passes):
        needs = [Need(p.sweep, group) for group in p.groups]
        while True:
            before = len(needed)
            for need in needs:
                need.update(needed)
                needed |= need.from_slots()
            if len(needed) == before:
                break
        by_group |= {need.group: need for need in needs}
    return by_group


def _slots(
    passes: Sequence[Pass], needs: dict[Group, Need], late: set[Key], sweeps: int
) -> tuple[dict[Key, int], list[int]]:
    """The slot of each key, and how many each sweep has; keys whose times do not meet share one."""
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
    slots: dict[Key, int] = {}
    free: list[list[tuple[int, int]]] = [[] for _ in range(sweeps)]  # since when, and which
    counts = [0] * sweeps
    for key in sorted(first, key=lambda key: (first[key], key)):
        ready = free[key[0]]
        if ready and ready[0][0] < first[key]:
            slot = heapq.heappop(ready)[1]
        else:
            slot, counts[key[0]] = counts[key[0]], counts[key[0]] + 1
        slots[key] = slot
        heapq.heappush(ready, (last[key], slot))
    return slots, [max(count, 1) for count in counts]


# --- the text ---


class _Text:
    def __init__(self, code: Rolled, rows: Rows | Lanes):
        self.code, self.width, self.rows = code, rows.width, rows
        self.lines = self.rows.body
        self.main = Writer(self.lines, code.nodes, self._leaf, rows.numbers)
        self.functions: set[tuple[str, int]] = set()
        self.constants: list[str] = []
        for number, p in enumerate(code.passes):
            self._before(p)
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
            return self._load(self.lines, self._slot(self.lines, str(self.code.at(sweep, body)), (sweep, key)))
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

    def _before(self, p: Pass) -> None:
        """What a pass reads that no pass has made: of grounds, and results of the main tape."""
        read = set[Key]().union(*(self.code.needs[group].from_slots(others=True) for group in p.groups))
        for sweep, key in sorted(read & {*self.code.ground}):
            self._store_at(sweep, 0, key, self.code.ground[sweep, key])
        for group in p.groups:
            for key in sorted({*group.values} & self.code.needs[group].reads):
                for body, edge in zip(group.bodies, self.code.values[group][key], strict=True):
                    self._store_at(p.sweep, body, key, edge)

    def _store_at(self, sweep: int, body: int, key: str, edge: int) -> None:
        value = self._value(edge)
        at = self._slot(self.lines, str(self.code.at(sweep, body)), (sweep, key))
        self._store(self.lines, value, at)

    # --- slots ---

    def _slot(self, lines: Lines, base: str, key: Key) -> str:
        start = lines.let(f"getelementptr {lines.type}, ptr %scratch, i64 {base}")
        return lines.let(f"getelementptr {lines.type}, ptr {start}, i64 {self.code.slots[key]}")

    def _load(self, lines: Lines, at: str) -> str:
        return lines.let(f"load {lines.type}, ptr {at}, align {8 * self.width}")

    def _store(self, lines: Lines, value: str, at: str) -> None:
        lines.do(f"store {lines.type} {value}, ptr {at}, align {8 * self.width}")

    # --- loops ---

    def _loop(self, number: int, p: Pass) -> None:
        count, name = len(self.code.orders[p.sweep]), f"{self.rows.name}.pass{number}"
        begin, step, stop = (count - 1, -1, -1) if p.inward else (0, 1, count)
        tables = _Tables(name, p, self.code)
        self.constants += tables.texts()
        do = self.lines.do
        do(f"br label %{name}")
        self.lines.label(name)
        do(f"%{name}.i = phi i64 [ {begin}, %{self.rows.block} ], [ %{name}.next, %{name}.end ]")
        do(f"%{name}.from = mul i64 %{name}.i, {tables.integers}")
        do(f"%{name}.ints = getelementptr i32, ptr @{name}.integers, i64 %{name}.from")
        do(f"%{name}.begin = mul i64 %{name}.i, {tables.numbers}")
        do(f"%{name}.data = getelementptr double, ptr @{name}.numbers, i64 %{name}.begin")
        own, parent = self._integer(name, 0), self._integer(name, 1)
        if len(p.groups) == 1:
            do(f"br label %{name}.group0")
        else:
            kind = self._integer(name, 2)
            cases = " ".join(f"i64 {group.number}, label %{name}.group{group.number}" for group in p.groups[1:])
            do(f"switch i64 {kind}, label %{name}.group0 [ {cases} ]")
        for group in p.groups:
            self.lines.label(f"{name}.group{group.number}")
            do(str(self._group(name, p.sweep, group, tables, own, parent)).strip())
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

    def _group(self, name: str, sweep: int, group: Group, tables: _Tables, own: str, parent: str) -> Lines:
        """The code of one body."""
        lines = Lines(self.width, f"{name}.g{group.number}.")
        need = self.code.needs[group]
        bases = {"": parent}
        for link in tables.links(group):
            bases[link] = self._integer(name, tables.link(group, link), lines)

        def leaf(index: int) -> str:
            key = nodes[index][1]
            if key in group.arguments:
                k = self.code.columns[group.arguments[key][0]][0]
                return self.rows.load(lines, k, self._integer(name, tables.integer(group, key), lines))
            if key in group.data:
                at = lines.let(f"getelementptr double, ptr %{name}.data, i64 {tables.number(group, key)}")
                return lines.splat(lines.let(f"load double, ptr {at}, align 8, {INVARIANT}"))
            base = bases[key.rpartition("^")[0]] if "^" in key else own
            return self._load(lines, self._slot(lines, base, need.key(key)))

        nodes = group.tape.nodes
        fused = fused_products(nodes, group.tape.live(), group.tape.output_edges())
        writer = Writer(lines, nodes, leaf, self.rows.numbers, fused)
        for index in group.tape.live():
            if edges_of(nodes[index]):
                writer.operate(index)

        def value(x: Scalar) -> str:
            return writer.value(group.tape.edge(x))

        for stores, base in ((need.own, own), (need.parents, parent)):
            for key, x in stores.items():
                self._store(lines, value(x), self._slot(lines, base, (sweep, key)))
        for key in group.results:
            self.rows.store(lines, value(need.made[key]), self._integer(name, tables.integer(group, key, True), lines))
        self.functions |= writer.functions
        return lines


def _by_columns(width: int, arguments: int, rows: int, outputs: int) -> str:
    """rows_W that calls columns_W for each row: all its arguments are fixed but the one that is not passed."""
    lines = Lines(1)
    for k in range(arguments):
        start = lines.let(f"load ptr, ptr {lines.let(f'getelementptr ptr, ptr %arguments, i64 {k}')}")
        stride = lines.let(f"load i64, ptr {lines.let(f'getelementptr i64, ptr %strides, i64 {k}')}")
        at = lines.let(f"getelementptr double, ptr {start}, i64 {lines.let(f'mul i64 %row, {stride}')}")
        lines.do(f"store ptr {at}, ptr {lines.let(f'getelementptr ptr, ptr %starts, i64 {k}')}")
        lines.do(f"store i64 0, ptr {lines.let(f'getelementptr i64, ptr %still, i64 {k}')}")
    to = lines.let(f"getelementptr double, ptr %out, i64 {lines.let(f'mul i64 %row, {outputs}')}")
    lines.do(f"call void @columns_{width}(ptr %starts, ptr %still, ptr {to}, i64 0, i64 {rows}, ptr %scratch)")
    return f"""define void @rows_{width}{ROWS_ARGUMENTS} nounwind {{
entry:
  %starts = alloca ptr, i64 {arguments}
  %still = alloca i64, i64 {arguments}
  br label %head
head:
  %row = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %row, %end
  br i1 %more, label %body, label %done
body:
{lines}
  %next = add i64 %row, 1
  br label %head
done:
  ret void
}}"""


class _Tables:
    """What the loop of a pass reads of each body: integers and numbers, as many for each."""

    def __init__(self, name: str, p: Pass, code: Rolled):
        self._name = name
        self._columns = {g: [k for k in g.arguments if k in code.needs[g].reads] for g in p.groups}
        self._data = {g: [k for k in g.data if k in code.needs[g].reads] for g in p.groups}
        self._results = {g: list(g.results) for g in p.groups}
        read = {g: {name.rpartition("^")[0] for name in code.needs[g].reads if "^" in name} for g in p.groups}
        self._links = {g: [link for link in g.links if link in read[g]] for g in p.groups}
        parts = (self._links, self._columns, self._results)
        self.integers = 3 + max(sum(len(part[g]) for part in parts) for g in p.groups)
        self.numbers = max(1, *(len(self._data[g]) for g in p.groups))
        order, parents = numpy.array(code.orders[p.sweep]), numpy.array(code.parents[p.sweep])
        where = numpy.zeros(len(parents), dtype=int)
        where[order] = numpy.arange(len(order))
        base, stride = code.bases, code.strides
        self._integers = numpy.zeros((len(order), self.integers), dtype="<i4")
        self._numbers = numpy.zeros((len(order), self.numbers), dtype="<f8")
        for g in p.groups:
            bodies = numpy.array(g.bodies)
            own = [base[p.sweep] + of * stride[p.sweep] for of in (bodies, parents[bodies])]
            columns = [*own, numpy.full(len(bodies), g.number)]
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
        return 3 + self._links[group].index(link)

    def integer(self, group: Group, key: str, result: bool = False) -> int:
        columns, results = self._columns[group], self._results[group]
        return 3 + len(self._links[group]) + (len(columns) + results.index(key) if result else columns.index(key))

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
