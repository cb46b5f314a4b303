"""Joint stops: springs and dampers that act beyond the limits of a joint only, and never pull.

Beyond the upper limit, at the depth p = max(0, q - high), the generalized force along the velocity u is

    -max(0, k p + c u min(1, p / RAMP)) ,

the linear law of contact.py; likewise below the lower one.
"""

from __future__ import annotations

import math

from momentree.model.joint_type import Coordinates, JointType
from momentree.spatial import Scalar
from momentree.spatial.scalar import maximum
from momentree.structure.contact import unilateral_force

RAMP = 1e-3  # m or rad, depth over which the damping sets in, so that the force is continuous
Stop = tuple[Scalar | None, Scalar | None, Scalar, Scalar]  # low, high (None where there is none), stiffness, damping


def stops_of(joint: JointType) -> tuple[Stop | None, ...] | None:
    """The stops of a joint, one for each velocity; None where it is not limited."""
    if joint.limits is None:
        return None
    stops: list[Stop | None] = []
    for (low, high), (k, c) in zip(joint.limits, joint.stops, strict=True):
        sides = None if low == -math.inf else low, None if high == math.inf else high
        stops.append(None if sides == (None, None) else (*sides, k, c))
    return tuple(stops) if any(stops) else None


def stop_force(stop: Stop | None, q: Scalar, u: Scalar) -> Scalar:
    """Generalized force, back towards the limits."""
    return sum(-outward * _push(stop, p, outward * u) for outward, p in _depths(stop, q)) if stop else 0


def stop_energy(stop: Stop | None, q: Scalar) -> Scalar:
    """k p^2 / 2. J"""
    return sum(stop[2] * p * p / 2 for _, p in _depths(stop, q)) if stop else 0


def stops_energy(joint: JointType, q: Coordinates) -> Scalar:
    """Of all stops of a joint. J"""
    return sum(stop_energy(stop, at) for stop, at in zip(stops_of(joint) or (), q, strict=False))


def _push(stop: Stop, p: Scalar, velocity: Scalar) -> Scalar:
    _, _, k, c = stop
    return unilateral_force(k, c, RAMP, p, velocity)


def _depths(stop: Stop, q: Scalar) -> list[tuple[int, Scalar]]:
    """For each limit: the outward direction, 1 or -1, and the depth by which q is beyond it."""
    low, high, *_ = stop
    above = [] if high is None else [(1, maximum(q - high, 0))]
    below = [] if low is None else [(-1, maximum(low - q, 0))]
    return above + below
