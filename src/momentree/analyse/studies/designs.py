"""Designs of studies: which values a sweep goes through. Grids, lists, random samples and Latin hypercubes.

| made by                                    | motions                                                                 |
|--------------------------------------------|-------------------------------------------------------------------------|
| grid(a=[...], b=[...])                     | every value of a with every value of b                                  |
| points(a=[...], b=[...])                   | the first of a with the first of b, and so on                           |
| random(n, seed=1, a=(low, high))           | n, each value drawn from its distribution                               |
| latin_hypercube(n, seed=1, a=normal(m, s)) | n; of n equally probable parts of each distribution, each is drawn once |

Names that are not identifiers stand in a dict: grid({"A'": [1.0, 2.0]}).
"""

from __future__ import annotations

import hashlib
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError, spell_checked

Array = NDArray[np.float64]
MOST_MOTIONS = 10**12  # of a design: more is a mistake
MOST_NUMBERS = 2**28  # in the columns of a design that is not a grid: 2 GiB
SMALLEST, LARGEST = 2.0**-54, 1 - 2.0**-53  # probabilities, so that no quantile is infinite


@spell_checked
@dataclass(frozen=True, eq=False)
class Design:
    """The values of a study.

    | field   | meaning                                                                       |
    |---------|-------------------------------------------------------------------------------|
    | kind    | "grid", "points", "random" or "latin_hypercube"                               |
    | names   | of what is varied                                                             |
    | columns | of a grid, the values of each axis; else of each motion, all of one length    |
    | seed    | of what is drawn; None if nothing is                                          |
    """

    kind: str
    names: tuple[str, ...]
    columns: tuple[Array, ...]
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.names:
            raise MomentreeError("study: over= names nothing. Give at least one name and its values.")
        if self.count > MOST_MOTIONS:
            raise MomentreeError(f"study: the design has {self.count:.3g} motions; the limit is {MOST_MOTIONS:g}.")

    @property
    def is_grid(self) -> bool:
        """Whether every value is combined with every other."""
        return self.kind == "grid"

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes of a grid; of others, the number of motions."""
        return tuple(len(column) for column in self.columns) if self.is_grid else (len(self.columns[0]),)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the axes of results."""
        return self.names if self.is_grid else ("motion",)

    @property
    def count(self) -> int:
        """The number of motions."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.count

    def rows(self, begin: int, end: int) -> Array:
        """Values, m x names, of the motions begin to end - 1; in a grid the last axis changes fastest."""
        if not self.is_grid:
            return np.stack([column[begin:end] for column in self.columns], axis=-1)
        indices = np.unravel_index(np.arange(begin, end), self.shape)
        return np.stack([column[i] for column, i in zip(self.columns, indices, strict=True)], axis=-1)

    @property
    def digest(self) -> str:
        """Equal for equal values."""
        total = hashlib.sha256(repr((self.is_grid, self.names, self.shape)).encode())
        for column in self.columns:
            total.update(np.ascontiguousarray(column, dtype="<f8").data)
        return total.hexdigest()

    def __str__(self) -> str:
        motions = "1 motion" if self.count == 1 else f"{self.count:,} motions"
        if self.is_grid:
            lengths = " x ".join(str(len(column)) for column in self.columns)
            return f"a grid of {lengths} = {motions}" if len(self.names) > 1 else motions
        how = {"points": "listed", "random": "random", "latin_hypercube": "Latin hypercube"}[self.kind]
        return f"{motions} ({how})"


# --- distributions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Uniform:
    """Equally probable between two numbers."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_numbers("uniform", low=self.low, high=self.high)
        if not self.low <= self.high:
            raise MomentreeError(f"uniform: from {self.low:g} to {self.high:g} there is nothing. Give low <= high.")

    def quantile(self, p: Array) -> Array:
        """The number below which a share p of all lies."""
        return self.low + (self.high - self.low) * p


@dataclass(frozen=True)
class Normal:
    """The normal (Gaussian) distribution; between `low` and `high` alone where they are given."""

    mean: float
    sd: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _check_numbers("normal", mean=self.mean, sd=self.sd)
        if self.sd < 0:
            raise MomentreeError(f"normal: sd is {self.sd:g}; a standard deviation is not negative.")
        if not self.low <= self.high or (self.sd == 0 and not self.low <= self.mean <= self.high):
            raise MomentreeError(f"normal: there is nothing between low = {self.low:g} and high = {self.high:g}.")

    def quantile(self, p: Array) -> Array:
        """The number below which a share p of all lies."""
        from scipy.special import ndtr, ndtri

        if self.sd == 0:
            return np.full_like(p, self.mean)
        below, up_to = (float(ndtr((x - self.mean) / self.sd)) for x in (self.low, self.high))
        if not below < up_to:
            message = f"less than 1e-16 of it lies between {self.low:g} and {self.high:g}"
            raise MomentreeError(f"normal: {message}, too little to draw from. Give wider limits.")
        drawn = self.mean + self.sd * ndtri(np.clip(below + (up_to - below) * p, SMALLEST, LARGEST))
        return np.asarray(np.clip(drawn, self.low, self.high))


@spell_checked
def normal(mean: float, sd: float, low: float = -math.inf, high: float = math.inf) -> Normal:
    """A normal (Gaussian) distribution for a random design, cut off below `low` and above `high`."""
    return Normal(mean, sd, low, high)


@spell_checked
def uniform(low: float, high: float) -> Uniform:
    """A uniform distribution for a random design; a pair of numbers means the same."""
    return Uniform(low, high)


# --- designs ---------------------------------------------------------------------------------------------------------


def grid(over: Mapping[str, Any] | None = None, /, **named: Any) -> Design:
    """Every value of each name with every value of the others; the results have an axis for each name."""
    given = _named(over, named, "grid")
    return Design("grid", tuple(given), tuple(_numbers(name, values) for name, values in given.items()))


def points(over: Mapping[str, Any] | None = None, /, **named: Any) -> Design:
    """Motion by motion: one value of each name; a single number serves all."""
    given = _named(over, named, "points")
    columns = {name: _numbers(name, values) for name, values in given.items()}
    single = {name for name in given if np.ndim(given[name]) == 0}
    lengths = {name: len(column) for name, column in columns.items() if name not in single}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise MomentreeError(f"points: each motion takes one value of each name, but {listed}. Give as many of each.")
    count = next(iter(lengths.values()), 1)
    return Design("points", tuple(given), tuple(np.array(np.broadcast_to(c, (count,))) for c in columns.values()))


def random(n: int, over: Mapping[str, Any] | None = None, /, *, seed: int = 0, **named: Any) -> Design:
    """n motions; each value is drawn from its distribution: (low, high), `normal(mean, sd)`, `uniform(low, high)`."""
    count, given = _count("random", n, over, named, seed)
    shares = np.random.default_rng(seed).random((len(given), count))
    return _drawn("random", given, np.clip(shares, SMALLEST, LARGEST), seed)


def latin_hypercube(n: int, over: Mapping[str, Any] | None = None, /, *, seed: int = 0, **named: Any) -> Design:
    """n motions; each of n equally probable parts of every distribution is drawn from exactly once.

    McKay, Beckman, Conover 1979. It fills the space more evenly than `random`, and its means are more accurate.
    """
    count, given = _count("latin_hypercube", n, over, named, seed)
    draw = np.random.default_rng(seed)
    shares = np.stack([(draw.permutation(count) + draw.random(count)) / count for _ in given])
    return _drawn("latin_hypercube", given, np.clip(shares, SMALLEST, LARGEST), seed)


def design_of(over: Any) -> Design:
    """A design as it is, or the grid of names and values."""
    if isinstance(over, Design):
        return over
    if not isinstance(over, Mapping):
        example = "{'k': [1.0, 2.0]}, or mt.random(100, k=(1.0, 2.0))"
        raise MomentreeError(f"study: over is {reprlib.repr(over)}; give names and values, such as {example}.")
    return grid(over)


# --- inside ----------------------------------------------------------------------------------------------------------


def _named(over: Mapping[str, Any] | None, named: Mapping[str, Any], what: str) -> dict[str, Any]:
    if over is not None and not isinstance(over, Mapping):
        raise MomentreeError(f"{what}: {reprlib.repr(over)} is not a dict of names and values.")
    twice = [name for name in named if name in (over or {})]
    if twice:
        raise MomentreeError(f"{what}: '{twice[0]}' is given twice.")
    given = {**(over or {}), **named}
    for name in given:
        if not isinstance(name, str) or not name:
            raise MomentreeError(f"{what}: {name!r} is not a name.")
    return given


def _numbers(name: str, values: Any) -> Array:
    """The values of one name: finite numbers."""
    if isinstance(values, (Uniform, Normal)):
        message = "is a distribution, from which only random and Latin hypercube designs draw"
        raise MomentreeError(f"study: '{name}' {message}. Use mt.random(n, ...) or mt.latin_hypercube(n, ...).")
    try:
        array = np.atleast_1d(np.asarray(values))
        right = array.ndim == 1 and array.dtype.kind in "iuf" and not np.ma.is_masked(values)
    except (TypeError, ValueError):
        right = False
    if not right:
        raise MomentreeError(f"study: '{name}' is {reprlib.repr(values)}; a list of numbers is expected.")
    if not len(array):
        raise MomentreeError(f"study: '{name}' has no values. Give at least one.")
    bad = np.flatnonzero(~np.isfinite(array.astype(float)))
    if len(bad):
        message = f"value {bad[0]} of '{name}' is {array[bad[0]]}; finite numbers are expected"
        raise MomentreeError(f"study: {message}.")
    return array.astype(float)


def _count(
    what: str, n: Any, over: Mapping[str, Any] | None, named: Mapping[str, Any], seed: Any
) -> tuple[int, dict[str, Any]]:
    given = _named(over, named, what)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise MomentreeError(f"{what}: n is {n!r}; give the number of motions, at least 1.")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise MomentreeError(f"{what}: seed is {seed!r}; give a whole number that is not negative.")
    if n * max(len(given), 1) > MOST_NUMBERS:
        message = f"{n:,} motions of {len(given)} numbers do not fit into memory; the limit is {MOST_NUMBERS:,} numbers"
        raise MomentreeError(f"{what}: {message}. Make several studies, each with its own seed.")
    return int(n), given


def _drawn(kind: str, given: Mapping[str, Any], shares: Array, seed: int) -> Design:
    distributions = [_distribution(name, values) for name, values in given.items()]
    columns = [distribution.quantile(row) for distribution, row in zip(distributions, shares, strict=True)]
    return Design(kind, tuple(given), tuple(columns), int(seed))


def _distribution(name: str, values: Any) -> Uniform | Normal:
    if isinstance(values, (Uniform, Normal)):
        return values
    if isinstance(values, (tuple, list)) and len(values) == 2:
        try:
            return Uniform(*values)
        except MomentreeError as error:
            raise MomentreeError(f"study: '{name}': {error}") from None
    message = f"'{name}' is {reprlib.repr(values)}; give (low, high), mt.normal(mean, sd) or mt.uniform(low, high)"
    raise MomentreeError(f"study: {message}.")


def _check_numbers(what: str, **numbers: Any) -> None:
    for name, x in numbers.items():
        if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not math.isfinite(x):
            raise MomentreeError(f"{what}: {name} is {x!r}; a finite number is expected.")
