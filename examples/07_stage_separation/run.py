"""Two boosters leave a rocket: pushers swing them out, hinges let go at 15 degrees; velocities, tumbling, clearance."""

from pathlib import Path

import numpy as np
from report import clearance, report, tumbling

import momentree as mt

m = mt.Model("stage separation", gravity=(0, 0, 0))
k, s, weak = (m.parameter(*pair) for pair in {"k": 1.2e5, "s": 0.3, "weak": 0.9}.items())
tip = [mt.cylinder(radius=r, length=1, centre=(0, 0, z)) for r, z in ((0.9, 13.5), (0.6, 14.5), (0.3, 15.5))]
cone = [mt.cylinder(radius=i / 5, length=3, centre=(i / 5, 0, 1.5 - 3 * i)) for i in range(1, 7)]  # only drawn
core = m.body("core", mt.cylinder(mass=60e3, radius=1.1, length=26), shapes=tip)
m.joint("core", mt.Planar("y"), m.ground, core)
for side, x, turned, stiffness in ("left", -1.25, "180*deg", k * weak), ("right", 1.25, 0, k):
    booster = m.body(side, mass=4e3, com=(1, 0, -11), inertia=(1.2e5, 1.2e5, 3e3), shapes=cone)
    outwards = mt.turn("z", turned)
    m.joint(side, mt.Planar("y"), core.at((x, 0, 6), outwards), booster)  # what is left when its hinge has let go
    m.joint(f"{side} hinge", mt.Revolute("-y"), core.at((x, 0, 6), outwards), booster)
    m.release(f"{side} hinge", when=f"`{side} hinge` - 15*deg")
    face = core.at((x, 0, -11), [outwards, mt.turn("y", "90*deg")])
    m.contact(booster.at((-s, 0, -17)), face, stiffness=stiffness)  # a tip, penetrating by its stroke at first
m.start_at(t_end=8)
system = m.build(free=["weak"])
alike, run = (system.simulate(every=0.02, parameters={"weak": share}) for share in (1.0, 0.9))
print(system, run, *report(run, Path()), sep="\n")

# if both pushers are alike, the core only moves along its axis: momentum and energy give all velocities at 15 degrees
c, s = np.cos(np.radians(15)), np.sin(np.radians(15))
outwards, along = 11 * c - s, c + 11 * s  # of the centre of mass of a booster, m/s for 1 rad/s of its hinge
swung = 2 * (1.2e5 + 4e3 * (1 + 11**2)) - (2 * 4e3 * along) ** 2 / 68e3  # T = swung rate^2 / 2
rate = np.sqrt(2 * 1.2e5 * 0.3**2 / swung)
print(f"alike: {rate:.9f} rad/s, {outwards * rate:.9f} m/s outwards, the core {-8e3 * along * rate / 68e3:.9f} m/s")
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert abs(np.radians([tumbling(alike)[side][-1] for side in ("left", "right")]) - [rate, -rate]).max() < 1e-9
assert abs(alike.velocity("core")[-1] - [-8e3 * along * rate / 68e3, 0, 0]).max() < 1e-9  # z, x, angle
assert abs(run.energy.kinetic[-1] - 1.9 * 1.2e5 * 0.3**2 / 2) < 1e-5  # all that the pushers had
assert abs(system.momentum(run.q, run.v)).max() < 1e-8 > abs(run.closure_error).max()
assert min(gap.min() for gap in clearance(run).values()) > 0.149  # they never touch
