"""A five-bar linkage with two motors at the ground, whose coupler point follows a curve with three corners: torques."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import momentree as mt
from momentree.look.picture_files import save_picture

m, couplers = mt.Model("five-bar linkage"), []
for motor, elbow, x in ("A", "B", -0.1), ("E", "D", 0.1):
    crank = m.body(f"crank {motor}", mt.rod(mass=0.5, length=0.2))
    couplers.append(m.body(f"coupler {elbow}", mt.rod(mass=0.8, length=0.35)))
    m.joint(motor, mt.Revolute("-y"), m.ground.at((x, 0, 0)), crank)
    m.joint(elbow, mt.Revolute("-y"), crank.at((0.2, 0, 0)), couplers[-1])
m.joint("C", mt.Revolute("-y"), *(coupler.at((0.35, 0, 0)) for coupler in couplers))
m.frame("pen", tip := couplers[0].at((0.4, 0, 0)))
curve = "pen.x = 0.05 + 0.06*cos(2*t) + 0.025*cos(4*t)", "pen.z = 0.38 + 0.06*sin(2*t) - 0.025*sin(4*t)"
m.start_at(guess={"A": 2.2, "E": 0.9, "B": -1, "D": 1}, t_end=0.6)  # at rest, off the curve
programme = mt.programme(system := m.build(), curve, gain=20, position_gain=5, name="five-bar")
run = programme.simulate(system.start(), t_end=3 * np.pi, every=np.pi / 100, rtol=1e-11)
control, errors = programme.control(run, actuators=["A", "E"]), abs(programme.closure_errors(run.q, run.t))
rate = np.linalg.eigvals(np.linalg.solve(*(of(run.q, run.t) for of in (programme.mass_matrix, programme.decay_matrix))))
last, A, E = slice(-101, -1), control["A"], control["E"]  # the last period
largest = {joint: round(float(np.linalg.norm(x[last, :3], axis=1).max()), 1) for joint, x in control.reactions.items()}
print(run, control, f"  largest reactions, N: {largest}; decays at {run.decay_rate():.4f} 1/s", sep="\n")
plan, axes = (figure := Figure(figsize=(9, 4), layout="constrained")).subplots(1, 2)
plan.set(aspect="equal", xlabel="pen, m")
plan.plot(*system.position(run.q, tip)[:, ::2].T)
axes.legend(axes.plot(run.t, A, run.t, E), ("torque of motor A, N m", "torque of motor E, N m"))
axes.set(xlabel="t, s")
save_picture(figure, "run.svg", dpi=100)
real = system.forward_dynamics(run.q, run.qd, np.stack([A, 0 * A, E, 0 * E], axis=-1))  # the linkage itself, driven so
assert abs(real - programme.accelerations(run.q, run.qd, run.t)).max() < 1e-9
assert errors[:, :5].max() < 1e-12 > errors[-1].max()  # the loop is closed throughout, and the pen arrives
assert abs((A * run["A'"] + E * run["E'"])[last].mean()) < 1e-9  # W: in a period the motors do no work
assert abs((control.reactions["A"] + control.reactions["E"])[last, 2].mean() - 2.6 * 9.81) < 1e-9  # bearings carry all
assert run.decay_rate() > rate.real.min() > 10
assert m == mt.load(Path(__file__).with_name("model.toml"))
