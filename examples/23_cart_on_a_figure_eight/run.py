"""A cart with a blade, pushed and steered, whose nose follows a circle, then a figure eight: thrust and torque."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import momentree as mt
from momentree.look.picture_files import save_picture

m = mt.Model("cart with a blade")
plate = mt.polygon(outline=((-0.2, -0.2), (0.2, -0.2), (0.4, 0), (0.2, 0.2), (-0.2, 0.2)), thickness=0.05)
hull = m.body("hull", mass=20, com=(0.1, 0, 0), inertia=(0.6, 1.2, 1.5), shapes=[plate.at((0, 0, 0.1))])
m.joint("cart", mt.Planar("z"), m.ground, hull)
m.skate(hull, across="y", name="blade")
m.frame("nose", hull.at((0.4, 0, 0)))
m.start_at(velocities={"cart": (1, 0, 1.5)}, t_end=5)  # without a programme: along the blade, and turning
curves = ("2*cos(0.6*t)", "2*sin(0.6*t)"), ("2*sin(0.6*t)", "2*sin(0.6*t)*cos(0.6*t)")
system, figure, forces = m.build(), Figure(figsize=(9, 6), layout="constrained"), []
drives = {"thrust": {"cart.x": "cos(cart.angle)", "cart.y": "sin(cart.angle)"}, "steering": {"cart.angle": 1}}
region = {"cart.x": (-2.1, 2.1), "cart.y": (-2.1, 2.1), "cart.angle": (-np.pi, np.pi), "t": (0, 10.5)}  # a period
places = (1.2, 0.3, 1.0), (-0.9, 0.5, 0.5)  # at rest, off the curve
for (x, y), place, (plan, axes) in zip(curves, places, figure.subplots(2, 2), strict=True):
    programme = mt.programme(system, [f"nose.x = {x}", f"nose.y = {y}"], gain=10, position_gain=1, name="cart")
    run = programme.simulate(system.assemble({"cart": place}), t_end=22, every=0.05, rtol=1e-11)
    control, certificate = programme.control(run, actuators=drives), programme.certify(region)
    print(run, f"  decays at {run.decay_rate():.4f} 1/s; {certificate}", control, sep="\n")
    forces.append(np.stack([k := control["thrust"], K := control["steering"], *control.multipliers.values()], -1))
    ahead = np.stack([np.cos(run["cart.angle"]), np.sin(run["cart.angle"])], axis=-1)
    plan.plot(*(run.q[:, :2] + 0.4 * ahead).T, "k", *run.q[:, :2].T, "--")
    plan.set(aspect="equal", xlabel="nose, and blade (dashed), m")
    axes.legend(axes.plot(run.t, forces[-1] * (1, 10, 1)), ("thrust, N", "10 x steering, N m", "side force, N"))
    axes.set(xlabel="t, s", ylim=(-45, 70))
    real = system.forward_dynamics(run.q, run.qd, np.column_stack([k[:, None] * ahead, K]))  # the cart, pushed so
    assert abs(real - programme.accelerations(run.q, run.qd, run.t)).max() < 1e-9
    assert run.decay_rate() > certificate.rate > 1
    assert abs(programme.closure_errors(run.q[-1], 22.0)).max() < 1e-8  # the nose is on the curve
save_picture(figure, "run.svg", dpi=100)
assert abs(forces[0][-1] - 20 * 0.6**2 * np.array([-0.1, 0.1 * 3.84**0.5, 3.84**0.5])).max() < 1e-6  # m w^2 r
assert m == mt.load(Path(__file__).with_name("model.toml"))
