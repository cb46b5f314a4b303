"""Many simulations of one system together: several in the lanes of a vector, groups of lanes on all cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.activity import activity
from momentree.assembly.batch_assembly import States
from momentree.assembly.batch_closing import BatchOfRows
from momentree.assembly.closure_check import row_scales
from momentree.assembly.samples import Samples, in_batches
from momentree.assembly.state import State
from momentree.compile.execute import threads as cores
from momentree.compile.execute.arrays import coordinate_array, coordinates, scalars
from momentree.compile.execute.kernel import compiled_once
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.right_hand_sides import closing_kernel, holding_kernel, momentum_kernel, velocity_kernel
from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError
from momentree.integrate.dense_output import sampled
from momentree.integrate.records import Status
from momentree.integrate.stepper import Array, Stepper
from momentree.integrate.steppers import error_floor, new_stepper
from momentree.simulate.inputs import split_inputs
from momentree.simulate.phase import closed_states
from momentree.simulate.settings import Settings
from momentree.simulate.stall_detection import StallDetector
from momentree.simulate.start_checks import check_closed, check_states, check_time
from momentree.simulate.step_plan import RECORDS, StepPlan

if TYPE_CHECKING:
    from momentree.system import System

SURE = 1e-10  # scaled: closure errors, and velocities of constraints, up to which a start is surely closed


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions that were computed together.

    | field  | shape    | meaning                                                                       |
    |--------|----------|-------------------------------------------------------------------------------|
    | t      | k        | times of the samples (s)                                                      |
    | q, v   | m, k, n  | coordinates and velocities of each; NaN after the time at which it failed     |
    | failed | m        | when each motion failed (s); infinite where it did not                        |
    """

    system: Any = field(repr=False)
    t: Array
    q: Array
    v: Array
    failed: Array

    def __len__(self) -> int:
        return len(self.q)


def simulate_many(
    system: System,
    q: Any,
    v: Any,
    settings: Settings,
    parameters: Mapping[str, Any] | None = None,
    t_start: float | None = None,
    threads: int | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Motions:
    """Motions from many starts, q (m, nq) and v (m, nv), or with many values of free parameters (m,), or both.

    States may stand in for q and v: those of `assemble_many`, or a list. Each start must close with its own parameters.
    Lanes share their steps. Where one fails, those of its group are computed again, each alone.
    """
    if system.mechanism.latches:
        raise MomentreeError("many motions cannot be computed together where joints have latches. Simulate one by one.")
    if system.mechanism.switches:
        message = "many motions cannot be computed together where joints are released or constraints are switched"
        raise MomentreeError(f"{message}. Simulate one by one.")
    starts = _Starts.of(system, q, v, with_inputs(system, parameters, inputs), t_start)
    check_time(starts.t)
    settings.check(starts.t)
    if FORMULATIONS[settings.formulation].maximal:
        message = f"many motions cannot be computed together in formulation '{settings.formulation}'"
        raise MomentreeError(f"{message}. Choose 'hamiltonian' or 'lagrange', or simulate one by one.")
    if settings.verify:
        raise MomentreeError("many motions are not verified together. Simulate one by one, or with a smaller rtol.")
    if settings.every is None:
        raise MomentreeError("many motions are sampled at the same times. Give every=, in seconds.")
    y, parameter_rows = _initial_states(system, starts, settings)
    batch = _Batch(system, settings, starts.t)
    width = settings.method.lanes(Target.host().lanes(0)) if len(y) > 1 else 1
    stepper = batch.stepper(width)
    groups = [range(begin, min(begin + width, len(y))) for begin in range(0, len(y), width)]

    def compute(group: Sequence[int]) -> tuple[Array, Array]:
        lanes = [*group, *[group[-1]] * (width - len(group))]  # the last one fills the lanes that remain
        constants = parameter_rows[lanes].T if parameter_rows.size else None
        states, failed = batch.integrated(stepper, y[lanes].T, constants)
        if failed == np.inf or len(group) == 1:
            return states[:, :, : len(group)], np.full(len(group), failed)
        alone = [compute([lane]) for lane in group]
        return np.concatenate([part for part, _ in alone], axis=2), np.concatenate([t for _, t in alone])

    computed = []
    with (
        activity(f"simulating {len(y)} motions of", system.name) as phase,
        ThreadPoolExecutor(max(1, min(cores.available(threads), len(groups)))) as pool,
    ):
        for group, result in zip(groups, pool.map(compute, groups), strict=True):
            computed.append(result)
            phase.tell(f"{group.stop} done", group.stop / len(y))
    return batch.motions(computed, parameter_rows)


def with_inputs(
    system: System, parameters: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Parameters, and inputs, which must be constant in each motion."""
    for name, given in (inputs or {}).items():
        numbers = not isinstance(given, tuple) and np.ndim(given) <= 1 and np.asarray(given).dtype.kind in "iuf"
        split_inputs(system, {name: 0.0 if numbers else given})  # whether it is an input
        if not numbers:
            message = f"input '{name}': many motions are computed together with constant inputs only"
            raise MomentreeError(f"{message}. Give a number, or an array with one for each motion; or simulate singly.")
        if name in (parameters or {}):
            raise MomentreeError(f"input '{name}': is given in parameters= too. Give it once.")
    return {**(parameters or {}), **inputs} if inputs else parameters


class _Starts(NamedTuple):
    """Where motions begin: coordinates, velocities, values of free parameters, and a time."""

    q: Any
    v: Any
    parameters: Mapping[str, Any]
    t: float

    @classmethod
    def of(cls, system: System, q: Any, v: Any, parameters: Mapping[str, Any] | None, t: float | None) -> _Starts:
        """As arrays, or by states, which know their parameters and their time."""
        if isinstance(q, States):
            own: Mapping[str, Any] = q.parameters
            _refuse_open(q)
            return cls(q.q, q.v if v is None else v, own if parameters is None else parameters, q.t if t is None else t)
        if not _is_states(q):
            if v is None:
                raise MomentreeError("simulate_many: give v, m x nv, too; or states instead of q.")
            return cls(q, v, parameters or {}, 0.0 if t is None else t)
        other = [i for i, state in enumerate(q) if state.mechanism.coordinates != system.mechanism.coordinates]
        if other:
            message = f"state {other[0]} belongs to another system"
            raise MomentreeError(f"simulate_many: {message}. Make it by assemble(...) of this one.")
        times = sorted({float(state.t) for state in q})
        if t is None and len(times) > 1:
            message = f"the states are of different times, {times[0]:g} to {times[-1]:g} s"
            raise MomentreeError(f"simulate_many: {message}. Motions begin together: give t=, or states of one time.")
        own = {name: np.array([state.parameters.get(name, x) for state in q]) for name, x in system.parameters.items()}
        at, velocities = np.array([state.q for state in q]), np.array([state.v for state in q])
        return cls(
            at, velocities if v is None else v, own if parameters is None else parameters, times[0] if t is None else t
        )


def _is_states(q: Any) -> bool:
    return isinstance(q, Sequence) and len(q) > 0 and all(isinstance(one, State) for one in q)


def _refuse_open(states: States) -> None:
    missing = [i for i, reason in enumerate(states.reasons) if reason]
    if missing:
        message = f"{len(missing)} states do not close, the first is {missing[0]}: {states.reasons[missing[0]]}"
        raise MomentreeError(f"simulate_many: {message} Leave them out.")


def _initial_states(system: System, begun: _Starts, settings: Settings) -> tuple[Array, Array]:
    """States (m, nq + nv) and parameters (m, count), each start with its own."""
    m = system.mechanism
    at, velocities = coordinate_array(begun.q, m.nq, "q"), coordinate_array(begun.v, m.nv, "v")
    coordinates(m, at)
    scalars(velocities, m.nv, "v")
    rows = system._free.rows(begun.parameters)
    try:
        (count,) = np.broadcast_shapes(at.shape[:-1], velocities.shape[:-1], rows.shape[:-1], (1,))
    except ValueError:
        arrays = {"q": at, "v": velocities, **{name: np.asarray(x) for name, x in begun.parameters.items()}}
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        message = f"starts and parameters do not fit together: {shapes}."
        raise MomentreeError(f"{message} Give one or as many of each.") from None
    starts = np.empty((count, m.nq + m.nv))
    starts[:, : m.nq], starts[:, m.nq :] = at, velocities
    parameters = np.ascontiguousarray(np.broadcast_to(rows, (count, len(m.free))))
    _check_starts(system, starts[:, : m.nq], starts[:, m.nq :], parameters, begun.t)
    if FORMULATIONS[settings.formulation].momenta and count:
        kernel = compiled_once(system, "momenta", lambda: momentum_kernel(m, system.code))
        constants = [parameters] if m.free else []
        starts[:, m.nq :] = kernel([starts.copy(), np.array([begun.t]), *constants])
    return starts, parameters


def _check_starts(system: System, q: Array, v: Array, parameters: Array, t: float) -> None:
    """Each start must be within limits and close all loops with its own parameters, or it is refused by its index."""
    doubtful = [np.zeros(0, dtype=bool)]
    for part in in_batches(len(q)):
        names, batch = system._free.names_of(parameters[part]), BatchOfRows(system, parameters[part], t)
        at = Samples(batch.batched, q[part], v[part], np.full(len(q[part]), t), names)
        doubtful.append(_doubtful(at, batch))
    for k in np.flatnonzero(np.concatenate(doubtful)).tolist():
        own = dict(zip(system.mechanism.free, parameters[k].tolist(), strict=True))
        numeric = system.with_parameters(own)._numeric
        try:
            check_states(numeric, q[k], v[k])
            check_closed(numeric, q[k][None], v[k][None], np.array([t]))
        except MomentreeError as error:
            raise MomentreeError(f"motion {k}: {error}" if len(q) > 1 else str(error)) from None


def _doubtful(at: Samples, batch: BatchOfRows) -> Array:
    """Which samples are not surely closed and within limits: these are looked at one by one."""
    speed = np.maximum(1.0, np.abs(at.v.T / batch.columns).max(axis=1, initial=0.0))[:, None]
    by_position = row_scales(at, batch.constraint_scales, batch.columns)
    by_velocity = row_scales(at, batch.velocity_scales, batch.columns, on_velocities=True)
    sure = (np.abs(at.closure_errors() / by_position) <= SURE).all(axis=1)
    sure &= (np.abs(at.constraint_velocities() / by_velocity) <= SURE * speed).all(axis=1)
    for name, body_or_loop in at.mechanism.by_joint.items():
        assert body_or_loop.joint is not None  # by_joint holds only loops that a joint closes
        limits = body_or_loop.joint.type.limits or ()
        for column, (low, high) in zip(at.coordinates_of(name).T if limits else (), limits, strict=False):
            sure &= (low <= column) & (column <= high)
    return np.asarray(~sure)


class _Batch:
    """The motions of one call: how they are integrated and sampled."""

    def __init__(self, system: System, settings: Settings, t_start: float):
        self.system, self.settings, self.t_start = system, settings, t_start
        self.plan = StepPlan(settings, t_start)
        self.t = self.plan.sample_times()

    def stepper(self, width: int) -> Stepper:
        """What takes the steps of so many motions at a time."""
        settings, formulation = self.settings, FORMULATIONS[self.settings.formulation]
        system, dense, name = self.system, self.plan.interpolated, settings.integrator

        def make() -> Stepper:
            closing = settings.constraint_gains, settings.projects
            return new_stepper(system.mechanism, formulation, name, system.code, False, width, dense, *closing)

        what = f"{name} {settings.formulation} {dense} {settings.closing}, {width} at a time, no work"
        made: Stepper = compiled_once(system, what, make)
        return made

    def integrated(self, stepper: Stepper, y: Array, parameters: Array | None) -> tuple[Array, float]:
        """The samples (k, n, W) of one group, and the time at which it failed."""
        settings, plan, n = self.settings, self.plan, len(y)
        each = plan.steps_between_records(dense=False)
        integration = stepper.start(y, self.t_start, plan.first, *settings.tolerances, parameters)
        samples = np.full((len(self.t), n, stepper.width), np.nan)
        samples[0], done = y, 1
        stall = StallDetector(self.t_start)
        while True:
            y_before = integration.state
            status, records = integration.advance(settings.t_end, RECORDS, each, plan.longest)
            states = sampled(integration, records, self.t[done:], y_before, error_floor(self.system.mechanism)[1])
            samples[done : done + len(states)] = states
            done += len(states)
            t, tried = integration.t, (int(integration.counts[0]), int(integration.counts[1]))
            stuck = not plan.fixed and status == Status.FULL and stall.checked(t, settings.t_end, *tried)[1]
            if stuck or status != Status.FULL:
                return samples, np.inf if status == Status.ARRIVED else max(t, float(self.t[done - 1]))

    def motions(self, computed: Sequence[tuple[Array, Array]], parameters: Array) -> Motions:
        """All groups together, momenta turned into velocities."""
        m = self.system.mechanism
        none = np.zeros((len(self.t), m.nq + m.nv, 0)), np.zeros(0)
        y = np.moveaxis(np.concatenate([states for states, _ in (none, *computed)], axis=2), 2, 0)
        failed = np.concatenate([t for _, t in (none, *computed)])
        y = self._closed(np.ascontiguousarray(y), parameters)
        q, v = np.ascontiguousarray(y[..., : m.nq]), np.ascontiguousarray(y[..., m.nq :])
        if FORMULATIONS[self.settings.formulation].momenta and m.nv:
            kernel = compiled_once(self.system, "velocities []", lambda: velocity_kernel(m, self.system.code))
            for i in range(len(y)):
                v[i] = kernel(self._arguments(y[i], parameters[i]))
        return Motions(self.system, self.t, q, v, failed)

    def _arguments(self, y: Array, parameters: Array) -> list[Array]:
        return [np.array(y), self.t[:, None].copy(), *([np.ascontiguousarray(parameters)] if parameters.size else [])]

    def _closed(self, y: Array, parameters: Array) -> Array:
        """All states with their loops closed, where these are projected: between steps they may have opened."""
        m = self.system.mechanism
        if not m.constrained or not self.settings.projects:
            return y
        close = compiled_once(self.system, "positions []", lambda: closing_kernel(m, self.system.code))
        quaternions = error_floor(m)[1]
        formulation, project = FORMULATIONS[self.settings.formulation], None
        if not formulation.momenta and m.nv:
            what = f"projected velocities {formulation.name} []"
            project = compiled_once(self.system, what, lambda: holding_kernel(m, formulation, self.system.code))
        arguments = [self._arguments(y[i], parameters[i]) for i in range(len(y))]
        states = [closed_states(close, project, x, y[i], m.nq, quaternions) for i, x in enumerate(arguments)]
        return np.array(states).reshape(y.shape)
