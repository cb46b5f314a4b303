"""Plates: triangles of any outline fill it, and toothed wheels are closed."""

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.look.plates import prism, signed_area, toothed_ring, toothed_wheel, triangulated

OUTLINES = {
    "L": [(0, 0), (2, 0), (2, 0.5), (0.5, 0.5), (0.5, 1.5), (0, 1.5)],
    "comb": [(0, 0), (5, 0), (5, 2), (4, 2), (4, 1), (3, 1), (3, 2), (2, 2), (2, 1), (0, 1)],
    "corners in edges": [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1)],
    "spiral": [(0, 0), (5, 0), (5, 5), (1, 5), (1, 2), (3, 2), (3, 3), (2, 3), (2, 4), (4, 4), (4, 1), (0, 1)],
}


@pytest.mark.parametrize("outline", OUTLINES.values(), ids=OUTLINES)
def test_a_prism_has_the_volume_of_its_outline(outline):
    points = np.array(outline, dtype=float)
    for corners in (points, points[::-1], np.roll(points, 3, axis=0)):
        mesh = prism(corners, 0.3)
        solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
        assert solid.is_watertight
        assert solid.is_winding_consistent
        assert solid.volume == pytest.approx(0.3 * abs(signed_area(points)))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0.2, 3), min_size=3, max_size=40))
def test_triangles_of_any_outline_around_a_point_fill_it(radii):
    n = len(radii)
    points = np.array(
        [(r * math.cos(2 * math.pi * i / n), r * math.sin(2 * math.pi * i / n)) for i, r in enumerate(radii)]
    )
    triangles = points[triangulated(points)]
    areas = [signed_area(triangle) for triangle in triangles]
    assert len(areas) == n - 2
    assert min(areas) > -1e-12  # none is turned over, so that none overlaps another
    assert sum(areas) == pytest.approx(signed_area(points))


@pytest.mark.parametrize("teeth", [4, 18, 61])
@pytest.mark.parametrize("make", [toothed_wheel, toothed_ring])
def test_gears_are_closed_and_about_their_pitch_circle(make, teeth):
    mesh = make(2.0, teeth, 0.4, 0.3)
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    assert solid.is_volume
    assert np.ptp(mesh.vertices[:, 2]) == pytest.approx(0.4)
    radii = np.linalg.norm(mesh.vertices[:, :2], axis=1)
    tip = 2 + 4 / teeth if make is toothed_wheel else 2 - 4 / teeth
    tips = np.arctan2(*mesh.vertices[np.isclose(radii, tip), 1::-1].T)
    assert len(tips) == 4 * teeth  # two corners of each tooth, above and below
    around = np.exp(1j * teeth * (tips - 0.3)).mean()  # they are symmetric about the middles of teeth
    assert abs(around.imag) < 1e-9
    assert around.real > 0.5
