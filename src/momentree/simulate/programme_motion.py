"""Motions by a programme: its equations integrated in machine code, from any coordinates and velocities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from momentree.compile.trace.programme_code import ProgrammeSource, motion_code
from momentree.errors import MomentreeError, choices
from momentree.integrate.dense_output import sampled
from momentree.integrate.methods import DEFAULT, METHODS, named_method
from momentree.integrate.records import Status
from momentree.integrate.stepper import Array, Integration, Stepper
from momentree.integrate.steppers import OrdinaryProblem
from momentree.simulate.settings import Settings, is_number
from momentree.simulate.step_plan import RECORDS, StepPlan


@dataclass(frozen=True)
class MotionSettings:
    """How a motion by a programme is computed.

    | field      | meaning                                                                                     |
    |------------|---------------------------------------------------------------------------------------------|
    | t_end      | s                                                                                           |
    | integrator | any explicit Runge-Kutta method of integrate.methods.METHODS, radau, radau9 or rodas5p      |
    | rtol, atol | tolerances of adaptive integrators; None: those of the integrator, and atol = rtol           |
    | step       | s: the step size where it is fixed; the largest one where it is adaptive                    |
    | every      | s between samples; None: a sample at every step                                             |
    """

    t_end: float
    t_start: float = 0.0
    integrator: str = DEFAULT
    rtol: float | None = None
    atol: float | None = None
    step: float | None = None
    every: float | None = None

    def checked(self) -> Settings:
        """The same as settings of a simulation, or an error with what is wrong."""
        method = named_method(self.integrator)
        if method.hamiltonian:
            others = choices([name for name, other in METHODS.items() if not other.hamiltonian])
            raise MomentreeError(f"programme: {self.integrator} needs a Hamiltonian system. Choose {others}.")
        if not is_number(self.t_start):
            raise MomentreeError(f"programme: t_start is {self.t_start}; give a time in seconds.")
        rtol = method.rtol if self.rtol is None else self.rtol
        settings = Settings(
            t_end=self.t_end,
            stabilization="none",
            integrator=self.integrator,
            rtol=rtol,
            atol=rtol if self.atol is None else self.atol,
            step=self.step,
            every=self.every,
        )
        settings.check(float(self.t_start))
        return settings


class Motion(NamedTuple):
    """A motion: t (k,), q and q' (k, n); `stopped` says why it ended before its time, "" if it did not."""

    t: Array
    q: Array
    qd: Array
    stopped: str
    evaluations: int


def motion_stepper(source: ProgrammeSource, integrator: str, dense: bool) -> Stepper:
    """The machine code that integrates a programme."""
    n = 2 * len(source.coordinates)
    problem = OrdinaryProblem(lambda jacobian: motion_code(source, jacobian), n, len(source.parameters), dense)
    return named_method(integrator).new_stepper(problem)


def motion(stepper: Stepper, settings: MotionSettings, q: Array, qd: Array, parameters: Array) -> Motion:
    """From q and q' at t_start; samples as the settings ask for."""
    checked, t_start, n = settings.checked(), float(settings.t_start), len(q)
    plan, y_0 = StepPlan(checked, t_start), np.concatenate([q, qd])
    constants = parameters[:, None] if len(parameters) else None
    running = stepper.start(y_0[:, None], t_start, plan.first, *checked.tolerances, constants)
    times = plan.sample_times()[1:] if plan.interpolated else None
    t, y, stopped = _advanced(running, float(checked.t_end), plan, times)
    t, y = np.concatenate([[t_start], t]), np.concatenate([y_0[None], y])
    return Motion(t, y[:, :n], y[:, n:], stopped, int(running.counts[2]))


def _advanced(running: Integration, t_end: float, plan: StepPlan, times: Array | None) -> tuple[Array, Array, str]:
    ts: list[Array] = []
    ys: list[Array] = []
    done = 0
    while True:
        before = running.state
        each = plan.steps_between_records(plan.interpolated)
        status, records = running.advance(t_end, RECORDS, each, plan.longest)
        if times is None:
            t, _, y, _ = running.unpacked(records)
        else:
            y = sampled(running, records, times[done:], before, ())
            t = times[done : done + len(y)]
            done += len(y)
        ts.append(t)
        ys.append(y[:, :, 0])
        if status is Status.ARRIVED:
            return np.concatenate(ts), np.concatenate(ys), ""
        if status is not Status.FULL:
            return np.concatenate(ts), np.concatenate(ys), _reason(status, running.t)


def _reason(status: Status, t: float) -> str:
    if status is Status.NOT_FINITE:
        return f"at t = {t:.9g} s the accelerations are not finite: the programme is unstable, or not defined there"
    cause = "the programme is not defined there, or stiff"
    return f"at t = {t:.9g} s the step size fell below the resolution of time: {cause}"


def checked_state(names: tuple[str, ...], values: Any, what: str) -> Array:
    """Numbers for each coordinate, in their order or by name."""
    if isinstance(values, dict):
        unknown = [name for name in values if name not in names]
        missing = [name for name in names if name not in values]
        if unknown or missing:
            problem = f"'{unknown[0]}' is not a coordinate" if unknown else f"'{missing[0]}' is missing"
            raise MomentreeError(f"programme: {what}: {problem}. Give {', '.join(names)}.")
        values = [values[name] for name in names]
    array = np.asarray(values, dtype=float)
    if array.shape != (len(names),) or not all(map(math.isfinite, array)):
        raise MomentreeError(f"programme: {what} is {values}. Give a finite number for each of {', '.join(names)}.")
    return array
