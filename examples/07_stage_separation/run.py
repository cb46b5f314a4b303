"""Pushers separate two stages of a rocket, one weaker than the others: separation velocity and tumbling."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import momentree as mt

m = mt.Model("stage separation", gravity=(0, 0, 0))
k, s, r, weak = (m.parameter(*pair) for pair in {"k": 2e4, "s": 0.1, "r": 0.5, "weak": 0.9}.items())
lower = m.body("lower", mt.cylinder(mass=2000, radius=0.6, length=6))
upper = m.body("upper", mt.cylinder(mass=800, radius=0.6, length=2))
m.joint("lower", mt.Free(), m.ground.at((0, 0, -3)), lower)
m.joint("upper", mt.Free(), m.ground.at((0, 0, 1)), upper)
for x, y, stiffness in ((r, 0, k * weak), (0, r, k), (-r, 0, k), (0, -r, k)):
    m.contact(upper.at((x, y, -1 - s)), lower.at((0, 0, 3)), stiffness=stiffness)  # a tip, penetrating at first

system = m.build(free=["weak"])
start, share = system.assemble(), np.array([1.0, 0.95, 0.9])  # remaining stiffness of the weak pusher
run = system.simulate(start, t_end=0.25, rtol=1e-10, every=0.002)
ends = system.simulate_many(start.q, start.v, t_end=0.25, parameters={"weak": share}, rtol=1e-10, every=0.25).v[:, -1]
speed, w = np.linalg.norm(ends.reshape(3, 2, 6)[..., :3], axis=-1).sum(axis=-1), ends[:, [4, 10]]  # m/s, rad/s
mu, J = 1 / (1 / 2000 + 1 / 800), np.array([2000 * (3 * 0.6**2 + 6**2), 800 * (3 * 0.6**2 + 2**2)]) / 12
rough = (1 - share)[:, None] * [-1, 1] * 2e4 * 0.1 * 0.5 / np.sqrt(4 * 2e4 / mu) / J  # the missing impulse
print(run, "\nfraction of the weak pusher; separation in m/s; deg/s of the lower, of the upper stage")
for row in np.column_stack([share, speed, np.degrees(w)]):
    print(*row.round(6))
figure = Figure(figsize=(11, 3), layout="constrained")
curves = np.column_stack([run.v[:, 8] - run.v[:, 2], np.degrees(run.v[:, [4, 10]])])
figure.subplots(subplot_kw={"xlabel": "t, s"}).plot(run.t, curves, label=["apart, m/s", "lower, deg/s", "upper, deg/s"])
figure.legend(loc="outside right")
figure.savefig("run.svg", metadata={"Date": None})
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(speed[0] - np.sqrt(2 * 400 / mu)) + abs(w[0]).max() < 1e-7  # four alike, 100 J in each
assert abs(run.energy.kinetic[-1] - 390) < 1e-5
assert abs(system.momentum(run.q, run.v)).max() < 1e-9
assert abs(w[1:] / rough[1:] - 1).max() < 0.1
