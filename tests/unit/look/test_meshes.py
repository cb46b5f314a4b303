"""Meshes of shapes: closed surfaces with the volume of the solid, where the body has it."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import momentree as mt
from momentree.look import meshes
from momentree.model.values import Values


@pytest.mark.parametrize(
    ("shape", "volume", "within"),
    [
        (mt.box(1.0, (1, 2, 3), centre=(4, 5, 6)), 6.0, 1e-12),
        (mt.sphere(1.0, 0.5, centre=(1, 0, 0)), np.pi / 6, 0.05),
        (mt.cylinder(1.0, 0.5, 2.0, axis=(1, 1, 0), centre=(0, 0, 7)), np.pi / 2, 0.02),
        (mt.rod(1.0, 2.0, radius=0.1, along=(0, 3, 4)), np.pi * 0.02, 0.02),
    ],
)
def test_a_shape_is_a_closed_surface_about_its_center_of_mass(shape, volume, within):
    mesh = meshes.mesh_of(shape, Values({}))
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    assert solid.is_watertight
    assert solid.volume == pytest.approx(volume, rel=within)
    inertia = shape.inertia(Values({}))
    assert solid.center_mass == pytest.approx([x / inertia.mass for x in inertia.h], abs=1e-9)


def test_a_slender_rod_is_seen_all_the_same():
    mesh = meshes.mesh_of(mt.rod(1.0, 2.0), Values({}))
    assert mesh.vertices[:, 0].min() == pytest.approx(0)
    assert mesh.vertices[:, 0].max() == pytest.approx(2)
    assert np.ptp(mesh.vertices[:, 1]) > 0.01


def test_joined_meshes_keep_their_triangles():
    both = meshes.joined([meshes.box((1, 1, 1)), meshes.ball(1.0)])
    assert len(both.faces) == len(meshes.box((1, 1, 1)).faces) + len(meshes.ball(1.0).faces)
    assert both.faces.max() == len(both.vertices) - 1


def test_a_rod_of_no_length_is_a_ball():
    mesh = meshes.rod((1, 2, 3), (1, 2, 3), 0.1)
    assert mesh.vertices.mean(axis=0) == pytest.approx([1, 2, 3], abs=1e-9)
