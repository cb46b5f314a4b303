"""`momentree look`: the page of a model file or of a run's file, in a browser or as a file."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from momentree.errors import MomentreeError, suggestion
from momentree.look.viewer import Viewer, look_at_run, look_at_system
from momentree.look.viewer_file import check_page
from momentree.model.frames import Frame
from momentree.results.run import Run, load_run

if TYPE_CHECKING:
    from momentree.system import System

RUNS = (".nc", ".h5", ".hdf5")
ALL = "all"  # traces of all centers of mass


def look_command(
    file: Path,
    save: Path | None,
    build: Callable[[Path], System],
    port: int | None,
    browser: bool,
    **of_runs: Any,
) -> None:
    """Open or save the page of a file; Ctrl-C ends it. `of_runs` are ghost, follow, trace and arrows."""
    if save is not None:
        check_page(save)
    is_run = file.suffix.lower() in RUNS
    for name, value in of_runs.items():
        if value is not None and not is_run:
            message = f"{file}: is a model, which has no {name}. Give the file of a run (.nc), or omit --{name}."
            raise MomentreeError(message)
    how: dict[str, Any] = {"port": port, "browser": browser, "wait": False}
    try:
        if is_run:
            viewer = _look_at_run(load_run(file), save, how, **of_runs)
        else:
            viewer = look_at_system(build(file), save, **how)
        if viewer is None:
            print(f"page written to {save}", file=sys.stderr)
            return
    except KeyboardInterrupt:
        return
    try:
        print(f"{viewer.url} shows {file}; Ctrl-C ends it", file=sys.stderr, flush=True)
        viewer.wait()
    except KeyboardInterrupt:  # before it waits
        viewer.close()


def _look_at_run(
    run: Run,
    save: Path | None,
    how: dict[str, Any],
    ghost: Path | None,
    follow: str | None,
    trace: list[str] | None,
    arrows: list[str] | None,
) -> Viewer | None:
    other = None if ghost is None else load_run(ghost)
    traces: list[Frame] | bool = ALL in trace if trace else False
    if trace and not traces:
        traces = [traced(text, [body.name for body in run.mechanism.bodies]) for text in trace]
    return look_at_run(run, save, ghost=other, follow=follow, traces=traces, arrows=arrows or (), **how)


def traced(text: str, bodies: Sequence[str]) -> Frame:
    """The frame that "hull" or "hull@0,0,1" means: the origin of a body, or a point of it."""
    name, at, point = text.rpartition("@")
    if text in bodies or not at:
        name, point = text, "0,0,0"
    try:
        x, y, z = (float(number) for number in point.split(","))
        fits = all(math.isfinite(number) for number in (x, y, z))
    except ValueError:
        fits = False
    if not fits:
        raise MomentreeError(f"look: '{text}' is no trace. Write a body, or a point of it (m): {name}@0,0,1.")
    if name not in bodies:
        raise MomentreeError(f"look: there is no body '{name}' to trace.{suggestion(name, bodies)}")
    return Frame(name, (x, y, z))
