"""Derivatives of large expressions along a direction, each common part once.

SymPy's own `diff` asks many questions about the signs of sums, and takes minutes where expressions share large parts.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

ZERO = sp.Integer(0)


class Differentiation:
    """The derivative along a direction: `changes` has the derivative of each symbol that changes.

    >>> x, y, v = sp.symbols("x y v")
    >>> Differentiation({x: v})(x**2 * sp.sin(y * x))
    v*x**2*y*cos(x*y) + 2*v*x*sin(x*y)
    """

    def __init__(self, changes: Mapping[sp.Symbol, sp.Expr]):
        self._known: dict[sp.Basic, sp.Expr] = dict(changes)

    def __call__(self, x: sp.Expr) -> sp.Expr:
        if x not in self._known:
            self._known[x] = self._found(x)
        return self._known[x]

    def _found(self, x: sp.Expr) -> sp.Expr:
        if not x.args:
            return ZERO
        if isinstance(x, sp.Piecewise):
            return sp.Piecewise(*((self(value), condition) for value, condition in x.args))
        parts = [(i, change) for i, part in enumerate(x.args) if (change := self(part)) != 0]
        if not parts:
            return ZERO
        if x.is_Add:
            return sp.Add(*(change for _, change in parts))
        if x.is_Mul:
            return sp.Add(*(sp.Mul(change, *x.args[:i], *x.args[i + 1 :]) for i, change in parts))
        if x.is_Pow and x.exp.is_Rational:
            return x.exp * x.base ** (x.exp - 1) * parts[0][1]
        return sp.Add(*(_partial(x, i) * change for i, change in parts))


def _partial(x: sp.Expr, i: int) -> sp.Expr:
    """The derivative of a function with respect to one of its arguments."""
    letters = [sp.Dummy(real=True) for _ in x.args]
    derivative: sp.Expr = x.func(*letters).diff(letters[i])
    return derivative.xreplace(dict(zip(letters, x.args, strict=True)))
