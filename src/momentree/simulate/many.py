"""Many motions of one system together: several in the lanes of a vector, groups of lanes on all cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.compile import threads as cores
from momentree.compile.machine_code import Target
from momentree.equations.batches import coordinate_array, numbers
from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError, suggestion
from momentree.simulate.dense import sampled
from momentree.simulate.integrators.choice import ALONE, FIXED, AnyStepper, error_floor, new_stepper
from momentree.simulate.integrators.explicit import Status
from momentree.simulate.integrators.rates import closing_kernel, holding_kernel, momentum_kernel, velocity_kernel
from momentree.simulate.integrators.stepping import Array
from momentree.simulate.phase import closed_states, kept
from momentree.simulate.progress import Progress
from momentree.simulate.settings import Settings, is_number
from momentree.simulate.simulate import FIRST, ROOM, check_closed, check_states, refuse_constraints, sample_times

if TYPE_CHECKING:
    from momentree.system import System


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions that were computed together.

    | field  | shape    | meaning                                                                       |
    |--------|----------|-------------------------------------------------------------------------------|
    | t      | k        | times of the samples (s)                                                      |
    | q, v   | m, k, n  | coordinates and rates of each motion; NaN after the time at which it failed    |
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
    t_start: float = 0.0,
    threads: int | None = None,
) -> Motions:
    """Motions from many starts, q (m, nq) and v (m, nv), or with many values of free parameters (m,), or both.

    Lanes share their steps. Where one fails, those of its group are computed again, each alone.
    """
    refuse_constraints(system.mechanism)
    if system.mechanism.latches:
        raise MomentreeError("many motions cannot be computed together where joints have latches. Simulate one by one.")
    if not is_number(t_start):
        raise MomentreeError(f"the start has t = {t_start}; give a finite time.")
    settings.check(t_start)
    if FORMULATIONS[settings.formulation].anew:
        told = f"many motions cannot be computed together in formulation '{settings.formulation}'"
        raise MomentreeError(f"{told}. Choose 'hamiltonian' or 'lagrange', or simulate one by one.")
    if settings.verify:
        raise MomentreeError("many motions are not verified together. Simulate one by one, or with a smaller rtol.")
    if settings.every is None:
        raise MomentreeError("many motions are sampled at the same times. Give every=, in seconds.")
    y, given = _starts(system, q, v, settings, parameters, t_start)
    plan = _Plan(system, settings, t_start)
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


def _starts(
    system: System, q: Any, v: Any, settings: Settings, parameters: Mapping[str, Any] | None, t: float
) -> tuple[Array, Array]:
    """States (m, nq + nv) and parameters (m, count), each start with its own."""
    m = system.mechanism
    at, rates = coordinate_array(q, m.nq, "q"), coordinate_array(v, m.nv, "v")
    check_states(system._numeric, at, rates)
    chosen = dict(parameters or {})
    for name in chosen:
        if name not in m.free:
            message = f"'{name}' is not a free parameter of this system.{suggestion(name, m.free)}"
            raise MomentreeError(f"{message} Build it with m.build(free=['{name}']).")
    columns = [numbers(chosen.get(name, m.values.scalar(name)), name, "numbers") for name in m.free]
    try:
        (count,) = np.broadcast_shapes(at.shape[:-1], rates.shape[:-1], *(column.shape for column in columns), (1,))
    except ValueError:
        arrays = {"q": at, "v": rates, **dict(zip(m.free, columns, strict=True))}
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        message = f"starts and parameters do not fit together: {shapes}."
        raise MomentreeError(f"{message} Give one or as many of each.") from None
    starts = np.empty((count, m.nq + m.nv))
    starts[:, : m.nq], starts[:, m.nq :] = at, rates
    given = np.zeros((count, len(columns)))
    for i, column in enumerate(columns):
        given[:, i] = column
    check_closed(system._numeric, starts[:, : m.nq], starts[:, m.nq :], np.full(count, t))
    if FORMULATIONS[settings.formulation].momenta:
        kernel = kept(system, "momenta", lambda: momentum_kernel(m, system.code))
        for start, x in zip(starts, given, strict=True):
            start[m.nq :] = kernel([start, np.array([t]), *([x] if m.free else [])])
    return starts, given


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
            closing = settings.held, settings.closure == "project"
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
        """All groups together, momenta turned into rates."""
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
        if not m.loops or self.settings.closure != "project":
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
