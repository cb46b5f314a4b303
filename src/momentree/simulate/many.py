"""Many motions of one system together: several in the lanes of a vector, groups of lanes on all cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from momentree.assembly.batch_assembly import States
from momentree.assembly.batch_closing import BatchOfRows
from momentree.assembly.samples import Samples, in_batches
from momentree.assembly.state import State
from momentree.compile.execute import threads as cores
from momentree.compile.execute.arrays import coordinate_array, coordinates, scalars
from momentree.compile.execute.kernel import kept
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.right_hand_sides import closing_kernel, holding_kernel, momentum_kernel, velocity_kernel
from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError
from momentree.integrate.dense_output import sampled
from momentree.integrate.explicit import Status
from momentree.integrate.methods import ALONE, FIXED, AnyStepper, error_floor, new_stepper
from momentree.integrate.stepper import Array
from momentree.simulate.phase import closed_states
from momentree.simulate.settings import Settings, is_number
from momentree.simulate.simulation import FIRST, ROOM, check_closed, check_states, refuse_constraints, sample_times
from momentree.simulate.step_sizes import Progress

if TYPE_CHECKING:
    from momentree.system import System

SURE = 1e-10  # scaled: closure errors, and velocities of constraints, up to which a start is surely closed


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions that were computed together.

    | field  | shape    | meaning                                                                       |
    |--------|----------|-------------------------------------------------------------------------------|
    | t      | k        | times of the samples (s)                                                      |
    | q, v   | m, k, n  | coordinates and velocities of each motion; NaN after the time at which it failed    |
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
) -> Motions:
    """Motions from many starts, q (m, nq) and v (m, nv), or with many values of free parameters (m,), or both.

    States may stand in for q and v: those of `assemble_many`, or a list. Each start must close with its own parameters.
    Lanes share their steps. Where one fails, those of its group are computed again, each alone.
    """
    refuse_constraints(system.mechanism)
    if system.mechanism.latches:
        raise MomentreeError("many motions cannot be computed together where joints have latches. Simulate one by one.")
    starts = _Given.of(system, q, v, parameters, t_start)
    if not is_number(starts.t):
        raise MomentreeError(f"the start has t = {starts.t}; give a finite time.")
    settings.check(starts.t)
    if FORMULATIONS[settings.formulation].maximal:
        told = f"many motions cannot be computed together in formulation '{settings.formulation}'"
        raise MomentreeError(f"{told}. Choose 'hamiltonian' or 'lagrange', or simulate one by one.")
    if settings.verify:
        raise MomentreeError("many motions are not verified together. Simulate one by one, or with a smaller rtol.")
    if settings.every is None:
        raise MomentreeError("many motions are sampled at the same times. Give every=, in seconds.")
    y, given = _starts(system, starts, settings)
    plan = _Plan(system, settings, starts.t)
    width = Target.host().lanes(0) if len(y) > 1 and settings.integrator not in ALONE else 1
    stepper = plan.stepper(width)
    groups = [range(begin, min(begin + width, len(y))) for begin in range(0, len(y), width)]

    def compute(group: Sequence[int]) -> tuple[Array, Array]:
        lanes = [*group, *[group[-1]] * (width - len(group))]  # the last one fills the lanes that are left
        states, failed = plan.integrated(stepper, y[lanes].T, given[lanes].T if given.size else None)
        if failed == np.inf or len(group) == 1:
            return states[:, :, : len(group)], np.full(len(group), failed)
        alone = [compute([lane]) for lane in group]
        return np.concatenate([part for part, _ in alone], axis=2), np.concatenate([t for _, t in alone])

    with ThreadPoolExecutor(max(1, min(cores.available(threads), len(groups)))) as pool:
        found = list(pool.map(compute, groups))
    return plan.motions(found, given)


class _Given(NamedTuple):
    """What starts are given by: coordinates, velocities, values of free parameters, and a time."""

    q: Any
    v: Any
    parameters: Mapping[str, Any]
    t: float

    @classmethod
    def of(cls, system: System, q: Any, v: Any, parameters: Mapping[str, Any] | None, t: float | None) -> _Given:
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
            message = f"state {other[0]} is one of another system"
            raise MomentreeError(f"simulate_many: {message}. Make it by assemble(...) of this one.")
        times = sorted({float(state.t) for state in q})
        if t is None and len(times) > 1:
            told = f"the states are of different times, {times[0]:g} to {times[-1]:g} s"
            raise MomentreeError(f"simulate_many: {told}. Motions begin together: give t=, or states of one time.")
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


def _starts(system: System, given: _Given, settings: Settings) -> tuple[Array, Array]:
    """States (m, nq + nv) and parameters (m, count), each start with its own."""
    m = system.mechanism
    at, velocities = coordinate_array(given.q, m.nq, "q"), coordinate_array(given.v, m.nv, "v")
    coordinates(m, at)
    scalars(velocities, m.nv, "v")
    rows = system._free.rows(given.parameters)
    try:
        (count,) = np.broadcast_shapes(at.shape[:-1], velocities.shape[:-1], rows.shape[:-1], (1,))
    except ValueError:
        arrays = {"q": at, "v": velocities, **{name: np.asarray(x) for name, x in given.parameters.items()}}
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        message = f"starts and parameters do not fit together: {shapes}."
        raise MomentreeError(f"{message} Give one or as many of each.") from None
    starts = np.empty((count, m.nq + m.nv))
    starts[:, : m.nq], starts[:, m.nq :] = at, velocities
    parameters = np.ascontiguousarray(np.broadcast_to(rows, (count, len(m.free))))
    _check_starts(system, starts[:, : m.nq], starts[:, m.nq :], parameters, given.t)
    if FORMULATIONS[settings.formulation].momenta and count:
        kernel = kept(system, "momenta", lambda: momentum_kernel(m, system.code))
        constants = [parameters] if m.free else []
        starts[:, m.nq :] = kernel([starts.copy(), np.array([given.t]), *constants])
    return starts, parameters


def _check_starts(system: System, q: Array, v: Array, parameters: Array, t: float) -> None:
    """Each start must be within limits and close all loops with its own parameters, or it is refused by its index."""
    doubtful = [np.zeros(0, dtype=bool)]
    for part in in_batches(len(q)):
        names, batch = system._free.names_of(parameters[part]), BatchOfRows(system, parameters[part], t)
        at = Samples(batch.told, q[part], v[part], np.full(len(q[part]), t), names)
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
    sure = (np.abs(at.closure_errors() / batch.constraint_scales) <= SURE).all(axis=1)
    sure &= (np.abs(at.constraint_velocities() / batch.constraint_scales) <= SURE * speed).all(axis=1)
    for name, place in at.mechanism.by_joint.items():
        assert place.joint is not None  # by_joint holds only loops that a joint closes
        limits = place.joint.type.limits or ()
        for column, (low, high) in zip(at.coordinates_of(name).T if limits else (), limits, strict=False):
            sure &= (low <= column) & (column <= high)
    return ~sure


class _Plan:
    """How the motions of one call are computed and sampled."""

    def __init__(self, system: System, settings: Settings, t_start: float):
        self.system, self.settings, self.t_start = system, settings, t_start
        self.every = float(settings.every or 1)
        self.t = sample_times(t_start, settings)

    def stepper(self, width: int) -> AnyStepper:
        """What takes the steps of so many motions at a time."""
        settings, formulation = self.settings, FORMULATIONS[self.settings.formulation]
        system, dense, name = self.system, settings.integrator not in FIXED, settings.integrator

        def make() -> AnyStepper:
            closing = settings.held, settings.stabilization == "project"
            return new_stepper(system.mechanism, formulation, name, system.code, False, width, dense, *closing)

        what = f"{name} {settings.formulation} {dense} {settings.closing}, {width} at a time, no accounts"
        return kept(system, what, make)

    def integrated(self, stepper: AnyStepper, y: Array, parameters: Array | None) -> tuple[Array, float]:
        """The samples (k, n, W) of one group, and the time at which it failed."""
        settings, n = self.settings, len(y)
        fixed = settings.integrator in FIXED
        h = float(settings.step or 1) if fixed else FIRST * (settings.t_end - self.t_start)
        each = round(self.every / h) if fixed else 1
        longest = np.inf if fixed or settings.step is None else settings.step
        tolerances = settings.tolerances
        motion = stepper.motion(y, self.t_start, h, *tolerances, parameters)
        found = np.full((len(self.t), n, stepper.width), np.nan)
        found[0], done = y, 1
        progress = Progress(self.t_start)
        while True:
            y_before = motion.state
            status, records = motion.advance(settings.t_end, ROOM, each, longest)
            states = sampled(motion, records, self.t[done:], y_before, error_floor(self.system.mechanism)[1])
            found[done : done + len(states)] = states
            done += len(states)
            tried = int(motion.counts[0]), int(motion.counts[1])
            stuck = not fixed and status == Status.FULL and progress.checked(motion.t, settings.t_end, *tried)[1]
            if stuck or status != Status.FULL:
                return found, np.inf if status == Status.ARRIVED else max(motion.t, float(self.t[done - 1]))

    def motions(self, found: Sequence[tuple[Array, Array]], given: Array) -> Motions:
        """All groups together, momenta turned into velocities."""
        m = self.system.mechanism
        none = np.zeros((len(self.t), m.nq + m.nv, 0)), np.zeros(0)
        y = np.moveaxis(np.concatenate([states for states, _ in (none, *found)], axis=2), 2, 0)
        failed = np.concatenate([t for _, t in (none, *found)])
        y = self._closed(np.ascontiguousarray(y), given)
        q, v = np.ascontiguousarray(y[..., : m.nq]), np.ascontiguousarray(y[..., m.nq :])
        if FORMULATIONS[self.settings.formulation].momenta and m.nv:
            kernel = kept(self.system, "velocities []", lambda: velocity_kernel(m, self.system.code))
            for i in range(len(y)):
                v[i] = kernel(self._arguments(y[i], given[i]))
        return Motions(self.system, self.t, q, v, failed)

    def _arguments(self, y: Array, given: Array) -> list[Array]:
        return [np.array(y), self.t[:, None].copy(), *([np.ascontiguousarray(given)] if given.size else [])]

    def _closed(self, y: Array, given: Array) -> Array:
        """All states with their loops closed, where these are projected: between steps they may have opened."""
        m = self.system.mechanism
        if not m.loops or self.settings.stabilization != "project":
            return y
        close = kept(self.system, "positions []", lambda: closing_kernel(m, self.system.code))
        parts = error_floor(m)[1]
        formulation, hold = FORMULATIONS[self.settings.formulation], None
        if not formulation.momenta and m.nv:
            made = f"held velocities {formulation.name} []"
            hold = kept(self.system, made, lambda: holding_kernel(m, formulation, self.system.code))
        given_to = [self._arguments(y[i], given[i]) for i in range(len(y))]
        states = [closed_states(close, hold, x, y[i], m.nq, parts) for i, x in enumerate(given_to)]
        return np.array(states).reshape(y.shape)
