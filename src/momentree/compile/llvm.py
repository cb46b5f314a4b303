"""From a tape to machine code, through LLVM: the text of the function rows_W (compile/kernel.py), for any width W.

One number and W of them in the lanes of a vector are one text (compile/functions.py) on different types.

A tape holds no operation twice and none in vain, so the text needs no pass of LLVM, only its code generator. Products
and sums may fuse; nothing is reordered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from momentree.compile.functions import SIMPLE, Lines, definitions
from momentree.compile.kernel import Kernel
from momentree.compile.machine_code import Target
from momentree.compile.tape import Node, Tape, edges_of
from momentree.errors import MomentreeError, suggestion

Arrays = Sequence[tuple[str, tuple[str, ...]]]  # names of the arguments, and of the inputs in their columns


class _Recorded(NamedTuple):
    """A tape as it is now: what is recorded on it later changes no kernel."""

    nodes: list[Node]
    live: list[int]
    online: list[int]
    outputs: list[int]

    @classmethod
    def on(cls, tape: Tape) -> _Recorded:
        return cls(tape.nodes, tape.live(), tape.online(), list(tape.kept()))


def compile_tape(
    tape: Tape, arrays: Sequence[tuple[str, Sequence[str]]], width: int | None = None, target: Target | None = None
) -> Kernel:
    """The outputs of a tape as a function of arrays.

    | argument | meaning                                                                                             |
    |----------|-----------------------------------------------------------------------------------------------------|
    | arrays   | the name of each argument and of the inputs in its columns; parameters stand in arrays of their own |
    | width    | rows computed at a time: 1, 2, 4 or 8; unless given, what suits the processor and the tape          |
    | target   | the processor, unless given this one                                                                |

    >>> import numpy
    >>> tape = Tape()
    >>> x, y = tape.inputs("x", "y")
    >>> tape.outputs([x * y, x - y])
    >>> kernel = compile_tape(tape, [("point", ["x", "y"])])
    >>> kernel([numpy.array([[3.0, 2.0], [5.0, 4.0]])])
    array([[ 6.,  1.],
           [20.,  1.]])
    """
    grouped = tuple((name, tuple(columns)) for name, columns in arrays)
    recorded, target = _Recorded.on(tape), target or Target.host()
    _check_arrays(recorded, grouped)
    lanes = target.lanes(_most_alive(recorded)) if width is None else width
    return Kernel(StraightLine(recorded, grouped), lanes, target)


class StraightLine:
    """The code of a tape, one operation after the other."""

    def __init__(self, recorded: _Recorded, arrays: Arrays):
        parameters = {node[1] for node in recorded.nodes if node[0] == "parameter"}
        self.arrays = tuple((name, len(columns)) for name, columns in arrays)
        self.constant = tuple(any(name in parameters for name in columns) for _, columns in arrays)
        self.outputs = len(recorded.outputs)
        self._recorded, self._grouped = recorded, arrays

    def text(self, width: int) -> str:
        """The module that defines rows_W."""
        return _Rows(self._recorded, self._grouped, width).text()

    def scratch(self, width: int) -> int:
        """Nothing: all values are in registers and on the stack."""
        return 0


def _check_arrays(recorded: _Recorded, arrays: Arrays) -> None:
    nodes = recorded.nodes
    kinds = {node[1]: node[0] for node in nodes if node[0] in ("input", "parameter")}
    problems, seen = [], set()
    for array, columns in arrays:
        for name in columns:
            if name not in kinds:
                problems.append(f"array '{array}': the tape has no input '{name}'.{suggestion(name, kinds)}")
            elif name in seen:
                problems.append(f"array '{array}': '{name}' stands in two columns. Leave one of them out.")
            seen.add(name)
        if len({kinds.get(name) for name in columns}) > 1 and all(name in kinds for name in columns):
            problems.append(f"array '{array}' mixes inputs and parameters. Give the parameters one of their own.")
    for index in recorded.live:
        if nodes[index][0] in ("input", "parameter") and nodes[index][1] not in seen:
            problems.append(f"{nodes[index][0]} '{nodes[index][1]}' stands in no array, but the outputs need it.")
    if problems:
        raise MomentreeError("\n".join(problems))


def _most_alive(recorded: _Recorded) -> int:
    """How many values are needed at the same time, at most, when the operations are done in the order of the tape."""
    nodes = recorded.nodes
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index in recorded.online:
        for value in (index, *(abs(edge) for edge in edges_of(nodes[index]) if nodes[abs(edge)][0] != "number")):
            first.setdefault(value, index)
            last[value] = index
    born, dying = Counter(first.values()), Counter(last.values())
    most = alive = 0
    for index in recorded.online:
        alive += born[index]
        most = max(most, alive)
        alive -= dying[index]
    return most


# --- the text ---


class _Rows:
    """Writes the function of one width: what depends on parameters alone before the loop over rows, the rest in it."""

    def __init__(self, recorded: _Recorded, arrays: Arrays, width: int):
        self.nodes, self.width, self.outputs = recorded.nodes, width, recorded.outputs
        self.places = {name: (k, j) for k, (_, columns) in enumerate(arrays) for j, name in enumerate(columns)}
        self.once, self.body = Lines(1, "once"), Lines(width)
        self.found: dict[Lines, dict[int, str]] = {self.once: {}, self.body: {}}  # names of values, by their nodes
        self.pairs: dict[int, tuple[str, str]] = {}  # sin and cos, by the edge of their argument
        self.functions: dict[Lines, set[str]] = {self.once: set(), self.body: set()}
        online = set(recorded.online)
        self.varying = online | {index for index in recorded.live if self.nodes[index][0] == "input"}
        for k in range(len(arrays)):
            self._find_rows(k)
        self._compute(recorded.live, online)

    def text(self) -> str:
        """The module."""
        W, alone = self.width, self.width == 1
        given = "(ptr %arguments, ptr %strides, ptr noalias %out, i64 %begin, i64 %end, ptr noalias %scratch)"
        loop = f"""define void @rows_{W}{given} nounwind {{
entry:
{self.once}
  %last = sub i64 %end, {W - 1}
  br label %head
head:
  %row = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %row, %last
  br i1 %more, label %body, label %rest
body:
{self.body}
  %next = add i64 %row, {W}
  br label %head
rest:
  {"" if alone else "call void @rows_1(ptr %arguments, ptr %strides, ptr %out, i64 %row, i64 %end, ptr %scratch)"}
  ret void
}}"""
        functions = {(name, lines.width) for lines, names in self.functions.items() for name in names}
        remainder = [] if alone else [f"declare void @rows_1{given.replace('noalias ', '')}"]
        return "\n\n".join([loop, *remainder, definitions(functions)]) + "\n"

    def _find_rows(self, k: int) -> None:
        """Where the rows of argument k start, one for each lane."""
        self.once.do(f"%place{k} = getelementptr ptr, ptr %arguments, i64 {k}")
        self.once.do(f"%argument{k} = load ptr, ptr %place{k}")
        self.once.do(f"%at{k} = getelementptr i64, ptr %strides, i64 {k}")
        self.once.do(f"%stride{k} = load i64, ptr %at{k}")
        self.body.do(f"%offset{k} = mul i64 %row, %stride{k}")
        self.body.do(f"%start{k}_0 = getelementptr double, ptr %argument{k}, i64 %offset{k}")
        for lane in range(1, self.width):
            self.body.do(f"%start{k}_{lane} = getelementptr double, ptr %start{k}_{lane - 1}, i64 %stride{k}")

    def _compute(self, live: list[int], online: set[int]) -> None:
        results: dict[int, list[int]] = {}
        for place, edge in enumerate(self.outputs):
            results.setdefault(abs(edge), []).append(place)
        self.body.do(f"%results = mul i64 %row, {len(self.outputs)}")
        self.body.do("%kept = getelementptr double, ptr %out, i64 %results")
        # each result is stored as soon as it is known
        for index in live:
            if edges_of(self.nodes[index]):
                self._operate(self.body if index in online else self.once, index)
            for place in results.get(index, ()):
                self._store(place)

    def _operate(self, lines: Lines, index: int) -> None:
        found, op, edges = self.found[lines], self.nodes[index][0], edges_of(self.nodes[index])
        if op == "+" and edges[1] < 0:
            found[index] = lines.less(self._value(lines, edges[0]), self._value(lines, -edges[1]))
            return
        arguments = [self._value(lines, edge) for edge in edges]
        if op in SIMPLE:
            found[index] = SIMPLE[op](lines, *arguments)
        elif op in ("sin", "cos"):
            self.functions[lines].add("sincos")
            if edges[0] not in self.pairs:
                self.pairs[edges[0]] = lines.sine_and_cosine(*arguments)
            found[index] = self.pairs[edges[0]][op == "cos"]
        else:
            self.functions[lines].add(op)
            found[index] = lines.call(op, *arguments)

    def _value(self, lines: Lines, edge: int) -> str:
        """The name of what an edge leads to."""
        index, found = abs(edge), self.found[lines]
        kind, *rest = self.nodes[index]
        if kind == "number":
            return lines.number(float(rest[0]) if edge >= 0 else -float(rest[0]))
        if index not in found:
            if kind in ("input", "parameter") and (index in self.varying) == (lines is self.body):
                found[index] = self._load(lines, *self.places[rest[0]])
            else:
                found[index] = lines.splat(self._value(self.once, index))
        return found[index] if edge >= 0 else lines.negative(found[index])

    def _load(self, lines: Lines, k: int, column: int) -> str:
        """A column of argument k, loaded where it is first needed."""
        starts = [f"%start{k}_{lane}" for lane in range(lines.width)] if lines is self.body else [f"%argument{k}"]
        places = [lines.let(f"getelementptr double, ptr {start}, i64 {column}") for start in starts]
        return lines.of_lanes([lines.let(f"load double, ptr {place}, align 8") for place in places])

    def _store(self, place: int) -> None:
        value = self._value(self.body, self.outputs[place])
        for lane in range(self.width):
            scalar = self.body.lane(value, lane)
            to = self.body.let(f"getelementptr double, ptr %kept, i64 {lane * len(self.outputs) + place}")
            self.body.do(f"store double {scalar}, ptr {to}, align 8")
