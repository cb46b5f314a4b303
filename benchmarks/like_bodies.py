"""Like bodies in the lanes of one vector against one body after the other, where a single row is computed.

    python benchmarks/like_bodies.py [--repeat 61] [--prices]

All codes of a model run in turns in one process, each on 50 rows, one after the other. Printed are medians of the time
of a row, with quartiles, for 1, 2, 4 and 8 bodies at a time, and how many the estimate chooses. With --prices, what
operations, gathers and chunks take (compile/emit/rolled_costs.py), fitted to all of these times.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

sys.path.append(str(Path(__file__).parents[1] / "tests"))
os.environ["MOMENTREE_TEXTS"] = "off"  # both codes are traced here, not found by what determines one of them

import momentree as mt
from momentree.compile.emit.rolled_costs import Work, work
from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import trace_rolled
from momentree.compile.trace.right_hand_sides import right_hand_side_code
from momentree.equations.formulations import FORMULATIONS
from rolled_systems import SIDE_BY_SIDE, SYSTEMS, arguments, binary_tree, brush, chain, four_bars_side_by_side, legs

ROWS = 50
WIDTHS = (1, 2, 4, 8)
WHATS = ("forward_dynamics", "inverse_dynamics", "hamiltonian")
MODELS: dict[str, Callable[[], mt.System]] = {
    **SIDE_BY_SIDE,
    "binary tree of 127": lambda: binary_tree(7),
    "chain of 40": lambda: chain(40),
}
OTHERS: dict[str, Callable[[], mt.System]] = {
    "4 legs of 3": lambda: legs(4, 3),
    "20 legs of 2": lambda: legs(20, 2),
    "5 four-bars": lambda: four_bars_side_by_side(5),
    "brush of 10": lambda: brush(10),
    **{name: SYSTEMS[name] for name in ("twigs", "loops")},
}


def code_of(system: mt.System, what: str) -> Rolled:
    """The rolled code of a quantity or, by the name of a formulation, of the right-hand side."""
    if what not in FORMULATIONS:
        return trace_rolled(system.mechanism, what)
    code = right_hand_side_code(system.mechanism, FORMULATIONS[what], "rolled")
    assert isinstance(code, Rolled)
    return code


def call_of(code: Rolled, system: mt.System) -> Callable[[], None]:
    """Computes ROWS rows of random arguments, one after the other."""
    arrays = arguments(code, system, ROWS)
    kernel, out = Kernel(code, 1, Target.host()), np.empty((ROWS, code.outputs))
    function, memory = kernel.function(1), kernel.scratch(1)
    starts = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
    steps = (ctypes.c_int64 * len(arrays))(*[array.shape[1] for array in arrays])

    def call(_kept: object = (kernel, arrays)) -> None:
        function(starts, steps, out.ctypes.data, 0, ROWS, memory.ctypes.data)

    return call


def nanoseconds(code: Rolled, system: mt.System, repeat: int) -> dict[int, np.ndarray]:
    """Quartiles of the time of a row, by bodies at a time."""
    calls = {lanes: call_of(code.side_by_side(lanes), system) for lanes in WIDTHS}
    times: dict[int, list[float]] = {lanes: [] for lanes in calls}
    for _ in range(repeat):
        for lanes, call in calls.items():
            begun = time.perf_counter()
            call()
            times[lanes].append((time.perf_counter() - begun) / ROWS * 1e9)
    return {lanes: np.quantile(each, (0.25, 0.5, 0.75)) for lanes, each in times.items()}


def prices(measured: list[tuple[dict[int, float], dict[int, Work]]]) -> None:
    """Prints what is fitted to all times, by lanes, in operations on numbers of code without lanes."""
    unit = 1.0
    for lanes in WIDTHS:
        works = np.array([each[lanes] for _, each in measured], dtype=float)
        times = np.array([each[lanes] for each, _ in measured])
        found, _ = nnls(works / times[:, None], np.ones(len(times)))
        unit = found[0] if lanes == 1 else unit
        errors = np.quantile(works @ found / times, (0.1, 0.25, 0.75, 0.9)).round(2)
        print(f"{lanes} lanes: {(found / unit).round(2)}; of the time, the estimate is {errors} (10, 25, 75, 90 %)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=61)
    parser.add_argument("--prices", action="store_true")
    options = parser.parse_args()
    measured: list[tuple[dict[int, float], dict[int, Work]]] = []
    print("| model | of | 1 at a time, ns | 2 | 4 | 8 | chosen | times as fast |\n|---|---|---|---|---|---|---|---|")
    for name, make in (MODELS | (OTHERS if options.prices else {})).items():
        system = make()
        for what in WHATS:
            code = code_of(system, what)
            times = nanoseconds(code, system, options.repeat)
            chosen, median = code.bodies_at_a_time, {lanes: float(of[1]) for lanes, of in times.items()}
            cells = [f"{b:.0f} ({a:.0f} to {c:.0f})" for a, b, c in times.values()]
            gain = f"{median[1] / median[chosen]:.2f}"
            print("|", " | ".join([name, what, *cells, str(chosen), gain]), "|", flush=True)
            measured.append((median, {lanes: work(code, lanes) for lanes in WIDTHS}))
    if options.prices:
        prices(measured)


if __name__ == "__main__":
    main()
