"""Many motions together: motions a second on 1, 2, ... cores, of this checkout and of another one of the project.

    git worktree add ../before HEAD~1
    python benchmarks/many_motions.py [--other ../before] [--motions 4096] [--turns 5] [--quick] [--only NAME ...]

Each figure is the median of several calls of `simulate_many` in a process of its own, by the clock: other work on the
machine counts. Starts are assembled before, and machine code is made before. Checkouts take turns.

| model    | motion                                                                                     |
|----------|--------------------------------------------------------------------------------------------|
| arm      | an arm of seven hinges from random states, 1 s, by dop853; and by rk4 with steps of 1 ms   |
| four-bar | a four-bar linkage from random states, 1 s, by dop853, loops projected                     |
| walker   | the walking mechanism with contacts, 0.1 s from slightly different states, by radau        |
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parents[1]
WALKER = Path("examples") / "13_walking_mechanism" / "model.toml"


class Case(NamedTuple):
    """Starts of a system, and how they are simulated; `share` of the motions, where each takes long."""

    make: Callable[[Path, int], tuple[Any, Any, Any]]
    settings: dict[str, Any]
    share: float = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, help="another checkout of the project")
    parser.add_argument("--motions", type=int, default=4096, help="how many (4096)")
    parser.add_argument("--turns", type=int, default=5, help="calls, of which the median counts (5)")
    parser.add_argument("--quick", action="store_true", help="a short run, which measures too little to tell")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)  # in a new process: checkout and threads, as JSON
    options = parser.parse_args()
    if options.quick:
        options.motions, options.turns = 32, 1
    if options.measure:
        checkout, threads = options.measure
        print(json.dumps(measured(Path(checkout), int(threads), options)))
        return
    print(page(options))


def page(options: argparse.Namespace) -> str:
    """The table: a row for each case and number of threads."""
    checkouts = [HERE, *([options.other.resolve()] if options.other else [])]
    found = {
        (checkout, threads): in_new_process(checkout, threads, options)
        for threads in numbers_of_threads()
        for checkout in checkouts
    }
    heads = [
        "motion",
        "threads",
        "motions/s",
        "times one thread",
        *(["other", "times as fast"] if options.other else []),
    ]
    rows = []
    for name in options.only:
        for threads in numbers_of_threads():
            mine, alone = found[HERE, threads][name], found[HERE, 1][name]
            row = [name, str(threads), f"{mine:.3g}", f"{mine / alone:.2f}"]
            if options.other:
                theirs = found[checkouts[1], threads][name]
                row += [f"{theirs:.3g}" if theirs else "-", f"{mine / theirs:.2f}" if theirs else "-"]
            rows.append(row)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def numbers_of_threads() -> list[int]:
    """1, 2, 4, ... and all cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return sorted({*(2**k for k in range(cores.bit_length()) if 2**k <= cores), cores})


def in_new_process(checkout: Path, threads: int, options: argparse.Namespace) -> dict[str, float]:
    """Motions a second of every case, 0 where the checkout cannot compute it."""
    command = [sys.executable, __file__, "--measure", str(checkout), str(threads), "--motions", str(options.motions)]
    command += ["--turns", str(options.turns), "--only", *options.only]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measured(checkout: Path, threads: int, options: argparse.Namespace) -> dict[str, float]:
    """In this process, which has imported the checkout."""
    import momentree as mt

    figures = {}
    for name in options.only:
        case = CASES[name]
        count = max(16, int(options.motions * case.share))
        system, q, v = case.make(checkout, count)
        try:
            system.simulate_many(q[:16], v[:16], threads=threads, **case.settings)
        except mt.MomentreeError as error:
            print(f"{name}: {error}", file=sys.stderr)
            figures[name] = 0.0
            continue
        seconds = []
        for _ in range(options.turns):
            began = time.perf_counter()
            motions = system.simulate_many(q, v, threads=threads, **case.settings)
            seconds.append(time.perf_counter() - began)
        assert (motions.failed > motions.t[-1]).all()
        figures[name] = count / statistics.median(seconds)
    return figures


# --- starts ---


def arm(checkout: Path, count: int) -> tuple[Any, Any, Any]:
    import numpy as np
    from example_models import aligned_arm

    system, random = aligned_arm().build(), np.random.default_rng(1)
    return system, random.uniform(-1, 1, (count, system.nq)), random.uniform(-1, 1, (count, system.nv))


def four_bar(checkout: Path, count: int) -> tuple[Any, Any, Any]:
    import numpy as np

    import momentree as mt

    m = mt.Model("four-bar")
    crank, coupler, rocker = (
        m.body(name, mt.rod(mass=1.0, length=length))
        for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 2.0))
    )
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1.0, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2.0, 0, 0)), rocker.at((2.0, 0, 0)))
    system, random = m.build(), np.random.default_rng(2)
    states = system.assemble_many({"A": random.uniform(0.5, 2.5, count)}, {"A": random.uniform(-2, 2, count)})
    return system, states.q, states.v


def walker(checkout: Path, count: int) -> tuple[Any, Any, Any]:
    import numpy as np

    import momentree as mt

    system = mt.load(checkout / WALKER).build()
    start = system.start()
    return system, np.repeat(start.q[None], count, axis=0), start.v * np.linspace(0.9, 1.1, count)[:, None]


CASES = {
    "arm, dop853": Case(arm, {"t_end": 1.0, "every": 0.1}),
    "arm, rk4": Case(arm, {"t_end": 1.0, "every": 0.1, "integrator": "rk4", "step": 1e-3}),
    "four-bar, dop853": Case(four_bar, {"t_end": 1.0, "every": 0.1}),
    "walker, radau": Case(walker, {"t_end": 0.1, "every": 0.02, "integrator": "radau"}, share=1 / 16),
}

if __name__ == "__main__":
    main()
