"""Mechanisms that cannot move are told when they are printed and when they are simulated; others are not."""

from __future__ import annotations

import warnings

import pytest

import momentree as mt
from mechanisms import bennett, four_bar, slider_crank


def triangle():
    """Two bars on the ground, and no freedom."""
    m = mt.Model("triangle")
    a, b = (m.body(name, mt.rod(mass=1.0, length=1.0, radius=0.05)) for name in "ab")
    m.joint("A", mt.Revolute("y"), m.ground, a)
    m.joint("B", mt.Revolute("y"), a.at((1, 0, 0)), b)
    m.joint("C", mt.Revolute("y"), b.at((1, 0, 0)), m.ground.at((1, 0, 0)))
    return m


def door(angle):
    """A leaf on two hinges, the upper one out of line."""
    m = mt.Model("door")
    leaf = m.body("leaf", mt.box(mass=10.0, size=(1, 0.04, 2)))
    m.joint("low", mt.Revolute("z"), m.ground, leaf)
    turned = mt.turn("x", angle)
    m.joint("high", mt.Revolute("z"), m.ground.at((0, 0, 2), turned), leaf.at((0, 0, 2), turned))
    return m


@pytest.mark.parametrize("model", [triangle(), door(0.1)])
def test_what_locks_is_told(model):
    system = model.build()
    assert system.mobility == 0
    assert system.mobility_report.locked
    assert "\nNothing can move: the constraints let no velocity pass. Check the directions of the axes" in str(system)
    with pytest.warns(mt.ModelWarning, match=f"{model.name}: nothing can move: the constraints let no velocity pass"):
        run = system.simulate(t_end=0.1)
    assert abs(run.v).max() < 1e-9


def driven():
    m = four_bar()
    first = m.joints[0]
    m.joints[0] = type(first)("A", mt.Revolute("y", motion="1 + t"), first.first, first.second)
    return m


@pytest.mark.parametrize("model", [door(0), driven(), four_bar(), bennett(), slider_crank()])
def test_what_moves_is_not(model):
    system = model.build()
    assert "Nothing can move" not in str(system)
    assert not system.mobility_report.locked
    with warnings.catch_warnings():
        warnings.simplefilter("error", mt.ModelWarning)
        system.simulate(t_end=0.01)
