"""Marks of contacts: rims have the radius of their contact, touch the floor, and are the same for page and movie."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import momentree as mt
from momentree.look.contact_marks import ARC, arc, mark_of
from momentree.look.frames import Frames
from momentree.look.gallery import find
from momentree.look.projection import view_of
from momentree.look.scene import SHADE, poses_of, scene_of
from momentree.look.stage import Stage, close_server, open_server
from momentree.model.colors import color_of
from momentree.spatial import Transform, Y


def rims(system):
    return [piece for piece in scene_of(system).pieces if piece.kind == "rim"]


def test_a_foot_is_an_arc_of_the_radius_of_its_contact():
    feet = rims(mt.load(find("walking-mechanism").model).build())
    assert len(feet) == 2
    for foot in feet:
        assert np.linalg.norm(foot.mesh.vertices, axis=1).max() == pytest.approx(1.5, rel=1e-3)
        assert foot.mesh.vertices[:, 2].min() == pytest.approx(-1.5, rel=0.02)


@pytest.mark.parametrize("closed", [True, False])
def test_an_arc_is_a_closed_solid_with_the_volume_of_pappus(closed):
    angles = np.linspace(0, 2 * np.pi, 201)[:-1] if closed else np.linspace(-ARC, ARC, 201)
    bar = arc(np.array([1.0, 2, 3]), 0.7, np.eye(3)[0], np.eye(3)[2], angles, 0.02, closed)
    solid = trimesh.Trimesh(*bar, process=False)
    assert solid.is_volume
    area = 8 * np.sin(2 * np.pi / 8) / 2 * 0.02**2  # of an octagon
    turned = 2 * np.pi if closed else 2 * ARC
    assert solid.volume == pytest.approx(area * (0.7 - 0.02) * turned, rel=1e-3)


def test_large_contacts_are_feet_small_ones_wheels_and_wheels_that_roll_never_feet():
    below = np.array([0.0, 0, -1])

    def height(radius, size, disc, com, rolls=False):
        return float(np.ptp(mark_of(Transform(), radius, disc, size, com, rolls).vertices[:, 2]))

    for disc in (Y, None):
        assert height(1.0, 1.0, disc, below) == pytest.approx(1.0, rel=0.05)  # a leg and an arc
        assert height(1.0, 9.0, disc, below) == pytest.approx(2.0, rel=0.2)  # a whole rim or ball
        assert height(1.0, 1.0, disc, 0.1 * below) == pytest.approx(2.0, rel=0.05)
        assert height(1.0, 1.0, disc, None) == pytest.approx(2.0, rel=0.05)
    assert height(1.0, 1.0, Y, below, rolls=True) == pytest.approx(2.0, rel=0.05)


def wheel():
    m = mt.Model("wheels", gravity=(0, 0, -9.81))
    rolling = m.body("rolling", mt.disc(1.0, 0.5, axis="y", color="red"))
    m.joint("a", mt.Free(), m.ground, rolling)
    m.roll(rolling, radius=0.5, disc="y")
    sliding = m.body("sliding", mass=1.0, inertia=(1, 1, 1))
    m.joint("b", mt.Free(), m.ground.at((2, 0, 0)), sliding)
    m.contact(sliding.at((0.1, 0, 0), mt.turn("z", 0.3)), radius=0.25, disc="y", stiffness=1e4)
    m.contact(sliding, radius=0.1, stiffness=1e4)
    return m.build()


def test_discs_that_roll_or_touch_have_rims_in_the_color_of_their_body():
    scene = scene_of(wheel())
    found = {piece.name: piece for piece in scene.pieces if piece.kind == "rim"}
    assert len(found) == 3
    rolled = next(piece for piece in found.values() if piece.body == 1)
    assert rolled.color == tuple(int(SHADE * part) for part in color_of("red"))
    assert np.linalg.norm(rolled.mesh.vertices, axis=1).max() == pytest.approx(0.5, rel=0.01)
    disc, ball = (piece.mesh.vertices for piece in found.values() if piece.body == 2)
    axis = np.array([-np.sin(0.3), np.cos(0.3), 0])
    assert np.abs((disc - (0.1, 0, 0)) @ axis).max() < 0.05 * 0.5
    assert np.linalg.norm(ball, axis=1) == pytest.approx(0.1)


def test_the_page_and_the_movie_draw_the_same_pieces():
    system = wheel()
    scene = scene_of(system)
    poses = poses_of(system._numeric, system.start().q[None], np.zeros(1))
    movie = Frames(scene, system._numeric, poses, view_of("space", system._numeric, poses), (200, 150))
    server = open_server()
    try:
        stage = Stage(server, scene, system._numeric, poses.positions[0], np.tile([1.0, 0, 0, 0], (3, 1)))
        drawn = {tuple(point) for piece in stage.pieces if piece.kind == "rim" for point in piece.mesh.vertices}
    finally:
        close_server(server)
    assert drawn <= {tuple(point) for point in movie.vertices}
    assert len(drawn) > 100
