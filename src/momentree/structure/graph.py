"""The graph of a mechanical system: bodies are vertices, joints are arcs, body 0 is the external one. Pure integers.

Yudintsev 2019: V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University.
Ivanov 2022: V. N. Ivanov, Motion equations of rigid bodies systems with closed kinematic chains in Hamiltonian
variables, Bulletin of Perm University 4(59), 18-28, doi 10.17072/1993-0550-2022-4-18-28.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from momentree.errors import GraphError, suggestion
from momentree.structure.spanning_tree import Cycle, Entries, Ints, Rooting, frozen, kruskal, root

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Cycle", "Graph"]

Matrix = NDArray[np.int32]  # entries are 0, +1, -1, but products of two matrices count the arcs of long paths
LARGEST_MATRIX = 2e9  # bytes
LARGEST_BODY = 2**31 - 1


class Graph:
    """Bodies 0..n joined by arcs 1..m: arc a leaves body i_plus and enters body i_minus (Yudintsev 2019).

    The lightest arcs make a spanning tree (Kruskal; ties keep the given order), the heaviest are cut. With the
    freedom of each joint as its weight, the tree needs the fewest coordinates. Nothing is computed before it is
    asked for, no matrix is ever inverted, and a Graph never changes. Entry k-1 of an array is that of body k,
    entry a-1 that of arc a.

    | argument | meaning                                                                             |
    |----------|-------------------------------------------------------------------------------------|
    | arcs     | pairs (body it leaves, body it enters)                                              |
    | n        | number of bodies, the external one not counted; by default the largest number named |
    | weights  | one number for each arc; by default all equal                                       |
    | cut      | numbers of arcs that must not enter the tree                                        |
    """

    n: int
    m: int
    arcs: Ints
    weights: NDArray[np.float64]
    images: tuple[tuple[int, int], ...] = ()  # pairs (image, pre-image), in a graph that `split` has made
    _insisted: tuple[int, ...]

    def __init__(
        self,
        arcs: Iterable[Sequence[int]] | NDArray[Any],
        *,
        n: int | None = None,
        weights: Iterable[float] | None = None,
        cut: Iterable[int] = (),
    ) -> None:
        pairs = _checked_arcs(arcs, n)
        m, largest = len(pairs), int(pairs.max(initial=0))
        vars(self).update(arcs=pairs, m=m, n=largest if n is None else int(n))
        vars(self).update(weights=_checked_weights(weights, m), _insisted=_checked_cut(cut, m))
        if self._insisted:
            self._check_cut_separates_nothing()

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

    # --- directly from the arcs: for every graph, connected or not ---

    @property
    def i_plus(self) -> Ints:
        """The body that each arc leaves (Yudintsev 2019)."""
        return self.arcs[:, 0]

    @property
    def i_minus(self) -> Ints:
        """The body that each arc enters (Yudintsev 2019)."""
        return self.arcs[:, 1]

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The bodies that share an arc, in the tree or cut, with the external body."""
        beside_zero = self.arcs[(self.arcs == 0).any(axis=1)].max(axis=1, initial=0)
        return tuple(np.unique(beside_zero).tolist())

    @cached_property
    def parallel(self) -> tuple[tuple[int, ...], ...]:
        """The groups of arcs between the same two bodies.

        The lecture forbids them: one joint unites all that acts between two bodies. Here each other closes a loop.
        """
        low, high = np.sort(self.arcs, axis=1).T
        order = np.lexsort((high, low))
        new_pair = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
        groups = np.split(order + 1, np.flatnonzero(new_pair) + 1)
        return tuple(sorted(tuple(group.tolist()) for group in groups if len(group) > 1))

    @cached_property
    def _forest(self) -> tuple[NDArray[np.bool_], Ints]:
        """Which arcs make the spanning forest, and a body that stands for the component of each body."""
        insisted = np.zeros(self.m, dtype=bool)
        insisted[_at(self._insisted)] = True
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

    def _check_cut_separates_nothing(self) -> None:
        needed = {*self.tree} & {*self._insisted}
        if needed:
            a = min(needed)
            component = kruskal(self.n, self.arcs, np.setdiff1d(np.arange(self.m), _at(self._insisted)))[1]
            end = next(end for end in self.arcs[a - 1] if component[end] != component[0])
            bodies = np.flatnonzero(component == component[end]).tolist()
            raise GraphError(
                f"cut: without arc {a}, {_named(bodies)} would not be connected to body 0. Leave arc {a} out of cut."
            )

    # --- the spanning tree, rooted at body 0 ---

    @cached_property
    def _rooting(self) -> Rooting:
        if self.floating:
            raise GraphError(
                f"{_named(self.floating)}: no path to the external body 0. Add an arc from 0 to a body of each part "
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
        if not _is_integer(k) or not 0 <= k <= self.n:
            raise GraphError(f"path: there is no body {k!r}; bodies are numbered 0 to {self.n}.")
        tree, arcs = self._rooting, []
        while k:
            arcs.append(int(tree.preceding[k]))
            k = tree.parent[k]
        return tuple(reversed(arcs))

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
        U: list[list[int]] = [[] for _ in range(self.n + 1)]
        for body, parent in enumerate(self.k, 1):
            U[parent].append(body)
        return tuple(tuple(children) for children in U[1:])

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The fundamental cycles, one for each cut arc."""
        return self._rooting.cycles(self.arcs, self.cut)

    # --- the matrices ---

    @cached_property
    def S_full(self) -> Matrix:
        """Bodies 0..n by all arcs: +1 in the row of i_plus, -1 in the row of i_minus (Yudintsev 2019).

        Each column sums to zero, in every graph and not only in a tree.
        """
        return self._dense("S_full")

    @cached_property
    def S0(self) -> Matrix:
        """The row of the external body, the tree arcs in number order (Yudintsev 2019).

        Only its first entry is non-zero if the tree is numbered properly and has one root; not otherwise.
        """
        row: Matrix = self._dense("S0")[0]
        return row

    @cached_property
    def S(self) -> Matrix:
        """Bodies 1..n by the tree arcs in number order, entries as in S_full; det S = +-1 (Yudintsev 2019)."""
        return self._dense("S")

    @cached_property
    def T(self) -> Matrix:
        """T[a,k] = +1 (-1) if tree arc a lies on the path from body k to 0 and points to (from) 0 (Yudintsev 2019).

        S T = T S = E and T^T S0^T = -1, for any numbering and any number of roots.
        """
        return self._dense("T")

    @cached_property
    def Phi(self) -> Matrix:
        """The fundamental cycles as columns, all arcs in number order as rows.

        Phi = [-T S_c; E] (rows of the tree arcs; of the cut arcs), and S_full Phi = 0.
        """
        return self._dense("Phi")

    @cached_property
    def epsilon(self) -> Matrix:
        """What closes the loops: a row for each split body, then for each cut arc (Ivanov 2022, section 1).

        +1 at a pre-image, -1 at its image; +1 at i_plus, -1 at i_minus of a cut arc. Body 0 has no column.
        """
        return self._dense("epsilon")

    def sparse(self, which: str) -> csr_array:
        """S0 (as a matrix of one row), S, T, Phi, S_full or epsilon, only the entries that are not zero."""
        from scipy.sparse import csr_array

        shape = self._shape(which)
        rows, columns, values = self._entries(which)
        return csr_array((values.astype(np.int32), (rows, columns)), shape=shape)

    def _dense(self, which: str) -> Matrix:
        shape = self._shape(which)
        if 4 * shape[0] * shape[1] > LARGEST_MATRIX:
            raise GraphError(f"{which}: {shape[0]} x {shape[1]} is too large to write out. Use sparse('{which}').")
        matrix = np.zeros(shape, dtype=np.int32)
        rows, columns, values = self._entries(which)
        matrix[rows, columns] = values
        return frozen(matrix)

    def _shape(self, which: str) -> tuple[int, int]:
        n, m, loops = self.n, self.m, self.number_of_loops
        shapes = {"S0": (1, n), "S": (n, n), "T": (n, n), "Phi": (m, loops), "S_full": (n + 1, m)}
        shapes["epsilon"] = (len(self.images) + loops, n)
        if which not in shapes:
            raise GraphError(f"sparse: there is no matrix {which!r}.{suggestion(which, shapes)}")
        return shapes[which]

    def _entries(self, which: str) -> Entries:
        """Rows, columns and values; S_full and epsilon exist for every graph, the others for a rooted tree."""
        if which == "S_full":
            return _incidence(self.arcs)
        if which == "epsilon":
            splits = np.array(self.images, dtype=np.int64).reshape(-1, 2)[:, ::-1]
            bodies, rows, signs = _incidence(np.concatenate([splits, self.arcs[_at(self.cut)]]))
            return rows[bodies > 0], bodies[bodies > 0] - 1, signs[bodies > 0]
        tree = self._rooting
        if which == "T":
            if 32 * (entries := int(tree.depth.sum())) > LARGEST_MATRIX:
                raise GraphError(f"T: {entries} entries are too many to store. Use path(k) for the bodies that matter.")
            return tree.paths(np.array(self.tree))
        if which == "Phi":
            rows = _at([arc for cycle in self.cycles for arc in cycle.arcs])
            signs = np.array([sign for cycle in self.cycles for sign in cycle.signs])
            return rows, np.repeat(np.arange(len(self.cycles)), [len(cycle.arcs) for cycle in self.cycles]), signs
        bodies, columns, signs = _incidence(self.arcs[_at(self.tree)])
        part = bodies == 0 if which == "S0" else bodies > 0
        return np.maximum(bodies[part] - 1, 0), columns[part], signs[part]

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
        arc_map[_at(self.cut)] = np.arange(self.n + 1, self.m + 1)
        return frozen(body_map), frozen(arc_map)

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
        same = Graph(body[self.arcs[old]], n=self.n, weights=self.weights[old], cut=arc[_at(self.cut)].tolist())
        return same._with_images((int(body[image]), int(body[pre_image])) for image, pre_image in self.images)

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
            loose = _named(secondary.floating)
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
        if not _is_integer(arc) or not 1 <= arc <= self.m:
            return f"there is no arc {arc!r}; arcs are numbered 1 to {self.m}."
        leaves, enters = self.arcs[arc - 1].tolist()
        if body == 0:
            return f"the external body has no image. Split the other body of arc {arc}, body {max(leaves, enters)}."
        if body not in (leaves, enters):
            return f"arc {arc} is not at body {body!r}. It joins bodies {leaves} and {enters}."
        return f"arc {arc} is moved twice. Split at another arc." if arc in moved else ""


def _at(numbers: Sequence[int]) -> Ints:
    """The indices in an array of what is numbered from 1."""
    return np.array(numbers, dtype=np.int64) - 1


def _incidence(arcs: Ints) -> Entries:
    """A row for each body from 0, a column for each arc: +1 where the arc leaves, -1 where it enters."""
    columns = np.arange(len(arcs))
    return arcs.T.ravel(), np.concatenate([columns, columns]), np.repeat([1, -1], len(arcs))


def _is_integer(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _named(bodies: Sequence[int]) -> str:
    """The bodies, as an error names them: "bodies 2, 3, 4 and 97 more"."""
    shown = ", ".join(str(body) for body in bodies[:8])
    more = f" and {len(bodies) - 8} more" if len(bodies) > 8 else ""
    return f"{'body' if len(bodies) == 1 else 'bodies'} {shown}{more}"


def _checked_arcs(arcs: Iterable[Sequence[int]] | NDArray[Any], n: int | None) -> Ints:
    """The arcs as an m x 2 array, or every fault that they have."""
    if n is not None and not (_is_integer(n) and 0 <= n <= LARGEST_BODY):
        raise GraphError(f"n: {n!r} is not a number of bodies. Give an integer from 0.")
    pairs = arcs.tolist() if isinstance(arcs, np.ndarray) else list(arcs)
    last = LARGEST_BODY if n is None else n
    if faults := [f"arc {a}: {fault}" for a, pair in enumerate(pairs, 1) if (fault := _arc_fault(pair, last))]:
        raise GraphError("\n".join(faults[:8] + [f"and {len(faults) - 8} more"] * (len(faults) > 8)))
    return frozen(np.array(pairs, dtype=np.int64).reshape(-1, 2))


def _arc_fault(pair: Any, last: int) -> str:
    """What is wrong with one arc; nothing if all is well."""
    if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        return f"{pair!r} is not a pair (body it leaves, body it enters)."
    for body in pair:
        if not _is_integer(body):
            return f"body {body!r} is not an integer. Bodies are numbered from 1; 0 is the external body."
        if body < 0:
            return f"body {body} is negative. Bodies are numbered from 1; 0 is the external body."
        if body > last:
            return f"there is no body {body}. Bodies are numbered 0 to {last}; a larger n makes room for more."
    if pair[0] == pair[1]:
        return f"self-loop at body {pair[0]}. A joint joins two different bodies."
    return ""


def _checked_weights(weights: Iterable[float] | None, m: int) -> NDArray[np.float64]:
    try:
        numbers = np.ones(m) if weights is None else np.array(list(weights), dtype=float)
    except (TypeError, ValueError):
        raise GraphError(f"weights: {weights!r} are not numbers. Give one for each arc.") from None
    if numbers.shape != (m,):
        raise GraphError(f"weights: {len(numbers)} for {m} arcs. Give one number for each arc.")
    if np.isnan(numbers).any():
        raise GraphError(f"weights: that of arc {np.isnan(numbers).argmax() + 1} is NaN. Give a number.")
    return frozen(numbers)


def _checked_cut(cut: Iterable[int], m: int) -> tuple[int, ...]:
    numbers = list(cut)
    for arc in numbers:
        if not _is_integer(arc) or not 1 <= arc <= m:
            raise GraphError(f"cut: there is no arc {arc!r}. Arcs are numbered 1 to {m}.")
    return tuple(sorted({int(arc) for arc in numbers}))
