"""An ansatz for a potential Psi(q): monomials of lines, sines and cosines of angles, their products, angles themselves.

A coordinate without a period is a line, one with a period an angle. An angle itself is multivalued, but its gradient is
not: only the gradient matters. The terms are expressions, so that their derivatives are exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.model.expressions.expression import ONE, ZERO, Expression, Reference, as_expression

Array = NDArray[np.float64]
MOST_TERMS = 400
WHOLE = 1e-12  # of a frequency: what a tidy one may differ from a whole number


@dataclass(frozen=True)
class PotentialAnsatz:
    """Psi = sum of c_k psi_k.

    | field       | meaning          |
    |-------------|------------------|
    | coordinates | names of q       |
    | terms       | psi_k            |
    | gradients   | dpsi_k/dq^i      |
    """

    coordinates: tuple[str, ...]
    terms: tuple[Expression, ...]
    gradients: tuple[tuple[Expression, ...], ...]

    @classmethod
    def of(
        cls,
        coordinates: Sequence[str],
        periods: Mapping[str, float] | None = None,
        degree: int = 2,
        harmonics: int = 2,
        multivalued: bool = True,
    ) -> PotentialAnsatz:
        """Products of monomials up to a degree and of harmonics up to an order; the angles themselves, if multivalued.

        The degree is that of all lines together, the order that of all angles together.
        """
        _check_order("degree", degree)
        _check_order("harmonics", harmonics)
        periods = periods or {}
        lines = [name for name in coordinates if name not in periods]
        monomials = _monomials(lines, degree)
        waves = _waves({name: periods[name] for name in coordinates if name in periods}, harmonics)
        if len(monomials) * len(waves) > MOST_TERMS:
            message = f"rayleigh: the ansatz has {len(monomials) * len(waves)} terms, more than {MOST_TERMS}"
            raise MomentreeError(f"{message}. Give a lower degree= ({degree}) or fewer harmonics= ({harmonics}).")
        products = [monomial * wave for monomial in monomials for wave in waves][1:]  # all but the constant
        angles = [as_expression(Reference(name)) for name in coordinates if name in periods] if multivalued else []
        if not angles and not products:
            message = "rayleigh: the ansatz for Psi has no terms"
            raise MomentreeError(f"{message}. Give degree= of at least 1, or harmonics= of at least 1 for angles.")
        terms, names = tuple(angles + products), [Reference(name) for name in coordinates]
        return cls(tuple(coordinates), terms, tuple(tuple(term.derivative(name) for name in names) for term in terms))

    def slopes(self, q: Array) -> Array:
        """The gradients as numbers (k, terms, n) at q (k, n)."""
        at = {Reference(name): q[:, i] for i, name in enumerate(self.coordinates)}
        values = np.zeros((len(q), len(self.terms), len(self.coordinates)))
        for k, row in enumerate(self.gradients):
            for i, part in enumerate(row):
                if part.value != 0:
                    values[:, k, i] = part.evaluate(at)
        return values

    def potential(self, coefficients: Array) -> Expression:
        """The sum of terms with these coefficients; those that are 0 are left out."""
        total = ZERO
        for coefficient, term in zip(coefficients.tolist(), self.terms, strict=True):
            first = total.value == 0
            part = _times(coefficient if first else abs(coefficient), term)
            total = total + part if first or coefficient >= 0 else total - part
        return total

    def kept(self, which: Sequence[int] | NDArray[np.intp]) -> PotentialAnsatz:
        """The ansatz with some of its terms."""
        return PotentialAnsatz(
            self.coordinates, tuple(self.terms[k] for k in which), tuple(self.gradients[k] for k in which)
        )


def _times(coefficient: float, term: Expression) -> Expression:
    """The product, read from the left: 2*x*sin(phi), not 2*(x*sin(phi))."""
    factors = [term]
    while factors[0].op == "*":
        factors[:1] = factors[0].args
    if coefficient == -1:
        return math.prod(factors[1:], start=-factors[0])
    return math.prod(factors, start=as_expression(coefficient))


def _check_order(what: str, given: int) -> None:
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 0:
        raise MomentreeError(f"rayleigh: {what} is {given!r}. Give a whole number, 0 or more.")


def _monomials(lines: Sequence[str], degree: int) -> list[Expression]:
    """1, x, y, x^2, x*y, y^2, ...: by rising degree."""
    found = [ONE]
    for total in range(1, (degree if lines else 0) + 1):
        for chosen in itertools.combinations_with_replacement(lines, total):
            powers = [(name, chosen.count(name)) for name in dict.fromkeys(chosen)]
            factors = [as_expression(Reference(name)) ** power for name, power in powers]
            found.append(math.prod(factors, start=ONE))
    return found


def _waves(periods: Mapping[str, float], harmonics: int) -> list[Expression]:
    """1, sin(phi), cos(phi), sin(2*phi), ..., sin(phi)*cos(psi), ...: of all angles together up to an order."""
    found = []
    for orders in itertools.product(range(harmonics + 1), repeat=len(periods)):
        if sum(orders) > harmonics:
            continue
        choices = [_wave(name, periods[name], order) for name, order in zip(periods, orders, strict=True)]
        found += [(sum(orders), math.prod(factors, start=ONE)) for factors in itertools.product(*choices)]
    return [wave for _, wave in sorted(found, key=lambda pair: pair[0])]


def _wave(name: str, period: float, order: int) -> list[Expression]:
    if order == 0:
        return [ONE]
    frequency = 2 * math.pi * order / period
    if abs(frequency - round(frequency)) < WHOLE * frequency:
        frequency = float(round(frequency))
    phase = frequency * as_expression(Reference(name))
    return [phase.sin(), phase.cos()]
