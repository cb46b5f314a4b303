"""Memory layout of a Runge-Kutta step: how many numbers of y, of a record and of working memory there are."""

from __future__ import annotations

from momentree.integrate.projection import Projection
from momentree.integrate.records import HEAD
from momentree.integrate.tableau import Tableau


class RungeKuttaLayout:
    """How many numbers stand where, for states of n numbers, W of them at a time, in chunks of V."""

    memory = 0  # numbers of control beyond those of all methods
    lanes = 1  # of the widest vector in which the right-hand side is evaluated, besides W

    def __init__(
        self, n: int, width: int, lanes: int, tableau: Tableau, dense: bool, projection: Projection | None = None
    ):
        self.chunk = width if width > 1 else lanes
        self.size = max(-(-n * width // self.chunk), 1) * self.chunk  # numbers of y, filled up to whole chunks
        self.floor_size = self.size // width  # numbers of a part of `floor`
        self.stages = tableau.stages + tableau.adaptive + (len(tableau.extra) if dense else 0)
        self.record = HEAD + self.size * (1 + (self.stages + (projection is not None) if dense else 0))
        # what `positions` gives, filled up so that what follows is aligned
        self.moved = -(-(projection.nq + len(projection.sizes)) // 8) * 8 * width if projection else 0
        self.work = self.size * (self.stages + 6) + max(width, 8) + self.moved
