"""Joints of SDF: where axes point, what options become, and couplings checked by the bodies' angles in space."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.model.frames import Frame

pytestmark = pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")

I = """<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"""


def loaded(tmp_path, joints, version="1.7", poses=("", "", "")):
    links = "".join(f'<link name="{name}">{pose}{I}</link>' for name, pose in zip("abc", poses, strict=True))
    path = tmp_path / "x.sdf"
    path.write_text(f'<sdf version="{version}"><model name="m">{links}{joints}</model></sdf>')
    return mt.load(path)


def joint(kind, rest, name="j", parent="world", child="a"):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{rest}</joint>'


@pytest.mark.parametrize(
    ("version", "axis", "world"),
    [
        ("1.7", "<xyz>1 0 0</xyz>", (0, 1, 0)),  # in the joint frame, turned with the child
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", (1, 0, 0)),
        ("1.4", "<xyz>1 0 0</xyz>", (1, 0, 0)),  # before 1.5, axes are in the frame of the model
        ("1.8", '<xyz expressed_in="__model__">1 0 0</xyz>', (1, 0, 0)),
        ("1.8", '<xyz expressed_in="b">1 0 0</xyz>', (0, 0, -1)),
    ],
)
def test_axes_are_in_the_frame_that_the_file_means(tmp_path, version, axis, world):
    poses = (f"<pose>0 0 0 0 0 {math.pi / 2!r}</pose>", f"<pose>0 0 0 0 {math.pi / 2!r} 0</pose>", "")
    system = loaded(tmp_path, joint("revolute", f"<axis>{axis}</axis>"), version, poses).build()
    turned = system.assemble({"j": 0.3})
    tips = [system.position(turned, Frame("a", tuple(e))) for e in np.eye(3)]
    R0 = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    n, c, s = np.array(world), math.cos(0.3), math.sin(0.3)
    expected = [c * r + s * np.cross(n, r) + (1 - c) * (n @ r) * n for r in R0.T]
    assert np.allclose(tips, expected, atol=1e-15)


def test_screws_advance_by_their_pitch(tmp_path):
    for pitch in ("<screw_thread_pitch>0.5</screw_thread_pitch>", f"<thread_pitch>{-4 * math.pi!r}</thread_pitch>"):
        system = loaded(tmp_path, joint("screw", f"<axis><xyz>0 0 1</xyz></axis>{pitch}")).build()
        assert np.allclose(system.position(system.assemble({"j": 2 * math.pi}), "a"), (0, 0, 0.5))


@pytest.mark.parametrize("kind", ["universal", "revolute2"])
def test_crossed_axes(tmp_path, kind):
    axes = """<axis><xyz>1 0 0</xyz><dynamics><damping>0.5</damping><friction>0.1</friction></dynamics></axis>
      <axis2><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis2>"""
    model = loaded(tmp_path, joint(kind, axes))
    type = model.joints[0].type
    assert (type.kind, type.first, type.second, type.damping) == ("Universal", "x", "y", (0.5, 0.0))
    assert type.limits == ((-math.inf, math.inf), (-1.0, 1.0))
    assert model.torques[0].law == ("-0.1*tanh(j.angle1'/0.01)", 0)
    system = model.build()
    turned = system.assemble({"j": (0.4, 0.3)})
    # about x, then about the y that was carried along
    tip = system.position(turned, Frame("a", (1, 0, 0)))
    assert np.allclose(tip, (math.cos(0.3), math.sin(0.3) * math.sin(0.4), -math.sin(0.3) * math.cos(0.4)))


def test_options(tmp_path):
    axis = """<axis><xyz>0 0 1</xyz><limit><lower>0.5</lower><upper>1e16</upper></limit><dynamics><damping>0.1</damping>
      <friction>0.2</friction><spring_stiffness>3</spring_stiffness><spring_reference>0.7</spring_reference></dynamics></axis>"""
    model = loaded(tmp_path, joint("prismatic", axis, name="left-rail"))
    type = model.joints[0].type
    assert (type.kind, type.axis, type.limits) == ("Prismatic", "z", (0.5, math.inf))
    assert (type.damping, type.spring, type.rest) == (0.1, 3.0, 0.7)
    assert model.torques[0].law == "-0.2*tanh(`left-rail`'/0.01)"
    state = model.build().start()
    assert state["left-rail"] == pytest.approx(0.6)  # zero is not allowed, and the limit itself is where stops begin
    both = "<limit><lower>-inf</lower><upper>inf</upper></limit>"
    free = loaded(tmp_path, joint("revolute", f"<axis><xyz>0 0 1</xyz>{both}</axis>"))
    assert free.joints[0].type.limits is None


@pytest.mark.parametrize("opposite", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
def test_gearboxes_couple_angles_seen_from_the_reference_body(tmp_path, opposite, swapped):
    hinge = "<axis><xyz>0 0 1</xyz></axis>"
    against = "<axis><xyz>0 0 -1</xyz></axis>" if opposite else hinge
    ends = ("c", "a") if swapped else ("a", "c")
    joints = (
        joint("revolute", hinge, "carrier")
        + joint("revolute", hinge, "input", "a", "b")
        + joint("revolute", against, "output", *ends)
        + joint(
            "gearbox",
            f"<gearbox_reference_body>a</gearbox_reference_body><gearbox_ratio>0.25</gearbox_ratio>{hinge}",
            "box",
            "b",
            "c",
        )
    )
    model = loaded(tmp_path, joints)
    system = model.build()
    assert (system.nv, system.mobility, model.couples[0].name) == (3, 2, "box")
    state = system.assemble({"carrier": 0.5, "input": 0.8})
    angles = []
    for body in "abc":
        x, y, _ = system.position(state, Frame(body, (1, 0, 0)))
        angles.append(math.atan2(y, x))
    assert angles[1] - angles[0] == pytest.approx(0.8)
    assert angles[2] - angles[0] == pytest.approx(-0.25 * 0.8)  # theta_2 = -ratio theta_1


def test_a_gearbox_needs_its_joints(tmp_path):
    box = "<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis>"
    with pytest.raises(mt.ModelError, match="no revolute joint between its reference body 'a' and 'b'"):
        loaded(tmp_path, joint("gearbox", box, "box", "b", "c"))


def test_mimic_joints_follow(tmp_path):
    hinge = "<axis><xyz>0 0 1</xyz></axis>"
    mimic = '<mimic joint="lead"><multiplier>2</multiplier><offset>0.1</offset><reference>0.3</reference></mimic>'
    follower = f"<axis><xyz>0 0 1</xyz>{mimic}</axis>"
    joints = joint("revolute", hinge, "lead") + joint("revolute", follower, "follow", "a", "b")
    system = loaded(tmp_path, joints, "1.11").build()
    assert system.assemble({"lead": 0.5})["follow"] == pytest.approx(2 * (0.5 - 0.3) + 0.1)
    with pytest.raises(mt.ModelError, match=r"there is no joint 'leed'. Did you mean 'lead'"):
        loaded(tmp_path, joints.replace('mimic joint="lead"', 'mimic joint="leed"'), "1.11")


def test_balls_and_fixed_joints(tmp_path):
    joints = joint("ball", "<axis><xyz>0 0 1</xyz></axis>") + joint("fixed", "", "weld", "a", "b")
    model = loaded(tmp_path, joints)
    assert [each.type.kind for each in model.joints] == ["Spherical", "Fixed", "Free"]
    assert model.build().mobility == 9
