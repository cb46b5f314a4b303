"""Models for studies: with closed forms, and with a loop."""

from __future__ import annotations

import momentree as mt


def rotor() -> mt.Model:
    """A body that turns freely about z, its mass at a distance: A = A0 + w t, and the hinge pulls with m r w^2."""
    m = mt.Model("rotor", gravity=(0, 0, 0))
    m.parameter("mass", 2.0)
    m.parameter("r", 0.5)
    m.parameter("double", "2*r")
    body = m.body("arm", mass="mass", com=("r", 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("z"), m.ground, body)
    m.frame("tip", body.at(("r", 0, 0)))
    m.start_at({"A": 0.25}, velocities={"A": "1/double"}, t_end=2)
    return m


def four_bar() -> mt.Model:
    """A four-bar linkage whose lengths are parameters."""
    m = mt.Model("four-bar", gravity=(0, 0, -9.81))
    for name, length in (("a", 1.0), ("b", 2.0), ("c", 2.0), ("d", 2.5)):
        m.parameter(name, length)
    bodies = (("crank", "a"), ("coupler", "b"), ("rocker", "c"))
    bars = [m.body(name, mt.rod(mass=1.0, length=letter)) for name, letter in bodies]
    m.joint("A", mt.Revolute("y"), m.ground, bars[0])
    m.joint("B", mt.Revolute("y"), bars[0].at(("a", 0, 0)), bars[1])
    m.joint("D", mt.Revolute("y"), m.ground.at(("d", 0, 0)), bars[2])
    m.joint("C", mt.Revolute("y"), bars[1].at(("b", 0, 0)), bars[2].at(("c", 0, 0)))
    m.start_at({"A": 1}, velocities={"A": 10}, t_end=0.5)
    return m
