"""Locked joints: the same mechanism with some joints prescribed from then on, at constant coordinates."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from momentree.model.expressions.expression import Expression
from momentree.structure.mechanism import Laws, Mechanism

_ZERO = Expression("number", (0.0,))


def locked(mechanism: Mechanism, held: Mapping[int, float]) -> Mechanism:
    """Bodies by number, each with the coordinate at which its joint, of one freedom, is held."""
    bodies, q, v = [], 0, 0
    for body in mechanism.bodies:
        laws = body.laws
        if body.number in held:
            laws = Laws((Expression("number", (float(held[body.number]),)),), (_ZERO,), (_ZERO,))
        count, velocities = (0, 0) if laws else (body.q.stop - body.q.start, body.v.stop - body.v.start)
        bodies.append(dataclasses.replace(body, laws=laws, q=slice(q, q + count), v=slice(v, v + velocities)))
        q, v = q + count, v + velocities
    return dataclasses.replace(mechanism, bodies=tuple(bodies))


def left_free(mechanism: Mechanism, held: Collection[int]) -> tuple[list[int], list[int]]:
    """Which coordinates and which velocities of the mechanism are left when the joints of these bodies are held."""
    free = [body for body in mechanism.bodies if body.number not in held]
    coordinates = [i for body in free for i in range(body.q.start, body.q.stop)]
    return coordinates, [i for body in free for i in range(body.v.start, body.v.stop)]
