"""The motion of a system from a start, block by block of samples: what `system.simulate` runs."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.compile.integrators import Status
from momentree.compile.motion import FORMULATIONS, rates_code, velocity_kernel
from momentree.compile.stepping import Array, Motion, Stepper
from momentree.compile.tableaux import TABLEAUX
from momentree.equations.batches import coordinates, quaternions, scalars
from momentree.equations.forces import names_of
from momentree.equations.hamiltonian import momenta
from momentree.equations.kinematics import records
from momentree.errors import MomentreeError, suggestion
from momentree.simulate.blocks import Block, End, Meter, Statistics
from momentree.simulate.dense import sampled
from momentree.simulate.state import State
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System

ROOM = 512  # records of one call of the integrator
CLOSURES = ("none", "baumgarte", "leak", "project")
FIRST = 1e-6  # of the duration: the first step, from which the length is adapted


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to simulate.

    | field       | meaning                                                                                   |
    |-------------|-------------------------------------------------------------------------------------------|
    | t_end       | s                                                                                         |
    | formulation | "hamiltonian" (q, p) or "lagrange" (q, v)                                                 |
    | closure     | how loops are kept closed: "project", "leak", "baumgarte", "none"; trees have none          |
    | integrator  | "dop853", "dopri5" (adaptive) or "rk4" (fixed step)                                       |
    | rtol, atol  | tolerances of adaptive integrators; atol is rtol / 100 unless given                       |
    | step        | s: the step of "rk4"; of the others, the longest                                          |
    | every       | s between samples; None: a sample at every step                                           |
    """

    t_end: float
    formulation: str = "hamiltonian"
    closure: str = "project"
    integrator: str = "dop853"
    rtol: float = 1e-8
    atol: float | None = None
    step: float | None = None
    every: float | None = None

    def check(self, t_start: float) -> None:
        """One error with everything that is wrong."""
        choices = {"formulation": FORMULATIONS, "closure": CLOSURES, "integrator": TABLEAUX}
        problems = [
            f"{name} '{getattr(self, name)}' is not known: choose {', '.join(known)}."
            + suggestion(str(getattr(self, name)), known)
            for name, known in choices.items()
            if getattr(self, name) not in known
        ]
        if not _is_number(self.t_end) or self.t_end <= t_start:
            problems.append(f"t_end is {self.t_end}; give a time after the start, {t_start:g} s.")
        if not _is_number(self.rtol) or not 1e-14 <= self.rtol <= 0.1:
            problems.append(f"rtol is {self.rtol}; give a number from 1e-14 to 0.1.")
        if self.atol is not None and (not _is_number(self.atol) or self.atol <= 0):
            problems.append(f"atol is {self.atol}; give a positive number, or None for rtol / 100.")
        for name in ("step", "every"):
            value = getattr(self, name)
            if value is not None and (not _is_number(value) or value <= 0):
                problems.append(f"{name} is {value}; give a positive number of seconds.")
        if self.integrator == "rk4" and not problems:
            problems += self._fixed_step()
        if problems:
            raise MomentreeError("\n".join(problems))

    def _fixed_step(self) -> list[str]:
        if self.step is None:
            return ["rk4 takes steps of a fixed length. Give step=, in seconds."]
        if self.every is not None and abs(self.every / self.step - round(self.every / self.step)) > 1e-6:
            return [f"every is {self.every:g}, which is no multiple of the step of rk4, {self.step:g}."]
        return []

    @property
    def absolute(self) -> float:
        return self.rtol / 100 if self.atol is None else self.atol


def simulation(system: System, start: State, **settings: Any) -> Simulation:
    """A simulation at its start; everything that can be wrong with start and settings is told now."""
    return Simulation(system, start, settings_of(**settings))


def settings_of(**settings: Any) -> Settings:
    """The settings by their names."""
    names = [field.name for field in dataclasses.fields(Settings)]
    for name in settings:
        if name not in names:
            raise MomentreeError(f"simulate: there is no setting '{name}'.{suggestion(name, names)}")
    return Settings(**settings)


class Simulation:
    """A motion in progress: `advance` gives the next block of samples, None when it has ended."""

    def __init__(self, system: System, start: State, settings: Settings):
        self.system, self.start = system, start
        self._settings, self._mechanism = settings, system._numeric
        settings.check(start.t)
        check_start(system._numeric, start)
        self.t_start, self.t_end = float(start.t), float(settings.t_end)
        self.end: End | None = None
        self._shortest, self._longest = math.inf, 0.0
        self._samples = 0  # given so far
        self._motion = self._begin()

    @property
    def settings(self) -> dict[str, Any]:
        return dataclasses.asdict(self._settings)

    @property
    def meters(self) -> tuple[Meter, ...]:
        return ()

    @property
    def statistics(self) -> Statistics:
        accepted, rejected, evaluations = (int(x) for x in self._motion.counts[:3])
        return Statistics(accepted, rejected, evaluations, self._shortest, self._longest)

    # --- making the code ---

    def _begin(self) -> Motion:
        settings, duration = self._settings, self.t_end - self.t_start
        h = settings.step if settings.integrator == "rk4" else FIRST * duration
        y = np.concatenate([self.start.q, self._momenta(self.start)])
        assert h is not None
        return self._stepper.motion(y[:, None], self.t_start, h, settings.rtol, settings.absolute, self._parameters)

    def _momenta(self, state: State) -> Array:
        if self._settings.formulation == "lagrange":
            return np.asarray(state.v, dtype=float)
        return np.array(momenta(self._mechanism, state.q.tolist(), state.v.tolist(), state.t), dtype=float)

    @cached_property
    def _parameters(self) -> Array | None:
        m = self.system.mechanism
        return np.array([[m.values.scalar(name)] for name in m.free], dtype=float) if m.free else None

    @cached_property
    def _stepper(self) -> Stepper:
        m = self.system.mechanism
        floor, starts = error_floor(m)
        code = rates_code(m, FORMULATIONS[self._settings.formulation], self.system.code)
        tableau = TABLEAUX[self._settings.integrator]
        dense = self._settings.every is not None and tableau.adaptive
        return Stepper(code, tableau, floor, starts, len(m.free), dense=dense)

    # --- going on ---

    def advance(self) -> Block | None:
        """The next samples; the first block begins with the start."""
        if self.end is not None:
            return None
        each, longest = 1, math.inf
        if self._settings.integrator == "rk4" and self._settings.every is not None:
            each = round(self._settings.every / float(self._settings.step or 1))
        elif self._settings.step is not None:
            longest = self._settings.step
        y_before = self._motion.state
        status, found = self._motion.advance(self.t_end, ROOM, each, longest)
        t, h, _, stages = self._motion.unpacked(found)
        if len(t):
            self._shortest, self._longest = min(self._shortest, h.min()), max(self._longest, h.max())
        due = self._times[max(self._samples, 1) :]
        states = sampled(self._motion, found, due, y_before, error_floor(self._mechanism)[1])
        times = t if stages is None else due[: len(states)]
        if self._samples == 0:
            times, states = np.append(self.t_start, times), np.concatenate([y_before[None], states])
        self._samples += len(times)
        if status in (Status.TOO_SHORT, Status.NOT_FINITE):
            self.end = End("failed", self._motion.t, self._why(status), ())
        elif status == Status.ARRIVED:
            self.end = End("arrived", self._motion.t, "", ())
        return self._block(times, states[..., 0])

    @cached_property
    def _times(self) -> Array:
        """When samples are due; none where every step is one."""
        every = self._settings.every
        return np.zeros(0) if every is None else sample_times(self.t_start, self.t_end, every)

    def _block(self, t: Array, y: Array) -> Block:
        nq = self.system.nq
        q, p = np.ascontiguousarray(y[:, :nq]), np.ascontiguousarray(y[:, nq : nq + self.system.nv])
        v = p if self._settings.formulation == "lagrange" else self._velocities(q, p, t)
        return Block(np.array(t), q, v, np.zeros((len(t), len(self.meters))))

    def _velocities(self, q: Array, p: Array, t: Array) -> Array:
        if not len(t) or not self.system.nv:
            return p
        return self._velocity_kernel([np.hstack([q, p]), np.ascontiguousarray(t)[:, None], *self._constants])

    @cached_property
    def _velocity_kernel(self) -> Any:
        return velocity_kernel(self.system.mechanism, self.system.code)

    @property
    def _constants(self) -> list[Array]:
        return [] if self._parameters is None else [np.ascontiguousarray(self._parameters[:, 0])]

    # --- stopping and continuing ---

    def checkpoint(self) -> dict[str, Array]:
        """All that is needed to continue: the same numbers follow."""
        motion = self._motion
        seen = np.array([self._samples, self._shortest, self._longest], dtype=float)
        return {"y": motion.y.copy(), "control": motion.control.copy(), "counts": motion.counts.copy(), "seen": seen}

    def restore(self, checkpoint: dict[str, Array]) -> None:
        """Go on from there."""
        motion = self._motion
        motion.y[:], motion.control[:] = checkpoint["y"], checkpoint["control"]
        motion.counts[:] = checkpoint["counts"]
        samples, self._shortest, self._longest = (float(x) for x in checkpoint["seen"])
        self._samples, self.end = int(samples), None
        if motion.t >= self.t_end:
            self.end = End("arrived", motion.t, "", ())

    def _why(self, status: Status) -> str:
        """What went wrong, and the way out."""
        t = self._motion.t
        if status == Status.TOO_SHORT:
            return (
                f"at t = {t:.9g} s the tolerance asks for steps shorter than time can be told apart: something changes "
                "too quickly there. Allow a larger rtol, or look at the forces of the model."
            )
        culprits = broken_laws(self._mechanism, self._motion.y, t + 64 * np.finfo(float).eps * max(abs(t), 1.0))
        told = f": {'; '.join(culprits)}" if culprits else ". Look at the forces and the state there"
        return f"at t = {t:.9g} s the derivatives are no longer finite numbers{told}."


# --- what can be wrong ---


def check_start(mechanism: Mechanism, start: State) -> None:
    """The start must be one of this system, finite, with unit quaternions, within the limits of the joints."""
    if mechanism.loops or mechanism.closures:
        raise MomentreeError("simulate: this system has loops or constraints, whose motion is not computed yet.")
    if not isinstance(start, State):
        raise MomentreeError(f"simulate: the start is a {type(start).__name__}. Make it by system.assemble(...).")
    coordinates(mechanism, start.q)
    scalars(start.v, mechanism.nv, "v")
    if not _is_number(start.t):
        raise MomentreeError(f"the start has t = {start.t}; give a finite time.")
    for body in mechanism.bodies:
        joint = body.connection.joint
        for name, x, (low, high) in zip(joint.coordinates, start.q[body.q], joint.limits or (), strict=False):
            if not body.laws and not low <= x <= high:
                message = f"joint '{body.connection.name}': the start has {name} = {x:g}, outside its limits"
                raise MomentreeError(f"{message} ({low:g}, {high:g}). Start within them.")


def broken_laws(mechanism: Mechanism, y: Array, t: float) -> list[str]:
    """Laws of torque, force and motion that have no finite value there, as the user knows them."""
    found = []
    with np.errstate(all="ignore"):
        moving = records(mechanism, y[: mechanism.nq].tolist(), [0.0] * mechanism.nv, t=t)
        names = names_of(mechanism, moving, t)
        laws = [(f"the torque on {drive.joint}", drive.laws) for drive in mechanism.drives]
        laws += [("a force", (*push.force, *push.moment)) for push in mechanism.pushes]
        for what, each in laws:
            for law in each:
                try:
                    value = float(law.evaluate(names))
                except (ArithmeticError, ValueError):
                    value = math.nan
                if not math.isfinite(value):
                    found.append(f"{what}, {law}, has no finite value")
    return found


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.number)) and not isinstance(x, bool) and math.isfinite(x)


# --- samples and errors ---


def sample_times(t_start: float, t_end: float, every: float) -> Array:
    """The start, multiples of `every` after it, and the end."""
    count = math.floor((t_end - t_start) / every * (1 + 1e-12) + 1e-9)
    times = t_start + every * np.arange(count + 1)
    return np.append(times[times < t_end - 1e-9 * every], t_end)


def error_floor(mechanism: Mechanism) -> tuple[Array, list[int]]:
    """The least size of each entry of a state for its error, and where quaternions start: their whole counts as 1."""
    starts = [place.start for place in quaternions(mechanism)]
    floor = np.zeros(mechanism.nq + mechanism.nv)
    for place in starts:
        floor[place : place + 4] = 1.0
    return floor, starts
