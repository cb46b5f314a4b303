"""Symmetric compositions of a method of order 2 to a higher order, which check themselves when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass

from momentree.errors import MomentreeError
from momentree.integrate.tableau import Interpolant

ROUND_OFF = 1e-14
# a cubic polynomial from three stages: y' at the beginning, at the end, and its mean over the step
HERMITE = Interpolant(3, ({0: 1.0}, {0: -2.0, 1: -1.0, 2: 3.0}, {0: 1.0, 1: 1.0, 2: -2.0}))


@dataclass(frozen=True)
class Composition:
    """Substeps of w_k h: order 2 asks for sum w_k = 1; order 4 for symmetry and sum w_k^3 = 0 too (Yoshida 1990)."""

    name: str
    order: int
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        conditions = {
            "order is 2 or 4": self.order in (2, 4),
            "sum w_k = 1": abs(math.fsum(self.weights) - 1) <= ROUND_OFF,
            "w_k = w_(n + 1 - k)": self.weights == self.weights[::-1],
            "sum w_k^3 = 0": self.order < 4 or abs(math.fsum(w**3 for w in self.weights)) <= ROUND_OFF,
        }
        wrong = [what for what, holds in conditions.items() if not holds]
        if wrong:
            raise MomentreeError(f"composition '{self.name}': {wrong[0]} does not hold.")


VERLET = Composition("verlet", 2, (1.0,))
_S = 1 / (4 - 4 ** (1 / 3))
VERLET4 = Composition("verlet4", 4, (_S, _S, 1 - 4 * _S, _S, _S))  # Suzuki 1990
COMPOSITIONS = {composition.name: composition for composition in (VERLET, VERLET4)}
