"""Machine code for the rank of the constraint Jacobian at a configuration, and nearby, where it is not singular."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from momentree.assembly.closing_code import ClosingCode
from momentree.assembly.nearby_configurations import LEAST_PROBE, OPEN_PROBES, PROBES, REACH, open_probes, probes
from momentree.assembly.scaled_constraints import CUT_OFF
from momentree.compile.emit.routine import bits, table
from momentree.compile.emit.scalar_code import ScalarCode, Vector


class RegularRankCode(ClosingCode):
    """The rank of J at a configuration, and the largest of it and of those nearby (nearby_configurations.py).

    Random configurations with open loops have the largest rank of all, but for a set of measure zero: where a row has
    that rank, it is regular, and no configuration nearby need be closed.
    """

    @property
    def results(self) -> int:
        return 2

    def text(self, width: int) -> str:
        """The module that defines rows_1."""
        directions = [bits(x) for x in np.concatenate([probes(self.shape.nv), open_probes(self.shape.nv)]).ravel()]
        return f"{table('probes', directions or ['0.0'], 'double')}\n\n{super().text(width)}"

    def functions(self) -> dict[str, Callable[[ScalarCode], None]]:
        """Those of closing, and the rank at there.q."""
        return {**super().functions(), "rank": self.rank, "probe": self.probe}

    def rooms(self) -> dict[str, int]:
        """The random motion of a probe, and how far it goes."""
        return {"random": self.shape.nv, "reach": 1}

    def rank(self, code: ScalarCode) -> None:
        """Of J at there.q, at closing.rank; `here` is then there."""
        code.run("measure")
        self._take(code, "there", "here")
        code.vector("cut")[0] = CUT_OFF
        code.run("closing_factor")
        code.run("closing_rank")
        rank = code.vector("closing.rank")
        rank[0] = (code.vector("here.sound")[0] >= 0.0).select(rank[0], 0.0)

    def probe(self, code: ScalarCode) -> None:
        """The rank where a random motion leads that the constraints allow, closed again; 0 if it does not close."""
        here, there, rank = self._at(code, "here"), self._at(code, "there"), code.vector("closing.rank")
        q, random, n, nv = code.vector("q"), code.vector("random"), len(self.shape.moving), self.shape.nv
        g, step, whole = (code.vector(name) for name in ("closing.g", "step", "whole"))
        code.copy(q, there("q"), self.shape.nq)
        code.run("rank")
        for i in code.each(0, self.shape.rows):
            g[i] = code.dot(here("J").part(i * n), random, n)
        code.run("closing_solve")
        for i in code.each(0, n):
            step[i] = random[i] - code.vector("closing.x")[i]
        largest = code.largest(step, n)
        rank[0] = 0.0
        with code.if_(largest > LEAST_PROBE):
            for i in code.each(0, nv):
                whole[i] = code.vector("columns")[i] * step[i] * (code.vector("reach")[0] / largest)
            self._evaluated(code, "integrated", q, whole, there("q"))
            code.run("close")
            misfit = here("misfit")[0]
            code.copy(here("q"), there("q"), self.shape.nq)
            code.run("rank")
            rank[0] = (misfit <= 1.0).select(rank[0], 0.0)

    def row(self, code: ScalarCode, out: Vector) -> None:
        """Ranks at q, and where probes lead if that is not the largest."""
        there, rank, nv = self._at(code, "there"), code.vector("closing.rank"), self.shape.nv
        q, whole, random = (code.vector(name) for name in ("q", "whole", "random"))
        code.copy(q, there("q"), self.shape.nq)
        code.run("rank")
        out[0] = rank[0]
        most: Any = 0.0
        for k in range(PROBES, PROBES + OPEN_PROBES):
            for i in code.each(0, nv):
                whole[i] = code.vector("columns")[i] * Vector(code, "@probes", k * nv)[i]
            self._evaluated(code, "integrated", q, whole, there("q"))
            code.run("rank")
            most = rank[0].maximum(most)
        out[1] = out[0]
        with code.if_(out[0] < most):
            for k in range(PROBES):
                code.copy(Vector(code, "@probes", k * nv), random, nv)
                code.vector("reach")[0] = REACH * (k + 1)
                code.run("probe")
                out[1] = out[1].maximum(rank[0])
