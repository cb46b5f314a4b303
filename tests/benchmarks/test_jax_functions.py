"""The benchmark of functions for JAX runs and prints its table. No figure decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_it_prints_every_figure():
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'momentree[jax]'")
    command = [sys.executable, "benchmarks/jax_functions.py", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(table) == 2 + 8
    assert all(float(line.split("|")[2]) > 0 for line in table[2:])
