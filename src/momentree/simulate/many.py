"""Many simulations of one system together: whole motions in machine code, in the lanes of vectors, on all cores.

What a motion comes to does not depend on the others: its bits are the same alone, in any order, on any number of cores.
motions_batch.py computes them; here are the starts, which are checked, and the motions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from momentree.activity import activity
from momentree.assembly.given_values import carried_by_states
from momentree.assembly.named_values import numbers_of
from momentree.assembly.start_closures import doubtful_starts
from momentree.assembly.state import State, States
from momentree.compile.execute.arrays import coordinate_array, coordinates, scalars
from momentree.compile.execute.gpu_devices import chosen, is_gpu
from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError, spell_checked
from momentree.integrate.methods import default_integrator
from momentree.integrate.motions.job import End
from momentree.integrate.records import Status
from momentree.integrate.stepper import Array
from momentree.simulate.inputs import split_inputs
from momentree.simulate.many_on_gpu import computed_on_gpu
from momentree.simulate.motion_kinks import refuse_jumps
from momentree.simulate.motion_quantities import MotionQuantities
from momentree.simulate.motions_batch import Batch, Job
from momentree.simulate.settings import Settings, settings_of
from momentree.simulate.start_checks import check_closed, check_states, check_time, warn_of_stops
from momentree.structure.given import Given
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System

Counts = NDArray[np.int64]
Named = Mapping[str, Any] | None  # values by name


@spell_checked
@dataclass(frozen=True, eq=False)
class Motions(MotionQuantities):
    """Motions that were computed together: `motions["A"]`, `motions.reactions("A")`, `motions.run(0)`.

    | field       | shape    | meaning                                                                    |
    |-------------|----------|----------------------------------------------------------------------------|
    | t           | k        | times of the samples (s)                                                   |
    | q, v        | m, k, n  | coordinates and velocities of each; NaN after the time at which it failed  |
    | failed      | m        | when each motion failed (s); infinite where it did not                     |
    | reasons     | m        | why it failed; "" where it did not                                         |
    | steps       | m        | accepted steps of the integrator                                           |
    | rejected    | m        | steps that were tried again, smaller                                       |
    | evaluations | m        | of the right-hand side                                                     |
    | parameters  | m, count | values of the free parameters, in the order of the system's                |
    | settings    |          | with which they were computed                                              |
    | given       |          | names of the parameters that were given; others follow the model           |

    Quantities that follow from the samples are computed when they are asked for (motion_quantities.py).
    """

    system: Any = field(repr=False)
    t: Array
    q: Array
    v: Array
    failed: Array
    reasons: tuple[str, ...] = ()
    steps: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    rejected: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    evaluations: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    parameters: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    settings: Settings | None = field(default=None, repr=False)
    given: tuple[str, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.q)


def settings_of_many(system: System, settings: Mapping[str, Any], parameters: Mapping[str, Any]) -> Settings:
    """The settings by their names; the integrator and the end time are those of the model unless they are given."""
    said = system._model.start
    chosen = {"integrator": default_integrator(stiff=said is not None and said.stiff), **settings}
    if chosen["t_end"] is None:
        chosen["t_end"] = _common_end(system, parameters)
    if chosen["t_end"] is None:
        raise MomentreeError("simulate_many: the model has no end time. Give t_end= in seconds.")
    return settings_of(**chosen)


def _common_end(system: System, parameters: Mapping[str, Any]) -> float | None:
    """The end time of the model (s), which must be the same for all motions."""
    said = system._model.start
    if said is None or said.t_end is None:
        return None
    names = system._free.names_of(system._free.rows(parameters))
    times = np.unique(numbers_of(said.t_end, system.mechanism.values, "t_end", "start", names))
    if len(times) > 1:
        message = f"t_end of the model's start is {times[0]:g} to {times[-1]:g} s, but motions end together"
        raise MomentreeError(f"simulate_many: {message}. Give t_end= in seconds.")
    return float(times[0])


def simulate_many(
    system: System,
    q: Any,
    v: Any,
    chosen_settings: Mapping[str, Any],
    parameters: Named = None,
    t_start: float | None = None,
    threads: int | None = None,
    inputs: Named = None,
    device: str = "cpu",
) -> Motions:
    """Motions from many starts, q (m, nq) and v (m, nv), or with many values of free parameters (m,), or both.

    States may stand in for q and v: those of `assemble_many`, or a list. Each start must close with its own parameters.
    Each takes its own steps and fails alone: `failed` and `reasons` say when and why, the others are unharmed.
    On device="gpu" (many_on_gpu.py) the bits are the same.
    """
    gpu = chosen(device) if is_gpu(device) else None
    if system.mechanism.latches:
        raise MomentreeError("many motions cannot be computed together where joints have latches. Simulate one by one.")
    if system.mechanism.switches:
        message = "many motions cannot be computed together where joints are released or constraints are switched"
        raise MomentreeError(f"{message}. Simulate one by one.")
    starts = _Starts.of(system, q, v, constant_inputs(system, parameters, inputs), t_start)
    system = system.at(Given(tolerance=starts.given.tolerance))
    check_time(starts.t)
    settings = settings_of_many(system, chosen_settings, starts.given.parameters)
    settings.check(starts.t)
    if FORMULATIONS[settings.formulation].maximal:
        message = f"many motions cannot be computed together in formulation '{settings.formulation}'"
        raise MomentreeError(f"{message}. Choose 'hamiltonian' or 'lagrange', or simulate one by one.")
    if settings.verify:
        raise MomentreeError("many motions are not verified together. Simulate one by one, or with a smaller rtol.")
    if settings.if_stiff is not None:
        raise MomentreeError("many motions stay with their integrator. Give integrator= instead of if_stiff=.")
    if settings.every is None:
        raise MomentreeError("many motions are sampled at the same times. Give every=, in seconds.")
    refuse_jumps(system._numeric, starts.t, settings)
    rows, parameter_rows = _initial_states(system, starts)
    batch, given = Batch(system, settings, starts.t), tuple(starts.given.parameters)
    if gpu is not None:
        return motions_of(batch, computed_on_gpu(batch, rows, parameter_rows, gpu), given, views=True)
    job = batch.job(rows, parameter_rows)
    with activity(f"simulating {job.count} motions of", system.name) as phase:
        batch.compute(job, threads, tell=lambda done: phase.tell(f"{done} done", done / job.count))
    return motions_of(batch, job, given)


def motions_of(batch: Batch, job: Job, given: tuple[str, ...] = (), views: bool = False) -> Motions:
    """What was computed, motion by motion; q and v as `views` of the arrays of the job, or each as a whole."""
    nq, count = batch.system.mechanism.nq, job.count
    t, status, ends = job.ends[End.T], job.ends[End.STATUS].astype(int), job.ends
    failed = np.where(status == Status.ARRIVED, np.inf, t)
    parts = [part.transpose(2, 0, 1) for part in (job.values[:, :nq], job.values[:, nq:])]
    q, v = parts if views else map(np.ascontiguousarray, parts)
    steps, rejected, evaluations = (ends[end].astype(np.int64) for end in (End.ACCEPTED, End.REJECTED, End.EVALUATIONS))
    reasons = [""] * count
    for i in np.flatnonzero(status != Status.ARRIVED).tolist():
        reasons[i] = _reason(Status(status[i]), t[i], ends[End.H, i], batch.settings.method.adaptive)
    parameters = np.ascontiguousarray(job.parameters.T)
    counts = (steps, rejected, evaluations)
    about = (*counts, parameters, batch.settings, given)
    return Motions(batch.system, job.times, q, v, failed, tuple(reasons), *about)


def _reason(status: Status, t: float, h: float, adaptive: bool) -> str:
    """Why a motion failed, "" where it did not."""
    step = "any step" if adaptive else f"a step of {abs(h):g} s"
    short = "the step size that the tolerance asks for fell below the resolution of time"
    what = {
        Status.TOO_SHORT: short if adaptive else f"{step} is too long: its equations have no solution",
        Status.NOT_FINITE: "the derivatives are no longer finite numbers",
        Status.OPEN: f"loops cannot be closed after {step}",
        Status.STALLED: "it hardly advances: its steps are so short that it would not come to an end",
    }.get(status)
    return f"at t = {t:.9g} s {what}. Simulate this motion alone to see the cause." if what else ""


def constant_inputs(system: System, parameters: Named, inputs: Named) -> dict[str, Any]:
    """Parameters, and inputs, which must be constant in each motion."""
    if parameters is not None:
        system._free.arrays(parameters)  # what is wrong with one is said of it alone
    for name, given in (inputs or {}).items():
        numbers = not isinstance(given, tuple) and np.ndim(given) <= 1 and np.asarray(given).dtype.kind in "iuf"
        split_inputs(system, {name: 0.0 if numbers else given})  # whether it is an input
        if not numbers:
            _refuse_changing(name)
        if name in (parameters or {}):
            raise MomentreeError(f"input '{name}': is given in parameters= too. Give it once.")
    return {**({} if parameters is None else parameters), **(inputs or {})}


def _refuse_changing(name: str) -> NoReturn:
    message = f"input '{name}': many motions are computed together with constant inputs only"
    raise MomentreeError(f"{message}. Give a number, or an array with one for each motion; or simulate singly.")


class _Starts(NamedTuple):
    """Where motions begin: coordinates, velocities, and what is given to each."""

    q: Any
    v: Any
    given: Given

    @classmethod
    def of(cls, system: System, q: Any, v: Any, parameters: Mapping[str, Any], t: float | None) -> _Starts:
        """As arrays, or by states, which carry what they were given and their time."""
        arguments = Given(parameters, t=t)
        if not isinstance(q, States) and not _is_states(q):
            if v is None:
                raise MomentreeError("simulate_many: give v, m x nv, too; or states instead of q.")
            return cls(q, v, arguments)
        carried = carried_by_states(system, q, {*parameters}, t)
        for name in (name for name in carried.inputs if name not in parameters):
            _refuse_changing(name)
        if isinstance(q, States):
            _refuse_open(q)
            at, velocities = q.q, q.v
        else:
            at, velocities = np.array([state.q for state in q]), np.array([state.v for state in q])
        return cls(at, velocities if v is None else v, carried.under(arguments))

    @property
    def t(self) -> float:
        """When all begin (s)."""
        return 0.0 if self.given.t is None else self.given.t


def _is_states(q: Any) -> bool:
    return isinstance(q, Sequence) and len(q) > 0 and all(isinstance(one, State) for one in q)


def _refuse_open(states: States) -> None:
    missing = [i for i, reason in enumerate(states.reasons) if reason]
    if missing:
        message = f"{len(missing)} states do not close, the first is {missing[0]}: {states.reasons[missing[0]]}"
        raise MomentreeError(f"simulate_many: {message} Leave them out.")


def _initial_states(system: System, begun: _Starts) -> tuple[Array, Array]:
    """Coordinates with velocities (m, nq + nv) and parameters (m, count), each start with its own."""
    m = system.mechanism
    at, velocities = coordinate_array(begun.q, m.nq, "q"), coordinate_array(begun.v, m.nv, "v")
    coordinates(m, at)
    scalars(velocities, m.nv, "v")
    rows = system._free.rows(begun.given.parameters)
    try:
        (count,) = np.broadcast_shapes(at.shape[:-1], velocities.shape[:-1], rows.shape[:-1], (1,))
    except ValueError:
        arrays = {"q": at, "v": velocities, **{name: np.asarray(x) for name, x in begun.given.parameters.items()}}
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        message = f"starts and parameters do not fit together: {shapes}."
        raise MomentreeError(f"{message} Give one or as many of each.") from None
    starts = np.empty((count, m.nq + m.nv))
    starts[:, : m.nq], starts[:, m.nq :] = at, velocities
    parameters = np.ascontiguousarray(np.broadcast_to(rows, (count, len(m.free))))
    _check_starts(system, starts[:, : m.nq], starts[:, m.nq :], parameters, begun.t)
    return starts, parameters


def _check_starts(system: System, q: Array, v: Array, parameters: Array, t: float) -> None:
    """Each start must close all loops with its own parameters, or it is refused by its index; it may begin in stops."""

    def own(k: int) -> Mechanism:
        return system.with_parameters(dict(zip(system.mechanism.free, parameters[k].tolist(), strict=True)))._numeric

    doubts = doubtful_starts(system, q, v, parameters, t)
    for k in np.flatnonzero(doubts.open).tolist():
        try:
            check_states(own(k), q[k], v[k])
            check_closed(own(k), q[k][None], v[k][None], np.array([t]))
        except MomentreeError as error:
            raise MomentreeError(f"motion {k}: {error}" if len(q) > 1 else str(error)) from None
    outside = np.flatnonzero(doubts.outside).tolist()
    for k in outside[:1]:
        others = f", and {len(outside) - 1} other motions" if len(outside) > 1 else ""
        warn_of_stops(own(k), State(own(k), q[k], v[k], t), f" (motion {k}{others})" if len(q) > 1 else "")
