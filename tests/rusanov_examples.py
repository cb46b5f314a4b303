"""The two examples of Rusanov 2014."""

from __future__ import annotations

import momentree as mt

SLIDER = ("M", "m", "l", "g", "c0")


def slider(number: int) -> mt.Model:
    """A slider A on a horizontal guide; a rod AB on it; an elastic thread from B to D = A + (l, 0), of no free length.

    Example 1 has a mass at B and a rod without mass, example 2 a homogeneous rod.
    """
    m = mt.Model(f"example {number}", gravity=(0, "-g", 0))
    for name, value in zip(SLIDER, (3.0, 1.2, 0.8, 9.81, 15.0), strict=True):
        m.parameter(name, value)
    block = m.body("block", mass="M", inertia=(1.0, 1.0, 1.0))
    if number == 1:
        rod = m.body("rod", mass="m", com=(0, "-l", 0))
    else:
        rod = m.body("rod", mt.rod(mass="m", length="l", along="-y"))
    m.joint("x", mt.Prismatic("x"), m.ground, block)
    m.joint("phi", mt.Revolute("z"), block, rod)
    m.spring(rod.at((0, "-l", 0)), block.at(("l", 0, 0)), stiffness="c0")
    return m
