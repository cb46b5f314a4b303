"""Factors of the mass matrix as arrays: U, D, and the elementary matrices whose product U is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from momentree.compile.execute.arrays import Array


class MassMatrixFactors(NamedTuple):
    """M = U D U', U = E_N ... E_1 a product of elementary matrices, one for each body that a joint lets move.

    | field     | shape     | meaning                                                                                |
    |-----------|-----------|----------------------------------------------------------------------------------------|
    | U         | nv, nv    | 1 on the diagonal; column k has entries for the ancestors of its body only             |
    | D         | nv, nv    | blocks on the diagonal, one for each joint                                             |
    | D_inverse | nv, nv    | its inverse                                                                            |
    | columns   |           | by moving body: its columns of U, a slice                                              |
    """

    U: Array
    D: Array
    D_inverse: Array
    columns: tuple[slice, ...]

    @property
    def elementary(self) -> tuple[Array, ...]:
        """E_1, ..., E_N with U = E_N ... E_1: the unit matrix, and the columns of one body."""
        return tuple(self._elementary(columns, 1.0) for columns in self.columns)

    @property
    def inverse_elementary(self) -> tuple[Array, ...]:
        """Their inverses, the same with the other sign: U^-1 = E_1^-1 ... E_N^-1."""
        return tuple(self._elementary(columns, -1.0) for columns in self.columns)

    @property
    def U_inverse(self) -> Array:
        """U^-1, the product of the inverse elementary matrices."""
        product = self._unit()
        for factor in self.inverse_elementary:
            product = product @ factor
        return product

    @property
    def inverse(self) -> Array:
        """M^-1 = U^-T D^-1 U^-1."""
        W = self.U_inverse
        return np.asarray(np.swapaxes(W, -1, -2) @ self.D_inverse @ W)

    def _unit(self) -> Array:
        return np.broadcast_to(np.eye(self.U.shape[-1]), self.U.shape).copy()

    def _elementary(self, columns: slice, sign: float) -> Array:
        E = self._unit()
        E[..., : columns.start, columns] = sign * self.U[..., : columns.start, columns]
        return E
