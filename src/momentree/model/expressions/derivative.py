"""Derivatives of expressions: one rule for each operator and function."""

from __future__ import annotations

from collections.abc import Callable

from momentree.errors import ExpressionError
from momentree.model.expressions.expression import ZERO, Expression, fold
from momentree.model.expressions.lookup import Lookup

# df/dx of f(x), from x and f
_SLOPES: dict[str, Callable[[Expression, Expression], Expression]] = {
    "sin": lambda x, f: x.cos(),
    "cos": lambda x, f: -x.sin(),
    "tan": lambda x, f: 1 + f**2,
    "asin": lambda x, f: 1 / (1 - x**2).sqrt(),
    "acos": lambda x, f: -1 / (1 - x**2).sqrt(),
    "atan": lambda x, f: 1 / (1 + x**2),
    "sinh": lambda x, f: x.cosh(),
    "cosh": lambda x, f: x.sinh(),
    "tanh": lambda x, f: 1 - f**2,
    "exp": lambda x, f: f,
    "log": lambda x, f: 1 / x,
    "sqrt": lambda x, f: 1 / (2 * f),
    "abs": lambda x, f: x.sign(),
    "sign": lambda x, f: ZERO,
}


def differential(f: Expression, d: list[Expression]) -> Expression:
    """The derivative of a node from those of its parts (chain rule)."""
    if all(slope.value == 0 for slope in d):
        return ZERO
    if isinstance(f.op, Lookup):
        return fold(f.op.derivative(), f.args[0]) * d[0]
    if f.op in _SLOPES:
        return _SLOPES[f.op](f.args[0], f) * d[0]
    if f.op == "negate":
        return -d[0]
    if f.op == "select":
        condition: Expression = f.args[0]
        return condition.select(d[1], d[2])
    a: Expression
    b: Expression
    (a, b), (da, db) = f.args, d
    match f.op:
        case "+":
            return da + db
        case "-":
            return da - db
        case "*":
            return da * b + a * db
        case "/":
            return (da - f * db) / b
        case "atan2":
            return (b * da - a * db) / (a**2 + b**2)
        case "min":
            return (b - a).select(da, db)
        case "max":
            return (a - b).select(da, db)
    # x^y; the logarithm only where the exponent changes
    by_base = b * a ** (b - 1) * da
    if db.value == 0:
        return by_base
    if a.value is not None and a.value <= 0:
        raise ExpressionError(f"'{f._brief()}' has no derivative: the base of a variable power must be positive")
    return by_base + f * a.log() * db


def switching_arguments(f: Expression) -> list[Expression]:
    """The expressions at whose zeros an expression has kinks or jumps: those in abs, sign, min, max and select."""
    found: dict[Expression, None] = {}
    for node in f._parts_first():
        if node.op in ("abs", "sign", "select"):
            found[node.args[0]] = None
        elif node.op in ("min", "max"):
            found[node.args[0] - node.args[1]] = None
    return list(found)
