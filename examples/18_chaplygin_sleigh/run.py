"""A sleigh on one blade: nothing pushes it, and yet it speeds up while its rotation dies out (Chaplygin 1911)."""

from math import atanh, hypot, sqrt
from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("Chaplygin sleigh")
plate = mt.polygon(outline=((-0.15, -0.2), (0.5, -0.2), (0.8, 0), (0.5, 0.2), (-0.15, 0.2)), thickness=0.05)
drawn = [plate.at((0, 0, 0.16)), mt.box(size=(0.3, 0.02, 0.13), color="dark gray").at((0, 0, 0.065))]
hull = m.body("hull", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.45, 0.5), shapes=drawn)
m.joint("hull", mt.Planar("z"), m.ground, hull)
m.skate(hull, across="y", name="blade")
m.start_at(velocities={"hull": (1, 0, 2)}, t_end=5)

system = m.build()
run = system.simulate(rtol=1e-12, every=0.02)
run.plot("run.svg")
# exact: u = h tanh(nu), w = h/k / cosh(nu), nu grows uniformly
k = sqrt(0.5 / 2.0 + 0.3**2)
h = hypot(1, 2 * k)
nu = atanh(1 / h) + 0.3 * h / k**2 * run.t
heading, (dx, dy, w) = run["hull"][:, 2], run.velocity("hull").T
ahead, across = dx * np.cos(heading) + dy * np.sin(heading), dy * np.cos(heading) - dx * np.sin(heading)
side = np.linalg.norm(run.reactions("blade")[:, :3], axis=1)
print(system, run, sep="\n\n")
for t in (0, 1, 2, 5):
    i = 50 * t
    x, y, angle = run["hull"][i]
    print(f"t = {t} s: {ahead[i]:.9f} m/s, {w[i]:.9f} rad/s, at {x:.9f}, {y:.9f}; the blade holds {side[i]:.4f} N")

assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(ahead - h * np.tanh(nu)).max() < 1e-10
assert abs(w - h / k / np.cosh(nu)).max() < 1e-10
assert abs(across).max() < 1e-13
assert abs(run["hull"][-1] - (0.78129040256868241, 6.9625354743029718, 1.6733290685397593)).max() < 1e-10
assert system.mobility == 2
assert run.energy.error < 1e-10
