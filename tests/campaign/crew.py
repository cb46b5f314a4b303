"""Many mechanisms on several processes; each result is written as it comes, so that a kill loses nothing."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from campaign.compare import EVERY_METHOD, Result, examine
from campaign.families import FAMILIES
from campaign.generator import RUNS
from campaign.metamorphic import obey
from campaign.report import line_of, load

Task = tuple[int, int, str, bool]  # seed, one in how many runs, family, by laws in place of the oracle

LIMIT = 300  # s of CPU time for one mechanism: what takes longer hangs


def campaign(
    seeds: Sequence[int], path: Path, jobs: int = 1, runs: int = RUNS, family: str = "plain", laws: bool = False
) -> None:
    """Compare the mechanisms of these seeds that are not in the file yet, and append them to it."""
    done = {result.seed for result in load(path)} if path.exists() else set()
    waiting = [(seed, runs, family, laws) for seed in seeds if seed not in done]
    with path.open("a") as file:
        if file.tell() and not path.read_text().endswith("\n"):
            file.write("\n")  # a line was cut short
        for k, result in enumerate(_results(waiting, jobs), 1):
            file.write(line_of(result) + "\n")
            file.flush()
            _progress(k, len(waiting), result)


def _results(waiting: Sequence[Task], jobs: int) -> Iterable[Result]:
    if jobs <= 1 or len(waiting) < 2:
        yield from map(_examined, waiting)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(_examined, waiting, chunksize=4)


def _examined(task: Task) -> Result:
    """One mechanism; where it takes too long that is its verdict."""
    seed, runs, family, laws = task
    previous = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        if laws:
            return obey(seed, family)
        methods = EVERY_METHOD if runs and seed % runs == 0 else ()
        return examine(seed, methods=methods, family=FAMILIES[family])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"no end after {LIMIT} s of CPU time")


_seen: dict[str, int] = {}


def _progress(k: int, of: int, result: Result) -> None:
    """One line that is written over, on a terminal only."""
    _seen[result.verdict] = _seen.get(result.verdict, 0) + 1
    if sys.stderr.isatty():
        counts = ", ".join(f"{n} {verdict}" for verdict, n in _seen.items())
        print(f"\r{k} of {of}: {counts} ", end="\n" if k == of else "", file=sys.stderr, flush=True)
