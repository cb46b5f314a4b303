"""A solar array unfolds from a free-floating hub, its panels kept in step by elastic cables: latches and losses."""

from math import pi
from pathlib import Path

import numpy as np
from report import out_of_step, report, rotation

import momentree as mt

m = mt.Model("solar array", gravity=(0, 0, 0))
for name, value in {"k": 2e4, "r": 0.03, "F": 60}.items():
    m.parameter(name, value)
hub = m.body("hub", mt.box(mass=300, size=(1.2, 1.2, 1.2)))
m.joint("hub", mt.Free(), m.ground, hub)
edge = hub.at((0, 0.6, -0.5))
for i, (spring, rest) in enumerate([(2.0, "-30*deg"), (1.0, "30*deg"), (1.0, "-30*deg")], 1):
    panel = m.body(f"panel {i}", mt.box(mass=8, size=(1.6, 1.0, 0.02), centre=(0, 0.5, 0)))
    m.joint(f"h{i}", mt.Revolute("x", spring=spring, rest=rest), edge, panel)
    m.latch(f"h{i}", at=0)  # in line with the panel before
    edge = panel.at((0, 1.0, 0))
# closed cables about pulleys: two strands, one longer by x and one shorter; a slack strand does not push
one, two = (f"(max(0, F + k*r*({x})) - max(0, F - k*r*({x})))" for x in ("2*h1 + h2", "h2 + h3"))
for hinge, law in {"h1": f"-2*r*{one}", "h2": f"-r*{one} - r*{two}", "h3": f"-r*{two}"}.items():
    m.torque(hinge, law)
m.start_at({"h1": "90*deg", "h2": "-180*deg", "h3": "180*deg"}, t_end=4)  # folded
system = m.build(free=["k"])
without, stiff, run = (system.simulate(every=0.02, rtol=1e-11, parameters={"k": k}) for k in (0, 2e5, 2e4))
print(system, run, *report(run, Path()), sep="\n")
released = 1.0 * (2 / 3 * pi) ** 2 + (7 / 6 * pi) ** 2 - (1.0 + 1.0) * (pi / 6) ** 2  # J: k/2 (angle - rest)^2
assert m == mt.load(Path(__file__).with_name("model.toml"))
for motion in (without, stiff, run):
    step = np.degrees([np.abs(angle).max() for angle in out_of_step(motion).values()])
    print(f"k = {motion.parameters['k']:g} N/m: {step.round(3)} deg out of step; hub at {rotation(motion)[-1]:.6f} deg")
    assert abs(system.momentum(motion.q, motion.v)).max() < 1e-11
    assert abs(sum(term[-1] for term in motion.energy.work.values()) + released) < 1e-7  # lost: all of the springs
    assert abs(motion.state().v).max() < 1e-11  # without momentum, a rigid body is at rest
assert abs([rotation(motion)[-1] for motion in (without, run)] - np.array([7.185664, 6.402671])).max() < 1e-6
