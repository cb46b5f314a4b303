"""Bennett's linkage rotates fully, though Gruebler's count of its degrees of freedom is -2."""

from pathlib import Path

import numpy as np

import momentree as mt


def linkage(length):
    m = mt.Model("Bennett linkage", gravity=(0, 0, -9.81))
    b = m.parameter("b", length)
    links = [m.body(f"link {i}", mt.rod(mass=1.0, length=l)) for i, l in ((1, b), (2, 1.0), (3, b))]
    short, long = mt.turn("x", "30*deg"), mt.turn("x", "60*deg")
    m.joint("R1", mt.Revolute("z"), m.ground.at((1, 0, 0), short), links[0])
    m.joint("R2", mt.Revolute("z"), links[0].at((b, 0, 0), long), links[1])
    m.joint("R3", mt.Revolute("z"), links[1].at((1, 0, 0), short), links[2])
    m.joint("R4", mt.Revolute("z"), links[2].at((b, 0, 0), long), m.ground)
    m.start_at({"R1": 1}, velocities={"R1": 4}, t_end=4)
    return m


m = linkage("sqrt(3)")
system, longer = m.build(), linkage("1.01*sqrt(3)").build()
run = system.simulate(rtol=1e-10, every=0.01)
run.plot("run.svg")
print(system, run, f"with two links longer by 1 %, its degrees of freedom are {longer.mobility}", sep="\n\n")

# tan(R1/2) tan(R2/2) = -sin(45 deg) / sin(15 deg) = -(1 + sqrt(3)), and opposite angles are opposite
s, c = (np.array([f(run[f"R{i}"] / 2) for i in (1, 2, 3, 4)]) for f in (np.sin, np.cos))
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert (system.mobility, system.mobility_report.gruebler, len(system.mobility_report.redundant)) == (1, -2, 3)
assert longer.mobility == 0
assert abs(s[0] * s[1] + (1 + np.sqrt(3)) * c[0] * c[1]).max() < 1e-12
assert abs(s[:2] * c[2:] + c[:2] * s[2:]).max() < 1e-12
assert run["R1"][-1] > 1 + 4 * np.pi  # more than two turns
assert run.closure_error.max() < 1e-12
assert run.energy.error < 1e-7
