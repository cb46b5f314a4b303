"""A map of the walking mechanism: its speed over the spring of the ground and the radius of its feet."""

from math import asin
from pathlib import Path

import numpy as np
from speed_map import HEIGHT, draw

import momentree as mt

study = mt.load_study(Path(__file__).with_name("model.toml"))
results = study.run()
draw(results, "map.svg")
walks = np.isnan(results.fell)
rolling = 4 * 1.5 * asin(0.05 / 0.3) / 2.6  # m/s, of legs that roll without slip one after the other
best = results.speed.where(walks).max().item()
hard = results.isel(k=-1)
print(study, f"walks in {int(walks.sum())} of {len(study)} cases", sep="\n")
print(f"fastest {best:.4f} m/s; rolling legs {rolling:.4f} m/s; centre of mass at {HEIGHT:.3f} m")

assert study.failed == 0
# on hard ground it walks where the centre of an arc is above the centre of mass, by a margin for its swinging
assert walks.isel(k=-1).sel(R=slice(HEIGHT + 0.1, None)).all()
assert not walks.isel(k=-1).sel(R=slice(None, HEIGHT - 0.1)).any()
# there it rolls, and on soft ground it is slower
assert abs(hard.speed.sel(R=1.5, method="nearest").item() / rolling - 1) < 0.01
assert (results.speed.where(walks).isel(k=0) < 0.75 * rolling).where(walks.isel(k=0), True).all()
assert best < 1.02 * rolling
# where the hull rocks in resonance with the steps, it loses speed
assert 0.94 < hard.speed.sel(R=1.9, method="nearest").item() / hard.speed.sel(R=1.7, method="nearest").item() < 0.96
