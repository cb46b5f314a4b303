"""The ordinary day: `momentree run` in a new process, with an empty cache of machine code and with a full one.

    python benchmarks/cold_starts.py [--other ../before] [--rounds 5] [MODEL ...]

CPU seconds of the whole process on one core, medians over the rounds; with another checkout both take turns, and the
last column is the ratio. Byte code of Python is there in both cases, as where the package is installed.

Without models: a four-bar, the walking mechanism, and Cassie where its file is there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
CASSIE = HERE.parent / "shared" / "reference" / "robots" / "cassie_sdf" / "cassie.sdf"
MODELS = [HERE / "examples" / f"{name}" / "model.toml" for name in ("08_four_bar", "13_walking_mechanism")]
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MOMENTREE_THREADS": "1"}
LOADED = {"cassie": ["--load", "inertia_check=warn"]}  # its file has an impossible inertia
SIMULATED = "0.05"  # s: little more than the first steps
COMMAND = "import sys; from momentree.cli import main; sys.exit(main())"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--other", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    models = options.models or [*MODELS, *([CASSIE] if CASSIE.exists() else [])]
    checkouts = [HERE, *([options.other.resolve()] if options.other else [])]
    print(f"| model, cache | {' | '.join(str(each.name) for each in checkouts)} | ratio |")
    print("|---|" + "---|" * (len(checkouts) + 1))
    with tempfile.TemporaryDirectory() as byte_code:
        for model in models:
            for line in rows(model.resolve(), checkouts, options.rounds, byte_code):
                print(line, flush=True)


def rows(model: Path, checkouts: Sequence[Path], rounds: int, byte_code: str) -> Iterator[str]:
    """A line for empty caches and one for full ones."""
    name = model.parent.name if model.stem == "model" else model.stem
    seconds: dict[tuple[str, Path], list[float]] = {}
    for turn in range(rounds + 1):
        for checkout in checkouts:
            with tempfile.TemporaryDirectory() as cache:
                for state in ("empty", "full"):
                    spent = cpu_of(checkout, model, cache, byte_code)
                    if turn:  # the first one writes byte code
                        seconds.setdefault((state, checkout), []).append(spent)
    for state in ("empty", "full"):
        medians = [statistics.median(seconds[state, checkout]) for checkout in checkouts]
        ratio = f"{medians[0] / medians[1]:.2f}" if len(medians) > 1 else "-"
        yield f"| {name}, {state} | {' | '.join(f'{x:.3f} s' for x in medians)} | {ratio} |"


def cpu_of(checkout: Path, model: Path, cache: str, byte_code: str) -> float:
    """CPU seconds of one process."""
    environment = {**os.environ, **ALONE, "PYTHONPATH": str(checkout / "src"), "MOMENTREE_CACHE": cache}
    environment |= {"PYTHONPYCACHEPREFIX": byte_code, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-W", "ignore", "-c", COMMAND, "run", str(model), "--t-end", SIMULATED]
    command += LOADED.get(model.stem, [])
    process = subprocess.Popen(
        command, env=environment, cwd=cache, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{model}: {said}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
