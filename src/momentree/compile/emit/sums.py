"""Sums of several products as one chain of fused multiply-adds: the terms in another order than they were recorded in.

A chain begins with the term that is no product, if there is one, and takes the products in the order in which their
factors are known: the last one waits for nothing else. So a sum of n terms takes n - 1 operations, or n if all are
products, and is known one operation after its last factor. A sum within a sum is part of its chain if it is needed
nowhere else and the chain still has at most one term that is no product: a difference that the formulas form before
anything is added to it is formed so here too, and no product is rounded where it was not before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from momentree.compile.emit.order import FUSED, LATENCIES, OTHER
from momentree.compile.trace.operations import operation_of
from momentree.compile.trace.tape import LEAVES, Tape, Variable, edges_of
from momentree.spatial import Scalar


class ChainedTape:
    """A tape recorded again with its sums as chains: `tape`, and `scalar(x)` for what was x on the other one.

    `arrivals` has the cycles after which inputs are known that are not there at once, by name; to inputs that stand
    `apart` a sum is added as a whole.
    """

    def __init__(self, recorded: Tape, arrivals: Mapping[str, int] | None = None, apart: Collection[str] = frozenset()):
        self.tape, self._nodes, self._arrivals, self._apart = Tape(), recorded.nodes, arrivals or {}, apart
        live = recorded.live()
        self._terms = self._joined(live, {*recorded.online(live)}, recorded.output_edges())
        self._new: dict[int, Scalar] = {}
        self._time: dict[int, int] = {}  # when each node of the other tape is known, in cycles
        for index, node in enumerate(self._nodes):
            if node[0] in LEAVES:
                self._record_leaf(index)
        for index in live:
            if self._nodes[index][0] not in LEAVES and (self._nodes[index][0] != "+" or index in self._terms):
                self._record(index)
        self.tape.outputs([self._at(edge) for edge in recorded.output_edges()])

    def scalar(self, x: Scalar) -> Scalar:
        """On the new tape, what was this on the other one."""
        return self._at(x.edge) if isinstance(x, Variable) else x

    def known_at(self, x: Scalar) -> int:
        """When what was this on the other tape is known, in cycles."""
        return self._known_at([x.edge]) if isinstance(x, Variable) else 0

    def _joined(self, live: Sequence[int], online: set[int], outputs: Sequence[int]) -> dict[int, list[int]]:
        """The terms of each sum that remains one, as edges."""
        nodes, uses = self._nodes, [0] * len(self._nodes)
        for edge in outputs:
            uses[abs(edge)] += 1
        for index in live:
            for edge in edges_of(nodes[index]):
                uses[abs(edge)] += 1
        self._products = {index for index in online if nodes[index][0] == "*" and uses[index] == 1}
        terms: dict[int, list[int]] = {}
        for index in live:
            if nodes[index][0] != "+":
                continue
            edges = edges_of(nodes[index])
            inner = [edge for edge in edges if abs(edge) in terms and uses[abs(edge)] == 1 and abs(edge) in online]
            if not inner or self._is_apart(edges):
                terms[index] = [*edges]
                continue
            own, others = list[int](), self._others(edges)
            # sums of products first: there may be one other term
            for edge in sorted(edges, key=lambda edge: self._others(terms.get(abs(edge), ()))):
                more = self._others(terms.get(abs(edge), ()))
                if edge in inner and others - 1 + more <= 1:
                    joined = terms.pop(abs(edge))
                    own += joined if edge > 0 else [-term for term in joined]
                    others += more - 1
                else:
                    own.append(edge)
            terms[index] = own
        return terms

    def _is_apart(self, edges: Sequence[int]) -> bool:
        """Whether one of them is an input to which a sum is added as a whole."""
        sides = (self._nodes[abs(edge)] for edge in edges) if self._apart else ()
        return any(side[0] == "input" and side[1] in self._apart for side in sides)

    def _others(self, edges: Sequence[int]) -> int:
        """How many of these are no products to be fused."""
        return sum(abs(edge) not in self._products for edge in edges)

    def _record_leaf(self, index: int) -> None:
        kind, value = self._nodes[index]
        if kind == "number":
            self._new[index] = value
            return
        self._new[index] = self.tape.input(value) if kind == "input" else self.tape.parameter(value)
        self._time[index] = self._arrivals.get(value, 0)

    def _record(self, index: int) -> None:
        """An operation; of a sum, its terms one after the other."""
        op, edges = self._nodes[index][0], edges_of(self._nodes[index])
        if op != "+":
            self._new[index] = operation_of(op).compute(*map(self._at, edges))
            self._time[index] = self._known_at(edges) + LATENCIES.get(op, OTHER)
            return
        products = [edge for edge in self._terms[index] if abs(edge) in self._products]
        factors_at = {edge: self._known_at(edges_of(self._nodes[abs(edge)])) for edge in products}
        products.sort(key=factors_at.__getitem__)
        first, *terms = [edge for edge in self._terms[index] if abs(edge) not in self._products] + products
        total, time = self._at(first), self._known_at([first])
        for edge in terms:
            total = total + self._at(edge)
            if edge in factors_at:
                time = max(time, factors_at[edge]) + FUSED
            else:
                time = max(time, self._known_at([edge])) + LATENCIES["+"]
        self._new[index], self._time[index] = total, time

    def _known_at(self, edges: Sequence[int]) -> int:
        """When all of these are known."""
        return max(self._time.get(abs(edge), 0) for edge in edges)

    def _at(self, edge: int) -> Scalar:
        new = self._new[abs(edge)]
        return new if edge >= 0 else -new
