"""The benchmark of drift: every form is there, its page is whole, and what it says follows from its tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.long
def test_a_quick_run_writes_a_whole_page_and_a_picture(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(BENCHMARKS / "closure_drift.py"), "--quick", "--write", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text == done.stdout
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith(("| hamil", "| lagr"))]
    assert len(rows) == 5 * 10
    for name, *figures in rows:
        closure_errors, energy, evaluations = [float(x) for x in figures[:3]], float(figures[3]), int(figures[4])
        assert closure_errors == sorted(closure_errors)
        assert closure_errors[-1] < (1e-13 if "project" in name else 1e-4)
        assert energy < 1e-3
        assert evaluations > 0
    assert "<svg" in page.with_suffix(".svg").read_text(encoding="utf-8")


def test_ratios_are_told_with_two_digits(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import closure_drift_page as page

    assert page.span([12345.0, 0.0271]) == "0.027 to 12000"
    assert page.span([1.04, 0.99]) == "0.99 to 1"
    assert page.span([2.0]) == "2"
    assert page.Form("lagrange", "baumgarte", 50, "").name == "lagrange, baumgarte 50"
    drifts = [page.Drift(form, (1.0, 1.0, float(i + 1)), 1.0, 10, 0.0, None, None) for i, form in enumerate(page.FORMS)]
    told = "\n".join(page.read({page.Case(system, "dopri5", 100.0): drifts for system in ("four-bar", "walker")}))
    assert "their closure error is 5 times that of the Hamiltonian form" in told
    assert "leaves at most 8.0e+00" in told
    with pytest.raises(KeyError):
        page.measure(drifts[0], "time")
