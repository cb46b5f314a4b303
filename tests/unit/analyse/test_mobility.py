"""Mobility and redundant constraints, whatever the size, the place and the precision of the lengths."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett_off, four_bars_in_a_row, joint_pair
from momentree.assembly import closing_search

FREEDOMS = {"Revolute": 1, "Prismatic": 1, "Cylindrical": 2, "Screw": 1}


@pytest.mark.repeats(1)
@pytest.mark.parametrize("kind", FREEDOMS)
def test_two_joints_on_one_axis_move_as_one_does(kind):
    for seed in range(60):
        report = joint_pair(kind, np.random.default_rng(seed)).build().mobility_report
        assert (report.true, report.rank) == (FREEDOMS[kind], 0), seed
        assert report.give is None


@pytest.mark.parametrize(("scale", "far"), [(1e-7, 0), (1e-3, 0), (1e5, 0), (1, 5e6)])
@pytest.mark.parametrize("kind", FREEDOMS)
@pytest.mark.repeats(5)
def test_so_they_do_at_any_size_and_place(kind, scale, far):
    for seed in range(5):
        assert joint_pair(kind, np.random.default_rng(seed), scale, far).build().mobility == FREEDOMS[kind], seed


@pytest.mark.parametrize("axis", [(1, 2, 3), (3, -1, 2), (0.1, 1, -5)])
def test_a_drawer_on_two_parallel_rails(axis):
    m = mt.Model("drawer")
    drawer = m.body("drawer", mt.box(mass=2.0, size=(0.5, 0.4, 0.1)))
    m.joint("left", mt.Prismatic(axis), m.ground, drawer)
    m.joint("right", mt.Prismatic(axis), m.ground.at((0.1, 0.5, -0.2)), drawer.at((0.1, 0.5, -0.2)))
    assert m.build().mobility == 1


@pytest.mark.parametrize("off", [{"length": 1e-10}, {"length": 1e-6}, {"axis": 1e-10}, {"axis": 1e-6}])
def test_imprecise_linkages_move_and_the_report_says_by_how_much_they_must_give(off):
    system = bennett_off(**off).build()
    report = system.mobility_report
    (error,) = off.values()
    assert (report.true, report.rank, len(report.redundant)) == (1, 2, 3)
    assert 0.1 * error < report.give.length < 3 * error
    assert report.give.tolerance == pytest.approx(2.5e-6)
    said = (
        f"count as redundant within the tolerance of 2.5e-06 m: the loop of 'R4' must give {report.give.length:.2g} m"
    )
    assert said in str(system)


def test_a_report_is_printed_in_words():
    system = four_bars_in_a_row(2).build()
    assert str(system.mobility_at()) in str(system)
    assert str(system.mobility_at()).startswith("degrees of freedom (mobility): 1; by Gruebler's count:")


def test_exact_linkages_need_not_give():
    assert bennett_off().build().mobility_report.give is None
    assert "tolerance" not in str(bennett_off().build())


@pytest.mark.long
def test_the_tolerance_decides():
    m = bennett_off(length=1e-4)
    with pytest.raises(
        mt.AssemblyError, match=r"joint 'R4': .*closure error .* set a tolerance above the closure error: build\("
    ):
        m.build().assemble()
    assert m.build(tolerance=1e-3).mobility == 1
    m.tolerance = 1e-3
    assert m.build().mobility == 1


def test_hinges_out_of_line_beyond_the_tolerance_lock():
    def door(angle):
        m = mt.Model("door")
        leaf = m.body("leaf", mt.box(mass=10.0, size=(1, 0.04, 2)))
        m.joint("low", mt.Revolute("z"), m.ground, leaf)
        m.joint(
            "high",
            mt.Revolute("z"),
            m.ground.at((0, 0, 2), mt.turn("x", angle)),
            leaf.at((0, 0, 2), mt.turn("x", angle)),
        )
        return m.build()

    assert [door(angle).mobility for angle in (0.0, 1e-7, 1e-4, 0.1)] == [1, 1, 0, 0]


@pytest.mark.parametrize("n", [60, *(pytest.param(n, marks=pytest.mark.long) for n in (200, 1000))])
def test_long_rows_of_four_bars_are_reported_with_few_configurations(n, monkeypatch):
    # no matrix of all rows by all velocities, and no search: what is closed is closed
    count, closing = [0], closing_search.Closing.residual
    monkeypatch.setattr(closing_search.Closing, "residual", lambda self, q: count.append(1) or closing(self, q))
    system = four_bars_in_a_row(n).build()
    report = system.mobility_report
    assert (report.true, report.rank, len(report.redundant), report.singular) == (1, 2 * n, 3 * n, False)
    assert len(count) < 16
    assert not system.mobility_report.give


PAIRS = {
    "a ball that rolls": (lambda m, body: m.roll(body, radius=0.5), 3),
    "a skate": (lambda m, body: m.skate(body), 5),
    "a rod": (lambda m, body: m.distance(m.ground.at((0, 0, 3)), body, 2.0), 5),
    "a point on a surface": (lambda m, body: m.on_surface(body, "z = x^2 + y^2"), 5),
    "a point on a curve": (lambda m, body: m.on_curve(body, ["z = x^2", "y"]), 4),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_higher_pair_counts_with_its_rows(pair):
    m = mt.Model("floating")
    body = m.body("body", mt.sphere(mass=1.0, radius=0.5))
    m.joint("J", mt.Free(), m.ground, body)
    add, left = PAIRS[pair]
    add(m, body)
    report = m.build().mobility_report
    assert (report.true, report.gruebler) == (left, left)
