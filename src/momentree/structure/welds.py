"""Bodies welded together as one: the same mechanism with fewer bodies; coordinates and velocities stay as they are."""

from __future__ import annotations

import dataclasses
from typing import Any

from momentree.model.joint_types import Fixed
from momentree.spatial import Transform
from momentree.structure.mechanism import Attached, Mechanism, TreeBody


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

    def moved(thing: Any) -> Any:
        """An element with its frames, or its body, on the bodies that remain."""
        if isinstance(thing, Attached):
            number, X = carriers[thing.body]
            return Attached(number, X @ thing.placement)
        own = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}
        frames = {name: moved(value) for name, value in own.items() if isinstance(value, Attached)}
        return dataclasses.replace(thing, **frames, **({"body": carriers[own["body"]][0]} if "body" in own else {}))

    def remaining(body: TreeBody) -> TreeBody:
        number, X = carriers[body.parent]
        return dataclasses.replace(
            body, number=carriers[body.number][0], parent=number, mount=X @ body.mount, inertia=inertias[body.number],
            image_of=carriers[body.image_of][0],
        )  # fmt: skip

    elements = ("loops", "torques", "latches", "elements")
    everything: dict[str, Any] = {name: tuple(map(moved, getattr(mechanism, name))) for name in elements}
    return dataclasses.replace(
        mechanism,
        bodies=tuple(map(remaining, kept)),
        frames=(*((name, moved(frame)) for name, frame in mechanism.frames), *frames),
        whole=mechanism.whole and without_welds(mechanism.whole),
        **everything,
    )


def _is_welded(body: TreeBody) -> bool:
    return body.parent > 0 and isinstance(body.joint.type, Fixed)
