"""Frames of SDF: poses relative to links, joints, frames and models, nested and placed by a frame of theirs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.files.robot_xml import parse_xml
from momentree.files.sdf_frames import Frames, Scope, scope_of

HALF = math.pi / 2


def frames_of(text):
    root = parse_xml(f"<sdf>{text}</sdf>".encode(), "x.sdf", "sdf")
    world = Scope(root)
    for model in root.all("model"):
        world.named[model.get("name")] = model
        world.inner[model.get("name")] = scope_of(model, "", world)
    return Frames(world), world


def at(text, name):
    frames, world = frames_of(text)
    X = frames.placement(frames.node(world, name, world.element))
    return np.array(tuple(X.offset)), np.array([tuple(row) for row in X.rotation.rows])


MODEL = f"""<model name="m"><pose>0 0 1 0 0 {HALF!r}</pose>
  <link name="a"><pose>1 0 0 0 0 0</pose></link>
  <link name="b"><pose relative_to="a">0 2 0 0 0 0</pose></link>
  <link name="c"><pose frame="j">0 0 3 0 0 0</pose></link>
  <joint name="j" type="fixed"><pose>0 0 5 0 0 0</pose><parent>a</parent><child>b</child></joint>
  <joint name="k" type="fixed"><pose relative_to="a">0 0 7 0 0 0</pose><parent>a</parent><child>b</child></joint>
  <frame name="f" attached_to="b"><pose>0.5 0 0 0 0 0</pose></frame>
  <frame name="g"><pose>0.5 0 0 0 0 0</pose></frame>
  <frame name="h" attached_to="f"><pose relative_to="g">0 1 0 0 0 0</pose></frame>
  <model name="inner"><pose relative_to="b">0 0 10 0 0 0</pose>
    <link name="d"><pose>0 0 1 0 0 0</pose></link></model>
  <model name="hung" placement_frame="top"><pose>0 0 20 0 0 0</pose>
    <link name="e"/><frame name="top" attached_to="e"><pose>0 0 4 0 0 0</pose></frame></model>
</model>"""


@pytest.mark.parametrize(
    ("name", "place"),  # in the model, which is 1 m up and turned by a right angle
    [
        ("m::a", (1, 0, 0)),
        ("m::b", (1, 2, 0)),
        ("m::j", (1, 2, 5)),
        ("m::k", (1, 0, 7)),
        ("m::c", (1, 2, 8)),
        ("m::f", (1.5, 2, 0)),
        ("m::g", (0.5, 0, 0)),
        ("m::h", (0.5, 1, 0)),
        ("m::inner::d", (1, 2, 11)),
        ("m::hung::top", (0, 0, 20)),
        ("m::hung::e", (0, 0, 16)),
        ("m::hung", (0, 0, 16)),
        ("m::inner::__model__", (1, 2, 10)),
    ],
)
def test_poses(name, place):
    x, y, z = place
    offset, rotation = at(MODEL, name)
    assert np.allclose(offset, (-y, x, z + 1), atol=1e-15)
    assert np.allclose(rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_rotations_are_roll_pitch_yaw_or_quaternions():
    r, p, y = 0.3, -0.4, 0.5
    turns = [
        np.array([[math.cos(y), -math.sin(y), 0], [math.sin(y), math.cos(y), 0], [0, 0, 1]]),
        np.array([[math.cos(p), 0, math.sin(p)], [0, 1, 0], [-math.sin(p), 0, math.cos(p)]]),
        np.array([[1, 0, 0], [0, math.cos(r), -math.sin(r)], [0, math.sin(r), math.cos(r)]]),
    ]
    _, found = at(f'<model name="m"><pose>0 0 0 {r} {p} {y}</pose><link name="a"/></model>', "m::a")
    assert np.allclose(found, turns[0] @ turns[1] @ turns[2], atol=1e-15)
    degrees = '<pose degrees="true">0 0 0 0 0 90</pose>'
    quaternion = f'<pose rotation_format="quat_xyzw">0 0 0 0 0 {math.sqrt(2)} {math.sqrt(2)}</pose>'
    for pose in (degrees, quaternion):
        _, found = at(f'<model name="m">{pose}<link name="a"/></model>', "m::a")
        assert np.allclose(found, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize(("name", "link"), [("f", "b"), ("h", "b"), ("g", "a"), ("j", "b"), ("hung::top", "e")])
def test_the_link_that_carries_a_frame(name, link):
    frames, world = frames_of(MODEL)
    model = world.inner["m"]
    assert frames.link(frames.node(model, name, model.element))[1] == link


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '<model name="m"><link name="a"><pose relative_to="b"/></link>'
            '<link name="b"><pose relative_to="a"/></link></model>',
            "its pose is relative to itself, through 'a', 'b'",
        ),
        ('<model name="m"><link name="a"><pose relative_to="c"/></link></model>', "there is no frame 'c'"),
        ('<model name="m"><link name="a"><pose relative_to="x::y"/></link></model>', "there is no model 'x'"),
        (
            '<model name="m" placement_frame="w"><link name="a"/>'
            '<frame name="w"><pose relative_to="world"/></frame></model>',
            "its placement_frame is not placed inside it",
        ),
    ],
)
def test_mistakes(text, told):
    with pytest.raises(mt.ModelError, match=told):
        at(text, "m::a")


def test_a_frame_attached_to_itself():
    text = '<model name="m"><link name="a"/><frame name="f" attached_to="g"/><frame name="g" attached_to="f"/></model>'
    frames, world = frames_of(text)
    with pytest.raises(mt.ModelError, match="is attached to itself"):
        frames.link((world.inner["m"], "f"))
