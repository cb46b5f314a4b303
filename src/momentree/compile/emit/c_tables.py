"""The tables of a model in C: constant arrays, and the function that finds the piece of one that a number lies in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from momentree.compile.trace.operations import TableOperation
from momentree.compile.trace.tape import Tape

LONG = 10_000  # numbers of an array that nobody reads: they are written as they are fastest
_LOCATE = """static inline double momentree_locate(const double *array, long size, double x)
{
    long from = 0, count = size; /* how many of an ascending array are not greater than x, by halves */
    while (count > 1) {
        const long half = count / 2;
        from += array[from + half] <= x ? half : 0;
        count -= half;
    }
    return (double)(isnan(x) ? size + 1 : from + (array[from] <= x));
}
"""


def locate(operation: TableOperation) -> str:
    """The number of the piece of an argument {}."""
    return f"momentree_locate({_name(operation, 'breaks')}, {len(operation.pieces.breaks)}, {{}})"


def entry(operation: TableOperation) -> str:
    """The entry of a column in the row of the piece {}."""
    return f"{_name(operation, 'rows')}[{operation.pieces.rows.shape[1]} * (long){{}} + {operation.column}]"


def table_definitions(tapes: Iterable[Tape], number: Callable[[float], str]) -> list[str]:
    """What has to stand before the functions of these tapes; nothing where they have no tables."""
    used: dict[str, TableOperation] = {}
    for tape in tapes:
        nodes = tape.nodes
        for op in (nodes[index][0] for index in tape.live()):
            if isinstance(op, TableOperation):
                used.setdefault(_name(op, "breaks" if op.kind == "locate" else "rows"), op)
    arrays = [_array(name, op, number) for name, op in used.items()]
    return [*arrays, _LOCATE] if arrays else []


def _name(operation: TableOperation, what: str) -> str:
    return f"momentree_{what}_{operation.pieces.digest[:16]}"


def _array(name: str, op: TableOperation, number: Callable[[float], str]) -> str:
    rows = op.pieces.breaks.reshape(-1, 1) if op.kind == "locate" else op.pieces.rows
    digits = number if rows.size < LONG else lambda x: x.hex() if math.isfinite(x) else number(x)
    lines = "".join(f"    {', '.join(map(digits, row))},\n" for row in rows.tolist())
    return f"static const double {name}[{rows.size}] = {{\n{lines}}};\n"
