"""Runs of stiff mechanisms whose models do not say so: by dop853 alone, with the switch, by radau9 from the start.

    python benchmarks/stiff_runs.py [--repeat 3] [--seconds 20]

CPU seconds of one core, of `simulate` as a whole: of the first run in a process without stored machine code, code
included, and the least of some more, interleaved. Evaluations of the right-hand side; errors of q (m, rad) against
"radau" at rtol 1e-12. A motion is shortened by a power of two where dop853 would take longer than some seconds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import momentree as mt
from momentree.assembly.state import State
from momentree.results.run import Run
from momentree.system import System

WALKER = Path(__file__).parents[1] / "examples" / "13_walking_mechanism" / "model.toml"
BY: dict[str, dict[str, str | float]] = {
    "dop853": {"integrator": "dop853"},
    "dop853, then radau9": {"integrator": "dop853", "if_stiff": "radau9", "rtol_if_stiff": 3e-10},
    "radau9": {"integrator": "radau9"},
}


class Case(NamedTuple):
    """A mechanism, and how long it moves (s)."""

    make: Callable[[], tuple[System, State]]
    t_end: float


def strut() -> tuple[System, State]:
    """A pendulum whose bob sits on a spring of 1e6 N/m with a damper of 1e4 N s/m."""
    m = mt.Model("pendulum with a strut")
    rod = m.body("rod", mass=1.0, com=(1, 0, 0), inertia=(0.01, 0.01, 0.01))
    bob = m.body("bob", mass=1.0, com=(0, 0, 0), inertia=(0.01, 0.01, 0.01))
    m.joint("A", mt.Revolute("y"), m.ground, rod)
    m.joint("B", mt.Prismatic("x", spring=1e6, damping=1e4, rest=1.0), rod, bob)
    system = m.build()
    return system, system.assemble({"A": 0.5, "B": 1.0})


def van_der_pol() -> tuple[System, State]:
    """x'' = 1000 (1 - x^2) x' - x: creeps for long, then jumps."""
    m = mt.Model("van der Pol's oscillator", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("x", mt.Prismatic("x", spring=1.0), m.ground, body)
    m.torque("x", "1000*(1 - x^2)*x'")
    system = m.build()
    return system, system.assemble({"x": 2.0})


def arm() -> tuple[System, State]:
    """Six hinges with dampers that let the arm sink slowly."""
    m = mt.Model("overdamped arm")
    parent: Any = m.ground
    at: Any = (0, 0, 0)
    for i, axis in enumerate("zyyxyx"):
        body = m.body(f"link {i}", mass=2.0 / (i + 1), com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
        m.joint(f"J{i}", mt.Revolute(axis, damping=500.0), parent.at(at), body)
        parent, at = body, (0.4, 0, 0)
    system = m.build()
    return system, system.assemble({"J1": 0.3, "J2": -0.5, "J4": 0.4})


def walker() -> tuple[System, State]:
    """The walking mechanism, `stiff` in its file left out of account."""
    system = mt.load(WALKER).build()
    return system, system.start()


CASES = {
    "pendulum with a strut": Case(strut, 40.0),
    "van der Pol's oscillator": Case(van_der_pol, 3000.0),
    "overdamped arm": Case(arm, 60.0),
    "walking mechanism": Case(walker, 20.0),
}


def timed(system: System, start: State, t_end: float, **by: str | float) -> tuple[float, Run]:
    """CPU seconds of a run."""
    begun = time.process_time()
    run = system.simulate(start, t_end, every=t_end / 100, progress=False, **by)  # type: ignore[arg-type]
    return time.process_time() - begun, run


def measured(case: Case, repeat: int, seconds: float) -> list[list[str]]:
    """A row for each way."""
    t_end, first, runs = case.t_end, dict[str, float](), dict[str, Run]()
    for name, by in BY.items():
        system, start = case.make()  # which has no code yet
        first[name], runs[name] = timed(system, start, t_end, **by)
        if name == "dop853":
            while first[name] > seconds:
                t_end, first[name] = t_end / 2, first[name] / 2
            runs[name] = timed(system, start, t_end, **by)[1]
    times: dict[str, list[float]] = {name: [] for name in BY}
    for _ in range(repeat):
        for name, by in BY.items():
            times[name].append(timed(system, start, t_end, **by)[0])
    reference = timed(system, start, t_end, integrator="radau", rtol=1e-12)[1]
    rows = []
    for name, run in runs.items():
        s, error = run.statistics, np.abs(run.q - reference.q).max()
        at = "" if not s.switched_to else f"{s.stiff_from:.3g}"
        counts = f"{s.accepted} + {s.rejected}", f"{s.evaluations}", at
        rows.append([f"{t_end:g}", name, *counts, f"{error:.1e}", f"{first[name]:.2f}", f"{min(times[name]):.3f}"])
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--only", choices=CASES, nargs="*", default=list(CASES))
    options = parser.parse_args()
    os.environ["MOMENTREE_CACHE"] = "off"
    heads = "mechanism", "t_end", "by", "steps + rejected", "evaluations", "switched at", "error of q", "first", "again"
    print("|".join(["", *heads, ""]), "|".join(["", *["---"] * len(heads), ""]), sep="\n")
    for name in options.only:
        for row in measured(CASES[name], options.repeat, options.seconds):
            print("|".join(["", name, *row, ""]), flush=True)


if __name__ == "__main__":
    main()
