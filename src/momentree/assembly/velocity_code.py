"""Machine code for initial velocities: those that are given, loops kept closed, otherwise nearest to rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from momentree.assembly.closed_velocities import FITS
from momentree.assembly.closing_code import ClosingCode, Shape
from momentree.assembly.scaled_constraints import CUT_OFF
from momentree.compile.emit.dense_solves import DampedSteps, SingularValues
from momentree.compile.emit.lanes import LanesCode
from momentree.compile.emit.routine import table
from momentree.compile.emit.scalar_code import Number, ScalarCode, Vector


class VelocityCode(ClosingCode):
    """The velocities nearest to rest that have the given ones and keep loops closed; and whether they do.

    Rows are given the scaled values of given velocities, and what each is by the scaled velocity of the tree.
    """

    def __init__(self, shape: Shape, codes: Mapping[str, LanesCode], given: tuple[int, ...]):
        self.given = given
        self.singular_velocities = SingularValues("velocities", "M", shape.rows + len(given), shape.nv)
        super().__init__(shape, codes)

    @property
    def solvers(self) -> Sequence[SingularValues | DampedSteps]:
        return (self.singular_velocities,)

    @property
    def more_arguments(self) -> dict[str, int]:
        """Values and slopes."""
        return {"values": len(self.given), "slopes": len(self.given)}

    def rooms(self) -> dict[str, int]:
        """The equations M v = right."""
        rows = self.shape.rows + len(self.given)
        return {"M": rows * self.shape.nv, "right": rows, "v": self.shape.nv}

    @property
    def results(self) -> int:
        """v, whether they fit, whether any is asked for."""
        return self.shape.nv + 2

    def text(self, width: int) -> str:
        """The module that defines rows_1."""
        return f"{table('given', self.given or (0,))}\n\n{super().text(width)}"

    def functions(self) -> dict[str, Callable[[ScalarCode], None]]:
        """Nothing is moved."""
        return {"measure": self.measure, "refine": self.refine}

    def refine(self, code: ScalarCode) -> None:
        """velocities.g = right - M v, and v with the shortest solution for it added."""
        v, nv = code.vector("v"), self.shape.nv
        self._residual(code)
        code.run("velocities_solve")
        for i in code.each(0, nv):
            v[i] = v[i] + code.vector("velocities.x")[i]

    def _residual(self, code: ScalarCode) -> None:
        M, v, nv = code.vector("M"), code.vector("v"), self.shape.nv
        for i in code.each(0, self.shape.rows + len(self.given)):
            along = code.dot(M.part(i * nv), v, nv)
            code.vector("velocities.g")[i] = code.vector("right")[i] - along

    def row(self, code: ScalarCode, out: Vector) -> None:
        """The equations, their solution, refined once, and what it leaves."""
        there, M, right, v = self._at(code, "there"), *(code.vector(name) for name in ("M", "right", "v"))
        r, nv, e = self.shape.rows, self.shape.nv, len(self.given)
        code.copy(code.vector("q"), there("q"), self.shape.nq)
        code.run("measure")
        code.copy(there("J"), M, r * nv)
        for i in code.each(0, r):
            right[i] = -(code.vector("table")[i * (nv + 3) + 1] / code.vector("row_scales")[i])
        for i in code.each(0, e * nv):
            M[i + r * nv] = 0.0
        for i in code.each(0, e):
            M[i * nv + code.integers("given", i) + r * nv] = code.vector("slopes")[i]
            right[i + r] = code.vector("values")[i]
        for i in code.each(0, nv):
            v[i] = 0.0
        code.vector("cut")[0] = CUT_OFF
        code.run("velocities_factor")
        code.run("refine")
        code.run("refine")
        self._residual(code)
        largest = code.largest(right, r + e)
        size = largest.maximum(code.largest(v, nv))
        fits = (there("sound")[0] >= 0.0).select(1.0, 0.0)
        fits = self._small(code, fits, 0, r, CUT_OFF * size)
        fits = self._small(code, fits, r, r + e, FITS * size)
        for i in code.each(0, nv):
            out[i] = v[i] * code.vector("columns")[i]
        out[nv], out[nv + 1] = fits, (largest <= 0.0).select(0.0, 1.0)

    @staticmethod
    def _small(code: ScalarCode, fits: Number, begin: int, end: int, limit: Number) -> Number:
        """The same, or 0 where one of these residuals is larger than the limit."""
        left = code.vector("velocities.g")
        return code.total(begin, end, fits, lambda i, so_far: (left[i].absolute() <= limit).select(so_far, 0.0))
