"""The viewer: `system.look()`, `run.look()` and their files. One page in a browser, served to this machine only."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import webbrowser
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from momentree.assembly.given_values import given_values
from momentree.assembly.state import State
from momentree.errors import MomentreeError
from momentree.files.atomic_write import write_file
from momentree.look.motion_frames import motion_frames
from momentree.look.stage import HOST, close_server, open_server
from momentree.look.viewer_file import check_page, motion_page, suitable_rate, write_scene
from momentree.look.viewer_model import ModelView
from momentree.look.viewer_run import Player, RunView

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.system import System

Where = str | os.PathLike[str]


class Viewer:
    """An open page.

    | field  | meaning                                      |
    |--------|----------------------------------------------|
    | url    | where a browser finds it                     |
    | view   | what is shown: a `ModelView` or a `RunView`  |
    | player | the controls of a run; None for a system     |
    """

    def __init__(self, server: Any, view: ModelView | RunView, player: Player | None = None):
        self._server, self.view, self.player = server, view, player
        self.url = f"http://{HOST}:{server.get_port()}"

    def wait(self) -> None:
        """Wait until the program is interrupted (Ctrl-C), then close the page."""
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the server; the page in the browser no longer follows."""
        if self.player is not None:
            self.player.stop()
        close_server(self._server)

    def __repr__(self) -> str:
        return f"Viewer('{self.url}')"


def look_at_system(
    system: System,
    save: Where | None = None,
    *,
    state: State | None = None,
    port: int | None = None,
    browser: bool = True,
    wait: bool | None = None,
) -> Viewer | None:
    """The page of a system, at its start unless another state is given; or a file of it, if `save` names one."""
    if save is not None:
        check_page(save)
    start = system.start() if state is None else state
    if not isinstance(start, State):
        raise MomentreeError("look: the state belongs to another system. Create it with assemble(...) of this one.")
    at = system.at(given_values(system, start, what="look"))
    with _server(port, system.name, lasting=save is None) as server:
        view = ModelView(server, at, start)
        if save is not None:
            write_scene(server, save, system.name)
            return None
        view.add_controls()
    return _opened(Viewer(server, view), browser, wait)


def look_at_run(
    run: Run,
    save: Where | None = None,
    *,
    ghost: Run | None = None,
    traces: Any = None,
    arrows: Sequence[str] | str = (),
    follow: str | None = None,
    rate: float | None = None,
    port: int | None = None,
    browser: bool = True,
    wait: bool | None = None,
) -> Viewer | None:
    """The page of a run; or a file that plays it, if `save` names one.

    | argument | meaning                                                                                          |
    |----------|--------------------------------------------------------------------------------------------------|
    | ghost    | another run of the same bodies, drawn pale                                                       |
    | traces   | frames whose paths are drawn; True for all centers of mass                                       |
    | arrows   | "velocities", "forces", "reactions", or several of them                                          |
    | follow   | a body by name, which stays in the middle; "" for none. One that leaves the view unless given     |
    | rate     | frames for each second of the run's time, 30 unless given                                        |
    | wait     | until Ctrl-C; so in a program, whose page would end with it, but not in a notebook or at a prompt |
    """
    kinds, traces = _several(arrows), traces if isinstance(traces, bool) else _several(traces)
    if save is not None:
        check_page(save)
        write_file(save, run_page(run, ghost=ghost, traces=traces, arrows=kinds, follow=follow, rate=rate, port=port))
        return None
    frames = motion_frames(run, rate)
    with _server(port, run.system.name, lasting=True) as server:
        view = RunView(server, run, frames, ghost)
        view.follow(view.traveller() if follow is None else follow or None)
        viewer = Viewer(server, view, Player(view, traces, kinds))
    return _opened(viewer, browser, wait)


def run_page(
    run: Run,
    *,
    ghost: Run | None = None,
    traces: Sequence[Any] | bool | None = None,
    arrows: Sequence[str] = (),
    follow: str | None = None,
    rate: float | None = None,
    port: int | None = None,
    speed: float = 1.0,
) -> str:
    """The text of a page that plays a run by itself, `speed` s of it each second; other arguments as above."""
    if rate is None and len(run.t):
        rate = suitable_rate(float(run.t[-1] - run.t[0]), len(run.mechanism.bodies))
    frames = motion_frames(run, rate)
    with _server(port, run.system.name, lasting=False) as server:
        view = RunView(server, run, frames, ghost)
        view.follow(view.traveller() if follow is None else follow or None)
        if traces:
            view.add_traces(None if isinstance(traces, bool) else traces)
        for kind in arrows:
            view.add_arrows(kind)
        return motion_page(view, speed)


def _several(things: Any) -> tuple[Any, ...]:
    """One thing or several as a tuple; None is none."""
    listed = isinstance(things, Sequence) and not isinstance(things, str)
    return tuple(things) if listed else () if things is None else (things,)


@contextlib.contextmanager
def _server(port: int | None, name: str, lasting: bool) -> Iterator[Any]:
    """A server that ends with the block unless it is lasting, and in any case if the block fails."""
    server = open_server(port, name)
    try:
        yield server
    except BaseException:
        lasting = False
        raise
    finally:
        if not lasting:
            close_server(server)


def _opened(viewer: Viewer, browser: bool, wait: bool | None) -> Viewer:
    """Open a browser, say where the page is, and wait where the page would end with the program."""
    if browser:
        webbrowser.open(viewer.url)
    if wait is None:
        wait = not _interactive()
        if wait:
            print(f"{viewer.url} shows it; Ctrl-C ends it", file=sys.stderr)
    if wait:
        viewer.wait()
    return viewer


def _interactive() -> bool:
    """Whether someone sits at a prompt or a notebook, so that the program goes on after the call."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "IPython" in sys.modules
