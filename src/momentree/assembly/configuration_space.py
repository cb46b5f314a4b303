"""Steps in configuration space, along the velocities of the tree, and where assemblies begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentree.assembly.configuration import Array
from momentree.model.start import inside_limits
from momentree.structure.mechanism import Mechanism


def reference(mechanism: Mechanism) -> Array:
    """Every joint at its reference, the second frame on the first; inside its limits where these do not allow it.

    In batches, where limits may be (k,), the coordinates are k x nq.
    """
    q: list[Any] = [0.0] * mechanism.nq
    for body in mechanism.bodies:
        if body.laws is None:
            joint = body.joint.type
            q[body.q] = joint.reference()
            if joint.limits and len(joint.coordinates) == len(joint.velocities):
                q[body.q] = [inside_limits(low, high) for low, high in joint.limits]
    return np.stack(np.broadcast_arrays(*q), axis=-1).astype(float) if q else np.zeros(0)


def integrate(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """The coordinates after a step along the velocities of the tree; quaternions stay unit."""
    moved = q.copy()
    for body in mechanism.bodies:
        if body.laws is None:
            moved[body.q] = body.joint.type.integrate(tuple(q[body.q]), tuple(step[body.v]))
    return moved


def difference(mechanism: Mechanism, q: Array, later: Array) -> Array:
    """The step that `integrate` needs from q to later."""
    step = np.zeros(mechanism.nv)
    for body in mechanism.bodies:
        if body.laws is None:
            step[body.v] = body.joint.type.difference(tuple(q[body.q]), tuple(later[body.q]))
    return step
