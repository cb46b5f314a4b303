"""Bodies moved by hand: they take what they can of a position and a turn, and loops stay closed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import momentree as mt
from mechanisms import four_bar
from momentree.look.body_moves import Wish, nearest_state
from momentree.look.motion_frames import quaternions
from momentree.look.scene import poses_of


def poses(system, state):
    found = poses_of(system._numeric, state.q[None], np.array([state.t]))
    return found.positions[0], quaternions(found.rotations[0])


def moved(system, state, wish, size, times=8):
    for _ in range(times):
        state = nearest_state(system, state, wish, size)
    return state


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_free_body_takes_any_pose(seed):
    m = mt.Model("free")
    m.joint("x", mt.Free(), m.ground, m.body("box", mt.box(mass=1.0, size=(1, 2, 3), centre=(0.3, 0, 0))))
    system = m.build()
    turn = Rotation.random(random_state=seed)
    x, y, z, w = turn.as_quat()
    point, target = np.array([0.5, 0, -0.2]), np.array([1.0, -2.0, 0.5])
    state = moved(system, system.assemble(), Wish(1, point, target, np.array([w, x, y, z])), 1.0, 12)
    positions, wxyz = poses(system, state)
    assert abs(wxyz[1] @ [w, x, y, z]) == pytest.approx(1, abs=1e-6)
    assert positions[1] + turn.apply(point) == pytest.approx(target, abs=1e-3)


def test_a_crank_takes_the_angle_that_a_ring_is_turned_to_and_the_loop_stays_closed():
    system = four_bar().build()
    state = system.assemble({"A": 1.0})
    number = 1 + [body.name for body in system.mechanism.bodies].index("crank")
    x, y, z, w = Rotation.from_rotvec([0.4, 1.3, 0]).as_quat()  # about x it cannot turn
    wish = Wish(number, np.zeros(3), poses(system, state)[0][number], np.array([w, x, y, z]))
    state = moved(system, state, wish, 2.0)
    assert state.closure_error < 1e-9
    best = min(np.linspace(0.8, 1.8, 1001), key=lambda a: turn_left(a, (x, y, z, w)))
    assert state["A"] == pytest.approx(best, abs=0.02)


def turn_left(angle, wanted):
    """The angle (rad) between a turn about y and the wanted one, by SciPy."""
    return (Rotation.from_quat(wanted) * Rotation.from_rotvec([0, angle, 0]).inv()).magnitude()


def test_the_gizmo_and_the_numbers_move_the_body_that_was_clicked():
    system = four_bar().build()
    viewer = system.look(state=system.assemble({"A": 1.0}), browser=False, wait=False)
    view = viewer.view
    try:
        view._on_click(1)(None)
        gizmo = view.gizmo
        assert (gizmo.body, gizmo.handle.visible, gizmo.field.visible) == (1, True, True)
        assert gizmo.handle.wxyz == pytest.approx(poses(system, view.state)[1][1])
        gizmo.handle.wxyz = np.array([np.cos(0.6), 0, np.sin(0.6), 0])
        send(gizmo._turned(SimpleNamespace(phase="update")))
        assert view.moves.wait()
        assert view.state["A"] == pytest.approx(1.2, abs=0.02)
        assert gizmo.handle.wxyz == pytest.approx([np.cos(0.6), 0, np.sin(0.6), 0])  # where the hand holds it
        send(gizmo._turned(SimpleNamespace(phase="end")))
        assert view.moves.wait()
        assert gizmo.handle.wxyz == pytest.approx(poses(system, view.state)[1][1], abs=1e-12)
        assert view.state.closure_error < 1e-9
        view._on_click(2)(None)
        gizmo.field.value = (np.cos(0.9), 0.0, -np.sin(0.9))  # the coupler begins where the crank ends
        gizmo._entered(SimpleNamespace(client=1))
        assert view.moves.wait()
        assert view.state["A"] == pytest.approx(0.9, abs=0.02)
        view._on_click(2)(None)
        assert (gizmo.body, gizmo.handle.visible) == (None, False)
    finally:
        viewer.close()


def send(coroutine):
    """Run what the server would await."""
    with pytest.raises(StopIteration):
        coroutine.send(None)
