"""The benchmark of forward dynamics: contestants agree, and its page is whole. No figure decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import forward_dynamics

    return forward_dynamics


def tables(text: str) -> list[list[list[str]]]:
    """Cells of the rows of each table."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in block] for block in blocks]


@pytest.mark.long
@pytest.mark.parametrize("peers", [[], ["pinocchio", "mujoco"]], ids=["alone", "with peers"])
def test_a_quick_run_writes_a_whole_page(peers, tmp_path):
    page = tmp_path / "page.md"
    options = ["--quick", "--only", "chain-1", "--write", str(page), "--peers", *peers]
    command = [sys.executable, str(BENCHMARKS / "forward_dynamics.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    goals, times, ratios, ways = tables(page.read_text(encoding="utf-8"))
    for table in (goals, times, ratios, ways):
        assert {len(row) for row in table} == {len(table[0])}
    assert len(goals) == 2 + 11
    row = dict(zip(times[0], times[2], strict=True))
    assert row["model"] == "chain of 1"
    assert float(row["Momentree, one call"].split()[0]) > 0
    if not peers:
        assert row["Pinocchio, one call"] == row["MuJoCo, one call"] == "–"
    assert float(ratios[2][-1]) <= 1e-9


def test_who_disagrees_is_named(benchmark):
    def contestant(value: float):
        return benchmark.Contestant("somebody", f"gives {value}", lambda: np.array([[1.0, value]]), lambda count: count)

    assert benchmark.check("arm", [contestant(0.5), contestant(0.5 + 1e-12)]) == pytest.approx(1e-12, rel=1e-3)
    for wrong in (0.5 + 1e-8, float("nan")):
        with pytest.raises(AssertionError, match=f"gives {wrong}"):
            benchmark.check("arm", [contestant(0.5), contestant(wrong)])
