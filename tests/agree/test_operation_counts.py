"""What the sweeps cost when they are traced: as few operations as the best recursions that are known."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from momentree.compile.trace.quantities import trace
from momentree.compile.trace.tape import Tape
from momentree.equations.base_parameters import base_parameters
from momentree.equations.shared_parameters import shared_parameters

spec = importlib.util.spec_from_file_location(
    "operation_counts", Path(__file__).parents[2] / "benchmarks" / "operation_counts.py"
)
counts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(counts)


@pytest.mark.parametrize(
    ("kind", "formula", "most"),
    [
        ("mdh", counts.inverse, (384, 320)),
        ("aligned", counts.inverse, (290, 270)),
        ("mdh", counts.forward, (800, 640)),
        ("mdh", counts.mass_matrix, (342, 261)),
        ("aligned", counts.mass_matrix, (170, 161)),
    ],
)
def test_a_six_axis_arm_on_base_parameters(kind, formula, most):
    found = counts.counted(base_parameters(counts.arm(kind)), formula)
    assert found.multiplications <= most[0]
    assert found.additions <= most[1]


@pytest.mark.parametrize("kind", counts.ARMS)
def test_what_is_counted_is_right(kind):
    # the traced arm on base parameters, replayed on numbers, is the arm itself
    mechanism = counts.arm(kind)
    random = np.random.default_rng(5)
    q, u, x = random.standard_normal((3, 6))
    for formula in (counts.inverse, counts.bias, counts.mass_matrix, counts.forward):
        tape = Tape()
        symbols = [[tape.input(f"{name}{i}") for i in range(6)] for name in "qux"]
        tape.outputs(formula(base_parameters(mechanism), *symbols))
        numbers = {f"{name}{i}": row[i] for name, row in zip("qux", (q, u, x), strict=True) for i in range(6)}
        expected = np.array(formula(mechanism, q, u, x), dtype=float)
        np.testing.assert_allclose(tape.evaluate(numbers), expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("n", "slope"), [(8, (81, 69)), (10, (81, 69))])
def test_the_cost_grows_by_a_fixed_amount_with_each_hinge(n, slope):
    # 81 n - 104 multiplications and 69 n - 96 additions for a general arm
    one, two = (counts.counted(base_parameters(counts.arm("mdh", k)), counts.inverse) for k in (n, n + 1))
    assert two.multiplications - one.multiplications <= slope[0]
    assert two.additions - one.additions <= slope[1]


@pytest.mark.parametrize(
    ("kind", "formula", "count"),
    [
        ("mdh", counts.inverse, (365, 299)),
        ("aligned", counts.inverse, (277, 263)),
        ("tilted mdh", counts.inverse, (369, 303)),
        ("mdh", counts.bias, (354, 285)),
    ],
)
def test_a_six_axis_arm_on_shared_parameters(kind, formula, count):
    assert counts.counted(shared_parameters(counts.arm(kind)), formula)[:2] == count


@pytest.mark.parametrize("what", ["inverse_dynamics", "bias"])
def test_quantities_take_the_cheaper_parameters(what):
    mechanism = counts.arm("mdh")
    formula = counts.inverse if what == "inverse_dynamics" else counts.bias
    tape, _ = trace(mechanism, what)
    assert tape.operations() == counts.counted(shared_parameters(mechanism), formula)


def test_each_further_hinge_takes_78_multiplications_and_65_additions():
    one, two = (counts.counted(shared_parameters(counts.arm("mdh", k)), counts.inverse) for k in (8, 9))
    assert (two.multiplications - one.multiplications, two.additions - one.additions) == (78, 65)
