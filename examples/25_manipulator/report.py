"""The arm's torques, bearing loads and operation counts, and a picture. `momentree demo` calls `report`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import momentree as mt
from momentree.compile.trace.tape import Operations, Tape
from momentree.equations import newton_euler
from momentree.equations.base_parameters import base_parameters
from momentree.equations.evaluation import Evaluation
from momentree.look.picture_files import save_picture
from momentree.model.frames import Frame

START, TRAVEL = np.radians([-50, -45, 180, 0, 45, 0]), np.radians([110, 15, -60, 60, -45, 90])  # as in model.toml
T = 2.0  # s
JOINTS = [f"J{i}" for i in range(1, 7)]
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", "-", "--", "-.")


def path(t: Any) -> tuple[Any, Any, Any]:
    """Coordinates, velocities and accelerations along the path, k x 6: a quintic polynomial, from rest to rest."""
    s = np.minimum(np.asarray(t) / T, 1)[..., None]
    q = START + TRAVEL * s**3 * (10 - 15 * s + 6 * s**2)
    return q, TRAVEL * 30 * s**2 * (1 - s) ** 2 / T, TRAVEL * 60 * s * (1 - s) * (1 - 2 * s) / T**2


def arm() -> mt.Model:
    """The arm without its servos. Published moments of inertia of link 3 are impossible, so that `build` warns."""
    m = mt.load(Path(__file__).with_name("model.toml"))
    m.torques.clear()
    return m


def build(m: mt.Model) -> mt.System:
    """Build it without that warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mt.ModelWarning)
        return m.build()


def loads(run: mt.Run, joint: str) -> tuple[Any, Any, Any]:
    """Of a joint over time: the torque about its axis (N m), the force (N) and the moment across the axis (N m)."""
    wrench, link = run.reactions(joint), f"link {joint[1:]}"
    axis = run.position(Frame(link, (0, 0, 1))) - run.position(Frame(link))
    torque = np.sum(wrench[:, 3:] * axis, axis=1)
    return torque, np.linalg.norm(wrench[:, :3], axis=1), np.linalg.norm(wrench[:, 3:] - torque[:, None] * axis, axis=1)


def operations(system: mt.System, regrouped: bool) -> Operations:
    """Operations of inverse dynamics (Newton-Euler), counted by tracing it; `regrouped`: on base parameters."""
    mechanism, tape = base_parameters(system.mechanism) if regrouped else system.mechanism, Tape()
    q, v, a = ([tape.input(f"{letter}{i}") for i in range(6)] for letter in "qva")
    tape.outputs(list(newton_euler.inverse_dynamics(Evaluation(mechanism, q), v, a)))
    return tape.operations()


def draw(run: mt.Run) -> Figure:
    """Torques over time: by inverse dynamics along the path, and those of the servos (dotted); the path of the hand."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, 2, width_ratios=(1.5, 1))
    tau = run.system.inverse_dynamics(*path(run.t), run.t)
    hand = run.position(Frame("link 6", (0, 0, 0.15)))
    for place, joints in zip(axes[:, 0], (range(3), range(3, 6)), strict=True):
        for i in joints:
            place.plot(run.t, tau[:, i], DASHES[i], color=COLORS[i], label=JOINTS[i])
            place.plot(run.t, loads(run, JOINTS[i])[0], ":", color="#444444", linewidth=1)
        place.set(xlabel="t, s", ylabel="torque, N m")
    for place, (name, part) in zip(axes[:, 1], {"above": (0, 1), "the side": (0, 2)}.items(), strict=True):
        place.plot(*hand[:, part].T, color="#333333")
        place.plot(*hand[0, part], "o", color="#0072B2", label="start")
        place.plot(*hand[-1, part], "s", color="#D55E00", label="end")
        place.set(aspect="equal", xlabel=f"hand from {name}: x, m", ylabel=f"{'xyz'[part[1]]}, m")
    for place in axes.flat:
        place.legend(frameon=False, fontsize=8)
        place.grid(color="#999999", alpha=0.25, linewidth=0.5)
        place.spines[["top", "right"]].set_visible(False)
    return figure


def report(run: mt.Run, folder: Path) -> Iterator[str]:
    """Lines that describe torques, loads and counts; the picture goes into the folder."""
    tau, bare = run.system.inverse_dynamics(*path(run.t), run.t), build(arm())
    off = np.degrees(np.abs(run.q - path(run.t)[0])).max(axis=0)
    columns = ("inverse dynamics, N m", "servo, N m", "bearing, N", "N m", "off the path, deg")
    yield f"joint  {columns[0]:>22}  {columns[1]:>22}  {columns[2]:>10}  {columns[3]:>7}  {columns[4]}"
    for i, joint in enumerate(JOINTS):
        torque, force, moment = loads(run, joint)
        ranges = "  ".join(f"{x.min():9.4f} .. {x.max():9.4f}" for x in (tau[:, i], torque))
        yield f"{joint:<5}  {ranges}  {force.max():10.2f}  {moment.max():7.3f}  {off[i]:17.4f}"
    for name, regrouped in (("as described", False), ("base parameters", True)):
        count = operations(bare, regrouped)
        yield f"inverse dynamics, {name:<16} {count.multiplications} multiplications, {count.additions} additions"
    for suffix in ("svg", "png"):
        save_picture(draw(run), folder / f"run.{suffix}", dpi=110)
