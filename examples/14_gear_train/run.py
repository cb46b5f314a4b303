"""A motor runs up through a gear pair and a planetary set: ratios, and the inertia that the motor feels."""

from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("gear train")
T0, w0 = m.parameter("T0", 0.4), m.parameter("w0", 300)
motor = m.body("motor", mt.cylinder(mass=0.4, radius=0.03, length=0.05, centre=(0, 0, -0.04)))
sun = m.body("sun", mt.cylinder(mass=0.5, radius=0.06, length=0.02), shapes=[mt.cylinder(radius=0.02, length=0.07)])
carrier = m.body("carrier", mt.cylinder(mass=20, radius=0.25, length=0.05, centre=(0, 0, -0.1)))
m.joint("motor", mt.Revolute("z"), m.ground.at((0.075, 0, 0)), motor)
m.joint("sun", mt.Revolute("z"), m.ground, sun)
m.joint("carrier", mt.Revolute("z"), m.ground, carrier)
for i in (1, 2, 3):
    planet = m.body(f"planet {i}", mt.cylinder(mass=0.15, radius=0.025, length=0.02))
    at = (f"0.045*cos({i}*120*deg)", f"0.045*sin({i}*120*deg)", 0.025)
    m.shape(carrier, mt.rod(length=0.045, radius=0.005).at((0, 0, 0.04), mt.turn("z", f"{i}*120*deg")))
    m.joint(f"planet {i}", mt.Revolute("z"), carrier.at(at), planet)
m.torque("motor", "T0*(1 - motor'/w0)")
m.gear("motor", "sun", teeth=(15, 60))
m.planetary("sun", None, "carrier", teeth=(20, 70), planets=["planet 1", "planet 2", "planet 3"])  # the ring is held
m.start_at(t_end=5)
system = m.build()
run = system.simulate(every=0.02)
run.plot("run.svg", joints=["motor", "sun", "carrier"])
# what the motor feels: each inertia times the square of its turns for one of the motor
cylinders = {"motor": 0.4 * 0.03**2 / 2, "sun": 0.5 * 0.06**2 / 2, "carrier": 20 * 0.25**2 / 2 + 3 * 0.15 * 0.045**2}
turns = {"motor": 1, "sun": -1 / 4, "carrier": -1 / 18, "planets": 1.8 / 18}  # planets against the carrier
felt = sum(inertia * turns[name] ** 2 for name, inertia in cylinders.items()) + 3 * 0.15 * 0.025**2 / 2 * 0.1**2
tau = felt * 300 / 0.4  # s: w = w0 (1 - exp(-t/tau))
print(system, run, f"the motor feels {felt:.9f} kg m2; time constant {tau:.6f} s", sep="\n\n")
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert system.mobility == 1
assert abs(run.velocity("motor") / 300 - (1 - np.exp(-run.t / tau))).max() < 1e-9
assert abs(run["motor"] + 18 * run["carrier"]).max() < 1e-11 * run["motor"].max()
assert abs(run["planet 2"] + 2.8 * run["carrier"]).max() < 1e-11 * run["motor"].max()
assert run.energy.error < 1e-8 * run.energy.through
