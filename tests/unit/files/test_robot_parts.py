"""What robot files share: names, colors, axes, frames, limits, friction and starts inside limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from momentree.files.counterparts import FileNotes, Notes
from momentree.files.mesh_addresses import MeshAddresses
from momentree.files.robot_parts import Choices, RobotParts, axis_of, frame_of, free_name, rgb, turns, unused
from momentree.files.robot_xml import parse_xml
from momentree.model.frames import Frame, rotation_of
from momentree.model.joint_types import Prismatic, Revolute
from momentree.model.shapes import box, sphere
from momentree.model.values import Values
from momentree.spatial import Transform, Vector


@pytest.fixture
def parts():
    return RobotParts(parse_xml(b"<robot>\n<a/></robot>", "x.urdf", "robot"), "x", MeshAddresses("x.urdf"), Choices())


def test_names_colors_and_axes():
    notes = Notes("x")
    assert free_name("ground", ["ground_link"], notes) == "ground_link_"
    assert free_name("arm", [], notes) == "arm"
    assert unused("root", {"root", "root_"}) == "root__"
    assert rgb((1.0, 0.5, -3.0, 1.0)) == (255, 128, 0)
    assert (axis_of((0.0, 0.0, -1.0)), axis_of((0.6, 0.8, 0.0))) == ("-z", (0.6, 0.8, 0.0))


def test_frames_at_a_placement():
    X = Transform(rotation_of(turns(0.3, -0.4, 0.5), Values({})), Vector(1, 2, 3))
    found = frame_of("a", X).placement(Values({}))
    assert np.allclose([tuple(row) for row in found.rotation.rows], [tuple(row) for row in X.rotation.rows], atol=1e-15)
    assert tuple(found.offset) == (1, 2, 3)
    assert frame_of("a", Transform(offset=Vector(1, 0, 0))) == Frame("a", (1, 0, 0))
    half = Transform(rotation_of(turns(0, 0, math.pi), Values({})))
    assert frame_of("a", half).rotation is not None


def test_limits_and_damping(parts):
    assert parts.limits("j", -1, 2) == (-1, 2)
    assert parts.limits("j", -1e16, 2) == (-math.inf, 2)
    assert parts.limits("j", -math.inf, math.inf) is None
    assert parts.limits("j", 1, 1) is None
    assert (parts.damping("j", 0.5), parts.damping("j", -0.5)) == (0.5, 0.0)
    assert [*parts.notes.by_kind] == [
        "limits left out, since they leave no room",
        "damping left out, since it is negative",
    ]


def test_joints_begin_inside_their_limits_and_places_are_lines(parts):
    element = parts.root.children[0]
    for name, limits in (("low", (0.5, 0.7)), ("high", (-9.0, -3.0)), ("around", (-1, 1))):
        parts.body(element, name, 1.0, (0.0, 0.0, 0.0), None, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), [])
        joint = parts.joint(element, name, Prismatic("x", limits=limits), Frame("ground"), Frame(name))
    parts.friction(joint, (0.5,))
    with pytest.warns(FileNotes, match="begin inside their limits, since 0 is beyond them: 'low', 'high'"):
        model = parts.finished()
    assert model.start.guess == {"low": pytest.approx(0.52), "high": pytest.approx(-3.1)}
    assert model.torques[0].law == "-0.5*tanh(around'/0.01)"
    assert parts.place_of(("body", 1, "mass")) == "x.urdf:2"
    assert parts.place_of(("torque", 0)) == "x.urdf:1"
    assert model.build().start()["high"] == pytest.approx(-3.1)


def test_shapes_that_cannot_be_drawn_are_said(parts):
    assert parts.drawn(None, (0, 0, 0), None, None) == []
    assert parts.drawn(sphere(radius=0), (0, 0, 0), None, None) == []
    (drawn,) = parts.drawn(box(size=(1, 1, 1)), (1, 0, 0), None, (0, 0, 1))
    assert (drawn.color, drawn.position) == ((0, 0, 255), (1, 0, 0))
    assert "radius" in parts.notes.by_kind["not drawn"][0]


def test_mass_zero_is_massless(parts):
    parts.body(parts.root, "a", 0.0, (), None, (), [])
    assert parts.model.bodies[0].massless
    assert Revolute("z").limits is None
