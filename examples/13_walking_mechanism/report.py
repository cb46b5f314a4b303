"""The gait of a walk in numbers and pictures. `momentree demo` calls `report`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import momentree as mt
from momentree.look.picture_files import save_picture

E1, E2, E3 = 1.5, 0.05, 0.3  # m, as in model.toml
HULL = ((-0.1, E3), (0.1, E3), (0.16, -0.28), (-0.16, -0.28))  # m, y and z of its corners
WEIGHT = 25.4 * 9.8  # N
PERIOD = 2.6  # s
CONTACTS = ("contact 1 of leg 1", "contact 2 of leg 2")
LEGS = ("#1f6fb2", "#d1651a")  # colours
INK, GREY = "#333333", "#999999"
FRAME = ((-0.16, -0.28), (0.16, -0.28), (0.1, 0.3), (-0.1, 0.3), (-0.16, -0.279), (-0.125, -0.249))
FRAME += ((-0.073, 0.27), (0.073, 0.27), (0.125, -0.25), (-0.125, -0.25))  # around, and back along the inside
SHAPES = {  # what is only drawn of the bodies
    "hull": [mt.polygon(outline=FRAME, thickness=0.02, plane="yz", color="gray")],
    "disc": [mt.cylinder(radius=0.085, length=0.02, axis="x", color="gold")],
    "leg 1": [mt.rod(length="e3", radius=0.02, along="-z", color="blue")],
    "leg 2": [mt.rod(length="e3", radius=0.02, along="-z", color="vermilion")],
}


class Walk(NamedTuple):
    """A run, as far as the gait goes: samples over time.

    | field  | shape     | meaning                                          |
    |--------|-----------|--------------------------------------------------|
    | hull   | k x 3     | y, z, phi                                        |
    | alpha  | k         | angle of the disc                                |
    | guides | 2 x k x 2 | slide and angle of each leg in its guide         |
    | tops   | 2 x k x 2 | y, z of each leg's upper end, in space           |
    | forces | 2 x k x 2 | of the ground on each leg (N): friction, normal  |
    """

    t: Any
    hull: Any
    alpha: Any
    guides: Any
    tops: Any
    forces: Any

    @classmethod
    def of(cls, run: mt.Run) -> Walk:
        guides = np.stack([run["guide1"], run["guide2"]])
        tops = np.stack([run.position(f"leg {i}")[:, 1:] for i in (1, 2)])
        forces = np.stack([run.contact_force(name)[:, 1:] for name in CONTACTS])
        return cls(run.t, run["hull"], run["alpha"], guides, tops, forces)

    @property
    def stands(self) -> Any:
        """Whether each leg is in the ground, 2 x k: its foot is an arc about its upper end."""
        return self.tops[..., 1] < E1


class Gait(NamedTuple):
    """How it walks, between the first and the last sample.

    | field      | meaning                                                              |
    |------------|----------------------------------------------------------------------|
    | speed      | m/s, of the hull; it walks towards -y                                |
    | touchdowns | of each leg                                                          |
    | duty       | part of the time for which each leg is in the ground                 |
    | both       | part of the time with both legs in the ground                        |
    | least      | N, the least that the ground pushes up: 0 or less would be a flight  |
    | pitch      | rad, largest angle of the hull                                       |
    | rise       | m, from the lowest to the highest place of the hull                  |
    """

    speed: float
    touchdowns: tuple[int, int]
    duty: tuple[float, float]
    both: float
    least: float
    pitch: float
    rise: float


def gait(walk: Walk) -> Gait:
    """Samples must be dense enough to see when a foot lands: 1 ms apart, or those of each step of an integrator."""
    t, stands = walk.t, walk.stands
    share = np.diff(t) / (t[-1] - t[0])
    landed = (stands[:, 1:] & ~stands[:, :-1]).sum(axis=1)
    duty = [float(share[leg[:-1]].sum()) for leg in stands]
    return Gait(
        speed=float((walk.hull[0, 0] - walk.hull[-1, 0]) / (t[-1] - t[0])),
        touchdowns=(int(landed[0]), int(landed[1])),
        duty=(duty[0], duty[1]),
        both=float(share[stands.all(axis=0)[:-1]].sum()),
        least=float(walk.forces[..., 1].sum(axis=0).min()),
        pitch=float(np.abs(walk.hull[:, 2]).max()),
        rise=float(np.ptp(walk.hull[:, 1])),
    )


def report(run: mt.Run, folder: Path) -> Iterator[str]:
    """Lines that describe the gait; pictures go into the folder."""
    walk, work = Walk.of(run), run.energy.work
    measured, seconds = gait(walk), run.t[-1] - run.t[0]
    periods, distance = seconds / PERIOD, measured.speed * seconds
    driven = work["torque on alpha"][-1]
    pressed, rubbed = (-sum(work[f"{kind}{name}"][-1] for name in CONTACTS) for kind in ("", "friction of "))
    steps = sum(measured.touchdowns) / periods
    flight = "it never flies" if measured.least > 0 else "it flies"
    (first, second), (left, right) = measured.touchdowns, measured.duty
    yield f"speed            {measured.speed:.4f} m/s: {distance:.3f} m in {seconds:g} s"
    yield f"touchdowns       {first} and {second} in {periods:g} periods: {steps:g} steps a period"
    yield f"in the ground    legs 1 and 2 for {left:.1%} and {right:.1%} of the time, both for {measured.both:.1%}"
    yield f"least push       {measured.least:.1f} N of a weight of {WEIGHT:.1f} N: {flight}"
    yield f"hull             pitches by up to {measured.pitch:.4f} rad, rises and falls by {measured.rise:.4f} m"
    yield f"motor            {driven:.3f} J, of which contacts take {pressed:.3f} J and friction {rubbed:.3f} J"
    yield f"for each metre   {driven / (WEIGHT * distance):.4f} of the work that lifts the weight by one"
    for name, figure in (
        ("motion", draw_motion(walk)),
        ("steps", draw_steps(walk)),
        ("walk", draw_walk(walk)),
        ("diagnostics", draw_diagnostics(run)),
    ):
        for suffix in ("svg", "png"):
            save(figure, folder / f"{name}.{suffix}")


# --- pictures ---


def draw_motion(walk: Walk) -> Figure:
    """The coordinates of hull and legs, over the whole run and over its last three periods: the paper's figure 7."""
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    hull, guides = walk.hull, walk.guides
    rows: list[tuple[str, list[Any]]] = [
        ("y, m", [hull[:, 0]]),
        ("z, m", [hull[:, 1]]),
        ("phi, rad", [hull[:, 2]]),
        ("z1, z2, m", [guide[:, 0] for guide in guides]),
        ("g1, g2, rad", [guide[:, 1] for guide in guides]),
    ]
    axes = figure.subplots(len(rows), 2, sharey="row", sharex="col", width_ratios=(2, 1))
    for pair, (name, values) in zip(axes, rows, strict=True):
        for place, part in zip(
            pair, (spread(walk.t, 2000), spread(walk.t, 1500, walk.t[-1] - 3 * PERIOD)), strict=True
        ):
            for i, value in enumerate(values):
                place.plot(walk.t[part], value[part], color=LEGS[i] if len(values) > 1 else INK, linewidth=1)
            dress(place)
        pair[0].set_ylabel(name)
    for place in axes[-1]:
        place.set_xlabel("t, s")
    figure.suptitle("Walking mechanism: hull (y, z, phi) and legs in their guides")
    return figure


def draw_steps(walk: Walk) -> Figure:
    """Which leg stands when, and how hard it presses and rubs in the last two periods."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    diagram, pressing, rubbing = figure.subplots(3, height_ratios=(1, 2, 2))
    last = spread(walk.t, 4000, walk.t[-1] - 2 * PERIOD)
    for i, (force, stands) in enumerate(zip(walk.forces, walk.stands, strict=True)):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], stands, [0]])))
        bars = [(walk.t[a], walk.t[b - 1] - walk.t[a]) for a, b in edges.reshape(-1, 2)]
        diagram.broken_barh(bars, (1 - i - 0.35, 0.7), color=LEGS[i])
        pressing.plot(walk.t[last], force[last, 1], color=LEGS[i], linewidth=1, label=f"leg {i + 1}")
        rubbing.plot(walk.t[last], force[last, 0], color=LEGS[i], linewidth=1)
    diagram.set(yticks=(1, 0), yticklabels=("leg 1", "leg 2"), xlabel="t, s: the leg stands", xlim=(0, walk.t[-1]))
    pressing.axhline(WEIGHT, color=GREY, linewidth=0.8, linestyle="--", label="weight")
    pressing.set_ylabel("normal force, N")
    rubbing.set(ylabel="friction, N", xlabel="t, s")
    pressing.legend(frameon=False, ncols=3, loc="upper right")
    for place in (diagram, pressing, rubbing):
        dress(place)
    return figure


def draw_walk(walk: Walk, instants: int = 9) -> Figure:
    """One period, the last, in stick figures, set apart; marks on the ground are every 0.1 m of it, numbered in m."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots()
    times = np.linspace(walk.t[-1] - PERIOD, walk.t[-1], instants)
    stands = walk.stands
    for n, t in enumerate(times):
        k = int(np.searchsorted(walk.t, t - 1e-9))
        (y0, z0, phi), alpha = walk.hull[k], walk.alpha[k]
        O, shift = (y0, E1 - E3 + z0), 0.75 * n + y0  # to the right is -y
        frame = [turned(O, phi, part) for part in (*HULL, HULL[0])]
        lines(axes, frame, shift, color=INK, linewidth=1.2, alpha=0.6)
        rim = [turned(O, phi, (0.075 * np.cos(a), 0.075 * np.sin(a))) for a in np.linspace(0, 2 * np.pi, 40)]
        lines(axes, rim, shift, color=INK, linewidth=1)
        for i in (1, 0):
            top, angle = walk.tops[i, k], phi + walk.guides[i, k, 1]
            foot = [turned(top, angle, (E1 * np.sin(b), -E1 * np.cos(b))) for b in np.linspace(-0.16, 0.16, 15)]
            look = {"color": LEGS[i], "linewidth": 2.6 if stands[i, k] else 1.2, "solid_capstyle": "round"}
            lines(axes, [top, turned(top, angle, (0, -E1))], shift, **look)
            lines(axes, foot, shift, **look)
            pin = turned(O, phi + alpha, (0, -E2 if i == 0 else E2))
            axes.plot(shift - pin[0], pin[1], "o", color=LEGS[i], markersize=4, zorder=3)
        for mark in np.arange(np.ceil((y0 - 0.3) * 10), (y0 + 0.3) * 10) / 10:
            axes.plot([shift - mark, shift - mark - 0.02], [0, -0.05], color=GREY, linewidth=0.8)
            if round(mark * 10) % 5 == 0:
                axes.text(shift - mark, -0.07, f"{-mark:.1f}", ha="center", va="top", fontsize=7, color=GREY)
        axes.text(0.75 * n, 1.72, f"{t - times[0]:.2f} s", ha="center", fontsize=8, color=INK)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set(aspect="equal", xlim=(-0.45, 0.75 * instants - 0.3), ylim=(-0.2, 1.82))
    axes.axis("off")
    return figure


def draw_diagnostics(run: mt.Run) -> Figure:
    """The closure errors of the loops, as in the paper's figure 8, and the energy account."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    closure_errors, energy, balance = figure.subplots(3, sharex=True)
    edges = spread(run.t, 1500)
    closure_errors.semilogy(
        run.t[edges], np.maximum(np.maximum.reduceat(run.closure_error, edges), 1e-18), color=INK, linewidth=0.8
    )
    closure_errors.set_ylabel("largest closure error, m or rad")
    work = run.energy.work
    energy.plot(run.t[edges], work["torque on alpha"][edges], linewidth=1, label="motor", color=INK)
    for kind, label in (("", "contacts"), ("friction of ", "friction")):
        energy.plot(run.t[edges], sum(work[f"{kind}{name}"][edges] for name in CONTACTS), linewidth=1, label=label)
    energy.set_ylabel("work, J")
    energy.legend(frameon=False, fontsize=8, ncols=3)
    balance.plot(run.t[edges], run.energy.balance[edges], color=INK, linewidth=0.8)
    balance.set(ylabel="energy out of balance, J", xlabel="t, s")
    for axes in (closure_errors, energy, balance):
        dress(axes)
    return figure


def turned(origin: Any, angle: float, part: tuple[float, float]) -> tuple[float, float]:
    """A point (y, z) of a body that is turned about x, in space."""
    y, z = part
    c, s = np.cos(angle), np.sin(angle)
    return float(origin[0] + c * y - s * z), float(origin[1] + s * y + c * z)


def lines(axes: Any, points: Any, shift: float, **look: Any) -> None:
    y, z = zip(*points, strict=True)
    axes.plot(shift - np.array(y), z, **look)


def spread(t: Any, count: int, since: float = 0.0) -> Any:
    """Samples that are as good as evenly spread in time."""
    return np.unique(np.searchsorted(t, np.linspace(since, t[-1], count)).clip(0, len(t) - 1))


def dress(axes: Any) -> None:
    axes.grid(color=GREY, alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path) -> None:
    save_picture(figure, path, dpi=110)
