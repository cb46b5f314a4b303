"""The separation in numbers and a picture: velocities, tumbling, clearance. `momentree demo` calls `report`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import momentree as mt
from momentree.look.picture_files import save_picture
from momentree.model.frames import Frame

RADIUS, LENGTH = 1.1, 18.0  # m: of the core, of a booster
BODIES = {"core": "#0072B2", "left": "#D55E00", "right": "#009E73"}  # and their colors


def points(run: mt.Run, body: str, *heights: float) -> list[Any]:
    """Where points on the z axis of a body are, k x 3 each."""
    return [run.position(Frame(body, (0, 0, z))) for z in heights]


def clearance(run: mt.Run) -> dict[str, Any]:
    """From the surface of the core to the nose and to the foot of each booster, on its inner edge (m), k x 2."""
    base, above = points(run, "core", 0, 1)
    gaps = {}
    for side in ("left", "right"):
        edge = np.stack(points(run, side, 0, -LENGTH), axis=1) - base[:, None]
        gaps[side] = np.linalg.norm(np.cross(edge, (above - base)[:, None]), axis=-1) - RADIUS
    return gaps


def tumbling(run: mt.Run) -> dict[str, Any]:
    """Angular velocities about y (deg/s); joints of boosters are relative to the core, the left one turned about z."""
    core, left, right = (np.degrees(run.velocity(name)[:, 2]) for name in BODIES)
    return {"core": core, "left": core - left, "right": core + right}


def draw(run: mt.Run) -> Figure:
    """Clearance and angular velocities over time; dashed lines where a hinge lets go."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    gap, spin = figure.subplots(1, 2)
    for side, values in clearance(run).items():
        gap.plot(run.t, values[:, 0], color=BODIES[side], label=f"nose, {side}")
        gap.plot(run.t, values[:, 1], "-.", color=BODIES[side], label=f"foot, {side}")
    for body, values in tumbling(run).items():
        spin.plot(run.t, values, color=BODIES[body], label=body)
    gap.set(xlabel="t, s", ylabel="distance from the core, m", yscale="log")
    spin.set(xlabel="t, s", ylabel="angular velocity about y, deg/s")
    gap.legend(frameon=False, fontsize=8, loc="lower right")
    spin.legend(frameon=False, fontsize=8, loc=(0.8, 0.6))
    for axes in (gap, spin):
        for _, t in run.end.events:
            axes.axvline(t, color="#666666", linewidth=0.8, linestyle="--")
        axes.grid(color="#999999", alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def report(run: mt.Run, folder: Path) -> Iterator[str]:
    """Lines that describe the separation; the picture goes into the folder."""
    run = run if len(run.t) > 200 else run.system.simulate(every=0.02)  # steps alone are too far apart for a picture
    gaps, spins = clearance(run), tumbling(run)
    momentum = np.abs(run.system.momentum(run.q, run.v)).max()
    for event, t in run.end.events:
        yield f"{event:<23} {t:.5f} s"
    yield f"kinetic energy          {run.energy.kinetic[-1]:.3f} J at the end: all that the pushers had"
    yield f"momentum                at most {momentum:.1e} kg m/s or kg m2/s"
    for body, values in spins.items():
        yield f"{body + ' turns at':<23} {values[-1]:.4f} deg/s"
    for side, values in gaps.items():
        yield f"{side + ' clears by':<23} {values.min():.3f} m at least, {values[-1].min():.3f} m at the end"
    for suffix in ("svg", "png"):
        save_picture(draw(run), folder / f"run.{suffix}", dpi=110)
