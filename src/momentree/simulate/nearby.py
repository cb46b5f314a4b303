"""Closed configurations a finite way off, and the rank that the constraints have where they are not singular."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from momentree.equations.closure import Array, Configuration
from momentree.equations.scaled_rows import CUT_OFF, ScaledRows, Scales
from momentree.simulate.closing_search import Closing, integrate
from momentree.structure.mechanism import Mechanism

PROBES = 2  # other configurations that are tried, in case the first is singular


def rows_at(mechanism: Mechanism, q: Array, t: float) -> ScaledRows:
    """J at a configuration, constraints on rates included."""
    return Scales(mechanism).scaled(Configuration(mechanism, q, t=t), on_rates=True)


def nearby(mechanism: Mechanism, q: Array, t: float) -> Iterator[tuple[Array, float]]:
    """A random direction that the constraints let pass, then closed again; with the misfit (closed up to 1)."""
    rows = rows_at(mechanism, q, t)
    if not len(rows.row_scales) or not mechanism.nv:
        return
    closing, random = Closing(mechanism, t), np.random.default_rng(1997)
    for k in range(PROBES):
        scaled = random.standard_normal(mechanism.nv)
        step = rows.column_scales * scaled - rows.shortest(rows.J @ scaled, CUT_OFF)
        largest = float(np.abs(step / rows.column_scales).max(initial=0.0))
        if largest > 1e-9:
            yield closing.close(integrate(mechanism, q, step * (0.2 * (k + 1) / largest)))


def regular_rank(mechanism: Mechanism, q: Array, t: float) -> int:
    """The largest rank of J at a configuration and near it."""
    found = [q, *(near for near, misfit in nearby(mechanism, q, t) if misfit <= 1)]
    return max(rows_at(mechanism, each, t).rank(CUT_OFF) for each in found)
