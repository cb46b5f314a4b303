"""Two rods released horizontally: positions at given times, energy balance, and how chaos separates two starts."""

from math import log, pi
from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("double pendulum", gravity=(0, 0, -9.81))
upper = m.body("upper", mt.rod(mass=1.0, length=1.0, along="-z"))
lower = m.body("lower", mt.rod(mass=1.0, length=1.0, along="-z"))
m.joint("A", mt.Revolute("-y"), m.ground, upper)
m.joint("B", mt.Revolute("-y"), upper.at((0, 0, -1)), lower)
m.start_at({"A": "90*deg"}, t_end=10)
system = m.build()

run = system.simulate(rtol=1e-13, every=0.025)
run.plot("run.svg")
print(run)
for t in (1, 2, 3):
    print(f"t = {t} s: from the vertical {run['A'][40 * t]:+.12f} and {run['A'][40 * t] + run['B'][40 * t]:+.12f} rad")

# the same start, and two slightly off
starts = np.array([[pi / 2, 0], [pi / 2 + 1e-9, 0], [pi / 2 + 1e-10, 0]])
motions = system.simulate_many(starts, np.zeros((3, 2)), t_end=20.0, rtol=1e-13, every=0.1)
apart, nearer = np.linalg.norm(motions.q[1:] - motions.q[0], axis=-1)
for t in range(0, 21, 4):
    print(f"t = {t:2} s: {apart[10 * t]:.1e} rad apart, or {nearer[10 * t]:.1e} from a start ten times nearer")

reference = {1: (-1.2077162381906380, -0.81439102309129633), 2: (-0.082758306820570849, 0.40736207491190722)}
reference[3] = (1.0250860122887292, 0.49573464762697516)  # both from the vertical
assert m == mt.load(Path(__file__).with_name("model.toml"))
for t, (first, second) in reference.items():
    assert abs(run["A"][40 * t] - first) + abs(run["A"][40 * t] + run["B"][40 * t] - second) < 1e-11
assert run.energy.error < 1e-9
assert run.energy.through > 39
assert abs(apart[:121] / nearer[:121] - 10).max() < 0.1  # the growth is that of the mechanism, not of errors
assert 0.9 < log(apart[160] / apart[0]) / 16 < 1.1  # 1/s: e times farther each second
