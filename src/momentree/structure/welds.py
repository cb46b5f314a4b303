"""Bodies welded together as one: the same mechanism with fewer bodies; coordinates and velocities stay as they are."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from momentree.model.joint_types import Fixed
from momentree.spatial import Transform
from momentree.structure.mechanism import Attached, Latch, Mechanism, Torque, TreeBody

Acting = TypeVar("Acting", Torque, Latch)


def without_welds(mechanism: Mechanism) -> Mechanism:
    """The mechanism with every body that is welded to another one of the tree, not to the ground, made part of it.

    Frames of bodies that are gone are known by the names of these. A split body and its image stay.
    """
    images = {number for body in mechanism.bodies if body.image_of for number in (body.number, body.image_of)}
    gone = {body.number for body in mechanism.bodies if _is_welded(body) and body.number not in images}
    if not gone:
        return mechanism
    kept = [body for body in mechanism.bodies if body.number not in gone]
    carriers = {0: (0, Transform()), **{body.number: (i, Transform()) for i, body in enumerate(kept, 1)}}
    inertias = {body.number: body.inertia for body in kept}
    leaders = {body.number: body.number for body in kept}
    frames = []
    for body in mechanism.bodies:
        if body.number in gone:
            number, X = carriers[body.parent]
            X = X @ body.mount
            carriers[body.number], leaders[body.number] = (number, X), leaders[body.parent]
            inertias[leaders[body.number]] += X.inertia_to_parent(body.inertia)
            frames.append((body.name, Attached(number, X @ body.own)))

    def moved(frame: Attached) -> Attached:
        """A frame on the bodies that remain."""
        number, X = carriers[frame.body]
        return Attached(number, X @ frame.placement)

    def renumbered(things: tuple[Acting, ...]) -> tuple[Acting, ...]:
        return tuple(dataclasses.replace(thing, body=carriers[thing.body][0]) for thing in things)

    def remaining(body: TreeBody) -> TreeBody:
        number, X = carriers[body.parent]
        return dataclasses.replace(
            body, number=carriers[body.number][0], parent=number, mount=X @ body.mount, inertia=inertias[body.number],
            image_of=carriers[body.image_of][0],
        )  # fmt: skip

    reattached = mechanism.reattached(moved)
    return dataclasses.replace(
        reattached,
        bodies=tuple(map(remaining, kept)),
        torques=renumbered(mechanism.torques),
        latches=renumbered(mechanism.latches),
        frames=(*reattached.frames, *frames),
        whole=mechanism.whole and without_welds(mechanism.whole),
    )


def _is_welded(body: TreeBody) -> bool:
    return body.parent > 0 and isinstance(body.joint.type, Fixed)
