"""Memory layout of a step of Radau IIA: what it remembers from step to step, and its working memory."""

from __future__ import annotations

import enum

from momentree.integrate.projection import Projection
from momentree.integrate.records import HEAD
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout
from momentree.integrate.tableau import Tableau


class Memory(enum.IntEnum):
    """Numbers from step to step and from call to call; after them y and the polynomial of the step before."""

    H = 0
    LAST = 1  # whether the step ends at stop
    WANTED = 2  # h before it was cut there
    ERROR = 3
    BEGUN = 4
    FIRST = 5  # no step was accepted yet
    REJECTED = 6  # the last try was
    FRESH = 7  # the Jacobian is that of this very y
    STALE = 8  # a new one is due
    T_JACOBIAN = 9  # where it was taken
    H_FACTORED = 10  # for which h the factors are
    H_BEFORE = 11
    ERROR_BEFORE = 12
    CONTRACTION = 13  # of the iteration
    REMAINING = 14  # the fraction of the next change that remains
    CHANGE = 15  # the last one
    RATIO = 16  # of the last two
    COUNT = 17  # iterations
    FACTOR = 18  # of the step size of another try
    TOTAL = 19
    OPENED = 20  # loops could not be closed after a try


MEMORY, CONTROL = 24, 6  # numbers, filled up; numbers of control before them
# vectors of y's size in `work`: each as many numbers
VECTORS = (
    *("z0", "z1", "z2", "w0", "w1", "w2", "d0", "d1", "d2", "slope", "there", "next", "scale", "k0", "k1", "k2"),
    *("closed", "velocities", "noise.q", "noise.v"),
)


class RadauLayout(RungeKuttaLayout):
    """How many numbers stand where, for states of n numbers, in chunks of as many lanes as a vector has."""

    def __init__(
        self, n: int, width: int, lanes: int, tableau: Tableau, dense: bool, projection: Projection | None = None
    ):
        super().__init__(n, width, lanes, tableau, dense, projection)
        self.n, self.stages = n, tableau.stages
        self.record = HEAD + self.size * (1 + (self.stages + (projection is not None) if dense else 0))
        self.memory = MEMORY + 4 * self.size  # behind `control`
        self.vectors = len(VECTORS) * self.size
        # vectors, t, pivots of both matrices, J, the real and the complex matrix, entries of J before they are in J
        self.work = self.vectors + 8 + 2 * self.size + self.size * n * 4 + self.size * n
        # y, f and t of as many columns as a vector has lanes, for differences
        self.lanes, self.wide = lanes, 2 * self.size * lanes + lanes
        self.work += self.wide + self.moved
