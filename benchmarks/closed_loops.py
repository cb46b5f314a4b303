"""Closed loops, side by side: a four-bar, four-bars in a row, and a walking mechanism, in one process on one core.

    python benchmarks/closed_loops.py [--write docs/closed-loops-speed.md] [--quick] [--only NAME ...]

The contestants take turns; each computes the same motion from the same start, and is judged by solutions that are
independent of all of them (loop_references.py, walker_numpy.py). Times are CPU seconds. `--quick` measures too little
to tell.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import loop_models as ours
import loop_peers as peers
import loop_references as exact
import numpy as np
import walker_numpy
from closed_loops_page import OURS, Effort, Figures, FourBar, Growth, RowOfFourBars, Walker, page
from contestants import installed
from forward_dynamics import alone, pin_to_one_core
from statement_counts import statements

SECTIONS = ("four-bar", "row", "growth", "walker")
START = 1.0  # rad, of the crank
OWN_WALKERS: dict[str, dict[str, Any]] = {  # by their settings
    OURS: {},
    **{f"{OURS}, rtol {rtol:.0e}": {"rtol": rtol} for rtol in (3e-5, 1e-5, 3e-6, 1e-6, 1e-7, 1e-8)},
    f"{OURS}, dop853": {"integrator": "dop853", "rtol": 1e-6},
}
LENGTHS = {"short": 0.5, "long": 20.5}  # s, of runs whose difference tells what an evaluation costs
QUICK = Effort(1, 2.0, (1, 2), 1, (1.0, 2.0), 0.3, (1, 3), 0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="also write the page into this file")
    parser.add_argument("--quick", action="store_true", help="a short run")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=SECTIONS, help=", ".join(SECTIONS))
    given = parser.parse_args()
    alone()
    text = report(QUICK if given.quick else Effort(), given.only or SECTIONS)
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


def report(effort: Effort, wanted: Sequence[str]) -> str:
    load = os.getloadavg()[0]
    pin_to_one_core()
    known = installed(("pinocchio", "mujoco"))
    four_bars = four_bar(effort, known) if "four-bar" in wanted else []
    rows = [found for n in effort.rows for found in row(n, effort, known)] if "row" in wanted else []
    growths = [growth(n, effort) for n in effort.growth] if "growth" in wanted else []
    walkers = walker(effort) if "walker" in wanted else []
    process = walker_process(effort.walker) if "walker" in wanted else None
    names = ("momentree", "numpy", "scipy", *("pin" if name == "pinocchio" else name for name in known))
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return page(Figures(effort, four_bars, rows, growths, walkers, process), versions, load)


# --- taking turns ---


class Timed(NamedTuple):
    """CPU seconds of the first time, when code may have to be made, and of the best afterwards; what came out."""

    first: float
    best: float
    result: Any


def take_turns(works: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Timed]:
    first = {name: spent(work)[0] for name, work in works.items()}
    times: dict[str, list[float]] = {name: [] for name in works}
    results = {}
    for _ in range(repeats):
        for name, work in works.items():
            took, results[name] = spent(work)
            times[name].append(took)
    return {name: Timed(first[name], min(times[name]), results[name]) for name in works}


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds, and what came out."""
    gc.collect()
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


# --- a four-bar linkage ---


def four_bar(effort: Effort, known: Sequence[str]) -> list[FourBar]:
    seconds = effort.four_bar
    programs = _four_bar_programs(known)
    works = {name: program.make() for name, program in programs.items()}
    timed = take_turns({name: (lambda work=work: work(seconds)) for name, work in works.items()}, effort.repeats)
    found = []
    for name, (first, best, result) in timed.items():
        motion = result if isinstance(result, exact.Motion) else ours.four_bar_motion(result)
        crank, coarser = (exact.four_bar_crank(START, motion.t, rtol) for rtol in (3e-14, 3e-13))
        off, energy = np.abs(motion.angles[:, 0] - crank), exact.four_bar_energy(motion)
        errors = {
            "closure_error": exact.four_bar_closure_error(motion).max(),
            "energy": np.abs(energy - energy[0]).max(),
            "early": off[motion.t <= seconds / 10].max(),
            "late": off.max(),
            "reference": np.abs(coarser - crank).max(),
        }
        errors = {what: float(error) for what, error in errors.items()}
        count = statements(*programs[name].code)
        found.append(FourBar(name, cpu=best / seconds, first=first, statements=count, **errors))
    return found


class Program(NamedTuple):
    """What makes a simulation, and the functions that its user has to write."""

    make: Callable[[], Callable[[float], Any]]
    code: Sequence[Callable[..., Any]]


def _four_bar_programs(known: Sequence[str]) -> dict[str, Program]:
    own = [ours.four_bar_momentree]
    found = {
        OURS: Program(lambda: ours.four_bar_momentree(START), own),
    }
    if "pinocchio" in known:
        code = [peers.four_bar_pinocchio, peers.rk4, exact.four_bar_angles]
        found["Pinocchio"] = Program(lambda: peers.four_bar_pinocchio(START), code)
    if "mujoco" in known:
        code = [peers.four_bar_mujoco, peers.stepped, exact.four_bar_angles]
        found["MuJoCo, defaults"] = Program(lambda: peers.four_bar_mujoco(START, ""), code)
        found["MuJoCo, stiff"] = Program(lambda: peers.four_bar_mujoco(START), code)
    return found


# --- four-bars in a row ---


def row(n: int, effort: Effort, known: Sequence[str]) -> list[RowOfFourBars]:
    works: dict[str, Callable[[float, float], Any]] = {OURS: ours.row_momentree(n)}
    if "mujoco" in known:
        works["MuJoCo"] = peers.row_mujoco(n)
    if "pinocchio" in known:
        works["Pinocchio LCABA"] = peers.row_pinocchio(n)
        if n <= effort.dense:
            works["Pinocchio constraintDynamics"] = peers.row_pinocchio(n, "constraintDynamics")
    for work in works.values():
        work(effort.velocities[0], 10 * peers.STEP)  # machine code is made
    times: dict[str, list[float]] = {name: [] for name in works}
    motions: dict[str, list[exact.Motion]] = {name: [] for name in works}
    for velocity in effort.velocities:
        for name, work in works.items():
            took, result = spent(lambda work=work, velocity=velocity: work(velocity, effort.row))
            times[name].append(took)
            motions[name].append(ours.row_motion(n, result) if name == OURS else result)
        print(f"{n} four-bars from {velocity:.2f} rad/s", file=sys.stderr)
    return [judged(name, n, effort, times[name], motions[name]) for name in works]


def judged(name: str, n: int, effort: Effort, times: Sequence[float], motions: Sequence[exact.Motion]) -> RowOfFourBars:
    """Errors are those of the motions that kept the branch: the others went elsewhere."""
    kept = [(velocity, m) for velocity, m in zip(effort.velocities, motions, strict=True) if exact.branch_kept(n, m)]
    error = max((exact.row_error(n, velocity, motion) for velocity, motion in kept), default=math.nan)
    closure_error = max((exact.row_closure_error(n, motion) for _, motion in kept), default=math.nan)
    return RowOfFourBars(name, n, float(np.median(times)) / effort.row, error, closure_error, len(kept), len(motions))


def growth(n: int, effort: Effort) -> Growth:
    """What an evaluation costs: by how much a longer run takes more."""
    work = ours.row_momentree(n)
    timed = take_turns({what: (lambda end=end: work(1.0, end)) for what, end in LENGTHS.items()}, effort.repeats)
    counts = {what: found.result.statistics.evaluations for what, found in timed.items()}
    each = (timed["long"].best - timed["short"].best) / (counts["long"] - counts["short"])
    made = timed["short"].first - timed["short"].best
    return Growth(n, bodies=2 * n + 1, evaluations=counts["long"], each=each, first=made)


# --- the walking mechanism ---


def walker(effort: Effort) -> list[Walker]:
    seconds = effort.walker
    own = {name: ours.walker_momentree(**settings) for name, settings in OWN_WALKERS.items()}
    works: dict[str, Callable[[], Any]] = {name: (lambda work=work: work(seconds)) for name, work in own.items()}
    for rtol in (1e-6, 1e-8, 1e-10):
        works[f"NumPy, LSODA, rtol {rtol:.0e}"] = lambda rtol=rtol: walker_numpy.walk(seconds, rtol, rtol / 100)
    timed = take_turns(works, effort.repeats)
    reference = walker_numpy.walk(seconds, 1e-12, 1e-14)
    found = []
    for name, (first, best, result) in timed.items():
        if isinstance(result, walker_numpy.Walk):
            gait, closure_error, last, count = result.gait, result.closure_error, result.q[-1, :3], result.evaluations
        else:
            gait, closure_error, last = ours.walker_gait(result), float(result.closure_error.max()), result["hull"][-1]
            count = result.statistics.evaluations
        off = float(np.abs(last - reference.q[-1, :3]).max())
        found.append(Walker(name, gait, closure_error, off, count, cpu=best, first=first))
    return found


def walker_process(seconds: float) -> float:
    """CPU seconds of a new process that makes the same run by `momentree run`, cache of machine code empty."""
    with tempfile.TemporaryDirectory() as empty:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "momentree", *ours.walker_command(seconds)]
        subprocess.run(words, env=os.environ | {"MOMENTREE_CACHE": empty}, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
