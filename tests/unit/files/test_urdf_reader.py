"""URDF: the mass matrices of Pinocchio, every joint type, couplings, drawing, and an error with a line for the rest."""

from __future__ import annotations

import contextlib
import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.files.counterparts import FileNotes
from momentree.files.load import load_options
from momentree.model.values import Values

ROBOTS = Path(__file__).parents[4] / "shared" / "reference" / "robots"
ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.5"/><mass value="2"/>
      <inertia ixx="0.11" iyy="0.12" izz="0.13" ixy="0.01" ixz="-0.02" iyz="0.005"/></inertial>
    <visual><origin xyz="0 0 0.5"/><geometry><cylinder radius="0.05" length="1"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><mesh filename="package://nowhere/link.stl"/></geometry></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <link name="slide">
    <inertial><mass value="1.5"/><inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.2 0.3"/></geometry></visual>
  </link>
  <link name="finger"><inertial><origin xyz="0.1 0 0"/><mass value="0.2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="1 2 2"/>
    <limit lower="-2" upper="1.5" effort="10" velocity="1"/><dynamics damping="0.4" friction="0.25"/></joint>
  <joint name="rail" type="prismatic">
    <parent link="upper"/><child link="slide"/><origin rpy="0 0 1"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0" effort="1" velocity="1"/></joint>
  <joint name="grip" type="continuous">
    <parent link="slide"/><child link="finger"/><origin xyz="0 0.1 0"/><axis xyz="0 -1 0"/>
    <mimic joint="shoulder" multiplier="-0.5" offset="0.2"/></joint>
  <gazebo reference="upper"/><gazebo/>
</robot>
"""


def written(tmp_path, text=ARM, name="arm.urdf"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def arm(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        return mt.load(written(tmp_path))


def against_pinocchio(path, model):
    """The largest difference of the mass matrices, and of the torques, in units of the largest entries."""
    pinocchio = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
    peer = pinocchio.buildModelFromUrdf(str(path))
    data = peer.createData()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = model.build(inertia_check="warn")
    ours = [body.joint.name for body in system.mechanism.bodies for _ in range(body.v.stop - body.v.start)]
    order = [ours.index(name) for name in list(peer.names)[1:]]
    q, v, vdot = np.random.default_rng(3).uniform(-0.6, 0.6, (3, system.nv))
    theirs = pinocchio.integrate(peer, pinocchio.neutral(peer), q[order])  # unbounded angles as cosine and sine
    M = pinocchio.crba(peer, data, theirs)
    M = np.triu(M) + np.triu(M, 1).T
    found = system.mass_matrix(q)[np.ix_(order, order)]
    plain = np.abs(found - M).max() / np.abs(M).max()
    change = system.inverse_dynamics(q, v, vdot) - system.inverse_dynamics(q, v, 0 * vdot)
    rnea = pinocchio.rnea(peer, data, theirs, v[order], vdot[order]) - pinocchio.rnea(
        peer, data, theirs, v[order], 0 * v
    )
    return plain, np.abs(change[order] - rnea).max() / np.abs(rnea).max()


def test_the_mass_matrix_is_pinocchios(tmp_path, arm):
    assert max(against_pinocchio(tmp_path / "arm.urdf", arm)) < 1e-12


@pytest.mark.skipif(not ROBOTS.exists(), reason="the published robot files are not here")
@pytest.mark.parametrize("name", ["urdf/panda", "urdf/baxter", "five_bar/robot", "delta/robot"])
@pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")
def test_mass_matrices_of_published_robots_are_pinocchios(tmp_path, name):
    path = tmp_path / "robot.urdf"  # away from the files that close its loops
    path.write_bytes((ROBOTS / f"{name}.urdf").read_bytes())
    assert max(against_pinocchio(path, mt.load(path, inertia_check="warn"))) < 1e-12


def test_joints_limits_damping_friction_and_couplings(arm):
    shoulder, rail, grip = (joint.type for joint in arm.joints[1:])
    assert (shoulder.kind, shoulder.limits, shoulder.damping) == ("Revolute", (-2, 1.5), 0.4)
    assert (rail.kind, rail.axis, rail.limits) == ("Prismatic", "z", None)
    assert (grip.kind, grip.axis) == ("Revolute", "-y")
    system = arm.build()
    assert system.mobility == 2
    state = system.assemble({"shoulder": 0.3})
    assert state["grip"] == pytest.approx(-0.5 * 0.3 + 0.2)
    (torque,) = arm.torques
    assert (torque.joint, torque.law) == ("shoulder", "-0.25*tanh(shoulder'/0.01)")


def test_what_is_drawn(arm):
    (cylinder,) = arm.bodies[1].shapes
    assert (cylinder.kind, cylinder.color, cylinder.position) == ("cylinder", (255, 0, 0), (0.0, 0.0, 0.5))
    assert not cylinder.has_mass
    assert arm.bodies[2].shapes[0].kind == "box"


def test_what_has_no_counterpart_is_listed_once(tmp_path):
    with pytest.warns(FileNotes) as caught:
        mt.load(written(tmp_path))
    (note,) = caught
    told = str(note.message)
    for part in (
        "limits left out, since they leave no room: 'rail'",
        "left out <gazebo> (2)",
        "package://nowhere/link.stl",
    ):
        assert part in told


def test_meshes_are_found_in_packages_and_in_folders_above(tmp_path, monkeypatch):
    import trimesh

    (tmp_path / "nowhere").mkdir()
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "nowhere" / "link.stl")
    (tmp_path / "robots").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        above = mt.load(written(tmp_path / "robots"))
        assert [shape.kind for shape in above.bodies[1].shapes] == ["cylinder", "mesh"]
        other = tmp_path / "elsewhere" / "deep"
        other.mkdir(parents=True)
        (tmp_path / "nowhere").rename(tmp_path / "packages")
        (tmp_path / "packages").rename(tmp_path / "kept")
        (tmp_path / "kept" / "nowhere").mkdir()
        (tmp_path / "kept" / "link.stl").rename(tmp_path / "kept" / "nowhere" / "link.stl")
        path = written(other)
        assert len(mt.load(path).bodies[1].shapes) == 1
        assert len(mt.load(path, packages=[tmp_path / "kept"]).bodies[1].shapes) == 2
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "kept"))
        assert len(mt.load(path).bodies[1].shapes) == 2


def test_the_root_is_fixed_or_floats(tmp_path, arm):
    assert (arm.joints[0].name, arm.joints[0].type.kind) == ("root", "Fixed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        text = ARM.replace(
            '<link name="base"/>',
            '<link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>',
        )
        floating = mt.load(written(tmp_path, text), floating=True).build()
    assert (floating.nv, floating.mobility) == (9, 8)


def test_a_model_from_a_robot_is_saved_and_loads_equal(tmp_path, arm):
    arm.save(tmp_path / "arm.toml")
    assert mt.load(tmp_path / "arm.toml") == arm


def test_a_link_that_is_called_ground_is_renamed(tmp_path):
    with pytest.warns(FileNotes, match="link renamed to 'ground_link': 'ground'"):
        model = mt.load(written(tmp_path, ARM.replace("base", "ground")))
    assert model.bodies[0].name == "ground_link"
    assert model.build().nv == 3


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            '<child link="slide"/>',
            '<child link="slid"/>',
            r"arm.urdf:\d+: <child>: there is no link 'slid'. Did you mean 'slide'",
        ),
        ('<child link="slide"/>', '<child link="upper"/>', r"'upper' is already the child of joint 'shoulder'"),
        ('<parent link="base"/>', '<parent link="finger"/>', r"links that no joint carries|back to it|ring"),
        ('type="prismatic"', 'type="sliding"', "there is no joint type 'sliding'"),
        ('<mass value="2"/>', '<mass value="-2"/>', r"arm.urdf:5: body 'upper': mass is -2 kg"),
        ('<mass value="2"/>', '<mass value="nan"/>', "value is 'nan'; a number is expected"),
        ('ixx="0.11"', 'ixx="5"', r"body 'upper': .*inertia_check"),
        ('mimic joint="shoulder"', 'mimic joint="sholder"', "there is no joint 'sholder'. Did you mean 'shoulder'"),
        ('<axis xyz="1 2 2"/>', '<axis xyz="0 0 0"/>', "its axis has no direction"),
        (
            '<link name="base"/>',
            '<link name="base"/><link name="base"/>',
            "there is another <link> of this name in line 4",
        ),
        (
            '<link name="base"/>',
            '<link name="base"/><link name="loose"/>',
            "2 links that no joint carries: 'base' or 'loose'",
        ),
        ('name="rail" ', "", "name is missing"),
    ],
)
@pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")
def test_mistakes_name_the_culprit_its_line_and_the_way_out(tmp_path, old, new, told):
    assert ARM.count(old) >= 1
    with pytest.raises(mt.ModelError, match=told):
        mt.load(written(tmp_path, ARM.replace(old, new, 1)))


def test_options_of_robots_are_refused_for_model_files(tmp_path):
    path = written(tmp_path, "name = 'x'", "x.toml")
    with pytest.raises(mt.ModelError, match="takes no floating="):
        mt.load(path, floating=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.repeats(12)
def test_damaged_files_load_or_say_what_is_wrong(tmp_path, seed):
    chance = random.Random(seed)
    text = ARM
    for _ in range(chance.randint(1, 4)):
        i, j = sorted(chance.sample(range(len(text)), 2))
        j = min(j, i + 40)
        text = chance.choice(
            [
                text[:i],
                text[:i] + text[j:],
                text[:i] + text[i:j] * 3 + text[j:],
                text[:i] + chance.choice(["<", ">", '"', "-1e999", "&", "\0", "0"]) + text[i:],
            ]
        )
    with contextlib.suppress(mt.MomentreeError):
        mt.load(written(tmp_path, text)).build()


TWO = """<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/>
</inertial></link><link name="b"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="A" type="{}"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="B" type="{}"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/>
<mimic joint="{}" multiplier="{}" offset="0.25"/></joint></robot>"""


@pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")
@pytest.mark.parametrize(
    ("types", "leader", "ratio", "mobility", "kind"),
    [
        (("continuous", "continuous"), "A", 2, 1, None),
        (("continuous", "fixed"), "A", 2, 1, "mimic left out, of joints that are fixed"),
        (("fixed", "continuous"), "A", 2, 0, "held, since they follow what does not move"),
        (("continuous", "continuous"), "A", 0, 1, "held, since they follow what does not move"),
    ],
)
def test_mimic_of_what_does_not_move(tmp_path, types, leader, ratio, mobility, kind):
    model = mt.load(written(tmp_path, TWO.format(*types, leader, ratio)))
    assert [note.kind for note in model.notes if "<" not in note.kind and "mass" not in note.kind] == [kind] * bool(
        kind
    )
    system = model.build()
    assert system.mobility == mobility
    state = system.start()
    if types == ("continuous", "continuous"):
        assert state["B"] == pytest.approx(ratio * state["A"] + 0.25)
    elif types[0] == "fixed":
        assert state["B"] == pytest.approx(0.25)


@pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")
@pytest.mark.parametrize(
    ("types", "leader", "words"),
    [
        (("continuous", "continuous"), "a", r"there is no joint 'a'\."),
        (("continuous", "continuous"), "B", "'B' cannot follow 'B'"),
        (("floating", "continuous"), "A", "'B' cannot follow 'A'"),
        (("continuous", "planar"), "A", "'B' cannot follow 'A'"),
    ],
)
def test_mimic_that_cannot_be_is_refused_with_the_option_that_leaves_it_out(tmp_path, types, leader, words):
    path = written(tmp_path, TWO.format(*types, leader, 1))
    with pytest.raises(
        mt.MomentreeError, match=rf'arm.urdf:5: <mimic>: {words}.* Or leave out such couplings: mimic="drop"'
    ):
        mt.load(path)
    model = mt.load(path, mimic="drop")
    assert model.couples == []
    assert any("mimic=" in note.kind and note.names == ("B",) for note in model.notes)


FOLLOWING = """<robot name="r"><link name="base"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="A" type="revolute"><parent link="base"/><child link="a"/><limit lower="-1" upper="1"/></joint>
  <joint name="B" type="revolute"><parent link="base"/><child link="b"/><limit lower="-2" upper="0.5"/>
    <dynamics friction="0.3" damping="0.2"/><mimic joint="{}" multiplier="2"/></joint></robot>"""


def test_a_joint_that_follows_keeps_its_friction_and_loses_its_limits_with_a_note(tmp_path):
    with pytest.warns(FileNotes, match="limits left out, of joints that follow others: 'B'"):
        model = mt.load(written(tmp_path, FOLLOWING.format("A")))
    assert [joint.type.limits for joint in model.joints[1:]] == [(-1, 1), None]
    assert [(torque.joint, torque.law) for torque in model.torques] == [("B", "-0.3*tanh(B'/0.01)")]
    assert model.build().mobility == 1


def test_a_joint_whose_coupling_is_left_out_keeps_limits_friction_and_damping(tmp_path):
    with pytest.warns(FileNotes, match="mimic left out"):
        model = mt.load(written(tmp_path, FOLLOWING.format("none")), mimic="drop")
    follower = model.joints[-1].type
    assert (follower.limits, follower.damping) == ((-2, 0.5), 0.2)
    assert [torque.joint for torque in model.torques] == ["B"]


ROTOR = """<robot name="r"><link name="base"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="1 2 3"/><mass value="0"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="A" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
  <joint name="B" type="{}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <origin xyz="1 0 0"/></joint></robot>"""


@pytest.mark.parametrize("type", ["fixed", "continuous"])
def test_a_link_without_mass_keeps_its_inertia(tmp_path, type):
    path = written(tmp_path, ROTOR.format(type))
    model = mt.load(path)
    assert model.notes == ()
    assert max(against_pinocchio(path, model)) < 1e-12
    M = model.build().mass_matrix([0.0] * (2 if type == "continuous" else 1))
    assert M[0, 0] == pytest.approx(1.3)


@pytest.mark.parametrize(
    "visual",
    [
        '<geometry><mesh filename="x.stl" scale="1 1 1 1"/></geometry>',
        '<geometry><box size="1 2"/></geometry>',
        '<origin xyz="1 2"/><geometry><sphere radius="1"/></geometry>',
    ],
)
def test_what_cannot_be_drawn_does_not_refuse_the_dynamics(tmp_path, visual):
    text = f'<robot name="r"><link name="a">\n<visual>{visual}</visual></link></robot>'
    with pytest.warns(FileNotes, match=r"not drawn: '\S*arm.urdf:2: .* numbers are expected"):
        assert mt.load(written(tmp_path, text)).bodies[0].shapes == ()


def test_the_link_world_need_not_be_declared(tmp_path):
    text = ARM.replace('<link name="base"/>', "").replace('link="base"', 'link="world"')
    with pytest.warns(FileNotes, match="link added, which the file names but does not have: 'world'"):
        model = mt.load(written(tmp_path, text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        declared = mt.load(written(tmp_path, ARM.replace('"base"', '"world"')))
    assert {body.name for body in model.bodies} == {body.name for body in declared.bodies}
    assert model.build().mobility == declared.build().mobility == 2


def test_rotations_by_quaternions(tmp_path):
    link = '<link name="a"><inertial><mass value="1"/></inertial></link>'
    joint = '<joint name="A" type="continuous"><parent link="b"/><child link="a"/><origin xyz="1 2 3" {}/></joint>'
    text = f'<robot name="r"><link name="b"/>{link}{joint}</robot>'
    frames = [
        mt.load(written(tmp_path, text.format(said))).joints[-1].first
        for said in ('rpy="0.3 0 0"', f'quat_xyzw="{2 * np.sin(0.15)} 0 0 {2 * np.cos(0.15)}"')
    ]
    one, other = (np.array([[*row] for row in frame.placement(Values({})).rotation.rows]) for frame in frames)
    np.testing.assert_allclose(one, other, atol=1e-15)
    with pytest.raises(mt.ModelError, match="its quaternion is zero"):
        mt.load(written(tmp_path, text.format('quat_xyzw="0 0 0 0"')))


def test_limits_are_left_out_as_asked(tmp_path):
    text = ARM.replace('lower="-2"', 'lower="0.5"')
    with pytest.warns(FileNotes, match="begin inside their limits, since 0 is beyond them: 'shoulder'"):
        assert mt.load(written(tmp_path, text)).start.guess == {"shoulder": pytest.approx(0.6)}
    with pytest.warns(FileNotes, match="limits left out, as asked .limits=.drop..: 'shoulder'"):
        model = mt.load(written(tmp_path, text), limits="drop")
    assert (model.start, model.joints[1].type.limits) == (None, None)
    with pytest.raises(mt.ModelError, match=r"limits is 'none'. Choose 'keep' or 'drop'"):
        mt.load(written(tmp_path), limits="none")


@pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")
def test_the_velocity_of_friction_is_chosen(tmp_path):
    model = mt.load(written(tmp_path), friction_velocity=0.5)
    assert model.torques[0].law == "-0.25*tanh(shoulder'/0.5)"
    model.save(tmp_path / "again.urdf", lossy=True)
    again = mt.load(tmp_path / "again.urdf")
    assert again.torques[0].law == "-0.25*tanh(shoulder'/0.01)"
    assert load_options(["friction_velocity=0.5", "limits=drop"]) == {"friction_velocity": 0.5, "limits": "drop"}
    for wrong in (0, -1, "fast", float("nan")):
        with pytest.raises(mt.MomentreeError, match=r"friction_velocity is .* Give a positive number"):
            mt.load(written(tmp_path), friction_velocity=wrong)
    with pytest.raises(mt.MomentreeError, match="write friction_velocity=NUMBER"):
        load_options(["friction_velocity=slow"])


def test_usd_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(
        mt.ModelError, match=r"robot.usda: is USD, which is not read. Export the robot as URDF, SDF or MJCF"
    ):
        mt.load(written(tmp_path, "#usda 1.0", "robot.usda"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes on this system")
def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "robot.yaml")
    os.mkfifo(tmp_path / "mesh.stl")
    visual = '<visual><geometry><mesh filename="mesh.stl"/></geometry></visual>'
    text = f'<robot name="r"><link name="a">{visual}</link></robot>'
    with pytest.warns(FileNotes, match="meshes not found .*: 'mesh.stl'"):
        assert mt.load(written(tmp_path, text)).bodies[0].shapes == ()
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(mt.ModelError, match=r"pipe.urdf: is not a regular file"):
        mt.load(tmp_path / "pipe.urdf")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(mt.ModelError, match=r"pipe.yaml: is not a regular file"):
        mt.load(written(tmp_path), closures=tmp_path / "pipe.yaml")
