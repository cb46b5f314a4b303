"""How many operations it takes to compute expressions, common subexpressions once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sympy as sp


class Operations(NamedTuple):
    """Counts; a subtraction is an addition, a change of sign is free, `others` are roots, exponentials and the like."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0
    others: int = 0

    def plus(self, other: Operations) -> Operations:
        """The sum."""
        return Operations(*(a + b for a, b in zip(self, other, strict=True)))


def count(expressions: Sequence[sp.Expr]) -> Operations:
    """The operations of all expressions together."""
    shared, rest = sp.cse(list(expressions))
    total = Operations()
    for expression in [*(meaning for _, meaning in shared), *rest]:
        total = total.plus(_of(expression))
    return total


def _of(x: sp.Basic) -> Operations:
    """The operations of one expression."""
    if x.is_Mul:
        above = [factor for factor in x.args if factor != -1 and not _is_below(factor)]
        below = [1 / factor for factor in x.args if _is_below(factor)]
        products = sum(max(len(factors) - 1, 0) for factors in (above, below))
        own, parts = Operations(multiplications=products, divisions=1 if below else 0), (*above, *below)
    elif _is_below(x):
        own, parts = Operations(divisions=1), (1 / x,)
    elif x.is_Pow and x.exp.is_Integer:
        # by squaring: x^5 = (x^2)^2 x
        own, parts = Operations(multiplications=int(x.exp).bit_length() + int(x.exp).bit_count() - 2), x.args[:1]
    elif isinstance(x, (sp.sin, sp.cos, sp.tan)):
        own, parts = Operations(trigonometric=1), x.args
    elif x.is_Add:
        own, parts = Operations(additions=len(x.args) - 1), x.args
    else:
        own, parts = Operations(others=1 if x.args and isinstance(x, sp.Expr) else 0), x.args
    for part in parts:
        own = own.plus(_of(part))
    return own


def _is_below(x: sp.Basic) -> bool:
    """Whether a factor stands below the line."""
    return bool(x.is_Pow and x.exp.is_number and x.exp < 0)
