"""Models whose numbers are parameters: a four-bar linkage and random trees, to be built free or with numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import momentree as mt
from mechanisms import random_tree

FOUR_BAR = {"a": 1.0, "b": 2.0, "c": 2.0, "d": 2.5, "m": 1.0, "k": 3.0, "w": 2.0, "far": 3.0}
OTHER = {"a": 1.1, "b": 2.2, "d": 2.4, "m": 3.0, "k": 7.0, "w": 1.5}


def linkage(**values: Any) -> mt.Model:
    """Crank, coupler, rocker of lengths a, b, c on a ground of length d; masses, springs, laws and limits too."""
    m = mt.Model("linkage")
    for name, value in {**FOUR_BAR, **values}.items():
        m.parameter(name, value)
    crank = m.body("crank", mt.rod(mass="m", length="a"))
    coupler = m.body("coupler", mt.rod(mass=1.0, length="b"))
    rocker = m.body("rocker", mass="2*m", com=("c/2", 0, 0), inertia=("0.1*m", "m*c^2/6", "m*c^2/6"))
    m.joint("A", mt.Revolute("y", spring="k", damping=0.1, limits=("-far", "far")), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at(("a", 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at(("d", 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at(("b", 0, 0)), rocker.at(("c", 0, 0)))
    m.torque("A", "k*sin(w*t)")
    m.spring(m.ground.at((0, 0, "d")), coupler.at(("b/2", 0, 0)), stiffness="k", damping=0.2, rest="a/2")
    m.start_at({"A": "a"}, guess={"B": 0.7, "D": 0.5}, t_end="w")
    return m


def tree(**values: Any) -> mt.Model:
    """A random tree on a carrier that moves as prescribed, with a ball, and parameters in numbers and in laws."""
    m = mt.Model("tree")
    for name, value in {"l": 0.7, "m": 1.3, "w": 2.0, **values}.items():
        m.parameter(name, value)
    carrier = m.body("carrier", mass="m", com=(0, "l", 0), inertia=("m*l", "m*l", "m*l"))
    m.joint("driver", mt.Revolute("z", motion="sin(w*t)"), m.ground.at(("l", 0, 0), mt.turn("x", "w")), carrier)
    m = random_tree(np.random.default_rng(5), ["Spherical", "Revolute", "Cylindrical"], m)
    tip = m.body("tip", mass="m", com=("l", 0, 0), inertia=("m*l", "m*l", "m*l"))
    m.joint("wrist", mt.Screw("y", pitch="l"), m.bodies[2].at(("l", "m", 0), mt.turn("z", "w")), tip.at((0, "w", 0)))
    m.force(tip.at((0, 0, "l")), ("m*cos(w*t)", 0, "-w"))
    m.ground.moves(position=("0.1*sin(w*t)", 0, 0))
    return m
