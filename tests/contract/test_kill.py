"""A real `momentree run`, killed again and again at random moments, ends in the file of one that never was."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import momentree as mt

MODEL = Path(__file__).parents[2] / "examples" / "02_pendulum_on_a_slider" / "model.toml"
OFTEN = "import sys, momentree.results.recorder as r; r.SECONDS = 0.02; from momentree.cli import main; main()"
WORDS = ["--from", "theta5=0.4", "--velocity", "theta6=2", "--integrator", "rk4"]
WORDS += ["--step", "1e-6", "--every", "1e-4", "--t-end", "3"]


def start(path: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", OFTEN, "run", str(MODEL), *WORDS, "--resume", "-o", str(path)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def killed(path: Path, chance: random.Random) -> bool:
    """Start or go on, and kill at a random moment after it has begun to write; False if it was faster."""
    folder = path.with_name(f"{path.name}.parts")

    def written() -> tuple[int, int]:
        lock = folder / "lock"
        try:
            return lock.stat().st_mtime_ns, len(list(folder.glob("chunk-*.npz")))
        except FileNotFoundError:
            return 0, 0

    (taken, before), more = written(), chance.choice([0, 1, 2, 5, 12])
    process = start(path)
    while process.poll() is None and (written()[0] == taken or written()[1] < before + more):
        time.sleep(0.001)
    time.sleep(0.05 * chance.random())
    process.kill()
    _, told = process.communicate()
    assert process.returncode in (0, -9), told.decode()
    return process.returncode == -9


def campaign(folder: Path, kills: int, seed: int) -> None:
    whole = folder / "whole.nc"
    assert start(whole).wait() == 0
    chance, deaths, files = random.Random(seed), 0, 0
    while deaths < kills:
        path, files = folder / f"run{files}.nc", files + 1
        while deaths < kills and killed(path, chance):
            deaths += 1
        last = start(path)
        _, told = last.communicate()
        assert last.returncode == 0, told.decode()
        assert path.read_bytes() == whole.read_bytes()
        assert not path.with_name(f"{path.name}.parts").exists()
    assert mt.load_run(whole).end.reason == "arrived"


@pytest.mark.long
def test_three_kills(tmp_path):
    campaign(tmp_path, 3, 1)


@pytest.mark.long
def test_fifty_kills(tmp_path):
    campaign(tmp_path, 50, 2)
