"""The stage: names of nodes, the floor, and springs that stretch."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.look.motion_frames import quaternions, rotated
from momentree.look.scene import poses_of, scene_of
from momentree.look.stage import (
    Stage,
    close_server,
    node_names,
    open_server,
    place,
    shown,
    touches_ground,
    turned_to,
    upward,
)


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


def pendulum(size=1.0, at=(0, 0, 0)):
    """A rod on a pivot, with a spring from beside the pivot to its end."""
    m = mt.Model("pendulum", gravity=(0, 0, -9.81))
    arm = m.body("arm", mt.rod(mass=1.0, length=size, radius=0.02 * size))
    m.joint("A", mt.Revolute("y"), m.ground.at(at), arm)
    m.spring(m.ground.at((at[0] + size, at[1], at[2])), arm.at((size, 0, 0)), stiffness=1.0)
    return m.build()


@pytest.mark.parametrize(
    ("size", "at"), [(1e-6, (3e-6, 0, 1e-6)), (1e7, (2e7, 0, 0)), (1.0, (1e6, -2e6, 3e5)), (2.0, (1, 2, 3))]
)
def test_vertices_on_the_page_are_where_they_are_in_space(size, at):
    """However large and far the mechanism is, numbers on the page are near 1, and nothing is lost in 32 bits."""
    system = pendulum(size, at)
    poses = poses_of(system._numeric, np.array([[0.3]]), np.zeros(1))
    positions, wxyz = poses.positions[0], quaternions(poses.rotations[0])
    server = open_server()
    try:
        stage = Stage(server, scene_of(system), system._numeric, positions, wxyz)
        assert 1e-3 < stage.length < 2e4
        for number, node in stage.main.bodies.items():
            for mesh in (handle for body, handle in stage.meshes if body == number):
                vertices = np.asarray(mesh.vertices, dtype=np.float32).astype(float)
                found = stage.in_space(node.position + rotated(node.wxyz, vertices))
                whole = np.concatenate([p.mesh.vertices for p in stage.pieces if p.body == number and p.kind == "body"])
                wanted = positions[number] + rotated(wxyz[number], whole)
                assert np.abs(found - wanted).max() < 2e-7 * size + 1e-9 * np.abs(at).max()
        spring = stage.main.springs[0]
        end = spring.position + rotated(spring.wxyz, np.array([0, 0, spring.scale[2]]))
        assert stage.in_space(spring.position) == pytest.approx(np.add(at, (size, 0, 0)), abs=1e-6 * size, rel=1e-12)
        tip = np.add(at, (size * np.cos(0.3), 0, -size * np.sin(0.3)))
        assert stage.in_space(end) == pytest.approx(tip, abs=1e-6 * size, rel=1e-12)
        assert np.ptp(stage.meshes[0][1].vertices, axis=0).max() == pytest.approx(stage.length, rel=0.1)
    finally:
        close_server(server)


def test_small_movements_are_not_left_out():
    """By itself, viser keeps a position that changes by less than 1e-5 of itself."""
    server = open_server()
    try:
        node = server.scene.add_frame("/node")
        for x in (1.0, 1.0 + 1e-7, 1.0 + 2e-7):
            place(node, np.array([x, 0, 0]), np.array([np.cos(x), np.sin(x), 0, 0]))
            assert node.position[0] == x
            assert node.wxyz[0] == np.cos(x)
        recorded = server.get_scene_serializer()
        place(node, np.array([1.0 + 3e-7, 0, 0]))
        place(node, np.array([1.0 + 3e-7, 0, 0]))  # not sent again
        assert [message["position"][0] for _, message in recorded._messages if "position" in message][-1] == 1.0 + 3e-7
        assert sum(message["type"] == "SetPositionMessage" for _, message in recorded._messages[1:]) <= 2
    finally:
        close_server(server)
