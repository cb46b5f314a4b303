"""A disc rolls without slip: steadily in a circle, and wobbling; the friction that it needs."""

from math import sin, tan
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import momentree as mt

m = mt.Model("rolling disc", gravity=(0, 0, "-g"))
for name, value in {"g": 9.81, "m": 1.4, "r": 0.3, "tilt": 1.2, "turning": 1.3}.items():  # of its axis; rad/s
    m.parameter(name, value)
m.parameter("w", "(turning^2*sin(tilt)*r/4 - g)/tan(tilt)/(1.5*r*turning)")  # about its axis, in steady rolling
disc = m.body("disc", mass="m", inertia=("m*r^2/4", "m*r^2/4", "m*r^2/2"))
m.joint("disc", mt.Free(), m.ground, disc)
m.roll(disc, radius="r", disc="z", friction=0.6)
m.start_at(
    {"disc": (0, "r*cos(tilt)", "r*sin(tilt)", "sin(tilt/2)", 0, 0, "cos(tilt/2)")},
    velocities={"disc": ("-r*w", 0, 0, 0, "turning*sin(tilt)", "w")},
    t_end=10,
)

system = m.build()
steady = system.simulate(every=0.02)
wobbling = system.simulate(system.start(velocities={"disc.wx": 1.0, "disc.vz": 0.3}), t_end=10, every=0.02)
figure = Figure(figsize=(6, 6), layout="constrained")
axes = figure.subplots(subplot_kw={"xlabel": "x, m", "ylabel": "y, m", "aspect": "equal"})
axes.plot(*steady["disc"][:, :2].T, label="centre, steady")
axes.plot(*wobbling["disc"][:, :2].T, label="centre, wobbling")
axes.legend()
figure.savefig("run.svg", metadata={"Date": None})
w = (1.3**2 * sin(1.2) * 0.3 / 4 - 9.81) / tan(1.2) / (1.5 * 0.3 * 1.3)
angle, around = 1.3 * steady.t, 0.3 * w / 1.3  # the centre's circle
circle = np.stack([-around * np.sin(angle), 0.3 * np.cos(1.2) + around * (np.cos(angle) - 1)], axis=1)
force = steady.reactions("roll 1")[:, :3]
print(system, steady, wobbling, f"circle of {abs(around):.6f} m; friction {1.3**2 * abs(around) / 9.81:.6f}", sep="\n\n")
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(steady["disc"][:, :2] - circle).max() < 1e-9
assert abs(np.hypot(*force[:, :2].T) / force[:, 2] - 1.3**2 * abs(around) / 9.81).max() < 1e-8
assert wobbling.energy.error < 1e-8
assert wobbling.closure_error.max() < 1e-12
