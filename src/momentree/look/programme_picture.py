"""The picture of a motion by a programme: its path, coordinates, deviation with a bound, and constraint errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.errors import MomentreeError
from momentree.look.graph_layout import INK
from momentree.look.graph_picture import short
from momentree.look.picture_files import check_picture, save_picture
from momentree.look.plot_panels import LONGEST
from momentree.look.run_picture import COLOURS, FINEST, PLAIN, dress, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from momentree.results.programme_run import ProgrammeRun

MOST_LINES = 8  # of coordinates, and of constraints, that are drawn
ANGLES = ("phi", "psi", "theta", "alpha", "beta", "gamma", "delta", "omega", "angle")  # how names of angles begin
SLENDER = 12  # how many times longer than high a path with equal scales may be
ROOM = 1000.0  # how far below the values of |u| their axis goes, where a bound goes further


def draw_programme_run(
    run: ProgrammeRun, path: str | os.PathLike[str] | None = None, rate: float | None = None
) -> Figure:
    """The run as a figure, saved if a path is given; the same run gives the same bytes.

    With a decay `rate` (1/s), the bound |u_0| exp(-rate (t - t_0)) is drawn beside |u|.
    """
    from momentree.look.shown_figure import ShownFigure as Figure

    if path is not None:
        check_picture(path)
    if rate is not None and not (np.isreal(rate) and np.isfinite(rate)):
        raise MomentreeError(f"plot: the decay rate is {rate}. Give a number (1/s), such as certificate.rate.")
    figure = Figure(figsize=(11, 7), layout="constrained")
    halves: Any = figure.subfigures(1, 2)
    _draw_motion(run, halves[0])
    deviation, *errors = np.atleast_1d(halves[1].subplots(2 if run.constraints else 1, sharex=True))
    _draw_deviation(run, deviation, rate)
    for axes in errors:
        _draw_errors(run, axes)
    (errors or [deviation])[0].set_xlabel("t, s")
    ended = "" if run.arrived else f": {run.stopped}"
    figure.suptitle(f"{short(run.name, LONGEST)}{ended}", color=INK, fontsize=11, **PLAIN)
    if path is not None:
        save_picture(figure, path, dpi=150)
    return figure


def _draw_motion(run: ProgrammeRun, figure: Any) -> None:
    """The path, and coordinates over time: angles, which grow with each turn, apart from the others."""
    columns = dict(zip(run.coordinates, run.q.T, strict=True))
    angles = {name: column for name, column in columns.items() if _is_angle(name)}
    others = {name: column for name, column in columns.items() if name not in angles}
    groups = [group for group in (others, angles) if group]
    if len(columns) > 1:
        above, figure = figure.subfigures(2, height_ratios=(3, 1 + len(groups)))
        _draw_path(run, above.subplots())
    for axes, group in zip(np.atleast_1d(figure.subplots(len(groups), sharex=True)), groups, strict=True):
        _draw_lines(run, axes, group)
        name = "angles" if group is angles else "coordinates"
        dress(axes, f"{MOST_LINES} of {len(group)} {name}" if len(group) > MOST_LINES else name, legend=True)
    axes.set_xlabel("t, s")


def _draw_path(run: ProgrammeRun, axes: Axes) -> None:
    """In the plane of the first two coordinates; with equal scales where both may be lengths."""
    x, y = _finite(run.q[:, 0]), _finite(run.q[:, 1])
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), 4 * FINEST)).astype(int))
    axes.plot(x[kept], y[kept], color=COLOURS[0], linewidth=1.1)
    axes.plot(x[:1], y[:1], "o", color=COLOURS[0], markerfacecolor="white", markersize=5, label="start")
    axes.plot(x[-1:], y[-1:], "o", color=COLOURS[0], markersize=5, label="end")
    dress(axes, short(run.coordinates[1], LONGEST), legend=True)
    axes.set_xlabel(short(run.coordinates[0], LONGEST), color=INK, **PLAIN)
    sides = [float(np.nanmax(part) - np.nanmin(part)) if np.isfinite(part).any() else 0.0 for part in (x, y)]
    if not any(map(_is_angle, run.coordinates[:2])) and max(sides) <= SLENDER * min(sides):
        axes.set_aspect("equal", adjustable="datalim")


def _is_angle(name: str) -> bool:
    return name.lower().startswith(ANGLES)


def _draw_deviation(run: ProgrammeRun, axes: Axes, rate: float | None) -> None:
    """|u| and, of a decay rate, its bound, on a logarithmic axis."""
    size, first, lowest = _positive(run.size), float(run.size[0]), np.inf
    line(axes, run.t, size, COLOURS[0], "|u|, sqrt(u' m u)")
    if rate is not None and first > 0:
        with np.errstate(all="ignore"):
            bound = first * np.exp(-rate * (run.t - run.t[0]))
        lowest = float(bound.min())
        label = f"bound of the decay rate {rate:.4g} 1/s"
        axes.plot(run.t, bound, color=COLOURS[1], linewidth=1.1, linestyle="--", label=label)
    _logarithmic(axes, size, lowest)
    dress(axes, "|u|", legend=True)


def _draw_errors(run: ProgrammeRun, axes: Axes) -> None:
    """|a q' - b| of each constraint on a logarithmic axis."""
    sizes = {
        text: _positive(np.abs(values)) for text, values in zip(run.constraints, run.constraint_error.T, strict=True)
    }
    _draw_lines(run, axes, sizes)
    _logarithmic(axes, np.array(list(sizes.values())[:MOST_LINES]))
    more = len(run.constraints) > MOST_LINES
    name = f"errors of {MOST_LINES} of {len(run.constraints)} constraints" if more else "constraint errors"
    dress(axes, name, legend=True)


def _draw_lines(run: ProgrammeRun, axes: Axes, values: Mapping[str, NDArray[np.float64]]) -> None:
    for i, (name, column) in enumerate(list(values.items())[:MOST_LINES]):
        line(axes, run.t, _finite(column), COLOURS[i % len(COLOURS)], short(name, LONGEST))


def _logarithmic(axes: Axes, values: NDArray[np.float64], lowest: float = np.inf) -> None:
    """A logarithmic axis around the values, if there are any above 0, and down to a lowest one that is not far off."""
    if np.isfinite(values).any():
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        axes.set_yscale("log")
        axes.set_ylim(max(min(low, lowest), low / ROOM) / 2, high * 2)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values), values, np.nan)


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)
