"""An estimate of the global error of a run, by a second, more accurate simulation at the same times (refinement.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from momentree.simulate.blocks import RecordableSimulation

if TYPE_CHECKING:
    from momentree.results.run import Run


@dataclass(frozen=True)
class ErrorEstimate:
    """By how much a run may be off, at most over its samples.

    | field       | meaning                                                                             |
    |-------------|-------------------------------------------------------------------------------------|
    | coordinates | of each coordinate of the tree, by name (m, rad; components of quaternions)          |
    | velocities  | of each velocity of the tree, by name (m/s, rad/s)                                   |
    | length      | the largest of all coordinates that are lengths (m)                                 |
    | angle       | the largest of all angles, and of rotations by quaternions (rad)                    |
    | until       | the time up to which both simulations came (s)                                      |
    | by          | what was done: "rtol 1e-14 instead of 1e-12"                                        |
    """

    coordinates: dict[str, float]
    velocities: dict[str, float]
    length: float
    angle: float
    until: float
    by: str

    def __str__(self) -> str:
        return f"about {self.angle:.1e} rad, {self.length:.1e} m ({self.by})"


def error_of(simulation: RecordableSimulation, run: Run) -> ErrorEstimate:
    """The estimate for a run of this simulation, from its start to its last sample."""
    twice = np.flatnonzero(run.t[1:] == run.t[:-1])  # at an impact, before and after it: other times in the other run
    chosen = np.setdiff1d(np.arange(len(run.t)), np.concatenate([twice[twice > 0], twice + 1]))  # the start is in both
    refined, by, share = simulation.refined(run.t[chosen])
    times, first = np.unique(refined.t, return_index=True)  # the other run has samples at its own impacts too
    asked = first[np.isin(times, run.t[chosen])]
    count = min(len(asked), len(chosen))
    pairs = ((refined.q, run.q), (refined.v, run.v))
    q, v = (np.abs(a[asked[:count]] - b[chosen[:count]]).max(axis=0, initial=0.0) * share for a, b in pairs)
    names = simulation.system.mechanism.coordinates, simulation.system.mechanism.velocities
    named = zip(names, (q, v), strict=True)
    coordinates, velocities = ({str(name): float(x) for name, x in zip(*both, strict=True)} for both in named)
    units = [unit for body in run.mechanism.bodies if not body.laws for unit in body.joint.type.units]
    sizes = {"m": 0.0, "rad": 0.0, "1": 0.0}
    for unit, x in zip(units, q, strict=True):
        sizes[unit] = max(sizes[unit], float(x))
    until = float(run.t[chosen[count - 1]]) if count else float(simulation.t_start)
    return ErrorEstimate(coordinates, velocities, sizes["m"], max(sizes["rad"], 2 * sizes["1"]), until, by)
