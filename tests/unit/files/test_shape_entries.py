"""Shapes in files: what is saved loads equal, wherever it is saved."""

import dataclasses
import os
import re
from pathlib import Path

import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

import momentree as mt
from momentree.errors import ModelError
from momentree.files.model_files import dumps, loads, to_document
from momentree.model.colors import COLORS
from momentree.model.shapes import SHAPES, Shape
from momentree.model.values import Values

numbers = st.one_of(st.floats(0.1, 5), st.integers(1, 4), st.just("k"))
vectors = st.tuples(numbers, numbers, numbers)
axes = st.sampled_from(["x", "-y", (1, 2, 2)])
rotations = st.sampled_from([None, mt.turn("z", "30*deg"), (mt.turn("x", 1), mt.turn("y", 2)), (0, 0, 0, 1)])
outlines = st.tuples(numbers, numbers).map(lambda ab: ((0, 0), (ab[0], 0), (0, ab[1])))


@st.composite
def shapes(draw, solid=True):
    """Any shape, with a mass, a density or, if it need not be a solid, neither."""
    kind = draw(st.sampled_from(["rod", "box", "sphere", "cylinder", "disc", "capsule", "polygon"]))
    how = draw(st.sampled_from([{"mass": 2.0}, {"density": "k"}, *([] if solid else [{}] * 3)]))
    if kind in ("rod", "cylinder", "disc", "capsule", "sphere"):
        how = {**how, "radius": draw(numbers)}
    if kind in ("rod", "cylinder", "capsule"):
        how["length"] = draw(numbers)
    if kind in ("disc", "polygon"):
        how["thickness"] = draw(numbers)
    if kind in ("cylinder", "disc", "capsule"):
        how["axis"] = draw(axes)
    if kind == "box":
        how = {**how, "size": draw(vectors), "centre": draw(vectors)}
    if kind == "polygon":
        how = {**how, "outline": draw(outlines), "plane": draw(st.sampled_from(["xy", "yz"]))}
    how["color"] = draw(st.sampled_from([None, "orange", "#01fe10", (0, 10, 255)]))
    shape = getattr(mt, kind)(**how)
    return shape.at(draw(vectors), draw(rotations)) if draw(st.booleans()) else shape


@settings(deadline=None, max_examples=100)
@given(st.lists(shapes(), min_size=1, max_size=3), st.lists(shapes(False), max_size=3), rotations)
def test_what_is_saved_loads_equal(solids, drawn, rotation):
    m = mt.Model("shapes")
    m.parameter("k", 1.5)
    m.body("hull", shapes=[*solids, *drawn])
    only_drawn = [shape for shape in drawn if not shape.has_mass]
    arm = m.body("arm", mass=1, inertia=(1, 1, 1), shapes=only_drawn)
    for shape in only_drawn:
        m.shape(m.ground, shape)
        m.shape(arm.at((1, 0, "k"), rotation), shape, color="red")
    text = dumps(m)
    again = loads(text)
    assert again == m
    assert dumps(again) == text
    assert again.bodies == m.bodies
    assert again.shapes == m.shapes


def test_one_shape_stands_by_its_kind_and_several_in_a_list():
    m = mt.Model("two")
    m.body("one", mt.rod(1.0, 2.0))
    m.body("two", shapes=[mt.box(density=10, size=(1, 1, 1), color="blue").at((0, 0, 1)), mt.sphere(radius=2)])
    m.shape(m.ground, mt.disc(radius=1))
    document = to_document(m)
    assert document["body"][0] == {"name": "one", "rod": {"mass": 1.0, "length": 2.0}}
    first, second = document["body"][1]["shapes"]
    assert [*first] == ["kind", "density", "size", "color", "at"]
    assert second == {"kind": "sphere", "radius": 2}
    assert document["shape"] == [{"kind": "disc", "radius": 1}]


def test_a_list_of_one_is_the_same_as_its_kind():
    one = '[[body]]\nname = "b"\nrod = { mass = 1, length = 2 }\n'
    listed = '[[body]]\nname = "b"\nshapes = [{ kind = "rod", mass = 1, length = 2 }]\n'
    tables = '[[body]]\nname = "b"\n[[body.shapes]]\nkind = "rod"\nmass = 1\nlength = 2\n'
    assert loads(one) == loads(listed) == loads(tables)


def test_the_page_of_the_model_file_says_what_is_true(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "model-file.md").read_text(encoding="utf-8")
    section = page.partition("### Shapes")[2].partition("### ")[0]
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "meshes" / "hull.stl")
    (tmp_path / "model.toml").write_text(section.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    m = mt.load(tmp_path / "model.toml")
    assert [len(body.shapes) for body in m.bodies] == [1, 3]
    assert m.bodies[1].rigid_inertia(Values({})).mass == pytest.approx(2703)
    listed = section.partition("Names of colors: ")[2].partition(".")[0].split(", ")
    assert listed == [name for name in COLORS if "grey" not in name]
    for kind, cls in SHAPES.items():
        row = next(line for line in section.splitlines() if line.startswith(f"| `{kind}`"))
        own = {field.name for field in dataclasses.fields(cls)} - {field.name for field in dataclasses.fields(Shape)}
        assert {key.partition(" ")[0] for key in re.findall("`([^`]+)`", row.split("|")[2])} == own


def test_lines_of_shapes_in_tables_of_their_own():
    text = (
        '[[body]]\nname = "b"\n[[body.shapes]]\nkind = "rod"\nmass = 1\nlength = 2\n\n[[body.shapes]]\nkind = "box"\n'
    )
    text += 'size = [1, 1, 0]\nat = [1, 2]\ncolor = "bule"\nrotation = 3\n'
    with pytest.raises(ModelError) as caught:
        loads(text)
    places = {problem.place.rpartition(":")[2]: problem.message for problem in caught.value.problems}
    assert [*places] == ["10", "11", "12", "13"]
    assert all(str(problem.where).startswith("body 'b', shape 2 (box)") for problem in caught.value.problems)


def test_the_path_of_a_mesh_is_relative_to_the_file(tmp_path, monkeypatch):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "models").mkdir()
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "meshes" / "link.stl")
    monkeypatch.chdir(tmp_path)
    m = mt.Model("mesh")
    m.body("link", mt.mesh("meshes/link.stl", density=2))
    m.shape("ground", mt.mesh("meshes/link.stl", scale=0.1))
    m.save("models/model.toml")
    text = (tmp_path / "models" / "model.toml").read_text()
    assert text.count('file = "../meshes/link.stl"') == 2
    monkeypatch.chdir(tmp_path / "meshes")
    again = mt.load(tmp_path / "models" / "model.toml")
    assert again == m
    assert again.build().mechanism.bodies[0].inertia.mass == pytest.approx(12)
    assert loads(dumps(m)) == m  # without a file of its own: absolute paths
    os.remove("link.stl")
    with pytest.raises(ModelError) as caught:
        mt.load(tmp_path / "models" / "model.toml")
    assert len(caught.value.problems) == 2
    assert "link.stl'. A path is relative to the model file" in str(caught.value)


def test_a_run_knows_where_its_meshes_are(tmp_path, monkeypatch):
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "link.stl")
    monkeypatch.chdir(tmp_path)
    m = mt.Model("mesh")
    m.joint("A", mt.Revolute("z"), m.ground, m.body("link", mt.mesh("link.stl", density=2)))
    system = m.build()
    system.simulate(system.assemble(), t_end=0.1).save("run.nc")
    os.mkdir("elsewhere")
    monkeypatch.chdir("elsewhere")
    assert mt.load_run("../run.nc").system.mechanism.bodies[0].inertia.mass == pytest.approx(12)
