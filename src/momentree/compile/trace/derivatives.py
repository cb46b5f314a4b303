"""Derivatives of what a tape has recorded, recorded on the same tape: they fold, share, compile and have derivatives.

A node y of arguments x_1 ... x_n has the differential dy = sum_i s_i dx_i. Forward, derivatives are carried from the
inputs to the results by these slopes s_i; in reverse, weights are carried from the results to the inputs by the same:

    forward   y_dot = sum_i s_i x_i_dot            reverse   x_i_bar = x_i_bar + s_i y_bar

A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3. What no result needs, or what depends on
nothing that is asked for, stays as it is.

At a kink one side is taken: the slope of abs(x) at 0 is 0, min(a, b) and max(a, b) where a = b have that of the
argument recorded later, and select(x, a, b) where x = 0 has that of b. Forward, a branch that is not chosen may have an
infinite slope, as select(x, sqrt(x), 0) at x = 0; in reverse its weight 0 meets that slope, and the result is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from momentree.compile.trace.operations import Rule, operation_of
from momentree.compile.trace.tape import Node, Tape, Variable, edges_of
from momentree.errors import MomentreeError
from momentree.spatial.scalar import Scalar

Parts = dict[int, Scalar]  # derivatives by the column, or weights by the row, that they belong to; zeros are omitted


# --- what is asked ---


def forward(tape: Tape, outputs: Sequence[Scalar], seeds: Mapping[Variable, Scalar]) -> list[Scalar]:
    """The derivative of each output in one direction, sum_j (d output / d input_j) seed_j.

    | argument | meaning                                                    |
    |----------|------------------------------------------------------------|
    | outputs  | numbers and variables of the tape                          |
    | seeds    | the direction: inputs and parameters, how fast each moves  |

    >>> tape = Tape()
    >>> x, y = tape.inputs("x", "y")
    >>> tape.outputs(forward(tape, [x * y, 3.0], {x: 1, y: 0.5}))
    >>> tape.evaluate({"x": 4.0, "y": 7.0})
    [9.0, 0]
    """
    edges = [tape.edge(output) for output in outputs]
    derived = _forward(tape, edges, _starts(_inputs(tape, seeds), ({0: seed} for seed in seeds.values())))
    return [_signed(derived.get(abs(edge), {}).get(0, 0), edge) for edge in edges]


def reverse(tape: Tape, outputs: Sequence[Scalar], weights: Sequence[Scalar], by: Sequence[Variable]) -> list[Scalar]:
    """The derivatives of sum_i weight_i output_i by inputs and parameters, all of them in one sweep."""
    edges, columns = [tape.edge(output) for output in outputs], _inputs(tape, by)
    parts = ({0: _signed(weight, edge)} for weight, edge in zip(weights, edges, strict=True))
    derived = _reverse(tape, _starts(map(abs, edges), parts), columns)
    return [derived.get(column, {}).get(0, 0) for column in columns]


def gradient(tape: Tape, output: Scalar, by: Sequence[Variable]) -> list[Scalar]:
    """The derivatives of one output by inputs and parameters.

    >>> tape = Tape()
    >>> x, y = tape.inputs("x", "y")
    >>> tape.outputs(gradient(tape, x * y * y, [x, y]))
    >>> tape.evaluate({"x": 4.0, "y": 3.0})
    [9.0, 24.0]
    """
    return reverse(tape, [output], [1], by)


@dataclass(frozen=True)
class Jacobian:
    """The derivatives of many outputs by many inputs, d output_row / d input_column; the others are 0 everywhere.

    | field         | meaning                                             |
    |---------------|-----------------------------------------------------|
    | rows, columns | where each value stands, row after row              |
    | values        | numbers and variables of the tape, none the number 0 |
    | shape         | number of outputs, number of inputs                 |
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: tuple[Scalar, ...]
    shape: tuple[int, int]

    def dense(self) -> list[list[Scalar]]:
        """All entries, row after row, with the number 0 where there is none."""
        matrix: list[list[Scalar]] = [[0] * self.shape[1] for _ in range(self.shape[0])]
        for row, column, value in zip(self.rows, self.columns, self.values, strict=True):
            matrix[row][column] = value
        return matrix


def jacobian(tape: Tape, outputs: Sequence[Scalar], by: Sequence[Variable]) -> Jacobian:
    """The derivatives of all outputs by inputs and parameters, forward or in reverse, whichever takes fewer operations.

    Both are recorded, and the one that is not chosen is dead code. Each node carries only the derivatives that are not
    0. Columns that meet in no output would fit into one sweep (A. Curtis, M. Powell, J. Reid, J. Inst. Maths Applics
    13, 1974, p. 117),
    but a node that such a sweep serves twice leads to no output: the operations would be the same, one by one.

    >>> tape = Tape()
    >>> x, y = tape.inputs("x", "y")
    >>> J = jacobian(tape, [x * y, 3 * y, 5.0], [x, y])
    >>> J.shape, J.rows, J.columns
    ((3, 2), (0, 0, 1), (0, 1, 1))
    >>> J.dense()[1:]
    [[0, 3], [0, 0]]
    """
    edges, columns = [tape.edge(output) for output in outputs], _inputs(tape, by)
    paths = [_by_columns(tape, edges, columns), _by_rows(tape, edges, columns)]
    entries = min(paths, key=lambda entries: _operations(tape, [*edges, *map(tape.edge, entries.values())]))
    pattern = sorted(entries)
    return Jacobian(
        rows=tuple(row for row, _ in pattern),
        columns=tuple(column for _, column in pattern),
        values=tuple(entries[position] for position in pattern),
        shape=(len(edges), len(columns)),
    )


def sparsity(tape: Tape, outputs: Sequence[Scalar], by: Sequence[Variable]) -> list[tuple[int, int]]:
    """Row and column of each derivative that may differ from 0, row after row; records nothing.

    A derivative can still cancel while it is recorded: then `jacobian` has no entry there.
    """
    edges, columns = [tape.edge(output) for output in outputs], _inputs(tape, by)
    nodes, derived = tape.nodes, {node: set(parts) for node, parts in _units(columns).items()}
    for index in _between(nodes, edges, derived):
        for _, edge in _links(nodes[index]):
            derived.setdefault(index, set()).update(derived.get(abs(edge), ()))
    return sorted((row, column) for row, edge in enumerate(edges) for column in derived.get(abs(edge), ()))


# --- sweeps ---


def _forward(tape: Tape, edges: Sequence[int], seeds: Mapping[int, Parts]) -> dict[int, Parts]:
    """The derivatives of every node that leads from the seeds to an edge."""
    nodes, derived = tape.nodes, dict(seeds)
    for index in _between(nodes, edges, seeds):
        total: Parts = derived.get(index, {})
        y, *x = map(tape.scalar, (index, *edges_of(nodes[index])))
        for rule, edge in _links(nodes[index]):
            for key, part in derived.get(abs(edge), {}).items():
                _add(total, key, rule(_signed(part, edge), y, *x))
        derived[index] = total
    return derived


def _reverse(tape: Tape, weights: Mapping[int, Parts], by: Sequence[int]) -> dict[int, Parts]:
    """The weights of every node that leads from `by` to a weighted one."""
    nodes, derived = tape.nodes, dict(weights)
    between = _between(nodes, weights, by)
    reached = set(between)
    for index in reversed(between):
        y, *x = map(tape.scalar, (index, *edges_of(nodes[index])))
        for rule, edge in _links(nodes[index]):
            if abs(edge) in reached:
                for key, part in derived.get(index, {}).items():
                    _add(derived.setdefault(abs(edge), {}), key, _signed(rule(part, y, *x), edge))
    return derived


def _by_columns(tape: Tape, edges: Sequence[int], columns: Sequence[int]) -> dict[tuple[int, int], Scalar]:
    derived = _forward(tape, edges, _units(columns))
    parts = ((row, edge, derived.get(abs(edge), {})) for row, edge in enumerate(edges))
    return {(row, column): _signed(value, edge) for row, edge, part in parts for column, value in part.items()}


def _by_rows(tape: Tape, edges: Sequence[int], columns: Sequence[int]) -> dict[tuple[int, int], Scalar]:
    derived = _reverse(tape, _units(edges), columns)
    parts = ((column, derived.get(index, {})) for column, index in enumerate(columns))
    return {(row, column): value for column, part in parts for row, value in part.items()}


def _add(total: Parts, key: int, term: Scalar) -> None:
    value = total.get(key, 0) + term
    if isinstance(value, Variable) or value != 0:
        total[key] = value
    else:
        total.pop(key, None)


def _signed(value: Scalar, edge: int) -> Scalar:
    return value if edge >= 0 else -value


def _starts(nodes: Iterable[int], parts: Iterable[Parts]) -> dict[int, Parts]:
    """Where a sweep starts; several values for a node are added."""
    derived: dict[int, Parts] = {}
    for node, part in zip(nodes, parts, strict=True):
        for key, value in part.items():
            _add(derived.setdefault(node, {}), key, value)
    return derived


def _units(edges: Sequence[int]) -> dict[int, Parts]:
    """1 for each edge, in a part of its own."""
    return _starts(map(abs, edges), ({row: _signed(1, edge)} for row, edge in enumerate(edges)))


# --- the nodes that matter ---


def _links(node: Node) -> list[tuple[Rule, int]]:
    """The arguments that an operation has a slope by, with the rule of each."""
    rules = operation_of(node[0]).rules if edges_of(node) else ()
    return [(rule, edge) for rule, edge in zip(rules, edges_of(node), strict=True) if rule is not None]


def _between(nodes: Sequence[Node], edges: Iterable[int], by: Iterable[int]) -> list[int]:
    """The nodes that depend on `by` and that the edges depend on, arguments before results."""
    springs = [[abs(edge) for _, edge in _links(node)] for node in nodes]
    reached, needed = set(by), {abs(edge) for edge in edges}
    for index, arguments in enumerate(springs):
        if not reached.isdisjoint(arguments):
            reached.add(index)
    for index in range(len(nodes) - 1, -1, -1):
        if index in needed:
            needed.update(springs[index])
    return sorted(reached & needed)


def _operations(tape: Tape, edges: Iterable[int]) -> int:
    """How many operations lead to these edges."""
    nodes, needed = tape.nodes, {abs(edge) for edge in edges}
    for index in range(len(nodes) - 1, -1, -1):
        if index in needed:
            needed.update(abs(edge) for edge in edges_of(nodes[index]))
    return sum(bool(edges_of(nodes[index])) for index in needed)


def _inputs(tape: Tape, by: Iterable[Variable]) -> list[int]:
    """The nodes of inputs and parameters."""
    edges = [tape.edge(variable) for variable in by]
    nodes = tape.nodes
    for edge in edges:
        if edge < 0 or nodes[edge][0] not in ("input", "parameter"):
            raise MomentreeError(f"no derivative by {tape.scalar(edge)!r}: take an input or a parameter of the tape.")
    return edges
