"""Meshes of elements: gears that mesh, wheels that touch their plane."""

import numpy as np
import pytest
import trimesh
from matplotlib.path import Path

import momentree as mt
from momentree.look.scene import poses_of, scene_of


def placed(system, q=None):
    """All pieces in axes of the ground: (piece, vertices)."""
    q = np.zeros(system.nq) if q is None else q
    poses = poses_of(system._numeric, np.asarray(q, dtype=float)[None], np.zeros(1))
    for piece in scene_of(system).pieces:
        yield piece, piece.mesh.vertices @ poses.rotations[0, piece.body].T + poses.positions[0, piece.body]


def toothed(system, q=None):
    """Those that are gears: all their points are in two planes, above and below."""
    for piece, vertices in placed(system, q):
        if piece.kind == "body" and len(np.unique(np.abs(vertices[:, 2]).round(12))) == 1:
            yield piece, vertices


def wheels(system, q=None):
    """The toothed wheels: body -> its rim in the plane x-y, in order."""
    found = {}
    for piece, vertices in toothed(system, q):
        top = vertices[vertices[:, 2] > 0][:, :2]
        found[piece.name] = top[: 4 * (len(top) // 4)]  # without its center
    return found


def gears(kind="z", tilt=0.0, **how):
    m = mt.Model("gears")
    one, other = (m.body(name, mass=1, inertia=(1, 1, 1)) for name in ("one", "other"))
    m.joint("A", mt.Revolute("z"), m.ground, one)
    m.joint("B", mt.Revolute(kind), m.ground.at((3, 1, 0)), other.at((0.2, 0, 0), mt.turn("z", tilt)))
    m.gear("A", "B", **how)
    return m.build()


def inside(points, rim, closer=1e-3):
    """How many points are inside of a rim, somewhat more than on it."""
    middle = rim.mean(axis=0)
    return int(Path(middle + (rim - middle) * (1 - closer)).contains_points(points).sum())


@pytest.mark.parametrize("tilt", [0.0, 0.7])
@pytest.mark.parametrize("turned", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("teeth", [(21, 30), (20, 31)])  # of an odd number, a tooth is opposite to a gap
def test_teeth_of_two_gears_mesh_wherever_they_turn(teeth, tilt, turned):
    system = gears(tilt=tilt, teeth=teeth)
    q = np.zeros(2)
    q[system._numeric.by_joint["A"].q], q[system._numeric.by_joint["B"].q] = teeth[1] / teeth[0] * turned, -turned
    rims = wheels(system, q)
    assert set(rims) == {"one", "other"}
    distance = np.hypot(3, 1)
    for name, count, center in zip(("one", "other"), teeth, ((0, 0), (3, 1)), strict=True):
        reach = np.linalg.norm(rims[name] - center, axis=1)
        module = 2 * distance / sum(teeth)
        assert reach.max() == pytest.approx(module * count / 2 + module)
    assert inside(rims["one"], rims["other"]) == inside(rims["other"], rims["one"]) == 0
    # they do reach into each other: a tip is inside of the circle of the other's tips
    assert (np.linalg.norm(rims["one"] - (3, 1), axis=1) < teeth[1] / sum(teeth) * distance).any()


@pytest.mark.parametrize("teeth", [(61, 20), (21, 60)])
def test_the_teeth_of_internal_gears_mesh(teeth):
    system = gears(teeth=teeth, internal=True)
    (ring, outside), (_, wheel) = sorted(toothed(system), key=lambda pair: -len(pair[1]))
    assert ring.name == ("one" if teeth[0] > teeth[1] else "other")
    center = (0, 0) if ring.name == "one" else (3, 1)
    hollow = outside[4 * max(teeth) : 8 * max(teeth), :2] - center  # the toothed inside of the ring
    tips = wheel[wheel[:, 2] > 0][: 4 * min(teeth), :2] - center
    assert Path(hollow * 1.001).contains_points(tips).all()
    solid = trimesh.Trimesh(outside, ring.mesh.faces, process=False)
    assert solid.is_volume
    assert (np.linalg.norm(tips, axis=1) > np.linalg.norm(hollow, axis=1).min()).any()


def test_gears_by_radii_have_these_radii_and_alike_teeth():
    rims = wheels(gears(radii=(1.0, 2.0)))
    assert [len(rims[name]) for name in ("one", "other")] == [72, 144]


def test_gears_whose_size_nobody_can_tell_are_not_drawn():
    assert wheels(gears(ratio=2)) == {}
    assert wheels(gears("x", teeth=(20, 30))) == {}  # across each other


def test_planetary_gears_pulleys_and_pinions_are_drawn():
    m = mt.Model("planetary")
    sun, ring, arm, planet = (m.body(name, mass=1, inertia=(1, 1, 1)) for name in ("sun", "ring", "arm", "planet"))
    for name, body in (("S", sun), ("R", ring), ("C", arm)):
        m.joint(name, mt.Revolute("z"), m.ground, body)
    m.joint("P", mt.Revolute("z"), arm.at((0.48, 0, 0)), planet)
    m.planetary("S", "R", "C", teeth=(24, 72), planets=["P"])
    reach = {name: np.linalg.norm(rim - rim.mean(axis=0), axis=1) for name, rim in wheels(m.build()).items()}
    assert set(reach) == {"sun", "ring", "planet"}
    for name, teeth in (("sun", 24), ("planet", 24)):  # a module of 0.02: 0.48 = 0.02 (24 + 24) / 2
        assert reach[name].max() == pytest.approx(0.01 * (teeth + 2), rel=1e-2)
    assert reach["ring"].min() == pytest.approx(0.01 * (72 - 2), rel=1e-2)

    m = mt.Model("belt")
    one, other, bar = (m.body(name, mass=1, inertia=(1, 1, 1)) for name in ("one", "other", "bar"))
    m.joint("A", mt.Revolute("z"), m.ground, one)
    m.joint("B", mt.Revolute("z"), m.ground.at((1, 0, 0)), other)
    m.joint("S", mt.Prismatic("x"), m.ground, bar)
    m.belt("A", "B", (0.1, 0.2))
    m.rack("A", "S", 0.3)
    sizes = {(piece.name, round(float(np.ptp(piece.mesh.vertices[:, 0])), 2)) for piece in scene_of(m.build()).pieces}
    assert {("one", 0.2), ("other", 0.4), ("one", 0.67)} <= sizes


def rolling(**how):
    m = mt.Model("rolling")
    hoop = m.body("hoop", **how)
    m.joint("h", mt.Free(), m.ground, hoop)
    return m, hoop


def test_a_wheel_and_a_ball_touch_the_plane_that_they_roll_on():
    for disc in (None, "y"):
        m, hoop = rolling(mass=1, inertia=(0.2, 0.3, 0.2))
        slope = m.ground.at((0, 0, 1), mt.turn("y", 0.3))
        m.roll(hoop, slope, 0.5, disc=disc)
        system = m.build()
        up = np.array([np.sin(0.3), 0, np.cos(0.3)])
        heights = {}
        for piece, vertices in placed(system, system.assemble().q):
            heights.setdefault(piece.kind, []).extend((vertices - (0, 0, 1)) @ up)
        assert max(heights["contact"]) == pytest.approx(0, abs=0.01)  # the plane
        assert min(heights["body"]) == pytest.approx(0, abs=0.02)


def test_a_body_with_shapes_of_its_own_gets_no_wheel():
    m, hoop = rolling(shape=mt.sphere(1.0, 0.5))
    m.roll(hoop, radius=0.5)
    assert len([piece for piece in scene_of(m.build()).pieces if piece.kind == "body"]) == 1


def test_planes_of_bodies_are_drawn_unless_their_shapes_are():
    for how, count in ({"mass": 1, "inertia": (1, 1, 1)}, 1), ({"shape": mt.box(1.0, (1, 1, 1))}, 0):
        m, hoop = rolling(mass=1, inertia=(0.2, 0.3, 0.2))
        table = m.body("table", **how)
        m.joint("T", mt.Revolute("z"), m.ground, table)
        m.roll(hoop, table, 0.5)
        found = [piece for piece in scene_of(m.build()).pieces if piece.kind == "contact"]
        assert len(found) == count
        assert all(piece.body for piece in found)


def test_contacts_show_planes_once_balls_and_points():
    m, hoop = rolling(shape=mt.box(1.0, (1, 1, 1)))
    for x in (-0.5, 0.5):
        m.contact(hoop.at((x, 0, -0.5)), stiffness=1e4)
    m.contact(hoop, m.ground.at((3, 0, 0)), ball=0.25, stiffness=1e4)
    found = [piece for piece in scene_of(m.build()).pieces if piece.kind == "contact"]
    assert [piece.body for piece in found] == [0, 0, 1, 1, 1]
    plane, ball, *points = (piece.mesh.vertices for piece in found)
    assert plane[:, 2].max() <= 0
    assert np.linalg.norm(ball - (3, 0, 0), axis=1) == pytest.approx(0.25)
    assert points[0].mean(axis=0) == pytest.approx([-0.5, 0, -0.5])
