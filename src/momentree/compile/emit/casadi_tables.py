"""The tables of a model in CasADi, whose symbols cannot index an array: trees of choices, exact in every number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from momentree.compile.trace.operations import TableOperation
from momentree.errors import MomentreeError

MOST_KNOTS = 10_000  # each is a node of the expression, several times


def locate(casadi: Any, operation: TableOperation, x: Any) -> Any:
    """The number of the piece that x lies in."""
    breaks = operation.pieces.breaks.tolist()
    if len(breaks) > MOST_KNOTS:
        message = f"table '{operation.pieces.name}' has {len(breaks)} knots, and CasADi takes a node for each"
        raise MomentreeError(f"{message}: at most {MOST_KNOTS}. Thin it out.")
    return _chosen(casadi, x, breaks, list(range(len(breaks) + 1)))


def entry(casadi: Any, operation: TableOperation, piece: Any) -> Any:
    """The entry of a column in the row of a piece."""
    column = operation.pieces.rows[:-1, operation.column].tolist()
    return _chosen(casadi, piece, [i + 0.5 for i in range(len(column) - 1)], column)


def _chosen(casadi: Any, x: Any, breaks: Sequence[float], values: Sequence[float]) -> Any:
    """The value between whose breaks x lies, by halves."""
    if not breaks:
        return casadi.SX(values[0])
    middle = len(breaks) // 2
    below = _chosen(casadi, x, breaks[:middle], values[: middle + 1])
    above = _chosen(casadi, x, breaks[middle + 1 :], values[middle + 1 :])
    return casadi.if_else(x >= breaks[middle], above, below)
