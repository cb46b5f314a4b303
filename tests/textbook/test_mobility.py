"""Published mobilities: linkages that Gruebler's count gets wrong, and some that it gets right."""

from __future__ import annotations

import math

import pytest

import momentree as mt
from mechanisms import bennett, four_bar, four_bars_in_a_row, hexapod, single_loop_of_hinges, slider_crank


def counts(m: mt.Model) -> tuple[int, int, int, int]:
    report = m.build().mobility_report
    return report.true, report.gruebler, len(report.rows), report.rank


def test_planar_four_bar_of_spatial_hinges_moves_and_names_its_three_redundant_constraints():
    report = four_bar().build().mobility_report
    assert (report.true, report.gruebler, report.rank) == (1, -2, 2)
    assert set(report.redundant) == {"C: translation along y", "C: rotation about x", "C: rotation about z"}


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_the_redundant_constraints_follow_the_axis(axis):
    m = four_bar(axis=axis) if axis != "x" else None
    if m is None:  # bars along x cannot turn about x into a triangle: lay them along y
        m = mt.Model("four-bar")
        a, b, c = (m.body(n, mt.rod(mass=1.0, length=l, along="y")) for n, l in (("a", 1.0), ("b", 2.0), ("c", 2.0)))
        m.joint("A", mt.Revolute("x"), m.ground, a)
        m.joint("B", mt.Revolute("x"), a.at((0, 1, 0)), b)
        m.joint("D", mt.Revolute("x"), m.ground.at((0, 2.5, 0)), c)
        m.joint("C", mt.Revolute("x"), b.at((0, 2, 0)), c.at((0, 2, 0)))
    redundant = m.build().mobility_report.redundant
    assert f"C: translation along {axis}" in redundant
    assert {name for name in redundant if "rotation" in name} == {f"C: rotation about {o}" for o in "xyz" if o != axis}


def test_slider_crank():
    assert counts(slider_crank())[:2] == (1, -2)


def test_bennett_linkage_moves_though_it_should_not():
    # Bennett 1903: four hinges in space, Gruebler 6*3 - 4*5 = -2, yet one degree of freedom
    true, gruebler, _, rank = counts(bennett())
    assert (true, gruebler, rank) == (1, -2, 2)  # the cut hinge leaves 3 velocities and 5 constraints


@pytest.mark.long
def test_a_four_hinge_loop_without_bennetts_condition_does_not_close():
    beta = math.asin(1.5 * math.sin(0.6))
    m = single_loop_of_hinges([(1.0, 0.6, 0), (1.5, beta + 0.2, 0), (1.0, 0.6, 0), (1.5, beta, 0)])
    with pytest.raises(mt.AssemblyError, match="joint 'R4'"):
        m.build().assemble()


def test_a_general_loop_of_seven_hinges_has_one_degree_of_freedom():
    links = [(1.0, 0.5, 0.1), (0.8, -0.9, 0.3), (1.1, 1.1, -0.2), (0.9, 0.4, 0.2),
             (1.2, -0.7, 0.1), (0.7, 0.9, -0.3), (1.0, 1.3, 0.2)]  # fmt: skip
    assert counts(single_loop_of_hinges(links)) == (1, 1, 5, 5)


def test_rssr_has_the_spin_of_its_coupler_besides_its_motion():
    # two ball joints in a row let the coupler spin about itself: mobility 2 (Hartenberg and Denavit 1964)
    m = mt.Model("RSSR")
    crank = m.body("crank", mt.rod(mass=1.0, length=0.5, radius=0.02))
    coupler = m.body("coupler", mt.rod(mass=1.0, length=2.0, radius=0.02))
    rocker = m.body("rocker", mt.rod(mass=1.0, length=1.5, radius=0.02))
    m.joint("R1", mt.Revolute("z"), m.ground, crank)
    m.joint("S1", mt.Spherical(), crank.at((0.5, 0, 0)), coupler)
    m.joint("S2", mt.Spherical(), coupler.at((2.0, 0, 0)), rocker.at((1.5, 0, 0)))
    m.joint("R2", mt.Revolute("y"), m.ground.at((1.5, 0.8, 0)), rocker)
    assert counts(m)[:2] == (2, 2)


def test_the_stewart_platform_has_six_degrees_of_freedom():
    # six legs of universal, prismatic and ball joints (Stewart 1965): 6*13 - 6*(4 + 5 + 3) = 6
    true, gruebler, constraints, rank = counts(hexapod())
    assert (true, gruebler, constraints, rank) == (6, 6, 15, 15)


def test_sarrus_linkage_moves_on_a_straight_line():
    # Sarrus 1853: two pairs of plates with crossed hinges; Gruebler 6*5 - 6*5 = 0
    m = mt.Model("Sarrus")
    top = m.body("top", mt.box(mass=1.0, size=(1, 1, 0.1)))
    for name, axis, at in (("a", "y", (0.5, 0, 0)), ("b", "x", (0, 0.5, 0))):
        low, high = (m.body(f"{name} {part}", mt.box(mass=1.0, size=(0.5, 0.5, 0.5))) for part in ("low", "high"))
        m.joint(f"{name}1", mt.Revolute(axis), m.ground.at(at), low)
        m.joint(f"{name}2", mt.Revolute(axis), low.at((0, 0, 1)), high)
        m.joint(f"{name}3", mt.Revolute(axis), high.at((0, 0, 1)), top.at(at))
    true, gruebler, *_ = counts(m)
    assert (true, gruebler) == (1, 0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_chain_of_parallelograms_has_one_degree_of_freedom_whatever_their_number(n):
    # IFToMM benchmark A02: n loops; upright at the reference
    true, gruebler, constraints, rank = counts(four_bars_in_a_row(n))
    assert (true, constraints, rank) == (1, 5 * n, 2 * n)
    assert gruebler == 1 - 3 * n


def test_a_flat_parallelogram_is_singular_but_its_mobility_is_one():
    m = four_bar((1.0, 2.0, 1.0, 2.0))  # at the reference all bars lie on one line
    report = m.build().mobility_report
    assert report.singular
    assert report.true == 1


def test_the_walking_mechanism_of_ivanov_has_four_degrees_of_freedom():
    import pathlib

    m = mt.load(pathlib.Path(__file__).parents[2] / "examples" / "13_walking_mechanism" / "model.toml")
    assert counts(m) == (4, -2, 12, 6)


def test_cutting_elsewhere_changes_the_constraints_but_not_the_mobility():
    for joint in "ABCD":
        m = four_bar()
        m.cut(joint)
        assert counts(m) == (1, -2, 5, 2)
    m = four_bar()
    m.split("coupler", "C")
    assert counts(m) == (1, -2, 6, 3)


def test_parallel_joints_between_two_bodies_are_a_loop():
    # a door on two hinges in line: the second adds nothing
    m = mt.Model("door")
    door = m.body("door", mt.box(mass=10.0, size=(0.9, 0.04, 2.0)))
    m.joint("low", mt.Revolute("z"), m.ground, door.at((-0.45, 0, -0.8)))
    m.joint("high", mt.Revolute("z"), m.ground.at((0, 0, 1.6)), door.at((-0.45, 0, 0.8)))
    true, gruebler, constraints, rank = counts(m)
    assert (true, gruebler, constraints, rank) == (1, -4, 5, 0)
    # out of line they lock it
    m = mt.Model("stuck door")
    door = m.body("door", mt.box(mass=10.0, size=(0.9, 0.04, 2.0)))
    m.joint("low", mt.Revolute("z"), m.ground, door.at((-0.45, 0, -0.8)))
    m.joint("high", mt.Revolute("z"), m.ground.at((0.1, 0, 1.6)), door.at((-0.35, 0, 0.8)))
    assert m.build().mobility == 0


def test_a_floating_body_gets_a_free_joint_and_the_report_says_so():
    m = four_bar()
    m.body("satellite", mt.sphere(mass=1.0, radius=1.0))
    system = m.build()
    assert system.mobility == 7
    assert "satellite" in str(system)
    assert "Free" in str(system)


def test_constraints_reduce_the_degrees_of_freedom():
    m = mt.Model("gears")
    for name in ("alpha", "beta"):
        wheel = m.body(f"wheel {name}", mt.cylinder(mass=1.0, radius=0.1, length=0.02))
        m.joint(name, mt.Revolute("z"), m.ground, wheel)
    m.constrain("alpha + 2*beta")
    assert counts(m) == (1, 1, 1, 1)
    m.constrain("alpha' + 2*beta'", "the same again, on velocities")
    assert counts(m) == (1, 0, 2, 1)
    assert m.build().mobility_report.redundant == ("the same again, on velocities",)  # of equals the later is redundant
