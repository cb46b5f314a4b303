"""Functions over rows and over columns of lanes, and the operations of a tape, for straight-line and rolled code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from momentree.compile.emit.llvm_definitions import definitions
from momentree.compile.emit.llvm_functions import SPELLINGS, Lines
from momentree.compile.emit.number_tables import NumberTable
from momentree.compile.trace.operations import TableOperation
from momentree.compile.trace.tape import Node, edges_of

ROWS_ARGUMENTS = "(ptr %arguments, ptr %strides, ptr noalias %out, i64 %begin, i64 %end, ptr noalias %scratch)"


class LanesCode(Protocol):
    """Code that can be written for columns of lanes: of a tape, or rolled."""

    def lanes(self, width: int, name: str) -> tuple[list[str], set[tuple[str, int]]]:
        """The texts that define `name`_W, and the functions that it calls."""
        ...

    def scratch(self, width: int) -> int:
        """How many numbers of working memory it needs."""
        ...


class Writer:
    """Writes the operations of a tape as lines; `leaf` names an input, a parameter or a value from elsewhere.

    Numbers are read from a table.

    | field     | meaning                                                        |
    |-----------|----------------------------------------------------------------|
    | names     | the names of values, by their nodes                            |
    | functions | what the lines call and `definitions` defines, with its widths |
    """

    def __init__(
        self, lines: Lines, nodes: Sequence[Node], leaf: Callable[[int], str], numbers: NumberTable,
        fused: Collection[int] = frozenset(),
    ):  # fmt: skip
        self.lines, self.nodes, self._leaf, self._numbers, self._fused = lines, nodes, leaf, numbers, fused
        self.names: dict[int, str] = {}
        self.functions: set[tuple[str, int]] = set()
        self._pairs: dict[int, tuple[str, str]] = {}  # sin and cos, by the edge of their argument

    def value(self, edge: int) -> str:
        """The name of what an edge leads to; operations have been written before."""
        index = abs(edge)
        if self.nodes[index][0] == "number":
            number = float(self.nodes[index][1])
            return self._numbers.load(self.lines, number if edge >= 0 else -number)
        if index not in self.names:
            self.names[index] = self._leaf(index)
        return self.names[index] if edge >= 0 else self.lines.negative(self.names[index])

    def sines_and_cosines(self, edges: Sequence[int], width: int) -> None:
        """Write sin and cos of several arguments at once, in the lanes of one vector, where one number is written."""
        arguments = [self.value(edge) for edge in edges]
        self.functions.add(("sincos", width))
        lanes = Lines(width, f"angles{abs(edges[0])}.")
        sines, cosines = lanes.sine_and_cosine(lanes.of_lanes(arguments + [arguments[0]] * (width - len(arguments))))
        for lane, edge in enumerate(edges):
            self._pairs[edge] = lanes.lane(sines, lane), lanes.lane(cosines, lane)
        self.lines.do(str(lanes).strip())

    def know_angle(self, edge: int, sine: str, cosine: str) -> None:
        """Take sin and cos of an angle from elsewhere."""
        self._pairs[edge] = sine, cosine

    def operate(self, index: int) -> None:
        """Write the operation of a node."""
        lines, op, edges = self.lines, self.nodes[index][0], edges_of(self.nodes[index])
        if index in self._fused:
            return
        if op == "+":
            self.names[index] = self._sum(*edges)
            return
        if isinstance(op, TableOperation):
            self.names[index] = self._looked_up(op, self.value(edges[0]))
            return
        if op in ("sin", "cos") and edges[0] in self._pairs:
            self.names[index] = self._pairs[edges[0]][op == "cos"]
            return
        spelling, arguments = SPELLINGS[op], [self.value(edge) for edge in edges]
        if not isinstance(spelling, str):
            self.names[index] = spelling(lines, *arguments)
            return
        self.functions.add((spelling, lines.width))
        if spelling != "sincos":
            self.names[index] = lines.call(spelling, *arguments)
            return
        self._pairs[edges[0]] = lines.sine_and_cosine(*arguments)
        self.names[index] = self._pairs[edges[0]][op == "cos"]

    def _looked_up(self, op: TableOperation, x: str) -> str:
        """An operation on a table."""
        spelling = SPELLINGS[op.kind]
        assert not isinstance(spelling, str)
        if op.kind == "locate":
            self.functions.add(("locate", 1))
        return spelling(self.lines, op, self._numbers.table(op), x)

    def _sum(self, a: int, b: int) -> str:
        """a + b, one of them a product that is written with the sum."""
        for one, other in ((b, a), (a, b)):
            if abs(one) in self._fused:
                x, y = edges_of(self.nodes[abs(one)])
                return self.lines.fused(self.value(x if one > 0 else -x), self.value(y), self.value(other))
        first, second = self.value(a), self.value(abs(b))
        return self.lines.plus(first, second) if b > 0 else self.lines.less(first, second)


def fused_products(nodes: Sequence[Node], written: Sequence[int], outputs: Iterable[int]) -> set[int]:
    """Of what is written, products that are needed in one sum only, to be written with it: for every width the same."""
    uses, sums = [0] * len(nodes), list[tuple[int, ...]]()
    for edge in outputs:
        uses[abs(edge)] += 1
    for index in written:
        edges = edges_of(nodes[index])
        for edge in edges:
            uses[abs(edge)] += 1
        if nodes[index][0] == "+":
            sums.append(edges)
    products = {index for index in written if nodes[index][0] == "*" and uses[index] == 1}
    fused = set()
    for a, b in sums:
        for one in (abs(b), abs(a)):
            if one in products:
                fused.add(one)
                break
    return fused


class _Function:
    """A function that is being written: `once` runs at first, `body` for each W rows.

    `unit` is the index of an argument that is not passed, if there is one: its row r is 1 in column r, else 0.
    """

    def __init__(self, width: int, outputs: int, name: str, unit: int | None = None):
        self.width, self.outputs, self.name, self.unit = width, outputs, name, unit
        self.once, self.body = Lines(1, "once"), Lines(width)
        self.block = "body"  # the label of what is being written
        self.numbers = NumberTable(f"{name}_{width}")

    def new_block(self, label: str) -> None:
        """Continue under a new label, since LLVM is slow for long blocks. The branch is always taken."""
        self.body.do(f"br i1 %more, label %{label}, label %rest")
        self.body.label(label)
        self.block = label


class Rows(_Function):
    """The function rows_W (execute/kernel.py): a loop over the rows of a batch.

    With so many `columns`, that many rows are the columns of a matrix of results.
    """

    def __init__(
        self, width: int, arguments: int, outputs: int, name: str = "rows", unit: int | None = None, columns: int = 0
    ):
        super().__init__(width, outputs, name, unit)
        self._step, self._apart = (1, columns) if columns else (outputs, 1)  # from row to row, from result to result
        for k in range(arguments):
            if k != unit:
                self._find_rows(k)
        self.body.do(f"%results = mul i64 %row, {self._step}")
        self.body.do("%row.results = getelementptr double, ptr %out, i64 %results")
        self.results = "%row.results"

    def _find_rows(self, k: int) -> None:
        """Where the rows of argument k start, one for each lane."""
        self.once.do(f"%pointer{k} = getelementptr ptr, ptr %arguments, i64 {k}")
        self.once.do(f"%argument{k} = load ptr, ptr %pointer{k}")
        self.once.do(f"%at{k} = getelementptr i64, ptr %strides, i64 {k}")
        self.once.do(f"%stride{k} = load i64, ptr %at{k}")
        self.body.do(f"%offset{k} = mul i64 %row, %stride{k}")
        self.body.do(f"%start{k}_0 = getelementptr double, ptr %argument{k}, i64 %offset{k}")
        for lane in range(1, self.width):
            self.body.do(f"%start{k}_{lane} = getelementptr double, ptr %start{k}_{lane - 1}, i64 %stride{k}")

    def load(self, lines: Lines, k: int, column: str | int) -> str:
        """A column of argument k; before the loop, that of its first row."""
        if k == self.unit:
            return self._unit(lines, column)
        starts = [f"%argument{k}"] if lines is self.once else [f"%start{k}_{lane}" for lane in range(self.width)]
        addresses = [lines.let(f"getelementptr double, ptr {start}, i64 {column}") for start in starts]
        return lines.of_lanes([lines.let(f"load double, ptr {address}, align 8") for address in addresses])

    def start(self, k: int) -> str | None:
        """Where argument k of a single row begins, if it is passed."""
        return f"%start{k}_0" if k != self.unit else None

    def _unit(self, lines: Lines, column: str | int) -> str:
        entries = []
        for lane in range(self.width):
            row = lines.let(f"add i64 %row, {lane}")
            entries.append(lines.let(f"uitofp i1 {lines.let(f'icmp eq i64 {row}, {column}')} to double"))
        return lines.of_lanes(entries)

    def store(self, lines: Lines, value: str, column: str | int) -> None:
        """A result of each lane's row."""
        place = column if self._apart == 1 else lines.let(f"mul i64 {column}, {self._apart}")
        at = lines.let(f"getelementptr double, ptr %row.results, i64 {place}")
        for lane in range(self.width):
            to = lines.let(f"getelementptr double, ptr {at}, i64 {lane * self._step}") if lane else at
            # LLVM takes minutes to find out that it cannot join the stores of many lanes; volatile ones it leaves alone
            lines.do(f"store{' volatile' * (self.width > 1)} double {lines.lane(value, lane)}, ptr {to}, align 8")

    def text(self, linkage: str = "") -> str:
        """The function."""
        W, arguments = self.width, "(ptr %arguments, ptr %strides, ptr %out, i64 %row, i64 %end, ptr %scratch)"
        return f"""{self.numbers.text}define {linkage}void @{self.name}_{W}{ROWS_ARGUMENTS} nounwind {{
entry:
{self.once}
  %last = sub i64 %end, {W - 1}
  br label %head
head:
  %row = phi i64 [ %begin, %entry ], [ %next, %{self.block} ]
  %more = icmp slt i64 %row, %last
  br i1 %more, label %body, label %rest
body:
{self.body}
  %next = add i64 %row, {W}
  br label %head
rest:
  {"" if W == 1 else f"call void @{self.name}_1{arguments}"}
  ret void
}}"""


class Lanes(_Function):
    """The function lanes_W(argument 0, argument 1, ..., out, scratch): one row in each lane, and no loop over rows.

    Arguments and results are columns of W numbers, one for each lane, aligned to as many: nothing has to be gathered.
    It is what compiled loops call, such as those of integrators.
    """

    def __init__(self, width: int, arguments: int, outputs: int, name: str = "lanes"):
        super().__init__(width, outputs, name)
        self._arguments = ", ".join(f"ptr %argument{k}" for k in range(arguments))
        self.results = "%out"

    def start(self, k: int) -> str | None:
        """Where argument k of a single row begins."""
        return f"%argument{k}"

    def load(self, lines: Lines, k: int, column: str | int) -> str:
        """A column of argument k."""
        at = lines.let(f"getelementptr {lines.type}, ptr %argument{k}, i64 {column}")
        return lines.let(f"load {lines.type}, ptr {at}, align {8 * self.width}")

    def store(self, lines: Lines, value: str, column: str | int) -> None:
        """A column of the results."""
        at = lines.let(f"getelementptr {lines.type}, ptr %out, i64 {column}")
        lines.do(f"store {lines.type} {value}, ptr {at}, align {8 * self.width}")

    def text(self, linkage: str = "") -> str:
        """The function."""
        arguments = f"({self._arguments}, ptr noalias %out, ptr noalias %scratch)"
        return f"""{self.numbers.text}define {linkage}void @{self.name}_{self.width}{arguments} nounwind {{
entry:
  %more = icmp ne ptr %out, null
  br label %body
body:
{self.body}
  br label %rest
rest:
  ret void
}}"""


def row_of_argument(lines: Lines, k: int) -> str:
    """Where %row of argument k of a function over rows stands."""
    start = lines.let(f"load ptr, ptr {lines.let(f'getelementptr ptr, ptr %arguments, i64 {k}')}")
    stride = lines.let(f"load i64, ptr {lines.let(f'getelementptr i64, ptr %strides, i64 {k}')}")
    return lines.let(f"getelementptr double, ptr {start}, i64 {lines.let(f'mul i64 %row, {stride}')}")


def row_of_results(lines: Lines, outputs: int) -> str:
    """Where the results of %row stand."""
    return lines.let(f"getelementptr double, ptr %out, i64 {lines.let(f'mul i64 %row, {outputs}')}")


def row_by_row(width: int, body: Lines, once: str = "") -> str:
    """The function rows_W that runs some lines for each %row, as where they call another function."""
    return f"""define void @rows_{width}{ROWS_ARGUMENTS} nounwind {{
entry:
{once}  br label %head
head:
  %row = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %row, %end
  br i1 %more, label %body, label %done
body:
{body}
  %next = add i64 %row, 1
  br label %head
done:
  ret void
}}"""


class ByColumns(NamedTuple):
    """How a matrix comes of results that are linear in the last argument: a call for each of its unit vectors.

    | field      | meaning                                                      |
    |------------|--------------------------------------------------------------|
    | unit       | the index of that argument, which is not passed              |
    | units      | number of unit vectors                                       |
    | results    | of each call                                                 |
    | transposed | whether a call gives a row of the matrix; otherwise a column |
    | matrices   | how many there are: one for each unit vector of the argument |
    |            | before, which is not passed either; 0: one, and it is passed |
    """

    unit: int
    units: int
    results: int
    transposed: bool
    matrices: int = 0

    @property
    def outputs(self) -> int:
        """The number of all results."""
        return self.results * self.units * max(self.matrices, 1)

    def rows(self, width: int) -> Rows:
        """The function columns_W that is to be written."""
        columns = 0 if self.transposed else self.units
        return Rows(width, self.unit + 1, self.results, "columns", self.unit, columns)

    def module(self, width: int, write: Callable[[Rows], tuple[list[str], set[tuple[str, int]]]]) -> str:
        """The module of rows_W, from what writes a function: its constants, and what it calls."""
        constants, texts, called = dict[str, None](), list[str](), set[tuple[str, int]]()
        for w in sorted({1, width}):
            own, functions = write(rows := self.rows(w))
            constants |= dict.fromkeys(own)
            texts.append(rows.text("internal "))
            called |= functions
        return module(1, [*constants, *texts, *self._rows_by_columns(width)], called)

    def _rows_by_columns(self, width: int) -> list[str]:
        """rows_W that calls columns_W for each row: all its arguments are fixed but the one that is not passed."""
        lines, n = Lines(1), self.matrices
        for k in range(self.unit):
            at = row_of_argument(lines, k) if k < self.unit - (n > 0) else "null"
            lines.do(f"store ptr {at}, ptr {lines.let(f'getelementptr ptr, ptr %starts, i64 {k}')}")
            lines.do(f"store i64 0, ptr {lines.let(f'getelementptr i64, ptr %still, i64 {k}')}")
        to = row_of_results(lines, self.outputs)
        for i in range(max(n, 1)):
            if n:
                at = lines.let(f"getelementptr double, ptr @units, i64 {n - 1 - i}")
                lines.do(f"store ptr {at}, ptr {lines.let(f'getelementptr ptr, ptr %starts, i64 {self.unit - 1}')}")
            each = lines.let(f"getelementptr double, ptr {to}, i64 {i * self.results * self.units}")
            arguments = f"ptr %starts, ptr %still, ptr {each}, i64 0, i64 {self.units}, ptr %scratch"
            lines.do(f"call void @columns_{width}({arguments})")
        once = f"  %starts = alloca ptr, i64 {self.unit}\n  %still = alloca i64, i64 {self.unit}\n"
        numbers = ", ".join(f"double {float(i == n - 1)}" for i in range(2 * n - 1))
        vectors = [f"@units = internal constant [{2 * n - 1} x double] [{numbers}]"] if n else []
        return [*vectors, row_by_row(width, lines, once)]


def module(width: int, parts: Sequence[str], functions: set[tuple[str, int]]) -> str:
    """The text of all parts of a module, and of the functions that they call."""
    remainder = [] if width == 1 else [f"declare void @rows_1{ROWS_ARGUMENTS.replace('noalias ', '')}"]
    return "\n\n".join([*parts, *remainder, definitions(functions)]) + "\n"
