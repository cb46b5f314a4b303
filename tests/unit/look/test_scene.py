"""Scenes: every body and joint is drawn, where the system says it is."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.look.gallery import gallery
from momentree.look.scene import poses_of, scene_of

MODELS = [example.model for example in gallery() if example.model.exists()]


@pytest.fixture(scope="module")
def four_bar():
    return mt.load(next(path for path in MODELS if "four_bar" in str(path) and "row" not in str(path))).build()


@pytest.mark.parametrize("path", MODELS, ids=[path.parent.name for path in MODELS])
def test_every_body_and_joint_of_the_gallery_is_drawn(path):
    system = mt.load(path).build()
    scene = scene_of(system)
    bodies = {body.name for body in system.mechanism.bodies if not body.image_of}
    assert {piece.name for piece in scene.pieces if piece.kind == "body"} == bodies
    joints = {name for name, element in system.mechanism.by_joint.items() if element.joint is not None}
    assert {piece.name for piece in scene.pieces if piece.kind == "joint"} >= joints
    for piece in scene.pieces:
        assert np.isfinite(piece.mesh.vertices).all()
        assert piece.mesh.faces.max() < len(piece.mesh.vertices)


def test_poses_are_the_frames_of_bodies(four_bar):
    state = four_bar.assemble()
    q = np.stack([state.q, state.q])
    poses = poses_of(four_bar.mechanism, q, np.zeros(2))
    for body in four_bar.mechanism.bodies:
        assert poses.positions[1, body.number] == pytest.approx(four_bar.position(state.q, body.name))
        R = poses.rotations[0, body.number]
        assert pytest.approx(np.eye(3)) == R @ R.T
        tip = four_bar.position(state.q, mt.model.frames.Frame(body.name, (0.3, -0.2, 0.5)))
        assert poses.positions[0, body.number] + R @ [0.3, -0.2, 0.5] == pytest.approx(tip)


def test_the_marks_of_a_closing_joint_meet_where_the_loop_closes(four_bar):
    state = four_bar.assemble()
    scene, poses = scene_of(four_bar), poses_of(four_bar.mechanism, state.q[None], np.zeros(1))
    for loop in four_bar.mechanism.loops:
        mark = next(piece for piece in scene.pieces if piece.name == loop.name)
        middle = mark.mesh.vertices.mean(axis=0)
        at = poses.positions[0, mark.body] + poses.rotations[0, mark.body] @ middle
        own = four_bar.mechanism.bodies[loop.second.body - 1].own.inverse() @ loop.second.placement
        other = poses.positions[0, loop.second.body] + poses.rotations[0, loop.second.body] @ [*own.offset]
        assert at == pytest.approx(other, abs=1e-9)
