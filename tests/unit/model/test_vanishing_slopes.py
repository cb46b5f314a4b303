"""Constraints whose slopes vanish where they hold are found; those that are singular here and there are not."""

from __future__ import annotations

import pytest

from momentree.model.expressions.expression import parse
from momentree.model.values import Mistake
from momentree.model.vanishing_slopes import check_slopes

VANISHING = ["(x-2*y)^2", "cos(x)-1", "x^3", "(x*y-t)^4", "x^2+y^2", "sqrt(x^2+1)-1", "x^2-2*x*y+y^2", "(sin(x)-y)^2"]
REGULAR = ["x-2*y", "x*y", "exp(10*x)-0.001", "sin(x)-0.5", "x^2-1", "x-0.3*sin(t)", "(x-y)*(x-y+1)", "x^2+y^2-z^2"]
REGULAR += ["abs(x)", "max(x, 0) - y", "x^20 - 1", "log(x)", "1e9*(x - 1e-6)", "1e-9*sin(x - y)", "atan2(y, x) - 0.1"]


@pytest.mark.parametrize("text", VANISHING)
def test_slopes_that_vanish_are_told(text):
    with pytest.raises(Mistake, match="slopes vanish wherever it holds"):
        check_slopes(parse(text))


@pytest.mark.parametrize("text", [*REGULAR, "x^2 + 1"])
def test_others_are_left_alone(text):
    check_slopes(parse(text))


@pytest.mark.parametrize("square", [1e-6, 0.3, 182.25, 5e3, 7.77e7, 1e12])
def test_round_off_beside_a_solution_far_from_zero_is_no_slow_step(square):
    for k in range(50):
        check_slopes(parse(f"x^2 - {square * (1 + 0.01 * k)!r} - t"))
