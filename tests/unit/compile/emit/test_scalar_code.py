"""Formulas on numbers of machine code have the values that they have in floats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from momentree.assembly import closing_rules as rules
from momentree.compile.emit.lanes import ROWS_ARGUMENTS
from momentree.compile.emit.scalar_code import UNROLLED, ScalarCode, Vector
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.spatial.scalar import maximum, minimum, sqrt


class Written:
    """rows_1 of a function that writes results from numbers."""

    constant = (False,)

    def __init__(self, inputs: int, outputs: int, write):
        self.arrays, self.outputs, self._write = (("x", inputs),), outputs, write

    def scratch(self, width: int) -> int:
        return 8

    def text(self, width: int) -> str:
        code = ScalarCode({"place": 0})
        start = code.let("load ptr, ptr %arguments")
        self._write(code, Vector(code, start), Vector(code, "%out"))
        head = f"define void @rows_1{ROWS_ARGUMENTS.replace('%scratch', '%work')}"
        return f"{head} {{\nentry:\n{code.lines}\n  ret void\n}}\n"


def computed(x, outputs, write):
    return Kernel(Written(len(x), outputs, write), 1, Target.host())([np.array(x, dtype=float)])


@pytest.mark.parametrize("x", [(0.3, 0.2), (0.2, 0.3), (5.0, 1e-9), (1e-14, 2.0), (0.4, 0.4)])
def test_the_rules_of_closing_are_those_in_floats(x):
    def formulas(a, b):
        smaller = rules.is_smaller(a, b)
        truths = (smaller, rules.is_worthwhile(a, b), rules.creeps(a, b, 13.0 + 0 * a), rules.is_polished(a, b))
        truths += (rules.is_strictly_closed(a, b, a * b, b),)
        numbers = (rules.regularization(a, b), rules.shortening(a), rules.round_off(3.0, a, b))
        return truths, (*numbers, rules.next_damping(a, smaller), maximum(a, b) - minimum(a, b) / sqrt(a))

    def write(code, given, out):
        truths, numbers = formulas(given[0], given[1])
        for i, truth in enumerate(truths):
            out[i] = truth.select(1.0, 0.0)
        for i, number in enumerate(numbers, len(truths)):
            out[i] = number

    truths, numbers = formulas(*x)
    assert computed(x, 10, write).tolist() == [*map(float, truths), *map(float, numbers)]


@pytest.mark.parametrize("count", [0, 3, UNROLLED, UNROLLED + 1, 30])
def test_loops_short_and_long_sum_alike(count):
    numbers = np.random.default_rng(count).standard_normal(max(count, 1))

    def write(code, given, out):
        out[0] = code.dot(given, given, count)
        out[1] = code.largest(given, count)
        out[2] = code.reduced(given[0], given, given, 1, count)
        code.copy(given, out.part(3), count)
        for i in code.each(0, count):
            out[i + 3] = out[i + 3] * 2.0

    total, rest = 0.0, float(numbers[0])
    for i, x in enumerate(numbers[:count].tolist()):
        total, rest = total + x * x, rest - x * x if i else rest
    expected = [total, float(np.abs(numbers[:count]).max(initial=0.0)), rest, *(2 * numbers[:count]).tolist()]
    assert computed(numbers, count + 3, write).tolist() == expected


def test_a_repeated_body_is_left_when_a_condition_holds():
    def write(code, given, out):
        out[0] = 0.0
        with code.repeated(100) as leave:
            leave(out[0] >= given[0])
            out[0] = out[0] + 1.0
        out[1] = 0.0
        with code.if_(~(out[0] > 3.0) | (given[0] < 0.0)):
            out[1] = 1.0

    assert computed([2.5], 2, write).tolist() == [3.0, 1.0]
    assert computed([1000.0], 2, write).tolist() == [100.0, 0.0]
    assert computed([math.nan], 2, write).tolist() == [100.0, 0.0]
