"""Evaluations of the equations of motion over the length of a chain: Hamiltonian, Lagrangian, first and second kind.

    python benchmarks/long_chains.py [--write docs/long-chains.md] [--quick]

Ivanov 2022 concludes that his algorithms take less time for long chains than Lagrange's equations of the second or of
the first kind. Here are these forms, in machine code, with and without matrices that grow with the chain. The
contestants take turns; medians are printed.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from example_models import random_chain
from forward_dynamics import alone, pin_to_one_core
from forward_dynamics_page import _processor, table
from loop_models import row_of_four_bars, row_start
from scipy.linalg import get_lapack_funcs

import momentree as mt
from momentree.simulate.simulation import new_simulation

STEP = 1e-5  # s, of rk4: so short that nothing much happens while it is timed
LENGTHS = (5, 10, 20, 40, 80, 160, 320)  # hinges
ROWS = (1, 2, 4, 8, 16, 32, 64)  # four-bars
TURN = 0.1  # s of CPU
LARGEST_MATRIX = 2000  # rows and columns


WHAT = {
    "Hamiltonian": "q' and p' by the paper's passes, (6) corrected; loops are eliminated in the same passes",
    "Lagrangian, articulated": "q' and u' by articulated bodies (ABA), loops by the same elimination",
    "Lagrangian, mass matrix": "the classical second kind: M(q), bias, Cholesky's factors of M (LAPACK), called from "
    "Python: about 1 µs of each figure",
    "Lagrangian, one matrix": "the classical first kind: accelerations and multipliers by one dense solution (LAPACK); "
    "that solution alone",
    "absolute, by elimination": "first kind, bodies by themselves, every joint a constraint, eliminated along the tree",
    "absolute, one matrix": "the same by one dense solution, 6 n_b + n_c unknowns; that solution alone",
}


class Form(NamedTuple):
    """A form of the equations of motion.

    | field | meaning                                                                                                |
    |-------|--------------------------------------------------------------------------------------------------------|
    | name  | as the tables call it                                                                                  |
    | kind  | of Lagrange's equations, or Hamiltonian                                                                |
    | cost  | how it grows, by theory: the power of n                                                                |
    | takes | seconds of CPU for a number of evaluations of a system from a start; None where it is not tried        |
    """

    name: str
    kind: str
    cost: int
    takes: Callable[[mt.System, Any], Callable[[int], float] | None]


# --- contestants ---


def simulated(formulation: str) -> Callable[[mt.System, Any], Callable[[int], float]]:
    """Right-hand sides of `simulate`, by steps of rk4; what comes before the first step and samples do not count."""

    def contestant(system: mt.System, start: Any) -> Callable[[int], float]:
        settings = {"formulation": formulation, "stabilization": "none", "integrator": "rk4", "step": STEP}

        def run(steps: int) -> tuple[float, int]:
            duration = steps * STEP
            simulation = new_simulation(system, start, t_end=start.t + duration, every=duration, **settings)
            begun = time.process_time()
            while simulation.advance() is not None:
                pass
            return time.process_time() - begun, simulation.statistics.evaluations

        run(1)  # compiles
        least, few = min(run(1) for _ in range(9))  # what samples take besides

        def takes(count: int) -> float:
            spent, many = run(1 + max(1, count // 4))
            return max(spent - least, 0.0) * count / (many - few)

        takes.least = least  # type: ignore[attr-defined]
        return takes

    return contestant


def by_mass_matrix(system: mt.System, start: Any) -> Callable[[int], float]:
    """M(q) and the bias in machine code, then M v' = -bias by Cholesky's factors in LAPACK."""
    q, v = start.q, start.v
    solve = get_lapack_funcs("posv", dtype=float)
    system.mass_matrix(q), system.bias(q, v)

    def takes(count: int) -> float:
        begun = time.process_time()
        for _ in range(count):
            solve(system.mass_matrix(q), system.bias(q, v))
        return time.process_time() - begun

    return takes


def by_one_matrix(size: Callable[[mt.System], int]) -> Callable[[mt.System, Any], Callable[[int], float] | None]:
    """The solution alone of one dense system with all accelerations and Lagrange multipliers, in LAPACK."""

    def contestant(system: mt.System, start: Any) -> Callable[[int], float] | None:
        n = size(system)
        if n > LARGEST_MATRIX:
            return None
        random = np.random.default_rng(0)
        matrix, right = random.normal(size=(n, n)) + n * np.eye(n), random.normal(size=n)

        def takes(count: int) -> float:
            begun = time.process_time()
            for _ in range(count):
                np.linalg.solve(matrix, right)
            return time.process_time() - begun

        return takes

    return contestant


def bodies_and_joints(system: mt.System) -> int:
    """6 n_b + n_c of the lecture of Yudintsev: all bodies by themselves, every joint a constraint."""
    bodies = system.mechanism.bodies
    joints = sum(6 - (body.v.stop - body.v.start) for body in bodies)
    return 6 * len(bodies) + joints + sum(len(loop.rows) for loop in system.mechanism.loops)


def joints_and_loops(system: mt.System) -> int:
    """Velocities of the tree and constraints of its loops."""
    return system.nv + sum(len(loop.rows) for loop in system.mechanism.loops)


HAMILTONIAN = Form("Hamiltonian", "q', p'", 1, simulated("hamiltonian"))
ARTICULATED = Form("Lagrangian, articulated", "q', u'", 1, simulated("lagrange"))
ABSOLUTE = Form("absolute, by elimination", "first kind", 1, simulated("absolute"))
ONE_MATRIX = Form("absolute, one matrix, solution alone", "first kind", 3, by_one_matrix(bodies_and_joints))
CHAIN_FORMS = (
    HAMILTONIAN,
    ARTICULATED,
    Form("Lagrangian, mass matrix", "second kind", 3, by_mass_matrix),
    ABSOLUTE,
    ONE_MATRIX,
)
ROW_FORMS = (
    HAMILTONIAN,
    ARTICULATED,
    Form("Lagrangian, one matrix, solution alone", "first kind", 3, by_one_matrix(joints_and_loops)),
    ABSOLUTE,
    ONE_MATRIX,
)


# --- measuring ---

Figures = dict[str, dict[int, float]]  # microseconds of an evaluation, by form and length


def measured(
    forms: Sequence[Form], lengths: Sequence[int], made: Callable[[int], tuple[mt.System, Any]], turns: int
) -> Figures:
    """The median over the turns, in which each form evaluates for TURN seconds."""
    found: Figures = {form.name: {} for form in forms}
    for n in lengths:
        system, start = made(n)
        contestants = {form.name: form.takes(system, start) for form in forms}
        counts = {name: _count(takes) for name, takes in contestants.items() if takes}
        times: dict[str, list[float]] = {name: [] for name in counts}
        for _ in range(turns):
            for name, count in counts.items():
                takes = contestants[name]
                assert takes is not None
                times[name].append(takes(count) / count * 1e6)
        for name, each in times.items():
            found[name][n] = statistics.median(each)
    return found


def _count(takes: Callable[[int], float]) -> int:
    """How many evaluations take about as long as a turn, and longer than what does not count."""
    enough, count = max(TURN / 2, 2 * getattr(takes, "least", 0.0)), 4
    while min(takes(count) for _ in range(3)) < enough and count < 1_000_000:
        count *= 4
    return count


def chain(n: int) -> tuple[mt.System, Any]:
    """A chain of n hinges in space, full inertias, moving."""
    system = random_chain(n).build()
    return system, system.assemble(velocities={f"hinge{i}": 0.3 * (-1) ** i for i in range(n)})


def row(n: int) -> tuple[mt.System, Any]:
    """n four-bars in a row, falling."""
    system = row_of_four_bars(n).build()
    return system, row_start(system, 1.0)


# --- the page ---


def report(quick: bool) -> str:
    load = os.getloadavg()[0]
    pin_to_one_core()
    turns = 3 if quick else 21
    chains = measured(CHAIN_FORMS, LENGTHS[:3] if quick else LENGTHS, chain, turns)
    rows = measured(ROW_FORMS, ROWS[:3] if quick else ROWS, row, turns)
    note = " A quick run, too short to tell; `make bench` measures." if quick else ""
    return page(chains, rows, f"On {_processor()}, one core; load before the start {load:.1f}.{note}")


def page(chains: Figures, rows: Figures, where: str) -> str:
    """The page: two tables, and what they say of the claim."""
    lines = [
        "# Long chains",
        "",
        "Made by `python benchmarks/long_chains.py --write docs/long-chains.md`.",
        "",
        "Ivanov 2022 concludes that his algorithms shorten the simulation of mechanisms with long chains, compared",
        "with Lagrange's equations of the second or of the first kind ([sources](sources/ivanov-2022.md)). The paper",
        "gives no figures. Here are microseconds of CPU for one evaluation of the derivatives of the state, over the",
        "length; a million divided by them are evaluations per second.",
        "",
        where,
        "",
        *table(["form", "what it does"], list(WHAT.items())),
        "## A chain of n hinges in space",
        "",
        *figures(chains, "n"),
        "",
        "## A row of n four-bars",
        "",
        *figures(rows, "n"),
        "",
        "## What is true in the claim",
        "",
        *verdict(chains, rows),
    ]
    return "\n".join(lines).rstrip() + "\n"


def figures(found: Figures, head: str) -> list[str]:
    """Microseconds by length, and how they grow at the end: the power of n between the last two lengths."""
    lengths = sorted({n for times in found.values() for n in times})
    lines = []
    for name, times in found.items():
        cells = [f"{times[n]:.3g}" if n in times else "-" for n in lengths]
        lines.append([name, *cells, f"{growth(times):.1f}"])
    return table([f"µs at {head} =", *map(str, lengths), "grows as n^"], lines)[:-1]


def growth(times: dict[int, float]) -> float:
    """The power of n by which the time grows between the last two lengths."""
    if len(times) < 2:
        return math.nan
    (a, x), (b, y) = sorted(times.items())[-2:]
    return math.log(y / x) / math.log(b / a)


def verdict(chains: Figures, rows: Figures) -> list[str]:
    """The claim, by ratios of the tables."""
    ours = chains[HAMILTONIAN.name]

    def ratio(found: Figures, name: str) -> str:
        shared = sorted(found[name].keys() & found[HAMILTONIAN.name].keys())
        each = [found[name][n] / found[HAMILTONIAN.name][n] for n in (shared[0], shared[-1])]
        first, last = (f"{float(f'{x:.1e}'):g}" for x in each)  # two digits
        return f"{first} times at n = {shared[0]}, {last} times at n = {shared[-1]}"

    claims = [
        ("second kind, with a mass matrix", ratio(chains, "Lagrangian, mass matrix")),
        ("second kind, by articulated bodies", ratio(chains, ARTICULATED.name)),
        ("first kind, bodies by themselves, by elimination", ratio(chains, ABSOLUTE.name)),
        ("first kind, bodies by themselves, one matrix", ratio(chains, ONE_MATRIX.name)),
        ("first kind in joint coordinates, loops by elimination", ratio(rows, ARTICULATED.name)),
        ("first kind in joint coordinates, one matrix", ratio(rows, "Lagrangian, one matrix, solution alone")),
    ]
    return [
        *table(["Lagrange's equations", "time, relative to the Hamiltonian form"], claims),
        f"The Hamiltonian form grows as n^{growth(ours):.1f}. Where a form solves with a matrix of the size of the",
        "chain, its time grows with the cube of n in the end, and the claim is true for long chains. Where it is",
        "solved along the tree, as the Hamiltonian form is, both grow in proportion to n, and the claim comes down to",
        "a constant factor: see the table. It is the passes along the tree that make long chains cheap, not the",
        "variables.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--quick", action="store_true", help="short chains, few turns, rough figures")
    given = parser.parse_args()
    alone()
    text = report(given.quick)
    if given.write:
        given.write.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
