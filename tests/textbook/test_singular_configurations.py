"""Singular configurations that textbooks name: flat linkages, change points, dead centres.

Hartenberg and Denavit, "Kinematic Synthesis of Linkages", 1964 (Grashof's rule, change points, dead centres
of crank-rockers by the law of cosines). A dead centre is no singularity of the closure: it is one for the joint that
drives.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, four_bar, slider_crank
from momentree.analyse.redundancy import singularity, toggles
from momentree.results.run import Run
from momentree.simulate.blocks import Block, End, Statistics


def turned(m, joint, angles):
    """A run in which a crank is turned at 1 rad/s, assembled at each angle."""
    system = m.build()
    states, last = [], None
    for angle in angles:
        last = system.assemble({joint: angle}, velocities={joint: 1.0}, guess=last)
        states.append(last)
    t, q, v = np.asarray(angles), np.stack([s.q for s in states]), np.stack([s.v for s in states])
    return Run.of(system, Block(t, q, v, np.zeros((len(t), 0))), (), {}, Statistics(), End("arrived", t[-1]))


def full_turn(start=0.05):
    return np.linspace(start, start + 2 * math.pi, 61)


def crank_and_rod(crank=1.0, rod=3.0, motion=None):
    m = mt.Model("slider-crank")
    a = m.body("crank", mt.rod(mass=1.0, length=crank))
    b = m.body("rod", mt.rod(mass=1.0, length=rod))
    slider = m.body("slider", mt.box(mass=1.0, size=(0.2, 0.2, 0.2)))
    m.joint("D", mt.Prismatic("x", motion=motion), m.ground, slider)
    m.joint("A", mt.Revolute("z"), m.ground, a)
    m.joint("B", mt.Revolute("z"), a.at((crank, 0, 0)), b)
    m.joint("C", mt.Revolute("z"), b.at((rod, 0, 0)), slider)
    m.cut("C")
    return m


def test_a_parallelogram_is_singular_where_it_is_flat():
    # twice in each turn: there it may go on as a parallelogram or crossed
    system = four_bar((1.0, 2.0, 1.0, 2.0)).build()
    t = full_turn()
    turning = np.array([{"A": 1, "B": -1, "D": 1}[name.name] for name in system.mechanism.coordinates])
    samples = Block(t, np.outer(t, turning), np.tile(turning, (len(t), 1)), np.zeros((len(t), 0)))
    found = toggles(Run.of(system, samples, (), {}, Statistics(), End("arrived", t[-1])))
    assert [toggle.t for toggle in found] == pytest.approx([math.pi, 2 * math.pi], abs=1e-9)
    assert all(toggle.drops and (toggle.rank, toggle.regular) == (1, 2) for toggle in found)


def test_a_crank_rocker_is_never_singular():
    # Grashof: 1 + 2.5 < 2 + 2
    assert toggles(turned(four_bar(), "A", full_turn())) == ()


def test_bennetts_linkage_is_never_singular():
    assert toggles(turned(bennett(), "R1", np.linspace(0.3, 2.8, 26))) == ()


def test_a_four_bar_with_a_change_point_is_singular_where_it_is_flat():
    # Grashof: 1 + 3 = 2 + 2, flat with the crank turned backwards
    system = four_bar((1.0, 2.0, 2.0, 3.0)).build()
    flat = np.array([{"A": 1, "B": -1, "D": 1}[name.name] * math.pi for name in system.mechanism.coordinates])
    assert singularity(system.mechanism, flat) < 1e-12
    assert singularity(system.mechanism, system.assemble({"A": 1.0}).q) > 0.1


def test_a_rocker_cannot_drive_through_its_dead_centres():
    # crank and coupler in line: the far end of the crank-coupler line is b + a or b - a from the pivot
    a, b, c, d = 1.0, 2.0, 2.0, 2.5
    run = turned(four_bar((a, b, c, d)), "A", full_turn())
    out = math.acos(((a + b) ** 2 + d**2 - c**2) / (2 * (a + b) * d))
    back = math.pi - math.acos(((b - a) ** 2 + d**2 - c**2) / (2 * (b - a) * d))
    found = toggles(run, driven="D")
    assert all(toggle.drops for toggle in found)
    # of two mirror images each, one for each branch
    angles = sorted(min(toggle.t, 2 * math.pi - toggle.t) for toggle in found)
    assert angles == pytest.approx(sorted([out, back]), abs=1e-5)
    assert toggles(run, driven="A") == ()  # the crank can


def test_a_slider_crank_is_singular_for_its_slider_at_both_dead_centres():
    run = turned(slider_crank(), "A", full_turn())
    assert toggles(run) == ()
    assert toggles(run, driven="A") == ()
    found = toggles(run, driven="D")
    assert [toggle.t for toggle in found] == pytest.approx([math.pi, 2 * math.pi], abs=1e-7)
    assert all(toggle.drops for toggle in found)


@pytest.mark.long
def test_a_slider_that_is_moved_by_a_law_meets_its_dead_centre():
    # x = 4 where crank and rod, 1 and 3 long, are in line; the law turns back there
    system = crank_and_rod(motion="4 - 0.5*(t - 1)^2").build()
    t = np.linspace(0, 2, 21)
    states = [system.assemble({}, guess={"A": 0.7 * (1 - x)}, t=float(x)) for x in t if abs(x - 1) > 1e-9]
    t = np.array([state.t for state in states])
    q, v = np.stack([state.q for state in states]), np.stack([state.v for state in states])
    samples = Block(t, q, v, np.zeros((len(t), 0)))
    found = toggles(Run.of(system, samples, (), {}, Statistics(), End("arrived", 2.0)))
    assert [toggle.t for toggle in found] == pytest.approx([1.0], abs=1e-4)


def test_a_slider_crank_with_a_rod_as_long_as_its_crank_is_singular_half_way():
    # the slider at the pivot: crank and rod lie on each other and turn together, or the slider goes on
    mechanism = crank_and_rod(1.0, 1.0).build().mechanism
    names = [reference.name for reference in mechanism.coordinates]
    for angle, vanishes in ((math.pi / 2, True), (math.pi / 3, False)):
        q = {"A": angle, "B": -2 * angle, "D": 2 * math.cos(angle)}
        found = singularity(mechanism, np.array([q[name] for name in names]), rank=2)
        assert (found < 1e-12) == vanishes
