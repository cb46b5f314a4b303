"""The benchmark of stiff runs: each way has its row, and the switch spares evaluations."""

from __future__ import annotations

from pathlib import Path

from momentree.simulate import stiffness

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_a_row_for_each_way(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import stiff_runs as bench

    monkeypatch.setattr(stiffness, "REMAINING", 2000)
    alone, switched, implicit = bench.measured(bench.Case(bench.strut, 4.0), repeat=1, seconds=0.3)
    assert [row[1] for row in (alone, switched, implicit)] == list(bench.BY)
    assert float(alone[0]) <= 4.0  # shortened where dop853 takes longer
    assert int(switched[3]) < int(alone[3]) / 5
    assert 0 < float(switched[4]) < 1
    assert all(float(row[5]) < 1e-8 for row in (alone, switched, implicit))
