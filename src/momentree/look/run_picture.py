"""The picture of a run: the coordinates of each joint, and the energy account with its balance on its own axis."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.look.graph_layout import GREY, INK
from momentree.look.graph_picture import LOOPS, short
from momentree.look.picture_files import check_picture, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from momentree.results.run import Run

MOST_JOINTS, MOST_WORK_TERMS = 8, 6  # that are drawn unless named
LONGEST = 60  # letters of a name in a title or a legend
FINEST = 2000  # columns into which a long run is drawn
COLOURS = LOOPS
PLAIN: Any = {"parse_math": False}  # names are names, whatever signs they are made of


def draw_run(run: Run, path: str | os.PathLike[str] | None = None, joints: Sequence[str] | None = None) -> Figure:
    """The run as a figure, saved if a path is given; the same run gives the same bytes.

    Without `joints` the first 8 that move are drawn, in the order of the model's tree, then those that close loops.
    """
    from momentree.look.shown_figure import ShownFigure as Figure

    if path is not None:
        check_picture(path)
    named = list(joints) if joints is not None else _moving(run)
    shown = named if joints is not None else named[:MOST_JOINTS]
    rows = max(len(shown), 2)
    figure = Figure(figsize=(11, 1.2 + 1.5 * rows), layout="constrained")
    halves: Any = figure.subfigures(1, 2)
    _draw_joints(run, halves[0], shown)
    _draw_energy(run, halves[1])
    more = f"; {len(shown)} of {len(named)} joints" if len(named) > len(shown) else ""
    figure.suptitle(f"{short(run.mechanism.name, LONGEST)}{more}", color=INK, fontsize=11, **PLAIN)
    if path is not None:
        save_picture(figure, path, dpi=150)
    return figure


def _moving(run: Run) -> list[str]:
    joints = run.mechanism.by_joint.items()
    return [name for name, element in joints if element.joint is not None and element.joint.type.coordinates]


def _draw_joints(run: Run, figure: Any, joints: Sequence[str]) -> None:
    if not joints:
        return
    for axes, name in zip(figure.subplots(len(joints), sharex=True, squeeze=False)[:, 0], joints, strict=True):
        values = run[name].reshape(len(run.t), -1)
        joint = run.mechanism.by_joint[name].joint
        kinds = list(joint.type.coordinates) if joint else []
        units = list(joint.type.units) if joint else []
        for i in range(values.shape[1]):
            label = f"{kinds[i]}, {units[i]}" if units[i] != "1" else kinds[i]
            line(axes, run.t, values[:, i], COLOURS[i % len(COLOURS)], label)
        title = f"{short(name)}, {units[0]}" if values.shape[1] == 1 else short(name)
        dress(axes, title, legend=values.shape[1] > 1)
    axes.set_xlabel("t, s")


def _draw_energy(run: Run, figure: Any) -> None:
    account, balance = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    energy = run.energy
    drawn = {"kinetic": energy.kinetic, "potential": energy.potential, "total": energy.total}
    largest = sorted(energy.work, key=lambda name: -float(np.abs(energy.work[name]).max(initial=0.0)))
    drawn.update({f"work of {name}": energy.work[name] for name in largest[:MOST_WORK_TERMS]})
    for i, (name, values) in enumerate(drawn.items()):
        line(account, run.t, values, INK if name == "total" else COLOURS[i % len(COLOURS)], short(name, LONGEST))
    dress(account, "energy, J", legend=True)
    line(balance, run.t, energy.balance, COLOURS[1], "")
    dress(balance, "balance, J")
    balance.set_xlabel("t, s")


def line(axes: Axes, t: NDArray[np.float64], values: NDArray[np.float64], colour: str, label: str) -> None:
    """A curve over time."""
    axes.plot(*thinned(t, values), color=colour, linewidth=1.1, label=label)


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
    """Of a long run, the lowest and the highest sample of each of 2000 columns: it looks the same."""
    if len(t) <= 4 * FINEST:
        return t, values
    kept = {0, len(t) - 1}
    for part in np.array_split(np.arange(len(t)), FINEST):
        kept |= {int(part[values[part].argmin()]), int(part[values[part].argmax()])}
    indices = np.array(sorted(kept))
    return t[indices], values[indices]
