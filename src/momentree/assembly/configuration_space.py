"""Steps in configuration space, along the velocities of the tree, and where assemblies begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from momentree.assembly.configuration import Array
from momentree.equations.kinematics import integrated, velocities_between
from momentree.model.start import inside_limits
from momentree.structure.mechanism import Mechanism


def reference(mechanism: Mechanism) -> Array:
    """Every joint at its reference: the second frame on the first."""
    q = np.zeros(mechanism.nq)
    for body in mechanism.bodies:
        if body.laws is None:
            q[body.q] = body.joint.type.reference()
    return q


def beginning(mechanism: Mechanism) -> Array:
    """The reference; joints whose limits do not allow it are inside of these. Where limits are (k,), k x nq."""
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
    return np.array(integrated(mechanism, q, step), dtype=float)


def difference(mechanism: Mechanism, q: Array, later: Array) -> Array:
    """The step that `integrate` needs from q to later."""
    return np.array(velocities_between(mechanism, q, later), dtype=float)
