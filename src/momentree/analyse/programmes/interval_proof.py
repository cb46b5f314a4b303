"""A proof of a decay rate by intervals: S - rate m is positive definite everywhere in a box, by branch and bound.

On a box with the midpoint c, S and m lie in the intersection of their natural and of their mean value forms,

    A(x) in A(X) ,   A(x) in A(c) + sum_k dA/dx_k(X) (x_k - c_k)                                                  (1)

With the generalized eigenvectors V of (S, m) at c, computed in doubles, V' (S - lambda m) V is nearly diagonal. Each
row i is weighted by 1/sqrt(w_i - lambda), w_i the eigenvalues, and Gershgorin's circles show whether the matrix is
positive definite. V need not be exact: a congruence that gives a positive definite matrix proves the first one to be
positive definite. As the weights balance the rows, a box near a minimum may be as wide as the root of w_1 - lambda.

The box with the least proven bound is halved until all bounds are near the sampled rate. All arithmetic on which the
proof rests is that of enclosures.py, rounded outward. Numbers in expressions, and those that their derivatives
bring in, are doubles, taken as exact. One coordinate takes seconds, two up to a minute, more are seldom feasible.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.activity import activity
from momentree.analyse.programmes.enclosures import (
    UNDEFINED,
    ZERO,
    Enclosure,
    Interval,
    constant,
    intersection,
    interval,
    iv,
    variables,
)
from momentree.equations.programme import ProgrammeFields, decay_matrix
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError

Array = NDArray[np.float64]
Limits = tuple[float, float]
Square = list[list[Enclosure]]
CLOSE = 1e-2  # of the sampled rate: how much less the proven one may be
BOXES = 20_000  # that are looked at before the proof ends with what it has
GAPS = np.geomspace(1e-6, 1e6, 121)  # of the spread of eigenvalues: how much less than the midpoint's a bound may be
FINER = 17  # points between two of them


class Proof(NamedTuple):
    """What was proven: the decay rate is at least `bound` (1/s) in the whole region; how many boxes it took."""

    bound: float
    boxes: int


class Box(NamedTuple):
    """A part of the region.

    | field  | meaning                                                           |
    |--------|-------------------------------------------------------------------|
    | limits | of the coordinates that matter                                    |
    | bound  | a decay rate (1/s) that is proven in it                           |
    | middle | the decay rate at its midpoint, in doubles                        |
    | side   | the coordinate to halve                                           |
    """

    limits: tuple[Limits, ...]
    bound: float
    middle: float
    side: int


def prove(
    programme: ExpressionProgramme,
    parameters: Mapping[str, float],
    region: Mapping[str, Limits],
    rate: float,
    boxes: int = BOXES,
) -> Proof:
    """The largest lower bound of the decay rate that can be proven in a region, up to `CLOSE` of the sampled rate.

    | argument | meaning                                                                     |
    |----------|-----------------------------------------------------------------------------|
    | region   | limits of every coordinate on which the decay matrix depends, and of t      |
    | rate     | the least rate that was found by sampling                                   |
    | boxes    | how many may be looked at                                                   |
    """
    names, fields = tuple(region), _Fields(programme, parameters, tuple(region))
    count, order = 1, itertools.count()
    first = fields.bounded(tuple(region.values()))
    heap = [(first.bound, next(order), first)]
    least = min(rate, first.middle)  # known at single points, in doubles
    with activity("proving a decay rate") as phase:
        while heap[0][0] < least - CLOSE * abs(least) and least > 0 and count < boxes:
            _, _, box = heapq.heappop(heap)
            halves = [fields.bounded(limits) for limits in _halved(box.limits, box.side)]
            for half in halves or [box]:
                least = min(least, half.middle)
                heapq.heappush(heap, (half.bound, next(order), half))
            if not halves:
                break
            count += 2
            if phase.due:
                phase.tell(f"{heap[0][0]:.3g} of {least:.3g} 1/s, {count} boxes of at most {boxes}")
    if not heap[0][0] > 0:
        _fail([box for _, _, box in heap], names, count, rate)
    return Proof(heap[0][0], count)


def _fail(boxes: Sequence[Box], names: Sequence[str], count: int, rate: float) -> None:
    """Say why: a point with a rate that is not positive, or boxes in which nothing could be proven."""
    lowest, worst = min(boxes, key=lambda box: box.middle), min(boxes, key=lambda box: box.bound)
    if not lowest.middle > 0:
        point = ", ".join(f"{name} = {sum(pair) / 2:.8g}" for name, pair in zip(names, lowest.limits, strict=True))
        message = f"programme: the decay rate is {lowest.middle:.4g} 1/s at {point}, which sampling had missed"
        raise MomentreeError(f"{message}. There is nothing to prove: give more dissipation, or a smaller region.")
    where = ", ".join(f"{name} in [{a:.6g}, {b:.6g}]" for name, (a, b) in zip(names, worst.limits, strict=True))
    known = "nothing is known there" if np.isinf(worst.bound) else f"the bound there is {worst.bound:.4g} 1/s"
    left = sum(1 for box in boxes if not box.bound > 0)
    message = f"programme: no positive decay rate could be proven with {count} boxes"
    which = f"{left} of them are left, such as {where}; {known}, and {rate:.4g} 1/s by sampling"
    raise MomentreeError(f"{message}: {which}. Take a smaller region, or one where S and m are smooth and bounded.")


def _halved(limits: tuple[Limits, ...], k: int) -> list[tuple[Limits, ...]]:
    """Both halves; none if there is no double between its limits."""
    low, high = limits[k] if limits else (0.0, 0.0)
    middle = low + (high - low) / 2
    if not low < middle < high:
        return []
    return [(*limits[:k], side, *limits[k + 1 :]) for side in ((low, middle), (middle, high))]


class _Fields:
    """S and m of a programme on boxes of the coordinates that matter; the others do not enter them."""

    def __init__(self, programme: ExpressionProgramme, parameters: Mapping[str, float], names: tuple[str, ...]):
        self.programme, self.names = programme, names
        self.numbers = [constant(parameters[name]) for name in programme.description.parameters]

    def at(self, coordinates: Sequence[Enclosure]) -> tuple[Square, Square]:
        """S and m; a coordinate that does not matter is 0."""
        known = dict(zip(self.names, coordinates, strict=True))
        q = [known.get(name, constant(0)) for name in self.programme.coordinates]
        t = known.get("t", constant(0))
        values = self.programme.values(q, t, self.numbers)
        f = ProgrammeFields(*map(_lifted, self.programme.fields(values)))
        return decay_matrix(f), list(f.m)  # type: ignore[arg-type]

    def bounded(self, limits: tuple[Limits, ...]) -> Box:
        """A box with the bound that is proven in it; minus infinity where nothing is."""
        centre = [low + (high - low) / 2 for low, high in limits]
        whole, middle = self.at(variables([interval(*pair) for pair in limits])), self.at([*map(constant, centre)])
        unproven = Box(limits, -np.inf, np.inf, _longest(limits))
        if any(x is UNDEFINED for A in (*whole, *middle) for row in A for x in row):
            return unproven
        found = _eigenvectors(*(_doubles(A) for A in middle))
        if found is None:
            return unproven
        w, V = found
        offsets = [interval(low, high) - c for (low, high), c in zip(limits, centre, strict=True)]
        S, m = (_form(A, A_c, offsets, V) for A, A_c in zip(whole, middle, strict=True))
        return Box(limits, _bound(S, m, w), float(w[0]), _steepest(whole, limits, V, w))


def _lifted(part: Any) -> Any:
    """Numbers as enclosures, so that products of them are rounded outward too."""
    if isinstance(part, list):
        return [_lifted(inner) for inner in part]
    return part if isinstance(part, Enclosure) else constant(part)


def _doubles(A: Square) -> Array:
    return np.array([[float(x.value.mid) for x in row] for row in A])


def _eigenvectors(S: Array, m: Array) -> tuple[Array, Array] | None:
    """w and V with V' m V = E, V' S V = diag(w), nearly; nothing if m is not positive definite."""
    if not (np.isfinite(S).all() and np.isfinite(m).all()):
        return None
    try:
        L_inv = np.linalg.inv(np.linalg.cholesky(m))
        w, U = np.linalg.eigh(L_inv @ S @ L_inv.T)
    except np.linalg.LinAlgError:
        return None
    return w, L_inv.T @ U


Form = list[list[Interval]]


def _form(A: Square, A_c: Square, offsets: Sequence[Interval], V: Array) -> Form:
    """V' A V on a box: where the natural and the mean value form (1) meet."""
    values = _congruent([[x.value for x in row] for row in A], V)
    by_mean = _congruent([[x.value for x in row] for row in A_c], V)
    for k, offset in enumerate(offsets):
        slopes = [[x.slopes[k] if x.slopes else None for x in row] for row in A]
        terms = _congruent(slopes, V)
        by_mean = [[x + s * offset for x, s in zip(*rows, strict=True)] for rows in zip(by_mean, terms, strict=True)]
    return [[intersection(x, y) for x, y in zip(*rows, strict=True)] for rows in zip(values, by_mean, strict=True)]


def _congruent(A: Sequence[Sequence[Interval | None]], V: Array) -> Form:
    """V' A V of a symmetric A in interval arithmetic; None is 0."""
    n = range(len(V))
    exact = [[constant(x).value for x in row] for row in V.tolist()]
    AV = [[_sum(A[i][k] * exact[k][j] for k in n if A[i][k] is not None) for j in n] for i in n]
    upper = {(i, j): _sum(exact[k][i] * AV[k][j] for k in n) for i in n for j in n if j >= i}
    return [[upper[min(i, j), max(i, j)] for j in n] for i in n]


def _sum(terms: Any) -> Interval:
    total = None
    for term in terms:
        total = term if total is None else total + term
    return ZERO.value if total is None else total


def _longest(limits: Sequence[Limits]) -> int:
    return int(np.argmax([high - low for low, high in limits])) if limits else 0


def _steepest(matrices: tuple[Square, Square], limits: Sequence[Limits], V: Array, w: Array) -> int:
    """The coordinate along which V' (S - lambda m) V changes most across the box."""
    changes = []
    for k, (low, high) in enumerate(limits):
        S_k, m_k = (
            np.array([[_magnitude(x.slopes[k]) if x.slopes else 0.0 for x in row] for row in A]) for A in matrices
        )
        with np.errstate(invalid="ignore"):  # slopes without a bound
            spread = np.abs(V.T) @ (S_k + abs(w[0]) * m_k) @ np.abs(V)
        changes.append((high - low) * float(spread.max()))
    usable = np.isfinite(changes).all() and max(changes, default=0.0) > 0
    return int(np.argmax(changes)) if usable else _longest(limits)


def _magnitude(x: Interval) -> float:
    return max(abs(float(x.a.mid)), abs(float(x.b.mid)))


def _bound(S: Form, m: Form, w: Array) -> float:
    """The largest lambda for which Gershgorin's circles show that m > 0 and S - lambda m > 0; guessed, then proven."""
    ones = np.ones(len(w))
    if not _definite(m, ones):
        return -np.inf
    spread = max(float(w[-1] - w[0]), float(np.abs(w).max()), 1e-300)
    gaps = GAPS * spread
    passed = _guessed(S, m, w, gaps)
    if not passed.any():
        return -np.inf
    k = int(passed.argmax())
    finer = np.linspace(gaps[max(k - 1, 0)], gaps[k], FINER)
    for gap in finer[_guessed(S, m, w, finer)][:3]:  # the guess is made in doubles: it may be wrong by rounding
        lam = float(w[0] - gap)
        exact = iv.mpf(lam)
        A = [[s - exact * x for s, x in zip(*rows, strict=True)] for rows in zip(S, m, strict=True)]
        if _definite(A, np.sqrt(w - lam)):
            return lam
    return -np.inf


def _guessed(S: Form, m: Form, w: Array, gaps: Array) -> NDArray[np.bool_]:
    """Where the circles of S - (w_0 - gap) m lie right of zero, in doubles."""
    ends = [[[(float(x.a.mid), float(x.b.mid)) for x in row] for row in A] for A in (S, m)]
    (S_low, S_high), (m_low, m_high) = (np.moveaxis(np.array(A), -1, 0) for A in ends)
    lam = (w[0] - gaps)[:, None, None]
    with np.errstate(all="ignore"):
        low = S_low - np.maximum(lam * m_low, lam * m_high)
        high = S_high - np.minimum(lam * m_low, lam * m_high)
        size = np.maximum(np.abs(low), np.abs(high))
        weights = np.sqrt(w[None] - lam[:, :, 0])
        n = range(len(w))
        others = size * (1 - np.eye(len(w)))
        circles = np.stack([low[:, i, i] - (others[:, i] * weights[:, i : i + 1] / weights).sum(1) for i in n], axis=1)
        return np.asarray((circles > 1e-9 * np.abs(low[:, n, n])).all(axis=1))


def _definite(A: Form, weights: Array) -> bool:
    """Whether a symmetric interval matrix is positive definite by Gershgorin's circles, rows weighted."""
    n = range(len(A))
    exact = [iv.mpf(float(x)) for x in weights]
    for i in n:
        others = _sum(abs(A[i][j]) * (exact[i] / exact[j]) for j in n if j != i)
        if not (A[i][i] - others).a > 0:
            return False
    return True
