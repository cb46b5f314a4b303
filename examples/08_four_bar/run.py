"""A four-bar linkage: its degrees of freedom, both branches of its assembly, and its crank rotating."""

from math import acos, atan2, cos, hypot, remainder, sin, tau
from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("four-bar", gravity=(0, 0, -9.81))
crank = m.body("crank", mt.rod(mass=1.0, length=1.0))
coupler = m.body("coupler", mt.rod(mass=1.0, length=2.0))
rocker = m.body("rocker", mt.rod(mass=1.0, length=2.0))
m.joint("A", mt.Revolute("y"), m.ground, crank)
m.joint("B", mt.Revolute("y"), crank.at((1.0, 0, 0)), coupler)
m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
m.joint("C", mt.Revolute("y"), coupler.at((2.0, 0, 0)), rocker.at((2.0, 0, 0)))
m.start_at({"A": 1}, velocities={"A": 10}, t_end=5)
system = m.build()
branches = sorted(system.branches({"A": 1.0}), key=lambda state: remainder(state["D"], tau))
run = system.simulate(rtol=1e-11, every=0.01, events={"turn": "sin((A - 1)/2)"})
run.plot("run.svg")

# the triangle D, B, C by the cosine rule; an angle about y turns x towards -z
dx, dz = 2.5 - cos(1.0), sin(1.0)
to_B, half = atan2(-dz, -dx), acos(hypot(dx, dz) / 4)
expected = sorted(remainder(-(to_B + side * half), tau) for side in (-1, 1))
# with one degree of freedom, energy gives the velocity at every angle, and so the time of a turn
state, angles = system.start(), np.linspace(1, 1 + tau, 128, endpoint=False)
states = [state := system.assemble({"A": a}, velocities={"A": 1.0}, guess=state) for a in angles]
T, V = np.array([system.energy(state.q, state.v)[:2] for state in states]).T
turn = tau * np.mean(np.sqrt(T / (run.energy.total[0] - V)))
print(system, *branches, run, f"a turn takes {turn:.9f} s by energy", sep="\n\n")
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert (system.mobility, system.mobility_report.gruebler, len(system.mobility_report.redundant)) == (1, -2, 3)
assert max(abs(remainder(b["D"] - angle, tau)) for b, angle in zip(branches, expected, strict=True)) < 1e-12
assert abs([t for _, t in run.end.events] - turn * np.arange(1, 6)).max() < 1e-9
assert run.closure_error.max() < 1e-12
assert run.energy.error < 1e-7
