"""The pendulum on a slider of Belkov and Konoplev 1997: their alpha, beta and b, derived."""

from pathlib import Path

import sympy as sp

import momentree as mt

numbers = {"m2": 2.0, "m3": 1.5, "J44": 0.01, "J55": 0.08, "J66": 0.09, "I44": 0.02, "I55": 0.05, "I66": 0.06}
numbers |= {"r2": 0.3, "p": 0.7, "r3": 0.4, "g": 9.81}
model = mt.Model("pendulum on a slider", gravity=("g", 0, 0))
for name, value in numbers.items():
    model.parameter(name, value)
slider = model.body("slider", massless=True)
link2 = model.body("link 2", mass="m2", com=("r2", 0, 0), inertia=("J44", "J55", "J66"))
link3 = model.body("link 3", mass="m3", com=("r3", 0, 0), inertia=("I44", "I55", "I66"))
model.joint("o", mt.Prismatic("y"), model.ground, slider)
model.joint("theta5", mt.Revolute("y"), slider, link2)
model.joint("theta6", mt.Revolute("z"), link2.at(("p", 0, 0)), link3)
model.start_at({"theta5": "60*deg", "theta6": "45*deg"}, t_end=10)

system = model.build()
equations = system.equations("aggregative", velocities={"theta5": "w5", "theta6": "w6"})
equations.show()
start = system.assemble({"theta5": 1.0, "theta6": 0.5}, velocities={"theta5": 2.0})
run = system.simulate(start, t_end=6.0, every=0.02)

m3, I44, I55, r, p, angle = sp.symbols("m3 I44 I55 r3 p theta6", real=True)
alpha, beta, w5, w6 = sp.symbols("alpha beta w5 w6", real=True)
paper = {alpha: ((I44 - I55) * sp.cos(angle) - m3 * (p + r * sp.cos(angle)) * r) * sp.sin(angle)}
paper[beta] = -m3 * r * sp.sin(angle)

assert model == mt.load(Path(__file__).with_name("model.toml"))
assert [*equations.b] == [beta * w6**2, 2 * alpha * w5 * w6, -alpha * w5**2]
for name, formula in paper.items():
    assert sp.expand(dict(equations.definitions)[name] - formula) == 0
assert run.energy.error < 1e-8
