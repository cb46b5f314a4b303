"""Where the time of a batch goes that comes once, after other work: pages, threads, machine code or Python.

    python benchmarks/cold_batch.py [--rows 512] [--repeat 80]

Forward dynamics of the random chain of seven hinges, after other work of several kinds. Least and lower quartile of
microseconds: of the whole call, on one thread and on all; of the machine code alone; of the machine code for as many
rows as there are lanes, which is what fetching it costs; and minor page faults of the whole call.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from example_models import random_chain, random_states

from momentree.compile.execute.choice import kernel_of

Work = Callable[[], object]


def other_work() -> dict[str, Work]:
    """What comes before a batch."""
    large = np.zeros(8 * 2**20)
    return {
        "nothing": lambda: None,
        "64 MB touched": lambda: np.add(large, 1.0, out=large),
        "Python, 1 ms": lambda: sum(i * i for i in range(20_000)),
        "5 ms asleep": lambda: time.sleep(0.005),
    }


def parts(rows: int) -> dict[str, Work]:
    """What is timed."""
    system = random_chain(7).build()
    columns = [np.array(column) for column in zip(*random_states(system, rows).rows(rows), strict=True)][:3]
    out, kernel = np.empty((rows, 7)), kernel_of(system.mechanism, "forward_dynamics")
    width = kernel.width
    arrays = [*columns, np.zeros((1, 1))]
    starts = (ctypes.c_void_p * 4)(*[array.ctypes.data for array in arrays])
    strides, scratch = (ctypes.c_int64 * 4)(7, 7, 7, 0), kernel.scratch(width)

    def machine_code(count: int) -> Any:
        # kernel and arrays are named, so that they live as long as their addresses are used
        return arrays and kernel.function(width)(starts, strides, out.ctypes.data, 0, count, scratch.ctypes.data)

    return {
        "whole, one thread": lambda: system.forward_dynamics(*columns, threads=1),
        "whole, out=": lambda: system.forward_dynamics(*columns, out=out, threads=1),
        "whole, threads": lambda: system.forward_dynamics(*columns),
        "machine code": lambda: machine_code(rows),
        f"machine code, {width} rows": lambda: machine_code(width),
    }


def measured(part: Work, before: Work, repeat: int) -> tuple[float, float, int]:
    """Least and lower quartile in microseconds, and the median of page faults."""
    part()
    times, faults = [], []
    for _ in range(repeat):
        before()
        begun, first = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        part()
        times.append(1e6 * (time.perf_counter() - begun))
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - first)
    return min(times), float(np.quantile(times, 0.25)), int(np.median(faults))


def report(rows: int, repeat: int) -> str:
    """A table: a line for each part, a column for each kind of other work."""
    works = other_work()
    lines = [f"| {rows} rows, us | {' | '.join(works)} |", "|---" * (len(works) + 1) + "|"]
    for name, part in parts(rows).items():
        cells = [
            f"{least:.0f} ({quartile:.0f}), {faults} faults"
            for least, quartile, faults in (measured(part, before, repeat) for before in works.values())
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=80)
    given = parser.parse_args()
    print(report(given.rows, given.repeat))


if __name__ == "__main__":
    main()
