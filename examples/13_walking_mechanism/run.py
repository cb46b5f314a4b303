"""The walking mechanism of Ivanov 2022: its loops, a configuration that closes, and twenty periods of its walk."""

from math import asin, cos, sin
from pathlib import Path

from report import SHAPES, Walk, draw_steps, draw_walk, gait, save

import momentree as mt

m = mt.Model("walking mechanism", gravity=(0, 0, -9.8))
numbers = {"e1": 1.5, "e2": 0.05, "e3": 0.3, "period": 2.6, "w0": "2*pi/period", "k": 4e4, "depth": "25.4*9.8/k"}
m.parameters += [*numbers.items(), ("phi0", 1.26777324e-4), ("w", -0.212278321)]
hull = m.body("hull", mass=20, com=(0, 0, -0.1), inertia=(1.1, 0.7, 0.5), about="origin", shapes=SHAPES["hull"])
disc = m.body("disc", mass=3, inertia=(0.004, 0.0025, 0.0025), shapes=SHAPES["disc"])
leg = {"mass": 1.2, "com": (0, 0, -0.75), "inertia": (0.935, 0.935, 0.0003), "about": "origin"}
legs = [m.body(f"leg {i}", **leg, shapes=SHAPES[f"leg {i}"]) for i in (1, 2)]
m.joint("hull", mt.Planar("x"), m.ground.at((0, 0, "e1 - e3")), hull)
m.joint("alpha", mt.Revolute("x"), hull, disc)
for i in (1, 2):
    m.joint(f"guide{i}", mt.PinSlot("z", "x"), hull.at((0, 0, "e3")), legs[i - 1])
for i, radius in ((1, "-e2"), (2, "e2")):
    m.joint(f"pin{i}", mt.Revolute("x"), disc.at((0, 0, radius)), legs[i - 1].at((0, 0, "-e3")))
    m.split(f"leg {i}", f"pin{i}")
    m.contact(legs[i - 1], "ground", radius="e1", disc="x", stiffness="k", damping=1500, friction=0.8)
m.torque("alpha", "-6000*(alpha - w0*t) - 0.4*(alpha' - w0)")
rolls = ("(e3 - e2)*cos(phi0)*w - (e1 - depth)*(w + e2/e3*w0)", "(e3 - e2)*sin(phi0)*w", "w")
stands = (0, "e3 - depth - (e3 - e2)*cos(phi0)", "phi0")
m.start_at({"hull": stands, "alpha": 0}, velocities={"hull": rolls, "alpha": "w0"}, t_end=52, stiff=True)

system, angle = m.build(), asin(0.05 / 0.3 * sin(0.3))
state, run = system.assemble({"hull": (0, 0, 0), "alpha": 0.3}), system.simulate(every=0.001)
measured = gait(walk := Walk.of(run))
print(system, run, measured, sep="\n\n")
save(draw_walk(walk), Path("walk.svg")), save(draw_steps(walk), Path("steps.svg"))
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert system.structure.epsilon.tolist() == [[0, 0, 1, 0, -1, 0], [0, 0, 0, 1, 0, -1]]
assert (system.mobility, system.mobility_report.rank, len(system.mobility_report.rows)) == (4, 6, 12)
assert abs(state["guide1"] - [0.3 * cos(angle) - 0.3 - 0.05 * cos(0.3), angle]).max() < 1e-14
assert (abs(measured.speed / 0.384 - 1) < 0.01, measured.touchdowns, measured.least > 0) == (True, (20, 20), True)
assert (run.closure_error.max() < 1e-9, run.energy.error < 1e-8) == (True, True)
