"""A slider-crank whose dimensions are not exact: where its slider may be, and how the forces on its pin vary."""

from pathlib import Path

import numpy as np
from tolerance_picture import draw, first_order

import momentree as mt

study = mt.load_study(Path(__file__).with_name("model.toml"))
results = study.run()
draw(results, "tolerances.svg")

# the position of the slider in closed form, for each motion
angle = 100 * results.time.values
r, l, e, c, psi = (results[name].values[:, None] for name in ("r", "l", "e", "c", "psi"))
rod = np.hypot(l - c * np.cos(psi), c * np.sin(psi))
exact = r * np.cos(angle) + np.sqrt(rod**2 - (r * np.sin(angle) - e) ** 2)
# the theory of tolerances, of first order
theory = np.sqrt(sum(part**2 for part in first_order(angle).values()))
measured = results.position.std("motion").values
sampling = 1 / np.sqrt(2 * len(study))  # the relative standard error of a standard deviation
peak = results.peak.values
print(study, f"largest force on pin B: {peak.mean():.2f} N, +- {peak.std():.2f} N", sep="\n")
off = abs(measured / theory - 1).max()
print(f"position: {1e6 * measured.min():.1f} to {1e6 * measured.max():.1f} um; theory to {off:.3f}")
assert study.failed == 0
assert abs(results.position.values - exact).max() < 1e-12
assert off < 5 * sampling
assert abs(results.stroke.values.std() / 4e-5 - 1) < 5 * sampling
assert peak.std() / peak.mean() < 1e-3
