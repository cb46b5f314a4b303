"""The picture of the study: where the slider may be, against the first-order theory of tolerances, and the stroke."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from momentree.look.picture_files import save_picture

R, L, W = 0.05, 0.15, 100.0  # m, m, rad/s, as in model.toml
SPREADS = {"crank": 2e-5, "rod": 3e-5, "guide": 5e-5, "clearance": 4e-5 / np.sqrt(6)}  # m, standard deviations
BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#333333"
LINES = {"crank": ("#E69F00", "--"), "rod": ("#009E73", "-."), "guide": ("#CC79A7", ":"), "clearance": ("#56B4E9", "-")}


def first_order(angle: Any) -> dict[str, Any]:
    """What each imprecision does to the position of the slider (m, one standard deviation), by its slope there.

    With x = r cos A + s, s = sqrt(l^2 - (r sin A - e)^2); a clearance c at psi shortens the rod by c cos psi.
    """
    s = np.sqrt(L**2 - (R * np.sin(angle)) ** 2)
    slopes = {"crank": np.cos(angle) - R * np.sin(angle) ** 2 / s, "rod": L / s, "guide": R * np.sin(angle) / s}
    slopes["clearance"] = L / s
    return {name: np.abs(slopes[name]) * spread for name, spread in SPREADS.items()}


def draw(results: Any, path: str) -> None:
    """Standard deviation of the position over the angle of the crank, and the distribution of the stroke."""
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    angle = W * results.time.values
    parts = first_order(angle)
    left.plot(np.degrees(angle), 1e6 * results.position.std("motion"), color=BLUE, linewidth=2.6, label="2000 motions")
    total = np.sqrt(sum(part**2 for part in parts.values()))
    left.plot(np.degrees(angle), 1e6 * total, color=INK, linewidth=1.2, linestyle="--", label="first order")
    for name, part in parts.items():
        color, style = LINES[name]
        left.plot(np.degrees(angle), 1e6 * part, color=color, linestyle=style, linewidth=1.2, label=f"from {name}")
    left.set(xlim=(0, 360), xticks=range(0, 361, 60), ylim=(0, 60), xlabel="angle of the crank, degrees")
    left.set_ylabel("position of the slider,\nstandard deviation, µm")
    left.legend(frameon=False, ncols=3, loc="upper center", fontsize=8)
    stroke = 1e6 * (results.stroke.values - 2 * R)
    edges = np.arange(-150, 151, 15)
    right.stairs(*np.histogram(stroke, edges), fill=True, color=BLUE, alpha=0.5, label="2000 motions")
    x, sd = np.linspace(-150, 150, 201), 2e6 * SPREADS["crank"]
    normal = len(stroke) * 15 * np.exp(-0.5 * (x / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    right.plot(x, normal, color=INK, linewidth=1.2, linestyle="--", label="first order")
    right.set(xlabel="stroke less 100 mm, µm", ylabel="motions", xlim=(-150, 150))
    right.legend(frameon=False, loc="upper left", fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path, dpi=150)
