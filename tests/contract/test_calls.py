"""Whatever the dynamics are called with, the process lives, and the answer is right or says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ABUSE = Path(__file__).parent / "abuse.py"


@pytest.mark.parametrize(
    ("entry", "calls"), [("on", 3_000), ("off", 5_000), pytest.param("on", 100_000, marks=pytest.mark.long)]
)
@pytest.mark.repeats(1)
def test_calls_at_random_give_what_the_sweeps_give_or_a_clear_error(entry, calls):
    environment = {**os.environ, "MOMENTREE_ENTRY": entry}
    command = [sys.executable, str(ABUSE), str(calls), "7"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-5000:]
    answers, refusals = map(int, done.stdout.split())
    assert answers > calls / 10
    assert refusals > calls / 10
