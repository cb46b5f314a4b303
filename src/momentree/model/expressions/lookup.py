"""Lookup: a table, or a derivative of it, as a function of one scalar in an expression; and the polynomials behind it.

Between two knots a table is a polynomial in the distance d from the left one,

    f(x) = c0 + c1 d + c2 d^2 + c3 d^3 ,   d = x - x_i ,   x_i <= x < x_(i+1) ,

with c2 = c3 = 0 if it is linear. What lies beyond the ends are two polynomials more. Two piecewise constant functions
of x, the number of the piece and an entry of its row, are all that a kind of scalar needs to know of tables; the
formula above, and the derivatives of it, are then ordinary arithmetic.
"""

from __future__ import annotations

import hashlib
import math
import sys
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from momentree.errors import ExpressionError, MomentreeError
from momentree.model.expressions.references import Reference
from momentree.spatial.scalar import Scalar, floor, polynomial

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The polynomials of a table; equal where all numbers are.

    | field  | meaning                                                                                        |
    |--------|------------------------------------------------------------------------------------------------|
    | name   | of the table                                                                                   |
    | breaks | n: where the next piece begins, ascending                                                      |
    | rows   | n + 2, degree + 2: of each piece where d is 0, then c0, c1, ...; below all breaks, between two |
    |        | of them, beyond the last, and a row of NaN for an argument that is NaN                         |
    | first  | the first knot                                                                                 |
    | period | of a periodic table; 0 of any other                                                            |
    """

    name: str
    breaks: Array
    rows: Array
    first: float
    period: float = 0.0
    digest: str = field(default="", init=False)

    def __post_init__(self) -> None:
        content = self.breaks.tobytes() + self.rows.tobytes() + np.array([self.first, self.period]).tobytes()
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pieces) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def degree(self) -> int:
        """Of the polynomials: 1 or 3."""
        return int(self.rows.shape[1]) - 2

    def located(self, x: Scalar) -> Scalar:
        """The number of the piece that x lies in: of breaks that are not greater; one more than all rows of NaN."""
        if isinstance(x, (float, int)):
            return float(len(self.breaks) + 1 if math.isnan(x) else bisect_right(self.breaks, x))
        if isinstance(x, np.ndarray):
            return np.where(np.isnan(x), len(self.breaks) + 1, np.searchsorted(self.breaks, x, side="right")) * 1.0
        method = getattr(type(x), "located", None)
        if method is None:
            raise MomentreeError(f"table '{self.name}' cannot be computed for {type(x).__name__}.")
        return method(x, self)

    def entry(self, column: int, piece: Scalar) -> Scalar:
        """A number of the row of a piece."""
        if isinstance(piece, (float, int)):
            return self.rows.item(int(piece), column)
        if isinstance(piece, np.ndarray):
            return self.rows[piece.astype(np.int64), column]
        return piece.entry(self, column)

    def derivative(self, x: Scalar, order: int) -> Scalar:
        """The derivative of that order at x; 0: the value."""
        if self.period:
            x = x - self.period * floor((x - self.first) / self.period)
        piece = self.located(x)
        # the derivative has the factors j (j - 1) ...
        numbers = [math.perm(j, order) * self.entry(j + 1, piece) for j in range(order, self.degree + 1)]
        return polynomial(numbers, x - self.entry(0, piece))


class LookedUp(Protocol):
    """What a lookup asks of a table (model/tables.py)."""

    @property
    def name(self) -> str:
        """As laws call it."""
        ...

    @property
    def identity(self) -> str:
        """Equal for equal tables."""
        ...

    @property
    def degree(self) -> int:
        """Of the polynomials between knots."""
        ...

    @property
    def summary(self) -> str:
        """What it is, in a few words."""
        ...

    @property
    def pieces(self) -> Pieces:
        """The polynomials; raises a MomentreeError if the table is wrong."""
        ...

    def beyond(self, x: float) -> str:
        """Why the table has no value at x; "" where it has one."""
        ...


@dataclass(frozen=True, eq=False)
class Lookup:
    """A table or a derivative of it, as the operation of an expression: cam(x), cam'(x), cam''(x)."""

    table: LookedUp
    order: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lookup) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str, int]:
        return self.table.name, self.table.identity, self.order

    def __str__(self) -> str:
        return str(Reference(self.table.name)) + "'" * self.order

    def __call__(self, x: Scalar) -> Scalar:
        """At a scalar of any kind; a float beyond the ends is a ValueError."""
        method = getattr(type(x), "looked_up", None)
        if method is not None:
            return method(x, self)
        sympy = sys.modules.get("sympy")
        if sympy is not None and isinstance(x, sympy.Basic):
            from momentree.model.expressions.table_symbols import function_of

            return function_of(self)(x)
        result = self.table.pieces.derivative(x, self.order)
        if isinstance(result, float) and not math.isfinite(result):
            raise ValueError(self.table.beyond(float(x)) or f"the value of table '{self.table.name}' is not finite")
        return result

    def derivative(self) -> Lookup:
        """The next derivative, if it is a function."""
        if self.order < self.table.degree:
            return Lookup(self.table, self.order + 1)
        jumps = "slope" if self.order == 1 else "third derivative"
        way_out = " Use kind='cubic'." if self.order == 1 else ""
        raise ExpressionError(
            f"table '{self.table.name}' has no derivative of order {self.order + 1}, which is needed here: its {jumps} "
            f"jumps at the knots.{way_out}"
        )


def beyond_tables(expression: Any, values: Mapping[Reference, Scalar]) -> list[str]:
    """Why tables in an expression have no value at these floats."""
    reasons: dict[str, None] = {}
    for part in expression._parts_first():
        if isinstance(part.op, Lookup):
            try:
                reason = part.op.table.beyond(float(part.args[0].evaluate(values)))
            except (MomentreeError, ArithmeticError, ValueError):
                continue  # the argument itself has no value
            if reason:
                reasons[reason] = None
    return list(reasons)
