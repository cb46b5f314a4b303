"""Moving a body by hand, with the mouse, a gizmo or numbers: the nearest state at which all loops are closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.configuration import Configuration
from momentree.assembly.state import State
from momentree.equations.kinematics import frame_jacobian
from momentree.look.motion_frames import quaternions
from momentree.look.stage import Stage, place, shown
from momentree.spatial import Transform, Vector
from momentree.structure.mechanism import Attached, Mechanism

if TYPE_CHECKING:
    from momentree.system import System

Array = NDArray[np.float64]
STEPS = 6  # towards a target, for each movement of the hand
DAMPING = 0.02  # of the size of the mechanism: how softly a body follows near singular positions
LONGEST_STEP = 0.3  # rad, or of the size
TURN = 0.5  # of the size of the mechanism: the distance that an error of 1 rad is worth
GIZMO = 0.35  # of the size of the mechanism: the length of its axes


class Wish(NamedTuple):
    """Where a body should be.

    | field  | meaning                                                                  |
    |--------|--------------------------------------------------------------------------|
    | body   | its number                                                               |
    | point  | a point of it, in the frame that the user knows (m)                      |
    | target | where this point should be, in inertial space (m)                        |
    | wxyz   | how that frame should be turned, a unit quaternion; None: as it comes    |
    """

    body: int
    point: Array
    target: Array
    wxyz: Array | None = None


def nearest_state(system: System, state: State, wish: Wish, size: float) -> State:
    """The state at which a body is as near to a wish as the loops allow, from the present one.

    Damped least squares along the motions that keep the loops closed, which are assembled again after each step.
    """
    mechanism = system._numeric
    body = mechanism.bodies[wish.body - 1]
    offset = Transform(offset=Vector(*(float(x) for x in wish.point)))
    frame = Attached(wish.body, body.own @ offset)
    best, nearest = state, np.inf
    for _ in range(STEPS):
        at = Configuration(mechanism, state.q, None, state.t)
        miss = _miss(at.bodies[wish.body].X_0 @ frame.placement, wish, TURN * size)
        if np.linalg.norm(miss) >= nearest * (1 - 1e-3):
            break
        best, nearest = state, float(np.linalg.norm(miss))
        columns = frame_jacobian(mechanism, at.bodies, frame)
        J = np.array([[*column.linear, *(TURN * size * x for x in column.angular)] for column in columns], dtype=float)
        free = _kernel(at.jacobian())
        Jf = J.reshape(-1, 6).T[: len(miss)] @ free
        step = free @ Jf.T @ np.linalg.solve(Jf @ Jf.T + (DAMPING * size) ** 2 * np.eye(len(miss)), miss)
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-12))
        guess = State(mechanism, _stepped(mechanism, state.q, step), state.v, state.t)
        state = system.assemble(guess=guess, t=state.t)
    return best


def _miss(X: Transform, wish: Wish, arm: float) -> Array:
    """What is left to the target, and to the turn, which counts by an arm (m)."""
    ahead: Array = wish.target - np.array([*X.offset], dtype=float)
    if wish.wxyz is None:
        return ahead
    now = quaternions(np.array([[*row] for row in X.rotation.rows], dtype=float))
    # wanted times the inverse of the present one
    w, r = wish.wxyz[0], wish.wxyz[1:]
    real = float(w * now[0] + r @ now[1:])
    vector = -w * now[1:] + now[0] * r - np.cross(r, now[1:])
    length = float(np.linalg.norm(vector))
    angle = 2 * np.arctan2(length, abs(real)) * (1 if real >= 0 else -1)
    return np.concatenate([ahead, arm * angle * vector / length if length > 0 else np.zeros(3)])


def _stepped(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """Coordinates after a step along the velocities of the tree, within the limits of the joints."""
    moved = q.copy()
    for body in mechanism.bodies:
        if body.laws is None:
            joint = body.joint.type
            new = np.array([*joint.integrate([*q[body.q]], [*step[body.v]])], dtype=float)
            if joint.limits is not None and len(new) == len(joint.limits):
                low, high = np.array(joint.limits, dtype=float).T
                new = np.clip(new, low, high)
            moved[body.q] = new
    return moved


def _kernel(J: Array) -> Array:
    """An orthonormal basis of the motions that J lets go, as columns."""
    if not len(J):
        return np.eye(J.shape[1])
    _, strengths, directions = np.linalg.svd(J)
    rank = int((strengths > 1e-9 * max(strengths.max(initial=0.0), 1e-300)).sum())
    return np.asarray(directions[rank:].T)


class Gizmo:
    """Axes and rings at the body that was clicked, and its position in numbers: both move it."""

    def __init__(self, stage: Stage, ask: Callable[[Wish], None]):
        self.stage, self.ask = stage, ask
        self.body: int | None = None
        self.held = False
        server = stage.server
        self.handle = server.scene.add_transform_controls(
            "/scene/gizmo", scale=GIZMO * stage.length, depth_test=False, visible=False
        )
        self.handle.on_update(self._turned)
        self.field = server.gui.add_vector3("position (m)", (0.0, 0.0, 0.0), step=0.001 * stage.size, visible=False)
        self.field.on_update(self._entered)

    def select(self, body: int | None) -> None:
        """Take a body, or none."""
        self.body = body
        self.handle.visible = self.field.visible = body is not None
        if body is not None:
            self.field.label = f"{shown(self.stage.scene.bodies[body])}: position (m)"

    def follow(self, positions: Array, wxyz: Array) -> None:
        """Stand where the body is, unless a hand holds it elsewhere."""
        if self.body is not None:
            self.field.value = tuple(float(x) for x in positions[self.body])
            if not self.held:
                place(self.handle, self.stage.on_page(positions[self.body]), wxyz[self.body])

    async def _turned(self, event: Any) -> None:
        self.held = event.phase != "end"
        if self.body is not None:
            at, wxyz = self.stage.in_space(self.handle.position), np.array(self.handle.wxyz, dtype=float)
            self.ask(Wish(self.body, np.zeros(3), at, wxyz))

    def _entered(self, event: Any) -> None:
        if self.body is not None and event.client is not None:  # not by ourselves
            self.ask(Wish(self.body, np.zeros(3), np.array(self.field.value, dtype=float)))
