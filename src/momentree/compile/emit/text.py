"""The operations of a tape as statements of a programming language, for backends that write text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from momentree.compile.trace.operations import TableOperation
from momentree.compile.trace.tape import LEAVES, Tape

Spelling = str | Callable[[TableOperation], str]


class Statements(NamedTuple):
    """The text of a tape.

    | field      | meaning                                                               |
    |------------|-----------------------------------------------------------------------|
    | operations | the name of each live operation's value, v12, and its formula         |
    | outputs    | the formula of each output: a value, an input or a number, or minus it |
    """

    operations: list[tuple[str, str]]
    outputs: list[str]


def statements(
    tape: Tape, spellings: Mapping[str, Spelling], inputs: Mapping[str, str], number: Callable[[float], str]
) -> Statements:
    """The live operations of a tape, arguments before results.

    | argument  | meaning                                                                                         |
    |-----------|-------------------------------------------------------------------------------------------------|
    | spellings | of every operation, with {} for each argument; an argument may have a minus before it; of those |
    |           | on tables, a function of the operation that gives such a text                                   |
    | inputs    | how inputs and parameters are written, by their names                                           |
    | number    | how a number is written; it is not negative                                                     |
    """
    nodes, texts, operations = tape.nodes, dict[int, str](), list[tuple[str, str]]()

    def written(edge: int) -> str:
        return "-" * (edge < 0) + texts[abs(edge)]

    def spelt(op: Any) -> str:
        spelling = spellings[op.kind if isinstance(op, TableOperation) else op]
        return spelling if isinstance(spelling, str) else spelling(op)

    for index in tape.live():
        op, *content = nodes[index]
        if op in LEAVES:
            texts[index] = number(content[0]) if op == "number" else inputs[content[0]]
        else:
            texts[index] = f"v{index}"
            operations.append((texts[index], spelt(op).format(*map(written, content)).replace(" + -", " - ")))
    return Statements(operations, [written(edge) for edge in tape.output_edges()])
