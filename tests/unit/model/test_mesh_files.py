"""Mesh files: what is read, and what broken files say."""

import builtins
import contextlib
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import momentree as mt
from momentree.files import loads
from momentree.model import mesh_files
from momentree.model.mesh_files import integrals_of, triangles_of
from momentree.model.values import Mistake
from momentree.results.run import text_of


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "STL"])
def test_triangles_are_those_of_the_file(tmp_path, ending):
    solid = trimesh.creation.icosphere(subdivisions=1)
    path = tmp_path / f"ball.{ending}"
    solid.export(path)
    vertices, faces = triangles_of(str(path))
    found = np.sort(np.linalg.norm(np.cross(*np.diff(vertices[faces], axis=1).transpose(1, 0, 2)), axis=1) / 2)
    assert found == pytest.approx(np.sort(solid.area_faces), abs=1e-6)


BROKEN = {
    "garbage.stl": (b"garbage", "has no triangles"),
    "garbage.ply": (b"garbage", "cannot be read as a mesh"),
    "empty.obj": (b"", "has no triangles"),
    "points.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "has no triangles"),
    "nan.obj": (b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "has no triangles"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named(tmp_path, name):
    content, words = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Mistake, match=f"{name}' {words}"):
        triangles_of(str(tmp_path / name))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), ending=st.sampled_from(["stl", "obj", "ply"]))
def test_a_damaged_file_is_read_or_a_mistake(tmp_path, data, ending):
    content = trimesh.creation.box((1, 2, 3)).export(file_type=ending)
    content = bytearray(content.encode() if isinstance(content, str) else content)
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=8)):
        content[at] = data.draw(st.integers(0, 255))
    path = tmp_path / f"damaged.{ending}"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    with contextlib.suppress(Mistake):
        assert np.isfinite(triangles_of(str(path)).vertices).all()
        assert integrals_of(str(path)).volume > 0


def test_flat_triangles_enclose_nothing(tmp_path):
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    with pytest.raises(Mistake, match="not closed"):
        integrals_of(str(tmp_path / "flat.obj"))
    with pytest.raises(Mistake, match="is flat"):
        integrals_of(str(tmp_path / "flat.obj"), hull=True)


def test_parts_of_a_mesh_add_up_unless_one_is_inside_out(tmp_path):
    one, other = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((0.9, 0.9, 0.9))
    other.apply_translation((3, 0, 0))
    trimesh.util.concatenate([one, other]).export(tmp_path / "parts.ply")
    assert integrals_of(str(tmp_path / "parts.ply")).volume == pytest.approx(1.729)
    other.invert()
    trimesh.util.concatenate([one, other]).export(tmp_path / "wrong.ply")
    with pytest.raises(Mistake, match=r"wrong.ply' has parts that are inside out"):
        integrals_of(str(tmp_path / "wrong.ply"))
    hole = trimesh.creation.box((0.9, 0.9, 0.9))
    hole.invert()
    trimesh.util.concatenate([one, hole]).export(tmp_path / "hollow.ply")
    assert integrals_of(str(tmp_path / "hollow.ply")).volume == pytest.approx(0.271)


def test_files_that_a_mesh_names_are_not_opened(tmp_path, monkeypatch):
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "box.obj")
    text = (tmp_path / "box.obj").read_text()
    (tmp_path / "box.obj").write_text(f"mtllib secret.mtl\nusemtl paint\n{text}")
    (tmp_path / "secret.mtl").write_text("newmtl paint\nmap_Kd secret.png\n")
    opened, really = [], builtins.open
    monkeypatch.setattr(
        builtins, "open", lambda path, *more, **how: opened.append(str(path)) or really(path, *more, **how)
    )
    assert len(triangles_of(str(tmp_path / "box.obj")).faces) == 12
    assert [path for path in opened if "secret" in path] == []


def test_a_file_may_be_too_large(tmp_path, monkeypatch):
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "box.stl")
    monkeypatch.setattr(mesh_files, "LARGEST_FILE", 100)
    with pytest.raises(Mistake, match="larger than"):
        triangles_of(str(tmp_path / "box.stl"))


# --- bound to their content ---


def box_model(path: Path) -> mt.Model:
    m = mt.Model("box")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("arm", mt.mesh(path, density=1000.0, hull=True)))
    m.start_at({"A": 0.5}, t_end=0.5)
    return m


def test_a_text_of_a_system_gives_its_inertia_or_is_refused_by_the_name_of_the_file(tmp_path):
    path = tmp_path / "box.stl"
    trimesh.creation.box((1, 2, 3)).export(path)
    system = box_model(path).build()
    text = text_of(system)
    assert loads(text).build().mass_matrix([0.1]) == system.mass_matrix([0.1])
    trimesh.creation.box((1, 2, 4)).export(path)
    with pytest.raises(mt.MomentreeError, match=r"body 'arm'.*box.stl' is not the one that gave the inertia"):
        loads(text).build()
    assert text_of(box_model(path).build()) != text
    trimesh.creation.box((1, 2, 3)).export(path)
    assert text_of(loads(text).build()) == text


def test_what_depends_on_a_mesh_is_not_mixed_with_that_of_another(tmp_path):
    path, study = tmp_path / "box.stl", {"over": {"A'": [1.0, 2.0]}, "outputs": {"end": "last(A)"}, "every": 0.1}
    trimesh.creation.box((1, 2, 3)).export(path)
    run = box_model(path).build().simulate(path=tmp_path / "run.nc")
    mt.study(box_model(path), **study, path=tmp_path / "s.zarr").run()
    trimesh.creation.box((1, 2, 4)).export(path)
    loaded = mt.load_run(tmp_path / "run.nc")
    assert (loaded.energy.kinetic == run.energy.kinetic).all()  # as it was saved
    with pytest.raises(mt.MomentreeError, match="not the one that gave the inertia"):
        loaded.reactions("A")
    with pytest.raises(mt.MomentreeError, match=r"It differs in the content of file = .*box.stl"):
        mt.study(box_model(path), **study, path=tmp_path / "s.zarr")


def test_drawn_meshes_and_files_of_models_are_bound_to_nothing(tmp_path):
    path = tmp_path / "box.stl"
    trimesh.creation.box((1, 2, 3)).export(path)
    m = box_model(path)
    m.shape(m.ground, mt.mesh(path))
    m.save(tmp_path / "m.toml")
    assert "digest" not in (tmp_path / "m.toml").read_text()
    assert text_of(m.build()).count("digest") == 1
