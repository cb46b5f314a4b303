"""Notes of models from elsewhere: listed by kind, name and count, and no part of what a model is."""

from __future__ import annotations

import itertools
import pickle
import warnings

import momentree as mt
from momentree.model.notes import LONGEST, Note

LINK = '<link name="{}"><visual><geometry><mesh filename="package://p/{}.stl"/></geometry></visual></link>'


def test_a_note_has_its_count_and_its_names():
    assert str(Note("left out <gazebo>", (), 3)) == "left out <gazebo> (3)"
    meshes = Note("meshes not found", ("a", "b", "c"), 5)
    assert str(meshes) == "meshes not found (5): 'a', 'b', 'c'"
    assert meshes.shown(2) == "meshes not found: 'a', 'b' and 1 more"
    assert meshes.shown(3) == meshes.shown() == "meshes not found: 'a', 'b', 'c'"


def test_names_of_a_file_cannot_write_on_the_terminal():
    assert "\x1b" not in str(Note("left out <plugin>", ("\x1b[2J\u202e",)))
    assert len(str(Note("left out", ("x" * 10**6,)))) < LONGEST + 40


def test_all_that_a_robot_file_says_and_the_model_does_not_is_in_its_notes(tmp_path):
    names = [f"l{i}" for i in range(9)]
    joints = [
        f'<joint name="j{b}" type="fixed"><parent link="{a}"/><child link="{b}"/></joint>'
        for a, b in itertools.pairwise(names)
    ]
    parts = [LINK.format(name, name) for name in names]
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r">{"".join(parts + joints)}<gazebo/><gazebo reference="l0"/></robot>')
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = mt.load(path)
    by_kind = {note.kind: note for note in model.notes}
    meshes = by_kind["meshes not found (name their folder: packages=)"]
    assert meshes.names == tuple(f"package://p/{name}.stl" for name in names)
    assert meshes.count == 9
    assert (by_kind["left out <gazebo>"].names, by_kind["left out <gazebo>"].count) == ((), 2)
    assert len(said) == 1
    assert "'package://p/l3.stl' and 5 more; left out <gazebo> (2)" in str(said[0].message)

    # they are no part of what the model is: a model file says all of that by itself, and has none
    model.save(tmp_path / "r.toml")
    again = mt.load(tmp_path / "r.toml")
    assert again == model
    assert again.notes == ()
    assert model.copied().notes == model.notes == pickle.loads(pickle.dumps(model)).notes
