"""The matrices of a graph: S_full, S0, S, T, Phi and epsilon, dense or sparse; T also as the inverse of S.

Yudintsev 2019: V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University.
Ivanov 2022: V. N. Ivanov, Motion equations of rigid bodies systems with closed kinematic chains in Hamiltonian
variables, Bulletin of Perm University 4(59), 18-28, doi 10.17072/1993-0550-2022-4-18-28.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from momentree.errors import GraphError, spell_checked, suggestion
from momentree.structure.rooted_graph import LARGEST_MATRIX, RootedGraph, at
from momentree.structure.spanning_tree import Entries, Ints, frozen

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix = NDArray[np.int32]  # entries are 0, +1, -1, but products of two matrices count the arcs of long paths
LARGEST_INVERSE = 2000  # bodies


@spell_checked
class GraphMatrices(RootedGraph):
    """A graph with its matrices. Entry k-1 of an array is that of body k, entry a-1 that of arc a."""

    images: tuple[tuple[int, int], ...] = ()  # pairs (image, pre-image), in a graph that `split` has made

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
    def T_by_inversion(self) -> Matrix:
        """S^-1, by elimination and without any path: the same as T (Yudintsev 2019, S T = T S = E).

        Exact: every minor of S is 0, +1 or -1, so that elimination divides by +1 or -1 only.
        """
        if self.n > LARGEST_INVERSE:
            most = f"inverts matrices of at most {LARGEST_INVERSE} bodies"
            raise GraphError(f"T_by_inversion: {most}, not of {self.n}. Use T, which needs no inversion.")
        return frozen(_inverse(self.S))

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
            bodies, rows, signs = _incidence(np.concatenate([splits, self.arcs[at(self.cut)]]))
            return rows[bodies > 0], bodies[bodies > 0] - 1, signs[bodies > 0]
        tree = self._rooting
        if which == "T":
            if 32 * (entries := int(tree.depth.sum())) > LARGEST_MATRIX:
                raise GraphError(f"T: {entries} entries are too many to store. Use path(k) for the bodies that matter.")
            return tree.paths(np.array(self.tree))
        if which == "Phi":
            rows = at([arc for cycle in self.cycles for arc in cycle.arcs])
            signs = np.array([sign for cycle in self.cycles for sign in cycle.signs])
            return rows, np.repeat(np.arange(len(self.cycles)), [len(cycle.arcs) for cycle in self.cycles]), signs
        bodies, columns, signs = _incidence(self.arcs[at(self.tree)])
        part = bodies == 0 if which == "S0" else bodies > 0
        return np.maximum(bodies[part] - 1, 0), columns[part], signs[part]


def _incidence(arcs: Ints) -> Entries:
    """A row for each body from 0, a column for each arc: +1 where the arc leaves, -1 where it enters."""
    columns = np.arange(len(arcs))
    return arcs.T.ravel(), np.concatenate([columns, columns]), np.repeat([1, -1], len(arcs))


def _inverse(S: Matrix) -> Matrix:
    """The inverse of a unimodular matrix by the elimination of Gauss and Jordan, in integers."""
    n = len(S)
    rows = np.concatenate([S, np.eye(n, dtype=S.dtype)], axis=1)
    for column in range(n):
        # a row that is not used yet, with +1 or -1 in this column, comes to the diagonal as +1
        pivot = column + int(np.flatnonzero(rows[column:, column])[0])
        rows[[column, pivot]] = rows[[pivot, column]]
        rows[column] *= rows[column, column]
        # taken from all other rows, it leaves zeros in the column
        others = np.flatnonzero(rows[:, column])
        others = others[others != column]
        rows[others] -= rows[others, column][:, None] * rows[column]
    return np.ascontiguousarray(rows[:, n:])
