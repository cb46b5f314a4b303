"""The map of the walker's speed over the spring of the ground and the radius of its feet."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from momentree.look.picture_files import save_picture

HEIGHT = (20 * 1.1 + 3 * 1.2 + 2 * 1.2 * 0.75) / 25.4  # m, of the centre of mass above the ground
GREY = "#bbbbbb"


def edges(values: Any) -> Any:
    """Of cells around these values."""
    between = 0.5 * (values[1:] + values[:-1])
    return np.concatenate([[2 * values[0] - between[0]], between, [2 * values[-1] - between[-1]]])


def draw(results: Any, path: str) -> None:
    """Speed in color where it walks, grey where it falls."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    walks = np.isnan(results.fell.values)
    speed = np.where(walks, results.speed.values, np.nan).T
    k, R = 10 ** edges(np.log10(results.k.values)), edges(results.R.values)
    axes.set_facecolor(GREY)
    colors = axes.pcolormesh(k, R, np.ma.masked_invalid(speed), cmap="viridis", vmin=0.14, vmax=0.4, antialiased=False)
    figure.colorbar(colors, ax=axes, label="mean speed, m/s")
    axes.axhline(HEIGHT, color="white", linewidth=1.6, linestyle="--")
    axes.text(1.05 * k[0], HEIGHT - 0.02, "height of the centre of mass", color="black", va="top")
    axes.plot(4e4, 1.5, marker="o", markersize=9, markerfacecolor="none", markeredgecolor="black", markeredgewidth=1.8)
    axes.annotate("example 13", (4e4, 1.5), (10, -4), textcoords="offset points", color="black")
    axes.legend(handles=[Patch(color=GREY, label="it falls")], loc="lower right", frameon=True, framealpha=1.0)
    axes.set(xscale="log", xlim=(k[0], k[-1]), ylim=(R[0], R[-1]))
    axes.set(xlabel="spring of the ground, N/m", ylabel="radius of the feet, m")
    save_picture(figure, path, dpi=150)
