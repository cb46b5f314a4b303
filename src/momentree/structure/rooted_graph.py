"""A graph and its spanning tree, rooted at body 0: what is connected, the order of bodies, paths, cut arcs, cycles.

Yudintsev 2019: V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University.
Ivanov 2022: V. N. Ivanov, Motion equations of rigid bodies systems with closed kinematic chains in Hamiltonian
variables, Bulletin of Perm University 4(59), 18-28, doi 10.17072/1993-0550-2022-4-18-28.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from momentree.errors import GraphError, spell_checked
from momentree.structure.arc_checks import checked_body, checked_cut, checked_weights, named
from momentree.structure.incidence import Arcs, Incidence
from momentree.structure.spanning_tree import Cycle, Ints, Rooting, frozen, kruskal, root
from momentree.structure.walks import Walk

LARGEST_MATRIX = 2e9  # bytes


@spell_checked
class RootedGraph(Incidence):
    """A graph whose lightest arcs make a spanning tree (Kruskal; ties keep the given order); the others are cut."""

    weights: NDArray[np.float64]
    _insisted: tuple[int, ...]

    def __init__(
        self,
        arcs: Arcs,
        *,
        n: int | None = None,
        weights: Iterable[float] | None = None,
        cut: Iterable[int] = (),
    ) -> None:
        super().__init__(arcs, n)
        vars(self).update(weights=checked_weights(weights, self.m), _insisted=checked_cut(cut, self.m))
        if self._insisted:
            self._check_cut_separates_nothing()

    @cached_property
    def _forest(self) -> tuple[NDArray[np.bool_], Ints]:
        """Which arcs make the spanning forest, and a body that stands for the component of each body."""
        insisted = np.zeros(self.m, dtype=bool)
        insisted[at(self._insisted)] = True
        return kruskal(self.n, self.arcs, np.lexsort((self.weights, insisted)))  # stable, the insisted come last

    @cached_property
    def tree(self) -> tuple[int, ...]:
        """The numbers of the arcs of the spanning tree."""
        return tuple((np.flatnonzero(self._forest[0]) + 1).tolist())

    @cached_property
    def cut(self) -> tuple[int, ...]:
        """The numbers of the cut arcs; each closes one loop."""
        return tuple((np.flatnonzero(~self._forest[0]) + 1).tolist())

    @property
    def number_of_loops(self) -> int:
        """How many independent loops there are: m - n for a connected graph."""
        return len(self.cut)

    @property
    def components(self) -> int:
        """How many parts there are that no arc joins, that of the external body included."""
        return self.n + 1 - len(self.tree)

    @cached_property
    def floating(self) -> tuple[int, ...]:
        """The bodies that no path joins with the external body."""
        component = self._forest[1]
        return tuple(np.flatnonzero(component != component[0]).tolist())

    @cached_property
    def first_floating(self) -> tuple[int, ...]:
        """The first body of each part that no path joins with the external body."""
        component = self._forest[1]
        _, first = np.unique(component, return_index=True)
        return tuple(sorted(int(body) for body in first if component[body] != component[0]))

    def reachable(self, body: int) -> tuple[int, ...]:
        """The bodies that some path joins with a body, itself included, whatever the direction of the arcs."""
        component = self._forest[1]
        return tuple(np.flatnonzero(component == component[checked_body(body, self.n, "reachable")]).tolist())

    def are_connected(self, i: int, j: int) -> bool:
        """Whether some path joins two bodies (Yudintsev 2019, connected vertices)."""
        component = self._forest[1]
        first, second = (checked_body(body, self.n, "are_connected") for body in (i, j))
        return bool(component[first] == component[second])

    @property
    def is_connected(self) -> bool:
        """Whether some path joins any two bodies (Yudintsev 2019, connected graph)."""
        return self.components == 1

    @property
    def is_acyclic(self) -> bool:
        """Whether there is no loop (Yudintsev 2019, acyclic graph)."""
        return not self.cut

    @property
    def is_tree(self) -> bool:
        """Whether it is connected and has no loop (Yudintsev 2019, tree)."""
        return self.is_connected and self.is_acyclic

    def _check_cut_separates_nothing(self) -> None:
        needed = {*self.tree} & {*self._insisted}
        if needed:
            a = min(needed)
            component = kruskal(self.n, self.arcs, np.setdiff1d(np.arange(self.m), at(self._insisted)))[1]
            end = next(end for end in self.arcs[a - 1] if component[end] != component[0])
            bodies = np.flatnonzero(component == component[end]).tolist()
            raise GraphError(
                f"cut: without arc {a}, {named(bodies)} would not be connected to body 0. Leave arc {a} out of cut."
            )

    # --- the spanning tree, rooted at body 0 ---

    @cached_property
    def _rooting(self) -> Rooting:
        if self.floating:
            raise GraphError(
                f"{named(self.floating)}: no path to the external body 0. Add an arc from 0 to a body of each part "
                "that floats (a joint with six degrees of freedom if it moves freely)."
            )
        return root(self.n, self.arcs, self.tree)

    @property
    def parents(self) -> Ints:
        """The body that precedes each body on the path from 0 (Yudintsev 2019)."""
        return self._rooting.parent[1:]

    @property
    def preceding(self) -> Ints:
        """The number of the arc that precedes each body (Yudintsev 2019)."""
        return self._rooting.preceding[1:]

    @property
    def direction(self) -> Ints:
        """+1 if the arc that precedes the body points towards 0, -1 if away."""
        return self._rooting.direction[1:]

    @property
    def depth(self) -> Ints:
        """How many arcs lie between 0 and each body."""
        return self._rooting.depth[1:]

    @property
    def outward(self) -> tuple[int, ...]:
        """The bodies, parents before children."""
        return self._rooting.outward

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The bodies that precede no other."""
        return tuple(np.setdiff1d(np.arange(1, self.n + 1), self.parents).tolist())

    def path(self, k: int) -> tuple[int, ...]:
        """The numbers of the arcs on the path from 0 to body k: P_k of Ivanov 2022, section 1."""
        k = checked_body(k, self.n, "path")
        tree, arcs = self._rooting, []
        while k:
            arcs.append(int(tree.preceding[k]))
            k = int(tree.parent[k])
        return tuple(reversed(arcs))

    def path_between(self, i: int, j: int) -> Walk:
        """The path from body i to body j through the spanning tree."""
        first, last = (checked_body(body, self.n, "path_between") for body in (i, j))
        return Walk(*self._rooting.between(first, last))

    # --- the order of bodies ---

    def at_or_before(self, i: int, j: int) -> bool:
        """Whether s_i <= s_j: body i lies on the path from body j to 0 (Yudintsev 2019, weak order)."""
        first, at = (checked_body(body, self.n, "at_or_before") for body in (i, j))
        tree = self._rooting
        while tree.depth[at] > tree.depth[first]:
            at = int(tree.parent[at])
        return at == first

    def before(self, i: int, j: int) -> bool:
        """Whether s_i < s_j: body i lies on the path from body j to 0 and is another body (Yudintsev 2019)."""
        return self.at_or_before(i, j) and int(i) != int(j)

    @cached_property
    def order(self) -> NDArray[np.bool_]:
        """Bodies 0..n by bodies 0..n: whether s_i <= s_j. A partial order; of bodies in different branches neither."""
        if (self.n + 1) ** 2 > LARGEST_MATRIX:
            raise GraphError(f"order: of {self.n} bodies it is too large to write out. Use at_or_before(i, j).")
        order = np.eye(self.n + 1, dtype=bool)
        for body in self.outward:
            order[:, body] |= order[:, self._rooting.parent[body]]
        return frozen(order)

    def followers(self, i: int) -> tuple[int, ...]:
        """The bodies s_j with s_i < s_j, ascending: those that body i carries."""
        found = [checked_body(i, self.n, "followers")]
        for body in found:  # grows as it is read
            found += self._children[body]
        return tuple(sorted(found[1:]))

    @cached_property
    def k(self) -> tuple[int, ...]:
        """Ivanov's array k: the bodies that precede bodies 1..n (Ivanov 2022, section 1)."""
        return tuple(self.parents.tolist())

    @cached_property
    def P(self) -> tuple[tuple[int, ...], ...]:
        """For each body, the bodies on the path from 0 to it, itself included (Ivanov 2022, section 1).

        Ivanov collects arcs; in his numbering, the proper one, an arc has the number of the body that it precedes.
        """
        P: list[tuple[int, ...]] = [()] * (self.n + 1)
        for body in self.outward:
            P[body] = (*P[self.k[body - 1]], body)
        return tuple(P[1:])

    @cached_property
    def U(self) -> tuple[tuple[int, ...], ...]:
        """For each body, the bodies that it precedes, ascending (Ivanov 2022, section 1; arcs there, as for P)."""
        return self._children[1:]

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        """Of each body 0..n."""
        children: list[list[int]] = [[] for _ in range(self.n + 1)]
        for body, parent in enumerate(self.k, 1):
            children[parent].append(body)
        return tuple(tuple(bodies) for bodies in children)

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The fundamental cycles, one for each cut arc."""
        return self._rooting.cycles(self.arcs, self.cut)


def at(numbers: Sequence[int]) -> Ints:
    """The indices in an array of what is numbered from 1."""
    return np.array(numbers, dtype=np.int64) - 1
