"""SDF that is written: joints, couplings and loops read again; names, versions, and what SDF does not have."""

from __future__ import annotations

import math
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from robot_trips import body, differences, trip, warned

ROBOTS = Path(__file__).parents[4] / "shared" / "reference" / "robots"


def test_joints_and_their_options_stay(tmp_path):
    m = mt.Model("all", gravity=(0, 1, -9.81))
    a, b, c, d = (body(m, name) for name in "abcd")
    m.joint("A", mt.Revolute("x", spring=2.0, rest=0.3, damping=0.1, limits=(-1, math.inf)), m.ground, a)
    m.joint("B", mt.Universal((1, 1, 0), "z", damping=(0.1, 0.2), limits=((-1, 1), (-2, 2))), a.at((1, 0, 0)), b)
    m.joint("C", mt.Screw("y", pitch=0.2), b.at((1, 0, 0)), c)
    m.joint("D", mt.Spherical(), c.at((1, 0, 0), mt.turn("z", 0.5)), d.at((0, 0.3, 0), mt.turn("x", 0.2)))
    m.torque("B", ("-0.5*tanh(B.angle1'/0.01)", "-0.25*tanh(B.angle2'/0.01)"))
    again = trip(m, tmp_path / "x.sdf")
    assert max(differences(np.random.default_rng(1), m.build(), again.build())) < 1e-12
    assert again.gravity == (0, 1, -9.81)
    assert again.torques == m.torques
    types = {joint.name: joint.type for joint in again.joints}
    assert types["A"].limits == (-1, math.inf)
    assert (types["A"].spring, types["A"].rest, types["A"].damping) == (2.0, 0.3, 0.1)
    assert types["B"].limits == ((-1, 1), (-2, 2))
    assert types["C"].pitch == 0.2
    assert ElementTree.parse(tmp_path / "x.sdf").getroot().get("version") == "1.10"  # which has the pitch of screws


def test_couplings_become_mimics_and_limits_stay(tmp_path):
    m = mt.Model("gears")
    for name in "ABC":
        limits = {"limits": (-1, 1)} if name == "A" else {}
        m.joint(name, mt.Revolute("z", **limits), m.ground, body(m, f"body {name}"))
    m.couple("A", "B", ratio=-2.0, offset=0.4)  # A has limits, which readers ignore of followers
    m.gear("B", "C", ratio=3)
    again = trip(m, tmp_path / "x.sdf")
    assert {joint.name: joint.type.limits for joint in again.joints}["A"] == (-1, 1)
    at = dict(zip("ABC", (0.4 - 2 * 0.9, 0.9, -0.3), strict=True))
    system = again.build()
    assert system.mobility == 1
    state = system.assemble({"A": at["A"]})
    assert [state.q[system.mechanism.by_joint[name].q][0] for name in "ABC"] == pytest.approx([*at.values()])


def test_loops_that_are_open_at_zero_are_written_at_the_start(tmp_path):
    m = mt.Model("loop")
    a, b = body(m, "a"), body(m, "b")
    m.joint("A", mt.Revolute("z", spring=3.0, rest=0.5, limits=(-2, 2)), m.ground, a)
    m.joint("B", mt.Revolute("z"), a.at((1, 0, 0)), b)
    m.joint(
        "C", mt.Prismatic("x", spring=1.0, rest=0.7), m.ground.at((0, 0.3, 0)), b.at((1.5, 0, 0), mt.turn("z", 0.0))
    )
    m.start_at(guess={"A": 0.6})
    m.cut("C")
    said = warned(m, tmp_path / "x.sdf")
    assert "coordinates count from the start" in said
    zero = m.build().start()
    again = mt.load(tmp_path / "x.sdf")
    A = next(joint.type for joint in again.joints if joint.name == "A")
    shift = zero.q[m.build().mechanism.by_joint["A"].q][0]
    assert A.rest == pytest.approx(0.5 - shift)
    assert A.limits == pytest.approx((-2 - shift, 2 - shift))
    C = next(joint.type for joint in again.joints if joint.name == "C")
    assert C.rest == pytest.approx(0.7 - m.build().position(zero, b.at((1.5, 0, 0)))[0])
    system = again.build()
    assert system.mobility == m.build().mobility
    assert system.assemble().closure_error < 1e-12


def test_names_that_sdf_cannot_have(tmp_path):
    m = mt.Model("names")
    m.joint("a", mt.Revolute("z"), m.ground, body(m, "a"))
    m.joint("world", mt.Revolute("z"), m.ground, body(m, "left::b"))
    m.joint("__c__", mt.Revolute("z"), m.ground, body(m, "world"))
    said = warned(m, tmp_path / "x.sdf")
    assert "a to a_joint" in said
    again = mt.load(tmp_path / "x.sdf")
    assert [joint.name for joint in again.joints] == ["a_joint", "world_link_", "c"] or len(again.joints) == 3
    assert {body.name for body in again.bodies} == {"a", "left_b", "world_link"}


def test_what_sdf_does_not_have(tmp_path):
    m = mt.Model("flat")
    m.joint("hull", mt.Planar("z"), m.ground, body(m, "hull"))
    m.joint("arm", mt.Revolute("z", armature=1.0), "hull", m.body("carrier", massless=True))
    m.joint("hand", mt.Revolute("x"), "carrier", body(m, "hand"))
    with pytest.raises(mt.ModelError) as error:
        m.save(tmp_path / "x.sdf")
    text = str(error.value)
    assert "joint 'hull': is Planar, which SDF does not have. Write URDF or MJCF" in text
    assert "joint 'arm': has an armature, which SDF cannot express. Write MJCF" in text
    assert "body 'carrier': has no mass, which SDF does not allow" in text
    assert not (tmp_path / "x.sdf").exists()


def test_floating_bodies_shapes_and_frames(tmp_path):
    m = mt.Model("drawn")
    shapes = [mt.capsule(radius=0.1, length=0.3, color=(10, 20, 30)), mt.box(size=(1, 2, 3)).at((0, 0, 1))]
    hull = m.body("hull", mass=1.0, inertia=(1, 1, 1), shapes=shapes)
    m.joint("root", mt.Free(), m.ground.at((1, 2, 3), mt.turn("y", 0.3)), hull.at((0, 0.1, 0)))
    m.joint("A", mt.Revolute("x"), body(m, "arm").at((0, 0, 0.4)), hull.at((0.3, 0, 0)))  # its child floats
    m.frame("eye", hull.at((0.2, 0, 0)))
    m.save(tmp_path / "x.sdf")
    root = ElementTree.parse(tmp_path / "x.sdf").getroot()
    assert root.get("version") == "1.8"  # which has capsules
    assert root.find(".//frame").attrib == {"name": "eye", "attached_to": "hull"}
    again = trip(m, tmp_path / "x.sdf")
    assert [shape.kind for shape in again.bodies[0].shapes] == ["capsule", "box"]
    assert again.bodies[0].shapes[0].color == (10, 20, 30)
    assert again.bodies[0].shapes[1].position == pytest.approx((0, -0.1, 1))  # in the frame of the Free joint
    assert root.find(".//frame/pose").text == "0.2 -0.1 0 0 0 0"
    assert max(differences(np.random.default_rng(2), m.build(), again.build())) < 1e-12


@pytest.mark.parametrize("name", ["cassie_v2", "cassie"])
@pytest.mark.skipif(not ROBOTS.exists(), reason="the published robot files are not here")
@pytest.mark.repeats(1)
def test_cassie(tmp_path, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mt.load(ROBOTS / "cassie_sdf" / f"{name}.sdf", inertia_check="warn")
        again = trip(model, tmp_path / "x.sdf", inertia_check="warn")
        ours, theirs = (made.build(code="rolled") for made in (model, again))
    assert max(differences(np.random.default_rng(0), ours, theirs)) < 1e-12
    assert ours.mobility == theirs.mobility
