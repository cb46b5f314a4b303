"""A cart with a blade, pushed and steered, whose nose follows a circle and then a figure eight: thrust and torque."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

import momentree as mt

m = mt.Model("cart with a blade")
hull = m.body("hull", mass=20, com=(0.1, 0, 0), inertia=(0.6, 1.2, 1.5))
m.joint("cart", mt.Planar("z"), m.ground, hull)
m.skate(hull, across="y", name="blade")
m.frame("nose", hull.at((0.4, 0, 0)))
assert m == mt.load(Path(__file__).with_name("model.toml"))
system, figure = m.build(), Figure(figsize=(9, 6), layout="constrained")
drives = {"thrust": {"cart.x": "cos(cart.angle)", "cart.y": "sin(cart.angle)"}, "steering": {"cart.angle": 1}}
circle, eight = ("2*cos(0.6*t)", "2*sin(0.6*t)"), ("2*sin(0.6*t)", "2*sin(0.6*t)*cos(0.6*t)")
places = (1.2, 0.3, 1.2), (-0.9, 0.5, 0.5)  # at rest, off the curve
for (plan, forces), (x, y), place in zip(figure.subplots(2, 2), (circle, eight), places, strict=True):
    programme = mt.programme(system, [f"nose.x = {x}", f"nose.y = {y}"], gain=3, position_gain=1)
    start = system.assemble({"cart": place})
    run = programme.simulate(start, t_end=22, every=0.05, rtol=1e-11)
    control = programme.control(run, actuators=drives)
    print(run, control, sep="\n")
    plan.plot(*(run.q[:, :2] + 0.4 * np.stack([np.cos(run.q[:, 2]), np.sin(run.q[:, 2])], -1)).T, "k", *run.q.T[:2], "--")
    plan.set(aspect="equal", xlabel="nose, and blade (dashed), m")
    forces.plot(run.t, control["thrust"], run.t, 10 * control["steering"], run.t, *control.multipliers.values())
    forces.set(xlabel="t, s", ylim=(-60, 60))
    forces.legend(["thrust, N", "10 x steering, N m", "side force of the blade, N"])

    def real(t, state, programme=programme):  # the cart itself: its equations of motion with these forces
        q, v = state[:3], state[3:]
        k, K = programme.control(q, v, t, actuators=drives).torques.values()
        return [*v, *system.forward_dynamics(q, v, [k * np.cos(q[2]), k * np.sin(q[2]), K])]

    end = solve_ivp(real, (0, 5), [*start.q, *start.v], rtol=1e-9, atol=1e-9).y[:3, -1]
    assert abs(end - run.q[100]).max() < 1e-7
