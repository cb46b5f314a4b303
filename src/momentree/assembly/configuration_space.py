"""Steps in configuration space, along the velocities of the tree, and the reference configuration."""

from __future__ import annotations

import numpy as np

from momentree.assembly.configuration import Array
from momentree.equations.kinematics import integrated, velocities_between
from momentree.structure.mechanism import Mechanism


def reference(mechanism: Mechanism) -> Array:
    """Every joint at its reference: the second frame on the first."""
    q = np.zeros(mechanism.nq)
    for body in mechanism.bodies:
        if body.laws is None:
            q[body.q] = body.joint.type.reference()
    return q


def integrate(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """The coordinates after a step along the velocities of the tree; quaternions stay unit."""
    return np.array(integrated(mechanism, q, step), dtype=float)


def difference(mechanism: Mechanism, q: Array, later: Array) -> Array:
    """The step that `integrate` needs from q to later."""
    return np.array(velocities_between(mechanism, q, later), dtype=float)
