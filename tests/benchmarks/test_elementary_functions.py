"""The benchmark of elementary functions on fewer arguments: one unit of the last place, and its page."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from momentree.compile.emit.llvm_functions import FUNCTIONS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BOUNDS = {"floor": 0.0, "acos": 0.65, "cosh": 0.7, "asin": 0.7, "atan": 0.7}  # else 0.85


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("elementary_functions")


@pytest.mark.parametrize("name", ["sin", "cos", *FUNCTIONS])
def test_functions_are_right_to_one_unit_of_the_last_place(benchmark, name):
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("long doubles have no more digits than doubles here")
    assert set(benchmark.ARGUMENTS) == {"sin", "cos", *FUNCTIONS}
    assert benchmark.accuracy(name, 60_000, seed=2, report=lambda _: None).ulps <= BOUNDS.get(name, 0.85)


def test_polynomials_are_those_of_the_script(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    minimax = importlib.import_module("minimax")
    from momentree.compile.emit import llvm_exponentials, llvm_trigonometry

    with minimax.mp.workprec(300):
        cases = {case.name.partition(":")[0]: case for case in minimax.cases()}
        assert tuple(map(float, minimax.minimax(cases["_D"])[0])) == llvm_exponentials._D
        for name, owner in (("_E", llvm_exponentials), ("_H", llvm_exponentials), ("_A", llvm_trigonometry)):
            case, held = cases[name], getattr(owner, name)
            middle = (case.low + 3 * case.high) / 4
            off = case.weight(middle) * (minimax.mp.polyval(held[::-1], middle) - case.function(middle))
            assert abs(off) < 2.0**-56  # coefficients are rounded


def test_a_page_keeps_rows_that_were_not_measured(benchmark):
    page = benchmark.page_with("", {"sin": "| sin | 1 | 0.7 | 1.0: here |"}, {})
    page = benchmark.page_with(page, {"cos": "| cos | 1 | 0.6 | 2.0: there |"}, {"sin": "| sin | 1.0 | 2.0 | 3.0 |"})
    assert page.count("| sin |") == 2
    assert "| sin | 1 | 0.7 | 1.0: here |\n| cos | 1 | 0.6 | 2.0: there |" in page


def test_functions_of_the_c_library_are_timed(benchmark):
    x, out = np.array([[0.5, 2.0], [3.0, -1.0]]), np.empty((2, 1))
    benchmark.libm("power")(x, out)
    np.testing.assert_array_equal(out[:, 0], [0.25, 1 / 3])
