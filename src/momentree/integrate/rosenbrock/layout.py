"""Memory layout of a step of a Rosenbrock method: its stages, the Jacobian with df/dt behind it, and the factors."""

from __future__ import annotations

from momentree.integrate.projection import Projection
from momentree.integrate.radau.layout import MEMORY, wide_arrays
from momentree.integrate.records import HEAD
from momentree.integrate.rosenbrock.tableau import RosenbrockTableau
from momentree.integrate.runge_kutta.layout import RungeKuttaLayout

# vectors of y's size in `work`, besides the stages u and the polynomial k of dense output
VECTORS = ("d0", "d1", "slope", "end", "there", "next", "scale", "closed", "velocities", "noise.q", "noise.v")


class RosenbrockLayout(RungeKuttaLayout):
    """How many numbers stand where, for states of n numbers, in chunks of so many lanes; `wide` of differences."""

    def __init__(
        self, n: int, width: int, lanes: int, tableau: RosenbrockTableau, dense: bool,
        projection: Projection | None = None, wide: int | None = None,
    ):  # fmt: skip
        super().__init__(n, width, lanes, tableau, dense, projection)
        self.n, self.steps, self.stages, self.tableau = n, tableau.stages, len(tableau.used.polynomial), tableau
        self.record = HEAD + self.size * (1 + (self.stages + (projection is not None) if dense else 0))
        self.memory = MEMORY  # behind `control`
        self.lanes = wide or lanes
        self.work = sum(length for _, length in self.arrays)

    @property
    def arrays(self) -> list[tuple[str, int]]:
        """The arrays in `work`, and how many numbers each of them has."""
        size, n = self.size, self.n
        vectors = [*VECTORS, *(f"u{i}" for i in range(self.steps)), *(f"k{j}" for j in range(self.stages))]
        arrays = [
            *((name, size) for name in vectors),
            ("time", 8),
            ("pivots", size),
            ("matrix", size * n),
            ("slope.t", size),  # df/dt, the column behind the Jacobian
            ("real", size * n),
            ("entries", size * (n + 1)),
            ("moves", self.moved),
        ]
        return [*arrays, *wide_arrays(sum(length for _, length in arrays), size, self.lanes)]
