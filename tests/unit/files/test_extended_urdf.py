"""Extended URDF: the little YAML, loops and changed joint types, and mistakes in them with their lines."""

from __future__ import annotations

import contextlib
import math
import random
import warnings

import numpy as np
import pytest

import momentree as mt
from momentree.files.counterparts import FileNotes
from momentree.files.extended_urdf import Closure, parse_closures

YAML = """# loops
closed_loop:
  [
    ["knee_A", 'knee B'],   # the first
    [foot_A, foot_B],
  ]
type: ['6d', 3D]
name_mot: [ 'motor' ]
joint_name: ["ankle", "it's"]
joint_type: [UJOINT_XY, SPHERICAL]
other: [1, [2]]
"""
MASS = """<inertial><origin xyz="0.5 0 0"/><mass value="1"/>
  <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
BARS = f"""<robot name="bars">
  <link name="base"/><link name="crank">{MASS}</link><link name="coupler">{MASS}</link><link name="rocker">{MASS}</link>
  <link name="end_A"/><link name="end_B"/>
  <joint name="A" type="continuous"><parent link="base"/><child link="crank"/><axis xyz="0 0 1"/></joint>
  <joint name="B" type="continuous"><parent link="crank"/><child link="coupler"/><origin xyz="1 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="D" type="continuous"><parent link="base"/><child link="rocker"/><origin xyz="1 1 0" rpy="0 0 0.1"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="C" type="continuous"><parent link="coupler"/><child link="end_A"/><origin xyz="1 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="end" type="fixed"><parent link="rocker"/><child link="end_B"/><origin xyz="1 0 0"/></joint>
</robot>"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bars.urdf").write_text(BARS)
    return tmp_path


def closed(folder, yaml, **options):
    (folder / "loops.yaml").write_text(yaml)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        return mt.load(folder / "bars.urdf", closures=folder / "loops.yaml", **options)


def test_the_yaml_of_closures():
    found = parse_closures(YAML, "x.yaml")
    assert found.loops == (Closure("knee_A", "knee B", "6d", 2), Closure("foot_A", "foot_B", "3d", 2))
    assert found.types == {"ankle": ("UJOINT_XY", 9), "it's": ("SPHERICAL", 9)}
    assert found.motors == ("motor",)
    dashes = "closed_loop:\n  - ['a', 'b']\n  - [c, d]\ntype:\n- 6d\n- 3d\n"
    assert [(loop.first, loop.second, loop.kind) for loop in parse_closures(dashes, "").loops] == [
        ("a", "b", "6d"),
        ("c", "d", "3d"),
    ]
    assert parse_closures("closed_loop: [['a', 'b']]", "").loops[0].kind == "6d"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("type: ['6d']", "has no closed_loop"),
        ("closed_loop: [['a', 'b']]\n\ntype: ['6d', '3d']", "x.yaml:3: type has 2 entries for 1 pairs"),
        ("closed_loop: [['a', 'b']]\ntype: ['5d']", "there is no type '5d'. Choose '6d' or '3d'"),
        ("closed_loop: [['a']]", "pairs of frames are expected"),
        ("closed_loop: [['a', 'b']", "closed_loop: a list in brackets is expected"),
        ("closed_loop: [['a', 'b'] 'c']", "'c'.* is not expected here"),
        ("closed_loop: a", "is not expected here"),
        ("closed_loop: [[[[['a']]]]]", "is not expected here"),
        ("closed_loop: []\nclosed_loop: []", "x.yaml:2: closed_loop is given twice"),
        ("a line\nclosed_loop: []", "begins with no key"),
        ("closed_loop: []\njoint_name: [a]", "joint_type has 0 entries for 1"),
    ],
)
def test_mistakes_in_it_have_a_line(text, told):
    with pytest.raises(mt.ModelError, match=told):
        parse_closures(text, "x.yaml")


@pytest.mark.parametrize(
    ("yaml", "redundant"),
    [
        ("closed_loop: [['C', 'end_B']]\ntype: ['6d']", 3),  # welds what the hinge C carries to the end of the rocker
        ("closed_loop: [['C', 'end_B']]\ntype: ['3d']\njoint_name: [C]\njoint_type: [FIXED]", 1),  # a ball there
    ],
)
def test_a_four_bar_is_closed(folder, yaml, redundant):
    system = closed(folder, yaml).build()
    assert (system.mobility, len(system.mobility_report.redundant)) == (1, redundant)
    state = system.assemble({"A": 0.2})
    ends = [system.position(state, name) for name in ("end_A", "end_B")]
    assert np.allclose(*ends, atol=1e-12)


def test_the_file_beside_is_found_and_said(folder):
    assert len(mt.load(folder / "bars.urdf").joints) == 6
    (folder / "bars.yaml").write_text("name: other\n")
    assert len(mt.load(folder / "bars.urdf").joints) == 6
    (folder / "bars.yaml").write_text("closed_loop: [['end_A', 'end_B']]\n")
    with pytest.warns(FileNotes, match=r"loops are closed as the file beside it says: 'bars.yaml'"):
        assert mt.load(folder / "bars.urdf").build().mobility == 1


def test_types_of_joints_are_changed(folder):
    loop = "closed_loop: [['C', 'end_B']]\n"
    model = closed(folder, loop + "joint_name: [B, D, A]\njoint_type: [UJOINT_ZX, SPHERICAL, FIXED]")
    types = {joint.name: joint.type for joint in model.joints}
    assert (types["B"].first, types["B"].second) == ("z", "x")
    assert (types["D"].kind, types["A"].kind) == ("Spherical", "Fixed")
    with pytest.raises(mt.ModelError, match=r"loops.yaml:2: there is no joint type 'UJOINT_XX'"):
        closed(folder, loop + "joint_name: [B]\njoint_type: [UJOINT_XX]")
    (folder / "loops.yaml").write_text(loop + "joint_name: [Z]\njoint_type: [FIXED]")
    with pytest.warns(FileNotes, match="no joint has this name, so its type is not changed: 'Z'"):
        mt.load(folder / "bars.urdf", closures=folder / "loops.yaml")


HINGED = '<joint name="E" type="continuous"><parent link="rocker"/><child link="end_B"/><origin xyz="1 0 0"/>'


@pytest.mark.parametrize(
    ("axis", "inside", "more", "fixed"),
    [
        ("0 0 1", "", "", ["C"]),
        ("0 0 -1", "", "", ["C"]),
        ("0 0 2", "", "", ["C"]),
        ("0 1 1", "", "", []),  # another axis, so that both turn
        ("0 0 1", "", "name_mot: [C]", ["E"]),  # a motor stays
        ("0 0 1", "", "name_mot: [C, E]", []),
        ("0 0 1", '<dynamics damping="1"/>', "name_mot: [C]", []),  # and so does what has a damper
        ("0 0 1", '<dynamics friction="1"/>', "name_mot: [C]", []),
        ("0 0 1", '<mimic joint="A"/>', "name_mot: [C]", []),
        ("0 0 1", "", "type: ['3d']", []),  # a ball joint between them
        ("0 0 1", "", "joint_name: [C]\njoint_type: [SPHERICAL]", []),
    ],
)
def test_two_hinges_that_end_in_one_weld_are_one_hinge(folder, axis, inside, more, fixed):
    old = BARS[BARS.index('<joint name="end"') : BARS.index("</robot>")]
    (folder / "bars.urdf").write_text(BARS.replace(old, f'{HINGED}<axis xyz="{axis}"/>{inside}</joint>'))
    yaml = f"closed_loop: [['end_A', 'end_B']]\n{more}\n"
    model = closed(folder, yaml)
    found = [joint.name for joint in model.joints if joint.type.kind == "Fixed"]
    assert found == ["root", *fixed, *["end_A-end_B"] * ("3d" not in more)]
    kept = closed(folder, yaml, idle="keep")
    assert [name for note in model.notes if "idle" in note.kind for name in note.names] == fixed
    assert not any(note for note in kept.notes if "idle" in note.kind)
    if fixed:
        assert model.build().mobility == 1
        start = model.build().assemble({"A": 0.2}, velocities={"A": 1.0})
        ends = [model.build().position(start, name) for name in ("end_A", "end_B")]
        assert np.allclose(*ends, atol=1e-12)


def test_a_hinge_whose_link_carries_more_is_not_idle(folder):
    old = BARS[BARS.index('<joint name="end"') : BARS.index("</robot>")]
    more = f'<link name="wheel">{MASS}</link>' + HINGED.replace('"E"', '"W"').replace("end_B", "wheel")
    more = more.replace('"rocker"', '"end_A"') + '<axis xyz="1 0 0"/></joint>'
    (folder / "bars.urdf").write_text(BARS.replace(old, f'{HINGED}<axis xyz="0 0 1"/></joint>{more}'))
    model = closed(folder, "closed_loop: [['end_A', 'end_B']]")
    assert not any("idle" in note.kind for note in model.notes)
    assert model.build().mobility == 3  # the four-bar, the wheel, and what carries it


def test_missing_frames_and_files(folder):
    with pytest.raises(mt.ModelError, match=r"loops.yaml:1: there is no link or joint 'end_C'. Did you mean 'end_"):
        closed(folder, "closed_loop: [['end_A', 'end_C']]")
    with pytest.raises(mt.ModelError, match=r"nowhere.yaml: does not exist"):
        mt.load(folder / "bars.urdf", closures=folder / "nowhere.yaml")
    (folder / "x.sdf").write_text("<sdf/>")
    with pytest.raises(mt.ModelError, match=r"has its loops itself. Leave out closures="):
        mt.load(folder / "x.sdf", closures="a.yaml")


def test_massless_links_before_a_closure_move(folder):
    """Links without inertia between the hinge C and the weld: the motion is that of the four-bar without them."""
    system = closed(folder, "closed_loop: [['end_A', 'end_B']]").build()
    start = system.assemble({"A": 0.2}, velocities={"A": 1.0})
    run = system.simulate(start, t_end=0.2)
    assert run.end.reason == "arrived"
    assert math.isfinite(run.v[-1].sum())
    assert run.closure_error.max() < 1e-9


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.repeats(10)
def test_damaged_files_are_read_or_refused(seed):
    chance = random.Random(seed)
    text = YAML
    for _ in range(chance.randint(1, 3)):
        i, j = sorted(chance.sample(range(len(text)), 2))
        text = (
            chance.choice([text[:i], text[:i] + text[j:], text[:i] + chance.choice("[]',\":#\n- ") + text[i:]]) or " \n"
        )
    with contextlib.suppress(mt.MomentreeError):
        parse_closures(text, "x.yaml")
