"""Symbols of mechanism theory: geometry of hulls, links, hatching and springs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from momentree.look import mechanism_symbols as symbols
from momentree.look.mechanism_symbols import Sheet, Text


def test_the_convex_hull_is_that_of_scipy():
    points = np.random.default_rng(0).normal(size=(60, 2))
    ring = symbols.convex_hull(points)
    theirs = points[ConvexHull(points).vertices]
    assert {*map(tuple, ring)} == {*map(tuple, theirs)}
    x, y = ring.T
    assert (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2 == pytest.approx(ConvexHull(points).volume)


def test_links_are_lines_and_polygons():
    line, triangle, square = Sheet(0.1), Sheet(0.1), Sheet(0.1)
    symbols.link(line, [np.array(p) for p in ((0.0, 0), (2.0, 0), (1.0, 0))], "red")
    assert (len(line.areas), line.strokes[0].points.tolist()) == (0, [[0, 0], [1, 0], [2, 0]])
    symbols.link(triangle, [np.array(p) for p in ((0.0, 0), (2.0, 0), (1.0, 1))], "red")
    assert [len(area.points) for area in triangle.areas] == [3]
    symbols.link(square, [np.array(p) for p in ((0.0, 0), (2.0, 0), (2.0, 2), (0.0, 2), (1.2, 1.1))], "red")
    assert [len(area.points) for area in square.areas] == [4]
    assert any(stroke.points[0].tolist() == [1.2, 1.1] for stroke in square.strokes)


def test_hatching_is_on_its_side_and_never_endless():
    sheet = Sheet(0.1)
    symbols.hatched(sheet, np.zeros(2), np.array([1.0, 0.0]), -1)
    assert all(stroke.points[1, 1] < 0 for stroke in sheet.strokes[1:])
    long = Sheet(1e-9)
    symbols.hatched(long, np.zeros(2), np.array([1.0, 0.0]))
    assert len(long.strokes) <= symbols.MOST_STROKES + 2
    symbols.hatched(long, np.zeros(2), np.zeros(2))


def test_a_spring_begins_and_ends_where_it_is_attached():
    sheet = Sheet(0.05)
    a, b = np.array([0.3, 1.0]), np.array([2.0, -1.0])
    symbols.coil(sheet, a, b)
    symbols.coil(sheet, a, b, thread=True)
    zigzag, thread = sheet.strokes
    for stroke in (zigzag, thread):
        assert stroke.points[[0, -1]] == pytest.approx(np.array([a, b]))
    assert (len(zigzag.points) > 10, len(thread.points)) == (True, 2)


def test_names_avoid_each_other_and_the_edge():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    axes.set(xlim=(0, 10), ylim=(0, 10))
    sheet = Sheet(0.2)
    sheet.texts += [Text(np.array([0.1, 5.0]), "at the edge", "k"), Text(np.array([0.1, 5.0]), "too", "k")]
    symbols.write(axes, sheet, per_letter=0.3)
    (x0, y0), (x1, y1) = (text.get_position() for text in axes.texts)
    assert x0 > 0.3 * 5
    assert abs(y1 - y0) > 0.5 or abs(x1 - x0) > 0.3 * 7
