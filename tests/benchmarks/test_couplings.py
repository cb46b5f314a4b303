"""The benchmark of couplings: its exact motions, its peer, its page. No figure decides."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def couplings(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("couplings")


@pytest.fixture(params=["gear_pair", "planetary_set", "rack_and_pinion", "differential", "row"])
def drive(couplings, request):
    return couplings.row_of_gears(7) if request.param == "row" else getattr(couplings, request.param)()


def test_exact_motions_keep_couplings_and_energy(drive):
    t, step = np.linspace(0, 3, 31), 1e-5
    q = drive.exact(t)
    assert np.abs(drive.open(q)).max() < 1e-13
    inertia, spring = np.array([shaft[1:3] for shaft in drive.shafts]).T
    velocities = (drive.exact(t + step) - drive.exact(t - step)) / (2 * step)
    energy = (inertia * velocities**2 + spring * q**2).sum(axis=1) / 2
    assert np.ptp(energy) < 1e-7 * energy[0]
    assert np.ptp(q) > 0.1


@pytest.mark.repeats(2)
def test_ours_and_mujoco_move_alike(couplings, drive):
    pytest.importorskip("mujoco")
    ours, theirs = (work(0.5) for work in (couplings.momentree_drive(drive), stiff(couplings, drive)))
    np.testing.assert_allclose(ours.t, theirs.t, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.q, drive.exact(ours.t), rtol=0, atol=1e-10)
    np.testing.assert_allclose(theirs.q, ours.q, rtol=0, atol=1e-3)


def stiff(couplings, drive):
    return couplings.mujoco_drive(drive, couplings.SETTINGS["MuJoCo, stiff"])


def test_the_page_has_all_figures(couplings):
    figures = [couplings.Figure("rack", name, 1e-3, 1e-9, 1e-15) for name in ("Momentree", "MuJoCo, stiff")]
    growths = [couplings.Growth(10, 1e-6, 1e-12, 1e-3, 2e-3), couplings.Growth(30, 3e-6, 1e-12, 3e-3, None)]
    text = couplings.page(figures, growths, couplings.Effort(), "momentree 0", 0.0)
    assert "| rack | MuJoCo, stiff | 0.001 | 1.0 | 1.0e-09 | 1.0e-15 |" in text
    assert "| 30 | 3 | 100 | 1.0e-12 | 0.003 | – |" in text


@pytest.mark.long
def test_a_quick_run_writes_a_whole_page(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(BENCHMARKS / "couplings.py"), "--quick", "--write", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tables = [block.splitlines() for block in page.read_text(encoding="utf-8").split("\n\n") if block.startswith("|")]
    assert len(tables) == 2
    for table in tables:
        assert len({line.count("|") for line in table}) == 1
