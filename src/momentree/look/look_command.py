"""`momentree look`: the page of a model file or of a run's file, in a browser or as a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from momentree.errors import MomentreeError
from momentree.look.viewer import look_at_run, look_at_system
from momentree.look.viewer_file import check_page
from momentree.results.run import load_run

if TYPE_CHECKING:
    from momentree.system import System

RUNS = (".nc", ".h5", ".hdf5")


def look_command(
    file: Path,
    ghost: Path | None,
    save: Path | None,
    port: int | None,
    browser: bool,
    build: Callable[[Path], System],
) -> None:
    """Open or save the page of a file; Ctrl-C ends it."""
    if save is not None:
        check_page(save)
    is_run = file.suffix.lower() in RUNS
    if ghost is not None and not is_run:
        raise MomentreeError(f"{file}: is a model, which has no ghost. Give the file of a run (.nc), or omit --ghost.")
    try:
        if is_run:
            other = None if ghost is None else load_run(ghost)
            viewer = look_at_run(load_run(file), save, ghost=other, port=port, browser=browser, wait=False)
        else:
            viewer = look_at_system(build(file), save, port=port, browser=browser, wait=False)
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
