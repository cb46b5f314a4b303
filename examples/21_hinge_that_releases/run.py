"""A half of a fairing opens about its hinge and comes off at 60 degrees: momentum is kept, then it flies freely."""

from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import momentree as mt

m = mt.Model("fairing", gravity=(0, 0, "-a"))  # in axes of the rocket, which accelerates upwards
m.parameter("a", 15)
half = m.body("half", mass=180, com=(-0.4, 0, 2.2), inertia=(330, 350, 60))
m.joint("hinge", mt.Revolute("y"), m.ground.at((1.3, 0, 0)), half)
m.release("hinge", when="hinge - 60*deg")
m.start_at(velocities={"hinge": 0.8}, t_end=1.6)
system = m.build()
run = system.simulate(rtol=1e-11, every=0.01)
foot, nose, centre = (run.position(half.at(at)) for at in ((0, 0, 0), (-1.3, 0, 4.6), (-0.4, 0, 2.2)))
axes = Figure(figsize=(6, 6), layout="constrained").subplots(subplot_kw={"aspect": "equal"})
for i in np.searchsorted(run.t, np.arange(0, 1.7, 0.2) - 1e-9):
    axes.plot(*np.stack([foot[i], nose[i]])[:, ::2].T, label=f"{run.t[i]:.1f} s")
axes.plot(*centre[:, ::2].T, "k--", lw=0.8, label="centre of mass; x and z in m")
axes.legend(loc="lower left")
axes.figure.savefig("run.svg", metadata={"Date": None})
# on the hinge, energy gives the angular velocity at every angle, and so the time of the release
nodes, weights = np.polynomial.legendre.leggauss(40)
angles = np.append(pi / 6 * (nodes + 1), pi / 3)
height = 0.4 * np.sin(angles) + 2.2 * np.cos(angles)  # of the centre of mass above the hinge
w = np.sqrt(0.8**2 + 2 * 180 * 15 * (2.2 - height) / (350 + 180 * (0.4**2 + 2.2**2)))
(name, t), k = run.end.events[0], np.searchsorted(run.t, run.end.events[0][1]) + 1  # the first sample after it
fall = run.t[k:] - t
print(system, run, f"{name} at {t:.9f} s with {w[-1]:.9f} rad/s", sep="\n\n")
drawn = mt.load(Path(__file__).with_name("model.toml"))  # with shapes, which change nothing
drawn.bodies, drawn.shapes = [replace(body, shapes=()) for body in drawn.bodies], []
assert m == drawn
assert abs(t - weights @ (1 / w[:-1]) * pi / 6) < 1e-9
assert abs(run.velocity("hinge")[k:] - w[-1]).max() < 1e-8  # nothing turns it any more
assert abs(centre[k:, 2] - centre[k, 2] + 7.5 * fall**2 + (centre[k, 0] - 1.3) * w[-1] * fall).max() < 1e-7
