"""Impacts: what changes at once when joints lock and when constraints start or cease to act.

A constraint that ceases leaves coordinates and velocities as they are. A joint that locks, and a constraint that
starts to act, change velocities by an impact impulse: they become the nearest ones, by kinetic energy, that all
constraints allow. The impulse of a latch acts along the locked velocity alone, so that the other generalized momenta
stay as they are; that of a constraint is J' eta, with the constraint impulses eta.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from momentree.assembly.configuration import Configuration, rows_of
from momentree.assembly.samples import Samples
from momentree.equations.constraint_forces import every_multiplier
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta, moving_bodies
from momentree.errors import MomentreeError
from momentree.integrate.stepper import Array
from momentree.simulate.events import Watched
from momentree.simulate.phase import Phase
from momentree.structure.locked_joints import free_indices, locked
from momentree.structure.mechanism import Mechanism
from momentree.structure.switched_constraints import named_constraints, switched

OPEN, OPEN_BY_TOLERANCE = 1e-6, 100.0  # by the size of the mechanism, and by rtol: closed where it starts to act


def locked_after(before: Phase, events: Sequence[Watched]) -> dict[int, float]:
    """The bodies whose joints are locked after these events, by number, and the coordinates at which they are."""
    return {**before.locked_joints, **{event.latch: event.at for event in events if event.latch}}


def inactive_after(before: Phase, events: Sequence[Watched]) -> frozenset[str]:
    """The constraints that do not act after these events."""
    off = {event.switched for event in events if event.switched and not event.turns_on}
    on = {event.switched for event in events if event.switched and event.turns_on}
    return (before.inactive | off) - on


def after_events(
    before: Phase, after: Phase, events: Sequence[Watched], q: Array, v: Array, t: float, rtol: float
) -> tuple[Array, Array]:
    """Coordinates and velocities of the system after events, where one phase ends and the next begins."""
    mechanism, starting = before.active, {event.switched for event in events if event.turns_on}
    locking = [event for event in events if event.latch]
    if not locking and not starting:
        return q, v
    p = np.array(momenta(Evaluation(before.mechanism, q[before.q].tolist(), t), v[before.v].tolist()), dtype=float)
    bodies = [mechanism.bodies[event.latch - 1] for event in locking]
    p = p[~np.isin(before.v, [i for body in bodies for i in range(body.v.start, body.v.stop)])]
    q = q.copy()
    for body, event in zip(bodies, locking, strict=True):
        q[body.q] = event.at
    if starting:
        refuse_open(after.active, starting, q, t, max(OPEN, OPEN_BY_TOLERANCE * rtol))
        q = after.closed_configuration(q, t)
    return q, after.velocities_from_momenta(q, p, t)


def impact_impulses(
    mechanism: Mechanism, held: Mapping[int, float], q: Array, before: Array, after: Array, t: float
) -> tuple[Array, Array]:
    """The generalized impulses along all velocities, and constraint impulses eta, where velocities change at once.

    `mechanism` has the constraints that act afterwards; the joints of the bodies in `held` are locked then. The
    elimination gives eta from the momenta of the others.
    """
    at = Evaluation(mechanism, q.tolist(), t)
    p, p_after = (np.array(momenta(at, v.tolist()), dtype=float) for v in (before, after))
    coordinates, velocities = free_indices(mechanism, held)
    free = locked(mechanism, held) if held else mechanism
    if not free.constrained:
        return p_after - p, np.zeros(0)
    moving = moving_bodies(Evaluation(free, q[coordinates].tolist(), t), p[velocities].tolist())
    return p_after - p, np.array(every_multiplier(free, moving), dtype=float)


def refuse_open(mechanism: Mechanism, starting: Collection[str], q: Array, t: float, limit: float) -> None:
    """A constraint on positions must be closed where it starts to act."""
    for name in sorted(starting):
        loops, constraints = named_constraints(mechanism, [name])
        alone = dataclasses.replace(mechanism, loops=tuple(loops), constraints=tuple(constraints))
        at = Samples(alone, q[None], np.zeros((1, mechanism.nv)), np.array([t]))
        length, angle = at.openings()[0, :2]
        if not (length <= limit * mechanism.size and angle <= limit):
            clutch = ", or constrain velocities, as a clutch does" if constraints else ""
            raise MomentreeError(
                f"at t = {t:.9g} s '{name}' is switched on, but it is open: closure error {max(length, angle):.3g} "
                f"(m, rad). Switch it on where it closes{clutch}."
            )


def energy_changes(
    before: Phase,
    after: Phase,
    events: Sequence[Watched],
    start: tuple[Array, Array],
    end: tuple[Array, Array],
    t: float,
) -> list[float]:
    """The change of kinetic and potential energy (J) by each of the events at one instant; together they are all of it.

    Of what locks or starts to act, impulse times (v_before + v_after) / 2, along the locked velocity or along its rows;
    of a joint that starts or ceases to act, the potential energy of its springs and stops.
    """
    mechanism, (q, v) = after.active, end
    whole = energy(mechanism, q, v, t) - energy(before.active, *start, t)
    if len(events) == 1:
        return [whole]
    impulses, eta = impact_impulses(mechanism, after.locked_joints, q, start[1], v, t)
    J, middle = Configuration(mechanism, q, t=t).jacobian(on_velocities=True), (start[1] + v) / 2
    along_rows, along_joints = eta * (J @ middle), (impulses - J.T @ eta) * middle
    rows = [*(loop for loop in mechanism.loops for _ in rows_of(loop, on_velocities=True)), *mechanism.constraints]
    acting, inactive, changes = before.active, {*before.inactive}, list[float]()
    for event in events:
        change = float(along_joints[mechanism.bodies[event.latch - 1].v].sum()) if event.latch else 0.0
        if event.turns_on:
            named = [each for part in named_constraints(mechanism, [event.switched]) for each in part]
            change += float(along_rows[[any(row is each for each in named) for row in rows]].sum())
        if event.switched:
            inactive = inactive - {event.switched} if event.turns_on else inactive | {event.switched}
            acting, earlier = switched(acting, inactive), acting
            change += energy(acting, q, v, t) - energy(earlier, q, v, t)
        changes.append(change)
    first = next((i for i, event in enumerate(events) if event.latch or event.turns_on), 0)
    changes[first] += whole - sum(changes)  # what coordinates move, and round-off
    return changes


def energy(mechanism: Mechanism, q: Array, v: Array, t: float) -> float:
    """Kinetic and potential energy (J) of a mechanism at one moment."""
    return float(Samples(mechanism, q[None], v[None], np.array([t])).energy().total[0])
