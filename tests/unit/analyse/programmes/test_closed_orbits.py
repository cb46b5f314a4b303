"""Closed orbits: periods that are known, turns of angles, orbits that attract and repel, and fields without any."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt
from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.closed_orbits import recurrent_motions


def motions(coordinates, velocity, region=None, periods=None):
    field = mt.programme(coordinates, velocity=velocity, periods=periods)
    return recurrent_motions(field, Region.of(field.coordinates, region), field.description.periods)


def test_rotation_has_orbits_of_period_two_pi_over_its_speed():
    (orbit,), _ = motions("x y", ("-3*y", "3*x"))
    assert orbit.period == pytest.approx(2 * math.pi / 3, rel=1e-8)
    assert orbit.residual < 1e-8
    assert np.ptp(np.hypot(*orbit.points.T)) < 1e-8
    assert not orbit.winds
    assert orbit.turns == {}


@pytest.mark.long
def test_the_limit_cycle_of_van_der_pol_has_the_period_between_crossings():
    def crossing(_, y):
        return y[0]

    crossing.direction = 1
    how = {"events": crossing, "method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    motion = solve_ivp(lambda _, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], (0, 30), [2, 0], **how)
    (orbit,), _ = motions("x y", ("y", "(1 - x^2)*y - x"))
    assert orbit.period == pytest.approx(motion.t_events[0][-1] - motion.t_events[0][-2], rel=1e-7)


@pytest.mark.long
def test_a_repelling_orbit_is_found_by_going_back():
    (orbit,), _ = motions("x y", ("-y - x*(1 - x^2 - y^2)", "x - y*(1 - x^2 - y^2)"), {"x": (-2, 2), "y": (-2, 2)})
    assert orbit.period == pytest.approx(2 * math.pi, rel=1e-8)
    assert np.hypot(*orbit.points.T) == pytest.approx(1, abs=1e-7)


def test_turns_of_angles_are_counted():
    periods = {"a": 2 * math.pi, "b": 1.0}
    (orbit,), _ = motions("a b", (-math.pi, 1.5), periods=periods)
    assert orbit.turns == {"a": -1, "b": 3}
    assert orbit.period == pytest.approx(2)
    assert orbit.winds
    assert "winding number -1 of a, winding number 3 of b" in str(orbit)


def test_orbits_must_lie_in_the_region():
    assert motions("x y", ("-y", "x"), {"x": (0.5, 3), "y": (-3, 3)}) == ([], None)
    orbits, _ = motions("phi", (1,), {"phi": (0, 3)}, {"phi": 2 * math.pi})
    assert orbits == []


@pytest.mark.long
def test_a_motion_that_never_closes_stays_nevertheless():
    periods = {"a": 2 * math.pi, "b": 2 * math.pi}
    orbits, staying = motions("a b", ("1", "sqrt(2)"), periods=periods)
    assert orbits == []
    assert staying.winds
    assert staying.turns["a"] == pytest.approx(staying.duration / (2 * math.pi), rel=1e-6)
    assert staying.turns["b"] == pytest.approx(staying.duration / math.sqrt(2) / math.pi, rel=1e-6)
