"""MJCF in MuJoCo's compiler: includes, errors with file and line, files that would hang or fill memory."""

from __future__ import annotations

import contextlib
import os
import random
import re
import time
import warnings

import pytest

import momentree as mt
from mjcf_texts import EVERY, LOOPS, WITHOUT
from momentree.files.counterparts import FileNotes

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")
pytestmark = pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")


def written(folder, text, name="robot.xml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def world(inside):
    return f"<mujoco>\n<worldbody>\n{inside}\n</worldbody></mujoco>"


def test_included_files_and_what_they_include(tmp_path):
    (tmp_path / "parts").mkdir()
    written(
        tmp_path / "parts", "<mujocoinclude><body name='a'><joint/><geom size='0.1'/></body></mujocoinclude>", "a.xml"
    )
    written(tmp_path, "<mujocoinclude><include file='parts/a.xml'/></mujocoinclude>", "b.xml")
    model = mt.load(written(tmp_path, world("<include file='b.xml'/>")))
    assert [body.name for body in model.bodies] == ["a"]
    assert model.place_of("body", "a").endswith(os.path.join("parts", "a.xml") + ":1")


@pytest.mark.parametrize("ending", ["xml", "mjcf", "XML"])
def test_the_ending_does_not_matter_to_what_is_found_beside_the_file(tmp_path, monkeypatch, ending):
    import trimesh

    (tmp_path / "assets").mkdir()
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "assets" / "m.stl")
    written(tmp_path, "<mujocoinclude><compiler meshdir='assets'/></mujocoinclude>", "part.xml")
    asset = "<include file='part.xml'/><asset><mesh name='m' file='m.stl'/></asset>"
    body = "<body name='b'><joint/><geom type='mesh' mesh='m'/></body>"
    written(tmp_path, f"<mujoco>{asset}<worldbody>{body}</worldbody></mujoco>", f"robot.{ending}")
    monkeypatch.chdir(tmp_path)
    for path in (f"robot.{ending}", tmp_path / f"robot.{ending}"):
        (body,) = mt.load(path).bodies
        assert body.mass == pytest.approx(1000)
        assert [shape.file for shape in body.shapes] == [str(tmp_path / "assets" / "m.stl")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<robot/>", r"robot.xml:1: begins with <robot>; <mujoco> is expected"),
        ("", "is not XML"),
        ("<mujoco>", "is not XML: no element found"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><mujoco/>', r"robot.xml:1: has a document type"),
        (world("<body><joint typ='hinge'/></body>"), r"robot.xml:3: 'joint': MuJoCo .*unrecognized attribute: 'typ'"),
        (world("<foo/>"), r"robot.xml:3: 'foo': MuJoCo cannot compile it: .*unrecognized element"),
        (world("<body name='b'><joint/></body>"), r"robot.xml:3: 'b': .*mass and inertia of moving bodies"),
        (world("<body name='b'><joint/><geom size='nan'/></body>"), "size is 'nan'; finite numbers are expected"),
        (world("<geom type='mesh' mesh='none'/>"), r"robot.xml:3: .*mesh 'none' not found"),
        (world("<body>" * 300), "more than 200 elements inside each other"),
        (world("<replicate count='1000000000'><geom size='1'/></replicate>"), "<replicate>: makes more than 10000"),
        (world("<replicate count='999'><replicate count='999'/></replicate>"), "<replicate>: makes more than 10000"),
        (world("<body><composite type='cable' count='99999999 1 1'/></body>"), "<composite>: makes more than 10000"),
        ("<mujoco><size nuser_body='1000000000'/></mujoco>", "<size>: needs more than"),
        (
            "<mujoco><asset><hfield name='h' nrow='99999' ncol='9999'/></asset></mujoco>",
            "<hfield name='h'>: needs more",
        ),
        ("<mujoco><include file='robot.xml'/></mujoco>", "already included"),
        ("<mujoco>\n<include file='none.xml'/></mujoco>", r"robot.xml:2: 'include': .*Error opening file 'none.xml'"),
        ("<mujoco><include file='/dev/zero'/></mujoco>", "not a regular file"),
        ("<mujoco><asset><mesh name='a' file='/dev/zero'/></asset></mujoco>", "<mesh name='a'>: .*not a regular file"),
    ],
)
def test_mistakes_name_the_culprit_and_its_line_at_once(tmp_path, text, told):
    begin = time.monotonic()
    with pytest.raises(mt.ModelError, match=told):
        mt.load(written(tmp_path, text))
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("\n\n<body name='i'><joint rnge='0 1'/></body>", r"part.xml:3: 'joint': .*unrecognized attribute: 'rnge'"),
        ("\n<body name='i'><joint/></body>", r"part.xml:2: 'i': .*mass and inertia of moving bodies"),
    ],
)
def test_mistakes_in_included_files_name_that_file(tmp_path, part, told):
    written(tmp_path, f"<mujocoinclude>{part}</mujocoinclude>", "part.xml")
    with pytest.raises(mt.ModelError, match=told):
        mt.load(written(tmp_path, world("<include file='part.xml'/>")))


def test_document_types_of_included_files_are_refused(tmp_path):
    written(tmp_path, '<!DOCTYPE a [<!ENTITY b "c">]><mujocoinclude/>', "part.xml")
    with pytest.raises(mt.ModelError, match=r"part.xml:1: has a document type"):
        mt.load(written(tmp_path, world("<include file='part.xml'/>")))


MESH = "<mujoco>\n<asset><mesh name='m' file='none.stl'/><texture name='t' type='2d' file='none.png'/></asset>"
MISSING = MESH + "<worldbody><body name='b'>{}<joint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>"


def test_pictures_are_not_read_and_meshes_only_where_inertia_needs_them(tmp_path):
    with pytest.raises(mt.ModelError, match=r"robot.xml:2: <mesh name='m'>: there is no file 'none.stl', .* body 'b'"):
        mt.load(written(tmp_path, MISSING.format("")))
    inertial = "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
    with pytest.warns(FileNotes, match="meshes not found: 'none.stl'"):
        assert mt.load(written(tmp_path, MISSING.format(inertial))).bodies[0].mass == 1


def test_no_file_is_left_behind(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a file in the working folder; they become notes."""
    monkeypatch.chdir(tmp_path)
    text = world("<body><joint/><geom size='0.1'/></body>").replace("<worldbody>", "<size nstack='10'/><worldbody>", 1)
    with contextlib.suppress(mt.ModelError):
        mt.load(written(tmp_path, text))
    assert os.listdir(tmp_path) == ["robot.xml"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(100))
@pytest.mark.repeats(12)
def test_damaged_files_load_or_say_what_is_wrong(tmp_path, seed):
    chance = random.Random(seed)
    text = chance.choice([EVERY, WITHOUT, LOOPS])
    for _ in range(chance.randint(1, 3)):
        i, j = sorted(chance.sample(range(len(text)), 2))
        j = min(j, i + 40)
        numbers = list(re.finditer(r'(?<=")[-0-9. ]+(?=")', text)) or [re.match("", text)]
        number = chance.choice(numbers)
        other = chance.choice(["0", "-1", "1e20", "0 0 0", "1e-20", "1 2 3 4 5 6 7 8 9", "", "999999999"])
        tags = [chance.choice(["body", "joint", "geom", "site", "weld", "frame", "replicate", "key"]) for _ in "ab"]
        text = chance.choice(
            [
                text[: i + 3],
                text[:i] + text[j:],
                text[:i] + text[i:j] * 3 + text[j:],
                text[:i] + chance.choice(["<", ">", '"', "-1e999", "&", "\0", "0"]) + text[i:],
                text[: number.start()] + other + text[number.end() :],
                text.replace(f"<{tags[0]}", f"<{tags[1]}", 1),
            ]
        )
    begin = time.monotonic()
    with contextlib.suppress(mt.MomentreeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mt.load(written(tmp_path, text))
    assert time.monotonic() - begin < 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes on this system")
@pytest.mark.parametrize("said", ["", "content_type='text/xml'"])
def test_pipes_that_models_inside_name_are_not_waited_for(tmp_path, said):
    parts = tmp_path / "parts"
    (parts / "meshes").mkdir(parents=True)
    os.mkfifo(parts / "meshes" / "m.stl")
    asset = "<asset><mesh name='m' file='m.stl'/></asset>"
    body = "<worldbody><body name='b'><geom type='mesh' mesh='m'/></body></worldbody>"
    written(parts, f"<mujoco><compiler meshdir='meshes'/>{asset}{body}</mujoco>", "inner.xml")
    model = f"<asset><model name='inner' file='parts/inner.xml' {said}/></asset>"
    text = f"<mujoco>{model}<worldbody><attach model='inner' body='b' prefix='p'/></worldbody></mujoco>"
    begin = time.monotonic()
    with pytest.raises(mt.ModelError, match=r"inner.xml:1: <mesh name='m'>: 'm.stl' is not a regular file"):
        mt.load(written(tmp_path, text))
    assert time.monotonic() - begin < 2
