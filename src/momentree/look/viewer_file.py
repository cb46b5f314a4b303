"""A page in one file: the scene and its motion, played by double-click, with no server and no request to anywhere.

Poses are rounded to 6e-8 of the size of the mechanism, and of a turn: numbers with few digits compress well.
"""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.files.atomic_write import destination, printable, write_file
from momentree.look.motion_frames import RATE
from momentree.look.stage import shown
from momentree.look.viewer_run import RunView

Array = NDArray[np.float64]
MOST_POSES = 150_000  # bodies times frames in a file, unless a rate is given: some 5 MB


def check_page(path: str | os.PathLike[str]) -> None:
    """Refuse what no page can be written to, before anything is computed."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise MomentreeError(f"{printable(path)}: not a page. End the name in .html.")
    destination(path)


def suitable_rate(duration: float, bodies: int) -> float:
    """Frames for each second of a run that keep its file small."""
    return RATE if duration <= 0 else min(RATE, max(MOST_POSES / max(bodies, 1) / duration, 1.0))


def write_scene(server: Any, path: str | os.PathLike[str], name: str) -> None:
    """Write a scene that stands still."""
    server.flush()
    write_file(path, page_of(server.get_scene_serializer(), name))


def write_motion(view: RunView, path: str | os.PathLike[str]) -> None:
    """Write a run that plays."""
    frames = view.frames
    for each in (frames, view.other):
        if each is not None:
            each.positions = rounded(each.positions - view.stage.base, view.stage.size) + view.stage.base
            each.quaternions = rounded(each.quaternions, 1.0)
    view.show(0)
    serializer = view.server.get_scene_serializer()
    for i in range(1, len(frames.t)):
        serializer.insert_sleep(float(frames.t[i] - frames.t[i - 1]))
        view.show(i)
    serializer.insert_sleep(float(np.median(np.diff(frames.t))) if len(frames.t) > 1 else 0.0)
    write_file(path, page_of(serializer, view.run.system.name))


def page_of(serializer: Any, name: str) -> str:
    """The page of a recorded scene, under the name of the model."""
    page = str(serializer.as_html())
    return page.replace("<title>Viser</title>", f"<title>{html.escape(shown(name))}</title>", 1)


def rounded(numbers: Array, size: float) -> Array:
    """To multiples of a power of two below 1.2e-7 of a size."""
    step = 2.0 ** np.floor(np.log2(1.2e-7 * size))
    return np.asarray(np.round(numbers / step) * step)
