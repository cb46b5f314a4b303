"""Damaged run files: each is loaded equal to what was saved, or gives one error; none hangs, none gives other data.

    python benchmarks/damaged_files.py [-n 1000] [--seed 0]

Half of them are finished files, half the files of runs that were interrupted. Damage: flipped bits, zeroed blocks,
overwritten blocks, truncation, swapped blocks, each at a random place. Each file is loaded in a process that the system
ends after a minute, so that a hang is counted. Exit status 1 if there is any outcome but "equal" and "error".
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import momentree as mt
from momentree.results import recorder

MODEL = Path(__file__).parents[1] / "examples" / "08_four_bar" / "model.toml"
HOW = {"t_end": 3.0, "integrator": "rk4", "step": 1e-3, "every": 0.01}
HANG = 60.0  # seconds after which a load counts as one
KINDS = ("flip", "zero", "overwrite", "cut", "swap")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-n", type=int, default=1000, help="how many files")
    words.add_argument("--seed", type=int, default=0, help="of the first")
    words.add_argument("--work", metavar="FOLDER", help=argparse.SUPPRESS)
    chosen = words.parse_args()
    seeds = range(chosen.seed, chosen.seed + chosen.n)
    if chosen.work:
        load_damaged(Path(chosen.work), seeds)
        return
    with tempfile.TemporaryDirectory() as folder:
        outcomes = campaign(Path(folder), seeds)
    print(json.dumps(summary(outcomes), indent=2))
    sys.exit(any(row["outcome"] not in ("equal", "error") for row in outcomes))


def summary(outcomes: list[dict]) -> dict:
    """Counts by state of the run and by outcome, the bad seeds, and the longest time (s) of the processor."""
    counts: dict[str, collections.Counter] = {"finished": collections.Counter(), "interrupted": collections.Counter()}
    for row in outcomes:
        counts[row["state"]][row["outcome"]] += 1
    bad = [row for row in outcomes if row["outcome"] not in ("equal", "error")]
    longest = max((row["seconds"] for row in outcomes), default=0.0)
    return {"files": len(outcomes), **{k: dict(v) for k, v in counts.items()}, "longest": longest, "bad": bad}


def campaign(folder: Path, seeds: range) -> list[dict]:
    """The outcome for each seed; a process that hangs or crashes is replaced by another, from the next seed on."""
    prepare(folder)
    outcomes: list[dict] = []
    while len(outcomes) < len(seeds):
        first = seeds[len(outcomes)]
        left = len(seeds) - len(outcomes)
        command = [sys.executable, __file__, "--work", str(folder), "-n", str(left), "--seed", str(first)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 1:
            raise SystemExit(f"{' '.join(command)}: failed")
        outcomes += [json.loads(line) for line in done.stdout.splitlines() if line.endswith("}")]
        if len(outcomes) < len(seeds):
            what = "hang" if done.returncode == -signal.SIGALRM else f"crash ({done.returncode})"
            outcomes.append({"seed": seeds[len(outcomes)], "state": state_of(seeds[len(outcomes)]), "outcome": what})
            outcomes[-1] |= {"kind": "", "message": "", "seconds": HANG}
    return outcomes


def prepare(folder: Path) -> None:
    """A finished run, and one that was interrupted."""
    system = mt.load(MODEL).build()
    start = system.assemble({"A": 1.0}, velocities={"A": 2.0})
    recorder.SECONDS = 0.0  # a chunk after every block
    system.simulate(start, **HOW, path=folder / "finished.nc", progress=False)

    blocks: list[float] = []

    def stop(t: float, closure_error: float) -> None:
        blocks.append(t)
        if len(blocks) == 5:
            signal.raise_signal(signal.SIGINT)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        long = {**HOW, "t_end": 1e4, "every": 0.1}
        system.simulate(start, **long, path=folder / "interrupted.nc", progress=stop)


def state_of(seed: int) -> str:
    return ("finished", "interrupted")[seed % 2]


def load_damaged(folder: Path, seeds: range) -> None:
    """Damage a copy, load it, print the outcome; for each seed."""
    whole = {state: mt.load_run(folder / f"{state}.nc") for state in ("finished", "interrupted")}
    content = {state: content_of(run) for state, run in whole.items()}
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for seed in seeds:
        chance, state = random.Random(seed), state_of(seed)
        place = folder / f"damaged-{os.getpid()}"
        place.mkdir()
        kind = damaged_copy(folder, place, state, chance)
        signal.setitimer(signal.ITIMER_REAL, HANG)
        began = processor_time()
        outcome, message = loaded(place / f"{state}.nc", whole[state], content[state])
        seconds = round(processor_time() - began, 3)
        signal.setitimer(signal.ITIMER_REAL, 0)
        row = {"seed": seed, "state": state, "kind": kind, "outcome": outcome, "message": message, "seconds": seconds}
        print(json.dumps(row), flush=True)
        shutil.rmtree(place)


def processor_time() -> float:
    """Of this process and its children (s)."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def loaded(path: Path, whole: mt.Run, content: tuple) -> tuple[str, str]:
    """The outcome, and the message of an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = mt.load_run(path)
        except mt.RunError as error:
            n = len(error.run.t)
            same = np.array_equal(error.run.q, whole.q[:n]) and np.array_equal(error.run.v, whole.v[:n])
            return ("error" if same else "other data", str(error))
        except mt.MomentreeError as error:
            return "error", str(error)
        except Exception as error:
            return f"bare {type(error).__name__}", str(error)
        try:
            return ("equal" if content_of(found) == content else "other data"), ""
        except Exception as error:
            return "other data", f"{type(error).__name__}: {error}"


def content_of(run: mt.Run) -> tuple:
    """Everything that a run file holds, comparable."""
    arrays = (run.t, run.q, run.v, run.samples.work, run.closure_error, run.closure_velocity, run.energy.balance)
    others = (
        run.work_terms,
        dict(run.settings),
        run.statistics,
        run.end,
        run.model,
        run.free,
        run.version,
        run.warnings,
    )
    return (*((array.shape, array.tobytes()) for array in arrays), *map(repr, others))


def damaged_copy(folder: Path, place: Path, state: str, chance: random.Random) -> str:
    """A copy of the run in which one file is damaged; how."""
    if state == "finished":
        victim = Path(shutil.copy(folder / "finished.nc", place))
    else:
        parts = Path(shutil.copytree(folder / "interrupted.nc.parts", place / "interrupted.nc.parts"))
        victim = chance.choice(sorted(file for file in parts.iterdir() if file.name != "lock"))
    content = victim.read_bytes()
    kind, damaged = chance.choice(KINDS), content
    while damaged == content:
        damaged = damage(content, kind, chance)
    victim.write_bytes(damaged)
    return f"{victim.name}: {kind}"


def damage(content: bytes, kind: str, chance: random.Random) -> bytes:
    """The bytes, damaged somewhere."""
    found, size = bytearray(content), min(len(content) // 3, chance.choice([16, 64, 512, 4096]))
    at = chance.randrange(len(content) - size)
    if kind == "flip":
        for _ in range(chance.choice([1, 1, 1, 2, 8])):
            found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    elif kind == "zero":
        found[at : at + size] = bytes(size)
    elif kind == "overwrite":
        found[at : at + size] = chance.randbytes(size)
    elif kind == "cut":
        del found[chance.randrange(len(found)) :]
    else:
        other = chance.randrange(len(content) - size)
        first, second = content[at : at + size], content[other : other + size]
        found[other : other + size] = first
        found[at : at + size] = second
    return bytes(found)


if __name__ == "__main__":
    main()
