"""`save` and `convert`: the ending chooses the format; files are whole or not there; TOML of every robot is equal."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

import momentree as mt
from momentree.errors import MomentreeError
from momentree.files.counterparts import FileNotes
from momentree.files.save import convert

ROBOTS = Path(__file__).parents[4] / "shared" / "reference" / "robots"
EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/model.toml"))
FILES = ("cassie_sdf/cassie.sdf", "cassie_sdf/cassie_v2.sdf", "delta/robot.urdf", "five_bar/robot.urdf")
FILES += ("robotiq_2f85/2f85.xml", "xarm7_hand/hand.xml", "urdf/panda.urdf", "urdf/baxter.urdf")


def pendulum() -> mt.Model:
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0, radius=0.01)))
    return m


@pytest.mark.parametrize("ending", [".toml", ".urdf", ".sdf", ".xml", ".mjcf", ".URDF"])
def test_the_ending_chooses_the_format(tmp_path, ending):
    if ending in (".xml", ".mjcf"):
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    path = tmp_path / f"x{ending}"
    pendulum().save(path)
    assert mt.load(path).build().mass_matrix([0.3])[0, 0] == pytest.approx(1 / 3 + 1e-4 / 4)
    words = {".toml": "momentree = 1", ".urdf": "<robot", ".sdf": "<sdf", ".xml": "<mujoco", ".mjcf": "<mujoco"}
    assert words[ending.lower()] in path.read_text()


def test_nothing_is_written_where_something_is_lost(tmp_path):
    m = pendulum()
    m.torque("A", "sin(t)")
    for name in ("x.urdf", "x.sdf", "x.xml"):
        (tmp_path / name).write_text("old")
        with pytest.raises(mt.ModelError, match="torque law"):
            m.save(tmp_path / name)
        assert (tmp_path / name).read_text() == "old"
        with pytest.warns(FileNotes, match="torque law"):
            m.save(tmp_path / name, lossy=True)
        assert (tmp_path / name).read_text() != "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.sdf", "x.urdf", "x.xml"]


def test_closures_are_for_urdf(tmp_path):
    with pytest.raises(MomentreeError, match=r"x\.sdf: has its loops itself"):
        pendulum().save(tmp_path / "x.sdf", closures=tmp_path / "x.yaml")
    with pytest.raises(MomentreeError, match="named twice"):
        pendulum().save(tmp_path / "x.urdf", closures=tmp_path / "x.urdf")
    with pytest.raises(MomentreeError, match="there is no folder"):
        pendulum().save(tmp_path / "nowhere" / "x.urdf")


def test_models_with_mistakes_are_errors(tmp_path):
    m = mt.Model("bad")
    m.joint("A", mt.Revolute("q"), m.ground, m.body("a", mass=-1.0))
    for name in ("x.urdf", "x.sdf", "x.xml"):
        with pytest.raises(mt.ModelError, match="mass is -1"):
            m.save(tmp_path / name)


def test_the_file_that_is_converted_stays(tmp_path):
    pendulum().save(tmp_path / "x.toml")
    before = (tmp_path / "x.toml").read_bytes()
    os.symlink(tmp_path / "x.toml", tmp_path / "link.toml")
    os.link(tmp_path / "x.toml", tmp_path / "hard.urdf")
    for target in ("x.toml", "link.toml", "hard.urdf"):
        with pytest.raises(MomentreeError, match="is the file that is converted"):
            convert(tmp_path / "x.toml", tmp_path / target, {})
    with pytest.raises(MomentreeError, match="is the file that is converted"):
        convert(tmp_path / "x.toml", tmp_path / "y.urdf", {}, closures=tmp_path / "x.toml")
    with pytest.raises(MomentreeError, match=r"the ending says the format\. Choose '\.toml'"):
        convert(tmp_path / "x.toml", tmp_path / "y.json", {})
    assert (tmp_path / "x.toml").read_bytes() == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.skipif(not ROBOTS.exists(), reason="the published robot files are not here")
@pytest.mark.repeats(4)
def test_robots_as_toml_are_equal(tmp_path, name):
    if name.endswith(".xml"):
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mt.load(ROBOTS / name, inertia_check="warn")
        model.save(tmp_path / "x.toml")
        assert mt.load(tmp_path / "x.toml") == model


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("ending", [".urdf", ".sdf", ".xml"])
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_gallery_is_written_or_says_why_not(tmp_path, path, ending):
    """What is left is a model that can be built, with no fewer freedoms; SDF has no Planar joints, nor PinSlots."""
    if ending == ".xml":
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    model = mt.load(path)
    model.save(tmp_path / "x.toml")
    assert mt.load(tmp_path / "x.toml") == model
    how = {"closures": tmp_path / "x.yaml"} if ending == ".urdf" else {}
    unknown = [joint.name for joint in model.joints if joint.type.kind in ("Planar", "PinSlot", "Cylindrical")]
    if unknown and ending == ".sdf":
        with pytest.raises(mt.ModelError) as error:
            model.save(tmp_path / "x.sdf", lossy=True)
        assert [problem.where for problem in error.value.problems] == [f"joint '{name}'" for name in unknown]
        return
    model.save(tmp_path / f"x{ending}", lossy=True, **how)
    again = mt.load(tmp_path / f"x{ending}", inertia_check="warn")
    assert again.build(code="rolled").mobility >= model.build(code="rolled").mobility
