"""The page of a model: sliders of joints and bodies that can be dragged; the loops are assembled again and follow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.configuration import Configuration
from momentree.assembly.state import State
from momentree.equations.kinematics import frame_jacobian
from momentree.errors import MomentreeError
from momentree.look.joint_sliders import JointSlider, joint_sliders
from momentree.look.motion_frames import quaternions, rotated
from momentree.look.scene import poses_of, scene_of
from momentree.look.stage import PANEL, Stage
from momentree.spatial import Transform, Vector
from momentree.structure.mechanism import Attached

if TYPE_CHECKING:
    from momentree.system import System

Array = NDArray[np.float64]
DRAGS = 6  # steps towards the pointer for each of its movements
DAMPING = 0.02  # of the size of the mechanism: how softly a body follows near singular positions
LONGEST_STEP = 0.3  # rad, or of the size
MOST_SLIDERS = 60


class ModelView:
    """A system on a page, at a state that the reader moves."""

    def __init__(self, server: Any, system: System, state: State | None = None):
        self.server, self.system = server, system
        self.mechanism = system._numeric
        self.state = system.start() if state is None else state
        scene = scene_of(system)
        positions, wxyz = self._poses()
        self.stage = Stage(server, scene, self.mechanism, positions, wxyz)
        self.sliders: list[tuple[JointSlider, Any]] = []
        self.moves = Newest(self._move)
        self.stage.draw_floor(positions, wxyz)
        self.stage.aim_camera(positions, wxyz)

    def add_controls(self) -> None:
        """Sliders, buttons and draggable bodies: what a page that is only looked at does not need."""
        gui = self.server.gui
        self.stage.aim_camera(*self._poses(), aside=PANEL)
        self.message = gui.add_text("message", "", multiline=True, disabled=True, visible=False)
        self.closed = gui.add_text("closure error", f"{self.state.closure_error:.1e}", disabled=True)
        start = self.state
        gui.add_button("back to the start").on_click(lambda _: self.moves.ask((None, lambda: start)))
        all_sliders = list(joint_sliders(self.mechanism, self.state, self.stage.size))
        with gui.add_folder("joints"):
            for slider in all_sliders[:MOST_SLIDERS]:
                handle = gui.add_slider(
                    slider.label, slider.low, slider.high, slider.step, slider.value(self.state), hint=None
                )
                handle.on_update(self._on_slider(slider, handle))
                self.sliders.append((slider, handle))
        if self.mechanism.ground is not None or any(body.laws for body in self.mechanism.bodies):
            end = max(self.system.t_end or 10.0, self.state.t + 1.0)
            self._add_time(gui.add_slider("time (s)", self.state.t, end, end / 1000, self.state.t))
        for number, mesh in self.stage.meshes:
            mesh.on_drag(self._on_drag(number))

    def _add_time(self, handle: Any) -> None:
        """Prescribed motions follow the time."""

        def moved(event: Any) -> None:
            if event.client is not None:
                t = float(handle.value)
                self.moves.ask((None, lambda: self.system.assemble(guess=self.state, t=t)))

        handle.on_update(moved)

    # --- what the reader does ---

    def _on_slider(self, slider: JointSlider, handle: Any) -> Callable[[Any], None]:
        def moved(event: Any) -> None:
            if event.client is not None:  # not by ourselves
                value = float(handle.value)
                self.moves.ask((slider, lambda: self._with(slider, value)))

        return moved

    def _on_drag(self, number: int) -> Callable[[Any], Any]:
        grabbed: dict[str, Any] = {}

        async def dragged(event: Any) -> None:
            if event.phase == "start":
                positions, wxyz = self._poses()
                inverse = wxyz[number] * [1, -1, -1, -1]
                held = self.stage.in_space(event.start_position)
                grabbed["point"] = rotated(inverse, held - positions[number])
            elif event.phase == "update" and "point" in grabbed:
                point, target = grabbed["point"], self.stage.in_space(event.end_position)
                self.moves.ask((None, lambda: self.dragged(number, point, target)))

        return dragged

    def _with(self, slider: JointSlider, value: float) -> State:
        return self.system.assemble(slider.given(self.state, value), guess=self.state, t=self.state.t)

    def _move(self, wish: tuple[JointSlider | None, Callable[[], State]]) -> None:
        """Take the state that is wanted, or say why not; sliders go where the mechanism is.

        The slider that the reader holds stands where he put it, unless it cannot.
        """
        held, wanted = wish
        try:
            state, message = wanted(), ""
        except MomentreeError as error:
            state, message = self.state, str(error)
        self.state = state
        with self.server.atomic():
            self.stage.show(*self._poses())
            self.message.value, self.message.visible = message[:500], bool(message)
            self.closed.value = f"{state.closure_error:.1e}"
            for slider, handle in self.sliders:
                if slider is not held or message:
                    handle.value = slider.value(state)

    # --- where things are ---

    def dragged(self, number: int, point: Array, target: Array) -> State:
        """The state at which a point of a body is as near to a target as the loops allow, from the present one.

        Damped least squares along the motions that keep the loops closed, which are assembled again after each step.
        """
        body, state, size = self.mechanism.bodies[number - 1], self.state, self.stage.size
        frame = Attached(number, Transform(offset=body.own.point(Vector(*(float(x) for x in point)))))
        best, nearest = state, np.inf
        for _ in range(DRAGS):
            at = Configuration(self.mechanism, state.q, None, state.t)
            X = at.bodies[number].X_0 @ frame.placement
            miss = target - np.array([*X.offset], dtype=float)
            if np.linalg.norm(miss) >= nearest * (1 - 1e-3):
                break
            best, nearest = state, float(np.linalg.norm(miss))
            columns = frame_jacobian(self.mechanism, at.bodies, frame)
            J = np.array([[*column.linear] for column in columns], dtype=float).reshape(-1, 3).T
            free = _kernel(at.jacobian())
            Jf = J @ free
            step = free @ Jf.T @ np.linalg.solve(Jf @ Jf.T + (DAMPING * size) ** 2 * np.eye(3), miss)
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-12))
            guess = State(self.mechanism, self._stepped(state.q, step), state.v, state.t)
            state = self.system.assemble(guess=guess, t=state.t)
        return best

    def _stepped(self, q: Array, step: Array) -> Array:
        """Coordinates after a step along the velocities of the tree, within the limits of the joints."""
        moved = q.copy()
        for body in self.mechanism.bodies:
            if body.laws is None:
                joint = body.joint.type
                new = np.array([*joint.integrate([*q[body.q]], [*step[body.v]])], dtype=float)
                if joint.limits is not None and len(new) == len(joint.limits):
                    low, high = np.array(joint.limits, dtype=float).T
                    new = np.clip(new, low, high)
                moved[body.q] = new
        return moved

    def _poses(self) -> tuple[Array, Array]:
        poses = poses_of(self.mechanism, self.state.q[None], np.array([self.state.t]))
        return poses.positions[0], quaternions(poses.rotations[0])


class Newest:
    """Does what was asked last, one at a time in a thread of its own; what was asked meanwhile is left out."""

    def __init__(self, do: Callable[[Any], None]):
        self._do, self._wish, self._some = do, None, threading.Condition()
        self._idle = True
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self, wish: Any) -> None:
        """Wish for something; a wish that is still waiting is forgotten."""
        with self._some:
            self._wish, self._idle = wish, False
            self._some.notify_all()

    def wait(self, seconds: float = 10.0) -> bool:
        """Wait until nothing is left to do."""
        with self._some:
            return self._some.wait_for(lambda: self._idle, seconds)

    def _work(self) -> None:
        while True:
            with self._some:
                self._some.wait_for(lambda: self._wish is not None)
                wish, self._wish = self._wish, None
            self._do(wish)
            with self._some:
                self._idle = self._wish is None
                self._some.notify_all()


def _kernel(J: Array) -> Array:
    """An orthonormal basis of the motions that J lets go, as columns."""
    if not len(J):
        return np.eye(J.shape[1])
    _, strengths, directions = np.linalg.svd(J)
    rank = int((strengths > 1e-9 * max(strengths.max(initial=0.0), 1e-300)).sum())
    return np.asarray(directions[rank:].T)
