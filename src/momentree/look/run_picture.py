"""The picture of a run: what is named, or the coordinates of each joint and the energy account with its balance."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.errors import MomentreeError
from momentree.look.graph_layout import GREY, INK
from momentree.look.graph_picture import LOOPS, short
from momentree.look.picture_files import METADATA, check_picture, save_picture
from momentree.look.plot_panels import LONGEST, Panel, Portrait, energy_panels, panels_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from momentree.results.run import Run

MOST_JOINTS, MOST_PANELS = 8, 40  # joints that are drawn unless named, and panels of one picture
MOST_COLUMNS = 2  # of portraits
FINEST = 2000  # columns into which a long run is drawn
COLOURS = LOOPS
# Okabe and Ito's colors that are dark enough for lines; curves of one panel differ in their dashes too
CURVES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES: Any = (  # 11, which has no divisor in common with the 6 colors
    "-",
    (0, (6, 2)),
    (0, (1, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (3, 1.5)),
    (0, (6, 1, 1, 1, 1, 1)),
    (0, (10, 3)),
    (0, (2, 3)),
    (0, (10, 1.5, 3, 1.5)),
    (0, (5, 5)),
    (0, (1, 3)),
)
OTHER_PICTURES = (".gif", ".jpg", ".jpeg", ".eps", ".webp", ".tif", ".tiff", ".bmp")
PLAIN: Any = {"parse_math": False}  # names are names, whatever signs they are made of


def draw_run(
    run: Run,
    what: Sequence[Any] = (),
    path: str | os.PathLike[str] | None = None,
    joints: Sequence[str] | None = None,
) -> Figure:
    """The run as a figure, saved if a path is given; the same run gives the same bytes.

    One of `what` may be the path: a name that ends as those of pictures do. Where nothing is named, the coordinates of
    `joints` and the energy account are drawn; without `joints` the first 8 that move, in the order of the model's tree,
    then those that close loops.
    """
    from momentree.look.shown_figure import ShownFigure

    chosen, path = _without_path(run, what, path)
    if path is not None:
        check_picture(path)
    named = [run._checked_joint(name) for name in joints] if joints is not None else moving_joints(run)
    shown = named if joints is not None else named[:MOST_JOINTS]
    names = [*chosen, *(joints or ())] if chosen else shown
    panels = chosen_panels(run, names)
    over_time = [panel for panel in panels if isinstance(panel, Panel)]
    portraits = [panel for panel in panels if isinstance(panel, Portrait)]
    if not chosen:
        figure: Figure = ShownFigure(figsize=(11, 1.2 + 1.5 * max(len(shown), 2)), layout="constrained")
        halves: Any = figure.subfigures(1, 2)
        _draw_panels(run, halves[0], over_time)
        _draw_panels(run, halves[1], [*energy_panels(run)])
    else:
        figure = _chosen(run, over_time, portraits)
    more = f"; {len(shown)} of {len(named)} joints" if len(named) > len(shown) and not chosen else ""
    figure.suptitle(f"{short(run.mechanism.name, LONGEST)}{more}", color=INK, fontsize=11, **PLAIN)
    if path is not None:
        save_picture(figure, path, dpi=150)
    return figure


def chosen_panels(run: Run, names: Sequence[Any]) -> list[Panel | Portrait]:
    """All panels of what is named; an error if something is not there, or if these are too many for one picture."""
    panels = [panel for name in names for panel in panels_of(run, name)]
    if len(panels) > MOST_PANELS:
        raise MomentreeError(f"plot: {len(panels)} panels do not fit in one picture. Name fewer things.")
    return panels


def _without_path(run: Run, what: Sequence[Any], path: Any) -> tuple[list[Any], Any]:
    """What is to be drawn, and the path, which may stand among it."""
    chosen = []
    for one in what:
        is_path = isinstance(one, os.PathLike) or (isinstance(one, str) and _ends_as_a_file(run, one))
        if not is_path:
            chosen.append(one)
        elif path is not None:
            raise MomentreeError(f"plot: two files are named, {path} and {one}. Name one.")
        else:
            path = one
    return chosen, path


def _ends_as_a_file(run: Run, name: str) -> bool:
    """Whether a name is that of a file: it ends in .svg, .png or .pdf, or as other pictures do, and no joint has it."""
    suffix = Path(name).suffix.lower()
    return (suffix in METADATA or suffix in OTHER_PICTURES) and name not in run._whole.by_joint


def moving_joints(run: Run) -> list[str]:
    """Joints that have coordinates, in the order of the tree, then those that close loops."""
    joints = run.mechanism.by_joint.items()
    return [name for name, element in joints if element.joint is not None and element.joint.type.coordinates]


def _chosen(run: Run, over_time: Sequence[Panel], portraits: Sequence[Portrait]) -> Figure:
    """Curves over time below each other, portraits at their right."""
    from momentree.look.shown_figure import ShownFigure

    columns = min(MOST_COLUMNS, len(portraits)) if not over_time else int(bool(portraits))
    rows = -(-len(portraits) // columns) if columns else 0
    height = max(0.8 + 1.7 * sum(panel.height for panel in over_time), 0.6 + 3.6 * rows, 2.6)
    widths = [7.0] * bool(over_time) + [4.2 * columns] * bool(columns)
    figure = ShownFigure(figsize=(sum(widths), height), layout="constrained")
    parts: list[Any] = [*figure.subfigures(1, len(widths), squeeze=False, width_ratios=widths)[0]]
    if over_time:
        _draw_panels(run, parts[0], over_time)
    if portraits:
        grid = parts[-1].subplots(rows, columns, squeeze=False)
        for i, axes in enumerate(grid.flat):
            if i < len(portraits):
                _draw_portrait(axes, portraits[i])
            else:
                axes.set_visible(False)
    return figure


def _draw_panels(run: Run, figure: Any, panels: Sequence[Panel]) -> None:
    if not panels:
        return
    heights = [panel.height for panel in panels]
    rows = figure.subplots(len(panels), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        for i, (name, values) in enumerate(panel.curves.items()):
            color = INK if name == "total" else CURVES[i % len(CURVES)]
            line(axes, run.t, values, color, short(name, LONGEST), DASHES[i % len(DASHES)])
        if panel.log:
            axes.set_yscale("log", nonpositive="mask")
        dress(axes, panel.label, legend=len(panel.curves) > 1)
    rows[-1].set_xlabel("t, s")
    figure.align_ylabels(rows)


def _draw_portrait(axes: Axes, portrait: Portrait) -> None:
    """The curve, where it starts (open) and where it ends (filled)."""
    x, y = portrait.x, portrait.y
    axes.plot(x, y, color=CURVES[0], linewidth=1.1)
    axes.plot(x[:1], y[:1], "o", color=CURVES[0], markerfacecolor="white", markersize=6, label="start")
    axes.plot(x[-1:], y[-1:], "s", color=CURVES[1], markersize=5, label="end")
    dress(axes, portrait.labels[1], legend=True)
    axes.set_xlabel(portrait.labels[0], color=INK, **PLAIN)
    axes.set_title(portrait.title, loc="right", fontsize=9, color=INK, **PLAIN)
    if portrait.equal:
        axes.set_aspect("equal", adjustable="datalim")


def line(
    axes: Axes, t: NDArray[np.float64], values: NDArray[np.float64], colour: str, label: str, dashes: Any = "-"
) -> None:
    """A curve over time."""
    axes.plot(*thinned(t, values), color=colour, linewidth=1.3, linestyle=dashes, label=label)


def dress(axes: Axes, name: str, legend: bool = False) -> None:
    """The name of what is drawn, a grid, and a legend above."""
    axes.set_ylabel(name, color=INK, **PLAIN)
    axes.grid(color=GREY, alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        # as many columns as the longest name leaves room for
        longest = max((len(text) for text in axes.get_legend_handles_labels()[1]), default=1)
        columns = max(1, min(4, 90 // (longest + 6)))
        how: Any = {"fontsize": 7, "frameon": False, "loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0}
        for text in axes.legend(ncols=columns, **how).get_texts():
            text.set(**PLAIN)


def thinned(t: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of a long run, the lowest and the highest sample of each of 2000 columns, and its gaps: it looks the same."""
    if len(t) <= 4 * FINEST:
        return t, values
    kept = {0, len(t) - 1}
    for part in np.array_split(np.arange(len(t)), FINEST):
        there = np.isfinite(values[part])
        drawn, gaps = part[there], part[~there]
        kept |= {int(gap) for gap in gaps[[0, -1]]} if len(gaps) else set()
        kept |= {int(drawn[of(values[drawn])]) for of in (np.argmin, np.argmax)} if len(drawn) else set()
    indices = np.array(sorted(kept))
    return t[indices], values[indices]
