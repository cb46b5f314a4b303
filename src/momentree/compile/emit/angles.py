"""Angles whose sines and cosines can be computed before anything else, several of them in the lanes of one vector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from momentree.compile.trace.tape import Node, edges_of


class Angles(NamedTuple):
    """Edges to angles, each once, and the operations that lead to them."""

    edges: list[int]
    before: set[int]


def angles_at_hand(
    nodes: Sequence[Node], live: Sequence[int], turned: Iterable[int], is_known: Callable[[int], bool]
) -> Angles:
    """The angles among the operations `turned` that are had by sums and products alone from leaves that are known."""
    plain = set[int]()
    for index in live:
        edges = edges_of(nodes[index])
        if all(abs(edge) in plain for edge in edges) if edges else is_known(index):
            plain |= {index} if not edges or nodes[index][0] in ("+", "*") else set()
    sines = (nodes[index] for index in turned if nodes[index][0] in ("sin", "cos"))
    found = list(dict.fromkeys(node[1] for node in sines if abs(node[1]) in plain))
    return Angles(found, operations_before(nodes, found))


def operations_before(nodes: Sequence[Node], edges: Iterable[int], beyond: Iterable[int] = ()) -> set[int]:
    """All operations that lead to these edges; sines and cosines of the angles `beyond` are known."""
    known, found, waiting = set(beyond), set[int](), [abs(edge) for edge in edges]
    while waiting:
        index = waiting.pop()
        if index not in found and edges_of(nodes[index]):
            found.add(index)
            if nodes[index][0] not in ("sin", "cos") or nodes[index][1] not in known:
                waiting += [abs(edge) for edge in edges_of(nodes[index])]
    return found
