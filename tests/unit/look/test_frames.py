"""Frames of movies: what is nearer covers what is farther, far travel is followed, many bodies become lines."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.look import frames as look_frames
from momentree.look.frames import Frames
from momentree.look.gallery import gallery
from momentree.look.projection import view_of
from momentree.look.scene import Poses, poses_of, scene_of


def frames_of(system, q=None, view="auto", size=(200, 150)):
    q = system.start().q[None] if q is None else q
    poses = poses_of(system._numeric, q, np.arange(len(q), dtype=float))
    return Frames(scene_of(system), system._numeric, poses, view_of(view, system._numeric, poses), size)


def is_like(pixel, color):
    """Of the same hue, in any light."""
    pixel, color = (np.asarray(one, dtype=float) for one in (pixel, color))
    return np.linalg.norm(pixel / np.linalg.norm(pixel) - color / np.linalg.norm(color)) < 0.05


def two_balls(y):
    """The second body at y, the first at 0; both at the origin of the xz plane."""
    m = mt.Model("two")
    for name, radius in (("first", 0.2), ("second", 0.1)):
        m.joint(name, mt.Free(), "ground", m.body(name, mt.sphere(mass=1.0, radius=radius)))
    system = m.build()
    return frames_of(system, system.assemble({"second": (0, y, 0, 0, 0, 0, 1)}).q[None], "xz")


@pytest.mark.parametrize(("y", "nearest"), [(-1.0, 1), (1.0, 0)])
def test_the_nearest_body_covers_the_others(y, nearest):
    """Seen with x to the right and z upwards, the viewer is at -y."""
    shown = two_balls(y)
    column, row = shown.pixel(0, [0.0, y, 0.0]).astype(int)
    colors = [piece.color for piece in shown.scene.pieces if piece.kind == "body"]
    assert is_like(shown(0)[row, column], colors[nearest])


@pytest.mark.parametrize("name", ["08_four_bar", "10_bennett", "03_slider", "16_rolling", "13_walking"])
def test_examples_are_in_the_picture(name):
    shown = frames_of(mt.load(next(one.model for one in gallery() if one.folder.name.startswith(name))).build())
    pixels = shown(0)
    assert pixels.shape == (150, 200, 3)
    assert (pixels[[0, -1]] == 255).mean() > 0.3
    assert (pixels < 200).any(axis=2).sum() > 100
    for body in range(1, shown.poses.positions.shape[1]):
        column, row = shown.pixel(0, shown.poses.positions[0, body])
        assert -1 < column < 201
        assert -1 < row < 151


def test_only_the_near_side_of_a_solid_is_painted():
    """Of a box that is seen along an axis, two triangles; of one seen from a corner, those of three sides."""
    m = mt.Model("box")
    m.joint("x", mt.Free(), "ground", m.body("box", mt.box(mass=1.0, size=(1, 1, 1))))
    system = m.build()
    assert len(frames_of(system, view="xz")._painted(0)[0]) == 2
    assert len(frames_of(system, view="space")._painted(0)[0]) == 6


def test_springs_are_in_the_picture():
    system = mt.load(next(one.model for one in gallery() if one.folder.name.startswith("12_"))).build()
    shown = frames_of(system)
    for end in shown.scene.strands[0].ends:
        column, row = shown.pixel(0, shown.poses.points(end)[0])
        assert 0 < column < 200
        assert 0 < row < 150


def test_what_travels_far_over_a_floor_is_followed():
    def cart(floor):
        m = mt.Model("far")
        body = m.body("cart", mt.box(mass=1.0, size=(1, 1, 1)))
        m.joint("x", mt.Prismatic("x"), "ground", body)
        if floor:
            m.contact(body.at((0, 0, -0.5)), m.ground.at((0, 0, -0.5)), stiffness=1e3)
        return frames_of(m.build(), np.linspace(0, 100, 300)[:, None])

    assert cart(floor=False).extent[0] > 100
    shown = cart(floor=True)
    assert shown.extent[0] < 40
    for k in (0, 150, 299):
        column, _ = shown.pixel(k, [shown.poses.positions[k, 1, 0], 0, 0])
        assert 20 < column < 180


def test_many_bodies_are_drawn_as_lines(monkeypatch):
    monkeypatch.setattr(look_frames, "MOST_FACES", 10)
    system = mt.load(next(one.model for one in gallery() if "08_four_bar" in one.folder.name)).build()
    shown = frames_of(system)
    assert shown.as_lines
    assert len(shown.faces) == 3
    state = system.start()
    middle = (system.position(state, "crank") + system.position(state, "coupler")) / 2
    column, row = shown.pixel(0, middle).astype(int)
    assert (shown(0)[row - 2 : row + 3, column - 2 : column + 3] < 200).any()


def test_a_system_without_bodies_to_see_is_an_empty_picture():
    m = mt.Model("point")
    m.joint("x", mt.Free(), "ground", m.body("mass", mass=1.0, inertia=(1, 1, 1)))
    shown = frames_of(m.build())
    assert isinstance(shown.poses, Poses)
    assert shown(0).shape == (150, 200, 3)
