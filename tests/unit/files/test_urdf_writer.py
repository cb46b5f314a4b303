"""URDF that is written: read again it is the same; what it cannot express is an error with every culprit, or listed."""

from __future__ import annotations

import math
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.files.counterparts import FileNotes
from robot_trips import differences, trip, warned

ROBOTS = Path(__file__).parents[4] / "shared" / "reference" / "robots"


def arm() -> mt.Model:
    m = mt.Model("arm")
    upper = m.body("upper", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.12, 0.13, 0.01, 0, 0.02))
    lower = m.body("lower", mt.cylinder(mass=1.0, radius=0.05, length=0.4, color="orange"))
    m.joint("shoulder", mt.Revolute("y", damping=0.2, limits=(-1, 2)), m.ground.at((0, 0, 1)), upper)
    m.joint("elbow", mt.Revolute((1, 1, 0)), upper.at((0, 0, 0.5), mt.turn("x", 0.3)), lower)
    return m


def test_what_is_read_is_written_equal(tmp_path):
    """Names, order, limits, axes: everything but the added link of the world."""
    m = arm()
    m.couple("elbow", "shoulder", ratio=-0.5, offset=0.2)
    m.torque("shoulder", "-0.25*tanh(shoulder'/0.01)")
    once = trip(m, tmp_path / "a.urdf")
    twice = trip(once, tmp_path / "b.urdf")
    assert twice == once
    assert (tmp_path / "a.urdf").read_text() == (tmp_path / "b.urdf").read_text()
    (couple,) = once.couples
    assert (couple.joint, couple.to, couple.ratio, couple.offset) == ("elbow", "shoulder", -0.5, 0.2)
    assert once.torques == m.torques
    assert {joint.name: joint.type.limits for joint in once.joints}["shoulder"] == (-1, 2)


def test_the_text_is_that_of_urdf(tmp_path):
    arm().save(tmp_path / "a.urdf")
    robot = ElementTree.parse(tmp_path / "a.urdf").getroot()
    assert [link.get("name") for link in robot.iter("link")] == ["world", "upper", "lower"]
    assert robot.find("link[@name='upper']/inertial/inertia").attrib == {
        "ixx": "0.1",
        "iyy": "0.12",
        "izz": "0.13",
        "ixy": "0.01",
        "ixz": "0",
        "iyz": "0.02",
    }
    shoulder = robot.find("joint[@name='shoulder']")
    assert shoulder.get("type") == "revolute"
    assert shoulder.find("limit").get("effort")  # URDF wants one
    assert shoulder.find("dynamics").attrib == {"damping": "0.2"}
    assert robot.find("joint[@name='elbow']").get("type") == "continuous"
    assert robot.find("link[@name='lower']/visual/material/color").get("rgba").startswith("0.9019607843137255 ")


def test_every_culprit_is_named_at_once(tmp_path):
    m = mt.Model("much", gravity=(0, 0, -1.62))
    a, b, c = (m.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "abc")
    m.joint("A", mt.Revolute("z", spring=1.0, armature=0.1), m.ground, a)
    m.joint("B", mt.Revolute("z", limits=(-1, 1), stops=(10, 1)), a.at((1, 0, 0)), b)
    m.joint("C", mt.Spherical(), m.ground, c)
    m.torque("B", "3*sin(t)")
    m.spring(a, b, stiffness=1.0)
    m.constrain("A = sin(B)")
    m.contact(b, stiffness=100.0)
    with pytest.raises(mt.ModelError) as error:
        m.save(tmp_path / "x.urdf", lossy=False)
    text = str(error.value)
    for words in ("joint 'A': has a spring", "has an armature", "joint 'B': has stops", "joint 'C': is a ball joint"):
        assert words in text
    for words in ("gravity is", "joint 'B': has a torque law", "a spring from body 'a'", "constraint 'constraint 1'"):
        assert words in text
    assert "a contact of body 'b'" in text
    assert text.count("lossy=True") == 8
    assert not (tmp_path / "x.urdf").exists()
    # a ball can neither be written nor left out
    with pytest.raises(mt.ModelError, match="ball joint") as error:
        m.save(tmp_path / "x.urdf", lossy=True)
    assert len(error.value.problems) == 1
    said = warned(m, tmp_path / "x.urdf", lossy=True, closures=tmp_path / "x.yaml")
    for words in ("left out (has a spring): 'A'", "contacts left out: 'b'", "left out: 'gravity'"):
        assert words in said
    with pytest.warns(FileNotes, match=r"x\.yaml"):
        assert mt.load(tmp_path / "x.urdf").build().mobility == 5


def test_one_sided_and_absent_limits(tmp_path):
    m = mt.Model("slides")
    limits = {"A": (-1.0, math.inf), "B": (-math.inf, 2.5), "C": None}
    for name, pair in limits.items():
        body = m.body(f"b{name}", mass=1.0)
        m.joint(name, mt.Prismatic("x", limits=pair) if pair else mt.Prismatic("x"), m.ground, body)
    read = {joint.name: joint.type.limits for joint in trip(m, tmp_path / "x.urdf").joints}
    assert {name: read[name] for name in limits} == limits


def test_a_floating_body_floats(tmp_path):
    m = mt.Model("float")
    hull = m.body("hull", mass=1.0, com=(0, 0.1, 0), inertia=(1, 1, 1))
    m.joint("sea", mt.Free(), m.ground, hull.at((0.1, 0.2, 0.3), mt.turn("z", 0.4)))
    again = trip(m, tmp_path / "x.urdf")
    assert max(differences(np.random.default_rng(0), m.build(), again.build())) < 1e-12


def test_capsules_and_hostile_names(tmp_path):
    m = mt.Model("<robot> & 'co' \"x\"")
    capsule = mt.capsule(radius=0.1, length=0.4, axis="x").at((1, 0, 0))
    body = m.body('a<b>&"c"', mass=1.0, inertia=(1, 1, 1), shapes=[capsule])
    m.joint("j é ☃", mt.Revolute("z"), m.ground, body)
    again = trip(m, tmp_path / "x.urdf")
    assert again.name == m.name
    assert again.bodies[1].name == body.name
    assert again.joints[1].name == "j é ☃"
    kinds = [shape.kind for shape in again.bodies[1].shapes]
    assert kinds == ["cylinder", "sphere", "sphere"]
    ends = sorted(shape.position[0] for shape in again.bodies[1].shapes)
    assert ends == pytest.approx([0.8, 1.0, 1.2])


def test_names_with_blanks_around_are_changed(tmp_path):
    m = mt.Model("names")
    m.joint("A", mt.Revolute("z"), m.ground, m.body(" a ", mass=1.0, inertia=(1, 1, 1)))
    m.joint("B", mt.Revolute("z"), m.ground, m.body("a", mass=1.0, inertia=(1, 1, 1)))
    assert "renamed: ' a  to a_'" in warned(m, tmp_path / "x.urdf")
    assert [body.name for body in mt.load(tmp_path / "x.urdf").bodies] == ["world", "a_", "a"]


def test_a_screw_is_a_turn_and_a_slide_that_mimics_it(tmp_path):
    m = mt.Model("screw")
    m.joint("S", mt.Screw("z", pitch=0.5), m.ground, m.body("nut", mass=1.0, inertia=(1, 1, 1)))
    assert "Screw joints written as several" in warned(m, tmp_path / "x.urdf")
    again = mt.load(tmp_path / "x.urdf")
    (couple,) = again.couples
    assert (couple.joint, couple.to) == ("S_slide", "S")
    assert couple.ratio == 0.5 / (2 * math.pi)
    assert again.build().mobility == 1


def test_any_linear_equation_of_two_coordinates_is_a_mimic(tmp_path):
    m = mt.Model("coupled")
    hull = m.body("hull", mass=1.0, inertia=(1, 1, 1))
    m.joint("plane", mt.Planar("z"), m.ground, hull)
    m.joint("A", mt.Revolute("z"), hull, m.body("wheel", mass=1.0, inertia=(1, 1, 1)))
    m.constrain("2*plane.x - 3*A = 0.5")
    assert "Planar joints written as several" in warned(m, tmp_path / "x.urdf")
    system = mt.load(tmp_path / "x.urdf").build()
    assert system.mobility == m.build().mobility == 3
    state = system.assemble({"A": 0.7})
    assert state.q[system.mechanism.by_joint["plane_x"].q][0] == pytest.approx((0.5 + 3 * 0.7) / 2)


def test_loops_in_the_file_of_closures(tmp_path):
    m = mt.Model("four-bar")
    a, b, c = (m.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "abc")
    m.joint("A", mt.Revolute("z"), m.ground, a.at((-0.2, 0.05, 0)))  # to where the frame of the link is moved
    m.joint("D", mt.Revolute("z"), a.at((0.8, 0, 0)), b)
    m.joint("B", mt.Revolute("z"), m.ground.at((2.5, 0, 0)), c.at((0.1, -0.05, 0)))
    m.joint("link", mt.Spherical(), b.at((2, 0.1, 0)), c.at((2, 0, 0)))
    with pytest.raises(mt.ModelError, match=r"joint 'link': closes a loop, .* closures="):
        m.save(tmp_path / "x.urdf")
    assert "closes a loop" in warned(m, tmp_path / "x.urdf", lossy=True)
    assert mt.load(tmp_path / "x.urdf").build().mobility == 3
    assert "frames of links moved" in warned(m, tmp_path / "x.urdf", closures=tmp_path / "x.yaml")
    assert "closed_loop: [['link_first', 'link_second']]\ntype: ['3d']\n" in (tmp_path / "x.yaml").read_text()
    ours, theirs = m.build(), trip(m, tmp_path / "x.urdf", closures=tmp_path / "x.yaml").build()
    assert theirs.mobility == ours.mobility
    found = [
        system.assemble({"A": 0.3}, guess={"B": 2.0}).q[system.mechanism.by_joint["B"].q][0]
        for system in (ours, theirs)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    assert abs(found[0]) > 0.1


@pytest.mark.parametrize("name", ["urdf/panda", "five_bar/robot", "delta/robot"])
@pytest.mark.skipif(not ROBOTS.exists(), reason="the published robot files are not here")
def test_published_robots(tmp_path, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mt.load(ROBOTS / f"{name}.urdf")
        closures = {"closures": tmp_path / "x.yaml"} if "robot" in name else {}
        again = trip(model, tmp_path / "x.urdf", **closures)
    if "panda" in name:
        assert again == model
    ours, theirs = (made.build(code="rolled") for made in (model, again))
    assert max(differences(np.random.default_rng(0), ours, theirs)) < 1e-12
    assert ours.mobility == theirs.mobility
