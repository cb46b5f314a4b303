"""The solar array against an independent program: plane motion, absolute angles, a dense matrix."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from plane_motion import Plane

MODEL = Path(__file__).parents[2] / "examples" / "06_solar_array" / "model.toml"


def unfolded(k: float, r: float = 0.03, F: float = 60.0) -> tuple[Plane, list[tuple[int, float, float]]]:
    """The motion until the last latch: (hinge, time, energy lost) of each; y + i z is the plane."""
    stiffness, rest = np.array([2.0, 1.0, 1.0]), np.radians([-30.0, 30.0, -30.0])

    def loads(position, angle, v, w):
        h = np.diff(angle)
        x = r * np.array([2 * h[0] + h[1], h[1] + h[2]])
        one, two = np.maximum(0, F + k * x) - np.maximum(0, F - k * x)
        torque = -stiffness * (h - rest) - r * np.array([2 * one, one + two, two])
        return 0 * position, np.concatenate([[0], torque]) - np.concatenate([torque, [0]])

    angle = np.cumsum([0, pi / 2, -pi, pi])
    ahead = np.exp(1j * angle[1:])
    edge = 0.6 - 0.5j + np.concatenate([[0], np.cumsum(ahead)])
    panel = 8 * (1 + 0.02**2) / 12
    plane = Plane(
        mass=np.array([300.0, 8, 8, 8]),
        inertia=np.array([300 * 1.2**2 / 6, panel, panel, panel]),
        loads=loads,
        r=np.concatenate([[0], (edge[1:] + edge[:-1]) / 2]),
        angle=angle,
        hinges=[(0, 0.6 - 0.5j, 1, -0.5), (1, 0.5, 2, -0.5), (2, 0.5, 3, -0.5)],
    )
    impacts, left = [], {"0": 0, "1": 1, "2": 2}
    while left:
        hit = plane.move(6.0, {n: lambda r, a, i=i: a[i + 1] - a[i] for n, i in left.items()})
        assert hit is not None
        i = left.pop(hit)
        impacts.append((i + 1, plane.t, plane.lock(i, i + 1)))
    return plane, impacts


@pytest.mark.parametrize(
    "k", [pytest.param(2e4, id="as in the file"), *(pytest.param(k, marks=pytest.mark.long) for k in (0, 2e5))]
)
def test_the_array_unfolds_as_an_independent_program_says(k):
    plane, impacts = unfolded(k)
    run = mt.load(MODEL).build(free=["k"]).simulate(parameters={"k": k}, rtol=1e-11)
    assert [name for name, _ in run.end.events] == [f"latch of h{i}" for i, _, _ in impacts]
    assert [t for _, t in run.end.events] == pytest.approx([t for _, t, _ in impacts], abs=1e-8)
    lost = [-run.energy.work[name][-1] for name, _ in run.end.events]
    assert lost == pytest.approx([energy for _, _, energy in impacts], abs=1e-7)
    hub = 2 * np.arctan2(run["hub"][-1, 3], run["hub"][-1, 6])
    assert hub == pytest.approx(plane.angle[0], abs=1e-8)
    assert np.abs(plane.w).max() < 1e-8  # at rest, as its momentum is zero


def test_cables_give_back_what_they_store_and_latches_lose_what_springs_release():
    run = mt.load(MODEL).build().simulate()
    work = {name: values[-1] for name, values in run.energy.work.items()}
    released = (2 / 2 * (120**2 - 30**2) + 2 / 2 * (210**2 - 30**2)) * np.radians(1) ** 2
    assert sum(value for name, value in work.items() if name.startswith("torque")) == pytest.approx(0, abs=1e-8)
    assert -sum(value for name, value in work.items() if name.startswith("latch")) == pytest.approx(released, abs=1e-7)
    assert np.abs(run.system.momentum(run.q, run.v)).max() < 1e-10
