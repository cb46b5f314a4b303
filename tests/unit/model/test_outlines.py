"""Outlines: moments of areas, and corners that enclose none or cross."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from momentree.model.outlines import MOST_CORNERS, check_outline, corners, moments_of
from momentree.model.values import Mistake, Values

NOTHING = Values({})


def regular(n, radius=1.0, a=0.0, b=0.0):
    return [(a + radius * math.cos(2 * math.pi * i / n), b + radius * math.sin(2 * math.pi * i / n)) for i in range(n)]


@settings(deadline=None, max_examples=30)
@given(st.integers(3, 12), st.floats(0.1, 3), st.floats(-2, 2), st.floats(-2, 2))
def test_the_moments_of_a_regular_polygon(n, r, a, b):
    """Area n r^2 sin(2 pi / n) / 2; about its center A r^2 (2 + cos(2 pi / n)) / 12 in every direction."""
    area = n * r**2 * math.sin(2 * math.pi / n) / 2
    about = area * r**2 * (2 + math.cos(2 * math.pi / n)) / 12
    expected = [area, area * a, area * b, about + area * a * a, about + area * b * b, area * a * b]
    np.testing.assert_allclose(moments_of(regular(n, r, a, b)), expected, atol=1e-10)
    np.testing.assert_allclose(moments_of(regular(n, r, a, b)[::-1]), [-x for x in expected], atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.2, 3), min_size=3, max_size=20), st.booleans())
def test_outlines_around_a_point_do_not_cross(radii, clockwise):
    n = len(radii)
    points = [(r * math.cos(2 * math.pi * i / n), r * math.sin(2 * math.pi * i / n)) for i, r in enumerate(radii)]
    check_outline(points[::-1] if clockwise else points)


CROSSING = {
    "an hourglass": [(0, 0), (1, 1), (1, 0), (0, 1)],
    "a line": [(0, 0), (1, 0), (2, 0)],
    "a spike": [(0, 0), (2, 0), (1, 0), (1, 1)],
    "a corner twice": [(0, 0), (1, 0), (1, 0), (0, 1)],
    "a corner on another edge": [(0, 0), (4, 0), (4, 2), (2, 0), (0, 2)],
    "two edges along one line": [(0, 0), (3, 0), (3, 1), (2, 1), (2, 0), (1, 0), (1, 1), (0, 1)],
    "a star": [regular(5)[2 * i % 5] for i in range(5)],
    "all the same": [(1, 1)] * 4,
}


@pytest.mark.parametrize("points", CROSSING.values(), ids=CROSSING)
def test_outlines_that_cross_or_touch_are_refused(points):
    for begin in range(len(points)):
        with pytest.raises(Mistake, match="crosses or touches itself: the edges between corners"):
            check_outline(points[begin:] + points[:begin])


def test_a_comb_whose_teeth_end_on_one_line_does_not_cross():
    check_outline([(0, 0), (5, 0), (5, 2), (4, 2), (4, 1), (3, 1), (3, 2), (2, 2), (2, 1), (0, 1)])


def test_a_corner_may_lie_in_a_straight_edge():
    check_outline([(0, 0), (1, 0), (2, 0), (2, 1), (0, 1)])


def test_outlines_have_a_size():
    with pytest.raises(Mistake, match="at most 1000"):
        corners(((0, 0),) * (MOST_CORNERS + 1), NOTHING)
    with pytest.raises(Mistake, match="too large to compute with"):
        corners(((0, 0), (1e200, 0), (0, 1)), NOTHING)
    check_outline(regular(MOST_CORNERS))
