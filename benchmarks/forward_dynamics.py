"""Forward dynamics by Momentree and its peers, side by side in one process on one core.

    python benchmarks/forward_dynamics.py [--write docs/forward-dynamics.md] [--quick] [--only NAME ...] [--peers ...]

First all must agree on the same states. Then they take turns: each evaluates for a few milliseconds, then the next,
for many rounds, so that whatever the machine does meets all alike. Of each the median over the rounds is taken, in CPU
time, and of several methods of the same peer the fastest. `--quick` measures too little to tell,
and compiles no C++.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import fma_peak
import numpy as np
from contestants import PEERS, PIN_CALL, Contestant, contestants, installed
from example_models import MODELS, Array, random_chain, random_states
from forward_dynamics_page import Figures, Share, Timing, page, pictured
from fresh_process import fresh
from peer_loops import Loops, build_loops

AGREE = 1e-9  # of the largest acceleration
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MOMENTREE_THREADS": "1", "MOMENTREE_CACHE": "off"}
SECTIONS = (*MODELS, "start", "peak")


class Effort(NamedTuple):
    """How long to measure: seconds of a turn, of a model, rounds at least and at most, rows of a batch, processes."""

    turn: float = 3e-3
    model: float = 8.0
    rounds: tuple[int, int] = (15, 400)
    rows: int = 4096
    processes: int = 7


QUICK = Effort(turn=2e-4, model=0.3, rounds=(3, 20), rows=256, processes=1)


# --- taking turns ---


def take_turns(all_of_them: Sequence[Contestant], effort: Effort) -> list[Timing]:
    """Nanoseconds per evaluation of each, round by round."""
    counts = [_count(contestant, effort.turn) for contestant in all_of_them]
    found: list[list[float]] = [[] for _ in all_of_them]
    least, most = effort.rounds
    begun, done = time.perf_counter(), 0
    gc.collect()
    gc.disable()
    while done < least or (done < most and time.perf_counter() - begun < effort.model):
        for contestant, count, times in zip(all_of_them, counts, found, strict=True):
            times.append(_nanoseconds(contestant, count))
        done += 1
    gc.enable()
    return [Timing(c.group, c.method, times) for c, times in zip(all_of_them, found, strict=True)]


def _count(contestant: Contestant, seconds: float) -> int:
    """How many evaluations take about so long."""
    contestant.run(1)
    count = 1
    while (each := _nanoseconds(contestant, count)) * count < 2e5 and count < 4096:
        count *= 4
    return max(1, int(seconds * 1e9 / each))


def _nanoseconds(contestant: Contestant, count: int) -> float:
    begun = time.process_time_ns()
    done = contestant.run(count)
    return (time.process_time_ns() - begun) / done


# --- what is measured ---


def measured(name: str, effort: Effort, peers: list[str], loops: Loops) -> Figures:
    """A model: who is there must agree, then be timed."""
    system = MODELS[name]().build()
    states = random_states(system, effort.rows)
    all_of_them = contestants(system, states, peers, loops)
    deviation = check(name, all_of_them)
    fastest: dict[str, Timing] = {}
    for timing in take_turns(all_of_them, effort):
        before = fastest.get(timing.group)
        fastest[timing.group] = timing if before is None or timing.median < before.median else before
    left_out = "pinocchio" in peers and PIN_CALL not in fastest
    return Figures(name, system.nv, deviation, fastest, left_out)


def check(name: str, all_of_them: Sequence[Contestant]) -> float:
    """The largest difference from our single calls, of the largest acceleration of a state."""
    ours = all_of_them[0].first()
    worst = 0.0
    for contestant in all_of_them[1:]:
        off = _difference(ours, contestant.first())
        if not off <= AGREE:
            raise AssertionError(f"{name}: '{contestant.group}: {contestant.method}' differs from ours by {off:.1e}.")
        worst = max(worst, off)
    return worst


def _difference(ours: Array, theirs: Array) -> float:
    return float((np.abs(ours - theirs).max(axis=1) / np.abs(ours).max(axis=1)).max())


def share_of_peak(effort: Effort) -> Share:
    """Of the 7R arm with random geometry."""
    system = random_chain(7).build()
    works = [fma_peak.peak(4), fma_peak.peak(8), fma_peak.batch(system.mechanism, random_states(system, fma_peak.ROWS))]
    speeds: list[list[float]] = [[] for _ in works]
    for _ in range(50 * effort.rounds[0]):
        for work, found in zip(works, speeds, strict=True):
            begun = time.process_time_ns()
            work.run()
            found.append(work.flops / (time.process_time_ns() - begun))
    narrow, wide, batch = (float(np.median(found)) for found in speeds)
    return Share(max(narrow, wide), works[wide > narrow].label, batch, works[2].label)


# --- the machine ---


def alone() -> None:
    """Start over with one thread for all, where that is not so yet: libraries look when they are loaded."""
    if any(os.environ.get(name) != value for name, value in ALONE.items()):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | ALONE)


def pin_to_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def report(given: argparse.Namespace) -> str:
    effort = QUICK if given.quick else Effort()
    peers = installed(given.peers)
    wanted = given.only or SECTIONS
    with tempfile.TemporaryDirectory() as folder:
        loops = Loops() if given.quick else build_loops(peers, Path(folder))
        load = os.getloadavg()[0]
        pin_to_one_core()
        figures = {}
        for name in (name for name in MODELS if name in wanted):
            figures[name] = measured(name, effort, peers, loops)
            text = ", ".join(f"{group} {timing}" for group, timing in figures[name].fastest.items())
            print(f"{name} [µs]: {text}", file=sys.stderr)
    share = share_of_peak(effort) if "peak" in wanted else None
    first = fresh(effort.processes) if "start" in wanted else None
    if given.quick:
        loops.missing.append("a quick run compiles no loops in C++, and its figures are rough")
    picture = given.write.with_suffix(".svg") if given.write and pictured(figures) else None
    return page(figures, share, first, peers, loops.missing, load, picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="also write the page into this file, and a picture beside it")
    parser.add_argument("--quick", action="store_true", help="a short run")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=SECTIONS, help=", ".join(SECTIONS))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS, help="with whom to compare, if installed")
    given = parser.parse_args()
    alone()
    text = report(given)
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
