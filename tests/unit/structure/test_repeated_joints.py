"""A joint that a model has twice is named when it is built; joints that only look alike are not."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import momentree as mt


def pair(first, second, at=((0, 0, 1), (0, 0, 1)), turned=None, other_way=False):
    """Two boxes between which there are two joints, at places of the first box; the second box begins at (0, 0, 1)."""
    m = mt.Model("pair")
    one, other = (m.body(name, mt.box(mass=1.0, size=(1, 1, 1))) for name in ("one", "other"))
    m.joint("base", mt.Free(), m.ground, one)
    for name, joint, place in zip("PQ", (first, second), at, strict=True):
        ends = [one.at(place, turned), other.at(np.subtract(place, (0, 0, 1)), turned)]
        m.joint(name, joint, *(reversed(ends) if other_way and name == "Q" else ends))
    return m


SAME = [
    (mt.Revolute("y"), mt.Revolute("y")),
    (mt.Revolute("y"), mt.Revolute("-y", damping=1.0)),
    (mt.Revolute("y"), mt.Revolute((0, 2.0, 0))),
    (mt.Prismatic("x"), mt.Prismatic("x")),
    (mt.Spherical(), mt.Spherical()),
    (mt.Fixed(), mt.Fixed()),
    (mt.Universal("x", "y"), mt.Universal("x", "y")),
    (mt.Planar(), mt.Planar()),
]
BOTH_WAYS = SAME[:-2]


@pytest.mark.parametrize(
    ("joints", "other_way"), [*((joints, False) for joints in SAME), *((joints, True) for joints in BOTH_WAYS)]
)
def test_a_joint_given_twice_is_named(joints, other_way):
    told = re.escape(
        f"{joints[0].kind} joints 'P' and 'Q': are the same: they connect the same bodies at the same place"
    )
    with pytest.warns(mt.ModelWarning, match=told):
        system = pair(*joints, other_way=other_way).build()
    assert system.mobility == 6 + joints[0].freedom  # it is redundant


@pytest.mark.parametrize(
    "model",
    [
        pair(mt.Revolute("z"), mt.Revolute("z"), at=((0, 0, 0), (0, 0, 1))),  # the hinges of a door
        pair(mt.Revolute("x"), mt.Revolute("y")),
        pair(mt.Spherical(), mt.Revolute("y")),
        pair(mt.Spherical(), mt.Spherical(), at=((0, 0, 0), (0, 0, 1))),
        pair(mt.Universal("x", "y"), mt.Universal("x", "y"), other_way=True),  # the axes are of other bodies
    ],
)
def test_others_are_not(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.build()


def test_places_may_be_parameters():
    m = mt.Model("door")
    m.parameter("h", 1.0)
    leaf = m.body("leaf", mt.box(mass=1.0, size=(1, 1, 1)))
    for name, z in (("low", 1), ("high", "h")):
        m.joint(name, mt.Revolute("z"), m.ground.at((0, 0, z)), leaf.at((0, 0, z)))
    with pytest.warns(mt.ModelWarning, match="'low' and 'high'"):
        m.build(free=["h"])
