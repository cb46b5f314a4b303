"""Models with loops and constraints in letters, for tests of equations in symbols."""

from __future__ import annotations

import momentree as mt


def parametrized(name, gravity=(0, 0, 0), **parameters):
    """A model with parameters."""
    m = mt.Model(name, gravity=gravity)
    for parameter, value in parameters.items():
        m.parameter(parameter, value)
    return m


def four_bar_in_letters(gravity=(0, 0, 0)):
    """Crank a, coupler b, rocker c, ground d; hinges A, B, D, and C, which closes the loop."""
    m = parametrized("four-bar", gravity, a=1.0, b=2.0, c=2.0, d=2.5)
    rods = [m.body(f"rod {length}", mt.rod(mass=1.0, length=length)) for length in "abc"]
    m.joint("A", mt.Revolute("z"), m.ground, rods[0])
    m.joint("B", mt.Revolute("z"), rods[0].at(("a", 0, 0)), rods[1])
    m.joint("D", mt.Revolute("z"), m.ground.at(("d", 0, 0)), rods[2])
    m.joint("C", mt.Revolute("z"), rods[1].at(("b", 0, 0)), rods[2].at(("c", 0, 0)))
    return m


def two_wheels(*constraints):
    """Two wheels about parallel axes, and constraints between them."""
    m = parametrized("wheels", J1=0.4, J2=0.3, i=3.0)
    for name, inertia in (("A", "J1"), ("B", "J2")):
        wheel = m.body(f"wheel {name}", mass=1.0, inertia=(inertia, inertia, inertia))
        m.joint(name, mt.Revolute("z"), m.ground, wheel)
    for name, text in constraints:
        m.constrain(text, name)
    return m


def blade():
    """A plane body on a blade at its origin, its centre of mass `a` ahead of it: Chaplygin's sleigh."""
    m = parametrized("sleigh", m=1.2, J=0.4, a=0.3)
    m.joint("s", mt.Planar("z"), m.ground, m.body("sleigh", mass="m", com=("a", 0, 0), inertia=("J", "J", "J")))
    m.constrain("-sin(s.angle)*s.x' + cos(s.angle)*s.y'", "blade")
    return m
