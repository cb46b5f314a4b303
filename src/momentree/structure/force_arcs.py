"""Force arcs: springs, contacts and higher pairs as arcs of the graph, and the graph with the names of a model.

The lecture calls two bodies adjacent if they act on each other directly, and unites all that acts between them in one
joint (Yudintsev 2019: V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University). Momentree's
joints are narrower: a spring is no joint. Here it can be counted as one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from momentree.model.elements import Joint
from momentree.model.higher_pairs import HigherPair
from momentree.structure.graph import Graph
from momentree.structure.mechanism import Mechanism


class ForceArc(NamedTuple):
    """An element that acts between two bodies, given by their numbers, and is not a joint."""

    name: str
    kind: str
    first: int
    second: int

    @property
    def ends(self) -> tuple[int, int]:
        return self.first, self.second


@dataclass(frozen=True)
class NamedGraph:
    """A graph with the names of a model.

    | field  | meaning                                                                               |
    |--------|---------------------------------------------------------------------------------------|
    | graph  | bodies and arcs by number                                                             |
    | bodies | names by number; entry 0 is the ground                                                |
    | arcs   | names by number less one; a force arc has those of all elements that it unites        |
    | kinds  | of each arc: the joint type, or "force"                                               |
    """

    graph: Graph
    bodies: tuple[str, ...]
    arcs: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def forces(self) -> tuple[int, ...]:
        """The numbers of the force arcs."""
        return tuple(a for a, kind in enumerate(self.kinds, 1) if kind == "force")


def force_arcs(mechanism: Mechanism) -> tuple[ForceArc, ...]:
    """Force elements between two bodies. Forces on one body and torques in a joint make no arc."""
    pairs = ((element, [frame.body for frame in element.frames]) for element in mechanism.elements)
    return tuple(ForceArc(element.name, element.kind, *ends) for element, ends in pairs if len(ends) == 2)


def pair_arcs(mechanism: Mechanism) -> tuple[ForceArc, ...]:
    """Rolling, skating and the other higher pairs, which are neither joints nor arcs of the mechanism's graph."""
    pairs = (loop for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair))
    return tuple(ForceArc(pair.name, pair.joint_type.kind, pair.first.body, pair.second.body) for pair in pairs)


def by_pair(arcs: Iterable[ForceArc]) -> list[list[ForceArc]]:
    """The elements that act between the same two bodies, together."""
    groups: dict[frozenset[int], list[ForceArc]] = {}
    for arc in arcs:
        groups.setdefault(frozenset(arc.ends), []).append(arc)
    return [*groups.values()]


def united_name(arcs: list[ForceArc]) -> str:
    """The name of an element; of several, how many there are: "4 contacts, 1 spring"."""
    if len(arcs) == 1:
        return arcs[0].name
    kinds = [arc.kind for arc in arcs]
    counts = {kind: kinds.count(kind) for kind in kinds}
    return ", ".join(f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items())


def graph_with_forces(mechanism: Mechanism) -> tuple[Graph, list[str]]:
    """The graph of all that acts between bodies, as the lecture has it, and the names of its force arcs.

    Elements between bodies that an arc joins already belong to that arc; those between two other bodies become one arc,
    numbered after the joints, with the direction of the first of them. The tree prefers joints to force arcs, and force
    arcs to Free joints through which nothing acts.
    """
    graph = mechanism.graph
    joined = [frozenset(arc) for arc in graph.arcs.tolist()]
    groups = {frozenset(group[0].ends): group for group in by_pair([*force_arcs(mechanism), *pair_arcs(mechanism)])}
    added = [group for pair, group in groups.items() if pair not in joined]
    driven = {torque.joint for torque in mechanism.torques}
    weights = [
        2.0 if _transmits_nothing(body.joint, driven) and pair not in groups else 0.0
        for body, pair in zip(mechanism.bodies, joined, strict=False)
    ]
    weights += [0.0] * (graph.m - len(weights)) + [1.0] * len(added)
    return graph.with_arcs([group[0].ends for group in added], weights), [united_name(group) for group in added]


def _transmits_nothing(joint: Joint, driven: Collection[str]) -> bool:
    """Whether it is a Free joint without prescribed motion, damping or torque."""
    carries = joint.type.motion is not None or joint.type.damping is not None or joint.name in driven
    return joint.type.freedom == 6 and not carries
