"""The page of the figures of forward_dynamics.py: goals, tables, picture, and how it was measured."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from contestants import (
    GROUPS,
    MJ_CALL,
    MJ_LOOP,
    OUR_BATCH,
    OUR_CALL,
    OUR_ONCE,
    PEERS,
    PIN_CALL,
    PIN_LOOP,
    pinocchio_bytes,
)
from example_models import TITLES
from fresh_process import Fresh
from llvmlite import binding
from scaling_picture import draw

PAGE = Path(__file__).parents[1] / "docs" / "forward-dynamics.md"
_PACKAGES = {"pinocchio": ("Pinocchio", "pin"), "mujoco": ("MuJoCo", "mujoco")}


class Timing(NamedTuple):
    """Nanoseconds per evaluation, of each round."""

    group: str
    method: str
    rounds: Sequence[float]

    @property
    def median(self) -> float:
        return float(np.median(self.rounds))

    def __str__(self) -> str:
        """Median and quartiles in microseconds."""
        low, middle, high = (_digits(x / 1e3) for x in np.quantile(self.rounds, (0.25, 0.5, 0.75)))
        return f"{middle} ({low}–{high})"


def _digits(x: float) -> str:
    """Three of them, or a whole number."""
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


class Figures(NamedTuple):
    """Of one model.

    | field     | meaning                                                                |
    |-----------|------------------------------------------------------------------------|
    | deviation | the largest between us and anybody, of the largest acceleration        |
    | fastest   | of each group of contestants                                           |
    | left_out  | Pinocchio is installed, but its data found no room in memory           |
    """

    name: str
    nv: int
    deviation: float
    fastest: Mapping[str, Timing]
    left_out: bool

    def ratio(self, theirs: str, ours: str) -> float | None:
        """How many times faster we are."""
        if theirs not in self.fastest or ours not in self.fastest:
            return None
        return self.fastest[theirs].median / self.fastest[ours].median


class Share(NamedTuple):
    """Gigaflops per second: the peak and the batch, and what each was."""

    peak: float
    of_peak: str
    batch: float
    of_batch: str


class Goal(NamedTuple):
    """A wanted figure: at least so many times faster or so many percent, at most so many seconds."""

    what: str
    wanted: float
    unit: str
    found: float | None

    @property
    def met(self) -> bool:
        return self.found is not None and (
            self.found <= self.wanted if self.unit == " s" else self.found >= self.wanted
        )

    def row(self) -> list[str]:
        bound = "under" if self.unit == " s" else "at least"
        got = "not measured" if self.found is None else f"{self.found:.{2 if self.unit == ' s' else 1}f}{self.unit}"
        verdict = "–" if self.found is None else "yes" if self.met else "**no**"
        return [self.what, f"{bound} {self.wanted:g}{self.unit}", got, verdict]


def goals(figures: Mapping[str, Figures], share: Share | None, first: Fresh | None) -> list[Goal]:
    def ratio(name: str, theirs: str, ours: str) -> float | None:
        return figures[name].ratio(theirs, ours) if name in figures else None

    chain, arm = "chain of 1000: compile and first result", "fresh process to the first result of the 7-dof arm"
    call, loop = "one call, against a call of Pinocchio", "batch, per evaluation, against Pinocchio in C++"
    once = ratio("random", PIN_LOOP, OUR_ONCE)
    return [
        Goal(f"{TITLES['aligned']}: {call}", 6, "x", ratio("aligned", PIN_CALL, OUR_CALL)),
        Goal(f"{TITLES['random']}: {call}", 4, "x", ratio("random", PIN_CALL, OUR_CALL)),
        Goal(f"{TITLES['humanoid']}: {call}", 3.5, "x", ratio("humanoid", PIN_CALL, OUR_CALL)),
        Goal(f"{TITLES['random']}: {loop}", 20, "x", ratio("random", PIN_LOOP, OUR_BATCH)),
        Goal(f"{TITLES['random']}: batch once, per evaluation, against Pinocchio in C++", 20, "x", once),
        Goal(f"chain of 300: {call}", 5, "x", ratio("chain-300", PIN_CALL, OUR_CALL)),
        Goal(f"chain of 300: {loop}", 18, "x", ratio("chain-300", PIN_LOOP, OUR_BATCH)),
        Goal(f"{chain}, empty cache", 1, " s", first.chain_cold if first else None),
        Goal(f"{arm}, empty cache, CPU", 0.6, " s", first.arm_cold if first else None),
        Goal(f"{arm}, filled cache, CPU", 0.4, " s", first.arm_cached if first else None),
        Goal(
            "batch ABA of the 7R arm, of the peak of the core",
            45,
            " %",
            100 * share.batch / share.peak if share else None,
        ),
    ]


# --- the page ---


def page(
    figures: Mapping[str, Figures],
    share: Share | None,
    first: Fresh | None,
    peers: Sequence[str],
    missing: Sequence[str],
    load: float,
    picture: Path | None,
) -> str:
    """All of it; the picture is drawn too, where it has a file."""
    lines = ["# Forward dynamics, side by side", "", *_where(peers, missing, load), ""]
    lines += _goals(goals(figures, share, first), figures)
    lines += _models([found for name, found in figures.items() if not name.startswith("chain")], "## Models")
    lines += _models(
        [found for name, found in figures.items() if name.startswith("chain")], "## Chains of random hinges"
    )
    if picture:
        draw(series_of("\n".join(lines)), picture)
        lines += [f"![Time per evaluation over the number of hinges]({picture.name})", ""]
    lines += [*_first(first), *_share(share), *_how(figures)]
    return "\n".join(lines)


def _where(peers: Sequence[str], missing: Sequence[str], load: float) -> list[str]:
    versions = [("Momentree", "momentree"), ("NumPy", "numpy"), ("llvmlite", "llvmlite")]
    versions += [_PACKAGES[name] for name in peers]
    known = ", ".join(f"{name} {version(package)}" for name, package in versions)
    absent = [f"{_PACKAGES[name][0]}: not installed, or not asked for" for name in PEERS if name not in peers]
    others = ["Drake, Exudyn: not measured"]
    return [
        "Made by `python benchmarks/forward_dynamics.py --write docs/forward-dynamics.md` (part of `make bench`).",
        "",
        f"On {_processor()}, one core; Python {platform.python_version()}, {known}. Load before the start: {load:.1f}.",
        "",
        *(f"- {reason}." for reason in (*missing, *absent, *others)),
    ]


def _processor() -> str:
    """As the system and as LLVM call it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name} ({binding.get_host_cpu_name()})"


def _goals(all_of_them: Sequence[Goal], figures: Mapping[str, Figures]) -> list[str]:
    missed = [goal for goal in all_of_them if goal.found is not None and not goal.met]
    said = [f"- Missed: {goal.what}: {goal.row()[2]}, wanted {goal.row()[1]}." for goal in missed]
    head = ["what", "wanted", "measured", "met"]
    return [
        "## Goals",
        "",
        *table(head, [goal.row() for goal in all_of_them]),
        *said,
        *_once(figures),
        "",
    ]


def _once(figures: Mapping[str, Figures]) -> list[str]:
    """What the goals do not say: a batch that finds the core cold."""
    ratios = {name: figures[name].ratio(PIN_LOOP, OUR_ONCE) for name in ("random", "chain-300") if name in figures}
    text = "; ".join(f"{TITLES[name]}: {ratio:.1f}x" for name, ratio in ratios.items() if ratio is not None)
    return [
        "- Batches in these goals follow each other, but for `batch once`: one that comes after other work, against",
        f"  Pinocchio in C++ (columns `batch once` below): {text or 'not measured'}.",
    ]


def _models(found: Sequence[Figures], title: str) -> list[str]:
    if not found:
        return []
    times = [[TITLES[f.name], *(str(f.fastest.get(group, "–")) for group in GROUPS)] for f in found]
    pairs = {
        "one call: to Pinocchio's": (PIN_CALL, OUR_CALL),
        "to MuJoCo's": (MJ_CALL, OUR_CALL),
        "to Pinocchio in C++": (PIN_LOOP, OUR_CALL),
        "batch: to Pinocchio in C++": (PIN_LOOP, OUR_BATCH),
        "batch once: to Pinocchio in C++": (PIN_LOOP, OUR_ONCE),
        "batch: to MuJoCo in C": (MJ_LOOP, OUR_BATCH),
    }
    ratios = []
    for f in found:
        cells = [f.ratio(*pair) for pair in pairs.values()]
        ratios.append([TITLES[f.name], *("–" if x is None else f"{x:.1f}" for x in cells), f"{f.deviation:.0e}"])
    methods = [
        [TITLES[f.name], *(f.fastest[g].method if g in f.fastest else "–" for g in (PIN_CALL, PIN_LOOP))] for f in found
    ]
    return [
        title,
        "",
        "Microseconds per evaluation, median (quartiles):",
        "",
        *table(["model", *GROUPS], times),
        "How many times faster Momentree is, and how far the results differ at most:",
        "",
        *table(["model", *pairs, "difference"], ratios),
        "Pinocchio's fastest methods:",
        "",
        *table(["model", "one call", "C++ loop"], methods),
    ]


def pictured(figures: Mapping[str, Figures]) -> bool:
    """Whether there are enough chains for a picture."""
    return sum(name.startswith("chain") for name in figures) > 1


def series_of(text: str) -> dict[str, list[tuple[int, float]]]:
    """Microseconds over links, by group, from the table of chains on the page."""
    rows = re.findall(r"^\| chain of (\d+) \| (.* \(.*) \|$", text, re.MULTILINE)
    points: dict[str, list[tuple[int, float]]] = {group: [] for group in GROUPS if group != OUR_ONCE}
    for links, row in rows:
        for group, cell in zip(GROUPS, row.split(" | "), strict=True):
            if group in points and (median := re.match(r"[\d.]+", cell)):
                points[group].append((int(links), float(median[0])))
    return {group: found for group, found in points.items() if found}


def draw_from_page(path: Path) -> None:
    """The picture of the page, from its table."""
    draw(series_of(PAGE.read_text(encoding="utf-8")), path)


def _first(first: Fresh | None) -> list[str]:
    if first is None:
        return []
    rows = [
        ["chain of 1000, from the built model to the first result, s", first.chain_cold, first.chain_cached],
        ["new process to the first result of the 7-dof arm, CPU s", first.arm_cold, first.arm_cached],
    ]
    cells = [[str(what), *(f"{value:.2f}" for value in values)] for what, *values in rows]
    return [
        "## First result",
        "",
        *table(["what", "empty cache", "filled cache"], cells),
        f"A process that imports NumPy and ends takes {first.numpy:.2f} CPU seconds.",
        "",
    ]


def _share(share: Share | None) -> list[str]:
    if share is None:
        return []
    return [
        "## Share of the peak",
        "",
        f"Fused multiply-adds, {share.of_peak}: {share.peak:.1f} Gflop/s. The articulated-body algorithm of the 7R arm "
        f"over a batch, {share.of_batch}: {share.batch:.1f} Gflop/s, {100 * share.batch / share.peak:.0f} %.",
        "",
        "A multiplication, an addition and a division count as one flop, a fused multiply-add as two. Momentree itself "
        "takes a method with fewer operations for so short an arm.",
        "",
    ]


def _how(figures: Mapping[str, Figures]) -> list[str]:
    left_out = [f"{TITLES[name]} ({pinocchio_bytes(f.nv) / 1e9:.0f} GB)" for name, f in figures.items() if f.left_out]
    return [_HOW + (f"  Left out for that: {', '.join(left_out)}.\n" if left_out else "")]


_HOW = """## How

- All run in one process on one core with one thread, and take turns of 3 ms, in CPU time; the median over the rounds
  counts, and ratios are those of medians. Before, all agreed to 1e-9 on the same states.
- One call: from Python, one state after the other, arrays made beforehand. For Pinocchio `pin.aba`; for MuJoCo the
  state is written into its data and `mj_forward` called, with constraints, contacts, sensors, actuators, springs and
  dampers switched off.
- Batch: `System.forward_dynamics` on the same 4096 rows, again and again for as long as a turn lasts. Batch once: the
  same a single time in each turn, right after a turn of single calls. Loops: the peers' functions called in C++ on
  these rows, built with g++ -O3 against their wheels. Pinocchio's is built with the library of the wheel, from its
  headers, and from its headers with -march=native, and called in both conventions, local and world; besides there is
  `pin.abaInParallel` on one thread. Whichever is fastest counts. Pinocchio's code generation needs CppADCodeGen, which
  is not in the wheel, and was not measured.
- Joints are the peers' own for hinges about x, y, z and for free flight; no massless bodies are put between.
- Straight-line code of 20 to 40 bodies, Momentree's, takes up to 1.4 times as long in some processes as in others:
  where it lies in memory decides. Rolled code, for more bodies, does not.
- Offsets and centres of mass of random links are within 0.1 m. With offsets within 0.3 m, Momentree and MuJoCo differed
  by 2e-9 at 1000 links, more than is allowed here; at 500, Pinocchio agreed with Momentree to 1e-12, MuJoCo to 1e-10.
- The first result of a chain is seconds from the built model to the accelerations of one state, in a new process.
- A `pinocchio.Data` holds four tensors of n x n x n numbers, so for long chains fewer methods are tried: as many as fit
  into half of the free memory.
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows), ""]
