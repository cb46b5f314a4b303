"""From a tape to machine code, through LLVM: the text of the function rows_W (execute/kernel.py), for any width W.

One number and W of them in the lanes of a vector are one text (compile/emit/llvm_functions.py) on different types.

A tape holds no operation twice and none in vain, so the text needs no pass of LLVM, only its code generator. Which
products fuse with which sums stands in the text, so that one row and many of them give the same bits.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import numpy

from momentree.compile.emit.angles import Angles, angles_at_hand
from momentree.compile.emit.arguments import Arrays, check_arguments
from momentree.compile.emit.backends import Backend, Call
from momentree.compile.emit.lanes import ByColumns, Lanes, Rows, Writer, fused_products, module
from momentree.compile.emit.llvm_functions import SPELLINGS
from momentree.compile.emit.order import Arguments, arguments_of, fewest_alive, forwards
from momentree.compile.emit.sums import ChainedTape
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.tape import Node, Tape, edges_of

BLOCK = 1000  # operations: LLVM takes longer, and more than so many times, for longer blocks


class _Recorded(NamedTuple):
    """A tape as it is now: what is recorded on it later changes no kernel."""

    nodes: list[Node]
    live: list[int]
    online: list[int]
    outputs: list[int]
    fused: Collection[int] | None = None  # products that are written with sums, once they are known

    @classmethod
    def on(cls, tape: Tape) -> _Recorded:
        tape = ChainedTape(tape).tape
        live = tape.live()
        return cls(tape.nodes, live, tape.online(live), list(tape.output_edges()))

    def each_time(self) -> _Recorded:
        """The same with nothing done once: parameters are inputs."""
        nodes = [("input", *node[1:]) if node[0] == "parameter" else node for node in self.nodes]
        return self._replace(nodes=nodes, online=[index for index in self.live if edges_of(nodes[index])], fused=None)

    def once_but(self, inputs: Collection[str]) -> _Recorded:
        """The same with all done once that does not depend on these inputs: the others are parameters."""
        nodes = [("parameter", *n[1:]) if n[0] == "input" and n[1] not in inputs else n for n in self.nodes]
        varying, online = {index for index in self.live if nodes[index][0] == "input"}, list[int]()
        for index in self.live:
            if not varying.isdisjoint(map(abs, edges_of(nodes[index]))):
                varying.add(index)
                online.append(index)
        return self._replace(nodes=nodes, online=online, fused=None)

    @property
    def fused_products(self) -> Collection[int]:
        """Products that are written with sums: the same whatever the order of operations."""
        return fused_products(self.nodes, self.online, self.outputs) if self.fused is None else self.fused

    def ordered(self, order: Callable[[Arguments], list[int]]) -> _Recorded:
        """The same with its operations in another order (order.py)."""
        fused = self.fused_products
        online: list[int] = []
        for index in order(arguments_of(self.nodes, self.online, fused)):
            online += [abs(edge) for edge in edges_of(self.nodes[index]) if abs(edge) in fused]
            online.append(index)
        varying = set(online)
        live = [index for index in self.live if index not in varying] + online
        return self._replace(live=live, online=online, fused=fused)


def compile_tape(
    tape: Tape, arrays: Arrays, width: int | None = None, target: Target | None = None, gives: str = ""
) -> Kernel:
    """The outputs of a tape as a function of arrays.

    | argument | meaning                                                                                             |
    |----------|-----------------------------------------------------------------------------------------------------|
    | arrays   | the name of each argument and of the inputs in its columns; parameters stand in arrays of their own |
    | width    | rows computed at a time: 1, 2, 4 or 8; None: what suits the processor and the tape                   |
    | target   | the processor; None: this one                                                                        |
    | gives    | "row" or "column": the outputs are linear in the last argument, and the matrix is wanted of which a |
    |          | unit vector gives this; what does not depend on that argument is computed once                      |

    >>> import numpy
    >>> tape = Tape()
    >>> x, y = tape.inputs("x", "y")
    >>> tape.outputs([x * y, x - y])
    >>> kernel = compile_tape(tape, [("point", ["x", "y"])])
    >>> kernel([numpy.array([[3.0, 2.0], [5.0, 4.0]])])
    array([[ 6.,  1.],
           [20.,  1.]])
    """
    recorded, target = _Recorded.on(tape), target or Target.host()
    check_arguments(recorded.nodes, recorded.live, arrays, _objection)
    if gives:
        lanes = target.lanes(0) if width is None else width
        return Kernel(StraightLine(recorded, arrays, target.lanes(0), gives), lanes, target)
    lanes = target.lanes(_most_alive(recorded)) if width is None else width
    return Kernel(StraightLine(recorded, arrays, target.lanes(0)), lanes, target)


def _objection(argument: str, kinds: set[str]) -> str | None:
    return " mixes inputs and parameters. Give the parameters their own argument." if len(kinds) > 1 else None


class StraightLine:
    """The code of a tape, one operation after the other; `lanes` of a vector do the angles of a single row.

    One lane means a processor without vectors, such as a GPU. `gives` as in `compile_tape`.
    """

    def __init__(self, recorded: _Recorded, arrays: Arrays, lanes: int = 2, gives: str = ""):
        parameters = {node[1] for node in recorded.nodes if node[0] == "parameter"}
        passed, units = (arrays[:-1], arrays[-1][1]) if gives else (arrays, ())
        count = len(recorded.outputs)
        self.arrays = tuple((name, len(columns)) for name, columns in passed)
        self.constant = tuple(any(name in parameters for name in columns) for _, columns in passed)
        self.matrix = ByColumns(len(passed), len(units), count, gives == "row") if gives else None
        self.outputs = self.matrix.outputs if self.matrix else count
        self._recorded, self._grouped, self._lanes = recorded.once_but({*units}) if gives else recorded, arrays, lanes

    @classmethod
    def of(cls, tape: Tape, arrays: Arrays, target: Target) -> StraightLine:
        """The code of a tape as it is now."""
        return cls(_Recorded.on(tape), arrays, target.lanes(0))

    def text(self, width: int) -> str:
        """The module that defines rows_W."""
        recorded = self._recorded.ordered(self._order)
        if self.matrix is not None:
            return self.matrix.module(width, lambda rows: ([], _write(recorded, self._grouped, rows, self._lanes)))
        rows = Rows(width, len(self._grouped), self.outputs)
        functions = _write(recorded, self._grouped, rows, self._lanes)
        return module(width, [rows.text()], functions)

    def lanes(self, width: int, name: str) -> tuple[list[str], set[tuple[str, int]]]:
        """The function `name`_W on columns of lanes (lanes.py), and what it calls."""
        each = self._recorded.each_time().ordered(self._order)
        rows = Lanes(width, len(self._grouped), self.outputs, name)
        functions = _write(each, self._grouped, rows, self._lanes)
        return [rows.text()], functions

    @property
    def _order(self) -> Callable[[Arguments], list[int]]:
        """Without vectors, that of GPUs."""
        return fewest_alive if self._lanes == 1 else forwards

    def without_vectors(self) -> StraightLine:
        """The same for processors that have no vectors: angles are done when they are needed, few values are alive."""
        other = copy.copy(self)
        other._lanes = 1
        return other

    def scratch(self, width: int) -> int:
        """Nothing: all values are in registers and on the stack."""
        return 0


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


def _write(recorded: _Recorded, arrays: Arrays, rows: Rows | Lanes, lanes: int) -> set[tuple[str, int]]:
    """Write a tape: what depends on parameters alone before the loop over rows, the rest in it; gives what it calls."""
    nodes, online, width = recorded.nodes, set(recorded.online), rows.width
    varying = online | {index for index in recorded.live if nodes[index][0] == "input"}
    columns_of = {name: (k, j) for k, (_, columns) in enumerate(arrays) for j, name in enumerate(columns)}
    fused = recorded.fused_products
    once = Writer(rows.once, nodes, lambda index: rows.load(rows.once, *columns_of[nodes[index][1]]), rows.numbers)

    def leaf(index: int) -> str:
        if index in varying:
            return rows.load(rows.body, *columns_of[nodes[index][1]])
        return rows.body.splat(once.value(index))

    body = Writer(rows.body, nodes, leaf, rows.numbers, fused)
    results: dict[int, list[int]] = {}
    for output, edge in enumerate(recorded.outputs):
        results.setdefault(abs(edge), []).append(output)

    def write(indices: Iterable[int]) -> None:
        for count, index in enumerate(indices):
            if edges_of(nodes[index]):
                (body if index in online else once).operate(index)
            # each result is stored as soon as it is computed
            for output in results.get(index, ()):
                rows.store(rows.body, body.value(recorded.outputs[output]), output)
            if width == 1 and count % BLOCK == BLOCK - 1:
                rows.new_block(f"body{count}")

    # one row has angles enough to fill the lanes: all that need no other angle are done first and together
    together = width == 1 < lanes
    angles, before = (
        angles_at_hand(nodes, recorded.live, recorded.online, lambda _: True) if together else Angles([], set())
    )
    write(index for index in recorded.live if index in before)
    for i in range(0, len(angles) - 1, lanes):
        body.sines_and_cosines(angles[i : i + lanes], lanes)
    write(index for index in recorded.live if index not in before)
    return once.functions | body.functions


# --- the backend (backends.py) ---


def emit(tape: Tape, arrays: Arrays) -> str:
    """The module of a single row, in the language of LLVM."""
    return compile_tape(tape, arrays).ir(1)


def load(tape: Tape, arrays: Arrays) -> Call:
    """The machine code on single rows."""
    kernel = compile_tape(tape, arrays)
    return lambda *values: kernel([numpy.array(column, dtype=float) for column in values]).tolist()


BACKEND = Backend("LLVM", SPELLINGS, emit, load)
