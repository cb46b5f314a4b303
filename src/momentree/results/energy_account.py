"""The energy account of a run: kinetic and potential energy, the work of each work term, and what it cannot explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from momentree.assembly.configuration import Array
from momentree.simulate.blocks import read_only


@dataclass(frozen=True, eq=False)
class EnergyAccount:
    """The energy of a run over time (J): total - total(0) = work of all work terms + balance, which should be 0.

    | field     | meaning                                                            |
    |-----------|--------------------------------------------------------------------|
    | kinetic   | of all bodies                                                      |
    | potential | of gravity, springs, stops and contacts                            |
    | work      | name of a work term -> work done by it so far                      |
    """

    kinetic: Array
    potential: Array
    work: Mapping[str, Array]

    def __post_init__(self) -> None:
        for name in ("kinetic", "potential"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        object.__setattr__(self, "work", {name: read_only(x) for name, x in self.work.items()})

    @property
    def total(self) -> Array:
        """Kinetic and potential energy together."""
        return self.kinetic + self.potential

    @cached_property
    def balance(self) -> Array:
        """What the account cannot explain."""
        total = self.total
        return read_only(total - total[:1] - sum(self.work.values(), start=np.zeros_like(total)))

    @property
    def through(self) -> float:
        """The energy exchanged: largest kinetic, range of potential, and of the work of each work term."""
        ranges = [float(np.ptp(part)) for part in (self.potential, *self.work.values()) if len(part)]
        return float(self.kinetic.max(initial=0.0)) + sum(ranges)

    @property
    def error(self) -> float:
        """The largest imbalance."""
        return float(np.abs(self.balance).max(initial=0.0))
