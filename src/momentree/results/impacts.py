"""Impacts of a run: where joints lock and constraints start to act, their impulses and the energy that they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from momentree.assembly.configuration import constraint_names
from momentree.simulate.events import acting_events
from momentree.simulate.impacts import impact_impulses

if TYPE_CHECKING:
    from momentree.results.run import Run, RunPhase


@dataclass(frozen=True, eq=False)
class Impact:
    """Velocities that change at once.

    | field       | meaning                                                                                       |
    |-------------|-----------------------------------------------------------------------------------------------|
    | t           | when (s)                                                                                      |
    | events      | what caused it: ("latch of B",), ("gear 1 switched on",)                                      |
    | impulses    | generalized impulse along each velocity of the tree, by name (N s, N m s): the jump of M u    |
    | constraints | constraint impulse along each constraint, by name (N s, N m s), on the second body of a joint |
    | lost        | kinetic energy that it takes (J)                                                              |

    Impulses along redundant constraints are not determined; one choice is given, as of their forces.
    """

    t: float
    events: tuple[str, ...]
    impulses: Mapping[str, float]
    constraints: Mapping[str, float]
    lost: float


def impacts_of(run: Run) -> Iterator[Impact]:
    """All impacts of a run, from the samples before and after each."""
    causes = {event.name for event in acting_events(run.mechanism) if event.latch or event.turns_on}
    phases = list(run.phases())
    for phase in phases[1:]:
        events = tuple(name for name in phase.begun_by if name in causes)
        if events:
            yield _impact(run, phase, events)


def _impact(run: Run, phase: RunPhase, events: tuple[str, ...]) -> Impact:
    i, mechanism = phase.part.start, run.mechanism_at(phase.part.start)
    t, q, v = float(run.t[i]), run.q[i], run.v[i]
    impulses, eta = impact_impulses(mechanism, phase.held, q, run.v[i - 1], v, t)
    kinetic = run.energy.kinetic
    return Impact(
        t,
        events,
        {str(name): float(x) for name, x in zip(mechanism.velocities, impulses, strict=True)},
        {name: float(x) for name, x in zip(constraint_names(mechanism, on_velocities=True), eta, strict=True)},
        float(kinetic[i - 1] - kinetic[i]),
    )
