"""Tables: functions given by points, between which they are interpolated, for laws, motions and constraints."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError, choices
from momentree.model.expressions.expression import as_expression
from momentree.model.expressions.lookup import Lookup, Pieces
from momentree.model.values import Mistake, Raw, plain

KINDS = {"linear": 1, "cubic": 3}  # degree of the polynomials
OUTSIDE = ("error", "constant", "linear")
CLOSED = 1e-12  # of the largest value: by so much the ends of a periodic table may differ, as sin(0) and sin(2 pi) do
REACHED = 1e-9  # of the largest value: by so much a piece may miss the next point; more if its numbers overflow
Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Table:
    """A function of one argument, given by points (x, y). Call it to use it in a law: `cam(theta)`.

    | field    | meaning                                                                                          |
    |----------|--------------------------------------------------------------------------------------------------|
    | x, y     | knots, ascending, and the value at each                                                          |
    | kind     | "cubic": a spline with two continuous derivatives, and at the second knot and the last but one   |
    |          | with three ("not-a-knot"); "linear": straight lines                                              |
    | periodic | the last point is the first one, a period later; a cubic spline is then smooth there too         |
    | outside  | beyond the ends: "error" (no value: a motion ends there), "constant" or "linear" continuation    |
    """

    name: str
    x: Raw
    y: Raw
    kind: str = "cubic"
    periodic: bool = False
    outside: str = "error"

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            object.__setattr__(self, name, _own_floats(getattr(self, name)))

    def __call__(self, x: Any, order: int = 0) -> Any:
        """The table at an expression, a number or an array of numbers; or its derivative of that order.

        At an array, NaN stands for what lies outside.
        """
        if not isinstance(order, int) or isinstance(order, bool) or not 0 <= order <= self.degree:
            raise MomentreeError(f"table '{self.name}': order is {order!r}; it has derivatives 0 to {self.degree}.")
        x = as_expression(x) if isinstance(x, str) else np.asarray(x, dtype=float) if isinstance(x, list) else x
        try:
            return Lookup(self, order)(x)
        except ValueError as error:
            raise MomentreeError(f"{error}.") from None

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return f"Table({self.name!r}: {self.summary})"

    @property
    def summary(self) -> str:
        """What it is, in a few words."""
        knots = self.x if isinstance(self.x, tuple) else ()
        numbers = [x for x in (*knots[:1], *knots[-1:]) if isinstance(x, (int, float))]
        ends = f" from {numbers[0]:.9g} to {numbers[1]:.9g}" if len(numbers) == 2 else ""
        beyond = "periodic" if self.periodic else "" if self.outside == "error" else f"{self.outside} beyond"
        return f"{self.kind}, {len(knots)} knots{ends}{beyond and ', '}{beyond}"

    @cached_property
    def identity(self) -> str:
        """Equal for equal tables."""
        content = repr((self.x, self.y, self.kind, self.periodic, self.outside))
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def degree(self) -> int:
        """Of the polynomials between knots."""
        return KINDS.get(self.kind, 3) if isinstance(self.kind, str) else 3

    def check(self) -> None:
        """Raises Mistake if the table is wrong."""
        _ = self.pieces

    def beyond(self, x: float) -> str:
        """Why the table has no value at x; "" where it has one."""
        if not math.isfinite(x):
            return f"the argument of table '{self.name}' is {x}"
        if self.periodic or self.outside != "error" or self.x[0] <= x <= self.x[-1]:
            return ""
        first, last, here = (f"{value:.9g}" for value in (self.x[0], self.x[-1], x))
        where = f"is {here}" if here not in (first, last) else "has just passed the end"
        return f"table '{self.name}' is given from {first} to {last}, and its argument {where}"

    @cached_property
    def pieces(self) -> Pieces:
        """The polynomials; raises Mistake if the table is wrong."""
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise Mistake(f"kind is {self.kind!r}. Choose {choices(list(KINDS))}.", "kind")
        if not isinstance(self.periodic, bool):
            raise Mistake(f"periodic is {self.periodic!r}; use true or false.", "periodic")
        if self.outside not in OUTSIDE:
            raise Mistake(f"outside is {self.outside!r}. Choose {choices(list(OUTSIDE))}.", "outside")
        if self.periodic and self.outside != "error":
            raise Mistake("a periodic table has no outside. Leave out outside or periodic.", "outside")
        x, y = self._points()
        with np.errstate(all="ignore"):
            inner = coefficients_between(x, y, self.kind, self.periodic)
            rows, breaks = _with_ends(x, y, inner, self.outside, self.periodic), x.copy()
            # the last knot still belongs to the last piece
            breaks[-1] = np.nextafter(x[-1], math.inf)
            period = float(x[-1] - x[0]) if self.periodic else 0.0
            h = np.diff(x)
            ends = sum(inner[:, j] * h**j for j in range(inner.shape[1]))
            reached = np.abs(ends - y[1:]) <= REACHED * np.abs(y).max()
        if not (np.isfinite(inner).all() and np.isfinite(h).all() and reached.all()):
            raise Mistake("its numbers are too large or its knots too close for floats. Scale x or y.", "x")
        return Pieces(self.name, breaks, rows, float(x[0]), period)

    def _points(self) -> tuple[Array, Array]:
        x, y = _numbers(self.x, "x"), _numbers(self.y, "y")
        if len(x) != len(y):
            raise Mistake(f"x has {len(x)} numbers, but y has {len(y)}. Give one y for each x.", "y")
        fewest = 3 if self.periodic else 2
        if len(x) < fewest:
            message = f"{len(x)} {'point' if len(x) == 1 else 'points'} are too few; give at least {fewest}."
            raise Mistake(message.replace("1 point are", "1 point is"), "x")
        wrong = np.flatnonzero(~(x[1:] > x[:-1]))
        if len(wrong):
            i = int(wrong[0]) + 1
            said = "is there twice" if x[i] == x[i - 1] else f"follows {x[i - 1]:.9g}"
            raise Mistake(f"x must ascend, but {x[i]:.9g}, its number {i + 1}, {said}. Sort the points by x.", "x")
        if self.periodic:
            if not abs(y[-1] - y[0]) <= CLOSED * np.abs(y).max():
                message = f"a periodic table ends as it begins, but y is {y[0]:.9g} at first and {y[-1]:.9g} at last"
                raise Mistake(f"{message}. Add the point of the next period, or leave out periodic.", "y")
            y[-1] = y[0]
        return x, y


def coefficients_between(x: Array, y: Array, kind: str, periodic: bool = False) -> Array:
    """c0, c1, ... of the polynomial from each point to the next, one row for each; NaN where floats cannot hold them.

    A cubic spline is periodic or else, at the second point and the last but one, has a third derivative ("not-a-knot").
    """
    if kind == "linear":
        return np.stack([y[:-1], np.diff(y) / np.diff(x)], axis=1)
    from scipy.interpolate import CubicSpline

    try:
        spline = CubicSpline(x, y, bc_type="periodic" if periodic else "not-a-knot")
    except (ValueError, np.linalg.LinAlgError):
        return np.full((len(x) - 1, KINDS["cubic"] + 1), math.nan)
    return np.ascontiguousarray(spline.c[::-1].T)


def _own_floats(raw: Raw) -> Raw:
    """The plain form of numbers, floats of NumPy as those of Python, which are written alike."""
    raw = raw.tolist() if isinstance(raw, np.ndarray) else raw
    if isinstance(raw, (list, tuple)) and all(type(x) is float for x in raw):
        return tuple(raw)
    raw = plain(raw)
    return tuple(float(x) if isinstance(x, float) else x for x in raw) if isinstance(raw, tuple) else raw


def _numbers(raw: Raw, what: str) -> Array:
    """Finite numbers; raises Mistake."""
    if not isinstance(raw, tuple):
        shown = "missing" if raw is None else f"{raw!r}"
        raise Mistake(f"{what} is {shown[:60]}; a list of numbers is expected.", what)
    for i, number in enumerate(raw, 1):
        if not isinstance(number, (int, float)) or isinstance(number, bool):
            raise Mistake(f"{what} has {str(number)[:60]!r} as its number {i}; numbers alone are expected.", what)
        if not abs(number) <= 1.7e308:
            raise Mistake(f"{what} has {str(number)[:60]} as its number {i}; finite numbers are expected.", what)
    return np.array(raw, dtype=float)


def _with_ends(x: Array, y: Array, inner: Array, outside: str, periodic: bool) -> Array:
    """The rows of all pieces (lookup.Pieces): those between knots, and what lies beyond them."""
    rows = np.full((len(x) + 2, inner.shape[1] + 1), math.nan)
    rows[1:-2, 0], rows[1:-2, 1:] = x[:-1], inner
    below, above = rows[0], rows[-2]
    if periodic:  # round-off may lead a little beyond the ends
        below[:], above[:] = rows[1], rows[-3]
    elif outside != "error":
        h, last = x[-1] - x[-2], inner[-1]
        slope = sum(j * last[j] * h ** (j - 1) for j in range(1, len(last)))
        slopes = (inner[0, 1], slope) if outside == "linear" else (0.0, 0.0)
        below[:], above[:] = 0.0, 0.0
        below[:3], above[:3] = (x[0], y[0], slopes[0]), (x[-1], y[-1], slopes[1])
    return rows


def tables_by_name(tables: Any) -> dict[str, Table]:
    """The tables of a model that have a name."""
    return {table.name: table for table in tables if isinstance(table.name, str)}
