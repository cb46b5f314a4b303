"""A four-bar linkage: its mobility, and both ways to assemble it."""

from math import acos, atan2, cos, hypot, remainder, sin, tau
from pathlib import Path

import momentree as mt

m = mt.Model("four-bar", gravity=(0, 0, -9.81))
crank = m.body("crank", mt.rod(mass=1.0, length=1.0))
coupler = m.body("coupler", mt.rod(mass=1.0, length=2.0))
rocker = m.body("rocker", mt.rod(mass=1.0, length=2.0))
m.joint("A", mt.Revolute("y"), m.ground, crank)
m.joint("B", mt.Revolute("y"), crank.at((1.0, 0, 0)), coupler)
m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
m.joint("C", mt.Revolute("y"), coupler.at((2.0, 0, 0)), rocker.at((2.0, 0, 0)))

system = m.build()
print(system)
states = system.branches({"A": 1.0})
print(*states, sep="\n")

# the triangle D, B, C by the cosine rule; an angle about y turns x towards -z
dx, dz = 2.5 - cos(1.0), sin(1.0)
to_B, half = atan2(-dz, -dx), acos(hypot(dx, dz) / 4)
expected = sorted(remainder(-(to_B + side * half), tau) for side in (-1, 1))

assert m == mt.load(Path(__file__).with_name("model.toml"))
assert (system.mobility, system.mobility_report.gruebler) == (1, -2)
assert len(system.mobility_report.redundant) == 3
for state, angle in zip(sorted(states, key=lambda s: s["D"]), expected, strict=True):
    assert abs(state["D"] - angle) < 1e-12
    assert state.closure < 1e-14
