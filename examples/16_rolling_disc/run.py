"""A disc rolls without slip: steadily in a circle, and wobbling; the friction that it needs."""

from math import sin, tan
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import momentree as mt

m = mt.Model("rolling disc", gravity=(0, 0, "-g"))
for name, value in {"g": 9.81, "m": 1.4, "r": 0.3, "tilt": 1.2, "turning": 1.3}.items():
    m.parameter(name, value)
m.parameter("w", "(turning^2*sin(tilt)*r/4 - g)/tan(tilt)/(1.5*r*turning)")  # of steady rolling, about the axis
disc = m.body("disc", mass="m", inertia=("m*r^2/4", "m*r^2/4", "m*r^2/2"))
m.joint("disc", mt.Free(), m.ground, disc)
m.roll(disc, radius="r", disc="z", friction=0.3)
place = (0, "r*cos(tilt)", "r*sin(tilt)", "sin(tilt/2)", 0, 0, "cos(tilt/2)")
m.start_at({"disc": place}, velocities={"disc": ("-r*w", 0, 0, 0, "turning*sin(tilt)", "w")}, t_end=10)

system = m.build()
steady, start = system.simulate(every=0.02), system.start()
faster = np.add(start.velocity("disc"), (0, 0, 0.3 * 2, 2, 0, 0))  # its tilt changes at first
wobbling = system.simulate(system.assemble({"disc": start["disc"]}, {"disc": faster}), t_end=10, every=0.02)
axes = Figure(figsize=(6, 6), layout="constrained").subplots(subplot_kw={"aspect": "equal"})
for name, run in {"steady": steady, "wobbling": wobbling}.items():
    axes.plot(*run["disc"][:, :2].T, label=f"centre, {name}; x and y in m")
axes.legend()
axes.figure.savefig("run.svg", metadata={"Date": None})
around = 0.3 / 1.3 * (1.3**2 * sin(1.2) * 0.3 / 4 - 9.81) / tan(1.2) / (1.5 * 0.3 * 1.3)  # m, of the centre's circle
circle = np.stack([-around * np.sin(1.3 * steady.t), 0.3 * np.cos(1.2) + around * (np.cos(1.3 * steady.t) - 1)], axis=1)
needed = [run.friction_needed("roll 1") for run in (steady, wobbling)]
print(system, steady, wobbling, f"circle of {-around:.6f} m", *(mu.max() for mu in needed), sep="\n\n")
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(steady["disc"][:, :2] - circle).max() < 1e-9
assert abs(needed[0] - 1.3**2 * abs(around) / 9.81).max() < 1e-8  # the centripetal force, by the weight
assert wobbling.energy.error < 1e-8
assert needed[1].max() > 0.3  # it would slip, and the run has a warning
assert wobbling.closure_error.max() < 1e-12
