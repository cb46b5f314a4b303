"""Sizes: of the mechanism itself, wherever it stands and whatever its unit."""

from __future__ import annotations

import math

import pytest

import momentree as mt
from mechanisms import bennett, bennett_off, four_bar, four_bars_in_a_row, slider_crank


def test_a_loop_is_as_large_as_half_its_perimeter():
    mechanism = four_bar((1.0, 2.0, 2.0, 2.5)).build().mechanism
    assert mechanism.loop_sizes == pytest.approx([3.75])
    assert mechanism.size == pytest.approx(3.75)
    assert mechanism.tolerance == pytest.approx(3.75e-6)


@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1e5])
def test_sizes_scale_with_the_mechanism(scale):
    assert bennett_off(scale=scale).build().mechanism.size == pytest.approx(scale * bennett().build().mechanism.size)


def test_where_it_stands_does_not_matter():
    def placed(x):
        m = mt.Model("parallelogram")
        bars = [m.body(f"bar{i}", mt.rod(mass=1.0, length=1.0)) for i in range(3)]
        m.joint("A", mt.Revolute("z"), m.ground.at((x, 0, 0)), bars[0])
        m.joint("B", mt.Revolute("z"), bars[0].at((1, 0, 0)), bars[1])
        m.joint("C", mt.Revolute("z"), bars[1].at((1, 0, 0)), bars[2].at((1, 0, 0)))
        m.joint("D", mt.Revolute("z"), m.ground.at((x + 1, 0, 0)), bars[2])
        return m.build().mechanism.size

    assert placed(5e6) == placed(0) == 2.0


def test_a_row_of_loops_is_as_large_as_one_of_them():
    assert four_bars_in_a_row(20).build().mechanism.size == pytest.approx(2.0)


def test_a_small_loop_on_a_large_machine_has_a_size_and_a_tolerance_of_its_own():
    m = four_bar()
    rocker = m.bodies[2]
    links = [m.body(f"link{i}", mt.rod(mass=1e-6, length=1e-3)) for i in range(3)]
    m.joint("a", mt.Revolute("y"), rocker, links[0])
    m.joint("b", mt.Revolute("y"), links[0].at((1e-3, 0, 0)), links[1])
    m.joint("c", mt.Revolute("y"), links[1].at((1e-3, 0, 0)), links[2].at((1e-3, 0, 0)))
    m.joint("d", mt.Revolute("y"), rocker.at((1e-3, 0, 0)), links[2])
    mechanism = m.build().mechanism
    assert sorted(mechanism.loop_sizes) == pytest.approx([2e-3, 3.75])
    assert sorted(mechanism.loop_tolerances) == pytest.approx([2e-9, 3.75e-6])
    # a length that is set holds for all loops, but says nothing of those that are hardly larger than it
    assert sorted(mechanism.with_tolerance(1e-4).loop_tolerances) == pytest.approx([2e-5, 1e-4])


def test_where_all_axes_meet_in_a_point_bodies_give_the_size():
    # a spherical four-bar: no distance between joints, or one of round-off
    for offset in (0.0, 1e-17):
        m = mt.Model("spherical four-bar")
        bodies = [m.body(f"b{i}", mass=1.0, inertia=(0.02, 0.02, 0.02)) for i in range(3)]
        m.joint("A", mt.Revolute("z"), m.ground, bodies[0])
        m.joint("B", mt.Revolute("z"), bodies[0].at((offset, 0, 0), mt.turn("x", 0.8)), bodies[1])
        m.joint("C", mt.Revolute("z"), bodies[1].at((0, 0, 0), mt.turn("x", 0.9)), bodies[2])
        m.joint(
            "D", mt.Revolute("z"), m.ground.at((0, 0, 0), mt.turn("x", 0.7)), bodies[2].at((0, 0, 0), mt.turn("x", 0.6))
        )
        system = m.build()
        assert system.mechanism.size == pytest.approx(math.sqrt(0.03))
        assert system.mobility == 1


def test_a_tree_has_a_size_too():
    m = mt.Model("arm")
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=0.4)) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("y"), m.ground.at((100, 0, 0)), upper)
    m.joint("B", mt.Revolute("y"), upper.at((0.4, 0, 0)), lower)
    assert m.build().mechanism.size == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("tolerance", "words"),
    [
        (0, "must be positive"),
        (-1e-6, "must be positive"),
        ("x", "unknown name 'x'"),
        (1.0, "at most 0.01 of the size"),
    ],
)
def test_a_tolerance_must_be_a_small_length(tolerance, words):
    with pytest.raises(mt.ModelError, match=words):
        slider_crank().build(tolerance=tolerance)
    system = slider_crank().build()
    with pytest.raises(mt.ModelError, match=words):
        system.assemble(tolerance=tolerance)


def test_a_tolerance_may_be_said_by_the_model_and_by_parameters():
    m = four_bar()
    m.parameter("play", 1e-4)
    m.tolerance = "2*play"
    assert m.build().mechanism.tolerance == pytest.approx(2e-4)
    assert m.build(tolerance=1e-5).mechanism.tolerance == pytest.approx(1e-5)
