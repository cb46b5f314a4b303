"""Certificates of programmes: the least decay rate of deviations in a region, and the gain that gives a wanted one.

With V = 1/2 u' m u, V' = -u' S u exactly (equations/programme.py), so that in a region

    |u| <= |u_0| exp(-rate t) ,   |u| = sqrt(u' m u) ,   rate = min lambda(S, m)                                   (1)

over generalized eigenvalues and points of the region, as long as the motion stays there. The rate does not have to be
reached: it is the slowest decay that the matrices allow at any point and in any direction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from momentree.analyse.programmes.checks import Limits, Region
from momentree.equations.programme import ProgrammeFields, decay_matrix
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import ExpressionError, MomentreeError
from momentree.model.expressions.expression import Expression, as_expression
from momentree.structure.mechanism import Mechanism

Array = NDArray[np.float64]
SAMPLES = 4096
CORNERS = 8  # coordinates that matter, up to which all corners of the box are taken
STARTS = 4  # of the local minimization, in different parts of the region
APART = 0.05  # of the region: how far they are apart
AROUND, NARROWER, NEAREST = 64, 0.6, 1e-6  # points around the lowest with closed loops, each time nearer to it
TINY = 1e-12  # of the largest eigenvalue: a rate that small is zero
WHOLE = 1e-12  # of a period: by how much more than one is looked at
PROBES = 16  # points at which a programme of a mechanism is probed for what its rate depends on


class Certifiable(Protocol):
    """What is asked of a programme."""

    parameters: dict[str, float]

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q."""

    @property
    def expressions(self) -> ExpressionProgramme:
        """An error if it is given by a mechanism."""

    @property
    def closing(self) -> Mechanism | None:
        """The mechanism whose loops have to be closed, if there is one."""

    def decay_matrix(self, q: Any, t: Any = 0.0) -> Array:
        """S."""

    def mass_matrix(self, q: Any, t: Any = 0.0) -> Array:
        """m."""

    def with_gain(self, k: Any) -> Self:
        """The same with d = k m."""


@dataclass(frozen=True)
class DecayRate:
    """The least decay rate in a region; by sampling and local minimization, which is no proof.

    | field     | meaning                                                                              |
    |-----------|--------------------------------------------------------------------------------------|
    | rate      | 1/s                                                                                  |
    | where     | the coordinates, and t, at which it is so small; those on which it depends           |
    | direction | the deviation u that decays so slowly there, by coordinate; its largest entry is 1   |
    | region    | lowest and highest values of what it depends on                                      |
    | samples   | points that were looked at                                                           |
    """

    rate: float
    where: dict[str, float]
    direction: dict[str, float] = field(repr=False)
    region: dict[str, Limits]
    samples: int

    def __str__(self) -> str:
        return f"at least {self.rate:.4g} 1/s{self._place()}; sampled at {self.samples} points, not proven"

    def _place(self) -> str:
        return f", at {_words(self.where)}" if self.where else ", everywhere"


@dataclass(frozen=True)
class Certificate(DecayRate):
    """Deviations die out: |u| <= |u_0| exp(-rate t) in the metric of the mass matrix, while q and t are in the region.

    | field  | meaning                                                                                          |
    |--------|--------------------------------------------------------------------------------------------------|
    | proven | a lower bound of the rate (1/s) that interval arithmetic proves; None if no proof was asked for   |
    | boxes  | into how many parts the proof divides the region                                                 |
    """

    proven: float | None = None
    boxes: int = 0

    def bound(self, u0: Any, t: Any) -> Any:
        """The largest |u| at t seconds after a start with |u_0|, both in the metric of the mass matrix; or arrays.

        With the proven rate, if there is one, otherwise with the sampled one.
        """
        rate = self.rate if self.proven is None else self.proven
        return np.asarray(u0, dtype=float) * np.exp(-rate * np.asarray(t, dtype=float))

    def __str__(self) -> str:
        if self.proven is None:
            return f"certificate: {super().__str__()}"
        by = f"proven by intervals in {self.boxes} boxes"
        return f"certificate: at least {self.proven:.4g} 1/s, {by}; {self.rate:.4g} 1/s by sampling{self._place()}"


def decay_rate(programme: Certifiable, region: Mapping[str, Any] | None = None) -> DecayRate:
    """The least generalized eigenvalue of (S, m) in a region: low-discrepancy points, then minimized from the lowest.

    The region is given for what S and m depend on; a coordinate with a period needs none. A region that is not looked
    at closely enough may hide a lower rate: `certify(prove=True)` excludes that. Of a mechanism with loops, points are
    moved to where these are closed.
    """
    names = dependence(programme)
    limits = relevant_limits(programme, names, region)
    spectrum = _Spectrum(programme, limits)
    if not limits:
        return spectrum.result(np.zeros(0), 1)
    if programme.closing is not None:
        return _on_closed_loops(programme, region, limits)
    points = _points(limits)
    rates = spectrum.rates(points)
    best = min((_minimized(spectrum, points[k]) for k in _starts(points, rates)), key=lambda found: found[1])
    lowest = best[0] if best[1] <= rates.min() else points[int(rates.argmin())]
    return spectrum.result(lowest, len(points))


def certify(programme: Certifiable, region: Mapping[str, Any] | None = None, prove: bool = False) -> Certificate:
    """A certificate (1) of a programme, or an error that says where and how deviations may grow.

    Without `prove`, the rate is as `decay_rate` finds it: samples are no proof. With it, a lower bound is proven by
    interval arithmetic (interval_proof.py), unless v or m may jump in the region (jumps.py). In both cases the bound
    on |u| holds while the motion stays in the region, for exact motions: what an integrator adds is said by
    `step_advice`. One period of a coordinate stands for all.
    """
    found = decay_rate(programme, region)
    if not found.rate > 0:
        _refuse(found)
    parts = (found.rate, found.where, found.direction, found.region, found.samples)
    if not prove:
        return Certificate(*parts)
    if _expressions(programme) is None:
        message = "programme: a proof needs a programme given by expressions, and this one comes from a mechanism"
        raise MomentreeError(f"{message}. Leave out prove=True: the sampled rate is {found.rate:.4g} 1/s.")
    from momentree.analyse.programmes.interval_proof import prove as proof_of
    from momentree.analyse.programmes.jumps import refuse_jumps

    said = Region.of(programme.coordinates, region).limits_of(region or {})
    refuse_jumps(programme.expressions, programme.parameters, {**said, **found.region})
    proof = proof_of(programme.expressions, programme.parameters, found.region, found.rate)
    return Certificate(*parts, proven=proof.bound, boxes=proof.boxes)


def gain_for(programme: Certifiable, rate: Any, region: Mapping[str, Any] | None = None) -> float:
    """k (1/s) so that d = k m certifies a rate: k = rate - min lambda(1/2 (Lie_v m + dm/dt), m), at least 0.

    The programme's own dissipation does not count. `programme.with_gain(k)` has the decay rate that was asked for; a
    larger one where k = 0 does better.
    """
    try:
        wanted = float(as_expression(rate))
    except (MomentreeError, TypeError, ValueError):
        wanted = math.nan
    if not (wanted > 0 and math.isfinite(wanted)):
        raise MomentreeError(f"auto_k: the decay rate is {rate!r}. Give a positive number in 1/s.")
    return max(0.0, wanted - decay_rate(programme.with_gain(0), region).rate)


# --- what the rate depends on ---


def dependence(programme: Certifiable) -> tuple[str, ...]:
    """The coordinates, and t, on which S or m depend."""
    return depends_on(
        programme,
        lambda f: (*decay_matrix(f), *f.m),
        lambda q, t: np.concatenate([programme.decay_matrix(q, t), programme.mass_matrix(q, t)], axis=1),
    )


def depends_on(
    programme: Certifiable,
    rows: Callable[[ProgrammeFields], Sequence[Sequence[Any]]],
    compiled: Callable[[Array, Array], Array],
) -> tuple[str, ...]:
    """On which a quantity depends: by its expressions, or by trial if it comes from a mechanism."""
    given = _expressions(programme)
    if given is None:
        return _tried(programme.coordinates, compiled)
    said = given.description
    q = [as_expression(name) for name in said.references]
    numbers = [programme.parameters[name] for name in said.parameters]
    try:
        entries = [x for row in rows(given.fields(given.values(q, as_expression("t"), numbers))) for x in row]
    except ExpressionError:  # a division by a parameter that is 0
        return _tried(programme.coordinates, compiled)
    used = {found.name for x in entries if isinstance(x, Expression) for found in x.references()}
    return tuple(name for name in (*programme.coordinates, "t") if name in used)


def _expressions(programme: Certifiable) -> ExpressionProgramme | None:
    try:
        return programme.expressions
    except MomentreeError:
        return None


def _tried(coordinates: tuple[str, ...], compiled: Callable[[Array, Array], Array]) -> tuple[str, ...]:
    """Those whose change alone changes a quantity at points of general position."""
    points = np.column_stack(Region.of(coordinates, None).samples(PROBES, seed=1))
    first = compiled(points[:, :-1], points[:, -1])
    size = np.nanmax(np.abs(first), initial=0.0)
    used = []
    for k, name in enumerate((*coordinates, "t")):
        other = points.copy()
        other[:, k] += 0.7
        change = np.abs(compiled(other[:, :-1], other[:, -1]) - first)
        if np.isnan(change).any() or change.max(initial=0.0) > 1e-9 * size:
            used.append(name)
    return tuple(used)


def relevant_limits(
    programme: Certifiable, names: Sequence[str], region: Mapping[str, Any] | None
) -> dict[str, Limits]:
    """Of what matters: as given, or one period."""
    given, expressions = dict(region or {}), _expressions(programme)
    periods = dict(expressions.description.periods or {}) if expressions else {}
    free = {name: period for name, period in periods.items() if name in names and name not in given}
    for name, period in free.items():
        given[name] = (-period / 2 * (1 + WHOLE), period / 2 * (1 + WHOLE))
    limits = Region.of(programme.coordinates, given, needed=names).limits_of(names)
    for name, period in free.items():
        _check_period(programme, limits, name, period)
    return limits


def _check_period(programme: Certifiable, limits: dict[str, Limits], name: str, period: float) -> None:
    """S and m must be the same one period later."""
    points = _points(limits, PROBES, corners=False)
    later = points.copy()
    later[:, list(limits).index(name)] += period
    spectrum = _Spectrum(programme, limits)
    for A, B in zip(spectrum.matrices(points), spectrum.matrices(later), strict=True):
        finite = np.isfinite(A) & np.isfinite(B)
        if np.abs(A - B)[finite].max(initial=0.0) > 1e-6 * np.abs(A[finite]).max(initial=0.0):
            message = f"region: the decay matrix does not have the period {period:.6g} of '{name}'"
            raise MomentreeError(f"{message}. Correct periods=, or give a region: {{'{name}': (0, 1)}}.")


# --- the search ---


def _points(limits: dict[str, Limits], count: int = SAMPLES, corners: bool = True) -> Array:
    """Low-discrepancy points in the box of what matters, its middle, and its corners unless they are many."""
    low, high = np.array(list(limits.values())).T
    points = np.column_stack(Region(tuple(limits), tuple(limits.values())).samples(count))
    if not corners:
        return points
    more = [low + (high - low) / 2]
    if len(limits) <= CORNERS:
        more += [np.array(corner) for corner in itertools.product(*limits.values())]
    return np.vstack([points, more])


class _Spectrum:
    """Generalized eigenvalues of (S, m) at points of what matters; other coordinates are 0."""

    def __init__(self, programme: Certifiable, limits: dict[str, Limits]):
        self.programme, self.limits = programme, limits
        names = (*programme.coordinates, "t")
        self.columns = [names.index(name) for name in limits]

    def matrices(self, points: Array) -> tuple[Array, Array]:
        """S and m, (k, n, n)."""
        whole = np.zeros((len(points), len(self.programme.coordinates) + 1))
        whole[:, self.columns] = points
        at = whole[:, :-1], whole[:, -1]
        return self.programme.decay_matrix(*at), self.programme.mass_matrix(*at)

    def rates(self, points: Array) -> Array:
        """The least eigenvalue at each point."""
        return np.asarray(np.linalg.eigvalsh(self._reduced(points)[0])[:, 0])

    def _reduced(self, points: Array) -> tuple[Array, Array]:
        """L^-1 S L^-T and L^-1, m = L L'; an error where they are not finite, or m not positive definite."""
        S, m = self.matrices(points)
        for what, A in (("decay matrix", S), ("mass matrix", m)):
            finite = np.isfinite(A).all(axis=(1, 2))
            if not finite.all():
                self._refuse(f"the {what} is not finite", points[int(np.argmin(finite))])
        least = np.linalg.eigvalsh(m)[:, 0]
        if not least.min() > 0:
            self._refuse("the mass matrix is not positive definite", points[int(least.argmin())])
        L_inv = np.linalg.inv(np.linalg.cholesky(m))
        return L_inv @ S @ np.swapaxes(L_inv, 1, 2), L_inv

    def _refuse(self, what: str, point: Array) -> None:
        where = _words(dict(zip(self.limits, point.tolist(), strict=True))) or "every point"
        message = f"programme: {what} at {where}, so that no certificate holds there"
        raise MomentreeError(f"{message}. Give a region without that point.")

    def result(self, point: Array, count: int) -> DecayRate:
        """The rate at a point, and the direction that decays so slowly."""
        S, L_inv = self._reduced(point[None])
        w, U = np.linalg.eigh(S[0])
        rate = 0.0 if abs(w[0]) <= TINY * np.abs(w).max() else float(w[0])
        u = L_inv[0].T @ U[:, 0]
        u = u / u[np.abs(u).argmax()]
        where = dict(zip(self.limits, point.tolist(), strict=True))
        direction = dict(zip(self.programme.coordinates, u.tolist(), strict=True))
        return DecayRate(rate, where, direction, self.limits, count)


def _on_closed_loops(
    programme: Certifiable, region: Mapping[str, Any] | None, limits: Mapping[str, Limits]
) -> DecayRate:
    """The least rate where loops are closed: at points of the region, then closer and closer around the lowest."""
    whole = Region.of(programme.coordinates, {**(region or {}), **limits})  # loops move all coordinates
    box = whole.limits_of(whole.names)
    spectrum = _Spectrum(programme, box)
    points = _closed(programme, _points(box), limits)
    rates, count = spectrum.rates(points), len(points)
    size, random = np.array([high - low for low, high in box.values()]), np.random.default_rng(0)
    best, least = points[int(rates.argmin())], float(rates.min())
    for start in _starts(points, rates):
        here, width = points[start], APART
        while width > NEAREST:
            spread = here + width * size * random.uniform(-1, 1, (AROUND, len(size)))
            near = np.vstack([here, _moved(programme, spread, limits)])
            found = spectrum.rates(near)
            here, width = near[int(found.argmin())], width * NARROWER
            if found.min() < least:
                best, least = here, float(found.min())
    return spectrum.result(best, count)


def closed_samples(
    programme: Certifiable, region: Region, count: int, limits: Mapping[str, Limits]
) -> tuple[Array, Array]:
    """Samples q, t of a region, those of a mechanism moved to where its loops are closed within limits."""
    q, t = region.samples(count)
    if programme.closing is None:
        return q, t
    points = _closed(programme, np.column_stack([q, t]), limits)
    return points[:, :-1], points[:, -1]


def _closed(programme: Certifiable, points: Array, limits: Mapping[str, Limits]) -> Array:
    """Points q, t moved to where loops are closed; an error where that is nowhere within limits."""
    moved = _moved(programme, points, limits)
    if not len(moved):
        where = ", ".join(f"{name} in [{low:.4g}, {high:.4g}]" for name, (low, high) in limits.items())
        message = f"programme: no configuration with closed loops was found in the region, {where}"
        raise MomentreeError(f"{message}. Give one around configurations that close, as system.assemble finds them.")
    return moved


def _moved(programme: Certifiable, points: Array, limits: Mapping[str, Limits]) -> Array:
    """Those points that can be moved to where loops are closed, within limits."""
    from momentree.analyse.programmes.closed_points import closed_points

    assert programme.closing is not None
    low, high = np.array([limits.get(name, (-np.inf, np.inf)) for name in (*programme.coordinates, "t")]).T
    t = np.clip(points[:, -1], low[-1], high[-1])
    q, closed = closed_points(programme.closing, points[:, :-1], t)
    moved = np.column_stack([q, t])
    return np.asarray(moved[closed & (moved >= low).all(axis=1) & (moved <= high).all(axis=1)])


def _starts(points: Array, rates: Array) -> list[int]:
    """The lowest points of different parts of the region."""
    size = np.ptp(points, axis=0)
    unit = points / np.where(size > 0, size, 1.0)
    chosen: list[int] = []
    for k in np.argsort(rates, kind="stable"):
        if all(np.linalg.norm(unit[k] - unit[other]) > APART for other in chosen):
            chosen.append(int(k))
        if len(chosen) == STARTS:
            break
    return chosen


def _minimized(spectrum: _Spectrum, start: Array) -> tuple[Array, float]:
    """A local minimum in the box: Nelder and Mead's method, twice, as eigenvalues have corners where they cross."""
    from scipy.optimize import minimize

    low, high = np.array(list(spectrum.limits.values())).T
    size = np.where(high > low, high - low, 1.0)

    def rate(unit: Array) -> float:
        return float(spectrum.rates(np.clip(low + unit * size, low, high)[None])[0])

    x = (start - low) / size
    for width, near in ((APART, 1e-4), (APART / 100, 1e-7)):
        corners = np.vstack([x, x + np.diag(np.where(x > 0.5, -width, width))])
        options = {"initial_simplex": corners, "xatol": near, "fatol": near**2, "maxiter": 200 * len(x)}
        x = minimize(rate, x, method="Nelder-Mead", bounds=[(0.0, 1.0)] * len(x), options=options).x
    return np.clip(low + x * size, low, high), rate(x)


def _refuse(found: DecayRate) -> None:
    """The error of a rate that is not positive."""
    named = [f"{value:.3g} along {name}" for name, value in found.direction.items() if abs(value) > 0.05]
    place = f" at {_words(found.where)}" if found.where else ""
    message = f"programme: deviations need not die out: the least decay rate is {found.rate:.4g} 1/s{place}"
    grows = "grows" if found.rate < 0 else "does not decay"
    which = f"There a deviation u of {', '.join(named)} {grows}"
    way_out = "Take d = k m with k = auto_k(rate) (see with_gain), more dissipation, or a smaller region"
    raise MomentreeError(f"{message}. {which}. {way_out}.")


def _words(where: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.4g}" for name, value in where.items())
