"""An undriven slider-crank: its crank slows down and speeds up twice in each turn, as its inertia changes."""

from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("slider-crank", gravity=(0, 0, 0))
crank = m.body("crank", mass=0.36, com=(0.075, 0, 0), inertia=(0, 0.002727, 0.002727), about="origin")
rod = m.body("rod", mass=0.151104, com=(0.15, 0, 0), inertia=(0, 0.0045339259, 0.0045339259), about="origin")
slider = m.body("slider", mt.box(mass=0.075552, size=(0.04, 0.03, 0.03)))
m.joint("A", mt.Revolute("z"), m.ground, crank)
m.joint("B", mt.Revolute("z"), crank.at((0.15, 0, 0)), rod)
m.joint("C", mt.Revolute("z"), rod.at((0.3, 0, 0)), slider)
m.joint("D", mt.Prismatic("x"), m.ground, slider)
m.start_at(velocities={"A": 150}, t_end=0.16)
system = m.build()
run = system.simulate(rtol=1e-12, every=0.0005, events={"turn": "sin(A/2)"})
run.plot("run.svg", joints=["A", "B", "D"])


def inertia(a):
    """J(A) of T = J A'^2 / 2; b is the angle of the rod below the axis, turn and shift are b' and x' for A' = 1."""
    b = np.arcsin(np.sin(a) / 2)
    turn = np.cos(a) / (2 * np.cos(b))
    shift = -0.15 * np.sin(a) - 0.3 * np.sin(b) * turn
    rod = 0.151104 * (0.15**2 - 0.15 * 0.3 * np.cos(a + b) * turn) + 0.0045339259 * turn**2
    return 0.002727 + rod + 0.075552 * shift**2


a, turn = run["A"], np.pi / 75 * np.mean(np.sqrt(inertia(np.pi * np.arange(64) / 32) / inertia(0)))
print(system, run, f"a turn takes {turn:.9f} s by energy", "t, s; A, rad; A', rad/s; D, m", sep="\n\n")
for row in np.column_stack([run.t, a, run.velocity("A"), run["D"]])[[20, 40, 100, 200]]:
    print(*row.round(6))
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(run["D"] - 0.15 * np.cos(a) - np.sqrt(0.3**2 - (0.15 * np.sin(a)) ** 2)).max() < 1e-14
assert abs(run.velocity("A") / 150 - np.sqrt(inertia(0) / inertia(a))).max() < 1e-10
assert abs([t for _, t in run.end.events] - turn * np.arange(1, 4)).max() < 1e-10
