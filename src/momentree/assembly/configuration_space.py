"""Steps in configuration space, along the velocities of the tree, and the reference configuration."""

from __future__ import annotations

import numpy as np

from momentree.assembly.configuration import Array
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
