"""Stability of Runge-Kutta methods on exponential decay: the largest product of decay rate and step size.

A method makes y1 = R(z) y0 of y' = lambda y, with z = lambda h and the stability function

    R(z) = 1 + z b' (E - z A)^-1 e = P(z) / Q(z) ,   Q(z) = det(E - z A)                                   (1)

e being the vector of ones (Hairer and Wanner 1996, IV.3); of an explicit method Q = 1. The real stability limit is the
largest x with |R(-s)| <= 1 for all s from 0 to x: solutions that decay with the decay rate k (1/s) stay bounded for
step sizes h with k h below it. A double real root -k, the critically damped g'' + 2 k g' + k^2 g = 0, has the same
limit: a step makes R(z) and h R'(z) of its Jordan block, whose powers decay if and only if |R(z)| < 1.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from momentree.errors import MomentreeError, choices
from momentree.integrate.methods import METHODS, named_method
from momentree.integrate.order_conditions import Array
from momentree.integrate.tableau import Tableau

ON_AXIS = 1e-9  # imaginary parts of real roots, relative to the root
BEYOND = 1e-6  # relative: where |R| is looked at, on both sides of a root of |R| = 1


def stability_function(tableau: Tableau) -> tuple[Array, Array]:
    """The coefficients of P and Q in (1), by rising powers of z."""
    s = tableau.stages
    A, b = np.zeros((s, s)), np.zeros(s)
    for i, row in enumerate(tableau.a):
        A[i, list(row)] = list(row.values())
    b[list(tableau.b)] = list(tableau.b.values())
    # R as a power series, whose product with Q ends after s powers
    series, powers = [1.0], np.ones(s)
    for _ in range(s):
        series.append(float(b @ powers))
        powers = A @ powers
    explicit = not np.triu(A).any()
    Q: Array = np.eye(1, s + 1)[0] if explicit else np.asarray(np.poly(A), dtype=np.float64)
    P: Array = np.convolve(series, Q)[: s + 1]
    return P, Q


def real_stability_limit(integrator_name: str) -> float:
    """The largest decay rate times step size with which an integrator stays bounded; infinite if all are allowed."""
    tableau = named_method(integrator_name).tableau
    if tableau is None:
        known = [name for name, method in METHODS.items() if method.tableau is not None]
        message = f"integrator '{integrator_name}' is no Runge-Kutta method, and has no stability function"
        raise MomentreeError(f"{message}. Choose {choices(known)}.")
    return _limit(integrator_name, *map(tuple, stability_function(tableau)))


@functools.cache
def _limit(name: str, P: tuple[float, ...], Q: tuple[float, ...]) -> float:
    """The first s > 0 where |R(-s)| begins to exceed 1."""
    signs = (-1.0) ** np.arange(len(P))
    above, below = np.array(P) * signs, np.array(Q) * signs
    candidates = {s for sum_of in (above - below, above + below) for s in _positive_roots(sum_of)}
    for s in sorted(candidates):
        beyond = s * (1 + BEYOND)
        if abs(np.polynomial.polynomial.polyval(beyond, above)) > abs(np.polynomial.polynomial.polyval(beyond, below)):
            return s
    return math.inf


def _positive_roots(coefficients: Array) -> list[float]:
    """The positive roots of a polynomial by rising powers; powers that vanish but for round-off are none."""
    significant = np.abs(coefficients) > 1e-14 * np.abs(coefficients).max()
    roots = np.polynomial.polynomial.polyroots(np.trim_zeros(np.where(significant, coefficients, 0.0)))
    return [float(root.real) for root in roots if root.real > 0 and abs(root.imag) <= ON_AXIS * abs(root)]
