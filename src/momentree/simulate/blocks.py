"""What a simulation hands over while it runs: blocks of samples, work terms, statistics of its steps, and its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.configuration import Array

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.system import System

Setting = float | int | str | None


def read_only(array: Array) -> Array:
    """A view of an array through which it cannot be changed."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive samples.

    | field | shape | meaning                                            |
    |-------|-------|----------------------------------------------------|
    | t     | k     | time (s); does not decrease                        |
    | q     | k, nq | coordinates of the tree (m, rad)                   |
    | v     | k, nv | velocities of the tree (m/s, rad/s)                |
    | work  | k, m  | work done so far, by each work term (J)            |
    """

    t: Array
    q: Array
    v: Array
    work: Array

    def __len__(self) -> int:
        return len(self.t)

    def read_only(self) -> Block:
        """The same samples, which nobody changes through this."""
        return Block(*(read_only(array) for array in (self.t, self.q, self.v, self.work)))

    def part(self, samples: slice) -> Block:
        """Some of the samples."""
        return Block(self.t[samples], self.q[samples], self.v[samples], self.work[samples])

    @classmethod
    def joined(cls, blocks: Sequence[Block], nq: int, nv: int, work_terms: int) -> Block:
        """One block after another; of no blocks, one without samples."""
        empty = cls(np.zeros(0), np.zeros((0, nq)), np.zeros((0, nv)), np.zeros((0, work_terms)))
        return cls(*(np.concatenate([getattr(b, name) for b in (empty, *blocks)]) for name in ("t", "q", "v", "work")))


@dataclass(frozen=True)
class WorkTerm:
    """Something whose work is accounted for in the balance of energy: "torque on A".

    `kind` is "drive", "force", "damper", "stop", "spring damping", "contact", "friction", "motion", "ground", "latch",
    "switch".
    """

    name: str
    kind: str


@dataclass(frozen=True)
class Statistics:
    """Steps and evaluations from the start of the simulation, and what is to be said of them.

    | field             | meaning                                                                                  |
    |-------------------|------------------------------------------------------------------------------------------|
    | shortest, longest | the smallest and the largest step size (s)                                               |
    | stiff_from        | when steps were found to be much shorter than the motion needs (s); None: never          |
    | switched_to       | the integrator that went on from there; None: the same                                   |
    """

    accepted: int = 0
    rejected: int = 0
    evaluations: int = 0
    shortest: float = 0.0
    longest: float = 0.0
    stiff_from: float | None = None
    switched_to: str | None = None


@dataclass(frozen=True)
class End:
    """How a simulation ended.

    | field   | meaning                                                       |
    |---------|---------------------------------------------------------------|
    | reason  | "arrived", "event", "interrupted" or "failed"                 |
    | t       | when (s)                                                      |
    | message | why and where, if it failed                                   |
    | events  | events of this block and their times: (("touchdown", 0.31), ...) |
    """

    reason: str
    t: float
    message: str = ""
    events: tuple[tuple[str, float], ...] = ()


class Refined(NamedTuple):
    """Samples of a second, more accurate simulation.

    | field | meaning                                                             |
    |-------|---------------------------------------------------------------------|
    | block | at the times that were asked for, as far as it came                 |
    | by    | what is more accurate: "rtol 1e-14 instead of 1e-12"                |
    | share | the error of the first simulation over the difference of the two    |
    """

    block: Block
    by: str
    share: float


class RecordableSimulation(Protocol):
    """A simulation in progress, as results.recorder takes it.

    `advance` computes the next block, a bounded amount of work, and gives None once there is no more; `end` then says
    why. The first sample of all is the start.

    `checkpoint` holds all that is needed to go on, `statistics` included: after `restore` of it, in another simulation
    of the same system, start and settings, `advance` gives the same results bit for bit. `settings` are
    the keyword arguments that it was made with, numbers and texts.
    """

    @property
    def system(self) -> System: ...

    @property
    def start(self) -> State: ...

    @property
    def settings(self) -> Mapping[str, Setting]: ...

    @property
    def t_start(self) -> float: ...

    @property
    def t_end(self) -> float: ...

    @property
    def work_terms(self) -> tuple[WorkTerm, ...]: ...

    @property
    def end(self) -> End | None: ...

    @property
    def statistics(self) -> Statistics: ...

    def advance(self) -> Block | None: ...

    def checkpoint(self) -> dict[str, NDArray[Any]]: ...

    def restore(self, checkpoint: dict[str, NDArray[Any]]) -> None: ...

    def refined(self, times: Array) -> Refined: ...
