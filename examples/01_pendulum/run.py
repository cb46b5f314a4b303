"""A rod on a hinge: its equation of motion in symbols, checked numerically by forward dynamics."""

from math import sin
from pathlib import Path

import sympy as sp

import momentree as mt

model = mt.Model("pendulum", gravity=(0, 0, "-g"))
for name, value in {"m": 1.2, "l": 0.8, "g": 9.81}.items():
    model.parameter(name, value)
rod = model.body("rod", mt.rod(mass="m", length="l", along="-z"))
model.joint("phi", mt.Revolute("y"), model.ground, rod)
model.start_at({"phi": "60*deg"}, t_end=6)

system = model.build()
equations = system.equations("energy")
equations.show()
print(equations.operations())
run = system.simulate(system.assemble({"phi": 1.0}), t_end=6.0, every=0.02)  # released at rest

m, l, g, phi = sp.symbols("m l g phi", real=True)
assert model == mt.load(Path(__file__).with_name("model.toml"))
assert [*equations.A] == [m * l**2 / 3]
assert [*equations.b] == [0]
assert [*equations.Q] == [-m * g * l * sp.sin(phi) / 2]
assert system.equations("aggregative").sympy()["equations"] == equations.sympy()["equations"]
assert abs(system.forward_dynamics([0.5], [2.0])[0] + 3 / 2 * 9.81 / 0.8 * sin(0.5)) < 1e-13
assert run.energy.error < 1e-9
