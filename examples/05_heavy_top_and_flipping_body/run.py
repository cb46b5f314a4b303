"""A heavy top, and a box in weightlessness that flips over and over: what is conserved, and when the box flips."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ellipk

import momentree as mt

m, m2 = mt.Model("heavy top", gravity=(0, 0, -9.81)), mt.Model("flipping box", gravity=(0, 0, 0))
drawn = [mt.rod(length=1.3, along="y"), mt.disc(radius=0.25, thickness=0.02, axis="y", centre=(0, 1, 0))]
top = m.body("top", mass=15.0, com=(0, 1, 0), inertia=(0.234375, 0.46875, 0.234375), shapes=drawn)
m.joint("point", mt.Spherical(), m.ground, top)
m2.joint("flight", mt.Free(), m2.ground, m2.body("box", mt.box(mass=1.2, size=(0.3, 0.2, 0.1))))
m.start_at(velocities={"point": (0, 150, -4.61538)}, t_end=1)
m2.start_at(velocities={"flight": (0, 0, 0, 0, 5, 0.005)}, t_end=24)  # about the intermediate axis, nearly
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert m2 == mt.load(Path(__file__).with_name("model2.toml"))
system, box = m.build(), m2.build()
run = system.simulate(rtol=1e-12, every=0.01)
rotated = np.roll(run["point"][20], 1)  # w, x, y, z at 0.2 s
conserved = np.stack([run.energy.total, system.momentum(run.q, run.v)[:, 5], run.velocity("point")[:, 1]], axis=1)
print(run, f"\nat 0.2 s rotated by {rotated.round(5)}; conserves E, L_z, w_y = {conserved[0]}\n")
assert abs(rotated - (-0.70828, 0.43878, 0.54573, 0.08940)).max() < 5e-6
assert abs(conserved / conserved[0] - 1).max() < 1e-10

flight = box.simulate(rtol=1e-12, every=0.05, events={"flip": "flight.wy"})
w = flight.velocity("flight")[:, 3:]
J1, J2, J3 = J = 1.2 / 12 * np.array([0.2**2 + 0.1**2, 0.3**2 + 0.1**2, 0.3**2 + 0.2**2])
LL, EE = J**2 @ w[0] ** 2, J @ w[0] ** 2  # L^2 and 2 E
k2 = (J2 - J1) * (EE * J3 - LL) / ((J3 - J2) * (LL - EE * J1))
period = 4 * ellipk(k2) * np.sqrt(J1 * J2 * J3 / ((J3 - J2) * (LL - EE * J1)))  # Landau and Lifshitz, Mechanics, 37
print(flight, f"\na period of {period:.9f} s, with two flips in each")
figure = Figure(figsize=(11, 3), layout="constrained")
figure.subplots(subplot_kw={"xlabel": "t, s"}).plot(flight.t, w, label=["wx", "wy", "wz"])
figure.legend(loc="outside right", title="rad/s")
figure.savefig("run.svg", metadata={"Date": None})
assert abs([t for _, t in flight.end.events] - period * (np.arange(4) / 2 + 0.25)).max() < 1e-7
assert np.ptp(box.momentum(flight.q, flight.v), axis=0).max() < 1e-11
