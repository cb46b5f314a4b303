"""A solar array whose panels unfold together, by closed cable loops: one latch, one impact, and where the hub rests."""

from math import pi
from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("synchronized solar array", gravity=(0, 0, 0))
hub = m.body("hub", mt.box(mass=300, size=(1.2, 1.2, 1.2), color="gold"))
m.joint("hub", mt.Free(), m.ground, hub)
edge = hub.at((0, 0.6, -0.5))
for i, spring, rest in (1, 2.0, "-30*deg"), (2, 1.0, "30*deg"), (3, 1.0, "-30*deg"):
    panel = m.body(f"panel {i}", mt.box(mass=8, size=(1.6, 1.0, 0.02), centre=(0, 0.5, 0), color="blue"))
    m.joint(f"h{i}", mt.Revolute("x", spring=spring, rest=rest), edge, panel)
    edge = panel.at((0, 1.0, 0))
m.couple("h2", to="h1", ratio=-2, name="cable 1")  # pulleys of 2 : 1 at the hub
m.couple("h3", to="h2", ratio=-1, name="cable 2")
m.latch("h1", at=0)
m.start_at({"h1": "pi/2"}, t_end=6)
system = m.build()
run = system.simulate(rtol=1e-10, every=0.02)
run.plot("run.svg", joints=["h1", "h2", "h3"])
rotated = np.degrees(2 * np.arctan2(run["hub"][-1, 3], run["hub"][-1, 6]))  # about x, the axis of the hinges
(latch, t), lost = run.end.events[0], -run.energy.work["latch of h1"][-1]
print(system, run, f"{latch} at {t:.5f} s: {lost:.4f} J lost; hub at {rotated:.6f} deg", sep="\n\n")
# without angular momentum the hub's rotation depends only on the shapes that it passes: an integral over h1
nodes, weights = np.polynomial.legendre.leggauss(30)
signs, mass, J = np.array([[1], [-1], [1]]), np.array([300, 8, 8, 8]), 8 * (1 + 0.02**2) / 12
d = np.exp(1j * signs * pi / 4 * (1 - nodes))  # h1 from 90 to 0 degrees: along the panels, in the plane of y + i z
sums = np.vstack([np.zeros(3), np.tril(np.ones((3, 3)), -1) + np.eye(3) / 2])  # to the centres of hub and panels
hinge = np.array([[0], [1], [1], [1]]) * (0.6 - 0.5j)
r, dr = (c - mass @ c / 324 for c in (hinge + sums @ d, sums @ (1j * signs * d)))
share = (J + mass @ (r.conj() * dr).imag) / (300 * 1.2**2 / 6 + 3 * J + mass @ abs(r) ** 2)
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert run.closure_error.max() < 1e-12
assert abs(lost - ((2 / 3 * pi) ** 2 + (7 / 6 * pi) ** 2 - 2 * (pi / 6) ** 2)) < 1e-7  # all that the springs released
assert abs(run.state().v).max() < 1e-10  # without momentum, a rigid body is at rest
assert abs(rotated - np.degrees(weights @ share * pi / 4)) < 1e-6
