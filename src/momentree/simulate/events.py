"""Events: zero crossings of expressions of time, coordinates and velocities; latches and switches act at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from momentree.assembly.configuration import Array
from momentree.assembly.samples import Samples
from momentree.compile.trace.right_hand_sides import work_terms_of
from momentree.equations.kinematics import motion_over_ground
from momentree.errors import MomentreeError, all_choices, spell_checked
from momentree.model.check import known_references
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.switches import frame_references
from momentree.model.values import TIME, Mistake
from momentree.simulate.blocks import WorkTerm
from momentree.simulate.settings import of_python
from momentree.structure.mechanism import Attached, Mechanism

_DIRECTIONS = {"rising": 1, "falling": -1, "either": 0}


@spell_checked
@dataclass(frozen=True)
class Event:
    """An event to detect: `Event("A - 1", stop=True, direction="rising")`.

    | field     | meaning                                                                    |
    |-----------|----------------------------------------------------------------------------|
    | when      | an expression of t, parameters, coordinates and velocities: it crosses 0   |
    | stop      | whether the simulation ends there                                          |
    | direction | "rising", "falling" or "either"                                            |
    """

    when: str
    stop: bool = False
    direction: str = "either"

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, of_python(value))


class Watched(NamedTuple):
    """An event of one mechanism: its expression, the sign of its crossing (0: either), and its effect."""

    name: str
    expression: Expression
    sign: int
    stop: bool
    latch: int = 0  # the body whose joint is locked, if one is
    at: float = 0.0  # and where
    switched: str = ""  # the constraint that starts or ceases to act, if one does
    turns_on: bool = False  # which of both

    @property
    def acts(self) -> bool:
        """Whether it changes the mechanism."""
        return bool(self.latch or self.switched)


def events_by_name(events: Mapping[str, Any]) -> dict[str, Event]:
    """Events by name, as a user may give them: an expression, an Event, or the fields of one."""
    named: dict[str, Event] = {}
    for name, event in events.items():
        if isinstance(event, str):
            event = Event(event)
        elif isinstance(event, Mapping) and set(event) <= {"when", "stop", "direction"} and "when" in event:
            event = Event(**event)
        if not isinstance(event, Event):
            raise MomentreeError(f"event '{name}': give an expression, or Event(when, stop, direction), not {event!r}.")
        if event.direction not in _DIRECTIONS:
            listed = all_choices(str(event.direction), list(_DIRECTIONS))
            raise MomentreeError(f"event '{name}': direction {event.direction!r} is not known.{listed}")
        if not isinstance(event.stop, (bool, np.bool_)):
            raise MomentreeError(f"event '{name}': stop must be True or False, not {event.stop!r}.")
        named[name] = replace(event, stop=bool(event.stop))
    return named


def latch_events(mechanism: Mechanism) -> list[Watched]:
    """The latches of a mechanism as events: a joint's coordinate arrives."""
    events = []
    for latch in mechanism.latches:
        body = mechanism.bodies[latch.body - 1]
        distance = Expression("reference", (body.joint.coordinates[0],)) - latch.at
        events.append(Watched(f"latch of {body.joint.name}", distance, 0, False, latch.body, float(latch.at)))
    return events


def switch_events(mechanism: Mechanism) -> list[Watched]:
    """The switches of a mechanism as events: their conditions rise through zero."""
    whole, events = mechanism.whole or mechanism, []
    for switch in mechanism.switches:
        name = f"{switch.name} switched {'on' if switch.turns_on else 'off'}"
        if not switch.turns_on and switch.name in whole.by_joint:
            name = f"release of {switch.name}"
        effect = {"switched": switch.name, "turns_on": switch.turns_on}
        events.append(Watched(name, switch.when, 1, False, **effect))  # type: ignore[arg-type]
    return events


def acting_events(mechanism: Mechanism) -> list[Watched]:
    """All events that change the mechanism."""
    return [*latch_events(mechanism), *switch_events(mechanism)]


def work_terms_with_events(mechanism: Mechanism, numeric: Mechanism) -> tuple[WorkTerm, ...]:
    """Whose work is counted: forces, dampers and what else is of the equations; latches and switches.

    The first are those that machine code computes, of the mechanism with its free parameters: no value decides on one.
    """
    terms = [WorkTerm(name, kind) for name, kind in work_terms_of(mechanism.whole or mechanism)]
    acting = [WorkTerm(e.name, "latch" if e.latch else "switch") for e in acting_events(numeric)]
    return (*terms, *dict.fromkeys(acting))


def watched(mechanism: Mechanism, events: Mapping[str, Event]) -> list[Watched]:
    """The events that a user asks for, in numbers; one error reports everything that is wrong with them."""
    joints = (one.joint for one in (mechanism.whole or mechanism).by_joint.values())
    references = known_references(joint for joint in joints if joint is not None)
    for name, _ in mechanism.frames:
        references.update(frame_references(name))
    resolved, problems = [], []
    own = {event.name for event in acting_events(mechanism)}
    for name, event in events.items():
        if name in own:
            problems.append(f"event '{name}': an event of the model itself has this name. Choose another.")
        try:
            expression = mechanism.values.law(event.when, references, "when")
        except Mistake as mistake:
            problems.append(f"event '{name}': {mistake}")
            continue
        resolved.append(Watched(name, expression, _DIRECTIONS[event.direction], event.stop))
    if problems:
        raise MomentreeError("\n".join(problems))
    return resolved


def values_at(mechanism: Mechanism, expression: Expression, t: Array, q: Array, v: Array) -> Array:
    """An expression at many samples."""
    names = names_at(mechanism, t, q, v)
    named = {reference.name for reference in expression.references()}
    for name, frame in mechanism.frames:
        if name in named:
            names.update(zip(frame_references(name), frame_motion(Samples(mechanism, q, v, t), frame), strict=True))
    for joint, samples in _closing(mechanism, expression, t, q, v):
        names.update(zip(joint.coordinates, samples.coordinates_of(joint.name).T, strict=True))
        names.update(zip(joint.velocities, samples.velocities_of(joint.name).T, strict=True))
    with np.errstate(all="ignore"):  # where an expression has no finite value, nothing happens
        g = np.asarray(expression.evaluate(names), dtype=float)
    return np.broadcast_to(g, t.shape)


def frame_motion(samples: Samples, frame: Attached) -> list[Array]:
    """Position, velocity and angular velocity of a frame relative to the ground, in its axes."""
    vectors = motion_over_ground(samples.bodies, frame)
    return [samples.column(component) for vector in vectors for component in vector]


def jumps(mechanism: Mechanism, expression: Expression, t: Array, q: Array, v: Array) -> bool:
    """Whether an angle of a closing joint that an expression names passes pi between the first and last sample."""
    for joint, samples in _closing(mechanism, expression, t, q, v):
        moved = np.ptp(samples.coordinates_of(joint.name)[[0, -1]], axis=0)
        if any(unit == "rad" and by > np.pi for unit, by in zip(joint.type.units, moved, strict=True)):
            return True
    return False


def _closing(
    mechanism: Mechanism, expression: Expression, t: Array, q: Array, v: Array
) -> Iterator[tuple[Joint, Samples]]:
    """The joints that an expression names and that close loops, each with the samples that know its coordinates."""
    whole, samples = mechanism.whole or mechanism, None
    for name in sorted({reference.name for reference in expression.references()} & whole.loop_numbers.keys()):
        joint = whole.loops[whole.loop_numbers[name]].joint
        samples = samples or Samples(whole, q, v, t)
        assert joint is not None  # loop_numbers has only loops that a joint closes
        yield joint, samples


def names_at(mechanism: Mechanism, t: Array, q: Array, v: Array) -> dict[Reference, Any]:
    """Values of the names in expressions, for many samples: arrays along the first axis."""
    names: dict[Reference, Any] = {TIME: t, **{Reference(name): signal(t) for name, signal in mechanism.signals}}
    names.update({name: q[:, i] for i, name in enumerate(mechanism.coordinates)})
    names.update({name: v[:, i] for i, name in enumerate(mechanism.velocities)})
    for body in mechanism.bodies:
        if body.laws:
            levels = (tuple(law.evaluate({TIME: t}) for law in level) for level in body.laws)
            at = body.joint.type.prescribed(*levels)
            names.update(zip(body.joint.coordinates, at.q, strict=True))
            names.update(zip(body.joint.velocities, at.u, strict=True))
    return names
