"""Meshes of shapes: closed surfaces with the volume of the solid, where the body has it."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import momentree as mt
from momentree.look import meshes
from momentree.model.values import Values

L_SHAPE = ((0, 0), (2, 0), (2, 0.5), (0.5, 0.5), (0.5, 1.5), (0, 1.5))


@pytest.mark.parametrize(
    ("shape", "volume", "within"),
    [
        (mt.box(1.0, (1, 2, 3), centre=(4, 5, 6)), 6.0, 1e-12),
        (mt.sphere(1.0, 0.5, centre=(1, 0, 0)), np.pi / 6, 0.05),
        (mt.cylinder(1.0, 0.5, 2.0, axis=(1, 1, 0), centre=(0, 0, 7)), np.pi / 2, 0.02),
        (mt.rod(1.0, 2.0, radius=0.1, along=(0, 3, 4)), np.pi * 0.02, 0.02),
        (mt.disc(1.0, 0.5, 0.1, axis="x", centre=(1, 2, 3)), np.pi * 0.025, 0.02),
        (mt.capsule(1.0, 0.5, 2.0, axis=(1, 2, 0), centre=(0, 3, 0)), np.pi * (0.5 + 1 / 6), 0.05),
        (mt.polygon(1.0, L_SHAPE, 0.1), 0.15, 1e-12),
        (mt.polygon(1.0, L_SHAPE[::-1], 0.1, "xz"), 0.15, 1e-12),
        (mt.polygon(1.0, L_SHAPE, 0.1, "yz").at((1, 2, 3), mt.turn("z", 1)), 0.15, 1e-12),
        (mt.box(1.0, (1, 2, 3)).at((4, 5, 6), (mt.turn("x", 1), mt.turn("y", 2))), 6.0, 1e-12),
    ],
)
def test_a_shape_is_a_closed_surface_about_its_center_of_mass(shape, volume, within):
    mesh = meshes.mesh_of(shape, Values({}))
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    assert solid.is_volume
    assert solid.volume == pytest.approx(volume, rel=within)
    inertia = shape.inertia(Values({}))
    assert solid.center_mass == pytest.approx([x / inertia.mass for x in inertia.h], abs=1e-9)


def test_a_slender_rod_is_seen_all_the_same():
    mesh = meshes.mesh_of(mt.rod(1.0, 2.0), Values({}))
    assert mesh.vertices[:, 0].min() == pytest.approx(0)
    assert mesh.vertices[:, 0].max() == pytest.approx(2)
    assert np.ptp(mesh.vertices[:, 1]) > 0.01


def test_thin_plates_are_seen_all_the_same():
    for shape in (mt.disc(1.0, 0.5), mt.polygon(1.0, L_SHAPE)):
        assert np.ptp(meshes.mesh_of(shape, Values({})).vertices[:, 2]) > 0.005


def test_a_polygon_that_is_drawn_has_the_inertia_that_it_has():
    shape = mt.polygon(density=1.0, outline=L_SHAPE, thickness=0.1, plane="xz").at((1, 2, 3), mt.turn("z", 1))
    mesh, inertia = meshes.mesh_of(shape, Values({})), shape.inertia(Values({}))
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    xx, yy, zz, xy, xz, yz = inertia.shifted(-inertia.h / inertia.mass).J
    assert solid.moment_inertia == pytest.approx(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), abs=1e-12)


def test_a_mesh_of_a_file_is_drawn_to_scale(tmp_path):
    trimesh.creation.icosphere().export(tmp_path / "ball.stl")
    mesh = meshes.mesh_of(mt.mesh(tmp_path / "ball.stl", scale="s").at((0, 0, 1)), Values({"s": 0.5}))
    assert mesh.vertices.min(axis=0) == pytest.approx([-0.5, -0.5, 0.5], abs=1e-6)
    assert trimesh.Trimesh(mesh.vertices, mesh.faces).is_volume


def test_joined_meshes_keep_their_triangles():
    both = meshes.joined([meshes.box((1, 1, 1)), meshes.ball(1.0)])
    assert len(both.faces) == len(meshes.box((1, 1, 1)).faces) + len(meshes.ball(1.0).faces)
    assert both.faces.max() == len(both.vertices) - 1


def test_a_rod_of_no_length_is_a_ball():
    mesh = meshes.rod((1, 2, 3), (1, 2, 3), 0.1)
    assert mesh.vertices.mean(axis=0) == pytest.approx([1, 2, 3], abs=1e-9)


@pytest.mark.parametrize("most", [100, 1000, 20_000])
def test_a_coarser_mesh_has_few_triangles_near_the_surface(most):
    made = trimesh.creation.icosphere(subdivisions=6, radius=2.0).apply_scale((1, 1, 0.5))  # 82 000
    coarse = meshes.coarser(meshes.Mesh(made.vertices, made.faces), most)
    assert most / 8 < len(coarse.faces) <= most
    assert coarse.faces.max() < len(coarse.vertices)
    assert np.abs(coarse.vertices.min(axis=0) - made.bounds[0]).max() < 8 / np.sqrt(most)
    assert trimesh.Trimesh(*coarse).area == pytest.approx(made.area, rel=8 / np.sqrt(most))
    same = meshes.coarser(coarse, most)
    assert same.faces is coarse.faces


@pytest.mark.long
def test_a_mesh_of_many_triangles_becomes_a_small_page(tmp_path):
    solid = trimesh.creation.icosphere(subdivisions=7, radius=2.0)  # a third of a million
    solid.export(tmp_path / "ball.stl")
    m = mt.Model("large", gravity=(0, 0, -9.81))
    m.joint("A", mt.Revolute("y"), m.ground, m.body("ball", mt.mesh(tmp_path / "ball.stl", mass=1.0)))
    m.build().look(save=tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 5e6
