"""A solar array whose panels unfold together, by closed cable loops: one latch, one impact, and where the hub rests."""

from math import pi
from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("synchronized solar array", gravity=(0, 0, 0))
hub = m.body("hub", mt.box(mass=300, size=(1.2, 1.2, 1.2)))
m.joint("hub", mt.Free(), m.ground, hub)
edge = hub.at((0, 0.6, -0.5))
for i, spring, rest in (1, 2.0, "-30*deg"), (2, 1.0, "30*deg"), (3, 1.0, "-30*deg"):
    panel = m.body(f"panel {i}", mt.box(mass=8, size=(1.6, 1.0, 0.02), centre=(0, 0.5, 0)))
    m.joint(f"h{i}", mt.Revolute("x", spring=spring, rest=rest), edge, panel)
    edge = panel.at((0, 1.0, 0))
m.couple("h2", to="h1", ratio=-2, name="cable 1")  # pulleys of 2 : 1 at the hub
m.couple("h3", to="h2", ratio=-1, name="cable 2")
m.latch("h1", at=0)
m.start_at({"h1": "pi/2"}, t_end=6)

system = m.build()
run = system.simulate(rtol=1e-10, every=0.02)
run.plot("run.svg", joints=["h1", "h2", "h3"])
rotated = np.degrees(2 * np.arctan2(run["hub"][:, 3], run["hub"][:, 6]))  # about x, the axis of the hinges
(latch, t), lost = run.end.events[0], -run.energy.work["latch of h1"][-1]
# without angular momentum the hub's rotation depends on the shapes that it passes only: an integral over h1
nodes, weights = np.polynomial.legendre.leggauss(30)
a = pi / 4 * (1 - nodes)  # h1 from 90 to 0 degrees; panels at h1, -h1, h1 to the hub, in the plane of y + i z
d = np.exp(1j * np.outer((1, -1, 1), a))
mass, J, sums = np.array([300, 8, 8, 8]), 8 * (1 + 0.02**2) / 12, np.tril(np.ones((3, 3)), -1) + np.eye(3) / 2
r, dr = (
    np.vstack([0 * a, c]) - mass[1:] @ c / 324
    for c in (0.6 - 0.5j + sums @ d, sums @ (1j * np.array([[1], [-1], [1]]) * d))
)
share = (J + mass @ (r.conj() * dr).imag) / (300 * 1.2**2 / 6 + 3 * J + mass @ abs(r) ** 2)
print(system, run, f"{latch} at {t:.5f} s: {lost:.4f} J lost; hub at {rotated[-1]:.6f} deg", sep="\n\n")
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert system.mobility == 7 and run.closure_error.max() < 1e-12
assert abs(lost - ((2 / 3 * pi) ** 2 + (7 / 6 * pi) ** 2 - 2 * (pi / 6) ** 2)) < 1e-7  # all that the springs released
assert abs(system.momentum(run.q, run.v)).max() < 1e-10 and abs(run.state().v).max() < 1e-10  # at rest in the end
assert abs(rotated[-1] - np.degrees(weights @ share * pi / 4)) < 1e-6
