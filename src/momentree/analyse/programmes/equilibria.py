"""Equilibria of a velocity field in a region, v = 0, and what the derivatives of v there say of mode DQ.

Where v = 0, the derivative of d v = grad Psi is d dv/dq = Hessian of Psi. With d > 0 that makes dv/dq similar to a
symmetric matrix: its eigenvalues are real. If they are not, no d is admissible, whatever Psi.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.increasing_potential import Points, VelocityField

Array = NDArray[np.float64]
STARTS = 8
AT_REST = 1e-9  # of the typical velocity
REAL = 1e-5  # of the largest eigenvalue: an imaginary part that is none


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A point where v = 0.

    | field       | meaning                                |
    |-------------|----------------------------------------|
    | q, t        | where; q by the names of coordinates   |
    | eigenvalues | of dv/dq there (1/s)                   |
    """

    q: Mapping[str, float]
    t: float
    eigenvalues: NDArray[np.complex128]

    @property
    def turns(self) -> bool:
        """Whether motions spiral or circle around it: eigenvalues that are not real."""
        size = float(np.abs(self.eigenvalues).max(initial=0.0))
        return bool((np.abs(self.eigenvalues.imag) > REAL * size).any())

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value + 0.0:.4g}" for name, value in self.q.items())
        values = ", ".join(_number(x) for x in self.eigenvalues)
        return f"equilibrium at {at}: v = 0, dv/dq has eigenvalues {values}"


def find_equilibrium(field: VelocityField, region: Region, starts: Points | None = None) -> Equilibrium | None:
    """A point of the region with v = 0, if one is found from the slowest of samples and starts."""
    from scipy.optimize import least_squares

    points = Points(*region.samples(1024, seed=5))
    points = points if starts is None else starts.with_points(points)
    low, high = np.array(region.limits, dtype=float).T
    width = np.where(high > low, high - low, 1.0)
    v = field.velocity(points.q, points.t) / width[:-1]
    speed = np.abs(v).max(axis=1)
    typical = float(np.median(speed))
    if typical == 0:
        return _described(field, region, points.q[0], float(points.t[0]))

    def scaled(unit: Array) -> Array:
        value = low + unit * width
        return field.velocity(value[:-1], value[-1]) / width[:-1] / typical

    for k in np.argsort(speed, kind="stable")[:STARTS]:
        begin = np.clip((np.append(points.q[k], points.t[k]) - low) / width, 0, 1)
        free = high > low
        bounds = np.where(free, 0.0, -1e-3), np.where(free, 1.0, 1e-3)
        result = least_squares(scaled, begin, bounds=bounds, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=50)
        place = low + _snapped(result.x, low, width) * width
        if np.abs(scaled((place - low) / width)).max() < AT_REST:
            return _described(field, region, place[:-1], float(place[-1]))
    return None


def _snapped(unit: Array, low: Array, width: Array) -> Array:
    """What is within the tolerance of 0 becomes 0, so that it is printed as such."""
    value = low + unit * width
    return np.asarray((np.where(np.abs(value) < 1e-10 * width, 0.0, value) - low) / width)


def _described(field: VelocityField, region: Region, q: Array, t: float) -> Equilibrium:
    low, high = np.array(region.limits[:-1], dtype=float).T
    steps = 1e-5 * np.diag(np.where(high > low, high - low, 1.0))
    ahead, behind = field.velocity(q + steps, t), field.velocity(q - steps, t)
    slopes = ((ahead - behind) / (2 * np.diagonal(steps))[:, None]).T
    values = np.linalg.eigvals(np.where(np.isfinite(slopes), slopes, 0.0))
    named = {name: float(x) for name, x in zip(field.coordinates, q, strict=True)}
    return Equilibrium(named, t, np.asarray(values, dtype=complex))


def _number(x: complex) -> str:
    size = abs(x)
    real = 0.0 if abs(x.real) < REAL * size else x.real
    return f"{real:.3g}" if abs(x.imag) < REAL * size or size == 0 else f"{real:.3g}{x.imag:+.3g}i"
