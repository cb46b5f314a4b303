"""The stage: names of nodes, the floor, and springs that stretch."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.look.motion_frames import rotated
from momentree.look.stage import Stage, close_server, node_names, open_server, shown, touches_ground, turned_to, upward


def test_names_of_nodes_are_short_printable_and_different():
    names = node_names(["a/b", "a/b", "x" * 10_000, "x" * 9_000, "new\nline", "<script>", "", "\ud800"])
    assert len({*names}) == len(names)
    assert max(map(len, names)) < 50
    assert all(name.isprintable() and "/" not in name for name in names)
    assert shown("crank") == "crank"


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (0.6, 0, -0.8)])
def test_z_is_turned_to_an_axis(axis):
    assert rotated(turned_to(np.array(axis, dtype=float)), np.array([0, 0, 1.0])) == pytest.approx(axis, abs=1e-12)


def test_up_is_against_gravity():
    arm = {"mass": 1.0, "inertia": (1, 1, 1)}
    for gravity, up in (((0, -9.81, 0), (0, 1, 0)), ((0, 0, 0), (0, 0, 1))):
        m = mt.Model("up", gravity=gravity)
        m.joint("A", mt.Revolute("z"), m.ground, m.body("arm", **arm))
        assert upward(m.build()._numeric) == pytest.approx(up)


def test_a_spring_reaches_from_end_to_end():
    m = mt.Model("spring", gravity=(0, 0, -9.81))
    bob = m.body("bob", mass=1.0, inertia=(1, 1, 1))
    m.joint("z", mt.Prismatic("z"), m.ground, bob)
    m.spring(m.ground.at((1, 0, 2)), bob.at((0, 0.5, 0)), stiffness=10.0)
    system = m.build()
    from momentree.look.scene import scene_of

    server = open_server()
    try:
        positions, wxyz = np.zeros((2, 3)), np.tile([1.0, 0, 0, 0], (2, 1))
        stage = Stage(server, scene_of(system), system._numeric, positions, wxyz)
        positions[1] = (0, 0, -3)
        stage.show(positions, wxyz)
        (coil,) = stage.main.springs
        end = coil.position + rotated(coil.wxyz, np.array([0, 0, coil.scale[2]]))
        assert coil.position == pytest.approx([1, 0, 2])
        assert end == pytest.approx([0, 0.5, -3], abs=1e-6)
    finally:
        close_server(server)


def test_the_plane_of_a_contact_is_the_floor():
    m = mt.Model("ball", gravity=(0, 0, -9.81))
    ball = m.body("ball", mt.sphere(mass=1.0, radius=0.1))
    m.joint("free", mt.Free(), m.ground, ball)
    assert not touches_ground(m.build()._numeric)
    m.contact(ball, "ground", radius=0.1, stiffness=1e4)
    assert touches_ground(m.build()._numeric)
