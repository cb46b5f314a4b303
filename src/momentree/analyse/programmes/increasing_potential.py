"""A potential that increases along a velocity field, v . grad Psi > 0 in a region: a linear program, then checks.

With Psi = sum of c_k psi_k, the margin min v . grad Psi over sampled points is largest under sum of w_k |c_k| <= 1 at a
vertex of few terms. Points where the region violates it are added, and it is solved again. The multipliers of the
program are a measure that the flow almost keeps: where no Psi exists, it lies on closed orbits and equilibria.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.potential_ansatz import PotentialAnsatz
from momentree.errors import MomentreeError

Array = NDArray[np.float64]
LEAST = 1e-8  # of the sizes of all terms: a margin that counts as positive
SAMPLES, FRESH = 512, 2048
ROUNDS, STARTS, ADDED = 8, 6, 32  # of refinement; local minimizations in each, and lowest points that are added
HELD = 0.5  # of the margin at the points of the program: what is enough in the whole region
PRUNED, ROUNDED = 0.6, 0.9  # of the margin: what fewer terms, and fewer digits, must leave
DIGITS = (1, 2, 3, 5, 8)


class VelocityField(Protocol):
    """What has a velocity field, as a programme does."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q."""

    def velocity(self, q: Array, t: Array | float = 0.0) -> Array:
        """v (k, n) at q (k, n) and t (k,)."""


class Points(NamedTuple):
    """Points of a region: q (k, n), t (k,)."""

    q: Array
    t: Array

    def with_points(self, other: Points) -> Points:
        """Both together."""
        return Points(np.concatenate([self.q, other.q]), np.concatenate([self.t, other.t]))

    def chosen(self, which: Array | NDArray[np.intp]) -> Points:
        """Some of them."""
        return Points(self.q[which], self.t[which])


class Candidate(NamedTuple):
    """A potential of largest margin.

    | field        | meaning                                                                          |
    |--------------|----------------------------------------------------------------------------------|
    | ansatz       | its terms                                                                        |
    | coefficients | of the terms                                                                     |
    | margin       | the least v . grad Psi that was met, relative to the sizes of its terms          |
    | lowest       | where                                                                            |
    | support      | the points that limit it, those of the greatest multipliers first                |
    """

    ansatz: PotentialAnsatz
    coefficients: Array
    margin: float
    lowest: Points
    support: Points


class IncreasingPotential:
    """The search in a region, for one velocity field and one ansatz."""

    def __init__(self, field: VelocityField, ansatz: PotentialAnsatz, region: Region):
        self.field, self.region = field, region
        count = max(SAMPLES, 4 * len(ansatz.terms))
        self._points = Points(*region.samples(count))
        sizes = self._sizes(ansatz, self._points)
        kept = [k for k in range(len(sizes)) if sizes[k] > 0]
        self.ansatz = ansatz.kept(kept)
        self._weights = sizes[kept]

    def best(self) -> Candidate:
        """The largest margin, refined where the region violates it."""
        found = self._solved(range(len(self.ansatz.terms)))
        for round_ in range(ROUNDS):
            limit, margin, support = found.margin, found.margin, found.support
            if margin <= LEAST:
                return found
            lowest, low = self.checked(found, seed=round_ + 1)
            found = found._replace(margin=low, lowest=lowest.chosen(np.array([0])), support=support)
            if low >= HELD * limit:
                return found
            self._points = self._points.with_points(lowest)
            if round_ < ROUNDS - 1:
                found = self._solved(range(len(self.ansatz.terms)))
        return found

    def checked(self, candidate: Candidate, seed: int) -> tuple[Points, float]:
        """The lowest of fresh samples and local minimizations from them, lowest first, and its margin."""
        points = Points(*self.region.samples(FRESH, seed))
        values = self.increase(candidate, points)
        lowest = points.chosen(np.argsort(values)[:ADDED])
        descended = self._minimized(candidate, lowest.chosen(np.arange(STARTS)))
        lowest = descended.with_points(lowest)
        values = self.increase(candidate, lowest)
        order = np.argsort(values, kind="stable")
        return lowest.chosen(order), float(values[order[0]])

    def increase(self, candidate: Candidate, points: Points) -> Array:
        """v . grad Psi (k,)."""
        used = np.flatnonzero(candidate.coefficients)
        slopes = candidate.ansatz.kept(used).slopes(points.q)
        return np.asarray(np.einsum("kfn,kn,f->k", slopes, self._velocity(points), candidate.coefficients[used]))

    # --- few terms, few digits ---

    def pruned(self, found: Candidate) -> Candidate:
        """The same margin, nearly, from fewer terms."""
        sizes = np.abs(found.coefficients) * self._weights
        kept = [int(k) for k in np.argsort(sizes) if sizes[k] > 0]
        wanted, best = PRUNED * found.margin, found
        for k in list(kept):
            fewer = [other for other in kept if other != k]
            if not fewer:
                break
            tried = self._solved(sorted(fewer))
            if tried.margin >= wanted and (checked := self._verified(tried)).margin >= wanted:
                kept, best = fewer, checked
        used = [int(k) for k in np.flatnonzero(best.coefficients)]
        return best._replace(ansatz=best.ansatz.kept(used), coefficients=best.coefficients[used])

    def rounded(self, found: Candidate) -> Candidate:
        """Coefficients of few digits that leave the margin nearly as it is: the least, and the others' ratios to it."""
        least = found.coefficients[np.abs(found.coefficients).argmin()]
        for digits in DIGITS:
            ratios = [float(f"{x:.{digits}g}") for x in found.coefficients / least]
            texts = [f"{float(f'{least:.2g}') * ratio:.12g}" for ratio in ratios]
            tried = self._verified(found._replace(coefficients=np.array(list(map(float, texts)))))
            if tried.margin >= ROUNDED * found.margin:
                return tried
        return found

    def _verified(self, found: Candidate) -> Candidate:
        lowest, margin = self.checked(found, seed=ROUNDS + 1)
        return found._replace(margin=margin, lowest=lowest.chosen(np.array([0])))

    # --- inside ---

    def _solved(self, which: Sequence[int]) -> Candidate:
        """The linear program for some of the terms, at the points so far.

        max s subject to sum_k c_k (v . grad psi_k)(point) >= s and sum_k w_k |c_k| <= 1; variables w c+, w c-, s.
        """
        from scipy.optimize import linprog

        chosen, count = list(which), len(list(which))
        part = self.ansatz.kept(chosen)
        weights = self._weights[chosen]
        A = np.einsum("kfn,kn->kf", part.slopes(self._points.q), self._velocity(self._points)) / weights
        rows = np.block([[-A, A, np.ones((len(A), 1))], [np.ones((1, 2 * count)), np.zeros((1, 1))]])
        limits = np.append(np.zeros(len(A)), 1.0)
        aims = np.append(np.zeros(2 * count), -1.0)
        result = linprog(aims, A_ub=rows, b_ub=limits, bounds=[(0, None)] * (2 * count) + [(None, None)])
        if result.x is None:
            raise MomentreeError(f"rayleigh: the linear program for Psi failed: {result.message}")
        scaled = result.x[:count] - result.x[count:-1]
        multipliers = -result.ineqlin.marginals[:-1]
        order = np.argsort(-multipliers, kind="stable")
        support = self._points.chosen(order[: max(1, int((multipliers > 1e-9).sum()))])
        coefficients = np.zeros(len(self.ansatz.terms))
        coefficients[chosen] = np.where(np.abs(scaled) > 1e-9, scaled, 0.0) / weights
        return Candidate(self.ansatz, coefficients, float(result.x[-1]), support.chosen(np.array([0])), support)

    def _velocity(self, points: Points) -> Array:
        v = self.field.velocity(points.q, points.t)
        wrong = np.flatnonzero(~np.isfinite(v).all(axis=1))
        if len(wrong):
            where = self.region.words(points.q[wrong[0]], float(points.t[wrong[0]]))
            raise MomentreeError(f"rayleigh: v is not finite at {where}. Give region= without that place.")
        return v

    def _sizes(self, ansatz: PotentialAnsatz, points: Points) -> Array:
        """The largest sum of |dpsi/dq^i v^i| of each term, a size that does not depend on units."""
        parts = ansatz.slopes(points.q) * self._velocity(points)[:, None, :]
        return np.asarray(np.abs(parts).sum(axis=2).max(axis=0))

    def _minimized(self, candidate: Candidate, starts: Points) -> Points:
        """Local minima of v . grad Psi in the region."""
        from scipy.optimize import minimize

        low, high = np.array(self.region.limits).T
        width = high - low
        step = 1e-6

        def point(unit: Array) -> Points:
            values = low + np.clip(unit, 0.0, 1.0) * width
            return Points(values[..., :-1], values[..., -1])

        def value_and_slope(unit: Array) -> tuple[float, Array]:
            steps = step * np.eye(len(unit))
            ahead, behind = np.clip(unit + steps, 0, 1), np.clip(unit - steps, 0, 1)
            values = self.increase(candidate, point(np.concatenate([[unit], ahead, behind])))
            n = len(unit)
            return float(values[0]), (values[1 : n + 1] - values[n + 1 :]) / np.diagonal(ahead - behind)

        found = []
        for q, t in zip(*starts, strict=True):
            unit = (np.append(q, t) - low) / np.where(width > 0, width, 1.0)
            bounds = [(0.0, 1.0)] * len(unit)
            result = minimize(value_and_slope, unit, jac=True, bounds=bounds, method="L-BFGS-B")
            found.append(point(np.clip(result.x, 0.0, 1.0)))
        return Points(np.array([one.q for one in found]), np.array([one.t for one in found]))
