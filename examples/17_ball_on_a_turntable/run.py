"""A ball on a turntable: it circles at two sevenths of the table's angular velocity, wherever it is put."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import momentree as mt

m = mt.Model("ball on a turntable", gravity=(0, 0, -9.81))
turning, r = m.parameter("turning", 3.5), m.parameter("r", 0.1)
table = m.body("table", mt.cylinder(mass=10, radius=1.5, length=0.05, centre=(0, 0, -0.025)))
ball = m.body("ball", mt.sphere(mass=0.6, radius="r"))
m.joint("table", mt.Revolute("z", motion="turning*t"), m.ground, table)
m.joint("ball", mt.Free(), m.ground, ball)
m.roll(ball, on=table, radius="r")
# put down at x = 0.4 m with 0.3 and 0.5 m/s; the ball's angular velocity follows from rolling
m.start_at(
    {"ball": (0.4, 0, "r", 0, 0, 0, 1)},
    velocities={"ball": (0.3, 0.5, 0, "(0.4*turning - 0.5)/r", "0.3/r", 0)},
    t_end=10,
)

system = m.build(free=["turning"])
run = system.simulate(every=0.02)
k = 2 / 7 * 3.5  # rad/s
x0, v0 = 0.4, 0.3 + 0.5j  # in the plane of complex numbers
path = x0 + v0 * (np.exp(1j * k * run.t) - 1) / (1j * k)
figure = Figure(figsize=(6, 6), layout="constrained")
axes = figure.subplots(subplot_kw={"xlabel": "x, m", "ylabel": "y, m", "aspect": "equal"})
axes.plot(*run["ball"][:, :2].T, label="on the ground")
axes.plot(*(path * np.exp(-3.5j * run.t)).view(float).reshape(-1, 2).T, lw=0.8, label="on the table")
axes.legend()
figure.savefig("run.svg", metadata={"Date": None})
print(system, run, f"circles at {k:g} rad/s about {x0 - v0 / (1j * k):.6f}", sep="\n\n")
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(run["ball"][:, 0] + 1j * run["ball"][:, 1] - path).max() < 1e-9
assert abs(run["ball"][:, 2] - 0.1).max() < 1e-12
assert system.mobility == 3
assert run.energy.error < 1e-8
