"""Comparison: one motion by every formulation and stabilization; closure errors, energy balance, and cost of each."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.activity import activity, showing
from momentree.assembly.given_values import bound
from momentree.assembly.state import State
from momentree.equations.formulations import FORMULATIONS, Formulation
from momentree.errors import MomentreeError, RunWarning, renamed, spell_checked
from momentree.integrate.methods import DEFAULT
from momentree.results.recorder import ProgressCallback, record
from momentree.results.run import Run
from momentree.simulate.inputs import SampledFunction, given_to_run
from momentree.simulate.simulation import new_simulation
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System

WARM = 1e-3  # of the duration: a run that makes the code, before the one whose time is taken


@dataclass(frozen=True)
class MethodResult:
    """A motion by one method: a formulation and a stabilization. Unknown results of one that failed are NaN.

    | field            | unit       | meaning                                                                       |
    |------------------|------------|-------------------------------------------------------------------------------|
    | closure_error    | m          | the largest of a loop that is a length; in absolute coordinates, of any joint |
    | closure_angle    | rad        | the same of those that are angles                                             |
    | closure_velocity | m/s, rad/s | the largest velocity at which one opens                                       |
    | energy           | J          | the largest imbalance                                                         |
    | steps            |            | that were accepted                                                            |
    | evaluations      |            | of the equations of motion                                                    |
    | cpu              | s          | of the simulation, making machine code not counted                            |
    | difference       | m, rad     | of the last coordinates from those of the first method that arrived           |
    | failed           |            | why it did not arrive; "" if it did                                           |
    """

    formulation: str
    stabilization: str
    closure_error: float = math.nan
    closure_angle: float = math.nan
    closure_velocity: float = math.nan
    energy: float = math.nan
    steps: int = 0
    evaluations: int = 0
    cpu: float = math.nan
    difference: float = math.nan
    failed: str = ""


@dataclass(frozen=True)
class Comparison:
    """One motion from `t_start` to `t_end` (s), a row for each method; prints as a table."""

    name: str
    t_start: float
    t_end: float
    integrator: str
    rtol: float
    rows: tuple[MethodResult, ...]

    def __str__(self) -> str:
        from momentree.look.comparison_table import comparison_table

        return comparison_table(self)


@spell_checked
@renamed(closure="stabilization")
def compare(
    system: System,
    start: State,
    t_end: float,
    integrator: str = DEFAULT,
    rtol: float = 1e-8,
    progress: ProgressCallback | bool | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Comparison:
    """Simulate by every formulation and every stabilization that fits it; `settings` are those of `system.simulate`.

    `parameters` are values of free parameters. A method that fails says why, and the others are computed all the same.

    >>> print(mt.compare(system, start, t_end=10.0))   # doctest: +SKIP
    """
    for name in ("formulation", "stabilization", "path"):
        if name in settings:
            raise MomentreeError(f"compare: {name} cannot be chosen here. Use system.simulate for one run.")
    if not isinstance(start, State):
        raise MomentreeError(f"compare: the start is a {type(start).__name__}. Create it with system.assemble(...).")
    system, given = given_to_run(system, start, parameters, settings.pop("inputs", None), "compare")
    for name, one in given.inputs.items():
        if isinstance(one, SampledFunction):
            message = f"input '{name}': a Python function may remember what it was called with"
            raise MomentreeError(f"compare: {message}, but each method needs the same input. Give a law or values.")
    start = bound(start, system, given)
    settings |= {"t_end": t_end, "integrator": integrator, "rtol": rtol}
    rows: list[MethodResult] = []
    first: Run | None = None
    methods = list(_methods(system.mechanism))
    with showing(progress), activity("comparing") as phase:
        for k, (formulation, stabilization) in enumerate(methods):
            phase.tell(f"{formulation}, {stabilization} ({k + 1} of {len(methods)})")
            method = {"formulation": formulation, "stabilization": stabilization}
            result, run = _result(system, start, {**settings, **method}, progress, first)
            rows.append(result)
            first = first or (None if result.failed else run)
    return Comparison(system.name, float(start.t), float(t_end), integrator, rtol, tuple(rows))


def _methods(mechanism: Mechanism) -> Iterator[tuple[str, str]]:
    """Every formulation with every stabilization that it knows; without constraints there is nothing to close."""
    for name, formulation in FORMULATIONS.items():
        stabilizations = formulation.stabilizations if _closes(mechanism, formulation) else ("none",)
        yield from ((name, stabilization) for stabilization in stabilizations)


def _closes(mechanism: Mechanism, formulation: Formulation) -> bool:
    return mechanism.constrained or formulation.maximal is not None


def _result(
    system: System, start: State, settings: dict[str, Any], progress: ProgressCallback | bool | None, first: Run | None
) -> tuple[MethodResult, Run | None]:
    method = settings["formulation"], settings["stabilization"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)  # the figures say it
        try:
            new_simulation(system, start, **settings)  # wrong settings are an error before anything is computed
            record(new_simulation(system, start, **{**settings, "t_end": _soon(start, settings)}), None, False)
            made = new_simulation(system, start, **settings)
            began = time.process_time()
            run = record(made, None, progress)
            cpu = time.process_time() - began
        except MomentreeError as error:
            return MethodResult(*method, failed=str(error)), None
    if run.end.reason == "interrupted":
        raise KeyboardInterrupt
    failed = "" if run.end.reason == "arrived" else run.end.message or run.end.reason
    length, angle, *velocities = (float(x) for x in np.maximum(run.openings.max(axis=0), made.opened))
    counts = run.statistics.accepted, run.statistics.evaluations
    difference = math.nan if failed else _difference(run, first or run)
    errors = length, angle, max(velocities), run.energy.error
    return MethodResult(*method, *errors, *counts, cpu, difference, failed), run


def _soon(start: State, settings: dict[str, Any]) -> float:
    """The end of the run that makes the code: a step at least where steps are fixed."""
    duration = float(settings["t_end"]) - float(start.t)
    return float(start.t) + min(duration, max(WARM * duration, float(settings.get("step") or 0.0)))


def _difference(run: Run, first: Run) -> float:
    """The largest difference of the last coordinates; between two orientations, the angle by components."""
    differences = [0.0]
    for body in first.mechanism.bodies:
        if not body.laws:
            at, other = (each.q[-1][body.q] for each in (first, run))
            differences += map(abs, body.joint.type.difference(at.tolist(), other.tolist()))
    return float(np.max(differences))
