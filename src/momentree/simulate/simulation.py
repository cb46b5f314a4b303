"""Simulation: a motion from a start, integrated block by block of samples. What `system.simulate` runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.assembly.state import State
from momentree.assembly.unreachable import beyond_reach
from momentree.errors import MomentreeError
from momentree.integrate.dense_output import at_fraction, sampled
from momentree.integrate.projection import CLOSED as CLOSED_AFTER
from momentree.integrate.records import Status
from momentree.integrate.stepper import Array, Integration
from momentree.simulate.blocks import Block, End, Refined, Statistics, WorkTerm
from momentree.simulate.driven_system import driven_system, events_with_inputs
from momentree.simulate.event_watch import EventWatch, Passage
from momentree.simulate.events import Watched, acting_events, events_by_name, watched, work_terms_with_events
from momentree.simulate.failure_reasons import reason_of_chattering, reason_of_failure, reason_of_small_steps
from momentree.simulate.impacts import after_events, energy_changes, inactive_after, locked_after
from momentree.simulate.input_schedule import InputSchedule
from momentree.simulate.inputs import NO_INPUTS, Inputs, given_to_run, inputs_of
from momentree.simulate.motion_kinks import Kink, kinks_between_steps
from momentree.simulate.open_loops import come_apart, most_open, while_closed
from momentree.simulate.phase import Phase
from momentree.simulate.refinement import refined_settings
from momentree.simulate.settings import Settings, settings_of
from momentree.simulate.stall_detection import StallDetector
from momentree.simulate.start_checks import checked_start
from momentree.simulate.step_plan import RECORDS, StepPlan, due_at
from momentree.simulate.stiffness import StiffnessWatch
from momentree.simulate.work_within_steps import with_finer_work
from momentree.structure.mechanism import Mechanism
from momentree.structure.switched_constraints import inactive_at_start

if TYPE_CHECKING:
    from momentree.system import System

MOST_NUMBERS = 250_000_000  # of all samples: 2 GB


def new_simulation(
    system: System,
    start: State,
    events: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Simulation:
    """A simulation at its start; everything that is wrong with start, settings, events and inputs is an error now."""
    at, given = given_to_run(system, start, parameters, inputs)
    return Simulation(at, start, settings_of(**settings), events or {}, inputs=inputs_of(at.mechanism, given.inputs))


class Simulation:
    """An integration in progress: `advance` gives the next block of samples, None when it has ended."""

    def __init__(
        self,
        system: System,
        start: State,
        settings: Settings,
        events: Mapping[str, Any],
        times: Array | None = None,
        inputs: Inputs = NO_INPUTS,
    ):
        """`times` are those of the samples, the start first, instead of what the settings say of them."""
        self._driven = driven_system(system, inputs)
        start = checked_start(self._driven._numeric, start)
        self.system, self.start, self._settings, self._events = system, start, settings, events_by_name(events)
        settings.check(start.t)
        self._inputs, self._schedule = inputs, InputSchedule(inputs, settings, float(start.t))
        self._failure: MomentreeError | None = None  # of a function that is an input, to be raised at the next block
        self.t_start, self.t_end = float(start.t), float(settings.t_end)
        self.end: End | None = None
        self._plan, self._chosen_times = StepPlan(settings, self.t_start), times
        events_of = [*watched(self._numeric, self._events), *acting_events(self._numeric)]
        events_of = events_with_inputs(self._numeric, events_of, inputs)
        self._watch = EventWatch(self._numeric, events_of, settings.rtol, start.mechanism.given.due)
        self._kinks = kinks_between_steps(self._numeric, self.t_start, settings)
        self._happened: list[tuple[str, float]] = []
        self._shortest, self._longest = math.inf, 0.0
        self.opened = np.zeros(4)  # by how much the joints that only the formulation closes have opened
        self._samples, self._due = 0, 1  # handed over so far, and the next of the times at which samples are due
        self._counts = np.zeros(3, dtype=np.int64)  # of phases that have ended
        self._worked, self._stiffness = np.zeros(len(self.work_terms)), StiffnessWatch(settings)
        self._plan.refuse_many(self._numbers, MOST_NUMBERS)
        carried = start.mechanism.given
        self._continued = carried.inactive is not None  # a run, in which conditions that are positive have acted
        off = carried.inactive if carried.inactive is not None else inactive_at_start(system.mechanism)
        self._phase = self._new_phase(carried.held, off)
        self._integration = self._begun(self.t_start, start.q, start.v, self._plan.first)
        self._stall = StallDetector(self.t_start)

    @property
    def settings(self) -> dict[str, Any]:
        """What it was made with."""
        events = {name: dataclasses.asdict(event) for name, event in self._events.items()}
        more = {name: one for name, one in (("events", events), ("inputs", self._inputs.settings)) if one}
        return {**dataclasses.asdict(self._settings), **more}

    @cached_property
    def work_terms(self) -> tuple[WorkTerm, ...]:
        """Whose work is counted."""
        return work_terms_with_events(self._driven.mechanism, self._numeric)

    @property
    def statistics(self) -> Statistics:
        """Steps and evaluations so far."""
        accepted, rejected, evaluations = (int(x) for x in self._counts + self._integration.counts[:3])
        found = self._stiffness.found, self._stiffness.switched
        return Statistics(accepted, rejected, evaluations, self._shortest, self._longest, *found)

    def refined(self, times: Array) -> Refined:
        """What a more accurate simulation from the same start gives at these times, the start first."""
        settings, by, share = refined_settings(self._settings, self._stiffness.switched is not None)
        blocks: list[Block] = []
        if len(times) > 1:
            settings = dataclasses.replace(settings, t_end=float(times[-1]))
            more = Simulation(self.system, self.start, settings, {}, times, self._inputs)
            blocks = list(iter(more.advance, None))
        return Refined(Block.joined(blocks, *self._sizes), by, share)

    def _begun(self, t: float, q: Array, v: Array, h: float) -> Integration:
        integration = self._phase.integration(t, q, v, h)
        integration.open = CLOSED_AFTER if integration.adaptive else self._most_open
        self._schedule.apply(integration)
        return integration

    def _new_phase(self, locked: Mapping[int, float], inactive: Collection[str]) -> Phase:
        return Phase(self._driven, self._stiffness.settings, locked, inactive, self._work_names, self._dense)

    @property
    def _work_names(self) -> list[str]:
        return [work_term.name for work_term in self.work_terms]

    @property
    def _numeric(self) -> Mechanism:
        """The mechanism in floats, with what its inputs are."""
        return self._driven._numeric

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism in floats, with the constraints that act now."""
        return self._phase.active

    @property
    def events(self) -> tuple[tuple[str, float], ...]:
        """What has happened so far."""
        return tuple(self._happened)

    @cached_property
    def _switched(self) -> list[str]:
        """The constraints that events switch."""
        return sorted({event.switched for event in self._watch.events if event.switched})

    @cached_property
    def _dense(self) -> bool:
        """Whether states within steps are needed."""
        return bool(self._watch.events) or self._plan.interpolated or self._chosen_times is not None

    @property
    def _coordinates_now(self) -> tuple[Array, Array]:
        """Coordinates and velocities of the system at the time that the integration has reached."""
        q, v = self._phase.moves(np.array([self._integration.t]), self._integration.state[None, :, 0])
        return q[0], v[0]

    # --- going on ---

    def advance(self) -> Block | None:
        """The next samples; the first block begins with the start."""
        blocks, before = list[Block](), self._samples
        while self.end is None and self._samples < before + RECORDS and len(blocks) < RECORDS:
            try:
                self._enter_segment()
            except MomentreeError as error:
                if not blocks:
                    raise
                self._failure = error
                break
            t = self._integration.t
            kink = next((kink for kink in self._kinks if t < kink.after), None)
            if kink is not None and kink.before - t < kink.after - kink.before:
                blocks.append(self._pass(kink))
                continue
            stop = min(self._schedule.stop(t), kink.before if kink else math.inf)
            blocks.append(self._advance_to(stop))
            if not stop < self.t_end or self._integration.t != stop:
                break
        if len(blocks) < 2:
            return blocks[0] if blocks else None
        return Block.joined(blocks, *self._sizes)

    def _enter_segment(self) -> None:
        """Let the inputs that change now have their new values; functions are called."""
        if self._failure is not None:
            raise self._failure
        if self._schedule:
            t = self._integration.t
            if self._schedule.enter(t, lambda: State(self._phase.active, *self._coordinates_now, t)):
                self._schedule.apply(self._integration)

    def _advance_to(self, stop: float) -> Block:
        start = self.t_start, self.start.q, self.start.v
        able = self._watch.able(self._phase) if self._samples == 0 else []
        at_once = (self._watch.due if self._continued else self._watch.positive)(able, *start)
        if at_once:
            return self._act_at_start(at_once)
        phase, integration, y_before = self._phase, self._integration, self._integration.state
        each = self._plan.steps_between_records(self._dense)
        status, records = integration.advance(stop, RECORDS, each, self._plan.longest)
        if status == Status.ARRIVED and stop < self.t_end:
            status = Status.FULL
            due = self._dense or int(integration.counts[0]) % each == 0
            records = records if due else records[:-1]  # where a fixed step ends at a knot, and no sample is due
        if status == Status.OPEN and self._loosened():
            status = Status.FULL
        at_once = (
            self._watch.rising(able, start, self._phase.moments_within(self._integration, records, y_before))
            if len(records)
            else []
        )
        if at_once:
            return self._act_at_start(at_once)
        acting = self._events_in(records, y_before)
        if acting:
            records = records[: acting[-1].step + 1]
        t, y = self._sampled(records, y_before, acting[-1] if acting else None)
        self._samples += len(t)
        q, v = phase.moves(t, y)
        self.opened = np.maximum(self.opened, phase.openings(t, y))
        block = Block(np.array(t), q, v, phase.work(t, q, y, self._worked))
        if acting:
            return self._acted(acting, block)
        if status not in (Status.FULL, Status.ARRIVED):
            reason = reason_of_failure(phase.active, status, integration, *self._coordinates_now, self._duration)
            self._finish("failed", reason, max([integration.t, *map(float, t[-1:])]))
            return while_closed(phase.active, self._settings, block, self._samples == len(block))
        if status == Status.ARRIVED:
            self._finish("arrived")
        slow, sure = self._pace()
        stiff = self.end is None and self._stiffness.found_in(phase, integration, records, self.t_end, bool(slow))
        too_slow = "" if self.end or stiff else self._stopped(slow, sure)
        stopped = come_apart(phase.active, self._settings, block, self._duration) or too_slow
        if stopped:
            self._finish("failed", stopped)
        elif stiff:
            self._switch()
        return block

    def _switch(self) -> None:
        """Begin a phase of the same mechanism with the integrator for stiff motions."""
        before, (q, v) = self._integration, self._coordinates_now
        self._worked = self._phase.work(np.array([before.t]), q[None], before.state[None, :, 0], self._worked)[0]
        self._counts += before.counts[:3]
        self._phase = self._new_phase(self._phase.locked_joints, self._phase.inactive)
        self._integration = self._begun(before.t, q, v, float(before.control[1]))
        self._integration.open = max(before.open, self._integration.open)

    @property
    def _duration(self) -> float:
        return self.t_end - self.t_start

    def _loosened(self) -> bool:
        """Let imprecise linkages stay as open as they must: where they close no better, and nothing is beyond reach."""
        integration = self._integration
        if not integration.adaptive or integration.open >= self._most_open:
            return False
        if beyond_reach(self._phase.active, self._coordinates_now[0], integration.t, self._duration):
            return False
        integration.open, integration.control[1] = self._most_open, self._plan.first
        return True

    @cached_property
    def _most_open(self) -> float:
        return most_open(self.system._numeric)

    def _pace(self) -> tuple[str, bool]:
        """What is wrong with the pace, "" where nothing is; and whether that is sure."""
        counts = (int(x) for x in (self._counts + self._integration.counts[:3])[:2])
        none = self._plan.fixed or self.end is not None
        return ("", False) if none else self._stall.checked(self._integration.t, self.t_end, *counts)

    def _stopped(self, slow: str, sure: bool) -> str:
        """Why it does not go on although nothing is wrong; "" where it may."""
        t = self._integration.t
        if slow:
            cause = reason_of_small_steps(self._phase.active, *self._coordinates_now, t, self._duration, sure)
            if cause:
                return f"{slow} {cause}"
        if self._samples * self._numbers > MOST_NUMBERS and self._settings.every is None:
            message = f"at t = {t:.9g} s there are {self._samples:,} samples, which take more than"
            return f"{message} {8 * MOST_NUMBERS / 1e9:g} GB: every step is one. Give every=, in seconds."
        return ""

    def _finish(self, reason: str, message: str = "", t: float | None = None) -> None:
        self.end = End(reason, self._integration.t if t is None else t, message, tuple(self._happened))

    # --- samples ---

    def _sampled(self, records: Array, y_before: Array, passed: Passage | None) -> tuple[Array, Array]:
        """Times and states of the samples that these records give, up to a passage; at first, the start too."""
        t, h, y, _ = self._integration.unpacked(records)
        if len(t):
            self._shortest, self._longest = min(self._shortest, float(h.min())), max(self._longest, float(h.max()))
        times, states = t, y[..., 0]
        if self._times is not None:
            due = self._times[self._due :]
            states = sampled(self._integration, records, due, y_before, self._phase.quaternions)[..., 0]
            times = due[: len(states)]
        if passed is not None:
            earlier = times < passed.t
            self._due += int((times <= passed.t).sum())
            at = np.array([passed.step]), np.array([passed.x])
            state = at_fraction(self._integration, records, y_before, *at, self._phase.quaternions)[..., 0]
            times, states = np.append(times[earlier], passed.t), np.concatenate([states[earlier], state])
        else:
            self._due += len(times)
        if self._schedule.cubic and self._dense and len(times):
            states = with_finer_work(self._phase, self._integration, records, y_before, times, states)
        if self._samples == 0:
            times, states = np.append(self.t_start, times), np.concatenate([y_before[None, :, 0], states])
        return times, states

    @cached_property
    def _times(self) -> Array | None:
        """When samples are due; None where every step is one."""
        if self._chosen_times is not None:
            return self._chosen_times
        return None if self._settings.every is None else self._plan.sample_times()

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """Coordinates, velocities and work terms of one sample."""
        return self.system.nq, self.system.nv, len(self.work_terms)

    @property
    def _numbers(self) -> int:
        """Of one sample."""
        return 1 + sum(self._sizes)

    # --- events ---

    def _events_in(self, records: Array, y_before: Array) -> list[Passage]:
        """Note what happened in these records; give the first passages that end the simulation or change it."""
        able = self._watch.able(self._phase)
        if not able or not len(records):
            return []
        passages = self._watch.first_passages(
            able, len(records), self._phase.moments_within(self._integration, records, y_before)
        )
        if any(passage.event.stop for passage in passages):  # that comes first: nothing changes there
            passages = [passage for passage in passages if not passage.event.acts]
        t, h, _, _ = self._integration.unpacked(records)
        acting: list[Passage] = []
        for passage in passages:
            at = due_at(self._times, float(t[passage.step] - (1 - passage.x) * h[passage.step]), self._plan.first)
            self._happened.append((passage.event.name, at))
            if passage.event.stop or passage.event.acts:
                acting.append(passage._replace(t=at))
        if acting:
            self._counts[0] -= len(t) - 1 - acting[-1].step  # steps beyond it did not happen
        return acting

    def _acted(self, acting: Sequence[Passage], block: Block) -> Block:
        """Do what events ask for: end, or go on with joints locked, constraints switched on and off."""
        t, q, v = acting[-1].t, block.q[-1], block.v[-1]
        ending = next((passage.event for passage in acting if passage.event.stop), None)
        if ending is not None:
            self._finish("event", f"'{ending.name}' happened", t)
            return block
        chattering = reason_of_chattering(self._happened, [passage.event.name for passage in acting], self._duration)
        if chattering:
            self._finish("failed", chattering, t)
            return block
        self._worked = block.work[-1].copy()
        after = self._act([passage.event for passage in acting], t, q, v)
        return Block.joined([block, after], *self._sizes)

    def _act(self, events: Sequence[Watched], t: float, q: Array, v: Array) -> Block:
        """What events do, and what that brings about at once: the sample after it."""
        while events and self.end is None:
            before = t, q, v
            q, v = self._changed(events, q, v, t)
            events = self._brought_about(before, (t, q, v))
        if self.end is None and t >= self.t_end:
            self._finish("arrived")
        return Block(np.array([t]), q[None], v[None], self._worked[None].copy())

    def _brought_about(self, before: tuple[float, Array, Array], after: tuple[float, Array, Array]) -> list[Watched]:
        """Note events whose expressions jump with the velocities, each once at an instant; give those that act."""
        t = after[0]
        jumped = self._watch.jumped(self._watch.able(self._phase), before, after)
        jumped = [event for event in jumped if (event.name, t) not in self._happened]
        ending = next((event for event in jumped if event.stop), None)
        acting = [event for event in jumped if event.acts and ending is None]
        self._happened += [(event.name, t) for event in jumped if event in acting or not event.acts]
        if ending is not None:
            self._finish("event", f"'{ending.name}' happened", t)
        return acting

    def _pass(self, kink: Kink) -> Block:
        """Go on behind a kink of a prescribed motion; where its velocity jumps, by an impact."""
        integration, phase = self._integration, self._phase
        if not kink.jumps:
            integration.skip_to(kink.after)
            return Block.joined([], *self._sizes)
        t, (q, v) = integration.t, self._coordinates_now
        self._worked = phase.work(np.array([t]), q[None], integration.state[None, :, 0], self._worked)[0]
        sampled = self._samples and (self._times is None or self._times[self._due - 1] == t)
        blocks = [] if sampled else [Block(np.array([t]), q[None], v[None], self._worked[None].copy())]
        v_after, work = phase.after_jump(q, v, t, kink.after)
        self._worked += [work.get(term.name, 0.0) for term in self.work_terms]
        self._counts += integration.counts[:3]
        self._integration = self._begun(kink.after, q, v_after, min(self._plan.first, float(integration.control[1])))
        if self._times is not None:
            self._due = int(np.searchsorted(self._times, kink.after, side="right"))
        events = self._brought_about((t, q, v), (kink.after, q, v_after))
        blocks.append(Block(np.array([kink.after]), q[None], v_after[None], self._worked[None].copy()))
        if events:
            blocks.append(self._act(events, kink.after, q, v_after))
        self._samples += sum(map(len, blocks))
        return Block.joined(blocks, *self._sizes)

    def _changed(self, events: Sequence[Watched], q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Begin the next phase; coordinates and velocities in it, and the change of energy in the account."""
        before, start = self._phase, (q, v)
        after = self._new_phase(locked_after(before, events), inactive_after(before, events))
        q, v = after_events(before, after, events, q, v, t, self._settings.tolerances[0])
        self._counts += self._integration.counts[:3]
        h = min(self._plan.first, float(self._integration.control[1]))
        self._phase = after
        self._integration = self._begun(t, q, v, h)
        (q,), (v,) = after.moves(np.array([t]), self._integration.state[None, :, 0])
        for event, change in zip(events, energy_changes(before, after, events, start, (q, v), t), strict=True):
            self._worked[self._work_names.index(event.name)] += change
        return q, v

    def _act_at_start(self, events: Sequence[Watched]) -> Block:
        """What switches do at the start: steps from there did not happen."""
        self._happened += [(event.name, self.t_start) for event in events]
        self._samples, self._integration.counts[:3] = 1, 0
        block = Block(np.array([self.t_start]), self.start.q[None], self.start.v[None], self._worked[None].copy())
        return self._acted([Passage(event, 0, 0.0, self.t_start) for event in events], block)

    # --- stopping and continuing ---

    def checkpoint(self) -> dict[str, Array]:
        """All that is needed to continue: the same numbers follow."""
        integration, names = self._integration, [event.name for event in self._watch.events]
        inactive = [i for i, name in enumerate(self._switched) if name in self._phase.inactive]
        return {
            "y": integration.y.copy(),
            "control": integration.control.copy(),
            "counts": integration.counts.copy(),
            "counted": self._counts.copy(),
            "worked": self._worked.copy(),
            "seen": np.array([self._samples, self._due, self._shortest, self._longest], dtype=float),
            "progress": self._stall.numbers(),
            "stiffness": self._stiffness.numbers(),
            "watched": self._watch.numbers(),
            "open": np.array([integration.open]),
            "held": np.array([[number, value] for number, value in self._phase.locked_joints.items()]).reshape(-1, 2),
            **({"inactive": np.array(inactive, dtype=np.int64)} if self._switched else {}),
            "happened": np.array([[names.index(name), t] for name, t in self._happened]).reshape(-1, 2),
            **self._schedule.checkpoint(),
        }

    def restore(self, checkpoint: dict[str, Array]) -> None:
        """Go on from there."""
        locked_joints = {int(number): float(value) for number, value in checkpoint["held"]}
        inactive = frozenset(self._switched[int(i)] for i in checkpoint.get("inactive", ()))
        self._stiffness = StiffnessWatch(self._settings, *checkpoint.get("stiffness", ()))
        if self._stiffness.switched or (locked_joints, inactive) != (self._phase.locked_joints, self._phase.inactive):
            self._phase = self._new_phase(locked_joints, inactive)
            self._integration = self._begun(self.t_start, self.start.q, np.zeros_like(self.start.v), self._plan.first)
        self._schedule.restore(checkpoint)
        integration = self._integration
        integration.y[:], integration.control[:] = checkpoint["y"], checkpoint["control"]
        integration.counts[:] = checkpoint["counts"]
        self._counts[:], self._worked = checkpoint["counted"], checkpoint["worked"].copy()
        samples, due, self._shortest, self._longest = (float(x) for x in checkpoint["seen"])
        self._samples, self._due, self.end = int(samples), int(due), None
        self._stall = StallDetector(*checkpoint.get("progress", (self.t_start,)))
        if "watched" in checkpoint:
            self._watch.restore(checkpoint["watched"])
        integration.open = float(checkpoint["open"][0]) if "open" in checkpoint else integration.open
        self._happened = [(self._watch.events[int(i)].name, float(t)) for i, t in checkpoint["happened"]]
        if integration.t >= self.t_end:
            self._finish("arrived")
