"""Andrews' squeezer: seven bodies, three loops through one point; their positions after 0.03 s."""

from pathlib import Path

import momentree as mt

m = mt.Model("Andrews' squeezer", gravity=(0, 0, 0))
masses = (0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498)
xs = (0.00092, -0.0115, 0.01043, 0, 0.02308, 0.00579, -0.00449)  # of the centres of mass
ys = (0, 0, -0.01874, -0.00579, 0.00916, 0, -0.01228)
moments = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)  # of inertia, about them
links = enumerate(zip(masses, xs, ys, moments, strict=True), 1)
bodies = [m.body(f"K{i}", mass=mass, com=(x, y, 0), inertia=(J / 2, J / 2, J)) for i, (mass, x, y, J) in links]
K1, K2, K3, K4, K5, K6, K7 = bodies
A, E = m.ground.at((-0.06934, -0.00227, 0)), K3.at((0, -0.035, 0))
hinges = {"beta": (m.ground, K1), "theta": (K1.at((0.007, 0, 0)), K2)}
hinges |= {"gamma": (m.ground.at((-0.03635, 0.03273, 0)), K3), "phi": (K5.at((0.04, 0, 0)), K4), "delta": (A, K5)}
hinges |= {"Omega": (K7.at((0, -0.04, 0)), K6), "epsilon": (A, K7), "E2": (E, K2.at((-0.028, 0, 0)))}
hinges |= {"E4": (E, K4.at((0, -0.02, 0))), "E6": (E, K6.at((0.02, 0, 0)))}
for name, frames in hinges.items():
    m.joint(name, mt.Revolute("z"), *frames)
for name in ("E2", "E4", "E6"):
    m.cut(name)
m.torque("beta", 0.033)
m.spring(K3.at((0.02, -0.018, 0)), m.ground.at((0.014, 0.072, 0)), stiffness=4530, rest=0.07785)
guess = {"gamma": 0.46, "phi": 0.22, "delta": 0.49, "Omega": -0.22, "epsilon": 1.23}
m.start_at({"theta": 0}, guess=guess, t_end=0.03)

system = m.build()
run = system.simulate(rtol=1e-13, every=1e-4)
run.plot("run.svg", joints=["beta", "gamma", "delta", "epsilon"])
print(system, run, run.state(), sep="\n\n")

published = {"beta": (15.81077119629904, 1139.920302151208), "theta": (-15.75637105984298, -1424.379294994111)}
published |= {"gamma": (0.04082224013073101, 11.03291221937134)}  # at 0.03 s: rad, rad/s
assert m == mt.load(Path(__file__).with_name("model.toml"))
assert (system.mobility, len(system.mobility_report.redundant), run.closure_error.max() < 1e-12) == (1, 9, True)
for name, (angle, velocity) in published.items():
    assert abs(run[name][-1] - angle) < 2e-9
    assert abs(run.velocity(name)[-1] / velocity - 1) < 1e-7
