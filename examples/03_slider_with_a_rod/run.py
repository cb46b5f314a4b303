"""Examples 1 and 2 of Rusanov 2014: a slider carries a massless rod with a ball at its end, or a heavy rod."""

from pathlib import Path

import sympy as sp

import momentree as mt


def slider_with_a_rod(name, **carried):
    model = mt.Model(name, gravity=(0, "-g", 0))
    for parameter, value in {"M": 3.0, "m": 1.2, "c0": 15.0, "l": 0.8, "g": 9.81}.items():
        model.parameter(parameter, value)
    slider = model.body("slider", mass="M")
    rod = model.body("rod", **carried)
    model.joint("x", mt.Prismatic("x"), model.ground, slider)
    model.joint("phi", mt.Revolute("z"), slider, rod)
    model.spring(rod.at((0, "-l", 0)), slider.at(("l", 0, 0)), "c0")  # the elastic thread BD, of zero natural length
    model.start_at({"phi": "-60*deg"}, t_end=10)
    return model


M, m, l, g, c0, phi = sp.symbols("M m l g c0 phi", real=True)
velocity, s, c = sp.Symbol("phi'", real=True), sp.sin(phi), sp.cos(phi)
with_ball = slider_with_a_rod("slider with a ball on a rod", mass="m", com=(0, "-l", 0))
heavy_rod = slider_with_a_rod("slider with a heavy rod", shape=mt.rod(mass="m", length="l", along="-y"))

# r: from the hinge A to the centre of mass; J: the moment of inertia about A
cases = [(with_ball, "model.toml", l, m * l**2), (heavy_rod, "model2.toml", l / 2, m * l**2 / 3)]
for model, file, r, J in cases:
    system = model.build()
    equations = system.equations("energy")
    equations.show()
    run = system.simulate(system.assemble({"phi": -1.0}), t_end=6.0, every=0.02)
    print()
    assert model == mt.load(Path(__file__).with_name(file))
    assert [*equations.A] == [M + m, m * r * c, m * r * c, J]
    assert [*equations.b] == [-m * r * velocity**2 * s, 0]
    assert [*equations.Q] == [0, c0 * l**2 * c - m * g * r * s]
    assert run.energy.error < 1e-8
