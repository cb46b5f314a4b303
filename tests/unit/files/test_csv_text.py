"""Comma-separated values: what is written reads back equal, and no cell of text begins a formula."""

from __future__ import annotations

import csv
import io
import math

import pytest

from momentree.files.csv_text import csv_text

NUMBERS = [0.1, -0.0, 1 / 3, 5e-324, 1.7976931348623157e308, 2**53 + 1.0, math.pi]


def test_numbers_read_back_equal():
    header, *rows = csv.reader(io.StringIO(csv_text(["a"] * len(NUMBERS), [NUMBERS, [-x for x in NUMBERS]])))
    assert len(header) == len(NUMBERS)
    assert [[float(x).hex() for x in row] for row in rows] == [
        [x.hex() for x in NUMBERS],
        [(-x).hex() for x in NUMBERS],
    ]
    assert csv_text(["x", "y"], [[math.nan, -math.inf]]) == "x,y\nnan,-inf\n"


@pytest.mark.parametrize("name", ['a "quoted" name', "one, two", "two\nlines", "weiß", "א"])
def test_texts_read_back_equal(name):
    ((first, second), _) = csv.reader(io.StringIO(csv_text([name, "b"], [[1.0, 2.0]]), newline=""))
    assert (first, second) == (name, "b")


@pytest.mark.parametrize("name", ["=1+1", "@SUM(A1)", "+1", "-2", "\t=1", '=HYPERLINK("http://x","y")'])
def test_no_text_is_a_formula(name):
    ((cell,), _) = csv.reader(io.StringIO(csv_text([name], [[1.0]]), newline=""))
    assert cell == f"'{name}"
