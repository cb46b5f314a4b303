"""Impacts: what changes at once when joints lock and when constraints start or cease to act.

A constraint that ceases leaves coordinates and velocities as they are. A joint that locks, and a constraint that
starts to act, change velocities by an impact impulse: they become the nearest ones, by kinetic energy, that all
constraints allow. The impulse of a latch acts along the locked velocity alone, so that the other generalized momenta
stay as they are; that of a constraint is J' eta, with the constraint impulses eta.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

import numpy as np

from momentree.assembly.samples import Samples
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta
from momentree.errors import MomentreeError
from momentree.integrate.stepper import Array
from momentree.simulate.events import Watched
from momentree.simulate.phase import Phase
from momentree.structure.mechanism import Mechanism
from momentree.structure.switched_constraints import named_constraints

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


def energy(mechanism: Mechanism, q: Array, v: Array, t: float) -> float:
    """Kinetic and potential energy (J) of a mechanism at one moment."""
    return float(Samples(mechanism, q[None], v[None], np.array([t])).energy().total[0])
