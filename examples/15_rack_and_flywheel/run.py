"""A mass on a spring drives a flywheel through a rack: an inerter, which adds inertia without weight."""

from math import pi, sqrt
from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("rack and flywheel", gravity=(0, 0, -9.81))
r, J = m.parameter("r", 0.02), m.parameter("J", 8e-4)
rack = [mt.box(size=(0.008, 0.01, 0.3)).at((-0.006, 0, 0)), mt.box(size=(0.05, 0.05, 0.05)).at((-0.006, 0, -0.16))]
mass = m.body("mass", mass=2.0, shapes=rack)
wheel = mt.disc(radius=0.057, thickness=0.01, axis="y").at((0, 0.02, 0))
flywheel = m.body("flywheel", mass=0.5, inertia=("J/2", "J", "J/2"), shapes=[wheel])
m.joint("mass", mt.Prismatic("z", spring=200), m.ground, mass)
m.joint("pinion", mt.Revolute("y"), m.ground.at(("r", 0, 0)), flywheel)
m.rack("pinion", "mass", radius="r")
m.start_at({"mass": 0.05}, t_end=5)

system = m.build(free=["J"])
run = system.simulate(every=0.01)
run.plot("run.svg")
w, rest = sqrt(200 / (2.0 + 8e-4 / 0.02**2)), -2.0 * 9.81 / 200  # rad/s: as if the mass were J/r^2 heavier; m
print(system, run, sep="\n\n")
for inertia in (0.0008, 0.0016, 0.0056):
    felt = sqrt((2.0 + inertia / 0.02**2) / 200) * 2 * pi
    other = system.simulate(t_end=5.0, every=0.01, parameters={"J": inertia})
    print(f"J = {inertia:g} kg m2: a period of {felt:.6f} s; resting point {other['mass'].min() / 2 + 0.025:.6f} m")
    assert abs(other["mass"] - rest - (0.05 - rest) * np.cos(2 * pi / felt * other.t)).max() < 1e-9
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(run["mass"] - rest - (0.05 - rest) * np.cos(w * run.t)).max() < 1e-9
assert abs(run["mass"] - 0.02 * run["pinion"]).max() < 1e-13
assert run.energy.error < 1e-9
