"""The graph of a mechanical system: bodies are vertices, joints are arcs, body 0 is the external one. Pure integers.

Yudintsev 2019: V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University.
Ivanov 2022: V. N. Ivanov, Motion equations of rigid bodies systems with closed kinematic chains in Hamiltonian
variables, Bulletin of Perm University 4(59), 18-28, doi 10.17072/1993-0550-2022-4-18-28.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from momentree.errors import GraphError, spell_checked
from momentree.structure.arc_checks import is_integer, named
from momentree.structure.graph_matrices import GraphMatrices
from momentree.structure.rooted_graph import at
from momentree.structure.spanning_tree import Cycle, Ints, frozen
from momentree.structure.walks import Walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Cycle", "Graph", "PeelingRound", "Walk"]


@dataclass(frozen=True)
class PeelingRound:
    """One round of the proper numbering: the leaves that are left, in the order in which they get their numbers.

    | field   | meaning                                              |
    |---------|------------------------------------------------------|
    | bodies  | old numbers of the leaves, descending                |
    | arcs    | old numbers of the arcs that precede them            |
    | numbers | the new number of each of them and of its arc        |
    """

    bodies: tuple[int, ...]
    arcs: tuple[int, ...]
    numbers: tuple[int, ...]


@spell_checked
class Graph(GraphMatrices):
    """Bodies 0..n joined by arcs 1..m: arc a leaves body i_plus and enters body i_minus (Yudintsev 2019).

    The lightest arcs make a spanning tree (Kruskal; ties keep the given order), the heaviest are cut. With the
    freedom of each joint as its weight, the tree needs the fewest coordinates. Nothing is computed before it is
    asked for, no matrix is ever inverted, and a Graph never changes. Entry k-1 of an array is that of body k,
    entry a-1 that of arc a.

    | argument | meaning                                                                             |
    |----------|-------------------------------------------------------------------------------------|
    | arcs     | pairs (body it leaves, body it enters), or a text: "0-1 1-2 1-3"                    |
    | n        | number of bodies, the external one not counted; by default the largest number named |
    | weights  | one number for each arc; by default all equal                                       |
    | cut      | numbers of arcs that must not enter the tree                                        |
    """

    @classmethod
    def from_parents(cls, k: Iterable[int]) -> Self:
        """The tree of Ivanov's array k: arc i goes from body k_i to body i (Ivanov 2022, section 1)."""
        arcs = [(parent, body) for body, parent in enumerate(k, 1)]
        return cls(arcs, n=len(arcs))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Graph never changes: make another one instead of setting '{name}'")

    def _repr_html_(self) -> str:
        from momentree.look.notebook import graph_html

        return graph_html(self)

    def __str__(self) -> str:
        from momentree.look.graph_tables import graph_report

        return graph_report(self)

    def draw(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The picture of the graph, written to a file if a path is given (.svg, .png or .pdf)."""
        from momentree.look.graph_picture import draw_graph

        return draw_graph(self, path)

    def __repr__(self) -> str:
        floating = f", floating={len(self.floating)}" if self.floating else ""
        return f"Graph(n={self.n}, m={self.m}, loops={self.number_of_loops}{floating})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        if (self.n, self.m, self.images) != (other.n, other.m, other.images):
            return False
        return bool((self.arcs == other.arcs).all() and (self.weights == other.weights).all() and self.cut == other.cut)

    def __hash__(self) -> int:
        return hash((self.n, self.arcs.tobytes(), self.images))

    # --- other numberings, other graphs ---

    @cached_property
    def is_proper(self) -> bool:
        """Whether arc k precedes body k, and the parent of body k has a smaller number (Yudintsev 2019).

        The tree then holds arcs 1..n, and the cut arcs come after them.
        """
        own = np.arange(1, self.n + 1)
        return bool((self.preceding == own).all() and (self.parents < own).all())

    def peel(self) -> tuple[Ints, Ints]:
        """A proper numbering by peeling off leaves: new numbers of bodies 0..n and of arcs 1..m (Yudintsev 2019).

        Again and again the leaves, from the largest old number down, take with their arcs the largest numbers left
        and are taken off. A body goes in the round equal to its height above the leaves, so one sort does all rounds.
        A properly numbered tree may be renumbered. Cut arcs follow the tree arcs, in the old order.
        """
        order = np.argsort(-self._rooting.heights()[1:], kind="stable")
        body_map, arc_map = np.zeros(self.n + 1, dtype=np.int64), np.zeros(self.m, dtype=np.int64)
        body_map[1 + order] = np.arange(1, self.n + 1)
        arc_map[self.preceding - 1] = body_map[1:]
        arc_map[at(self.cut)] = np.arange(self.n + 1, self.m + 1)
        return frozen(body_map), frozen(arc_map)

    @cached_property
    def peeling(self) -> tuple[PeelingRound, ...]:
        """The rounds of `peel`, as the lecture performs them (Yudintsev 2019, construction of a proper numbering)."""
        heights, (number, _) = self._rooting.heights()[1:], self.peel()
        in_turn = np.lexsort((-np.arange(self.n), heights))
        rounds = np.split(1 + in_turn, np.flatnonzero(np.diff(heights[in_turn])) + 1) if self.n else []
        found = ((bodies, self.preceding[bodies - 1], number[bodies]) for bodies in rounds)
        return tuple(PeelingRound(*(tuple(one.tolist()) for one in three)) for three in found)

    @cached_property
    def numbering(self) -> tuple[Ints, Ints]:
        """A proper numbering: new numbers of bodies 0..n and of arcs 1..m. The present one, if it is proper already."""
        if self.is_proper:
            return frozen(np.arange(self.n + 1)), frozen(np.arange(1, self.m + 1))
        return self.peel()

    def renumbered(self) -> Graph:
        """The same graph with the same tree, properly numbered. No arc is turned round."""
        if self.is_proper:
            return self
        body, arc = self.numbering
        old = np.argsort(arc)
        same = Graph(body[self.arcs[old]], n=self.n, weights=self.weights[old], cut=arc[at(self.cut)].tolist())
        return same._with_images((int(body[image]), int(body[pre_image])) for image, pre_image in self.images)

    def with_arcs(self, arcs: Iterable[tuple[int, int]], weights: Iterable[float]) -> Graph:
        """The same bodies with more arcs, numbered after the present ones; weights of all. Cut arcs remain cut."""
        more = Graph([*self.arcs.tolist(), *arcs], n=self.n, weights=weights, cut=self.cut)
        return more._with_images(self.images)

    def split(self, pairs: Iterable[tuple[int, int]]) -> Graph:
        """Open loops by splitting bodies: each pair (body, arc) moves the arc to an image of the body.

        The images are numbered n+1, n+2, .. in the order given. This is the secondary graph of Ivanov 2022,
        section 1; epsilon binds each image to its pre-image.
        """
        arcs, images, moved = self.arcs.copy(), list(self.images), set[int]()
        for image, (body, arc) in enumerate(pairs, self.n + 1):
            if fault := self._split_fault(body, arc, moved):
                raise GraphError(f"split ({body!r}, {arc!r}): {fault}")
            arcs[arc - 1][self.arcs[arc - 1] == body] = image
            images.append((image, int(body)))
            moved.add(int(arc))
        cut = [arc for arc in self._insisted if arc not in moved]
        secondary = Graph(arcs, n=self.n + len(moved), weights=self.weights, cut=cut)._with_images(images)
        if secondary.components > self.components:
            loose = named(secondary.floating)
            raise GraphError(
                f"split: with arcs {sorted(moved)} moved, {loose} would not be connected to body 0. "
                "Split at arcs of loops only."
            )
        return secondary

    def _with_images(self, images: Iterable[tuple[int, int]]) -> Graph:
        vars(self).update(images=tuple(images))
        return self

    def _split_fault(self, body: int, arc: int, moved: set[int]) -> str:
        """What is wrong with splitting the body at the arc; nothing if all is well."""
        if not is_integer(arc) or not 1 <= arc <= self.m:
            return f"there is no arc {arc!r}; arcs are numbered 1 to {self.m}."
        leaves, enters = self.arcs[arc - 1].tolist()
        if body == 0:
            return f"the external body has no image. Split the other body of arc {arc}, body {max(leaves, enters)}."
        if body not in (leaves, enters):
            return f"arc {arc} is not at body {body!r}. It joins bodies {leaves} and {enters}."
        return f"arc {arc} is moved twice. Split at another arc." if arc in moved else ""
