"""Joints that a model has twice: of one kind, between the same bodies, at the same place, about the same axes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from momentree.errors import Problem
from momentree.model import Model
from momentree.model.elements import Joint
from momentree.model.frames import Frame
from momentree.model.joint_types import Fixed, Spherical
from momentree.model.values import Values
from momentree.spatial import Vector

Array = NDArray[np.float64]
POINTS = (Spherical, Fixed)  # wherever their frames look, they hold the same
SAME = 1e-9  # by their size, or rad: two places or directions that are one


def repeated_joints(model: Model, values: Values, switched: Collection[str] = ()) -> Iterator[Problem]:
    """Each joint that is the same as an earlier one, but for those that are released or switched.

    Two hinges at different places of one axis, as of a door, are not the same.
    """
    between = defaultdict[frozenset[str], list[Joint]](list)
    for joint in model.joints:
        if joint.name not in switched:
            between[frozenset((joint.first.body, joint.second.body))].append(joint)
    for joints in between.values():
        for one, other in itertools.combinations(joints, 2):
            if type(one.type) is type(other.type) and _are_same(one, other, values):
                same = "are the same: they connect the same bodies at the same place, so that one is redundant"
                path = ("joint", model.joints.index(other))
                yield Problem(
                    f"{one.type.kind} joints '{one.name}' and '{other.name}'", f"{same}. Leave one out.", path
                )


def _are_same(one: Joint, other: Joint, values: Values) -> bool:
    first, second = ([_place(joint, end, values) for end in (joint.first, joint.second)] for joint in (one, other))
    if one.first.body != other.first.body:
        if not (one.type.coaxial or isinstance(one.type, POINTS)):
            return False  # what its frames are to each other has a direction
        second.reverse()
    return all(map(_coincide, first, second))


def _place(joint: Joint, end: Frame, values: Values) -> Array:
    """Of one end, in its body: where the joint is, then the directions that count."""
    X, resolved = end.placement(values), joint.type.resolved(values)
    directions = [getattr(resolved, name) for name in resolved.axis_fields]
    if not (resolved.coaxial or isinstance(resolved, POINTS)):
        directions += [Vector(1, 0, 0), Vector(0, 1, 0)]
    return np.array([[*X.offset], *([*X.rotation @ each] for each in directions)], dtype=float)


def _coincide(a: Array, b: Array) -> bool:
    """Whether places are one, and directions parallel."""
    apart = np.linalg.norm(a[0] - b[0]) > SAME * max(1.0, float(np.linalg.norm(a[0])))
    return not apart and bool((np.linalg.norm(np.cross(a[1:], b[1:]), axis=1) <= SAME).all())
