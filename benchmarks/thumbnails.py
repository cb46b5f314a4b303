"""Thumbnails of the examples: the mechanism at a telling instant, with the path of a point where that tells more.

`draw(folder, path)` takes any folder with a model.toml or, without one, the path that its run.svg shows first. What an
example shows may be chosen in SHOTS, by its name; otherwise its motion at a third, or the model's start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from picture_checks import panels

import momentree as mt
from momentree.look.frames import Frames
from momentree.look.projection import view_of
from momentree.look.run_poses import poses_at
from momentree.look.scene import Poses, poses_of, scene_of

Array = NDArray[np.float64]
SIZE = (480, 320)  # pixels: twice what is shown
COLORS = 64
PATH = "#d55e00"
ROOM = 1.15  # of the extent of what is shown


class Shot(NamedTuple):
    """What an example shows.

    | field    | meaning                                                                    |
    |----------|----------------------------------------------------------------------------|
    | at       | the time (s), for a motion                                                 |
    | view     | as in `system.draw`                                                        |
    | state    | coordinates, where the model has no motion                                 |
    | velocity | with which a motion begins there                                           |
    | t_end    | s, of that motion                                                          |
    | guess    | of coordinates that the loops decide                                       |
    | trace    | a frame whose path is drawn: a body's name, and a point of it              |
    | curve    | points that are drawn instead, k x 3                                       |
    | over     | the path is drawn over the bodies                                          |
    | model    | the file                                                                   |
    """

    at: float | None = None
    view: Any = "space"
    state: Mapping[str, Any] = {}
    guess: Mapping[str, Any] = {}
    velocity: Mapping[str, Any] = {}
    t_end: float | None = None
    trace: tuple[str, tuple[float, float, float]] | None = None
    curve: Any = ()
    over: bool = False
    model: str = "model.toml"


_T = np.linspace(0, 2 * np.pi, 200)
# of the nose of the cart, and of the pen of the five-bar linkage: the curves that they follow
EIGHT = np.stack([2 * np.sin(_T), 2 * np.sin(_T) * np.cos(_T), 0.1 + 0 * _T], axis=1)
PEN = np.stack(
    [
        0.05 + 0.06 * np.cos(_T) + 0.025 * np.cos(2 * _T),
        0 * _T,
        0.38 + 0.06 * np.sin(_T) - 0.025 * np.sin(2 * _T),
    ],
    axis=1,
)
SHOTS = {
    "pendulum": Shot(state={"phi": -0.7}, view=(-70, 12)),
    "pendulum-on-a-slider": Shot(state={"o": 0.1, "theta5": 0.35, "theta6": -0.7}, view=(-55, 15)),
    "slider-with-a-rod": Shot(state={"phi": 0.6}, view=(-75, 15)),
    "double-pendulum": Shot(state={"A": np.pi / 2}, t_end=3.2, at=2.45, view="xz", trace=("lower", (0, 0, -1))),
    "heavy-top-and-flipping-body": Shot(
        state={}, velocity={"point": (0, 150, -4.61538)}, t_end=1.0, at=0.1, view=(-40, 20), trace=("top", (0, 1, 0))
    ),
    "solar-array": Shot(state={"h1": 0.9, "h2": -1.8, "h3": 1.8}, view=(35, 25)),
    "stage-separation": Shot(t_end=4.0, at=3.0, view=(-60, 12)),
    "manipulator": Shot(t_end=2.5, at=1.2, view=(-50, 20)),
    "four-bar": Shot(
        state={"A": -1.0}, velocity={"A": 5.0}, t_end=1.5, at=0.0, view="xz", trace=("coupler", (1, 0, 0))
    ),
    "slider-crank": Shot(state={"A": 0.9}, view=(-75, 50)),
    "bennett-linkage": Shot(state={"R1": 2.2}, view=(-30, 25)),
    "four-bars-in-a-row": Shot(state={"A0": 0.6, "A1": 0.6, "A2": 0.6}, view=(-70, 15)),
    "andrews-squeezer": Shot(
        state={"theta": 0},
        guess={"gamma": 0.46, "phi": 0.22, "delta": 0.49, "Omega": -0.22, "epsilon": 1.23},
        view="xy",
    ),
    "walking-mechanism": Shot(at=0.5, t_end=2.6, view="-yz"),
    "gear-train": Shot(at=0.0, t_end=0.1, view=(-60, 35)),
    "rack-and-flywheel": Shot(at=0.2, t_end=0.5, view=(-65, 15)),
    "rolling-disc": Shot(at=1.0, t_end=1.8, view=(-50, 25), trace=("disc", (0, 0, 0))),
    "ball-on-a-turntable": Shot(at=3.0, t_end=6.5, view=(-60, 40), trace=("ball", (0, 0, 0)), over=True),
    "chaplygin-sleigh": Shot(at=1.2, t_end=3.0, view=(-60, 35), trace=("hull", (0, 0, 0))),
    "bicycle": Shot(at=0.35, t_end=0.5, view=(-65, 15)),
    "synchronized-array": Shot(at=1.6, t_end=6.0, view=(35, 25)),
    "hinge-that-releases": Shot(at=1.1, view=(-70, 15)),
    "ten-thousand-four-bars": Shot(state={"A": 1.0}, view=(-70, 20)),
    "map-of-the-walker": Shot(at=0.5, t_end=1.3, view="-yz"),
    "tolerances-of-a-slider-crank": Shot(at=0.012, t_end=0.02, view=(-65, 40)),
    "cart-on-a-figure-eight": Shot(
        state={"cart": (0.95 - 0.4 * np.cos(0.53), 0.84 - 0.4 * np.sin(0.53), 0.53)}, view=(-75, 40), curve=EIGHT
    ),
    "coupler-on-a-curve": Shot(state={"A": 2.4246, "E": 0.8723}, guess={"B": -1.56, "D": 1.5}, view="xz", curve=PEN),
}


def draw(folder: Path, path: Path) -> None:
    """Write the thumbnail of an example."""
    from PIL import Image

    shot = SHOTS.get(folder.name.partition("_")[2].replace("_", "-"), Shot())
    if not (folder / shot.model).exists():
        pixels = of_script(folder)
    else:
        pixels = of_model(mt.load(folder / shot.model).build(), shot)
    picture = Image.fromarray(pixels).quantize(COLORS, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)


def of_model(system: mt.System, shot: Shot) -> NDArray[np.uint8]:
    """The mechanism at the chosen instant, in the middle of what is shown."""
    poses, path = instant(system, shot)
    mechanism = system._numeric
    frames = Frames(scene_of(system), mechanism, poses, view_of(shot.view, mechanism, poses), SIZE, captions=False)
    flat = np.concatenate([frames._flat(0), frames.view.flat(path)])
    low, high = flat.min(axis=0), flat.max(axis=0)
    frames.centers = ((low + high) / 2)[None]
    frames.extent = np.array(SIZE) * float(((high - low) * ROOM / SIZE).max())
    if len(path):
        frames.axes.plot(*frames.view.flat(path).T, color=PATH, linewidth=2, zorder=2.5 if shot.over else 1.5)
    return frames(0)


def instant(system: mt.System, shot: Shot) -> tuple[Poses, Array]:
    """Poses at one moment, and points of the path."""
    chosen = bool(shot.state or shot.guess or shot.velocity)
    begin = system.assemble(dict(shot.state), dict(shot.velocity), guess=dict(shot.guess)) if chosen else system.start()
    t_end = shot.t_end if shot.t_end is not None else None if chosen else system.t_end
    if t_end is None:
        return poses_of(system._numeric, begin.q[None], np.zeros(1)), np.array(shot.curve, dtype=float).reshape(-1, 3)
    run = system.simulate(begin, t_end=t_end, every=t_end / 300, progress=False)
    at = t_end / 3 if shot.at is None else shot.at
    path = np.zeros((0, 3))
    if shot.trace:
        body, point = shot.trace
        path = run.position(_frame(system, body, point))
    return poses_at(run, np.array([at])), path


def _frame(system: mt.System, body: str, point: tuple[float, float, float]) -> Any:
    return next(one for one in system._model.bodies if one.name == body).at(point)


def of_script(folder: Path) -> NDArray[np.uint8]:
    """The path of an example without a model: the curves of the first axes of its picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.06, 0.06, 0.88, 0.88), aspect="equal")
    axes.set_axis_off()
    shown = next(panel for panel in panels(folder / "run.svg") if panel.curves)
    for curve in shown.curves:
        stroke = re.search(r"stroke: (#\w+)", curve.style)
        if len(curve.points) > 30 and stroke:
            axes.plot(curve.points[:, 0], 1 - curve.points[:, 1], color=stroke[1], linewidth=2)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
