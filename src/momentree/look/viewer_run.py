"""The page of a run: play, pause, scrub, speed, loop, follow a body, traces, arrows, and the ghost of another run."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError, suggestion
from momentree.look.arrows import KINDS, LONG, Arrows, center_of_mass
from momentree.look.motion_frames import MotionFrames, motion_frames
from momentree.look.scene import PALETTE, scene_of
from momentree.look.stage import PANEL, Stage, distinct, node_names, place, shown
from momentree.model.model import as_frame
from momentree.structure.mechanism import Attached

if TYPE_CHECKING:
    from momentree.results.run import Run

Array = NDArray[np.float64]
SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0, "10": 10.0}
NOBODY = "nothing"
TICK = 1 / 30  # s between pictures while it plays
POINTS_OF_A_TRACE = 2000
MOST_TRACES = 30
AIMED = 12  # frames that the camera takes in
FAR = 3.0  # times the size of the mechanism: a body that travels farther is followed unless the reader says otherwise


class RunView:
    """A run on a page, shown at one of its frames."""

    def __init__(self, server: Any, run: Run, frames: MotionFrames, ghost: Run | None = None):
        self.server, self.run, self.frames = server, run, frames
        first = frames.positions[0], frames.quaternions[0]
        self.stage = Stage(server, scene_of(run.system), run.mechanism, *first)
        self.index = 0
        self.followed = 0
        self.scale = 1.0
        self.arrows: dict[str, tuple[Arrows, float, Any]] = {}
        self.other: MotionFrames | None = None
        self.stage.draw_floor(frames.positions, frames.quaternions)
        self.aim_camera()
        if ghost is not None:
            self._add_ghost(ghost)
        self.show(0)

    def _add_ghost(self, ghost: Run) -> None:
        mechanism = getattr(ghost, "mechanism", None)
        if mechanism is None:
            message = f"look: the ghost is a {type(ghost).__name__}. Give a run; momentree.load_run reads one."
            raise MomentreeError(message)
        theirs = ["ground", *(body.name for body in mechanism.bodies)]
        if theirs != [*self.stage.scene.bodies]:
            raise MomentreeError("look: the ghost is a run of another system. Choose one with the same bodies.")
        self.other = motion_frames(ghost, t=self.frames.t)
        self.stage.draw_ghost()

    def aim_camera(self, aside: float = 0.0) -> None:
        """Look at all that the bodies pass through; at the first frame where one of them leaves the view."""
        frames, count = self.frames, len(self.frames.positions)
        seen = [0] if self.traveller() is not None else np.unique(np.linspace(0, count - 1, AIMED).astype(int)).tolist()
        self.stage.aim_camera(*((frames.positions[k], frames.quaternions[k]) for k in seen), aside=aside)

    def show(self, index: int) -> None:
        """Move everything to a frame."""
        frames, self.index = self.frames, index
        self.stage.show(frames.positions[index], frames.quaternions[index])
        if self.other is not None:
            self.stage.show(self.other.positions[index], self.other.quaternions[index], ghost=True)
        for arrows, unit, handle in self.arrows.values():
            if handle.visible:
                handle.points = self.stage.on_page(arrows.segments(index, unit * self.scale)).astype(np.float32)
        if self.followed:
            body = frames.positions[:, self.followed]
            place(self.stage.root, (body[0] - body[index]) / self.stage.unit)

    # --- what may be shown ---

    def traveller(self) -> str | None:
        """The heaviest body, if it leaves the view."""
        bodies = [body for body in self.run.mechanism.bodies if not body.image_of]
        if not bodies:
            return None
        body = max(bodies, key=lambda body: float(body.inertia.mass))
        path = self.frames.positions[:, body.number]
        return body.name if np.ptp(path, axis=0).max() > FAR * self.stage.size else None

    def follow(self, body: str | None) -> None:
        """Let the floor move below a body instead of the body over the floor; None: no longer."""
        if body is None:
            self.followed = 0
            place(self.stage.root, np.zeros(3))
            return
        self.followed = self.number_of(body)
        self.show(self.index)

    def number_of(self, body: str) -> int:
        """The number of a body."""
        names = self.stage.scene.bodies
        if body not in names[1:]:
            raise MomentreeError(f"look: there is no body '{body}' to follow.{suggestion(body, names[1:])}")
        return names.index(body, 1)

    def add_traces(self, wanted: Sequence[Any] | None = None) -> list[Any]:
        """The paths of frames, of all centers of mass unless some are given."""
        traces: list[tuple[str, Attached]] = []
        mechanism = self.run.mechanism
        if wanted is None:
            for body in mechanism.bodies:
                com = center_of_mass(body)
                if com is not None:
                    traces.append((f"center of mass of {body.name}", com))
        else:
            for frame in wanted:
                attached = mechanism.attach(as_frame(frame))
                if attached.body:
                    own = mechanism.bodies[attached.body - 1].own.inverse()
                    attached = Attached(attached.body, own @ attached.placement)
                traces.append((self.stage.scene.bodies[attached.body], attached))
        every = max(1, len(self.frames.t) // POINTS_OF_A_TRACE)
        names = node_names(name for name, _ in traces)
        return [
            self._trace(name, frame.body, self.stage.on_page(self.frames.points(frame)[::every]))
            for name, (_, frame) in list(zip(names, traces, strict=True))[:MOST_TRACES]
        ]

    def _trace(self, name: str, body: int, points: Array) -> Any:
        path = points if len(points) > 1 else np.repeat(points, 2, axis=0)
        return self.server.scene.add_line_segments(
            f"/scene/traces/{name}",
            np.stack([path[:-1], path[1:]], axis=1),
            PALETTE[(body - 1) % len(PALETTE)],
            thickness=2.0,
            thickness_units="screen",
        )

    def add_arrows(self, kind: str) -> float:
        """Arrows of a kind; returns how much a long one means, in its unit."""
        if kind not in KINDS:
            raise MomentreeError(f"look: there are no arrows '{kind}'.{suggestion(kind, KINDS)}")
        if kind in self.arrows:
            self.arrows[kind][2].visible = True
            self.show(self.index)
            return self.arrows[kind][0].long()
        color, find = KINDS[kind]
        arrows = find(self.run, self.frames)
        longest = arrows.long()
        unit = LONG * self.stage.size / longest if longest > 0 else 0.0
        handle = self.server.scene.add_arrows(
            f"/scene/arrows/{kind}",
            self.stage.on_page(arrows.segments(self.index, unit * self.scale)),
            color,
            shaft_radius=0.008 * self.stage.length,
            head_radius=0.02 * self.stage.length,
            head_length=0.05 * self.stage.length,
        )
        self.arrows[kind] = (arrows, unit, handle)
        return longest


class Player:
    """The controls of a run, and the clock that plays it."""

    def __init__(self, view: RunView, traces: Sequence[Any] | bool | None = None, arrows: Sequence[str] = ()):
        self.view, self.playing, self.ended = view, False, threading.Event()
        self.lock = threading.RLock()
        gui, t = view.server.gui, view.frames.t
        view.aim_camera(aside=PANEL)
        self.clock = float(t[0])
        self.play = gui.add_button("play")
        self.play.on_click(lambda _: self.pause() if self.playing else self.start())
        step = float(10.0 ** np.floor(np.log10(max(float(t[-1] - t[0]), 1e-9) / 5000)))
        self.time = gui.add_slider("time (s)", float(t[0]), float(max(t[-1], t[0] + step)), step, float(t[0]))
        self.time.on_update(self._scrubbed)
        self.speed = gui.add_dropdown("speed", [*SPEEDS], initial_value="1")
        self.again = gui.add_checkbox("loop", True)
        self._add_views(gui, traces)
        self._add_arrows(gui, arrows)
        self.message = gui.add_text("message", "", multiline=True, disabled=True, visible=False)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _add_views(self, gui: Any, traces: Sequence[Any] | bool | None) -> None:
        view = self.view
        names = [body.name for body in view.run.mechanism.bodies if not body.image_of]
        labels = dict(zip(distinct([shown(name) for name in names]), names, strict=True))
        now = next((label for label, name in labels.items() if view.followed == view.number_of(name)), NOBODY)
        follow = gui.add_dropdown("follow", distinct([NOBODY, *labels]), initial_value=now)
        follow.on_update(lambda _: self._do(lambda: view.follow(labels.get(follow.value))))
        paths: list[Any] = view.add_traces(None if isinstance(traces, bool) or not traces else traces)
        shown_now = bool(traces)
        _set_visible(paths, shown_now)
        box = gui.add_checkbox("traces", shown_now)
        box.on_update(lambda _: _set_visible(paths, box.value))
        if view.stage.ghost is not None:
            ghosts = [*view.stage.ghost.bodies.values(), *view.stage.ghost.springs]
            other = gui.add_checkbox("ghost", True)
            other.on_update(lambda _: _set_visible(ghosts, other.value))

    def _add_arrows(self, gui: Any, arrows: Sequence[str]) -> None:
        with gui.add_folder("arrows"):
            for kind in KINDS:
                box = gui.add_checkbox(kind, kind in arrows)
                box.on_update(lambda _, kind=kind, box=box: self._do(lambda: self._show_arrows(kind, box.value)))
            size = gui.add_slider("scale", 0.1, 10.0, 0.1, 1.0)
            size.on_update(lambda _: self._do(lambda: self._scale(float(size.value))))
        for kind in arrows:
            self.view.add_arrows(kind)

    def _show_arrows(self, kind: str, wanted: bool) -> None:
        if wanted:
            self.view.add_arrows(kind)
        elif kind in self.view.arrows:
            self.view.arrows[kind][2].visible = False

    def _scale(self, scale: float) -> None:
        self.view.scale = scale
        self.view.show(self.view.index)

    def _do(self, action: Any) -> None:
        """Do what the reader asks, or say why not."""
        text = ""
        with self.lock, self.view.server.atomic():
            try:
                action()
            except MomentreeError as error:
                text = str(error)
            self.message.value, self.message.visible = text[:500], bool(text)

    # --- the clock ---

    def start(self) -> None:
        """Play, from the beginning if it stands at the end."""
        with self.lock:
            if self.clock >= float(self.view.frames.t[-1]) - 1e-12:
                self.clock = float(self.view.frames.t[0])
            self.playing, self.play.label = True, "pause"

    def pause(self) -> None:
        """Stand still."""
        with self.lock:
            self.playing, self.play.label = False, "play"

    def seek(self, t: float) -> None:
        """Show the frame nearest to a time."""
        with self.lock, self.view.server.atomic():
            self.clock = t
            times = self.view.frames.t
            after = int(np.clip(np.searchsorted(times, t), 1, max(len(times) - 1, 1)))
            near = after if len(times) > 1 and times[after] - t <= t - times[after - 1] else after - 1
            self.view.show(near)

    def _scrubbed(self, event: Any) -> None:
        if event.client is not None:  # not by ourselves
            self.pause()
            self.seek(float(self.time.value))

    def _run(self) -> None:
        before = time.monotonic()
        while not self.ended.wait(TICK):
            now = time.monotonic()
            elapsed, before = now - before, now
            if self.playing:
                self._advance(elapsed)

    def _advance(self, elapsed: float) -> None:
        times = self.view.frames.t
        begin, end = float(times[0]), float(times[-1])
        with self.lock:
            t = self.clock + elapsed * SPEEDS[self.speed.value]
            if t >= end and self.again.value and end > begin:
                t = begin + (t - begin) % (end - begin)
            elif t >= end:
                t = end
                self.pause()
            self.seek(t)
            self.time.value = min(max(t, self.time.min), self.time.max)

    def stop(self) -> None:
        """End the clock; nothing is sent to the page any more."""
        self.ended.set()
        self._thread.join(timeout=5.0)


def _set_visible(handles: Sequence[Any], visible: bool) -> None:
    for handle in handles:
        handle.visible = visible
