"""System: the front door. A frozen mechanism, and methods that each call one room."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.errors import AssemblyError
from momentree.model import Model
from momentree.model.model import as_frame
from momentree.structure import Mechanism, Structure, freeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from momentree.analyse.mobility import Mobility
    from momentree.simulate.state import State


class System:
    """A mechanism ready for work; it holds no state. Made by `Model.build`."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism

    @classmethod
    def of(cls, model: Model, free: Collection[str] = ()) -> System:
        """The system of a model, or one error with every problem."""
        return cls(freeze(model, free))

    @property
    def name(self) -> str:
        """What the model is called."""
        return self.mechanism.name

    @cached_property
    def structure(self) -> Structure:
        """The graph, its proper numbering, matrices and loops, with names."""
        return Structure(self.mechanism)

    @property
    def nq(self) -> int:
        """Number of coordinates of the tree."""
        return self.mechanism.nq

    @property
    def nv(self) -> int:
        """Number of rates of the tree."""
        return self.mechanism.nv

    @property
    def mobility(self) -> int:
        """The true number of freedoms, redundant rows not counted."""
        return self.mobility_report.true

    @cached_property
    def mobility_report(self) -> Mobility:
        """Gruebler's count, the true mobility, rank, and the redundant rows by name."""
        from momentree.analyse.mobility import mobility

        return mobility(self.mechanism)

    def assemble(
        self,
        given: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | State | None = None,
        t: float = 0.0,
    ) -> State:
        """The state with the given coordinates and rates that closes every loop, on the branch nearest to the guess.

        >>> start = system.assemble({"A": 1.0}, rates={"A": 0.0}, guess={"D": -0.5})   # doctest: +SKIP
        """
        from momentree.simulate.assemble import assemble

        return assemble(self.mechanism, given, rates, guess, t)

    def branches(
        self,
        given: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | State | None = None,
        t: float = 0.0,
    ) -> list[State]:
        """Every way to close the loops with the given coordinates, nearest to the guess first."""
        from momentree.simulate.assemble import branches

        return branches(self.mechanism, given, guess, t)

    def position(
        self, q: State | Sequence[float] | NDArray[np.float64], frame: Any, t: float = 0.0
    ) -> NDArray[np.float64]:
        """The origin of a frame in inertial space (m); a body stands for its own frame."""
        from momentree.equations.kinematics import records
        from momentree.simulate.state import State

        at, t = (q.q, q.t) if isinstance(q, State) else (np.asarray(q, dtype=float), t)
        attached = self.mechanism.attach(as_frame(frame))
        X_0 = records(self.mechanism, at, t=t)[attached.body].X_0
        return np.array(tuple(X_0.point(attached.placement.offset)), dtype=float)

    def __str__(self) -> str:
        from momentree.look.tables import system_summary

        try:
            return system_summary(self.structure, self.mobility_report)
        except AssemblyError as error:
            return system_summary(self.structure, str(error))

    def __repr__(self) -> str:
        m = self.mechanism
        return f"System('{m.name}': {len(m.bodies)} bodies, nv={m.nv}, loops={len(m.loops)})"
