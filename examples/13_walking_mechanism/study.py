"""At which speed of the disc does it walk? Each period from the same kind of initial conditions, and the outcome.

    python study.py [--write]

The system is built once, with the period as a free parameter, so that one machine code serves all; eight
motions run at a time in the lanes of vectors. With --write the table goes into study.md and the picture into study.svg,
in this folder.
"""

from __future__ import annotations

import sys
from math import pi
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from report import E1, E2, E3, INK, dress, save

import momentree as mt

HERE = Path(__file__).parent
PERIODS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6)
PERIODS += (2.8, 3.0, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 4.2, 4.5, 5.0, 5.5, 6.0)
TURNS, SETTLED, WINDOW = 60, 30, 5  # turns of the disc: simulated, before measuring, over which changes are compared
EVERY = 0.0025  # s
FALLEN = 0.5  # rad: a foot is not much longer than that
COLOURS = {"walks": "#2a8a4a", "hops": "#1f6fb2", "stumbles": "#d1a01a", "falls": "#b23a2a"}


class Result(NamedTuple):
    """The motion at one period, over the last turns of the disc.

    | field   | meaning                                                                           |
    |---------|-----------------------------------------------------------------------------------|
    | speed   | m/s                                                                               |
    | rolling | m/s, of legs that roll without slip, one after the other: 4 e1 asin(e2/e3) / period |
    | steps   | touchdowns of both legs a period                                                  |
    | flight  | part of the time with no leg in the ground                                        |
    | slid    | how far feet in the ground slide, by the way walked                               |
    | pitch   | rad, largest angle of the hull                                                    |
    | again   | rad, largest difference of the hull's angle from that one period before, at last  |
    | factor  | by which that difference grows in a period                                        |
    | fell    | s, when the hull was first turned by 0.5 rad; infinite if never                   |
    """

    period: float
    speed: float
    rolling: float
    steps: float
    flight: float
    slid: float
    pitch: float
    again: float
    factor: float
    fell: float

    @property
    def verdict(self) -> str:
        if np.isfinite(self.fell):
            return "falls"
        if self.flight > 0:
            return "hops"
        return "walks" if abs(self.steps - 2) < 0.06 else "stumbles"


def start(period: float) -> Any:
    """Leg 1 carries the weight, the hull is upright and does not turn; it rolls as fast as the disc has it roll."""
    m = mt.load(HERE / "model.toml")
    m.parameters = list({**dict(m.parameters), "period": period, "phi0": 0.0, "w": 0.0}.items())
    return m.build().start()


def results(periods: tuple[float, ...] = PERIODS, turns: int = TURNS, settled: int = SETTLED) -> list[Result]:
    """Of each period, eight at a time."""
    system = mt.load(HERE / "model.toml").build(free=["period"])
    outcomes = []
    for group in (periods[i : i + 8] for i in range(0, len(periods), 8)):
        starts = [start(period) for period in group]
        motions = system.simulate_many(
            *([getattr(state, name) for state in starts] for name in "qv"),
            t_end=turns * max(group),
            parameters={"period": group},
            integrator="dopri5",
            rtol=1e-6,
            every=EVERY,
            threads=1,
        )
        for period, q, v in zip(group, motions.q, motions.v, strict=True):
            until = round(turns * period / EVERY) + 1
            outcomes.append(result(system, period, motions.t[:until], q[:until], v[:until], settled * period))
    return outcomes


def result(system: mt.System, period: float, t: Any, q: Any, v: Any, since: float) -> Result:
    """From coordinates and velocities of hull, disc and legs in their guides."""
    fallen = np.flatnonzero(~(np.abs(q[:, 2]) < FALLEN))
    fell = float(t[fallen[0]]) if len(fallen) else np.inf
    late = t >= since - 1e-9
    depths, slides = zip(*(foot(system, q[late], v[late], f"guide{i}") for i in (1, 2)), strict=True)
    stands = np.stack(depths) > 0
    landed = (stands[:, 1:] & ~stands[:, :-1]).sum()
    seconds, y, phi = t[late][-1] - t[late][0], q[late, 0], q[late, 2]
    slid = sum(float(np.abs(slide[depth > 0]).sum()) * EVERY for depth, slide in zip(depths, slides, strict=True))
    change = np.abs(phi - np.interp(t[late] - period, t, q[:, 2]))
    turn = (t[late] - t[late][0]) / period
    first, last = (change[part].max() for part in (turn <= WINDOW, turn >= turn[-1] - WINDOW))
    return Result(
        period=period,
        speed=float(y[0] - y[-1]) / seconds,
        rolling=4 * E1 * float(np.arcsin(E2 / E3)) / period,
        steps=float(landed) * period / seconds,
        flight=float((~stands.any(axis=0)).mean()),
        slid=slid / abs(float(y[-1] - y[0])),
        pitch=float(np.abs(phi).max()),
        again=float(last),
        factor=float(last / first) ** (1 / (turn[-1] - WINDOW)),
        fell=fell,
    )


def foot(system: mt.System, q: Any, v: Any, guide: str) -> tuple[Any, Any]:
    """How deep a foot is in the ground (m), and how fast it slides where it touches (m/s)."""
    body = system.mechanism.by_joint[guide]
    (z1, _), (dz1, dg1) = q[:, body.q].T, v[:, body.v].T
    (_, z, phi), (dy, _, dphi) = q[:, :3].T, v[:, :3].T
    along, c, s = E3 + z1, np.cos(phi), np.sin(phi)
    height = E1 - E3 + z + along * c
    sliding = dy - along * c * dphi - s * dz1 + height * (dphi + dg1)
    return E1 - height, sliding


HEAD = ("T, s", "disc, rad/s", "speed, m/s", "rolling, m/s", "steps a period", "in flight", "slid", "pitch, rad")
HEAD += ("changes by, rad", "factor", "verdict")


def table(outcomes: list[Result]) -> str:
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for r in outcomes:
        cells = [f"{r.period:g}", f"{2 * pi / r.period:.3f}", f"{r.speed:.4f}", f"{r.rolling:.4f}", f"{r.steps:.2f}"]
        cells += [f"{r.flight:.1%}", f"{r.slid:.1%}", f"{r.pitch:.4f}", f"{r.again:.4f}", f"{r.factor:.3f}", r.verdict]
        if r.verdict == "falls":
            cells[2:] = ["", cells[3], *[""] * 6, f"falls at {r.fell:.1f} s"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(outcomes: list[Result]) -> Figure:
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    speed, pitch, factor = figure.subplots(3, sharex=True, height_ratios=(2, 1, 1))
    speed.plot([r.period for r in outcomes], [r.rolling for r in outcomes], color=INK, linewidth=0.8, label="rolling")
    for verdict, colour in COLOURS.items():
        these = [r for r in outcomes if r.verdict == verdict]
        x = [r.period for r in these]
        if verdict == "falls":
            speed.plot(x, [0 for r in these], "x", color=colour, label="falls")
        elif these:
            speed.plot(x, [r.speed for r in these], "o", color=colour, label=verdict)
            pitch.plot(x, [r.pitch for r in these], "o", color=colour)
            factor.plot(x, [r.factor for r in these], "o", color=colour)
    factor.axhline(1, color=INK, linewidth=0.8, linestyle="--")
    speed.set_ylabel("speed, m/s")
    speed.legend(frameon=False)
    pitch.set(ylabel="pitch, rad", ylim=(0, None))
    factor.set(ylabel="factor a period", xlabel="period of the disc, s")
    for axes in (speed, pitch, factor):
        dress(axes)
    return figure


def draw_from_table(path: str) -> None:
    """The picture again, from study.md."""
    outcomes = []
    for line in (HERE / "study.md").read_text(encoding="utf-8").splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        period, _, speed, rolling, steps, flight, slid, pitch, again, factor = (
            float(cell.rstrip("%") or "nan") for cell in cells[:10]
        )
        fell = float(cells[10].split()[2]) if cells[10].startswith("falls") else np.inf
        outcomes.append(Result(period, speed, rolling, steps, flight, slid, pitch, again, factor, fell))
    save(draw(outcomes), Path(path))


def main() -> None:
    outcomes = results()
    print(text := table(outcomes))
    if "--write" in sys.argv[1:]:
        (HERE / "study.md").write_text(text + "\n", encoding="utf-8")
        save(draw(outcomes), HERE / "study.svg")


if __name__ == "__main__":
    main()
