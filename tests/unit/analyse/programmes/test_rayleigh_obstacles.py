"""Why no potential increases along a programme: what closed orbits exclude, and words for each reason."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.programmes.closed_orbits import ClosedOrbit
from momentree.analyse.programmes.rayleigh_obstacles import excluded

TURN = 2 * math.pi


def orbit(**turns):
    return ClosedOrbit({"a": 0.0, "b": 0.0}, 1.0, turns, 0.0, np.zeros((2, 2)))


def test_an_orbit_without_turns_excludes_every_potential():
    assert "even a multivalued one" in excluded([orbit(a=0, b=0)], multivalued=True)
    assert "even a multivalued one" in excluded([orbit(a=1, b=0), orbit(a=0, b=0)], multivalued=True)


def test_an_orbit_with_turns_excludes_those_that_are_single_valued():
    assert "multivalued=True" in excluded([orbit(a=1, b=0)], multivalued=False)
    assert excluded([orbit(a=1, b=0)], multivalued=True) == ""
    assert excluded([], multivalued=False) == ""


@pytest.mark.parametrize(
    ("turns", "opposed"),
    [
        ([(1, 0), (-1, 0)], True),
        ([(1, 0), (0, 1)], False),
        ([(1, 0), (0, 1), (-1, 2)], False),  # gains (1, 2): 1, 2, 3
        ([(1, 0), (0, 1), (-1, -1)], True),
        ([(2, -3), (-2, 3)], True),
    ],
)
def test_orbits_whose_turns_oppose_each_other_exclude_every_potential(turns, opposed):
    """Gains per turn with a positive sum along all orbits exist unless a positive sum of turns vanishes (Gordan)."""
    words = excluded([orbit(a=a, b=b) for a, b in turns], multivalued=True)
    assert ("oppose each other" in words) == opposed


@pytest.mark.long
def test_two_orbits_that_turn_in_opposite_directions():
    p = mt.programme("a b", velocity=("cos(b) + 0.1", "sin(b)"), periods={"a": TURN, "b": TURN})
    found = p.rayleigh()
    assert found.impossible
    assert sorted(one.turns["a"] for one in found.obstacles) == [-1, 1]
    periods = {one.turns["a"]: one.period for one in found.obstacles}
    assert periods == pytest.approx({1: TURN / 1.1, -1: TURN / 0.9})


@pytest.mark.long
def test_a_spiral_excludes_every_d():
    """d dv/dq is symmetric where v = 0: with d > 0, complex eigenvalues contradict it."""
    found = mt.programme("x y", velocity=("-x - 2*y", "2*x - y")).rayleigh()
    assert found.impossible
    assert not found.found
    assert "eigenvalues would be real" in found.explanation


@pytest.mark.long
def test_a_motion_that_stays_is_named_where_no_orbit_closes():
    p = mt.programme("a b", velocity=("1", "sqrt(2)"), periods={"a": TURN, "b": TURN})
    found = p.rayleigh(multivalued=False)
    assert not found.found
    assert not found.impossible  # nothing is proved
    assert "still in the region after" in found.explanation


def test_velocities_that_turn_with_time_suit_no_potential_of_position():
    found = mt.programme("x y", velocity=("cos(t)", "sin(t)")).rayleigh()
    assert "directions of v at different times oppose each other" in found.explanation
    assert "Closed orbits are not looked for" in found.explanation
