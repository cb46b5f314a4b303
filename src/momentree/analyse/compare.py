"""The same motion by every formulation and closure, side by side: closure errors of loops, balance of energy, and the cost."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.equations.formulations import FORMULATIONS, Formulation
from momentree.errors import MomentreeError
from momentree.results.recorder import Progress, record
from momentree.results.run import Run, RunWarning
from momentree.simulate.simulation import simulation
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.system import System

STABILIZATIONS = ("project", "baumgarte", "leak", "none")  # in the order of the rows
WARM = 1e-3  # of the duration: a run that makes the code, before the one whose time is taken


@dataclass(frozen=True)
class Row:
    """A motion by one formulation and closure; what is not known of one that failed is NaN.

    | field       | unit       | meaning                                                                         |
    |-------------|------------|---------------------------------------------------------------------------------|
    | closure error, turn   | m, rad     | the largest closure error of a loop that is a length, and that is an angle; in absolute    |
    |             |            | coordinates, of any joint                                                       |
    | closure error_rate    | m/s, rad/s | the largest velocity at which one opens                                          |
    | energy      | J          | the largest imbalance                                                           |
    | steps       |            | that were accepted                                                              |
    | evaluations |            | of the equations of motion                                                      |
    | cpu         | s          | of the simulation, making machine code not counted                               |
    | difference  | m, rad     | of the last coordinates from those of the first row that arrived                 |
    | failed      |            | why it did not arrive; "" if it did                                             |
    """

    formulation: str
    stabilization: str
    closure_error: float = math.nan
    turn: float = math.nan
    closure_velocity: float = math.nan
    energy: float = math.nan
    steps: int = 0
    evaluations: int = 0
    cpu: float = math.nan
    difference: float = math.nan
    failed: str = ""


@dataclass(frozen=True)
class Comparison:
    """Rows of one motion from `t_start` to `t_end` (s); prints as a table."""

    name: str
    t_start: float
    t_end: float
    integrator: str
    rtol: float
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        from momentree.look.comparison_table import comparison_table

        return comparison_table(self)


def compare(
    system: System,
    start: State,
    t_end: float,
    integrator: str = "dop853",
    rtol: float = 1e-8,
    progress: Progress | bool | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Comparison:
    """Simulate by every formulation and every closure that fits it; `settings` are those of `system.simulate`.

    `parameters` are values of free parameters.

    A row that fails says why, and the others are computed all the same.

    >>> print(mt.compare(system, start, t_end=10.0))   # doctest: +SKIP
    """
    for name in ("formulation", "stabilization", "path"):
        if name in settings:
            raise MomentreeError(f"compare: {name} is not for you to choose here. Use system.simulate for one of them.")
    if parameters is None:
        system._refuse_other_parameters(start)
    system = system.with_parameters(parameters)
    settings |= {"t_end": t_end, "integrator": integrator, "rtol": rtol}
    rows: list[Row] = []
    first: Run | None = None
    for formulation, stabilization in _ways(system.mechanism):
        row, run = _row(
            system, start, {**settings, "formulation": formulation, "stabilization": stabilization}, progress, first
        )
        rows.append(row)
        first = first or (None if row.failed else run)
    return Comparison(system.name, float(start.t), float(t_end), integrator, rtol, tuple(rows))


def _ways(mechanism: Mechanism) -> Iterator[tuple[str, str]]:
    """Every formulation with every closure that it knows; where it has no loops, there is nothing to close."""
    for name, formulation in FORMULATIONS.items():
        known = STABILIZATIONS if _closes(mechanism, formulation) else ("none",)
        yield from ((name, stabilization) for stabilization in known if stabilization in formulation.holds)


def _closes(mechanism: Mechanism, formulation: Formulation) -> bool:
    return bool(mechanism.loops) or formulation.maximal is not None


def _row(
    system: System, start: State, settings: dict[str, Any], progress: Progress | bool | None, first: Run | None
) -> tuple[Row, Run | None]:
    way = settings["formulation"], settings["stabilization"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)  # the figures say it
        try:
            simulation(system, start, **settings)  # what is wrong with settings is told before anything is computed
            record(simulation(system, start, **{**settings, "t_end": _soon(start, settings)}), None, False)
            made = simulation(system, start, **settings)
            began = time.process_time()
            run = record(made, None, progress)
            cpu = time.process_time() - began
        except MomentreeError as error:
            return Row(*way, failed=str(error)), None
    if run.end.reason == "interrupted":
        raise KeyboardInterrupt
    failed = "" if run.end.reason == "arrived" else run.end.message or run.end.reason
    closure_error, turn, *velocities = (float(x) for x in np.maximum(run.openings.max(axis=0), made.opened))
    counts = run.statistics.accepted, run.statistics.evaluations
    difference = math.nan if failed else _difference(run, first or run)
    return Row(*way, closure_error, turn, max(velocities), run.energy.error, *counts, cpu, difference, failed), run


def _soon(start: State, settings: dict[str, Any]) -> float:
    """The end of the run that makes the code: a step at least where steps are fixed."""
    duration = float(settings["t_end"]) - float(start.t)
    return float(start.t) + min(duration, max(WARM * duration, float(settings.get("step") or 0.0)))


def _difference(run: Run, first: Run) -> float:
    """The largest difference of the last coordinates; between two orientations, the angle by components."""
    found = [0.0]
    for body in first.mechanism.bodies:
        if not body.laws:
            at, other = (each.q[-1][body.q] for each in (first, run))
            found += map(abs, body.joint.type.difference(at.tolist(), other.tolist()))
    return float(np.max(found))
