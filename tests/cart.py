"""The cart of Kaspirovich and Mukharlyamov 2019, section 6: a blade that lets it move ahead and turn, not sideways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import momentree as mt
from momentree.programmes import Programme

BLADE = "x'*sin(phi) - y'*cos(phi) = 0"  # (6.1)
STABLE, UNSTABLE = (10, 5, 11), (10, 50, 10)  # d_1^1, d_2^2, d_3^3 of both cases of the figure
START = (0, -1, 0)  # (6.7)


def cart(d: Sequence[float] = STABLE, v: float = 1, w: float = 1, **more: Any) -> Programme:
    """The programme of section 6, completed by a cross product, with the paper's dissipation."""
    return mt.programme(
        "x y phi",
        [BLADE],
        completion=[("w*cos(phi)", "w*sin(phi)", "-v")],
        dissipation=[
            ["d1", 0, "-v/w*d1*cos(phi)"],
            [0, "d2", "-v/w*d2*sin(phi)"],
            ["-v/w*d1*cos(phi)", "-v/w*d2*sin(phi)", "d3"],
        ],
        parameters={"v": v, "w": w, "d1": d[0], "d2": d[1], "d3": d[2]},
        mode="DQ",
        **more,
    )


def circling(gain: float | None = None) -> Programme:
    """The same programme with v = w = 1 in mode DU: d = gain E, or no dissipation, which is section 3."""
    return mt.programme("x y phi", [BLADE], velocity={"x": "cos(phi)", "phi": 1}, gain=gain)
