"""One chunk of a study: its motions assembled, simulated and measured together; of those that fail, why.

What a motion gives does not depend on the chunk that it is in. Where a batch is refused because of one of its motions,
halves of it are tried, down to the one at fault, so that the others are unharmed.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.activity import showing
from momentree.analyse.studies.designs import Array
from momentree.analyse.studies.output_expressions import Output
from momentree.analyse.studies.sample_columns import motion_columns, run_columns
from momentree.assembly.batch_assembly import jumped
from momentree.assembly.state import State
from momentree.compile.execute.gpu_driver import GpuError
from momentree.errors import AssemblyWarning, MomentreeError, RunWarning, listed, warn
from momentree.results.run import Run

if TYPE_CHECKING:
    from momentree.analyse.studies.description import StudyDescription
    from momentree.assembly.state import States
    from momentree.simulate.many import Motions

LISTED = 6  # motions that a warning names
LONGEST = 1000  # letters of a reason that are kept


@dataclass(frozen=True, eq=False)
class ChunkResults:
    """What is kept of some motions: by output m numbers, or m x k; why each failed, "" where it did not."""

    values: dict[str, Array]
    reasons: list[str]

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(map(bool, self.reasons))

    @classmethod
    def empty(cls, study: StudyDescription, reasons: Sequence[str]) -> ChunkResults:
        """Results of motions of which there are none."""
        shapes = {one.name: (len(reasons), *([len(study.t)] * one.over_time)) for one in study.outputs}
        return cls({name: np.full(shape, np.nan) for name, shape in shapes.items()}, list(reasons))

    def put(self, where: Any, other: ChunkResults) -> None:
        """Replace some of them."""
        for name, values in other.values.items():
            self.values[name][where] = values
        for i, reason in zip(np.arange(len(self.reasons))[where].tolist(), other.reasons, strict=True):
            self.reasons[i] = reason


def computed_chunk(
    study: StudyDescription, begin: int, end: int, threads: int | None = None, device: str = "cpu"
) -> ChunkResults:
    """The results of the motions begin to end - 1."""
    with showing(False), warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)  # what is wrong with a motion is in its reason
        _warn_of_jumps(study, begin, end)
        found = _computed(study, study.design.rows(begin, end), threads, device)
    for i in np.flatnonzero([bool(reason) for reason in found.reasons]).tolist():
        found.reasons[i] = found.reasons[i][:LONGEST]
        for values in found.values.values():
            values[i] = np.nan
    return found


def _computed(study: StudyDescription, rows: Array, threads: int | None, device: str) -> ChunkResults:
    """All together; where they are refused, halves of them."""
    found = ChunkResults.empty(study, [""] * len(rows))
    try:
        states = _assembled(study, rows)
        found.reasons[:] = states.reasons
        closed = np.flatnonzero([not reason for reason in states.reasons])
        if len(closed):
            compute = _measured_together if study.together else _measured_one_by_one
            found.put(closed, compute(study, states, closed, threads, device))
    except GpuError:  # none of its motions is to blame
        raise
    except MomentreeError as error:
        if len(rows) == 1:
            return ChunkResults.empty(study, [str(error) or type(error).__name__])
        for half in (slice(0, len(rows) // 2), slice(len(rows) // 2, len(rows))):
            found.put(half, _computed(study, rows[half], threads, device))
    return found


def _assembled(study: StudyDescription, rows: Array, follow: bool = False) -> States:
    given = {**study.start.coordinates, **study.named("coordinate", rows)}
    velocities = {**study.start.velocities, **study.named("velocity", rows)}
    parameters = study.named("parameter", rows) or {name: np.full(len(rows), x) for name, x in _one(study).items()}
    if not parameters and not study.named("coordinate", rows):  # nothing has the length of the batch
        velocities = {name: np.broadcast_to(x, (len(rows),)) for name, x in velocities.items()}
    guess = study.start.guess or None
    return study.system.assemble_many(
        given, velocities, guess, study.t_start, parameters=parameters, strict=False, follow=follow
    )


def _warn_of_jumps(study: StudyDescription, begin: int, end: int) -> None:
    """Say which motions of a grid start on another branch than their neighbours: each is assembled by itself."""
    if not study.design.is_grid or {*study.kinds} == {"velocity"} or not study.system.mechanism.constrained:
        return
    first = max(begin - 1, 0)
    rows = study.design.rows(first, end)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssemblyWarning)
        try:
            jumps = jumped(study.system, _assembled(study, rows), _assembled(study, rows, follow=True)) + first
        except MomentreeError:  # of one of its motions, which says so
            return
    if len(jumps):
        some = listed(list(map(str, jumps)), LISTED)
        which = f"motions {some} start" if len(jumps) > 1 else f"motion {some} starts"
        message = f"study: {which} on another branch than the motion before"
        warn(AssemblyWarning(f"{message}. Give guess=, or a start of the model, on the branch that is meant."))


def _one(study: StudyDescription) -> dict[str, float]:
    """A free parameter at its own value, so that a batch has its length; none if there is none."""
    return dict(list(study.system.parameters.items())[:1])


# --- together --------------------------------------------------------------------------------------------------------


def _measured_together(
    study: StudyDescription, states: States, closed: Any, threads: int | None, device: str
) -> ChunkResults:
    parameters = {name: values[closed] for name, values in states.given.items() if np.ndim(values)}
    settings = dataclasses.asdict(study.settings)
    t_end = settings.pop("t_end")
    motions = study.system.simulate_many(
        states.q[closed], states.v[closed], t_end, parameters, study.t_start, threads, device=device, **settings
    )
    found = ChunkResults.empty(study, _failures(motions))
    expressions = [output for output in study.outputs if output.expression is not None]
    table = motion_columns(motions, {one: of for output in expressions for one, of in output.columns.items()})
    for output in expressions:
        found.values[output.name][:] = output.value(motions.t, table, len(closed))
    functions = [output for output in study.outputs if output.expression is None]
    for i in range(len(closed)) if functions else ():
        if not found.reasons[i]:
            _measure_by_functions(functions, motions.run(i), found, i)
    return found


def _failures(motions: Motions) -> list[str]:
    """Why each motion failed, "" where it did not."""
    failed = motions.failed.tolist()
    return [
        "" if np.isinf(t) else f"the integration failed at t = {t:.6g} s: {why}"
        for t, why in zip(failed, motions.reasons, strict=True)
    ]


def _measure_by_functions(functions: Sequence[Output], run: Run, found: ChunkResults, i: int) -> None:
    for output in functions:
        try:
            found.values[output.name][i] = output.of_run(run)
        except Exception as error:  # a user's function may raise anything
            found.reasons[i] = f"output '{output.name}': {type(error).__name__}: {error}"


# --- one by one ------------------------------------------------------------------------------------------------------


def _measured_one_by_one(
    study: StudyDescription, states: States, closed: Any, threads: int | None, device: str
) -> ChunkResults:
    found = ChunkResults.empty(study, [""] * len(closed))
    for i, k in enumerate(closed.tolist()):
        try:
            run = run_from(study, states[k])
            found.put(slice(i, i + 1), _measured_run(study, run))
        except MomentreeError as error:
            found.reasons[i] = str(error)
    return found


def run_from(study: StudyDescription, state: State) -> Run:
    """The run of one motion, as `System.simulate` computes it, with the values that its start carries."""
    settings = dataclasses.asdict(study.settings)
    own = state.given.parameters  # rows vary what the system may have its own values of
    run = study.system.simulate(state, events=study.events, parameters=own, progress=False, **settings)
    if run.end.reason == "interrupted":
        raise KeyboardInterrupt
    return run


def _measured_run(study: StudyDescription, run: Run) -> ChunkResults:
    found = ChunkResults.empty(study, [""])
    if run.end.reason == "failed":
        return ChunkResults.empty(study, [f"the integration failed at t = {run.end.t:.6g} s: {run.end.message}"])
    expressions = [output for output in study.outputs if output.expression is not None]
    columns = run_columns(run, {one: of for output in expressions for one, of in output.columns.items()})
    for output in expressions:
        values = output.value(run.t, columns, 1)
        found.values[output.name][:] = _at_times(study.t, run.t, values[0])[None] if output.over_time else values
    _measure_by_functions([output for output in study.outputs if output.expression is None], run, found, 0)
    return found


def _at_times(t: Array, own: Array, values: Array) -> Array:
    """The samples at common times: a run has more where events came, and none after one that ended it."""
    last = np.searchsorted(own, t, side="right") - 1
    there = (last >= 0) & (np.abs(own[np.maximum(last, 0)] - t) <= 1e-9 * max(1.0, float(t[-1])))
    return np.where(there, values[np.maximum(last, 0)], np.nan)
