"""How long a new process takes to its first result, with an empty and with a filled cache of machine code."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_NUMPY = "import numpy"
_ARM = """
from example_models import aligned_arm
system = aligned_arm().build()
system.forward_dynamics([0.1] * 7, [0.2] * 7, [0.3] * 7)
"""
# what comes before the result is not counted: the model, and what it imports
_CHAIN = """
import time
from example_models import random_chain, random_states
system = random_chain({links}).build()
(row,) = random_states(system, 1).rows(1)
begun = time.perf_counter()
system.forward_dynamics(*row)
print(time.perf_counter() - begun)
"""


class Fresh(NamedTuple):
    """Medians over new processes.

    | field       | meaning                                                                          |
    |-------------|----------------------------------------------------------------------------------|
    | numpy       | CPU seconds of a process that imports NumPy and ends                             |
    | arm_cold    | CPU seconds of one that builds the 7-dof arm and evaluates it, empty cache       |
    | arm_cached  | the same, cache filled by a run before                                           |
    | chain_cold  | seconds from a built chain to its first result, empty cache                      |
    | chain_cached| the same, cache filled                                                           |
    """

    numpy: float
    arm_cold: float
    arm_cached: float
    chain_cold: float
    chain_cached: float


def fresh(repeat: int, links: int = 1000) -> Fresh:
    """Runs take turns."""
    chain = _CHAIN.format(links=links)
    runs: list[tuple[float, ...]] = []
    with tempfile.TemporaryDirectory() as filled:
        for _ in range(repeat + 1):
            with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as other:
                cold = _spent(_ARM, empty)[0], _spent(chain, other)[1]
            cached = _spent(_ARM, filled)[0], _spent(chain, filled)[1]
            runs.append((_spent(_NUMPY, filled)[0], cold[0], cached[0], cold[1], cached[1]))
    # the first turn fills the cache, and lets Python write its own files
    return Fresh(*(statistics.median(column) for column in zip(*runs[1:], strict=True)))


def _spent(code: str, cache: str) -> tuple[float, float]:
    """CPU seconds of the process, and what it printed, as a number."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"MOMENTREE_CACHE": cache, "PYTHONPATH": os.pathsep.join(paths)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, float(done.stdout or "nan")
