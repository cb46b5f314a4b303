"""The benchmark of two checkouts: both are measured by the same calls, and its table is whole. No figure decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "against_commit.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_table_gives_medians_ratios_and_their_quartiles(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import against_commit as benchmark

    rounds = [(1e-3, 2e-3), (2e-3, 2e-3), (3e-3, 2e-3)]
    *_, line = benchmark.table({"assemble": rounds}).splitlines()
    assert line == "| assemble | 2 ms | 2 ms | 1.000 | 0.500 to 1.500 |"
    assert [benchmark.readable(x) for x in (2.5, 3e-5, 4e-8)] == ["2.5 s", "30 µs", "40 ns"]


def test_another_checkout_must_be_one(tmp_path):
    done = run("--other", tmp_path)
    assert done.returncode == 2
    assert "there is no src/momentree in it" in done.stderr


@pytest.mark.long
def test_a_quick_run_against_itself():
    done = run("--other", BENCHMARKS.parent, "--quick", "--only", "assemble", "dynamics", "right-hand side")
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert len(rows) == 2 + 8 + 4
    assert all(float(ratio) > 0 for _, _, _, ratio, _ in rows)  # so short, some times are those of the clock
