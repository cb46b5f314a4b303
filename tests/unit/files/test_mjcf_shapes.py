"""What is drawn of MJCF: solids, colors, groups, planes, meshes where MuJoCo has them, sites as named frames."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mjcf_texts import EVERY
from momentree.model.values import Values

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")
pytestmark = pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")


def loaded(folder, text):
    path = folder / "robot.xml"
    path.write_text(text, encoding="utf-8")
    return mt.load(path)


def test_solids_have_the_size_and_color_that_mujoco_shows(tmp_path):
    model = loaded(tmp_path, EVERY)
    base, arm, hand, ball = (body.shapes for body in model.bodies[:4])
    assert [(shape.kind, shape.size, shape.color) for shape in base] == [("box", (0.2, 0.4, 0.6), (255, 0, 0))]
    assert [(shape.kind, shape.radius, shape.length, shape.color) for shape in arm] == [
        ("capsule", 0.05, 0.4, (0, 0, 255))
    ]
    assert [(shape.kind, shape.length, shape.color) for shape in hand] == [("cylinder", 0.2, None)]  # group 3 is hidden
    assert [(shape.kind, shape.radius) for shape in ball] == [("sphere", 0.1)]
    assert not any(shape.has_mass for body in model.bodies for shape in body.shapes)
    (plane,) = model.shapes
    assert (plane.frame.body, plane.shape.kind, plane.shape.outline[2]) == ("ground", "polygon", (2, 1))


def test_sites_are_named_frames(tmp_path):
    (eye,) = loaded(tmp_path, EVERY).frames
    assert (eye.name, eye.frame.body, eye.frame.position) == ("eye", "base", (0, 0, 0.3))


TEXT = """<mujoco>
  <compiler meshdir="assets" angle="radian"/>
  <asset><mesh name="m" file="part.{}" scale="{}" refpos="0.1 0.2 0" refquat="0.5 0.1 0.7 0.2"/></asset>
  <worldbody><body name="b"><joint/>
    <geom type="mesh" mesh="m" pos="1 2 3" euler="0.1 0.2 0.3" contype="0" conaffinity="0"/></body></worldbody>
</mujoco>"""


def mesh_file(folder, ending="stl"):
    import trimesh

    (folder / "assets").mkdir()
    part = trimesh.creation.box((1, 2, 3))
    part.apply_transform(trimesh.transformations.euler_matrix(0.3, 0.5, 0.7))
    part.apply_translation((5, 6, 7))
    part.export(folder / "assets" / f"part.{ending}")
    return part.vertices


@pytest.mark.parametrize("ending", ["stl", "obj"])
def test_meshes_are_drawn_where_mujoco_has_them(tmp_path, ending):
    """MuJoCo moves vertices to the center of mass and the principal axes, and the geom with them."""
    vertices = mesh_file(tmp_path, ending)
    model = loaded(tmp_path, TEXT.format(ending, "0.1 0.1 0.1"))
    (shape,) = model.bodies[0].shapes
    X = shape.placement(Values({}))
    R, p = np.array([[*row] for row in X.rotation.rows]), np.array([*X.offset])
    ours = 0.1 * np.asarray(vertices) @ R.T + p
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    theirs = m.mesh_vert @ d.geom_xmat[0].reshape(3, 3).T + d.geom_xpos[0]
    nearest = np.linalg.norm(ours[:, None] - theirs[None], axis=2).min(axis=1)
    assert nearest.max() < 1e-6  # MuJoCo's vertices are in single precision


def test_meshes_that_are_mirrored_are_not_drawn(tmp_path):
    mesh_file(tmp_path)
    with pytest.warns(UserWarning, match="scaled differently along the axes: 'part.stl'"):
        model = loaded(tmp_path, TEXT.format("stl", "0.1 0.1 -0.1"))
    assert model.bodies[0].shapes == ()
