"""Events of a simulation in progress: those that happen within its steps, where velocities jump, and at its start.

An expression that is zero where a phase begins, but for errors of the integration, is at rest: constraints may hold it
there, and round-off moves it to and fro. It must leave zero before it can cross it again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.integrate.stepper import Array
from momentree.simulate.events import Watched, jumps, values_at
from momentree.simulate.phase import Phase, Within
from momentree.structure.mechanism import Mechanism

WITHIN = 4  # parts of a step that are searched for a zero crossing
TOGETHER = 1e-9  # of a step: events nearer to each other happen at the same time
ZERO = 1e-12  # conditions as small as that are zero at the start
DUE = 1e-9  # of an event that another run had come to, by round-off
AT_REST, AT_REST_BY_TOLERANCE = 1e-11, 0.1  # of what an expression has been, and by rtol: as small as that, it is zero
POLE = 1e3  # of what an expression is around: where it is larger on both sides of a change of sign, it has a pole


class Passage(NamedTuple):
    """An event that happened: which, in which step, and at which part of it."""

    event: Watched
    step: int
    x: float
    t: float


class EventWatch:
    """The `events` of one simulation, in the order in which they were given, and what is to be known of each."""

    def __init__(self, mechanism: Mechanism, events: Sequence[Watched], rtol: float, due: Collection[str] = ()):
        self._mechanism, self.events, self._due = mechanism, list(events), due
        self._small = max(AT_REST, AT_REST_BY_TOLERANCE * rtol)
        self._largest = np.zeros(len(self.events))  # what each expression has been
        self._resting = np.zeros(len(self.events), dtype=bool)

    def able(self, phase: Phase) -> list[Watched]:
        """Those that can happen now: joints are not locked twice, nor constraints switched where they are."""
        free = (event for event in self.events if event.latch not in phase.locked_joints)
        return [event for event in free if not event.switched or (event.switched in phase.inactive) == event.turns_on]

    # --- within steps ---

    def first_passages(self, able: Sequence[Watched], steps: int, within: Within) -> list[Passage]:
        """What happens in so many steps, in the order of time, up to the first events that end or change the motion."""
        parts, crossings = np.linspace(0, 1, WITHIN + 1), list[Passage]()
        moments = within(np.repeat(np.arange(steps), WITHIN + 1), np.tile(parts, steps))
        sizes = np.zeros((steps, len(self.events)))
        for i, event in enumerate(self.events):
            if event not in able:
                continue
            values = values_at(self._mechanism, event.expression, *moments)
            g = self._once_left(i, values).reshape(steps, WITHIN + 1)
            sizes[:, i] = np.where(np.isfinite(g), np.abs(g), 0.0).max(axis=1)
            for step, part in np.argwhere(_crosses(event, g[:, :-1], g[:, 1:])):
                passage = self._located(event, int(step), parts[part : part + 2], within)
                if passage is not None:
                    crossings.append(passage)
                    if event.stop or event.acts:
                        break
        crossings.sort(key=lambda passage: (passage.step, passage.x))
        first = next((passage for passage in crossings if passage.event.stop or passage.event.acts), None)
        if first is not None:
            crossings = [p for p in crossings if (p.step, p.x) <= (first.step, first.x + TOGETHER)]
        happened = sizes if first is None else sizes[: first.step + 1]
        self._largest = np.maximum(self._largest, happened.max(axis=0, initial=0.0))
        return crossings

    def _once_left(self, i: int, g: Array) -> Array:
        """The values of an expression, zero as long as it rests."""
        if not self._resting[i]:
            return g
        left = np.flatnonzero(np.abs(g) > self._small * self._largest[i])
        self._resting[i] = not len(left)
        first = left[0] if len(left) else len(g)
        return np.where(np.arange(len(g)) < first, 0.0, g)

    def _located(self, event: Watched, step: int, ends: Array, within: Within) -> Passage | None:
        """Where an expression passes through 0, by bisection to round-off; None at a pole, or where it has no value."""
        steps = np.full(2, step)
        around = self._at(event, steps, ends, within)
        low, high = (float(x) for x in ends)
        for _ in range(60):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            same = np.sign(self._at(event, steps[:1], np.array([middle]), within)[0]) == np.sign(around[0])
            low, high = (middle, high) if same else (low, middle)
        g = np.abs(self._at(event, steps, np.array([low, high]), within))
        if not np.isfinite(g).all() or g.min() > POLE * np.abs(around).max():
            return None
        closing = (self._mechanism.whole or self._mechanism).loop_numbers
        if any(reference.name in closing for reference in event.expression.references()):
            both = within(steps, np.array([max(0.0, high - TOGETHER), high]))
            if jumps(self._mechanism, event.expression, *both):  # an angle of a closing joint passes pi
                return None
        return Passage(event, step, high, 0.0)

    def _at(self, event: Watched, step: NDArray[np.intp], x: Array, within: Within) -> Array:
        return values_at(self._mechanism, event.expression, *within(step, x))

    # --- at one instant ---

    def value(self, event: Watched, t: float, q: Array, v: Array) -> float:
        """The expression of an event at one moment."""
        return float(values_at(self._mechanism, event.expression, np.array([t]), q[None], v[None])[0])

    def jumped(
        self, able: Sequence[Watched], before: tuple[float, Array, Array], after: tuple[float, Array, Array]
    ) -> list[Watched]:
        """The events whose expressions pass through zero where velocities jump; the motion goes on from there."""
        found = []
        for i, event in enumerate(self.events):
            a, b = self.value(event, *before), self.value(event, *after)
            self._largest[i] = np.nanmax([self._largest[i], *(abs(x) for x in (a, b) if np.isfinite(x))])
            small = self._small * self._largest[i]
            self._resting[i] = abs(b) <= small
            a, b = (0.0 if abs(x) <= small else x for x in (a, b))
            if event in able and not event.latch and _crosses(event, a, b):
                found.append(event)
        return found

    def positive(self, able: Sequence[Watched], t: float, q: Array, v: Array) -> list[Watched]:
        """The switches whose conditions are positive already."""
        return [event for event in able if event.switched and self.value(event, t, q, v) > ZERO]

    def due(self, able: Sequence[Watched], t: float, q: Array, v: Array) -> list[Watched]:
        """The events before which another run left off; not where values were given with which they are elsewhere."""
        return [event for event in able if event.name in self._due and abs(self.value(event, t, q, v)) <= DUE]

    def rising(self, able: Sequence[Watched], start: tuple[float, Array, Array], within: Within) -> list[Watched]:
        """The switches whose conditions rise from zero at the start, as the first step shows."""
        zero = [event for event in able if event.switched and abs(self.value(event, *start)) <= ZERO]
        if not zero:
            return []
        (t,), (q,), (v,) = within(np.array([0]), np.array([1 / WITHIN]))
        return [event for event in zero if self.value(event, t, q, v) > max(0.0, self.value(event, *start))]

    # --- stopping and continuing ---

    def numbers(self) -> Array:
        """All that is to be known to continue."""
        return np.array([self._largest, self._resting])

    def restore(self, numbers: Array) -> None:
        """Go on from there."""
        self._largest, self._resting = numbers[0].copy(), numbers[1].astype(bool)


def _crosses(event: Watched, a: Array | float, b: Array | float) -> NDArray[np.bool_]:
    """Whether an expression that goes from a to b passes through zero in the direction that counts."""
    a, b = np.asarray(a), np.asarray(b)
    rising, falling = (a < 0) & (b >= 0), (a > 0) & (b <= 0)
    both: NDArray[np.bool_] = {1: rising, -1: falling, 0: rising | falling}[event.sign]
    return both
