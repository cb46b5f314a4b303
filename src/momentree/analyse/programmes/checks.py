"""Checks of a programme at sampled points: independent constraints, a v = b, masses and dissipation definite.

What is wrong is an error that says which constraint or entry, and at which coordinates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError, suggestion

Array = NDArray[np.float64]
SAMPLES = 512
DEFAULT, DEFAULT_TIME = (-np.pi, np.pi), (0.0, 10.0)
INDEPENDENT = 1e-9  # of rows of unit length: the least singular value of those that are independent
SATISFIED = 1e-9  # of its terms: what a v - b may be
SYMMETRIC = 1e-12  # of the largest entry
Limits = tuple[float, float]


class Region(NamedTuple):
    """A box of coordinates and of time.

    | field  | meaning                                         |
    |--------|-------------------------------------------------|
    | names  | of the coordinates, then "t"                    |
    | limits | lowest and highest value of each                |
    """

    names: tuple[str, ...]
    limits: tuple[Limits, ...]

    @classmethod
    def of(cls, coordinates: Sequence[str], given: Mapping[str, Any] | None, needed: Sequence[str] = ()) -> Region:
        """The region that a user describes; those of `needed` must be given, the others have defaults."""
        names, given = (*coordinates, "t"), dict(given or {})
        for name in given:
            if name not in names:
                raise MomentreeError(f"region: there is no coordinate '{name}'.{suggestion(str(name), names)}")
        for name in needed:
            if name not in given:
                message = f"region: '{name}' is missing, and the decay rate depends on it"
                raise MomentreeError(f"{message}. Give its lowest and highest value: region={{'{name}': (0, 1)}}.")
        defaults = {**dict.fromkeys(coordinates, DEFAULT), "t": DEFAULT_TIME}
        return cls(names, tuple(_limits(name, given.get(name, defaults[name])) for name in names))

    def limits_of(self, chosen: Collection[str]) -> dict[str, Limits]:
        """Those of the chosen ones, by name."""
        return {name: pair for name, pair in zip(self.names, self.limits, strict=True) if name in chosen}

    def samples(self, count: int = SAMPLES, seed: int = 0) -> tuple[Array, Array]:
        """q (count, n) and t (count,): low-discrepancy points in the box."""
        from scipy.stats import qmc

        low, high = np.array(self.limits, dtype=float).T
        with np.errstate(all="ignore"):
            unit = qmc.Sobol(len(self.names), seed=seed).random(1 << max(1, int(np.ceil(np.log2(count)))))[:count]
        points = low + unit * (high - low)
        return points[:, :-1], points[:, -1]

    def words(self, q: Array, t: float) -> str:
        """A point, in words."""
        values = zip(self.names, [*q, t], strict=True)
        return ", ".join(f"{name} = {value:.4g}" for name, value in values)


def _limits(name: str, given: Any) -> Limits:
    try:
        low, high = (float(x) for x in given)
    except (TypeError, ValueError):
        raise MomentreeError(f"region: '{name}' is {given!r}. Give its lowest and highest value.") from None
    if not (np.isfinite([low, high]).all() and low <= high):
        raise MomentreeError(f"region: '{name}' goes from {low:g} to {high:g}. Give finite numbers, the lower first.")
    return low, high


class Rows(NamedTuple):
    """Constraints at sampled points: a (k, m, n), b (k, m)."""

    region: Region
    q: Array
    t: Array
    a: Array
    b: Array

    def at(self, k: int) -> str:
        """A sample, in words."""
        return self.region.words(self.q[k], float(self.t[k]))


class Fields(NamedTuple):
    """What a programme is at the same points: v (k, n), mass matrix and dissipation (k, n, n)."""

    v: Array
    m: Array
    d: Array


def check_fields(s: Rows, fields: Fields, constraints: Sequence[str], how: str, dissipative: bool = True) -> None:
    """Raise the first thing that is wrong; `how` the constraints are completed."""
    _check_symmetric(s, fields.m, "mass")
    scales = np.sqrt(np.abs(np.einsum("kii->ki", fields.m)))  # whatever the units
    _check_definite(s, fields.m, scales, "mass", "positive definite", strict=True)
    _check_velocity(s, fields.v, constraints, how)
    _check_symmetric(s, fields.d, "dissipation")
    if dissipative:
        _check_definite(s, fields.d, scales, "dissipation", "positive semidefinite", strict=False)


def check_independent(s: Rows, constraints: Sequence[str]) -> None:
    """Rows of a must be independent; if they are not everywhere, either one is redundant or two contradict."""
    count = s.a.shape[1]
    if not count:
        return
    sizes = np.linalg.norm(s.a, axis=2)
    finite = np.isfinite(sizes).all(axis=1) & np.isfinite(s.b).all(axis=1)
    if not finite.any():
        raise MomentreeError(f"programme: the constraints have no finite coefficients, as at {s.at(0)}.")
    empty = np.flatnonzero((sizes[finite] == 0).all(axis=0))
    if len(empty):
        raise MomentreeError(f"programme: constraint {empty[0] + 1}, '{constraints[empty[0]]}', restrains no velocity.")
    unit = s.a / np.where(sizes > 0, sizes, 1.0)[:, :, None]
    points = [int(k) for k in np.flatnonzero(finite)]
    for k in points:
        if np.linalg.matrix_rank(unit[k], tol=INDEPENDENT) == count:
            return  # independent at a point of general position
    for row in range(1, count):
        if np.linalg.matrix_rank(unit[points[0], : row + 1], tol=INDEPENDENT) <= row:
            _refuse_dependent(s, points[0], row, constraints)


def check_completion(s: Rows, c: Array) -> None:
    """Vectors c (k, r, n) of a cross product must be independent of the constraints, and of each other, somewhere."""
    rows = np.concatenate([s.a[: len(c)], c], axis=1)
    sizes = np.linalg.norm(rows, axis=2, keepdims=True)
    unit = rows / np.where(sizes > 0, sizes, 1.0)
    points = [k for k in range(len(unit)) if np.isfinite(unit[k]).all()]
    if not any(np.linalg.matrix_rank(unit[k], tol=INDEPENDENT) == rows.shape[1] for k in points):
        message = "programme: the completion is parallel to the constraints: the cross product is 0 everywhere"
        raise MomentreeError(f"{message} (for example at {s.at(0)}). Give vectors that are independent of them.")


def _refuse_dependent(s: Rows, k: int, row: int, constraints: Sequence[str]) -> None:
    """`row` is a combination of those before it."""
    before = s.a[k, :row]
    weights = np.linalg.lstsq(before.T, s.a[k, row], rcond=None)[0]
    left = s.b[k, row] - weights @ s.b[k, :row]
    among = ", ".join(str(i + 1) for i in np.flatnonzero(np.abs(weights) > INDEPENDENT * np.abs(weights).max()))
    message = f"programme: constraint {row + 1}, '{constraints[row]}', is a combination of constraint {among}"
    if abs(left) > SATISFIED * (abs(s.b[k, row]) + np.abs(weights) @ np.abs(s.b[k, :row])):
        where = f"their right sides differ by {left:.4g} at {s.at(k)}"
        raise MomentreeError(f"{message}, and contradicts it: {where}. Correct one of them.")
    raise MomentreeError(f"{message} everywhere (for example at {s.at(k)}). Leave it out.")


def _check_velocity(s: Rows, v: Array, constraints: Sequence[str], how: str) -> None:
    """v must be finite somewhere, and satisfy the constraints."""
    finite = np.isfinite(v).all(axis=1)
    if not finite.any():
        reasons = {
            "velocity": "the given velocities do not determine the others. Give other components in velocity=",
            "null_space": "the mass matrix or the constraints are singular",
        }
        message = f"programme: v is not finite anywhere, as at {s.at(0)}"
        raise MomentreeError(f"{message}: {reasons.get(how, 'the constraints are singular, or an expression is')}.")
    terms = np.abs(s.a * v[:, None, :]).sum(axis=2) + np.abs(s.b)
    missed = np.abs(np.einsum("kmn,kn->km", s.a, v) - s.b) / np.where(terms > 0, terms, 1.0)
    missed[~finite] = 0.0
    if missed.size and missed.max() > SATISFIED:
        k, row = np.unravel_index(int(missed.argmax()), missed.shape)
        error = float(s.a[k, row] @ v[k] - s.b[k, row])
        what = {"null_space": "a vector of null_space is not in the null space of a"}.get(how, f"{how} violates it")
        message = f"programme: constraint {row + 1}, '{constraints[int(row)]}': {what}"
        raise MomentreeError(f"{message}: a v - b = {error:.4g} at {s.at(int(k))}.")


def _check_symmetric(s: Rows, matrix: Array, what: str) -> None:
    apart = np.abs(matrix - np.swapaxes(matrix, 1, 2))
    limit = SYMMETRIC * np.abs(matrix).max(axis=(1, 2), initial=0.0)[:, None, None]
    wrong = np.isfinite(apart) & (apart > limit)
    if wrong.any():
        k, i, j = (int(x) for x in np.argwhere(wrong)[0])
        names = s.region.names
        pairs = ((i, j), (j, i))
        entries = ", ".join(f"entry ({names[r]}, {names[c]}) is {matrix[k, r, c]:.4g}" for r, c in pairs)
        raise MomentreeError(f"programme: {what} is not symmetric: {entries} at {s.at(k)}. Give both the same value.")


def _check_definite(s: Rows, matrix: Array, scales: Array, what: str, wanted: str, strict: bool) -> None:
    """Eigenvalues of the matrix with rows and columns divided by the scales: their signs are the same."""
    finite = np.isfinite(matrix).all(axis=(1, 2))
    if not finite.any():
        raise MomentreeError(f"programme: {what} is not finite anywhere, as at {s.at(0)}.")
    divisors = np.where(scales > 0, scales, 1.0)
    scaled = matrix / divisors[:, :, None] / divisors[:, None, :]
    least = np.full(len(matrix), np.inf)
    least[finite] = np.linalg.eigvalsh(scaled[finite])[:, 0]
    largest = np.abs(scaled[finite]).max(initial=0.0)
    k = int(least.argmin())
    if least[k] < -SYMMETRIC * largest or (strict and least[k] <= SYMMETRIC * largest):
        eigenvalue = np.linalg.eigvalsh(matrix[k])[0]
        message = f"programme: {what} is not {wanted}: its least eigenvalue is {eigenvalue:.4g} at {s.at(k)}"
        way_out = "Give region= if that lies outside of where it moves" + (
            "" if strict else ", or dissipative=False to see what an unstable programme does"
        )
        raise MomentreeError(f"{message}. {way_out}.")
