"""Potentials in closed form: of a gradient field, and of a closed 2-form; None where SymPy finds no integral."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from sympy.integrals.manualintegrate import manualintegrate

from momentree.symbols.identities import vanishes
from momentree.symbols.shortest import simplified

Form = Sequence[Sequence[sp.Expr]]


def potential(gradient: Sequence[sp.Expr], variables: Sequence[sp.Symbol]) -> sp.Expr | None:
    """Psi with dPsi/dx_i = g_i, found variable by variable, and proved by differentiation.

    >>> x, y = sp.symbols("x y")
    >>> potential([y * sp.cos(x), sp.sin(x)], [x, y])
    y*sin(x)
    """
    psi: sp.Expr = sp.Integer(0)
    for i, x in enumerate(variables):
        rest = simplified(gradient[i] - psi.diff(x))
        if any(not vanishes(rest.diff(y)) for y in variables[:i] if rest.has(y)):
            return None  # no gradient, or not recognised as one
        integral = antiderivative(rest, x)
        if integral is None:
            return None
        psi += integral
    if not all(vanishes(psi.diff(x) - g) for x, g in zip(variables, gradient, strict=True)):
        return None
    return _shorter(psi, variables)


def vector_potential(form: Form, variables: Sequence[sp.Symbol]) -> list[sp.Expr] | None:
    """A with F_ab = dA_a/dx_b - dA_b/dx_a for a closed antisymmetric F; the last component is zero.

    F_an = dA_a/dx_n gives A but for terms without x_n, which the other components of F give in the same way.
    """
    n = len(variables)
    A: list[sp.Expr] = [sp.Integer(0)] * n
    for last in range(n - 1, 0, -1):
        for a in range(last):
            rest = form[a][last] - (A[a].diff(variables[last]) - A[last].diff(variables[a]))
            integral = antiderivative(simplified(rest), variables[last])
            if integral is None:
                return None
            A[a] += integral
    x = variables
    pairs = ((a, b) for a in range(n) for b in range(a + 1, n))
    return A if all(vanishes(form[a][b] - A[a].diff(x[b]) + A[b].diff(x[a])) for a, b in pairs) else None


def antiderivative(f: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """An integral in closed form, or None; of cases for special parameters, the general one.

    Where it is a limit it may have other constants than a table; nothing is promised but its derivative.
    """
    total: sp.Expr = sp.Integer(0)
    for term in sp.Add.make_args(sp.expand(f)):
        inside, outside = _split(term, x)
        if inside == 1:
            total += term * x
            continue
        integral = _general(manualintegrate(inside, x))
        if integral.has(sp.Integral):
            integral = _general(sp.integrate(inside, x, meijerg=False))
        if integral.has(sp.Integral):
            return None
        total += outside * integral
    return total


def _split(term: sp.Expr, x: sp.Symbol) -> tuple[sp.Expr, sp.Expr]:
    """The factors with x, and those without."""
    outside, inside = term.as_independent(x, as_Add=False)
    return inside, outside


def _general(x: sp.Expr) -> sp.Expr:
    """The first case of each piecewise expression."""
    return x.replace(sp.Piecewise, lambda *cases: cases[0][0])


def _shorter(psi: sp.Expr, variables: Sequence[sp.Symbol]) -> sp.Expr:
    """Simplified, without a constant term."""
    short = simplified(psi)
    return sp.Add(*(term for term in sp.Add.make_args(short) if term.has(*variables)))
