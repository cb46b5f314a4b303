"""Raster: areas and depths of triangles as geometry has them; outlines, soft light and smooth edges."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from momentree.look import raster
from momentree.look.raster import Triangles, corner_normals, painted

RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def triangles(sheet, depth=None, light=None, colors=None, pieces=None):
    sheet = np.array(sheet, dtype=float)
    n = len(sheet)
    depth = np.zeros((n, 3)) if depth is None else np.array(depth, dtype=float)
    light = np.ones((n, 3)) if light is None else np.array(light, dtype=float)
    colors = np.array([RED] * n if colors is None else colors, dtype=float)
    return Triangles(sheet, depth, light, colors, np.arange(n) if pieces is None else np.array(pieces))


@pytest.mark.parametrize("seed", range(5))
def test_a_triangle_covers_its_area(seed):
    """Half the cross product of its sides; what is beyond the picture is cut off."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(5, 95, (3, 2))
    (ux, uy), (vx, vy) = corners[1:] - corners[0]
    opaque = painted(triangles([corners]), (100, 100))[..., 3] / 255
    assert opaque.sum() == pytest.approx(abs(ux * vy - uy * vx) / 2, rel=0.01, abs=5)
    moved = painted(triangles([corners - (50, 0)]), (100, 100))[..., 3] / 255
    assert moved[:, :49] == pytest.approx(opaque[:, 50:99])


def test_triangles_that_cross_are_seen_on_the_side_where_each_is_nearer():
    """Two squares of two triangles whose depths are x and 40 - x."""
    square = [[(0, 0), (40, 0), (0, 40)], [(40, 40), (0, 40), (40, 0)]]
    rising, falling = [[0, 40, 0], [40, 0, 40]], [[40, 0, 40], [0, 40, 0]]
    shown = painted(triangles(square * 2, rising + falling, None, [RED] * 2 + [BLUE] * 2, [0, 0, 1, 1]), (40, 40))
    assert (shown[5:35, 5:19, 2] == 255).all()
    assert (shown[5:35, 22:35, 0] == 255).all()
    assert (shown[..., 3] == 255).all()


def test_light_turns_evenly_between_corners():
    square = [[(0, 0), (64, 0), (0, 64)], [(64, 64), (0, 64), (64, 0)]]
    shown = painted(triangles(square, None, [[0, 1, 0], [1, 0, 1]], None, [0, 0]), (64, 64))
    expected = 255 * (np.arange(64) + 0.5) / 64
    assert shown[10:50, 3:61, 0] == pytest.approx(np.tile(expected[3:61], (40, 1)), abs=1.5)


def test_the_nearer_piece_has_an_outline_against_the_farther_one():
    back = [[(0, 0), (80, 0), (0, 80)], [(80, 80), (0, 80), (80, 0)]]
    front = [[(20, 20), (60, 20), (20, 60)], [(60, 60), (20, 60), (60, 20)]]
    shown = painted(triangles(back + front, [[0] * 3] * 2 + [[1] * 3] * 2, None, None, [0, 0, 1, 1]), (80, 80))
    red = shown[..., 0].astype(int)
    assert red[40, 20] < 200  # inside the front, at its rim
    assert red[40, 19] == red[40, 10] == red[40, 40] == 255
    assert red[40, 59] < 200 < red[40, 60]
    alike = painted(triangles(back + front, [[0] * 3] * 2 + [[1] * 3] * 2, None, None, [0] * 4), (80, 80))
    assert (alike[5:75, 5:75, 0] == 255).all()  # one piece has none inside


def test_normals_turn_along_a_cylinder_and_not_over_its_edge():
    mesh = trimesh.creation.cylinder(radius=1.0, height=2.0, sections=64)
    normals = corner_normals(mesh.vertices, mesh.faces)
    sides = np.abs(mesh.face_normals[:, 2]) < 0.5
    corners = mesh.vertices[mesh.faces[sides]]
    assert normals[sides][..., :2] == pytest.approx(corners[..., :2], abs=0.03)
    assert np.abs(normals[~sides][..., 2]) == pytest.approx(1.0)
    box = trimesh.creation.box()
    assert corner_normals(box.vertices, box.faces) == pytest.approx(np.repeat(box.face_normals[:, None], 3, axis=1))


def test_nothing_and_what_is_seen_edge_on_are_empty_pictures():
    assert not painted(triangles(np.zeros((0, 3, 2))), (20, 10)).any()
    assert painted(triangles(np.zeros((0, 3, 2))), (20, 10)).shape == (10, 20, 4)
    assert not painted(triangles([[(500, 5), (600, 5), (500, 9)]]), (20, 10)).any()
    assert painted(triangles([[(3, 3), (9, 3), (6, 3)]]), (20, 10))[..., :3].max() <= 255


def test_many_pixels_are_filled_in_parts(monkeypatch):
    rng = np.random.default_rng(3)
    some = triangles(rng.uniform(-20, 120, (40, 3, 2)), rng.uniform(0, 1, (40, 3)), None, rng.uniform(0, 1, (40, 3)))
    whole = painted(some, (100, 100))
    monkeypatch.setattr(raster, "AT_ONCE", 50)
    assert (painted(some, (100, 100)) == whole).all()
    monkeypatch.setattr(raster, "MOST", 100)
    assert painted(some, (100, 100)).shape == whole.shape
