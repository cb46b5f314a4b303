"""Structure: the graph of a mechanism as a reader wants it, with names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from momentree.model.higher_pairs import HigherPair
from momentree.structure.force_arcs import ForceArc, NamedGraph, force_arcs, graph_with_forces
from momentree.structure.graph import Graph
from momentree.structure.mechanism import Mechanism

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NamedLoop:
    """A loop by names: its closing joint or body, the bodies around it, the joints with +1 along, -1 against it."""

    closed_by: str
    kind: str
    rows: int
    bodies: tuple[str, ...]
    joints: tuple[tuple[str, int], ...]


class Structure:
    """The properly numbered tree of a mechanism and its loops (Yudintsev 2019; Ivanov 2022, section 1).

    Bodies are numbered 1..n, 0 is the ground; the arc that precedes body k has number k, cut arcs follow.
    """

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism.whole or mechanism  # with the loops that are closed later

    @property
    def graph(self) -> Graph:
        return self.mechanism.graph

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Names by number; entry 0 is the ground."""
        return ("ground", *(body.name for body in self.mechanism.bodies))

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names by number less one: joint k precedes body k, then the cut joints."""
        cut = [loop.name for loop in self.mechanism.loops if loop.joint is not None]
        return (*(body.joint.name for body in self.mechanism.bodies), *cut)

    @property
    def parents(self) -> Ints:
        return self.graph.parents

    @property
    def S0(self) -> NDArray[np.int32]:
        return self.graph.S0

    @property
    def S(self) -> NDArray[np.int32]:
        return self.graph.S

    @property
    def T(self) -> NDArray[np.int32]:
        return self.graph.T

    @property
    def Phi(self) -> NDArray[np.int32]:
        return self.graph.Phi

    @property
    def epsilon(self) -> NDArray[np.int32]:
        return self.graph.epsilon

    @property
    def i_plus(self) -> Ints:
        return self.graph.i_plus

    @property
    def i_minus(self) -> Ints:
        return self.graph.i_minus

    @cached_property
    def numbering(self) -> dict[str, int]:
        """Body name -> number."""
        return {name: number for number, name in enumerate(self.bodies)}

    @cached_property
    def loops(self) -> tuple[NamedLoop, ...]:
        """The split bodies, then the cut joints, in the order of the rows of epsilon."""
        splits = len(self.graph.images)
        named = []
        for i, loop in enumerate(self.mechanism.loops):
            rows = len(loop.rows)
            if isinstance(loop.joint_type, HigherPair):
                first, second, _ = self.mechanism.paths(loop)
                around = self._named([*first[::-1], *second])
                named.append(NamedLoop(f"pair {loop.name}", loop.joint_type.kind, rows, around, ()))
                continue
            if i < splits:
                numbers, arcs = self._split_loop(*self.graph.images[i])
                named.append(NamedLoop(f"body {loop.name}", "split", rows, self._named(numbers), arcs))
            else:
                cycle = self.graph.cycles[i - splits]
                arcs = tuple((self.joints[a - 1], s) for a, s in zip(cycle.arcs, cycle.signs, strict=True))
                named.append(
                    NamedLoop(f"joint {loop.name}", loop.joint_type.kind, rows, self._named(cycle.bodies), arcs)
                )
        return tuple(named)

    @cached_property
    def force_arcs(self) -> tuple[ForceArc, ...]:
        """Springs and contacts between two bodies, which are no arcs of the graph."""
        return force_arcs(self.mechanism)

    def named_graph(self, force_arcs: bool = False) -> NamedGraph:
        """The graph with names of bodies and arcs; with springs, contacts and higher pairs counted as arcs, if asked.

        All that acts between two bodies is then one arc, as the lecture has it (Yudintsev 2019). Bodies keep their
        numbers, but the path of a body that has only a Free joint may run along force arcs.
        """
        graph, names = graph_with_forces(self.mechanism) if force_arcs else (self.graph, [])
        cut = [loop.joint.type.kind for loop in self.mechanism.loops if loop.joint is not None]
        kinds = (*(body.joint.type.kind for body in self.mechanism.bodies), *cut, *["force"] * len(names))
        return NamedGraph(graph, self.bodies, (*self.joints, *names), kinds)

    def _split_loop(self, image: int, pre_image: int) -> tuple[list[int], tuple[tuple[str, int], ...]]:
        """Around a split body: the cycle of an arc from the pre-image to the image, without that arc."""
        closed = Graph([*self.graph.arcs.tolist(), (pre_image, image)], n=self.graph.n, cut=[self.graph.m + 1])
        cycle = closed.cycles[-1]
        arcs = [(a, s) for a, s in zip(cycle.arcs, cycle.signs, strict=True) if a <= self.graph.m]
        return list(cycle.bodies), tuple((self.joints[a - 1], s) for a, s in arcs)

    def _named(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.bodies[number] for number in numbers)
