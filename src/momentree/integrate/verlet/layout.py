"""Memory layout of a structure-preserving step: coordinates and momenta that belong together, working memory."""

from __future__ import annotations

from typing import NamedTuple

from momentree.integrate.records import HEAD
from momentree.structure.mechanism import Mechanism

ORDER = 8  # how many of the last values the extrapolation takes


class Parts(NamedTuple):
    """The columns of q and of the momenta that belong together.

    | field   | meaning                                                                         |
    |---------|---------------------------------------------------------------------------------|
    | plain   | a coordinate and its momentum                                                   |
    | balls   | a quaternion and the momentum of its rotation: the first of four, and of three   |
    | carried | three momenta that a rotation carries along, and the momentum of that rotation   |
    """

    plain: tuple[tuple[int, int], ...]
    balls: tuple[tuple[int, int], ...]
    carried: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Parts:
        parts = cls((), (), ())
        for body in mechanism.bodies:
            q, v = range(body.q.start, body.q.stop), range(body.v.start, body.v.stop)
            if len(q) == len(v):
                parts = parts._replace(plain=(*parts.plain, *zip(q, v, strict=True)))
            else:
                straight, moved, w = zip(q[:-4], v[:-3], strict=True), v[:-3:3], v[-3]
                balls, carried = (*parts.balls, (q[-4], w)), (*parts.carried, *((i, w) for i in moved))
                parts = cls((*parts.plain, *straight), balls, carried)
        return parts


class VerletLayout:
    """Sizes and offsets of the arrays of a step, for W integrations at a time."""

    memory = 2  # numbers of control beyond those of all integrators

    def __init__(self, nq: int, nv: int, work_terms: int, width: int, substeps: int, dense: bool, rows: int = 0):
        self.nq, self.nv, self.kicks, self.n = nq, nv, nv + work_terms, nq + nv + work_terms
        self.guessed = (nv, nv, rows)  # columns that are extrapolated
        self.table = sum(self.guessed) * ORDER  # columns of the differences of a substep
        self.size = (2 * self.n + substeps * self.table + 1) * width  # and room for loops over no column
        self.width, self.dense, self.record = width, dense, HEAD + (4 if dense else 1) * self.n * width
        self.arrays = {"before": 2 * self.n, "there": nq + nv, "out": nv + self.kicks, "more": self.n}
        self.arrays |= dict.fromkeys(("velocity0", "s0", "velocity1", "guess"), nv) | {"F0": self.kicks, "time": 1}
        self.add(dict.fromkeys(("begun", "ended", "mean") if dense else (), self.n))

    def add(self, arrays: dict[str, int]) -> None:
        """Add working arrays of so many columns."""
        self.arrays |= arrays
        self.work = sum(max(columns, 1) for columns in self.arrays.values()) * self.width


class RattleLayout(VerletLayout):
    """The same with so many constraint rows of loops.

    | array  | holds                                                                       |
    |--------|-----------------------------------------------------------------------------|
    | wanted | q0, then openings that are to be cancelled                                  |
    | push   | `constraint_push` of that: velocities, generalized impulses, openings       |
    | lam    | J(q0)' lam                                                                  |
    | opened | the openings J r of its velocities r = M^-1 J' lam                          |
    | former | the velocities of the last correction                                       |
    """

    def __init__(self, nq: int, nv: int, work_terms: int, width: int, substeps: int, dense: bool, rows: int):
        super().__init__(nq, nv, work_terms, width, substeps, dense, rows)
        self.rows = rows
        self.add({"wanted": nq + rows, "push": 2 * nv + rows, "lam": nv, "opened": rows, "former": nv})
