"""Memory layout of a step of Radau IIA: what it remembers from step to step, and its working memory."""

from __future__ import annotations

import enum

from momentree.integrate.projection import Projection
from momentree.integrate.radau.tableau import RadauTableau
from momentree.integrate.records import HEAD
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout


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


def vectors(stages: int) -> list[str]:
    """The vectors of y's size in `work`; those of one letter stand one behind the other."""
    of_stages = [f"{letter}{k}" for letter in "zwdk" for k in range(stages)]
    return [*of_stages, "slope", "there", "next", "scale", "closed", "velocities", "noise.q", "noise.v"]


class RadauLayout(RungeKuttaLayout):
    """How many numbers stand where, for states of n numbers, in chunks of so many lanes; `wide` of differences."""

    def __init__(
        self, n: int, width: int, lanes: int, tableau: RadauTableau, dense: bool, projection: Projection | None = None,
        wide: int | None = None,
    ):  # fmt: skip
        super().__init__(n, width, lanes, tableau, dense, projection)
        self.n, self.stages, self.tableau, self.lanes = n, tableau.stages, tableau, wide or lanes
        self.record = HEAD + self.size * (1 + (self.stages + (projection is not None) if dense else 0))
        self.memory = MEMORY + (1 + self.stages) * self.size  # behind `control`
        self.work = sum(length for _, length in self.arrays)

    @property
    def arrays(self) -> list[tuple[str, int]]:
        """The arrays in `work`, and how many numbers each of them has."""
        size, n, pairs = self.size, self.n, range(self.stages // 2)
        arrays = [
            *((name, size) for name in vectors(self.stages)),
            ("time", 8),
            ("pivots", size),
            *((f"pivots{k}", size) for k in pairs),
            ("matrix", size * n),
            ("real", size * n),
            *((f"complex{k}", 2 * size * n) for k in pairs),
            ("entries", size * n),
            ("moves", self.moved),
        ]
        return [*arrays, *wide_arrays(sum(length for _, length in arrays), size, self.lanes)]


def wide_arrays(before: int, size: int, lanes: int) -> list[tuple[str, int]]:
    """y, f and t of as many states as a vector has lanes, aligned, behind so many other numbers."""
    return [("filled", -before % 8), ("wide", size * lanes), ("wide.f", size * lanes), ("wide.t", lanes)]
