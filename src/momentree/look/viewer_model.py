"""The page of a model: sliders of joints and bodies that can be dragged; the loops are assembled again and follow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.state import State
from momentree.errors import MomentreeError
from momentree.look.body_moves import Gizmo, Wish, nearest_state
from momentree.look.joint_sliders import JointSlider, joint_sliders
from momentree.look.motion_frames import quaternions, rotated
from momentree.look.scene import poses_of, scene_of
from momentree.look.stage import PANEL, Stage

if TYPE_CHECKING:
    from momentree.system import System

Array = NDArray[np.float64]
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
        self.stage.aim_camera((positions, wxyz))

    def add_controls(self) -> None:
        """Sliders, buttons and draggable bodies: what a page that is only looked at does not need."""
        gui = self.server.gui
        self.stage.aim_camera(self._poses(), aside=PANEL)
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
        if self.mechanism.has_prescribed_motion:
            end = max(self.system.t_end or 10.0, self.state.t + 1.0)
            self._add_time(gui.add_slider("time (s)", self.state.t, end, end / 1000, self.state.t))
        self.gizmo = Gizmo(self.stage, lambda wish: self.moves.ask((None, lambda: self.dragged(*wish))))
        for number, mesh in self.stage.meshes:
            mesh.on_drag(self._on_drag(number))
            mesh.on_click(self._on_click(number))

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

    def _on_click(self, number: int) -> Callable[[Any], None]:
        def clicked(_: Any) -> None:
            self.gizmo.select(None if self.gizmo.body == number else number)
            self.gizmo.follow(*self._poses())

        return clicked

    def _with(self, slider: JointSlider, value: float) -> State:
        return slider.moved(self.system, self.state, value)

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
            self.gizmo.follow(*self._poses())
            for slider, handle in self.sliders:
                if slider is not held or message:
                    handle.value = slider.value(state)

    # --- where things are ---

    def dragged(self, number: int, point: Array, target: Array, wxyz: Array | None = None) -> State:
        """The state nearest to the present one that brings a point of a body to a target (body_moves.py)."""
        return nearest_state(self.system, self.state, Wish(number, point, target, wxyz), self.stage.size)

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
