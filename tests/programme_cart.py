"""The cart of Kaspirovich and Mukharlyamov 2019, section 6, as a programme; and random programmes of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import momentree as mt

KNIFE = "x'*sin(phi) - y'*cos(phi) = 0"  # (6.1): it rolls along its own direction
ONCE_AROUND = {"phi": (-math.pi, math.pi)}


def cart(d: tuple[float, float, float] = (10, 5, 11), v: float = 1, w: float = 1, **options: Any) -> mt.Programme:
    """(6.2) and (6.6): a circle with the velocity v and the angular velocity w; d may be indefinite."""
    return mt.programme(
        "x y phi",
        [KNIFE],
        completion=[("w*cos(phi)", "w*sin(phi)", "-v")],
        parameters={"v": v, "w": w, "d1": d[0], "d2": d[1], "d3": d[2]},
        mode="DQ",
        dissipation=[
            ["d1", 0, "-v/w*d1*cos(phi)"],
            [0, "d2", "-v/w*d2*sin(phi)"],
            ["-v/w*d1*cos(phi)", "-v/w*d2*sin(phi)", "d3"],
        ],
        **{"dissipative": False, **options},
    )


def random_programme(n: int, seed: int, **options: Any) -> mt.Programme:
    """Waves of all coordinates and of time as velocities and masses; everything has the period 2 pi."""
    rng = np.random.default_rng(seed)
    names = [f"q{i}" for i in range(1, n + 1)]

    def wave(size: float) -> str:
        numbers = rng.integers(-1, 2, n + 1)
        phase = " + ".join(f"({k})*{name}" for k, name in zip(numbers, (*names, "t"), strict=True))
        return f"{rng.uniform(-size, size):.3f}*sin({phase} + {rng.uniform(0, 6):.3f})"

    mass = [[""] * n for _ in range(n)]
    for i in range(n):
        mass[i][i] = f"{rng.uniform(1.5, 3):.3f} + {wave(0.5)}"
        for j in range(i):
            mass[i][j] = mass[j][i] = wave(0.4)
    velocity = {name: f"{wave(1.0)} + {wave(1.0)}" for name in names}
    periods = dict.fromkeys(names, 2 * math.pi)
    return mt.programme(names, velocity=velocity, mass=mass, periods=periods, **options)
