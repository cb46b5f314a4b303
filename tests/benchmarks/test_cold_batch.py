"""The benchmark of a batch after other work: every part is measured, and the machine code alone gives the results."""

from __future__ import annotations

from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_a_table_of_all_parts(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import cold_batch as bench

    monkeypatch.setattr(bench, "other_work", lambda: {"nothing": lambda: None})
    head, rule, *lines = bench.report(64, 2).splitlines()
    assert head == "| 64 rows, us | nothing |"
    assert rule.count("|") == 3
    assert len(lines) == len(bench.parts(16)) == 5
    assert all("faults" in line for line in lines)
