"""A cart on one blade whose equations are built from its constraint (Kaspirovich and Mukharlyamov 2019)."""

from math import pi

import numpy as np
from matplotlib.figure import Figure

import momentree as mt
from momentree.look.picture_files import save_picture

BLADE = "x'*sin(phi) - y'*cos(phi) = 0"
D = [["d1", 0, "-d1*cos(phi)"], [0, "d2", "-d2*sin(phi)"], ["-d1*cos(phi)", "-d2*sin(phi)", "d3"]]
cart = mt.programme("x y phi", [BLADE], velocity=("cos(phi)", "sin(phi)", 1), mode="DQ", dissipation=D,
                    parameters={"d1": 10, "d2": 5, "d3": 11}, periods={"phi": 2 * pi})  # fmt: skip
wrong = cart.with_parameters(d2=50, d3=10)
held, lost = (p.simulate([0, -1, 0], t_end=10, integrator="euler", step=0.01) for p in (cart, wrong))

figure = Figure((9, 4), layout="constrained")
path, size = figure.subplots(1, 2)
for run, label, color in ((held, "d = (10, 5, 11)", "#1f6fb2"), (lost, "d = (10, 50, 10)", "#d1651a")):
    path.plot(run["x"], run["y"], label=label, color=color, lw=1 if run is held else 0.5)
    size.semilogy(run.t[1:], run.size[1:], label=label, color=color)
path.set(xlabel="x, m", ylabel="y, m", aspect="equal")
size.set(xlabel="t, s", ylabel="deviation |u|", xlim=(0, 10))
size.legend(loc="center right")
save_picture(figure, "run.svg", dpi=100)

print(cart.certify(), held, sep="\n")
try:
    wrong.certify()
except mt.MomentreeError as error:
    refused = str(error)
print(refused, lost, sep="\n")

assert abs(held.q[-1] - (-0.54746373, 0.83564744, 10.01508936)).max() < 1e-8
assert abs(np.hypot(held["x"], held["y"]) - 1).max() < 0.006
assert abs(lost.q[-1] - (-0.06457878, -0.68273857, 516.874992)).max() < 1e-3
assert [round(size, 3) for size in (held.size.max(), lost.size.max())] == [0.004, 78.509]
assert abs(cart.certify().rate - 0.461237) < 1e-6
assert "least decay rate is -23.86 1/s" in refused
