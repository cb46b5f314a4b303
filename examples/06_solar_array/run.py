"""A solar array unfolds from a free-floating hub: when each latch locks, what its impact costs, where the hub rests."""

from math import pi
from pathlib import Path

import numpy as np

import momentree as mt

m = mt.Model("solar array", gravity=(0, 0, 0))
hub = m.body("hub", mt.box(mass=300, size=(1.2, 1.2, 1.2)))
m.joint("hub", mt.Free(), m.ground, hub)
edge = hub.at((0, 0.6, -0.5))
for i, (spring, rest) in enumerate([(2.0, "-30*deg"), (1.0, "30*deg"), (1.0, "-30*deg")], 1):
    panel = m.body(f"panel {i}", mt.box(mass=8, size=(1.6, 1.0, 0.02), centre=(0, 0.5, 0)))
    m.joint(f"h{i}", mt.Revolute("x", spring=spring, rest=rest), edge, panel)
    m.latch(f"h{i}", at=0)  # in line with the panel before
    edge = panel.at((0, 1.0, 0))

system = m.build()
folded = system.assemble({"h1": pi / 2, "h2": -pi, "h3": pi})
run = system.simulate(folded, t_end=6.0, rtol=1e-10, every=0.02)
run.plot("run.svg", joints=["h1", "h2", "h3"])
print(run)
rotated = np.degrees(2 * np.arctan2(run["hub"][:, 3], run["hub"][:, 6]))  # about x, the axis of the hinges
spin, work = np.degrees(run.velocity("hub")[:, 3]).round(4) + 0.0, run.energy.work
for latch, t in run.end.events:
    k = np.searchsorted(run.t, t)  # the sample before the impact; the next is the one after it
    impact = f"hub at {rotated[k]:+.4f} deg, {spin[k]:+.4f} deg/s before and {spin[k + 1]:+.4f} after"
    print(f"{latch} at {t:.5f} s: {-work[latch][-1]:.4f} J lost; {impact}")

released = 1.0 * (2 / 3 * pi) ** 2 + (7 / 6 * pi) ** 2 - (1.0 + 1.0) * (pi / 6) ** 2  # J: k/2 (angle - rest)^2
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert [latch for latch, _ in run.end.events] == ["latch of h3", "latch of h2", "latch of h1"]
assert abs(system.momentum(run.q, run.v)).max() < 1e-11
assert run.energy.error < 1e-7
assert abs(sum(lost[-1] for lost in work.values()) + released) < 1e-7  # all that the springs released
assert abs(run.state().v).max() < 1e-12  # without momentum, a rigid body is at rest
assert abs(rotated[-1] - 7.185664) < 1e-6  # an independent program gives the same
