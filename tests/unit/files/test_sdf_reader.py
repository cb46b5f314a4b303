"""SDF: bodies, static models, roots, gravity, drawing; an error with a line for the rest, whatever is damaged."""

from __future__ import annotations

import contextlib
import random
import time
import warnings

import numpy as np
import pytest

import momentree as mt
from momentree.files.counterparts import FileNotes

INERTIAL = """<inertial><pose>0.1 0 0 0 0 0.5</pose><mass>2</mass>
  <inertia><ixx>0.11</ixx><iyy>0.12</iyy><izz>0.13</izz><ixy>0.01</ixy><ixz>-0.02</ixz><iyz>0.005</iyz></inertia></inertial>"""
HINGE = "<axis><xyz>0 0 1</xyz></axis>"
FOUR_BAR = f"""<?xml version="1.0"?>
<sdf version="1.7">
  <world name="lab">
    <gravity>0 -9.81 0</gravity>
    <include><uri>model://sun</uri></include>
    <model name="bench"><static>true</static><pose>0 0 -1 0 0 0</pose>
      <link name="top"><pose>1 0 0 0 0 0</pose><visual name="v"><pose>0 0.5 0 0 0 0</pose>
        <geometry><box><size>4 4 0.1</size></box></geometry></visual></link></model>
    <model name="bars">
      <link name="crank">{INERTIAL}
        <visual name="v"><geometry><cylinder><radius>0.05</radius><length>1</length></cylinder></geometry>
          <material><diffuse>1 0 0 1</diffuse></material></visual>
        <visual name="w"><geometry><mesh><uri>model://nowhere/a.stl</uri></mesh></geometry></visual></link>
      <link name="coupler"><pose>0 1 0 0 0 0</pose>{INERTIAL}</link>
      <link name="rocker"><pose>2 0 0 0 0 0</pose>{INERTIAL}</link>
      <joint name="A" type="revolute"><parent>world</parent><child>crank</child>{HINGE}</joint>
      <joint name="B" type="revolute"><parent>crank</parent><child>coupler</child>{HINGE}</joint>
      <joint name="C" type="revolute"><pose>2 0.5 0 0 0 0</pose>
        <parent>rocker</parent><child>coupler</child>{HINGE}</joint>
      <joint name="D" type="revolute"><parent>world</parent><child>rocker</child>{HINGE}</joint>
      <plugin name="control" filename="x.so"/>
    </model>
  </world>
</sdf>
"""
FREE = f"""<sdf version="1.6"><model name="two"><pose>0 0 3 0 0 0</pose>
  <link name="ground">{INERTIAL}</link><link name="b"><pose>1 0 0 0 0 0</pose></link></model></sdf>"""


def written(tmp_path, text=FOUR_BAR, name="bars.sdf"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        yield


@pytest.fixture
def bars(tmp_path, quiet):
    return mt.load(written(tmp_path))


def test_loops_arise_by_themselves(bars):
    assert [body.name for body in bars.bodies] == ["bars::crank", "bars::coupler", "bars::rocker"]
    system = bars.build()
    assert (system.nv, system.mobility) == (3, 1)
    assert len(system.mobility_report.redundant) == 3
    state = system.start()
    assert np.allclose(state.q, 0)  # the poses of the file are the zero of all coordinates
    assert np.allclose(system.position(state, mt.Model().ground.at((0, 0, 0))), 0)
    assert np.allclose(system.position(state, "bars::coupler"), (0, 1, 0))


def test_gravity_statics_and_shapes(bars):
    assert bars.gravity == (0.0, -9.81, 0.0)
    (drawn,) = bars.shapes
    assert (drawn.frame.body, drawn.shape.kind, drawn.shape.position) == ("ground", "box", (1.0, 0.5, -1.0))
    (cylinder,) = bars.bodies[0].shapes
    assert (cylinder.kind, cylinder.color) == ("cylinder", (255, 0, 0))


def test_inertia_is_turned_into_the_link(bars):
    c, s = np.cos(0.5), np.sin(0.5)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    J = R @ np.array([[0.11, 0.01, -0.02], [0.01, 0.12, 0.005], [-0.02, 0.005, 0.13]]) @ R.T
    xx, yy, zz, xy, xz, yz = bars.bodies[0].inertia
    assert np.allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], J, atol=1e-15)
    assert bars.bodies[0].com == (0.1, 0.0, 0.0)


def test_what_has_no_counterpart_is_listed_once(tmp_path):
    with pytest.warns(FileNotes) as caught:
        mt.load(written(tmp_path))
    (note,) = caught
    for part in ("left out <include> (flatten", "'model://sun'", "left out <plugin>: 'control'", "nowhere/a.stl"):
        assert part in str(note.message)


def test_models_float_unless_told_otherwise(tmp_path):
    with pytest.warns(FileNotes) as caught:
        model = mt.load(written(tmp_path, FREE))
    told = str(caught[0].message)
    assert "floats, since no joint holds it (floating=False fixes it): 'ground_link', 'b'" in told
    assert "link renamed to 'ground_link'" in told
    assert "without inertial, so 1 kg and 1 kg m2: 'b'" in told
    system = model.build()
    assert (system.nv, system.mobility) == (12, 12)
    assert np.allclose(system.position(system.start(), "b"), (1, 0, 3))
    with pytest.warns(FileNotes):
        fixed = mt.load(written(tmp_path, FREE), floating=False)
    assert [joint.type.kind for joint in fixed.joints] == ["Fixed", "Fixed"]


def test_a_model_from_sdf_is_saved_and_loads_equal(tmp_path, bars):
    bars.save(tmp_path / "bars.toml")
    assert mt.load(tmp_path / "bars.toml") == bars


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<child>crank</child>", "<child>cranc</child>", r"bars.sdf:\d+: .*no frame 'cranc'. Did you mean 'crank'"),
        ("<parent>rocker</parent>", "", "<parent> is missing"),
        ('type="revolute"', 'type="hinge"', "there is no joint type 'hinge'"),
        ('version="1.7"', 'version="1.2"', "1.4 or later is read"),
        ('version="1.7"', "", "version is missing"),
        ("<mass>2</mass>", "<mass>-2</mass>", r"bars.sdf:\d+: body 'bars::crank': mass is -2 kg"),
        ("<mass>2</mass>", "<mass>two</mass>", "its text is 'two'; a number is expected"),
        ("<inertial>", '<inertial auto="true">', "auto inertia is not computed here"),
        ("<ixx>0.11</ixx>", "<ixx>5</ixx>", "inertia_check"),
        ("<xyz>0 0 1</xyz>", "<xyz>0 0 0</xyz>", "its axis has no direction"),
        ("<axis><xyz>0 0 1</xyz></axis>", "", "<axis> is missing"),
        ('<link name="rocker">', '<link name="crank">', "another <link> of this name in line"),
        ('<link name="rocker">', '<link name="a::b">', "no element may have this name"),
        ("<pose>2 0 0 0 0 0</pose>", "<pose>2 0</pose>", "its text is '2 0'; 6 numbers are expected"),
        (
            "<pose>2 0 0 0 0 0</pose>",
            '<pose relative_to="C"/>',
            r"its pose is relative to itself, through 'rocker'|'C'",
        ),
        ('<model name="bench">', '<link name="l"/><model name="bench">', "is in no <model>"),
        (
            "<pose>2 0 0 0 0 0</pose>",
            "<pose>1e300 0 0 0 0 0</pose>",
            r"bars.sdf:\d+: <pose>: is further than 1e\+100 m",
        ),
        ("<world", "<wrld", "has no model with a <link>|mismatched"),
    ],
)
def test_mistakes_name_the_culprit_its_line_and_the_way_out(tmp_path, quiet, old, new, told):
    text = FOUR_BAR.replace(old, new, 1)
    if "relative_to" in new:  # the joint in turn is placed by its link
        text = text.replace("<pose>2 0.5 0 0 0 0</pose>", '<pose relative_to="rocker">0 1 0 0 0 0</pose>')
    assert text != FOUR_BAR
    with pytest.raises(mt.ModelError, match=told):
        mt.load(written(tmp_path, text))


def test_long_chains_of_frames_and_deep_nesting(tmp_path, quiet):
    frames = "".join(
        f'<frame name="f{k}"><pose relative_to="f{k + 1}">0 0 0.001 0 0 0</pose></frame>' for k in range(3000)
    )
    text = f"""<sdf version="1.9"><model name="m">{frames}<frame name="f3000"/>
      <link name="a"><pose relative_to="f0"/>{INERTIAL}</link></model></sdf>"""
    system = mt.load(written(tmp_path, text)).build()
    assert np.allclose(system.position(system.start(), "a"), (0, 0, 3))
    ring = text.replace('<frame name="f3000"/>', '<frame name="f3000"><pose relative_to="f0"/></frame>')
    with pytest.raises(mt.ModelError, match="its pose is relative to itself"):
        mt.load(written(tmp_path, ring))
    deep = "".join(f'<model name="m{k}">' for k in range(150)) + f'<link name="a">{INERTIAL}</link>' + "</model>" * 150
    assert mt.load(written(tmp_path, f'<sdf version="1.8">{deep}</sdf>')).build().nv == 6
    bomb = '<!DOCTYPE s [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><sdf version="1.8">&b;</sdf>'
    with pytest.raises(mt.ModelError, match="document type"):
        mt.load(written(tmp_path, bomb))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(120))
@pytest.mark.repeats(15)
def test_damaged_files_load_or_say_what_is_wrong(tmp_path, seed):
    chance = random.Random(seed)
    text = FOUR_BAR
    words = ["pose", "link", "joint", "model", "axis", "world", "parent", "child", "crank", "revolute", "0", "1", "::"]
    for _ in range(chance.randint(1, 4)):
        i, j = sorted(chance.sample(range(len(text)), 2))
        j = min(j, i + 40)
        text = chance.choice(
            [
                text[:i],
                text[:i] + text[j:],
                text[:i] + text[i:j] * 3 + text[j:],
                text[:i] + chance.choice(["<", ">", '"', "-1e999", "&", "\0", "0"]) + text[i:],
                text.replace(chance.choice(words), chance.choice(words), chance.choice([1, 2, -1])),
            ]
        )
        text = text or "<"
    begun = time.perf_counter()
    with contextlib.suppress(mt.MomentreeError):
        mt.load(written(tmp_path, text)).build()
    assert time.perf_counter() - begun < 2


@pytest.mark.usefixtures("quiet")
def test_joints_are_left_out_by_name(tmp_path):
    """With one hinge less a four-bar is open; without two of them, a bar floats."""
    path = written(tmp_path, FOUR_BAR.replace("</inertial>", "</inertial>\n"))
    whole, opened = mt.load(path), mt.load(path, without=["bars::C"])
    assert (whole.build().mobility, opened.build().mobility) == (1, 3)
    assert mt.load(path, without=["bars::C", "bars::D"]).build().mobility == 2 + 6
    assert [joint.name for joint in opened.joints] == ["bars::A", "bars::B", "bars::D"]
    assert [note.names for note in opened.notes if "without" in note.kind] == [("bars::C",)]
    lines = {joint.name: whole.source(("joint", i)) for i, joint in enumerate(whole.joints)}
    assert opened.source(("joint", 2)) == lines["bars::D"] != lines["bars::C"]
    with pytest.raises(mt.ModelError, match=r"there is no joint 'bars::E' to leave out. Did you mean 'bars::"):
        mt.load(path, without="bars::E")


@pytest.mark.usefixtures("quiet")
def test_gravity_does_not_act_on_a_link_that_says_so(tmp_path):
    link = f"<link name='a'><pose>1 2 3 0.4 0.5 0.6</pose>{INERTIAL}{{}}</link>"
    for said, a in (
        ("", 9.81),
        ("<gravity>1</gravity>", 9.81),
        ("<gravity>0</gravity>", 0),
        ("<gravity>false</gravity>", 0),
    ):
        model = mt.load(written(tmp_path, f"<sdf version='1.7'><model name='m'>{link.format(said)}</model></sdf>"))
        system = model.build()
        start = system.start()
        found = system.forward_dynamics(start.q, start.v)
        assert np.linalg.norm(found[:3]) == pytest.approx(a, abs=1e-12)
        np.testing.assert_allclose(found[3:], 0, atol=1e-12)


@pytest.mark.parametrize("world", ["{}", "<world name='w'>{}</world>"])
def test_a_file_that_is_read_as_it_is_has_no_notes(tmp_path, world):
    """With all that published files repeat without saying anything."""
    link = (
        f"<link name='a'>{INERTIAL}<velocity_decay><linear>0</linear></velocity_decay><kinematic>0</kinematic></link>"
    )
    limit = "<limit><lower>-1</lower><upper>1</upper><effort>-1</effort><velocity>-1</velocity></limit>"
    axis = f"<axis><xyz>0 0 1</xyz>{limit}<dynamics><damping>0</damping></dynamics></axis>"
    joint = f"<joint name='j' type='revolute'><parent>world</parent><child>a</child>{axis}</joint>"
    model = f"<model name='m'><pose>0 0 1 0 0 0</pose>{link}{joint}<static>0</static></model>"
    assert mt.load(written(tmp_path, f"<sdf version='1.7'>{world.format(model)}</sdf>")).notes == ()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("said", "stops"),
    [
        ("", None),
        ("<stiffness>1e8</stiffness><dissipation>1</dissipation>", None),  # what SDF has unless told
        ("<stiffness>500</stiffness><dissipation>3</dissipation>", (500, 3)),
        ("<stiffness>500</stiffness>", (500, 1)),
        ("<stiffness>-1</stiffness>", None),
    ],
)
def test_stops_are_as_stiff_as_the_file_says(tmp_path, said, stops):
    limit = f"<limit><lower>-1</lower><upper>1</upper>{said}</limit>"
    text = FOUR_BAR.replace(HINGE, HINGE.replace("</axis>", f"{limit}</axis>"), 1)
    model = mt.load(written(tmp_path, text))
    hinge = next(joint.type for joint in model.joints if joint.name == "bars::A")
    assert (hinge.limits, hinge.stops) == ((-1, 1), stops)
    assert any("stiffness of stops" in note.kind for note in model.notes) == ("-1</stiff" in said)


def test_a_joint_that_follows_loses_its_limits_with_a_note(tmp_path):
    limit = "<limit><lower>-1</lower><upper>1</upper></limit>"
    followed = f"<axis><xyz>0 0 1</xyz>{limit}<mimic joint='a'/></axis>"
    joint = "<joint name='{}' type='{}'><parent>world</parent><child>{}</child>{}</joint>"
    axes = followed + f"<axis2><xyz>1 0 0</xyz>{limit}</axis2>"
    links = "".join(f"<link name='{name}'/>" for name in "xyz")
    joints = joint.format("a", "revolute", "x", HINGE) + joint.format("b", "revolute", "y", followed)
    text = (
        f"<sdf version='1.11'><model name='m'>{links}{joints}{joint.format('c', 'universal', 'z', axes)}</model></sdf>"
    )
    with pytest.warns(FileNotes, match="limits left out, of joints that follow others: 'b', 'c.angle1'"):
        model = mt.load(written(tmp_path, text))
    limits = {joint.name: joint.type.limits for joint in model.joints}
    assert limits == {"a": None, "b": None, "c": ((-np.inf, np.inf), (-1, 1))}
