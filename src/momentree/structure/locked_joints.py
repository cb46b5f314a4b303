"""Locked joints: the same mechanism with some joints prescribed, at constant coordinates; and with none prescribed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping

from momentree.model.expressions.expression import Expression
from momentree.structure.mechanism import Laws, Mechanism, TreeBody

_ZERO = Expression("number", (0.0,))


def locked(mechanism: Mechanism, coordinates: Mapping[int, float]) -> Mechanism:
    """The mechanism with joints of one freedom locked: `coordinates` by the number of the body."""
    at = {number: Expression("number", (float(x),)) for number, x in coordinates.items()}
    held = {number: Laws((x,), (_ZERO,), (_ZERO,)) for number, x in at.items()}
    return _with_motions(mechanism, lambda body: held.get(body.number, body.laws))


def unprescribed(mechanism: Mechanism) -> Mechanism:
    """The mechanism with coordinates and velocities of prescribed joints among its own."""
    return _with_motions(mechanism, lambda body: None)


def _with_motions(mechanism: Mechanism, laws_of: Callable[[TreeBody], Laws | None]) -> Mechanism:
    """The mechanism with these motions of its joints; those without laws have coordinates and velocities."""
    bodies, q, v = [], 0, 0
    for body in mechanism.bodies:
        laws, joint = laws_of(body), body.joint
        count, velocities = (0, 0) if laws else (len(joint.coordinates), len(joint.velocities))
        bodies.append(dataclasses.replace(body, laws=laws, q=slice(q, q + count), v=slice(v, v + velocities)))
        q, v = q + count, v + velocities
    return dataclasses.replace(mechanism, bodies=tuple(bodies))


def free_indices(mechanism: Mechanism, locked_bodies: Collection[int]) -> tuple[list[int], list[int]]:
    """Indices of the coordinates and of the velocities that remain when the joints of these bodies are locked."""
    free = [body for body in mechanism.bodies if body.number not in locked_bodies]
    coordinates = [i for body in free for i in range(body.q.start, body.q.stop)]
    return coordinates, [i for body in free for i in range(body.v.start, body.v.stop)]
