"""The picture of the study: how the peak forces are distributed, and where they come from."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from momentree.look.picture_files import save_picture

COLORS = {"A": "#0072B2", "B": "#E69F00", "C": "#009E73", "D": "#CC79A7"}  # Okabe-Ito
STYLES = {"A": "-", "B": "--", "C": "-.", "D": ":"}
INK = "#333333"


def grashof_margin(results: Any) -> Any:
    """By how much shortest and longest bar together are shorter than the two others (m); some bar turns fully: > 0."""
    lengths = np.sort(np.stack([results[name].values for name in "abcd"]), axis=0)
    return lengths[1] + lengths[2] - lengths[0] - lengths[3]


def draw(results: Any, path: str) -> None:
    """Two panels: the distribution of each peak force, and that at C over the Grashof margin."""
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, color in COLORS.items():
        forces = np.sort(results[f"peak_{name}"].values[results.status.values == 1])
        shares = np.linspace(0, 1, 201)
        look = {"color": color, "linestyle": STYLES[name], "linewidth": 1.6, "label": f"hinge {name}"}
        left.plot(np.quantile(forces, shares), 100 * shares, **look)
    left.set(xscale="log", xlim=(10, 2e4), ylim=(0, 100))
    left.set(xlabel="largest force in 1 s, N", ylabel="linkages below it, %")
    left.legend(frameon=False, loc="lower right")
    margin, peak = grashof_margin(results), results.peak_C.values
    edges = np.linspace(-1.8, 1.8, 37)
    bins = [peak[(a <= margin) & (margin < b) & np.isfinite(peak)] for a, b in itertools.pairwise(edges)]
    kept = [i for i, one in enumerate(bins) if len(one) >= 30]
    middles = (0.5 * (edges[1:] + edges[:-1]))[kept]
    low, median, high = (np.array([np.quantile(bins[i], share) for i in kept]) for share in (0.05, 0.5, 0.95))
    right.fill_between(middles, low, high, color=COLORS["C"], alpha=0.25, linewidth=0, label="9 of 10 linkages")
    right.plot(middles, median, color=COLORS["C"], linewidth=1.8, label="median")
    right.axvline(0, color=INK, linewidth=0.8, linestyle=":")
    right.text(0.03, 0.97, "no bar\nturns fully", transform=right.transAxes, va="top", color=INK)
    right.text(0.97, 0.97, "some bar\nturns fully", transform=right.transAxes, va="top", ha="right", color=INK)
    right.set(yscale="log", xlabel="Grashof margin, m", ylabel="largest force on hinge C, N")
    right.legend(frameon=False, loc="lower left")
    for axes in (left, right):
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path, dpi=150)
