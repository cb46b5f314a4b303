"""Models that the tests of FMUs share, and how FMPy, which we did not write, simulates them."""

from __future__ import annotations

from typing import Any

import numpy as np

import momentree as mt

KINDS = {"model exchange": "ModelExchange", "co-simulation": "CoSimulation"}
TIGHT = 1e-11  # relative tolerance


def pendulum_chain() -> mt.Model:
    """Three links, a spring and a drive; parameters `k` and `mass`, and a torque `u` on the first joint."""
    m = mt.Model("pendulum chain")
    for name, value in (("k", 3.0), ("mass", 1.0), ("u", 0.0)):
        m.parameter(name, value)
    body: Any = m.ground
    for i in range(3):
        link = m.body(f"link{i}", mt.rod(mass="mass" if i else 1.0, length=0.5))
        m.joint(f"J{i}", mt.Revolute("y", damping=0.1, spring="k" if i == 2 else 0.0), body, link)
        body = link.at((0.5, 0, 0))
    m.torque("J0", "u + 0.5*sin(2*t)")
    return m


def simulated(path: Any, kind: str, t_end: float, every: float, names: Any, **how: Any) -> np.ndarray:
    """The values of variables at multiples of `every`, one column each, as FMPy computes them."""
    from fmpy import simulate_fmu

    chosen = {"stop_time": t_end, "output_interval": every, "relative_tolerance": TIGHT, "record_events": False} | how
    result = simulate_fmu(str(path), fmi_type=KINDS[kind], output=list(names), **chosen)
    return np.stack([result[name] for name in names], axis=1)


def coordinate_names(system: mt.System) -> list[str]:
    return [row.name for row in (*system.coordinates, *system.velocities)]
