"""The motion of a system from a start, block by block of samples: what `system.simulate` runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.assembly.closed_starts import opened
from momentree.assembly.closing_search import integrate
from momentree.assembly.configuration import constraint_names
from momentree.assembly.samples import Samples
from momentree.assembly.state import State
from momentree.assembly.unreachable import beyond_reach
from momentree.compile.execute.arrays import coordinates, scalars
from momentree.compile.trace.right_hand_sides import accounts_of
from momentree.equations.articulated import forward_dynamics
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import laws_of, names_of
from momentree.equations.hamiltonian import momenta
from momentree.equations.kinematics import records
from momentree.errors import MomentreeError
from momentree.integrate.dense_output import at_fraction, sampled
from momentree.integrate.projection import CLOSED as CLOSED_AFTER
from momentree.integrate.projection import OPEN
from momentree.integrate.records import Status
from momentree.integrate.stepper import Array, Integration
from momentree.model.joint_type import JointType
from momentree.model.values import TIME
from momentree.simulate.blocks import Block, End, Statistics, WorkTerm
from momentree.simulate.events import Passage, Watched, asked, latched, names_at, passages, watched
from momentree.simulate.phase import Phase
from momentree.simulate.settings import Settings, is_number, settings_of
from momentree.simulate.step_sizes import Progress
from momentree.structure.mechanism import Mechanism

if TYPE_CHECKING:
    from momentree.system import System

ROOM = 512  # records of one call of the integrator
SLOW = (
    "Something changes too quickly there: smooth laws that jump, tanh(v/v0) instead of sign(v), try integrator='radau' "
    "for stiff forces, or allow a larger rtol."
)
LITTLE, JUMP, MOST_TRIED = 1e-6, 0.1, 60  # what jumps: changes by so much of itself; how many velocities are tried
TOGETHER = 1e-9  # of a step: events nearer to each other happen at the same time
CLOSED = 1e-8  # of the size of the mechanism: closure errors up to which the last samples before a failure are kept
FIRST = 1e-6  # of the duration: the first step, from which its size is adapted
MOST_NUMBERS = 250_000_000  # of all samples: 2 GB
OPENED = 0.1  # of the size of the mechanism: closure errors at which loops that are not projected have come apart


def simulation(system: System, start: State, events: Mapping[str, Any] | None = None, **settings: Any) -> Simulation:
    """A simulation at its start; everything that can be wrong with start, settings and events is told now."""
    return Simulation(system, start, settings_of(**settings), events or {})


class Simulation:
    """A motion in progress: `advance` gives the next block of samples, None when it has ended."""

    def __init__(
        self, system: System, start: State, settings: Settings, events: Mapping[str, Any], times: Array | None = None
    ):
        """`times` are those of the samples, the start first, instead of what the settings say of them."""
        start = checked_start(system._numeric, start)
        self.system, self.start, self._settings, self._asked = system, start, settings, asked(events)
        settings.check(start.t)
        self.t_start, self.t_end = float(start.t), float(settings.t_end)
        self.end: End | None = None
        self._given_times = times
        self._watched = [*watched(system._numeric, self._asked), *latched(system._numeric)]
        self._happened: list[tuple[str, float]] = []
        self._shortest, self._longest = math.inf, 0.0
        self.opened = np.zeros(4)  # by how much the joints that only the formulation closes have opened
        self._samples, self._due = 0, 1  # given so far, and the next of the times at which samples are due
        self._counts = np.zeros(3, dtype=np.int64)  # of phases that have ended
        self._worked = np.zeros(len(self.work_terms))
        self._refuse_many_samples()
        self._phase = self._new_phase({})
        self._motion = self._moving(self.t_start, start.q, start.v, self._first)
        self._progress = Progress(self.t_start)

    @property
    def settings(self) -> dict[str, Any]:
        """What it was made with."""
        events = {name: dataclasses.asdict(event) for name, event in self._asked.items()}
        return {**dataclasses.asdict(self._settings), **({"events": events} if events else {})}

    @cached_property
    def work_terms(self) -> tuple[WorkTerm, ...]:
        """Whose work is counted."""
        mechanism = self.system._numeric
        found = [WorkTerm(name, kind) for name, kind in accounts_of(mechanism)]
        return (*found, *(WorkTerm(event.name, "latch") for event in latched(mechanism)))

    @property
    def statistics(self) -> Statistics:
        """Steps and evaluations so far."""
        accepted, rejected, evaluations = (int(x) for x in self._counts + self._motion.counts[:3])
        return Statistics(accepted, rejected, evaluations, self._shortest, self._longest)

    @property
    def _first(self) -> float:
        """The length of the first step."""
        fixed = not self._settings.method.adaptive
        return float(self._settings.step or 1) if fixed else FIRST * (self.t_end - self.t_start)

    def _moving(self, t: float, q: Array, v: Array, h: float) -> Integration:
        motion = self._phase.motion(t, q, v, h)
        motion.open = CLOSED_AFTER if motion.adaptive else self._most_open
        return motion

    def _new_phase(self, held: Mapping[int, float]) -> Phase:
        names = [work_term.name for work_term in self.work_terms]
        return Phase(self.system, self._settings, held, names, self._dense)

    @cached_property
    def _dense(self) -> bool:
        """Whether states within steps are needed."""
        between = self._settings.every is not None and self._settings.method.adaptive
        return bool(self._watched) or between or self._given_times is not None

    # --- going on ---

    def advance(self) -> Block | None:
        """The next samples; the first block begins with the start."""
        if self.end is not None:
            return None
        each, longest = 1, math.inf
        if self._settings.every is not None and not self._dense:
            each = round(self._settings.every / float(self._settings.step or 1))
        elif self._settings.step is not None and self._settings.method.adaptive:
            longest = self._settings.step
        phase, motion, y_before = self._phase, self._motion, self._motion.state
        status, found = motion.advance(self.t_end, ROOM, each, longest)
        if status == Status.OPEN and self._loosened():
            status = Status.FULL
        acting = self._look(found, y_before)
        if acting:
            found = found[: acting[-1].step + 1]
        t, y = self._sampled(found, y_before, acting[-1] if acting else None)
        self._samples += len(t)
        q, v = phase.moves(t, y)
        self.opened = np.maximum(self.opened, phase.openings(t, y))
        block = Block(np.array(t), q, v, phase.work(y, self._worked))
        if acting:
            return self._acted(acting, block)
        if status not in (Status.FULL, Status.ARRIVED):
            self._finish("failed", self._why(status), max([motion.t, *map(float, t[-1:])]))
            return self._while_closed(block)
        if status == Status.ARRIVED:
            self._finish("arrived")
        stopped = self._come_apart(block) or ("" if self.end else self._stopped())
        if stopped:
            self._finish("failed", stopped)
        return block

    def _loosened(self) -> bool:
        """Let imprecise linkages stay as open as they must: where they close no better, and nothing is beyond reach."""
        motion, t = self._motion, self._motion.t
        if not motion.adaptive or motion.open >= self._most_open:
            return False
        q = self._phase.moves(np.array([t]), motion.state[None, :, 0])[0][0]
        if beyond_reach(self.system._numeric, q, t, self.t_end - self.t_start):
            return False
        motion.open, motion.control[1] = self._most_open, self._first
        return True

    @cached_property
    def _most_open(self) -> float:
        """How open loops of imprecise linkages may be, by the size of each: twice their tolerance."""
        mechanism = self.system._numeric.with_tolerance(self.start.mechanism.set_tolerance)
        parts = zip(mechanism.loop_tolerances, mechanism.loop_sizes, strict=True)
        return max([OPEN, *(2 * tolerance / size for tolerance, size in parts)])

    def _while_closed(self, block: Block) -> Block:
        """The samples of the last block, but for those at its end that are not closed any more."""
        if not self.system._numeric.loops or self._settings.stabilization != "project" or not len(block):
            return block
        with np.errstate(all="ignore"):
            closure_errors = self._closure_errors(block)
        open_ = ~(closure_errors <= CLOSED)
        kept = len(closure_errors) if not open_[-1] else int(np.flatnonzero(~open_)[-1]) + 1 if not open_.all() else 0
        if not kept and self._samples == len(block):
            kept = 1  # the start
        return Block(*(getattr(block, name)[:kept] for name in ("t", "q", "v", "work")))

    def _closure_errors(self, block: Block) -> Array:
        """The largest closure error of each sample, by the size of the mechanism."""
        mechanism = self.system._numeric
        found = Samples(mechanism, block.q, block.v, block.t).openings()[:, :2]
        return np.asarray((found / (mechanism.size, 1.0)).max(axis=1))

    def _come_apart(self, block: Block) -> str:
        """Why loops that are not projected cannot be called loops any more; "" where they can."""
        if not self.system._numeric.loops or self._settings.stabilization == "project" or not len(block):
            return ""
        last = Block(*(getattr(block, name)[-1:] for name in ("t", "q", "v", "work")))
        with np.errstate(all="ignore"):
            closure_error = float(self._closure_errors(last)[0])
        if closure_error <= OPENED:
            return ""
        t = float(block.t[-1])
        reach = beyond_reach(self.system._numeric, block.q[-1], t, self.t_end - self.t_start)
        told = f"at t = {t:.9g} s loops have come apart: their closure error is {closure_error:.2g} of the size of the mechanism"
        return f"{told}. {reach or 'Use stabilization=' + repr('project') + ', a larger gain or a smaller rtol.'}"

    def _stopped(self) -> str:
        """Why it does not go on although nothing is wrong; "" where it may."""
        if self._settings.method.adaptive:
            counts = self._counts + self._motion.counts[:3]
            slow, sure = self._progress.checked(self._motion.t, self.t_end, int(counts[0]), int(counts[1]))
            cause = self._why_slow() if slow else ""
            if slow and (cause or sure):
                return f"{slow} {cause or SLOW}"
        if self._samples * self._numbers > MOST_NUMBERS and self._settings.every is None:
            told = f"at t = {self._motion.t:.9g} s there are {self._samples:,} samples, which take more than"
            return f"{told} {8 * MOST_NUMBERS / 1e9:g} GB: every step is one. Give every=, in seconds."
        return ""

    def _why_slow(self) -> str:
        """What makes steps so short, and what to use instead; "" where nothing is found."""
        t = self._motion.t
        q, v = (x[0] for x in self._phase.moves(np.array([t]), self._motion.state[None, :, 0]))
        reach = beyond_reach(self.system._numeric, q, t, self.t_end - self.t_start)
        jumps = jumping_laws(self.system._numeric, q, v, t)
        steep = steep_laws(self.system._numeric, q, v, t)
        if reach:
            return reach
        if steep:
            told = "; ".join(steep)
            return f"{told[0].upper()}{told[1:]}. Allow a larger rtol, or look at the forces of the model."
        if jumps:
            told = "; ".join(jumps)
            return (
                f"{told[0].upper()}{told[1:]}. Smooth it: tanh(v/v0) instead of sign(v), with v0 a velocity that does "
                "not matter, or let an event end the motion there."
            )
        return ""

    def _finish(self, reason: str, message: str = "", t: float | None = None) -> None:
        self.end = End(reason, self._motion.t if t is None else t, message, tuple(self._happened))

    def _sampled(self, found: Array, y_before: Array, passed: Passage | None) -> tuple[Array, Array]:
        """Times and states of the samples that these records give, up to a passage; at first, the start too."""
        t, h, y, _ = self._motion.unpacked(found)
        if len(t):
            self._shortest, self._longest = min(self._shortest, float(h.min())), max(self._longest, float(h.max()))
        times, states = t, y[..., 0]
        if self._times is not None:
            due = self._times[self._due :]
            states = sampled(self._motion, found, due, y_before, self._phase.quaternions)[..., 0]
            times = due[: len(states)]
        if passed is not None:
            kept = times < passed.t
            self._due += int(kept.sum())
            state = self._within(found, y_before, np.array([passed.step]), np.array([passed.x]))
            times, states = np.append(times[kept], passed.t), np.concatenate([states[kept], state])
        else:
            self._due += len(times)
        if self._samples == 0:
            times, states = np.append(self.t_start, times), np.concatenate([y_before[None, :, 0], states])
        return times, states

    def _within(self, found: Array, y_before: Array, step: Any, x: Array) -> Array:
        return at_fraction(self._motion, found, y_before, step, x, self._phase.quaternions)[..., 0]

    @cached_property
    def _times(self) -> Array | None:
        """When samples are due; None where every step is one."""
        if self._given_times is not None:
            return self._given_times
        return None if self._settings.every is None else sample_times(self.t_start, self._settings)

    @property
    def _numbers(self) -> int:
        """Of one sample."""
        return 1 + self.system.nq + self.system.nv + len(self.work_terms)

    def _refuse_many_samples(self) -> None:
        every, duration = self._settings.every, self.t_end - self.t_start
        if every is not None and duration / every * self._numbers > MOST_NUMBERS:
            least, most = duration * self._numbers / MOST_NUMBERS, 8 * MOST_NUMBERS / 1e9
            told = f"every is {every:g}: samples of {self._numbers} numbers would take more than {most:g} GB"
            raise MomentreeError(f"{told}. Give every of at least {least:.2g} s, or an earlier t_end.")

    # --- events ---

    def _look(self, found: Array, y_before: Array) -> list[Passage]:
        """Note what happened in these records; give the first passages that end the simulation or lock joints."""
        events = [event for event in self._watched if event.latch not in self._phase.held]
        if not events or not len(found):
            return []
        t, h, _, _ = self._motion.unpacked(found)

        def value(event: Watched, step: Any, x: Array) -> Array:
            states = self._within(found, y_before, step, x)
            times = t[step] - (1 - x) * h[step]
            q, v = self._phase.moves(times, states)
            g = event.expression.evaluate(names_at(self.system._numeric, times, q, v))
            return np.broadcast_to(np.asarray(g, dtype=float), times.shape)

        acting: list[Passage] = []
        for passage in passages(events, len(t), value):
            if acting and (passage.step > acting[0].step or passage.x > acting[0].x + TOGETHER):
                break
            at = float(t[passage.step] - (1 - passage.x) * h[passage.step])
            self._happened.append((passage.event.name, at))
            if passage.event.stop or passage.event.latch:
                acting.append(passage._replace(t=at))
        if acting:
            self._counts[0] -= len(t) - 1 - acting[-1].step  # steps beyond it did not happen
        return acting

    def _acted(self, acting: Sequence[Passage], block: Block) -> Block:
        """Do what events ask for: end, or go on with joints locked."""
        ending = next((passage for passage in acting if not passage.event.latch), None)
        if ending is not None:
            self._finish("event", f"'{ending.event.name}' happened", ending.t)
            return block
        t = acting[-1].t
        before = self.system.energy(block.q[-1], block.v[-1], t).total
        self._lock([passage.event for passage in acting], block, t)
        q, v = self._phase.moves(np.array([t]), self._motion.state[None, :, 0])
        lost = self.system.energy(q[0], v[0], t).total - before
        # joints that lock together lose what they lose together: it stands in the account of the first
        self._worked[[work_term.name for work_term in self.work_terms].index(acting[0].event.name)] += lost
        after = Block(np.array([t]), q, v, self._worked[None].copy())
        return Block.joined([block, after], self.system.nq, self.system.nv, len(self.work_terms))

    def _lock(self, events: Sequence[Watched], block: Block, t: float) -> None:
        """Begin the next phase, with more joints held.

        The blow acts along the locked velocities alone, so the momenta along all others stay as they are.
        """
        old, q = self._phase, block.q[-1].copy()
        p = np.array(momenta(Evaluation(old.mechanism, q[old.q].tolist(), t), block.v[-1][old.v].tolist()), dtype=float)
        bodies = [self.system.mechanism.bodies[event.latch - 1] for event in events]
        p = p[~np.isin(old.v, [i for body in bodies for i in range(body.v.start, body.v.stop)])]
        for body, event in zip(bodies, events, strict=True):
            q[body.q] = event.at
        self._counts += self._motion.counts[:3]
        self._worked = block.work[-1].copy()
        self._phase = self._new_phase({**old.held, **{event.latch: event.at for event in events}})
        h = min(self._first, float(self._motion.control[1]))
        self._motion = self._moving(t, q, self._phase.velocities_from_momenta(q, p, t), h)

    # --- stopping and continuing ---

    def checkpoint(self) -> dict[str, Array]:
        """All that is needed to continue: the same numbers follow."""
        motion, names = self._motion, [event.name for event in self._watched]
        return {
            "y": motion.y.copy(),
            "control": motion.control.copy(),
            "counts": motion.counts.copy(),
            "counted": self._counts.copy(),
            "worked": self._worked.copy(),
            "seen": np.array([self._samples, self._due, self._shortest, self._longest], dtype=float),
            "progress": self._progress.numbers(),
            "open": np.array([motion.open]),
            "held": np.array([[number, value] for number, value in self._phase.held.items()]).reshape(-1, 2),
            "happened": np.array([[names.index(name), t] for name, t in self._happened]).reshape(-1, 2),
        }

    def restore(self, checkpoint: dict[str, Array]) -> None:
        """Go on from there."""
        held = {int(number): float(value) for number, value in checkpoint["held"]}
        if held != self._phase.held:
            self._phase = self._new_phase(held)
            self._motion = self._moving(self.t_start, self.start.q, np.zeros_like(self.start.v), self._first)
        motion = self._motion
        motion.y[:], motion.control[:], motion.counts[:] = (checkpoint[name] for name in ("y", "control", "counts"))
        self._counts[:], self._worked = checkpoint["counted"], checkpoint["worked"].copy()
        samples, due, self._shortest, self._longest = (float(x) for x in checkpoint["seen"])
        self._samples, self._due, self.end = int(samples), int(due), None
        self._progress = Progress(*checkpoint.get("progress", (self.t_start,)))
        motion.open = float(checkpoint["open"][0]) if "open" in checkpoint else motion.open
        self._happened = [(self._watched[int(i)].name, float(t)) for i, t in checkpoint["happened"]]
        if motion.t >= self.t_end:
            self._finish("arrived")

    def _why(self, status: Status) -> str:
        """What went wrong, and the way out."""
        motion, t, tiny = self._motion, self._motion.t, np.finfo(float).eps * max(abs(self._motion.t), 1.0)
        q, v = (x[0] for x in self._phase.moves(np.array([t]), motion.state[None, :, 0]))
        duration, h = self.t_end - self.t_start, abs(float(motion.control[1]))
        reach = beyond_reach(self.system._numeric, q, t, duration, () if motion.adaptive else (h / 2, h, 2 * h))
        if reach:
            return reach
        if status == Status.OPEN:
            what = "after any step" if motion.adaptive else f"after a step of {h:g} s"
            told = f"at t = {t:.9g} s loops cannot be closed {what}"
            return f"{told}. Take shorter steps (step=), a smaller rtol, or look at the configuration there."
        if motion.failure(status):
            return motion.failure(status)
        if status == Status.TOO_SHORT:
            steep = steep_laws(self.system._numeric, q, v, t) or jumping_laws(self.system._numeric, q, v, t)
            return (
                f"at t = {t:.9g} s the step size that the tolerance asks for fell below the resolution of time: "
                f"{'; '.join(steep) or 'something changes too quickly there'}. "
                "Allow a larger rtol, or look at the forces of the model."
            )
        # a step of a fixed length, and what lies between two records, reaches farther than one that was shortened
        ahead = max(128 * tiny, 0.0 if motion.adaptive else motion.control[1] * motion.counts[6])
        found = (broken_laws(self.system._numeric, q, v, t, ahead * part / 8) for part in range(9))
        culprits = next((laws for laws in found if laws), [])
        told = f": {'; '.join(culprits)}" if culprits else ". Look at the forces and the state there"
        return f"at t = {t:.9g} s the derivatives are no longer finite numbers{told}."


# --- samples ---


def sample_times(t_start: float, settings: Settings) -> Array:
    """The start, multiples of `every` after it, and the end, with which one that is very near to it coincides."""
    every, t_end = float(settings.every or 1), float(settings.t_end)
    near = 1e-6 * float(settings.step or 1) if not settings.method.adaptive else 1e-9 * every
    count = math.floor((t_end - t_start) / every * (1 + 1e-12) + 1e-9)
    times = t_start + every * np.arange(count + 1)
    return np.append(times[times < t_end - near], t_end)


# --- what can be wrong ---


def checked_start(mechanism: Mechanism, start: State) -> State:
    """A copy of the start, which must be finite, with unit quaternions, within the limits of the joints."""
    refuse_constraints(mechanism)
    if not isinstance(start, State):
        raise MomentreeError(f"simulate: the start is a {type(start).__name__}. Make it by system.assemble(...).")
    if start.mechanism.coordinates != mechanism.coordinates:
        raise MomentreeError("simulate: the start is one of another system. Make it by assemble(...) of this one.")
    check_states(mechanism, start.q, start.v)
    if np.ndim(start.q) != 1 or np.ndim(start.v) != 1:
        raise MomentreeError("simulate: the start holds several states. Use system.simulate_many for them.")
    if not is_number(start.t):
        raise MomentreeError(f"the start has t = {start.t}; give a finite time.")
    q, v, t = np.array(start.q, dtype=float), np.array(start.v, dtype=float), float(start.t)
    check_closed(mechanism.with_tolerance(start.mechanism.set_tolerance), q[None], v[None], np.array([t]))
    return State(start.mechanism, q, v, t)


def refuse_constraints(mechanism: Mechanism) -> None:
    """Constraints by expressions have no equations yet."""
    if mechanism.constraints:
        names = ", ".join(f"'{stabilization.name}'" for stabilization in mechanism.constraints)
        raise MomentreeError(f"simulate: motion under the constraints {names} is not computed yet. Use joints instead.")


def check_closed(mechanism: Mechanism, q: Array, v: Array, t: Array) -> None:
    """Starts (k, n) must close all loops and keep them closed."""
    if not constraint_names(mechanism) or not len(t):
        return
    at = Samples(mechanism, q, v, t)
    worst = opened(mechanism, at)
    if worst is not None:
        name = constraint_names(mechanism)[worst.row]
        message = f"the start does not close '{name}': {worst.what} {worst.value:.3g} {worst.unit}"
        raise MomentreeError(
            f"simulate: {message}. Make it by system.assemble(...), which finds coordinates and velocities that close."
        )
    for loop in mechanism.loops:
        if loop.joint is not None and loop.joint_type.limits:
            _check_limits(loop.name, loop.joint_type, at.coordinates_of(loop.name).T)


def check_states(mechanism: Mechanism, q: Any, v: Any) -> None:
    """Coordinates and velocities (batches too) must be finite, quaternions of unit length, all within limits."""
    coordinates(mechanism, q)
    scalars(v, mechanism.nv, "v")
    for body in mechanism.bodies:
        if not body.laws:
            columns = np.moveaxis(np.asarray(q, dtype=float), -1, 0)[body.q]
            _check_limits(body.joint.name, body.joint.type, columns)


def _check_limits(name: str, joint: JointType, columns: Array) -> None:
    for coordinate, column, (low, high) in zip(joint.coordinates, columns, joint.limits or (), strict=False):
        outside = np.extract(~((low <= column) & (column <= high)), column)
        if len(outside):
            message = f"joint '{name}': the start has {coordinate} = {outside[0]:g}, outside its limits"
            raise MomentreeError(f"{message} ({low:g}, {high:g}). Start within them.")


def broken_laws(mechanism: Mechanism, q: Array, v: Array, t: float, ahead: float) -> list[str]:
    """Laws of motion, torque and force that have no finite value a little ahead, as the user knows them."""
    if ahead:
        a = np.array(forward_dynamics(Evaluation(mechanism, q.tolist(), t), v.tolist(), [0.0] * len(v)), dtype=float)
        q, v = integrate(mechanism, q, ahead * v), v + ahead * a
    values = _law_values(mechanism, q, v, t + ahead)
    return [f"{what} has no finite value" for what, value in values.items() if not math.isfinite(value)]


def steep_laws(mechanism: Mechanism, q: Array, v: Array, t: float) -> list[str]:
    """Laws that are many times what they were a billionth of a second, or of the time, before, or 100 times that."""
    now, found = _law_values(mechanism, q, v, t), dict[str, None]()
    for part in (1e-9, 1e-7):
        before = _law_values(mechanism, q, v, t - part * max(abs(t), 1.0))
        found |= dict.fromkeys(what for what in now if abs(now[what]) > 10 * (1 + abs(before.get(what, 0.0))))
    return [f"{what} grows without bound" for what in found]


def jumping_laws(mechanism: Mechanism, q: Array, v: Array, t: float) -> list[str]:
    """Laws that are quite different where velocities or coordinates are a little larger or smaller."""
    now, found = _law_values(mechanism, q, v, t), dict[str, float]()
    for i in range(min(mechanism.nv, MOST_TRIED)):
        little = np.zeros(mechanism.nv)
        little[i] = LITTLE
        for side in (-1, 1):
            moved = _law_values(mechanism, integrate(mechanism, q, side * little), v + side * little, t)
            for what in now:
                found[what] = max(found.get(what, 0.0), abs(moved[what] - now[what]))
    jumps = [what for what, change in found.items() if change > JUMP * max(abs(now[what]), math.sqrt(LITTLE))]
    return [f"{what} jumps there" for what in jumps]


def _law_values(mechanism: Mechanism, q: Array, v: Array, t: float) -> dict[str, float]:
    """The value of each law by what it is called; of a motion, the largest of the law and its derivatives."""
    motions = [(f"the motion of {body.joint.name}", body.laws) for body in mechanism.bodies if body.laws]
    motions += [("the motion of the ground", mechanism.ground)] if mechanism.ground else []
    found = dict[str, float]()
    for what, levels in motions:
        for each in zip(*levels, strict=True):
            values = [_value(law, {TIME: t}) for law in each]
            found[f"{what}, {each[0]}, or a derivative of it"] = max(values, key=_size)
    if not all(map(math.isfinite, found.values())):
        return found  # then nothing else has a value
    at = Evaluation(mechanism, q.tolist(), t)
    names = names_of(at, records(at, v.tolist()))
    return found | {f"{what}, {law},": _value(law, names) for what, law in laws_of(mechanism)}


def _value(law: Any, names: Mapping[Any, Any]) -> float:
    try:
        return float(law.evaluate(names))
    except (ArithmeticError, ValueError, MomentreeError):
        return math.nan


def _size(value: float) -> float:
    return abs(value) if math.isfinite(value) else math.inf
