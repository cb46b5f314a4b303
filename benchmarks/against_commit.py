"""This checkout against another one of the project, for example a worktree of the commit before.

    git worktree add ../before HEAD~1
    python benchmarks/against_commit.py --other ../before [--rounds 15] [--quick] [--only NAME ...]

Each round starts a new process for either checkout, in turn first and second, on one core and with an empty cache of
machine code. In each all quantities are measured, in CPU time. Printed are the medians over the rounds, the median of
the ratios of the two processes of a round, and the quartiles of these ratios: what lies within the spread says nothing.
No figure decides by itself. Only calls that both checkouts know are made; what one of them lacks is left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import momentree as mt

HERE = Path(__file__).resolve().parents[1]
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MOMENTREE_THREADS": "1", "MOMENTREE_CACHE": "off"}
SECTIONS = ("import", "dynamics", "compile", "assemble", "right-hand side", "simulate")


class Effort(NamedTuple):
    """How long to measure: rounds, seconds and repetitions of a quantity, entries of a batch, simulated seconds."""

    rounds: int = 15
    turn: float = 0.05
    repeats: int = 9
    batch: int = 1024
    simulated: float = 5.0


QUICK = Effort(rounds=1, turn=1e-3, repeats=2, batch=32, simulated=0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, help=f"pairs of processes ({Effort().rounds})")
    parser.add_argument("--quick", action="store_true", help="a short run, which measures too little to tell")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=SECTIONS, default=SECTIONS, help=str(SECTIONS))
    parser.add_argument("--write", type=Path, help="also write the table into this file")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)  # in a new process: one checkout, as JSON
    options = parser.parse_args()
    effort = QUICK if options.quick else Effort()
    effort = effort._replace(rounds=options.rounds or effort.rounds)
    if options.measure:
        print(json.dumps(dict(measured(options.measure, effort, options.only))))
        return
    if options.other is None or not (options.other / "src" / "momentree").is_dir():
        parser.error(f"--other {options.other}: there is no src/momentree in it. Name a checkout of the project.")
    text = table(taken_in_turns(options.other.resolve(), effort, options))
    print(text)
    if options.write:
        options.write.write_text(text + "\n", encoding="utf-8")


# --- rounds ---

Pair = tuple[float, float]  # this checkout, the other


def taken_in_turns(other: Path, effort: Effort, options: argparse.Namespace) -> dict[str, list[Pair]]:
    """Of each quantity the CPU seconds by this checkout and by the other, round by round."""
    pairs: dict[str, list[Pair]] = {}
    for i in range(effort.rounds):
        checkouts = [HERE, other] if i % 2 == 0 else [other, HERE]
        results = {checkout: in_new_process(checkout, effort, options) for checkout in checkouts}
        for name, seconds in results[HERE].items():
            if name in results[other]:
                pairs.setdefault(name, []).append((seconds, results[other][name]))
        print(f"round {i + 1} of {effort.rounds}", file=sys.stderr)
    return pairs


def in_new_process(checkout: Path, effort: Effort, options: argparse.Namespace) -> dict[str, float]:
    """What a checkout needs, measured by this file in an interpreter that imports that checkout."""
    environment = os.environ | ALONE | {"PYTHONPATH": str(checkout / "src")}
    words = [__file__, "--measure", str(checkout), "--rounds", str(effort.rounds), "--only", *options.only]
    words += ["--quick"] if options.quick else []
    done = subprocess.run([sys.executable, *words], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def table(pairs: dict[str, list[Pair]]) -> str:
    """Medians, the ratio of this checkout to the other, and its quartiles."""
    lines = ["| quantity | this | other | this / other | quartiles |", "|---|---|---|---|---|"]
    for name, rounds in pairs.items():
        ratios = [ours / theirs for ours, theirs in rounds]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        medians = [readable(statistics.median(column)) for column in zip(*rounds, strict=True)]
        lines.append(f"| {name} | {medians[0]} | {medians[1]} | {middle:.3f} | {low:.3f} to {high:.3f} |")
    return "\n".join(lines)


def readable(seconds: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


# --- quantities, measured in the process of a checkout ---


def measured(checkout: Path, effort: Effort, wanted: Sequence[str]) -> Iterator[tuple[str, float]]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if "import" in wanted:
        yield "import momentree", import_time(effort)
    import momentree

    assert Path(momentree.__file__).is_relative_to(checkout), momentree.__file__
    sections = {"compile": compiling, "dynamics": dynamics, "assemble": assembling}
    sections |= {"right-hand side": right_hand_sides, "simulate": simulating}
    for name, section in sections.items():
        if name in wanted:
            yield from section(checkout, effort)


def spent(work: Callable[[], Any]) -> float:
    """CPU seconds."""
    gc.collect()
    begun = time.process_time()
    work()
    return time.process_time() - begun


def each(work: Callable[[], Any], effort: Effort) -> float:
    """CPU seconds of one call: the median over repetitions of as many calls as fill a turn."""

    def calls(count: int) -> float:
        return spent(lambda: [work() for _ in range(count)])

    work()
    count = 1
    while (seconds := calls(count)) < effort.turn / 4 and count < 10**6:
        count *= 4
    count = max(1, round(count * effort.turn / max(seconds, 1e-9)))
    return statistics.median(calls(count) / count for _ in range(effort.repeats))


def import_time(effort: Effort) -> float:
    """CPU seconds of a process that imports the library, less those of one that imports NumPy."""

    def process(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    process("import momentree")
    return statistics.median(process("import momentree") - process("import numpy") for _ in range(effort.repeats))


def trees() -> dict[str, Callable[[], mt.Model]]:
    from example_models import aligned_arm, humanoid, random_chain

    arms = {"7-joint arm": aligned_arm, "7R": lambda: random_chain(7)}
    return arms | {"35-dof humanoid": humanoid, "chain of 300": lambda: random_chain(300)}


def random_states(system: mt.System, rows: int) -> tuple[Any, Any, Any]:
    """Coordinates, velocities and generalized forces; the quaternion of the humanoid's pelvis is of unit length."""
    import numpy as np

    random = np.random.default_rng(1)
    q = random.uniform(-np.pi, np.pi, (rows, system.nq))
    if system.nq > system.nv:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q, *(np.ascontiguousarray(array) for array in random.standard_normal((2, rows, system.nv)))


def compiling(checkout: Path, effort: Effort) -> Iterator[tuple[str, float]]:
    """The first result of a system, before which it is traced and compiled; C, which is traced but not compiled."""
    for name, model in trees().items():
        systems = [model().build() for _ in range(effort.repeats)]
        (q,), (v,), (tau,) = random_states(systems[0], 1)
        compiled = [spent(partial(system.forward_dynamics, q, v, tau)) for system in systems]
        yield f"trace and compile forward dynamics, {name}", statistics.median(compiled)
        if systems[0].nv < 50:  # longer ones are not exported
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "tree.c"
                traced = [spent(partial(system.export_c, file, "forward_dynamics")) for system in systems]
            yield f"trace and write C, {name}", statistics.median(traced)
        yield f"build, {name}", statistics.median(spent(model().build) for _ in range(effort.repeats))


def dynamics(checkout: Path, effort: Effort) -> Iterator[tuple[str, float]]:
    for name, model in trees().items():
        system = model().build()
        states = random_states(system, effort.batch)
        one = [array[0].copy() for array in states]
        yield f"forward dynamics, {name}", each(partial(system.forward_dynamics, *one), effort)
        batch = each(partial(system.forward_dynamics, *states), effort)
        yield f"forward dynamics, {name}, batch, each", batch / effort.batch


def four_bar() -> mt.Model:
    import momentree as mt

    m = mt.Model("four-bar")
    crank, coupler, rocker = (
        m.body(name, mt.rod(mass=1.0, length=x)) for name, x in zip("abc", (1, 2, 2), strict=True)
    )
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2, 0, 0)), rocker.at((2, 0, 0)))
    return m


def pendulum() -> mt.Model:
    import momentree as mt

    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    return m


def assembling(checkout: Path, effort: Effort) -> Iterator[tuple[str, float]]:
    import momentree as mt

    system = four_bar().build()
    yield "assemble, four-bar", each(lambda: system.assemble({"A": 1.0}, {"A": 2.0}), effort)
    walker = mt.load(walking(checkout)).build()
    yield "assemble, walking mechanism", each(walker.start, effort)


def walking(checkout: Path) -> Path:
    return checkout / "examples" / "13_walking_mechanism" / "model.toml"


def right_hand_sides(checkout: Path, effort: Effort) -> Iterator[tuple[str, float]]:
    """What an evaluation costs within a simulation: by how much a longer run of equal steps takes more."""
    from example_models import aligned_arm
    from linkages import bennett, row_of_four_bars

    short, long = effort.simulated / 5, effort.simulated
    for name, model, start in (
        ("7-joint arm", aligned_arm, {f"hinge{i}": 0.1 * i for i in range(7)}),
        ("four-bar", four_bar, {"A": 1.0}),
        ("Bennett", bennett, {"R1": 1.0}),
        ("40 four-bars in a row", lambda: row_of_four_bars(40), {"G0": 0.3}),
    ):
        system = model().build()
        begin = system.assemble(start)
        runs = [partial(system.simulate, begin, t, integrator="rk4", step=1e-3, every=t) for t in (short, long)]
        seconds = [[spent(run) for run in runs] for _ in range(effort.repeats + 1)][1:]  # the first time it is compiled
        least = [min(column) for column in zip(*seconds, strict=True)]
        yield f"right-hand side, {name}", max(least[1] - least[0], 1e-9) / (4 * (long - short) / 1e-3)


def simulating(checkout: Path, effort: Effort) -> Iterator[tuple[str, float]]:
    """CPU seconds of a simulated second, all settings at their defaults."""
    import momentree as mt

    cases = [("pendulum", pendulum(), {"A": 1.0}), ("four-bar", four_bar(), {"A": 1.0})]
    for name, model, start in [*cases, ("walking mechanism", mt.load(walking(checkout)), None)]:
        system = model.build()
        begin = system.start() if start is None else system.assemble(start)
        run = partial(system.simulate, begin, effort.simulated)
        yield f"simulate, {name}, first run", spent(run)
        again = statistics.median(spent(run) for _ in range(effort.repeats))
        yield f"simulate, {name}, CPU of a simulated second", again / effort.simulated


if __name__ == "__main__":
    main()
