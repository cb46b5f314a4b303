"""The deployment in numbers and a picture: latches, losses, cables, the hub. `momentree demo` calls `report`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import momentree as mt
from momentree.look.picture_files import save_picture

HINGES = {"h1": ("#0072B2", "-"), "h2": ("#D55E00", "--"), "h3": ("#009E73", "-.")}
CABLES = {"cable 1": ("#CC79A7", "-"), "cable 2": ("#000000", "--")}


def rotation(run: mt.Run) -> Any:
    """The angle by which the hub is turned about x, the axis of the hinges (deg)."""
    return np.degrees(2 * np.arctan2(run["hub"][:, 3], run["hub"][:, 6]))


def out_of_step(run: mt.Run) -> dict[str, Any]:
    """The angles by which each cable is stretched (rad): 2 h1 + h2 and h2 + h3 are zero while the panels keep step."""
    return {"cable 1": 2 * run["h1"] + run["h2"], "cable 2": run["h2"] + run["h3"]}


def tensions(run: mt.Run) -> dict[str, Any]:
    """The tensions of the two strands of each cable (N), n x 2; a slack strand has none. Numbers as in model.toml."""
    k, r, F = (run.parameters.get(name, value) for name, value in (("k", 2e4), ("r", 0.03), ("F", 60.0)))
    return {
        cable: np.maximum(0, F + k * r * np.stack([angle, -angle], axis=1)) for cable, angle in out_of_step(run).items()
    }


def draw(run: mt.Run) -> Figure:
    """Hinge angles and tensions over time; dotted lines where a latch locks."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    angles, forces = figure.subplots(1, 2)
    for hinge, (color, dashes) in HINGES.items():
        angles.plot(run.t, np.degrees(run[hinge]), dashes, color=color, label=hinge)
    for cable, (color, dashes) in CABLES.items():
        names = [f"{cable}, each strand", None]
        forces.plot(run.t, tensions(run)[cable], dashes, color=color, linewidth=1, label=names)
    angles.set(xlabel="t, s", ylabel="angle of the hinge, deg")
    forces.set(xlabel="t, s", ylabel="tension, N")
    for axes in (angles, forces):
        for _, t in run.end.events:
            axes.axvline(t, color="#666666", linewidth=0.8, linestyle=":")
        axes.legend(frameon=False, fontsize=8)
        axes.grid(color="#999999", alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def report(run: mt.Run, folder: Path) -> Iterator[str]:
    """Lines that describe the deployment; the picture goes into the folder."""
    run = run if len(run.t) > 200 else run.system.simulate(every=0.02)  # steps alone are too far apart for a picture
    work, hub, spin = run.energy.work, rotation(run), np.degrees(run.velocity("hub")[:, 3])
    for latch, t in run.end.events:
        i = int(np.searchsorted(run.t, t))  # the sample before the impact; the next is the one after it
        after = spin[i + 1].round(4) + 0.0
        impact = f"hub at {hub[i]:.4f} deg, {spin[i]:.4f} deg/s before and {after:.4f} after"
        yield f"{latch} at {t:.5f} s: {-work[latch][-1]:.4f} J lost; {impact}"
    lost = -sum(values[-1] for name, values in work.items() if name.startswith("latch"))
    cables = sum(values[-1] for name, values in work.items() if name.startswith("torque"))
    yield f"latches            {lost:.4f} J lost in all; the cables have given back all but {abs(cables):.1e} J"
    for cable, angle in out_of_step(run).items():
        slack = "a strand goes slack" if (tensions(run)[cable] == 0).any() else "never slack"
        yield f"{cable}            out of step by {np.degrees(np.abs(angle).max()):.3f} deg at most; {slack}"
    momentum = np.abs(run.system.momentum(run.q, run.v)).max()
    yield f"hub                turned by {hub[-1]:.4f} deg; momentum at most {momentum:.1e} kg m/s or kg m2/s"
    for suffix in ("svg", "png"):
        save_picture(draw(run), folder / f"run.{suffix}", dpi=110)
