"""The walking mechanism of Ivanov 2022: its graph, its loops, its mobility, and a configuration that closes."""

from math import asin, cos, sin
from pathlib import Path

import momentree as mt

m = mt.Model("walking mechanism", gravity=(0, 0, -9.8))
e1, e2, e3 = m.parameter("e1", 1.5), m.parameter("e2", 0.05), m.parameter("e3", 0.3)
period = m.parameter("period", 2.6)
w0 = m.parameter("w0", "2*pi/period")
hull = m.body("hull", mass=20, com=(0, 0, -0.1), inertia=(1.1, 0.7, 0.5), about="origin")
disc = m.body("disc", mass=3, inertia=(0.004, 0.0025, 0.0025))
leg = {"mass": 1.2, "com": (0, 0, -0.75), "inertia": (0.935, 0.935, 0.0003), "about": "origin"}
legs = [m.body(f"leg {i}", **leg) for i in (1, 2)]
m.joint("hull", mt.Planar("x"), m.ground.at((0, 0, e1 - e3)), hull)
m.joint("alpha", mt.Revolute("x"), hull, disc)
for i in (1, 2):
    m.joint(f"guide{i}", mt.PinSlot("z", "x"), hull.at((0, 0, e3)), legs[i - 1])
for i, radius in ((1, -e2), (2, e2)):
    m.joint(f"pin{i}", mt.Revolute("x"), disc.at((0, 0, radius)), legs[i - 1].at((0, 0, -e3)))
    m.split(f"leg {i}", f"pin{i}")
    m.contact(legs[i - 1], "ground", radius=e1, disc="x", stiffness=4e4, damping=1500, friction=0.8)
m.torque("alpha", "-6000*(alpha - w0*t) - 0.4*(alpha' - w0)")

system = m.build()
print(system)
state = system.assemble({"hull": (0, 0, 0), "alpha": 0.3})
angle = asin(0.05 / 0.3 * sin(0.3))

assert m == mt.load(Path(__file__).with_name("model.toml"))
assert system.structure.parents.tolist() == [0, 1, 1, 1, 2, 2]
assert system.structure.epsilon.tolist() == [[0, 0, 1, 0, -1, 0], [0, 0, 0, 1, 0, -1]]
assert (system.mobility, system.mobility_report.rank, len(system.mobility_report.rows)) == (4, 6, 12)
assert abs(state["guide1"] - [0.3 * cos(angle) - 0.3 - 0.05 * cos(0.3), angle]).max() < 1e-14
