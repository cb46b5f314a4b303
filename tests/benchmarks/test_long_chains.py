"""The benchmark of long chains: every form is there, its page is whole, and what it says follows from its tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_page_says_what_the_figures_say(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import long_chains as bench

    chains = {form.name: {10: 1.0, 20: 2.0**form.cost} for form in bench.CHAIN_FORMS}
    rows = {form.name: {4: 3.0, 8: 3.0 * 2**form.cost} for form in bench.ROW_FORMS}
    del chains[bench.ONE_MATRIX.name][20]
    chains[bench.ONE_MATRIX.name][5] = 0.125
    text = bench.page(chains, rows, "On a machine.")
    assert "| Hamiltonian | - | 1 | 2 | 1.0 |" in text
    assert f"| {bench.ONE_MATRIX.name} | 0.125 | 1 | - | 3.0 |" in text
    assert "second kind, with a mass matrix | 1 times at n = 10, 4 times at n = 20" in text
    assert "The Hamiltonian form grows as n^1.0." in text


@pytest.mark.long
def test_a_quick_run_writes_a_whole_page(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(BENCHMARKS / "long_chains.py"), "--quick", "--write", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    rows = [
        line.strip("|").split(" | ") for line in text.splitlines() if line.startswith(("| Hamil", "| Lagr", "| abs"))
    ]
    measured = [row for row in rows if len(row) == 5]
    assert len(measured) == 10
    assert all(float(cell) > 0 for row in measured for cell in row[1:4])
