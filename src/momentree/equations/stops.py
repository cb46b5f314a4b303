"""Stops: what pushes a joint back that is beyond its limits, springs and dampers that act there only and never pull.

Beyond the upper limit, at the depth p = max(0, q - high), the force along the rate u is

    -max(0, k p + c u min(1, p / RAMP)) ,

the linear law of contact.py; likewise below the lower one.
"""

from __future__ import annotations

import math

from momentree.equations.contact import pressed
from momentree.model.joint_type import JointType
from momentree.spatial import Scalar
from momentree.spatial.scalar import maximum

RAMP = 1e-3  # m or rad, depth over which the damping sets in, so that nothing jumps
Stop = tuple[Scalar | None, Scalar | None, Scalar, Scalar]  # low, high (None where there is none), stiffness, damping


def stops_of(joint: JointType) -> tuple[Stop | None, ...] | None:
    """The stops of a joint, one for each rate; None where it is not limited."""
    if joint.limits is None:
        return None
    found: list[Stop | None] = []
    for (low, high), (k, c) in zip(joint.limits, joint.stops, strict=True):
        sides = None if low == -math.inf else low, None if high == math.inf else high
        found.append(None if sides == (None, None) else (*sides, k, c))
    return tuple(found) if any(found) else None


def stop_force(stop: Stop | None, q: Scalar, u: Scalar) -> Scalar:
    """Along the rate, back towards the limits."""
    return sum(-away * _pushed(stop, p, away * u) for away, p in _passed(stop, q)) if stop else 0


def stop_energy(stop: Stop | None, q: Scalar) -> Scalar:
    """k p^2 / 2. J"""
    return sum(stop[2] * p * p / 2 for _, p in _passed(stop, q)) if stop else 0


def stop_power(stop: Stop | None, q: Scalar, u: Scalar) -> Scalar:
    """What the force does besides its spring: never positive. W"""
    if not stop:
        return 0
    return sum((stop[2] * p - _pushed(stop, p, away * u)) * (away * u) for away, p in _passed(stop, q))


def _pushed(stop: Stop, p: Scalar, rate: Scalar) -> Scalar:
    _, _, k, c = stop
    return pressed(k, c, RAMP, p, rate)


def _passed(stop: Stop, q: Scalar) -> list[tuple[int, Scalar]]:
    """By each limit that there is: the direction away from the middle, 1 or -1, and how far q is beyond it."""
    low, high, *_ = stop
    above = [] if high is None else [(1, maximum(q - high, 0))]
    below = [] if low is None else [(-1, maximum(low - q, 0))]
    return above + below
