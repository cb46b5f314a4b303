"""Views: the plane of a planar mechanism, a corner of space, or what the user names."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from momentree.errors import MomentreeError
from momentree.look.gallery import gallery
from momentree.look.projection import joint_places, view_of
from momentree.look.scene import poses_of


def seen(system, view="auto"):
    state = system.start()
    return view_of(view, system._numeric, poses_of(system._numeric, state.q[None], np.array([state.t])))


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("08_four_bar", ("x", "z")),
        ("12_andrews", ("x", "y")),
        ("13_walking", ("y", "z")),
        ("09_slider_crank", ("x", "y")),
        ("10_bennett", None),
        ("19_bicycle", None),
    ],
)
def test_a_planar_mechanism_is_seen_in_its_plane(name, axes):
    view = seen(mt.load(next(one.model for one in gallery() if one.folder.name.startswith(name))).build())
    assert view.planar == (axes is not None)
    assert axes is None or (view.name_of(view.right), view.name_of(view.up)) == axes
    assert view.right @ view.up == pytest.approx(0, abs=1e-15)


def tilted(gravity=(0, 0, -9.81)):
    m = mt.Model("tilted", gravity=gravity)
    frame = m.ground.at((0, 0, 0), mt.model.frames.Turn("z", 0.5))
    m.joint("A", mt.Revolute("y"), frame, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    return m.build()


def test_a_plane_in_any_direction_has_gravity_downwards():
    view = seen(tilted())
    assert view.up == pytest.approx([0, 0, 1])
    assert abs(view.towards) == pytest.approx([np.sin(0.5), np.cos(0.5), 0])
    assert view.right[0] > 0
    assert seen(tilted((0, 0, 9.81))).up == pytest.approx([0, 0, -1])


def test_named_views_are_orthonormal_and_look_from_there():
    system = tilted()
    assert seen(system, "y-z").flat([1, 2, 3]) == pytest.approx([2, -3])
    assert seen(system, "xy").depth([0, 0, 1]) == pytest.approx(1)
    assert seen(system, (0, 0)).towards == pytest.approx([1, 0, 0])
    assert seen(system, (90, 0)).towards == pytest.approx([0, 1, 0])
    assert seen(system, (30, 90)).towards == pytest.approx([0, 0, 1])
    view = seen(system, "space")
    R = np.stack([view.right, view.up, view.towards])
    assert pytest.approx(np.eye(3)) == R @ R.T
    assert np.linalg.det(R) == pytest.approx(1)
    for wrong in ("zz", "front", (1, 2, 3), (float("nan"), 0), None):
        with pytest.raises(MomentreeError, match="there is no view"):
            seen(system, wrong)


def test_the_frames_of_a_joint_meet_however_the_tree_runs_through_it():
    """A hinge defined from the body to the ground is traversed backwards."""
    m = mt.Model("reversed")
    rod = m.body("rod", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("x"), rod.at((1, 0, 0), mt.model.frames.Turn("z", 0.3)), m.ground.at((0, 2, 0)))
    system = m.build()
    state = system.assemble({"A": 0.7})
    poses = poses_of(system._numeric, state.q[None], np.zeros(1))
    (place,) = joint_places(system._numeric)
    assert (place.first.body, place.second.body) == (1, 0)
    assert poses.points(place.first)[0] == pytest.approx([0, 2, 0])
    assert poses.points(place.second)[0] == pytest.approx([0, 2, 0])
    assert place.axes(poses)["axis"] == pytest.approx([1, 0, 0])
