"""The layout of q and v: each entry is the one that its row says, of every type of joint."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_tree
from momentree.structure.coordinate_rows import CoordinateRow, coordinate_rows, velocity_rows


def test_the_rows_are_those_of_every_joint_in_order():
    system = random_tree(np.random.default_rng(3), [*EVERY_JOINT, *EVERY_JOINT]).build()
    for rows, names, count in (
        (coordinate_rows(system.mechanism), system.mechanism.coordinates, system.nq),
        (velocity_rows(system.mechanism), system.mechanism.velocities, system.nv),
    ):
        assert [row.index for row in rows] == list(range(count))
        assert [row.name for row in rows] == [str(name) for name in names]
        assert {row.unit for row in rows} <= {"m", "rad", "1", "m/s", "rad/s"}
        assert not any("coordinate" in row.meaning for row in rows), "every type of joint is put in words"


def test_rows_say_what_they_are():
    m = mt.Model("words")
    arm, ball, hull = (m.body(name, mt.sphere(mass=1.0, radius=0.1)) for name in ("arm", "ball", "hull"))
    m.joint("A", mt.Cylindrical("y"), m.ground, arm)
    m.joint("socket", mt.Spherical(), arm, ball)
    m.joint("pose", mt.Free(), m.ground, hull)
    q, v = coordinate_rows(m.build().mechanism), velocity_rows(m.build().mechanism)
    by_name = {row.name: row for row in (*q, *v)}
    assert by_name["A.slide"] == CoordinateRow(
        0, "A.slide", "A", "slide", "m", "translation along y; of arm relative to ground"
    )
    assert by_name["A.angle"].meaning == "rotation about y; of arm relative to ground"
    assert by_name["A.angle'"].unit == "rad/s"
    assert by_name["A.angle'"].meaning == "time derivative of angle; of arm relative to ground"
    assert by_name["socket.qw"].unit == "1"
    assert by_name["socket.qw"].meaning == "w of the unit quaternion (x, y, z, w); of ball relative to arm"
    assert by_name["pose.vx"].meaning.startswith("velocity of the origin along x of the joint's second frame")
    assert by_name["pose.x"].meaning.startswith("position along x of the joint's first frame")


@pytest.mark.parametrize(
    ("type", "words"),
    [
        (mt.Universal("x", "z"), ["rotation about x", "rotation about z"]),
        (mt.PinSlot("x", "y"), ["translation along x", "rotation about y"]),
        (mt.Planar("x"), ["position along y of", "position along z of", "rotation about x"]),
        (mt.Screw("-z", pitch=0.1), ["rotation about -z"]),
        (mt.Prismatic((3, 4, 0)), ["translation along (0.6, 0.8, 0)"]),
    ],
)
def test_axes_of_joints_are_named(type, words):
    m = mt.Model("axes")
    m.joint("A", type, m.ground, m.body("arm", mt.sphere(mass=1.0, radius=0.1)))
    rows = coordinate_rows(m.build().mechanism)
    assert all(row.meaning.startswith(word) for row, word in zip(rows, words, strict=True))
