"""MJCF that is written: what MuJoCo compiles of it, read again; bodies that MuJoCo refuses."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh

import momentree as mt
from mechanisms import four_bar
from momentree.files.counterparts import FileNotes
from momentree.files.mjcf_writer import mjcf_text, principal
from momentree.files.robot_tree import Solid
from momentree.spatial import Vector
from momentree.spatial.inertia import turned_symmetric
from robot_trips import body, differences, trip, warned

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
ROBOTS = Path(__file__).parents[4] / "shared" / "reference" / "robots"


def test_options_of_joints_stay(tmp_path):
    m = mt.Model("options", gravity=(0, 1, -9.81))
    a, b, c = (body(m, name) for name in "abc")
    how = {"spring": 2.0, "rest": 0.3, "damping": 0.1, "armature": 0.7, "limits": (-1, 1), "stops": (500.0, 20.0)}
    m.joint("A", mt.Revolute((1, 2, 2), **how), m.ground.at((0, 1, 0)), a.at((0.3, 0, 0)))
    m.joint("B", mt.Spherical(damping=(0.2, 0.2, 0.2)), a.at((1, 0, 0)), b.at((0, 0.2, 0), mt.turn("x", 0.7)))
    m.joint("C", mt.Prismatic("z", limits=(-math.inf, 2)), b, c)
    m.torque("A", "-0.5*tanh(A'/0.01)")
    m.frame("tip", c.at((0, 0, 1), mt.turn("y", 0.1)))
    again = trip(m, tmp_path / "x.xml")
    assert max(differences(np.random.default_rng(1), m.build(), again.build())) < 1e-12
    A = next(joint.type for joint in again.joints if joint.name == "A")
    assert (A.spring, A.rest, A.damping, A.armature, A.limits) == (2.0, 0.3, 0.1, 0.7, (-1, 1))
    assert A.stops == pytest.approx((500.0, 20.0), rel=1e-12)
    assert again.torques == m.torques
    assert [frame.name for frame in again.frames] == ["tip"]
    assert again.gravity == (0, 1, -9.81)


def test_linear_couplings_of_any_number_of_joints(tmp_path):
    m = mt.Model("couplings")
    for name in "ABCDEF":
        m.joint(name, mt.Revolute("z"), m.ground, body(m, f"body {name}"))
    m.couple("A", "B", ratio=-2.0, offset=0.4, name="two")
    m.couple("C", {"B": 0.5, "D": 1.5}, offset=0.1, name="three")
    m.constrain("E = 0.25", name="one")
    m.differential("D", "F", "B", name="differential")
    system = trip(m, tmp_path / "x.xml").build()
    assert [constraint.name for constraint in system.mechanism.constraints].sort() is None
    assert system.mobility == m.build().mobility == 2
    state = system.assemble({"B": 0.3, "D": -0.2})
    read = {name: state.q[system.mechanism.by_joint[name].q][0] for name in "ABCDEF"}
    wanted = {"A": 0.4 - 0.6, "B": 0.3, "C": 0.15 - 0.3 + 0.1, "D": -0.2, "E": 0.25, "F": 0.6 + 0.2}
    assert read == pytest.approx(wanted, abs=1e-12)


def test_the_keyframe_of_a_screw_has_its_slide(tmp_path):
    m = mt.Model("screw")
    m.joint("S", mt.Screw("z", pitch=0.5), m.ground, body(m, "nut"))
    m.start_at({"S": 3.0}, {"S": -2.0})
    assert "Screw joints written as several: 'S'" in warned(m, tmp_path / "x.xml")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
    advance = 0.5 / (2 * math.pi)
    assert mj.key_qpos[0] == pytest.approx([3.0, 3.0 * advance])
    assert mj.key_qvel[0] == pytest.approx([-2.0, -2.0 * advance])
    assert mt.load(tmp_path / "x.xml").build().mobility == 1


def test_inputs_have_their_values(tmp_path):
    m = mt.Model("inputs")
    k = m.input("k", 2.0)
    m.joint("A", mt.Revolute("z", spring=k, limits=("-k", k)), m.ground.at((k, 0, 0)), body(m, "a"))
    m.joint("B", mt.Revolute("z"), m.ground, body(m, "b"))
    m.couple("B", "A", ratio=k, offset="k/4")
    m.output("twice", "2*A")
    said = warned(m, tmp_path / "x.xml")
    assert "outputs left out: 'twice'" in said
    assert "parameters written as their values: 'k'" in said
    again = mt.load(tmp_path / "x.xml")
    assert (again.joints[0].type.spring, again.joints[0].type.limits) == (2.0, (-2.0, 2.0))
    assert (again.couples[0].ratio, again.couples[0].offset) == (2.0, 0.5)


def test_massless_bodies_are_merged_with_the_one_that_they_carry(tmp_path):
    m = mt.Model("carriers")
    one, two = (m.body(name, massless=True) for name in ("one", "two"))
    m.joint("A", mt.Prismatic((1, 1, 0)), m.ground.at((0, 0, 1)), one.at((0.1, 0, 0), mt.turn("x", 0.3)))
    m.joint("B", mt.Revolute("y"), two.at((0, 0.2, 0), mt.turn("z", 0.4)), one.at((0, 0, 0.3)))
    m.joint("C", mt.Revolute("z"), two.at((0.5, 0, 0), mt.turn("y", 1.0)), body(m, "hand").at((0, 0.1, 0.2)))
    assert "massless bodies merged with those that they carry: 'one', 'two'" in warned(m, tmp_path / "x.xml")
    again = mt.load(tmp_path / "x.xml")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml")).nbody == 2
    assert max(differences(np.random.default_rng(3), m.build(), again.build())) < 1e-12


def test_a_massless_body_with_two_others_is_an_error(tmp_path):
    m = mt.Model("fork")
    fork = m.body("fork", massless=True)
    m.joint("A", mt.Revolute("x"), m.ground, fork)
    m.joint("B", mt.Revolute("y"), fork, body(m, "left"))
    m.joint("C", mt.Revolute("z"), fork, body(m, "right"))
    with pytest.raises(mt.ModelError, match=r"body 'fork': moves and has no mass, which MuJoCo refuses\. Give it"):
        m.save(tmp_path / "x.xml", lossy=True)


def test_slender_rods_get_a_little_inertia_if_told_so(tmp_path):
    m = mt.Model("rod")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=2.0)))
    with pytest.raises(mt.ModelError, match="body 'rod': has no inertia about some axis, which MuJoCo refuses"):
        m.save(tmp_path / "x.xml")
    assert "without inertia about some axis" in warned(m, tmp_path / "x.xml", lossy=True)
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
    assert mj.body_inertia[1] == pytest.approx([1e-9 / 3, 1 / 3, 1 / 3])


def test_flat_and_impossible_inertias(tmp_path):
    m = mt.Model("plates", gravity=(0, 0, 0))
    m.joint("A", mt.Free(), m.ground, m.body("plate", mass=1.0, inertia=(0.1, 0.2, 0.1 + 0.2 + 1e-16)))
    m.save(tmp_path / "x.xml")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml")).body_inertia[1].sum() == pytest.approx(0.6)
    m.joint("B", mt.Free(), m.ground, m.body("ghost", mass=1.0, inertia=(1, 1, 3), inertia_check="warn"))
    with pytest.raises(mt.ModelError, match="body 'ghost': has a physically impossible inertia"):
        m.save(tmp_path / "x.xml")
    assert "impossible inertias changed" in warned(m, tmp_path / "x.xml", lossy=True)


@pytest.mark.parametrize("seed", range(10))
def test_principal_moments(seed):
    random = np.random.default_rng(seed)
    L = random.standard_normal((3, 3)) * [1, 1e-2, 1e-4]
    J = L @ L.T
    J = np.trace(J) * np.eye(3) - J
    six = tuple(float(J[i]) for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    moments, R = principal(Solid(1.0, Vector(0.0, 0.0, 0.0), six))
    assert turned_symmetric(R, (*moments, 0.0, 0.0, 0.0)) == pytest.approx(six, abs=1e-14 * max(moments))
    assert np.linalg.det([[*row] for row in R.rows]) == pytest.approx(1)


def test_loops_of_balls_and_welds(tmp_path):
    m = mt.Model("closed")
    a, b = body(m, "a"), body(m, "b")
    m.joint("A", mt.Revolute("z"), m.ground, a)
    m.joint("B", mt.Revolute("z"), m.ground.at((1, 0, 0)), b)
    m.joint("ball", mt.Spherical(), a.at((0.5, 0.1, 0)), b.at((-0.5, 0.1, 0)))
    m.joint("C", mt.Free(), m.ground, body(m, "c"))
    m.joint("weld", mt.Fixed(), "c", b.at((0, 0, 1), mt.turn("x", 0.4)))
    again = trip(m, tmp_path / "x.xml")
    loops = {loop.name: loop for loop in again.build().mechanism.loops}
    assert {name: loop.joint_type.kind for name, loop in loops.items()} == {"ball": "Spherical"}
    m.cut("weld")
    again = trip(m, tmp_path / "x.xml").build()
    assert {loop.name: loop.joint_type.kind for loop in again.mechanism.loops} == {"ball": "Spherical", "weld": "Fixed"}
    assert again.mobility == m.build().mobility
    frames = {joint.name: joint for joint in again._model.joints}
    assert frames["weld"].second.position == pytest.approx((0, 0, 1))


def test_loops_are_opened_where_the_format_can_close_them(tmp_path):
    """A slider and a Cardan joint cannot close loops in MJCF, the hinges beside them can."""
    m = mt.Model("slider-crank")
    crank, rod, slider = (
        m.body(name, mt.rod(1.0, length, 0.02)) for name, length in zip("abc", (1, 3, 1), strict=True)
    )
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Revolute("z"), crank.at((1, 0, 0)), rod)
    m.joint("C", mt.Revolute("z"), rod.at((3, 0, 0)), slider)
    m.joint("D", mt.Prismatic("x"), m.ground, slider)
    assert m.build().mechanism.loops[0].name == "D"
    assert "hinges that close loops are two balls on their axis: 'C'" in warned(m, tmp_path / "x.xml")
    again = mt.load(tmp_path / "x.xml")
    assert {joint.name for joint in again.joints} == {"A", "B", "D", "C", "C_2"}
    assert again.build().mobility == 1
    m.cut("D")
    with pytest.raises(mt.ModelError, match=r"joint 'D': closes a loop and is Prismatic, .* Open the loop elsewhere"):
        m.save(tmp_path / "x.xml")


def test_a_body_called_world_and_shapes(tmp_path):
    m = mt.Model("world & <co>")
    shapes = [mt.rod(length=1.0, radius=0.1, along="y"), mt.sphere(radius=0.2, color="blue")]
    m.joint("A", mt.Revolute("x"), m.ground, m.body("world", mass=1.0, inertia=(1, 1, 1), shapes=shapes))
    m.shape(m.ground, mt.box(size=(1, 2, 3)))
    assert "renamed: 'world to world_body'" in warned(m, tmp_path / "x.xml")
    again = mt.load(tmp_path / "x.xml")
    assert again.name == m.name
    assert [shape.kind for shape in again.bodies[0].shapes] == ["cylinder", "sphere"]
    assert again.bodies[0].shapes[0].position == pytest.approx((0, 0.5, 0))
    assert again.shapes[0].shape.size == (1, 2, 3)


def test_long_chains_are_written(tmp_path):
    m = mt.Model("chain")
    before = m.ground
    for i in range(1500):
        link = m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1))
        m.joint(f"j{i}", mt.Revolute("x"), before if i == 0 else before.at((0, 0, -1)), link)
        before = link
    assert mjcf_text(m, tmp_path / "x.xml").count("<body") == 1500


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", ["robotiq_2f85/2f85.xml", "xarm7_hand/hand.xml"])
@pytest.mark.skipif(not ROBOTS.exists(), reason="the published robot files are not here")
def test_published_robots(tmp_path, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mt.load(ROBOTS / name)
        again = trip(model, tmp_path / "x.xml")
    ours, theirs = (made.build(code="rolled") for made in (model, again))
    assert max(differences(np.random.default_rng(0), ours, theirs)) < 1e-12
    assert ours.mobility == theirs.mobility
    assert [len(body.shapes) for body in again.bodies] == [len(body.shapes) for body in model.bodies]


@pytest.mark.parametrize(
    ("name", "unread"), [("b.stl", ""), ("text.stl", "STL as text"), ("box.obj", ""), ("box.ply", "files .ply")]
)
def test_meshes_are_written_if_mujoco_reads_them_and_noted_if_not(tmp_path, name, unread):
    solid, path = trimesh.creation.box((1, 2, 3)), tmp_path / name
    solid.export(path, file_type="stl_ascii" if name == "text.stl" else None)
    m = mt.Model("drawn")
    m.joint("A", mt.Revolute("z"), m.ground, m.body("box", mass=1.0, inertia=(1, 1, 1), shapes=[mt.mesh(path)]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        m.save(tmp_path / "x.xml")
    noted = [str(one.message) for one in told if "MuJoCo does not read" in str(one.message)]
    assert [f"does not read: {unread}" in one for one in noted] == [True] * bool(unread)
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml")).nmesh == (0 if unread else 1)


def test_loops_that_cannot_be_closed_are_noted(tmp_path):
    m = four_bar((1.0, 0.2, 0.2, 4.0))
    with pytest.warns(FileNotes, match="left out, since its loops cannot be closed: 'start'"):
        m.save(tmp_path / "x.xml", lossy=True)


def test_balls_count_from_the_start_where_loops_are_open_at_zero(tmp_path):
    m = mt.Model("swing")
    bars = [m.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "ab"]
    m.joint("A", mt.Revolute("y", limits=(-2, 2), stops=(50.0, 1.0)), m.ground, bars[0])
    m.joint("B", mt.Spherical(), m.ground.at((1, 0, 0)), bars[1])
    m.joint("C", mt.Spherical(), bars[0].at((1, 0, 0)), bars[1].at((1, 0, 0)))
    m.cut("C")
    with pytest.warns(FileNotes, match="balls count from the start, since loops are open where they are zero: 'B'"):
        m.save(tmp_path / "x.xml")
    text = (tmp_path / "x.xml").read_text()
    assert ' ref="' in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotes)
        again = mt.load(tmp_path / "x.xml")
    hinge = next(joint.type for joint in again.joints if joint.name == "A")
    assert (hinge.limits, hinge.stops) == ((-2, 2), pytest.approx((50.0, 1.0)))
    assert again.build().start()["A"] == pytest.approx(m.build().start()["A"], abs=1e-12)
