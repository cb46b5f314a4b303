"""The fastest motion that the equations have near a state: the one that steps of an explicit method have to follow.

Small changes of a state obey d/dt (dq; dv) = (dv; K dq + D dv), K and D the derivatives of the accelerations. The
eigenvalue of the largest size is the rate of the fastest motion; its eigenvector says which joint moves, and which law
changes most.
"""

from __future__ import annotations

import cmath
import math

import numpy as np

from momentree.assembly.configuration import Array
from momentree.assembly.configuration_space import integrate
from momentree.equations.articulated import forward_dynamics
from momentree.equations.evaluation import Evaluation
from momentree.simulate.law_checks import MOST_TRIED, law_values
from momentree.structure.mechanism import Mechanism

LITTLE = 1e-6  # m, rad, m/s, rad/s: by so much a state is changed


def fastest_motion(mechanism: Mechanism, q: Array, v: Array, t: float) -> str:
    """The fastest motion in words, with its rate and the law that changes most; "" where it is not known."""
    nv = mechanism.nv
    if not 0 < nv <= MOST_TRIED:
        return ""
    try:
        with np.errstate(all="ignore"):
            rates, motions = np.linalg.eig(_changes(mechanism, q, v, t))
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        return ""
    k = int(np.abs(rates).argmax())
    rate, direction = complex(rates[k]), motions[:, k]
    i = int(np.abs(direction[nv:]).argmax())
    joint = next(body.joint.name for body in mechanism.bodies if body.v.start <= i < body.v.stop)
    how = f"swings at {abs(rate):.2g} rad/s" if abs(rate.imag) > abs(rate.real) else ""
    how = how or f"{'dies out' if rate.real < 0 else 'grows'} at {abs(rate):.2g} 1/s"
    law = _steepest_law(mechanism, q, v, t, direction)
    return f"the fastest motion there is that of joint '{joint}', which {how}{law and f': {law} changes most'}"


def _changes(mechanism: Mechanism, q: Array, v: Array, t: float) -> Array:
    """The matrix of d/dt (dq; dv)."""
    nv = mechanism.nv
    matrix = np.zeros((2 * nv, 2 * nv))
    matrix[:nv, nv:] = np.eye(nv)
    for i, little in enumerate(LITTLE * np.eye(nv)):
        columns = ((integrate(mechanism, q, side * little), v) for side in (1, -1))
        matrix[nv:, i] = np.subtract(*(_accelerations(mechanism, *at, t) for at in columns)) / (2 * LITTLE)
        columns = ((q, v + side * little) for side in (1, -1))
        matrix[nv:, nv + i] = np.subtract(*(_accelerations(mechanism, *at, t) for at in columns)) / (2 * LITTLE)
    return matrix


def _accelerations(mechanism: Mechanism, q: Array, v: Array, t: float) -> Array:
    return np.array(forward_dynamics(Evaluation(mechanism, q.tolist(), t), v.tolist(), [0.0] * len(v)), dtype=float)


def _steepest_law(mechanism: Mechanism, q: Array, v: Array, t: float, direction: Array) -> str:
    """The law that changes most along it, at a phase where neither coordinates nor velocities pass through zero."""
    real = (direction / direction[int(np.abs(direction).argmax())] * cmath.exp(0.25j * math.pi)).real
    dq, dv = LITTLE * real[: mechanism.nv], LITTLE * real[mechanism.nv :]
    one, other = (law_values(mechanism, integrate(mechanism, q, side * dq), v + side * dv, t) for side in (1, -1))
    changes = {law: abs(one[law] - other.get(law, one[law])) for law in one}
    law = max(changes, key=lambda each: changes[each], default="")
    return law.rstrip(",") if changes.get(law) else ""
