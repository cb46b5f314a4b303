"""The picture of time over the length of a chain; readable on light and on dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_GREY = "#888888"  # of text and lines: seen on white and on black
_COLOURS = {"Momentree": "#e8590c", "Pinocchio": "#2f8fdd", "MuJoCo": "#2b9e5a"}


def draw(series: Mapping[str, Sequence[tuple[int, float]]], path: Path) -> None:
    """Microseconds over links, log-log; single calls as lines, loops and batches dashed."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    grey = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _GREY)
    with mpl.rc_context({**grey, "svg.fonttype": "none", "svg.hashsalt": "momentree", "font.size": 10}):
        figure, axes = plt.subplots(figsize=(7.5, 5))
        for name, points in series.items():
            maker, mode = name.split(", ")
            single = mode == "one call"
            style = {"linestyle": "-" if single else "--", "marker": "o" if single else "s", "markersize": 4}
            axes.plot(*zip(*points, strict=True), color=_COLOURS[maker], label=name, **style)
        axes.set(xscale="log", yscale="log", xlabel="hinges in the chain", ylabel="µs per evaluation")
        axes.grid(color=_GREY, alpha=0.25)
        axes.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(path, transparent=True, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
