"""The benchmark of many motions runs, and says what it measures. No figure decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "many_motions.py"


@pytest.mark.long
def test_a_quick_run_prints_a_row_for_each_number_of_threads():
    command = [sys.executable, str(BENCHMARK), "--quick", "--only", "four-bar, dop853"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "| motion | threads | motions/s | times one thread |"
    assert lines[2].startswith("| four-bar, dop853 | 1 | ")
    assert lines[2].endswith("| 1.00 |")
