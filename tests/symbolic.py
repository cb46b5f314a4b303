"""Mechanisms in exact SymPy scalars, and proofs that a trigonometric expression is identically zero."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from operator import add, mul
from typing import NamedTuple

import sympy

from momentree.model.expressions.expression import Expression, Reference
from momentree.spatial.scalar import FUNCTIONS
from momentree.structure.mechanism import Laws, Mechanism


def rational(x):
    """The fraction that a decimal number was written for."""
    return sympy.nsimplify(x, rational=True)


EXACT = {**FUNCTIONS, "number": rational}


class Exact(NamedTuple):
    """A law whose numbers are fractions."""

    law: Expression

    def evaluate(self, values):
        return self.law.evaluate(values, EXACT)


def symbolic(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with fractions for floats, also in motion laws, and a symbol for each free parameter."""
    named = {Reference(name): sympy.Symbol(name) for name in mechanism.free}
    mapped = mechanism.mapped(lambda x: x.evaluate(named, EXACT) if isinstance(x, Expression) else rational(x))
    bodies = tuple(replace(body, laws=_exact(body.laws)) for body in mapped.bodies)
    return replace(mapped, bodies=bodies, ground=_exact(mapped.ground))


def _exact(laws: Laws | None) -> Laws | None:
    return None if laws is None else Laws(*(tuple(map(Exact, level)) for level in laws))


def state(n: int):
    """Symbols q1 ..., qd1 ..., qdd1 ... of n coordinates, and t."""
    return *(sympy.symbols(f"{letter}1:{n + 1}") for letter in ("q", "qd", "qdd")), sympy.Symbol("t")


def time_derivative(expression, q, qd, qdd, t):
    """d/dt of a function of q, q' and t, by the chain rule."""
    changes = zip((*q, *qd, t), (*qd, *qdd, 1), strict=True)
    return sum((sympy.diff(expression, x) * dx for x, dx in changes), sympy.Integer(0))


def lagrange(kinetic, q, qd, qdd, t):
    """d/dt (dT/dq') - dT/dq for each coordinate."""
    rows = zip(q, qd, strict=True)
    return [time_derivative(sympy.diff(kinetic, v), q, qd, qdd, t) - sympy.diff(kinetic, x) for x, v in rows]


def is_zero(expression) -> bool:
    """Whether a polynomial in symbols and in sines and cosines is identically zero: a proof, not a sample.

    Sines and cosines of x, x/2, 2 x ... are polynomials in s and c of the smallest part of x that occurs; with s^2 put
    to 1 - c^2 each function has one normal form, and zero is written 0.
    """
    expression = sympy.sympify(expression)
    assert not expression.atoms(sympy.Float)
    circles, symbols = _circles(expression), expression.free_symbols
    n = len(circles)
    ring, *generators = sympy.ring([f"x{i}" for i in range(2 * n + len(symbols))], sympy.QQ)
    sines, cosines = generators[:n], generators[n : 2 * n]  # sines first, so that division takes their squares
    known = dict(zip(symbols, generators[2 * n :], strict=True))
    for (x, highest), s, c in zip(circles.items(), sines, cosines, strict=True):
        sine, cosine = s, c
        for k in range(1, highest + 1):
            known[sympy.sin(k * x)], known[sympy.cos(k * x)] = sine, cosine
            sine, cosine = sine * c + cosine * s, cosine * c - sine * s
    squares = [s**2 + c**2 - 1 for s, c in zip(sines, cosines, strict=True)]
    return _polynomial(expression, ring, known).rem(squares) == 0


def _circles(expression) -> dict:
    """The angles x whose sine and cosine are enough, and the highest multiple k x that occurs."""
    found: dict = {}
    for function in expression.atoms(sympy.sin, sympy.cos):
        factor, symbol = function.args[0].as_coeff_Mul()
        found.setdefault(symbol, []).append(factor)
    circles = {}
    for symbol, factors in found.items():
        part = math.lcm(*(int(factor.q) for factor in factors))
        circles[symbol / part] = int(max(factors) * part)
    return circles


def _polynomial(expression, ring, known: dict):
    """An expression as an element of a ring; parts that occur several times are computed once."""
    if expression not in known:
        if expression.is_Rational:
            known[expression] = ring(sympy.QQ(expression.p, expression.q))
        elif expression.is_Pow:
            known[expression] = _polynomial(expression.base, ring, known) ** int(expression.exp)
        else:
            parts = [_polynomial(part, ring, known) for part in expression.args]
            known[expression] = reduce(mul if expression.is_Mul else add, parts)
    return known[expression]
