"""An estimate of the global error of a run: what a second, more accurate simulation finds at the same times.

| integrator    | the second simulation                                                      | its cost, by the first |
|---------------|----------------------------------------------------------------------------|------------------------|
| adaptive      | rtol a hundredth, but not below 1e-14; where that is not even half of it,   | 1.8 of dop853,         |
|               | another formulation at 1e-14                                               | 2.5 of the others      |
| of fixed step | half the step; the difference is extrapolated by the order                 | 2                      |
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.assembly.configuration import Array
from momentree.equations.formulations import FORMULATIONS
from momentree.simulate.blocks import Block
from momentree.simulate.simulation import Simulation

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.simulate.settings import Settings

TIGHTER, TIGHTEST = 0.01, 1e-14


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


def error_of(simulation: Simulation, run: Run) -> ErrorEstimate:
    """The estimate for a run of this simulation, from its start to its last sample."""
    settings, by, share = finer(simulation._settings)
    twice = np.flatnonzero(run.t[1:] == run.t[:-1])  # at an impact, before and after it: other times in the other run
    chosen = np.setdiff1d(np.arange(len(run.t)), np.concatenate([twice, twice + 1]))
    found = _sampled(simulation, settings, run.t[chosen])
    asked = np.flatnonzero(np.isin(found.t, run.t[chosen]))  # the other run has samples at its own impacts too
    count = min(len(asked), len(chosen))
    pairs = ((found.q, run.q), (found.v, run.v))
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


def finer(settings: Settings) -> tuple[Settings, str, float]:
    """Settings of the second simulation, what differs in words, and the error over the difference."""
    if not settings.method.adaptive:
        h = float(settings.step or 1) / 2
        rest = 1 - 2.0**-settings.method.order
        return dataclasses.replace(settings, step=h, verify=False), f"step {h:g} s instead of {2 * h:g}", 1 / rest
    rtol = max(TIGHTER * settings.rtol, TIGHTEST)
    atol = None if settings.atol is None else settings.atol * rtol / settings.rtol
    by, formulation = f"rtol {rtol:g} instead of {settings.rtol:g}", settings.formulation
    stabilization = settings.stabilization
    if rtol > settings.rtol / 2:
        formulation = "lagrange" if formulation == "hamiltonian" else "hamiltonian"
        stabilization = stabilization if stabilization in FORMULATIONS[formulation].holds else "project"
        by = f"formulation {formulation} instead of {settings.formulation}, rtol {rtol:g}"
    more: dict[str, Any] = {
        "rtol": rtol,
        "atol": atol,
        "formulation": formulation,
        "stabilization": stabilization,
        "verify": False,
    }
    return dataclasses.replace(settings, **more), by, 1.0


def _sampled(simulation: Simulation, settings: Settings, times: Array) -> Block:
    """The samples of another simulation from the same start at these times, as far as it comes."""
    system = simulation.system
    if len(times) < 2:
        return Block.joined([], system.nq, system.nv, 0)
    settings = dataclasses.replace(settings, t_end=float(times[-1]))
    other = type(simulation)(system, simulation.start, settings, {}, times)
    blocks = list(iter(other.advance, None))
    return Block.joined(blocks, system.nq, system.nv, len(other.work_terms))
