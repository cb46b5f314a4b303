"""How long it takes from a model to its first result: structure, tracing, text and LLVM, in a new process each.

    python benchmarks/code_time.py [--write docs/code-time.md] [--repeat 5] [--quick]

CPU seconds of a process with an empty cache of machine code, and with the cache that the first one filled. What it
imports is not counted. The time that LLVM takes is a part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent

# what a process does: `model()`, and what it takes from it; all are written as a user would
_PROGRAM = """
import json, sys, time
sys.path[:0] = {paths!r}
import numpy as np
import momentree as mt
import momentree.results.recorder, momentree.results.simulated_run, llvmlite.binding
from momentree.compile.execute import machine_code
from loop_models import WALKER, row_of_four_bars, row_start, walker_given
from example_models import random_chain, random_states
from mechanisms import delta_robot

spent, generated = [0.0], machine_code._generated
def timed(*arguments):
    begun = time.process_time()
    code = generated(*arguments)
    spent[0] += time.process_time() - begun
    return code
machine_code._generated = timed

def row(n):
    system = row_of_four_bars(n).build()
    return system.simulate(row_start(system, 1.0), t_end=0.001)

def chain(n):
    system = random_chain(n).build()
    (state,) = random_states(system, 1).rows(1)
    return system.forward_dynamics(*state)

def chain_motion(n):
    system = random_chain(n).build()
    return system.simulate(system.start(), t_end=0.001)

def walker():
    system = mt.load(WALKER).build()
    return system.simulate(system.assemble(*walker_given()), t_end=0.001)

def delta():
    system = delta_robot().build()
    return system.simulate(system.assemble(), t_end=0.001)

begun = time.process_time()
{call}
print(json.dumps([time.process_time() - begun, spent[0]]))
"""


class Case(NamedTuple):
    """What is measured: a name, the call, and the seconds of CPU that it should take at most, if any are set."""

    name: str
    call: str
    most: float | None = None


CASES = (
    Case("four-bar, motion", "row(1)"),
    Case("row of 100 four-bars, motion", "row(100)"),
    Case("row of 1000 four-bars, motion", "row(1000)", 5.0),
    Case("delta robot, motion", "delta()", 2.0),
    Case("walking mechanism, motion", "walker()"),
    Case("chain of 300, forward dynamics", "chain(300)"),
    Case("chain of 300, motion", "chain_motion(300)"),
)
QUICK = (Case("four-bar, motion", "row(1)"), Case("row of 50 four-bars, motion", "row(50)", 60.0))


class Figure(NamedTuple):
    """Medians of CPU seconds: with an empty cache, of that in LLVM, and with a filled cache."""

    case: Case
    cold: float
    llvm: float
    cached: float


def measured(case: Case, repeat: int) -> Figure:
    """Empty and filled caches in turn."""
    cold, cached = [], []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(_seconds(case.call, folder))
            cached.append(_seconds(case.call, folder)[0])
    return Figure(case, *(statistics.median(column) for column in zip(*cold, strict=True)), statistics.median(cached))


def _seconds(call: str, cache: str) -> list[float]:
    paths = [str(HERE), str(HERE.parent / "tests")]
    environment = os.environ | {"MOMENTREE_CACHE": cache, "MOMENTREE_PROGRESS": "off"}
    command = [sys.executable, "-c", _PROGRAM.format(paths=paths, call=call)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


PAGE = """# From a model to its first result

Written by `python benchmarks/code_time.py --write docs/code-time.md`: CPU seconds of a new process from describing the
model to the first result, imports not counted; medians of {repeat} with an empty cache of machine code and of {repeat}
with a filled one, in turn. {machine}

{table}

What was done so that it is short:

- **Functions are compiled once.** Samples are closed, and velocities found from momenta, by the functions that stand in
  the integrator's machine code (`compile/execute/rows_of_lanes.py`); only above 200,000 samples are they compiled for
  the lanes of a vector too.
- **Long modules in two tiers** (`compile/execute/tiers.py`). LLVM's register allocator takes two thirds of the time for
  long straight-line code. Modules of more than 20,000 lines are generated without it, which makes steps of a delta
  robot 35 % slower, and again with it once steps have taken as long as that will: the bits are the same. A short run
  never waits for it, a long one pays at most twice.
- **Texts are found again without tracing** (`compile/execute/traced_texts.py`). With a filled cache nearly all of the
  time was spent on making the text by which machine code is found. It is now stored by a digest of all that determines
  it: mechanism, formula, settings, processor and source files.
- **Similar loops are measured at once** (`assembly/similar_loops.py`). Closure errors of starts and of samples take
  columns with an entry for each loop of a kind, through the same formulas and with the same bits.
- **Linear structure.** Sizes and scales of loops are computed once for a mechanism, not for each loop and check.
- **Constant fields of bodies are classified once** for all that is traced of a mechanism (`FormTable`), and a body that
  is given further fields is classified from where it was.
- **Numbers are no part of the code** ([constants.md](constants.md)): a changed mass or length finds the code in the
  cache.
"""


def page(figures: list[Figure], repeat: int) -> str:
    """The page of these figures."""
    rows = [("what", "empty cache", "of that LLVM", "filled cache", "aim")]
    for figure in figures:
        aim = "" if figure.case.most is None else f"{figure.case.most:g}"
        rows.append((figure.case.name, *(f"{x:.2f}" for x in figure[1:]), aim))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    machine = f"Python {platform.python_version()}, {platform.machine()}, a core shared with others."
    return PAGE.format(repeat=repeat, machine=machine, table="\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="also write the page into this file")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small mechanisms, once each: does it run?")
    given = parser.parse_args()
    repeat = 1 if given.quick else given.repeat
    text = page([measured(case, repeat) for case in (QUICK if given.quick else CASES)], repeat)
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
