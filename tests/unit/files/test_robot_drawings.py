"""Shapes in robot files: their places by another library, meshes by path and scale, read again from every format."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import trimesh

import momentree as mt
from momentree.model.shapes import Shape
from momentree.model.values import Values
from robot_trips import trip

ENDINGS = [".urdf", ".sdf", ".xml"]


def box_of(shape: Shape) -> np.ndarray:
    """The corners of the box about a shape in the frame of its body, by trimesh."""
    made = {
        "box": lambda: trimesh.creation.box(shape.size),
        "sphere": lambda: trimesh.creation.icosphere(radius=shape.radius),
        "cylinder": lambda: trimesh.creation.cylinder(shape.radius, shape.length, sections=64),
        "capsule": lambda: trimesh.creation.capsule(shape.length, shape.radius),
    }[shape.kind]()
    X = shape.placement(Values({}))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = [[*row] for row in X.rotation.rows], [*X.offset]
    made.apply_transform(T)
    return np.array(made.bounds)


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_shapes_lie_where_they_did(tmp_path, ending):
    if ending == ".xml":
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    m = mt.Model("drawn")
    shapes = [
        mt.rod(length=2.0, radius=0.1, along="y"),
        mt.disc(radius=0.5, thickness=0.1, axis="x", centre=(0, 0, 3)),
        mt.cylinder(radius=0.2, length=1.0, axis="z", centre=(1, 0, 0)).at((0, 5, 0), mt.turn("x", np.pi / 2)),
        mt.box(size=(1, 2, 3), centre=(0, 0, -4)).at((1, 1, 1)),
    ]
    body = m.body("a", mass=1.0, inertia=(1, 1, 1), shapes=shapes)
    m.joint("A", mt.Revolute("z"), m.ground, body.at((0.5, 0, 0)))  # URDF moves the frame there
    m.shape(body.at((0, 0, 7)), mt.sphere(radius=0.25))
    (read,) = (other for other in trip(m, tmp_path / f"x{ending}").bodies if other.name == "a")
    moved = np.array([0.5, 0, 0]) if ending == ".urdf" else np.zeros(3)
    wanted = [
        ((-0.1, 0, -0.1), (0.1, 2, 0.1)),
        ((-0.05, -0.5, 2.5), (0.05, 0.5, 3.5)),
        ((0.8, 4.5, -0.2), (1.2, 5.5, 0.2)),
        ((0.5, 0, -4.5), (1.5, 2, -1.5)),
        ((-0.25, -0.25, 6.75), (0.25, 0.25, 7.25)),
    ]
    for shape, bounds in zip(read.shapes, wanted, strict=True):
        assert np.abs(box_of(shape) + moved - bounds).max() < 5e-3  # of polygons for circles


@pytest.mark.parametrize("ending", ENDINGS)
def test_meshes_by_path_and_scale(tmp_path, ending):
    if ending == ".xml":
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    (tmp_path / "parts").mkdir()
    trimesh.creation.box((100, 200, 300)).export(tmp_path / "parts" / "a & b.stl")
    m = mt.Model("mesh")
    shape = mt.mesh(tmp_path / "parts" / "a & b.stl", scale=0.001).at((0.1, 0.2, 0.3), mt.turn("z", 0.5))
    m.joint("A", mt.Revolute("z"), m.ground, m.body("a", mass=1.0, inertia=(1, 1, 1), shapes=[shape]))
    (tmp_path / "out").mkdir()
    (read,) = (other for other in trip(m, tmp_path / "out" / f"x{ending}").bodies if other.name == "a")
    (again,) = read.shapes
    assert again.file == shape.file
    assert again.scale == 0.001
    assert "../parts/a &amp; b.stl" in (tmp_path / "out" / f"x{ending}").read_text()
    there, here = (each.placement(Values({})) for each in (again, shape))
    assert [*there.offset] == pytest.approx([*here.offset], abs=1e-8)
    for one, other in zip(there.rotation.rows, here.rotation.rows, strict=True):
        assert [*one] == pytest.approx([*other], abs=1e-6)  # MuJoCo has meshes in single precision


def test_thin_shapes_are_drawn_and_plates_are_listed(tmp_path):
    m = mt.Model("thin")
    shapes = [mt.rod(length=2.0), mt.disc(radius=0.5), mt.polygon(outline=((0, 0), (1, 0), (0, 1)))]
    m.joint("A", mt.Revolute("z"), m.ground, m.body("a", mass=1.0, inertia=(1, 1, 1), shapes=shapes))
    with pytest.warns(UserWarning, match=r"not drawn: polygon \(1\)"):
        m.save(tmp_path / "x.sdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = mt.load(tmp_path / "x.sdf").bodies[0].shapes
    assert [(shape.radius, shape.length) for shape in read] == [(0.04, 2.0), (0.5, 0.01)]
