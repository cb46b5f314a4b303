"""The benchmark of the time to a first result: its page says what was measured, and every case is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_page_says_what_the_figures_say(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import code_time as bench

    figures = [bench.Figure(case, 3.0 + k, 1.5, 0.25) for k, case in enumerate(bench.CASES)]
    text = bench.page(figures, 7)
    for k, case in enumerate(bench.CASES):
        (line,) = [line for line in text.splitlines() if case.name in line]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells == [case.name, f"{3 + k}.00", "1.50", "0.25", "" if case.most is None else f"{case.most:g}"]
    assert "medians of 7" in text
    assert "{" not in text


@pytest.mark.long
def test_a_quick_run_writes_a_whole_page(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(BENCHMARKS / "code_time.py"), "--quick", "--write", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.strip("|").split("|") for line in page.read_text(encoding="utf-8").splitlines() if "motion" in line]
    figures = [[float(cell) for cell in row[1:4]] for row in rows if len(row) == 5]
    assert len(figures) == 2
    for cold, llvm, cached in figures:
        assert 0 < llvm < cold
        assert cached > 0
