"""Latches: the impact at which joints lock, which changes velocities at once.

The impact impulse acts along the locked velocities alone, so that the other generalized momenta stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta
from momentree.integrate.stepper import Array
from momentree.simulate.events import Watched
from momentree.simulate.phase import Phase
from momentree.structure.mechanism import Mechanism


def locked_at(events: Sequence[Watched]) -> dict[int, float]:
    """The bodies whose joints lock, by number, and the coordinates at which they do."""
    return {event.latch: event.at for event in events}


def after_impact(
    mechanism: Mechanism, before: Phase, events: Sequence[Watched], q: Array, v: Array, t: float
) -> tuple[Array, Array]:
    """Coordinates of the system after the impact, and momenta of the joints that are still free.

    `before` is the phase that ends with it, q and v are coordinates and velocities of the system then.
    """
    p = np.array(momenta(Evaluation(before.mechanism, q[before.q].tolist(), t), v[before.v].tolist()), dtype=float)
    bodies = [mechanism.bodies[event.latch - 1] for event in events]
    p = p[~np.isin(before.v, [i for body in bodies for i in range(body.v.start, body.v.stop)])]
    q = q.copy()
    for body, event in zip(bodies, events, strict=True):
        q[body.q] = event.at
    return q, p
