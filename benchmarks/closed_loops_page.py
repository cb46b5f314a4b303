"""The page of the figures of closed_loops.py: goals, tables, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from forward_dynamics_page import table
from walker_numpy import PERIOD, Gait

OURS = "Momentree"
RIVALS = ("MuJoCo", "Pinocchio LCABA")  # in the row, of those whose cost grows as ours does


class Effort(NamedTuple):
    """How much to measure.

    | field    | meaning                                                                   |
    |----------|---------------------------------------------------------------------------|
    | repeats  | of each motion; the best counts                                           |
    | four_bar | s, simulated                                                              |
    | rows     | numbers of four-bars in a row                                             |
    | dense    | the largest of them for `constraintDynamics`, which gets slow             |
    | velocities | rad/s of the posts at the start                                         |
    | row      | s, simulated: about five turns, through ten singular configurations       |
    | growth   | numbers of four-bars, for the cost of an evaluation                       |
    | walker   | s, simulated                                                              |
    """

    repeats: int = 3
    four_bar: float = 100.0
    rows: tuple[int, ...] = (1, 10, 40, 100)
    dense: int = 40
    velocities: tuple[float, ...] = tuple(np.linspace(0.5, 3.0, 12).tolist())
    row: float = 10.0
    growth: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000)
    walker: float = 52.0


class FourBar(NamedTuple):
    """Of one contestant: the largest closure error (m), errors of energy (J) and crank (rad), to a tenth and the end.

    `cpu` is per simulated second, `first` of the first run; `reference` is how far the exact solution is converged.
    """

    name: str
    closure_error: float
    energy: float
    early: float
    late: float
    cpu: float
    first: float
    statements: int
    reference: float


class RowOfFourBars(NamedTuple):
    """Of one contestant and n loops: CPU seconds per simulated second, median over the starts, and how many it kept.

    Error (rad) and closure error (m) are the largest of the starts whose branch it kept, nan if there was none.
    """

    name: str
    n: int
    cpu: float
    error: float
    closure_error: float
    kept: int
    starts: int


class Growth(NamedTuple):
    """Of n loops: CPU seconds of an evaluation, and what making the code took."""

    n: int
    bodies: int
    evaluations: int
    each: float
    first: float


class Walker(NamedTuple):
    """Of one contestant: how it walked, its largest closure error, how far the hull is off at the end (m, rad)."""

    name: str
    gait: Gait
    closure_error: float
    off: float
    evaluations: int
    cpu: float
    first: float


class Figures(NamedTuple):
    """All that was measured; `process` is CPU seconds of `momentree run` for the walker."""

    effort: Effort
    four_bars: Sequence[FourBar]
    rows: Sequence[RowOfFourBars]
    growths: Sequence[Growth]
    walkers: Sequence[Walker]
    process: float | None


class Goal(NamedTuple):
    """A wanted figure, and whether it was met."""

    what: str
    wanted: str
    found: str
    met: bool

    def row(self) -> list[str]:
        return [self.what, self.wanted, self.found, "yes" if self.met else "**no**"]


def most(what: str, found: float, wanted: float, unit: str) -> Goal:
    return Goal(what, f"at most {wanted:g} {unit}", f"{found:.2g} {unit}", found <= wanted)


# --- goals ---


def goals(figures: Figures) -> list[Goal]:
    return [*_four_bar_goals(figures), *_row_goals(figures), *_growth_goals(figures), *_walker_goals(figures)]


def _four_bar_goals(figures: Figures) -> list[Goal]:
    by_name = {found.name: found for found in figures.four_bars}
    if OURS not in by_name:
        return []
    mine, end = by_name[OURS], f"{figures.effort.four_bar:g} s"
    found = [
        most(f"four-bar, {end}: loop closure error", mine.closure_error, 1e-12, "m"),
        most(f"four-bar, {end}: energy error", mine.energy, 1e-7, "J"),
        most(f"four-bar: crank error up to {end}", mine.late, 5e-6, "rad"),
    ]
    if "Pinocchio" in by_name:
        ratio = by_name["Pinocchio"].cpu / mine.cpu
        found.append(Goal("four-bar: CPU, against Pinocchio", "at least 20x", f"{ratio:.1f}x", ratio >= 20))
    return found


def _row_goals(figures: Figures) -> list[Goal]:
    """Cheaper, and not less accurate; and through the singular configurations from every start."""
    by_name, found = {(row.name, row.n): row for row in figures.rows}, []
    for n in figures.effort.rows:
        mine = by_name.get((OURS, n))
        if mine is None:
            continue
        whole = f"{mine.starts} of {mine.starts}"
        found.append(Goal(f"{n} in a row: branch kept", whole, f"{mine.kept}", mine.kept == mine.starts))
        for rival in (by_name[name, n] for name in RIVALS if (name, n) in by_name and n >= 40):
            ratio, no_worse = rival.cpu / mine.cpu, mine.error <= rival.error or rival.kept == 0
            said = f"{ratio:.1f}x, error {_number(mine.error)} to {_number(rival.error)}"
            goal = f"{n} in a row: CPU, against {rival.name}"
            found.append(Goal(goal, "at least 20x, as accurate", said, ratio >= 20 and no_worse))
    return found


def _growth_goals(figures: Figures) -> list[Goal]:
    each = {growth.n: growth.each / growth.bodies for growth in figures.growths}
    found = [most(f"{n} in a row: an evaluation, per body", each[n] * 1e9, 100, "ns") for n in each if n >= 30]
    if {30, 1000} <= each.keys():
        found.append(most("1000 in a row: cost per body, against 30", each[1000] / each[30], 2, "times"))
    return found


def _walker_goals(figures: Figures) -> list[Goal]:
    if figures.process is None:
        return []
    what = f"walking mechanism, {figures.effort.walker:g} s"
    mine = next(w for w in figures.walkers if w.name == OURS)
    speed = abs(mine.gait.speed)
    found = [
        Goal(
            f"{what}: mean speed",
            "0.384 m/s within 1 %",
            f"{speed:.4f}",
            abs(speed / 0.384 - 1) < 0.01,
        ),
        Goal(f"{what}: flight", "none", "some" if mine.gait.flight else "none", not mine.gait.flight),
        most(f"{what}: closure error", mine.closure_error, 1e-9, "m"),
        most(f"{what}: whole process of `momentree run`, CPU", figures.process, 15, "s"),
    ]
    for lsoda in (w for w in figures.walkers if w.name.startswith("NumPy")):
        as_good = [w for w in figures.walkers if w.name.startswith(OURS) and w.off <= lsoda.off]
        best = min(as_good, key=lambda w: w.cpu, default=mine)
        ratio = lsoda.cpu / best.cpu
        said = f"{ratio:.1f}x ({best.name}), hull off {_number(best.off)} to {_number(lsoda.off)}"
        found.append(Goal(f"{what}: CPU, against {lsoda.name}", "at least 20x, as accurate", said, ratio >= 20))
    return found


# --- the page ---


def page(figures: Figures, versions: str, load: float) -> str:
    lines = [
        "# Closed loops, side by side",
        "",
        "Made by `python benchmarks/closed_loops.py --write docs/closed-loops-speed.md`.",
        "",
        f"One core, one thread; {versions}; load before the start {load:.1f}. Times are CPU seconds.",
        "",
        *table(["what", "wanted", "measured", "met"], [goal.row() for goal in goals(figures)]),
        *_four_bars(figures),
        *_rows(figures),
        *_growths(figures),
        *_walkers(figures),
    ]
    return "\n".join(lines)


def _four_bars(figures: Figures) -> list[str]:
    if not figures.four_bars:
        return []
    end = figures.effort.four_bar
    head = [
        "tool",
        "loop closure error (m)",
        "energy error (J)",
        f"crank error to {end / 10:g} s (rad)",
        f"to {end:g} s (rad)",
    ]
    head += ["CPU s per simulated s", "first run (s)", "statements"]
    rows = []
    for f in figures.four_bars:
        errors = [_number(x) for x in (f.closure_error, f.energy, f.early, f.late)]
        rows.append([f.name, *errors, f"{f.cpu:.3g}", f"{f.first:.2f}", f"{f.statements}"])
    return [
        "## A four-bar linkage",
        "",
        f"Bars of 1, 2 and 2 m on a ground of 2.5 m, 1 kg each, crank at 1 rad from rest, {end:g} s.",
        "",
        *table(head, rows),
        "- Momentree: default settings. The first run makes the machine code.",
        "- Pinocchio: `constraintDynamics` called from Python in an RK4 of 1 ms, Baumgarte gains 100 and 20.",
        "- MuJoCo: its RK4 of 1 ms; stiff: `solref` and `solimp` set by hand, as stiff as two steps allow.",
        "- The largest errors of the whole run, computed from the angles alike for all, at every step of Momentree and",
        "  every tenth of the others. The crank is compared with the motion of the one free coordinate, the loop",
        "  closed by the law of cosines, DOP853 of SciPy at the tolerance 3e-14; ten times that changes it by",
        f"  {figures.four_bars[0].reference:.0e} rad.",
        "- Momentree's time includes the assembly of the start, which the others get for nothing.",
        "- Statements: of the programs in `benchmarks/loop_models.py` and `loop_peers.py`, from the model to samples.",
        "  Those of the peers include the start, whose loop the user has to close, and what writes MuJoCo's XML.",
        "",
    ]


def _rows(figures: Figures) -> list[str]:
    if not figures.rows:
        return []
    effort = figures.effort
    slow, fast = min(effort.velocities), max(effort.velocities)
    head = ["loops", "tool", "CPU s per simulated s", "times Momentree's", "branch kept"]
    head += ["error (rad)", "closure error (m)"]
    mine = {row.n: row.cpu for row in figures.rows if row.name == OURS}
    rows = []
    for r in figures.rows:
        errors = [_number(x) for x in (r.error, r.closure_error)]
        rows.append([f"{r.n}", r.name, f"{r.cpu:.3g}", f"{r.cpu / mine[r.n]:.1f}", f"{r.kept} of {r.starts}", *errors])
    return [
        "## Four-bars in a row",
        "",
        "Benchmark A02 of IFToMM: parallelograms of equal rods, which could fold whenever they lie flat.",
        f"{effort.row:g} s, from upright at {len(effort.velocities)} velocities from {slow:g} to {fast:g} rad/s.",
        "",
        *table(head, rows),
        "- The branch is kept if all posts stay parallel; after a fold the motion is another one, or not finite.",
        "- Errors are the largest of any post at any sample from the starts whose branch was kept, against the exact",
        "  solution (Jacobi's amplitude). The time is the median over all starts.",
        "- Pinocchio: RK4 of 1 ms in Python. `constraintDynamics` has the gains of Baumgarte as above; its cost grows",
        f"  faster with the number of loops, and it was asked up to {effort.dense} of them. `lcaba` takes these gains,",
        "  but for closures of three constraints they do nothing in this version.",
        "- MuJoCo: RK4 of 1 ms, loops as stiff as above.",
        "- Momentree: `rtol=1e-8`, all else at its default.",
        "",
    ]


def _growths(figures: Figures) -> list[str]:
    if not figures.growths:
        return []
    rows = []
    for g in figures.growths:
        costs = [f"{g.each * 1e6:.3g}", f"{g.each / g.bodies * 1e9:.0f}", f"{g.first:.2f}"]
        rows.append([f"{g.n}", f"{g.bodies}", f"{g.evaluations}", *costs])
    return [
        "### What an evaluation costs",
        "",
        "Momentree, the same row: CPU time by evaluations of the right-hand side, with everything of which a longer",
        "run needs more: steps, projections, samples.",
        "",
        *table(["loops", "bodies", "evaluations", "µs each", "ns per body", "code made in (s)"], rows),
    ]


def _walkers(figures: Figures) -> list[str]:
    if not figures.walkers:
        return []
    seconds = figures.effort.walker
    head = ["tool", "CPU s", "times Momentree's", "evaluations", "mean speed (m/s)", "touchdowns", "flight"]
    head += ["closure error (m, rad)", "hull off at the end (m, rad)"]
    mine = next((w.cpu for w in figures.walkers if w.name == OURS), math.nan)
    rows = []
    for w in figures.walkers:
        walked = [f"{w.gait.speed:.4f}", " + ".join(map(str, w.gait.touchdowns)), "yes" if w.gait.flight else "no"]
        costs = [f"{w.cpu:.3g}", f"{w.cpu / mine:.1f}", f"{w.evaluations}"]
        rows.append([w.name, *costs, *walked, _number(w.closure_error), _number(w.off)])
    return [
        "## The walking mechanism",
        "",
        f"`examples/13_walking_mechanism` on its periodic gait, {seconds:g} s, {seconds / PERIOD:g} turns of the disc.",
        "",
        *table(head, rows),
        "- Momentree: `radau`, for the model says that it is stiff, at the default `rtol` of 1e-9 and at others.",
        "- NumPy: the equations in the coordinates of the same tree, written out by hand in",
        "  `benchmarks/walker_numpy.py` and integrated by LSODA (`odeint` of SciPy). It shares nothing with Momentree.",
        "  The hull at the end is compared with what it gives at a tolerance of 1e-12.",
        f"- Momentree made its code in {figures.walkers[0].first - mine:.1f} s more, at the first run. A new process",
        f"  with an empty cache, `momentree run` with the same start: {figures.process or math.nan:.1f} s.",
        "",
    ]


def _number(x: float) -> str:
    return f"{x:.1e}" if math.isfinite(x) else "–"
