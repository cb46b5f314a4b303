"""The operators, functions and constants of expressions: what each computes, its arity and how tightly it binds.

The functions themselves, on any scalar, are FUNCTIONS of spatial/scalar.py; their derivatives are in derivative.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from momentree.model.expressions.lookup import Lookup
from momentree.model.expressions.references import CONSTANTS as CONSTANTS
from momentree.spatial.scalar import FUNCTIONS


def _power(x: Any, y: Any) -> Any:
    real = isinstance(x, (int, float)) and isinstance(y, (int, float))
    return math.pow(x, y) if real else x**y  # Python would go complex: (-8.0)**(1/3)


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": _power,
    "negate": operator.neg,
}
BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "^": 4}  # -x*y is (-x)*y, but -x^y is -(x^y)
ARITY = {
    **dict.fromkeys([*OPERATORS, *FUNCTIONS], 1),
    **dict.fromkeys(["+", "-", "*", "/", "^", "atan2", "min", "max"], 2),
    "select": 3,
}


def arity(op: str | Lookup) -> int:
    """The number of parts of an operation; 0 of a number or a reference."""
    return 1 if isinstance(op, Lookup) else ARITY.get(op, 0)
