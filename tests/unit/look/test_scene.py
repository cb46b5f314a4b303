"""Scenes: every body and joint is drawn, where the system says it is."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.look.gallery import gallery
from momentree.look.scene import PALETTE, poses_of, scene_of

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


def test_shapes_have_their_colors_and_places():
    m = mt.Model("two")
    parts = [mt.box(1.0, (1, 1, 1), color="orange"), mt.sphere(radius=0.1, color="#010203").at((0, 0, 2))]
    hull = m.body("hull", shapes=parts)
    m.body("bare", mass=1, inertia=(1, 1, 1))
    m.shape(hull.at((0, 5, 0), mt.turn("z", 1)), mt.disc(radius=1).at((1, 0, 0)))
    m.shape(m.ground, mt.box(size=(3, 3, 0.1)), color="silver")
    pieces = scene_of(m.build()).pieces
    own = [piece for piece in pieces if piece.name == "hull"]
    assert [piece.color for piece in own] == [(230, 159, 0), (1, 2, 3), PALETTE[own[0].body - 1]]
    assert own[1].mesh.vertices.mean(axis=0) == pytest.approx([0, 0, 2], abs=1e-9)
    assert own[2].mesh.vertices.mean(axis=0) == pytest.approx([np.cos(1), 5 + np.sin(1), 0], abs=1e-9)
    (floor,) = (piece for piece in pieces if piece.kind == "ground")
    assert (floor.name, floor.body, floor.color) == ("ground", 0, (200, 204, 208))
    assert len([piece for piece in pieces if piece.name == "bare" and piece.kind == "body"]) == 1


def test_a_body_on_which_shapes_are_drawn_needs_no_rods():
    m = mt.Model("arm")
    arm = m.body("arm", mass=1, inertia=(1, 1, 1))
    m.joint("A", mt.Revolute("y"), m.ground, arm.at((1, 0, 0)))
    m.shape(arm, mt.capsule(radius=0.1, length=1, axis="x"))
    assert [piece.kind for piece in scene_of(m.build()).pieces] == ["body", "joint"]


def test_massless_rods_are_strands():
    m = mt.Model("rod")
    ball = m.body("ball", mt.sphere(1.0, 0.1))
    m.joint("F", mt.Free(), m.ground, ball)
    m.distance(m.ground.at((0, 0, 1)), ball.at((0, 0, 0.1)), 2.0)
    m.spring(m.ground, ball, 10)
    strands = {strand.kind: strand for strand in scene_of(m.build()).strands}
    assert set(strands) == {"spring", "rod"}
    assert [[*end.placement.offset] for end in strands["rod"].ends] == [[0, 0, 1], [0, 0, 0.1]]


def test_a_mesh_that_cannot_be_read_is_told_with_its_body(tmp_path):
    (tmp_path / "link.stl").write_text("nothing")
    m = mt.Model("mesh")
    m.body("link", mt.mesh(tmp_path / "link.stl"), mass=1, inertia=(1, 1, 1))
    with pytest.raises(mt.MomentreeError, match=r"'link', mesh: the file '.*link.stl' has no triangles"):
        scene_of(m.build())


def test_the_size_of_a_scene_fits_its_shapes():
    m = mt.Model("large")
    m.body("block", mt.box(1.0, (30, 1, 1)))
    assert scene_of(m.build()).size >= 30


def test_shapes_follow_the_values_of_free_parameters():
    m = mt.Model("free")
    m.parameter("a", 1.0)
    m.parameter("b", "2*a")
    m.body("block", mt.box(density=1.0, size=("a", "b", 1)))
    system = m.build(free=["a"])
    for size, drawn in ((1.0, system), (3.0, system.with_parameters(a=3.0))):
        (piece, *_) = scene_of(drawn).pieces
        assert np.ptp(piece.mesh.vertices, axis=0) == pytest.approx([size, 2 * size, 1])
