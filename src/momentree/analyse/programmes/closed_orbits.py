"""Closed orbits of a velocity field q' = v(q) in a region, with periods and turns of angles; motions that stay in it.

Motions from many points are followed together; those that return, modulo the periods of angles, are polished by
Newton's method on the point and the period. Nothing is proved: a residual says how well an orbit closes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.increasing_potential import VelocityField

Array = NDArray[np.float64]
STARTS, STEPS, ATTEMPTS = 12, 1000, 4
STEP = 0.04  # of the time in which a typical motion crosses the region
NEAR, FAR = 0.08, 0.25  # of the size of a motion: a return worth polishing, and what it must have left before
NEWTON = 12
CLOSED = 1e-8  # of the region: the residual of an orbit that closes
INSIDE = 1e-6  # of the region: how far outside counts as inside
ALONG = 200  # points on an orbit
EVALUATIONS = 5000  # of v on the way around an orbit: one that takes more is not worth while


@dataclass(frozen=True, eq=False)
class ClosedOrbit:
    """A closed orbit.

    | field    | meaning                                                                        |
    |----------|--------------------------------------------------------------------------------|
    | q        | a point on it, by the names of coordinates                                     |
    | period   | s                                                                              |
    | turns    | winding numbers of the angles along it; {} if there are no angles              |
    | residual | by how much it does not close: the largest of coordinates after one period     |
    | points   | (k, n), along it                                                               |
    """

    q: Mapping[str, float]
    period: float
    turns: Mapping[str, int]
    residual: float
    points: Array

    @property
    def winds(self) -> bool:
        """Whether an angle makes full turns along it."""
        return any(self.turns.values())

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value:.4g}" for name, value in self.q.items())
        turns = "".join(f", winding number {count} of {name}" for name, count in self.turns.items() if count)
        return f"closed orbit through {at}: period {self.period:.6g} s{turns} (closes to {self.residual:.1e})"


@dataclass(frozen=True)
class StayingMotion:
    """A motion that is in the region as long as it is followed: from q, for a duration (s), with turns of angles.

    A bounded potential cannot increase along it for ever.
    """

    q: Mapping[str, float]
    duration: float
    turns: Mapping[str, float]

    @property
    def winds(self) -> bool:
        """Whether an angle goes on turning."""
        return any(abs(count) > 1 for count in self.turns.values())

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value:.4g}" for name, value in self.q.items())
        return f"motion from {at}: still in the region after {self.duration:.4g} s"


class OrbitSearch(NamedTuple):
    """What is needed to follow motions of a field in a region, on or back in time; periods are infinite for lines."""

    field: VelocityField
    region: Region
    periods: Array
    direction: float = 1.0

    @classmethod
    def of(cls, field: VelocityField, region: Region, periods: Mapping[str, float] | None) -> OrbitSearch:
        """Angles are the coordinates with a period."""
        given = periods or {}
        return cls(field, region, np.array([given.get(name, np.inf) for name in field.coordinates]))

    def velocity(self, q: Array) -> Array:
        """v in the direction in which motions are followed."""
        return self.direction * self.field.velocity(q)

    @property
    def limits(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates."""
        low, high = np.array(self.region.limits[:-1], dtype=float).T
        return low, high

    @property
    def width(self) -> Array:
        """What lengths are compared with: the region, or the period of an angle."""
        low, high = self.limits
        wide = np.minimum(high - low, self.periods)
        return np.where(wide > 0, wide, 1.0)

    def turned(self, change: Array) -> Array:
        """Full turns in a change of coordinates."""
        return np.where(np.isfinite(self.periods), np.round(change / self.periods), 0.0)

    def apart(self, change: Array) -> Array:
        """A change of coordinates without its full turns."""
        return np.asarray(change - self.turned(change) * np.where(np.isfinite(self.periods), self.periods, 0.0))

    def inside(self, q: Array) -> NDArray[np.bool_]:
        """Whether points (k, n) are in the region, angles modulo their periods."""
        low, high = self.limits
        middle, half = (low + high) / 2, (high - low) / 2
        return np.asarray((np.abs(self.apart(q - middle)) <= half + INSIDE * self.width).all(axis=-1))


def recurrent_motions(
    field: VelocityField,
    region: Region,
    periods: Mapping[str, float] | None = None,
    starts: Array | None = None,
    most: int = 3,
) -> tuple[list[ClosedOrbit], StayingMotion | None]:
    """Closed orbits that lie in a region, of different turns, and a motion that stays; `starts` (k, n) are tried too.

    An orbit without turns is returned alone: along it no potential increases, multivalued or not.
    """
    search = OrbitSearch.of(field, region, periods)
    q = region.samples(STARTS, seed=3)[0]
    q = q if starts is None else np.concatenate([q, starts[:STARTS]])
    found: dict[tuple[int, ...], ClosedOrbit] = {}
    staying = None
    # attracting orbits are met by going on, repelling ones by going back
    h, both = _followed(search, np.concatenate([q, q]), np.repeat([1.0, -1.0], len(q)))
    for direction, paths in ((1.0, both[:, : len(q)]), (-1.0, both[:, len(q) :])):
        search = search._replace(direction=direction)
        staying = staying or _staying(search, paths, h)
        tried: dict[tuple[int, ...], int] = {}
        for path in np.moveaxis(paths, 1, 0):
            near = _return(search, path[np.isfinite(path).all(axis=1)])
            if near is None:
                continue
            turns = tuple(int(x) for x in direction * search.turned(near.change))
            if turns in found or tried.get(turns, 0) == ATTEMPTS or sum(tried.values()) == 3 * ATTEMPTS:
                continue
            tried[turns] = tried.get(turns, 0) + 1
            orbit = _polished(search, near.q, near.steps * h)
            if orbit is not None:
                found.setdefault(turns, orbit)
            if len(found) == most:
                return list(found.values()), staying
            if orbit is not None and not orbit.winds:
                return [orbit], staying
    return list(found.values()), staying


def _staying(search: OrbitSearch, paths: Array, h: float) -> StayingMotion | None:
    """A motion that was in the region to its end; of several, the one with the fewest turns."""
    if len(paths) <= STEPS:
        return None
    changes = paths[-1] - paths[0]
    stayed = np.flatnonzero(np.isfinite(changes).all(axis=1))
    if not len(stayed):
        return None
    turns = np.where(np.isfinite(search.periods), search.direction * changes / search.periods, 0.0)
    k = min(stayed, key=lambda k: float(np.abs(turns[k]).max(initial=0.0)))
    names = search.field.coordinates
    begin = search.apart(paths[0 if search.direction > 0 else -1, k])
    at = {name: float(x) for name, x in zip(names, begin, strict=True)}
    angles = {name: float(turns[k, i]) for i, name in enumerate(names) if np.isfinite(search.periods[i])}
    return StayingMotion(at, STEPS * h, angles)


def _followed(search: OrbitSearch, q: Array, directions: Array) -> tuple[float, Array]:
    """The step size, and all motions (steps, k, n) by Runge-Kutta's method; NaN once they have left the region."""

    def velocity(q: Array) -> Array:
        return directions[:, None] * search.field.velocity(q)

    speed = np.abs(velocity(q) / search.width).max(axis=1)
    typical = float(np.median(speed[np.isfinite(speed)])) if np.isfinite(speed).any() else 0.0
    h = STEP / typical if typical > 0 else STEP
    path = [q]
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            k_1 = velocity(q)
            k_2 = velocity(q + h / 2 * k_1)
            k_3 = velocity(q + h / 2 * k_2)
            k_4 = velocity(q + h * k_3)
            q = q + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
            q = np.where(search.inside(q)[:, None], q, np.nan)
            path.append(q)
            if np.isnan(q).all():
                break
    return h, np.array(path)


class NearReturn(NamedTuple):
    """A point of a motion, the steps after which it comes near again, and the change of coordinates on the way."""

    q: Array
    steps: int
    change: Array


def _return(search: OrbitSearch, path: Array) -> NearReturn | None:
    """The first return of a motion to its middle, when it may be near a limit cycle, or else to its start."""
    for begin in (len(path) // 2, 0):
        distance = np.linalg.norm(search.apart(path[begin:] - path[begin]) / search.width, axis=1)
        size = distance.max(initial=0.0)
        left = np.flatnonzero(distance > FAR * size)
        if not len(left) or size < 1e-6:
            continue
        back = np.flatnonzero(distance[left[0] :] < NEAR * size)
        if len(back):
            near = distance[left[0] + back[0] :]
            gone = np.flatnonzero(near > NEAR * size)
            steps = int(left[0] + back[0] + near[: gone[0] if len(gone) else None].argmin())
            return NearReturn(path[begin], steps, path[begin + steps] - path[begin])
    return None


def _polished(search: OrbitSearch, q: Array, period: float) -> ClosedOrbit | None:
    """Newton's method on (q, T) for flow_T(q) = q modulo turns, at right angles to v; least squares in families."""
    n, width = len(q), search.width
    aside, before = 3e-4 * np.diag(width), np.inf
    for _ in range(3):  # the time of nearest return first: in a family of orbits, Newton's method would leave for rest
        ends = _flow(search, q[None], period)
        if ends is None:
            return None
        v = search.velocity(ends[0]) / width
        period -= float(search.apart(ends[0] - q) / width @ v) / max(float(v @ v), 1e-300)
        if not period > 0:
            return None
    for _ in range(NEWTON):
        ends = _flow(search, np.concatenate([[q], q + aside, q - aside]), period)
        if ends is None:
            return None
        missed = search.apart(ends[0] - q) / width
        if np.abs(missed).max() < 0.01 * CLOSED:
            break
        if np.abs(missed).max() > max(2 * before, CLOSED):
            return None
        before = np.abs(missed).max()
        v = search.velocity(np.array([q, ends[0]])) / width
        monodromy = ((ends[1 : n + 1] - ends[n + 1 :]) / width).T / 6e-4
        jacobian = np.zeros((n + 1, n + 1))
        jacobian[:n, :n] = monodromy - np.eye(n)
        jacobian[:n, n], jacobian[n, :n] = v[1] * period, v[0] / max(float(np.linalg.norm(v[0])), 1e-300)
        change = np.linalg.lstsq(jacobian, -np.append(missed, 0.0), rcond=1e-4)[0]
        q, period = q + change[:n] * width, period * (1 + change[n])
        if not (np.isfinite(q).all() and np.isfinite(period) and period > 0):
            return None
    return _orbit(search, q, period)


def _orbit(search: OrbitSearch, q: Array, period: float) -> ClosedOrbit | None:
    """The orbit, if it closes in the region and is no equilibrium."""
    points = _path(search, q, period)
    if points is None or not search.inside(points).all():
        return None
    change = points[-1] - q
    missed = np.abs(search.apart(change))
    extent = np.abs(points - q).max(axis=0) / search.width
    if (missed / search.width).max() > CLOSED or extent.max() < 1e-3:
        return None
    names = search.field.coordinates
    home = search.apart(q)
    home = np.where(np.abs(home) < 1e-12 * search.width, 0.0, home)  # to be read as 0
    turned = search.direction * search.turned(change)
    turns = {name: int(turned[i]) for i, name in enumerate(names) if np.isfinite(search.periods[i])}
    at = {name: float(x) for name, x in zip(names, home, strict=True)}
    return ClosedOrbit(at, float(period), turns, float(missed.max()), points[:: int(search.direction)])


def _flow(search: OrbitSearch, q: Array, period: float) -> Array | None:
    """Where the points (k, n) are after a time."""
    points = _path(search, q.reshape(-1), period, along=2)
    return None if points is None else points[-1].reshape(q.shape)


def _path(search: OrbitSearch, q: Array, period: float, along: int = ALONG) -> Array | None:
    """States along the motion of one or several points, stacked, at equal times."""
    from scipy.integrate import solve_ivp

    n, left = len(search.periods), EVALUATIONS

    def derivatives(_: float, y: Array) -> Array:
        nonlocal left
        left -= 1
        return search.velocity(y.reshape(-1, n)).reshape(-1) if left > 0 else np.full_like(y, np.nan)

    times = np.linspace(0.0, period, along)
    with np.errstate(all="ignore"):
        result = solve_ivp(derivatives, (0.0, period), q, "DOP853", times, rtol=1e-11, atol=1e-12 * search.width.min())
    return np.asarray(result.y.T) if result.success and np.isfinite(result.y).all() else None
