"""Whether expressions vanish identically: proved by normal forms, or tried at random points in many digits.

A sum of sines, cosines and rational functions has a normal form, which is zero if and only if the sum is. Of anything
else a vanishing value at random points in 50 digits is no proof; whoever uses it has to say so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from momentree.errors import MomentreeError
from momentree.symbols.scalars import exact
from momentree.symbols.trigonometry import Trigonometry

DIGITS = 50  # of values at random points
KEPT = 1e-6  # relative change with more digits up to which a value is one, and not round-off
IMAGINARY = 1e-35  # relative size of imaginary parts that are round-off
LARGEST_PROOF = 5000  # operations of an expression up to which a proof is tried
LARGEST_QUOTIENT = 1500  # the same for expressions with denominators
DENOMINATORS = (3, 7, 11, 13)  # of random values
SIZES = (1, 3, 10)  # largest random values
ATTEMPTS = 40  # random points that are tried for each one that is wanted

Value = tuple[sp.Rational, ...]
Undefined = (AppliedUndef, sp.Derivative, sp.Subs, sp.Integral)


def with_exact_numbers(x: sp.Expr) -> tuple[sp.Expr, bool]:
    """An expression with fractions instead of floats, and whether each float stood for an exact number."""
    numbers = {number: exact(float(number)) for number in x.atoms(sp.Float)}
    known = not any(number.is_Float for number in numbers.values())
    return x.xreplace({old: sp.Rational(new) if new.is_Float else new for old, new in numbers.items()}), known


def vanishes(x: sp.Expr) -> bool:
    """Whether x is proved to be zero; False says nothing."""
    if x.is_zero:
        return True
    x = x.replace(sp.tan, lambda a: sp.sin(a) / sp.cos(a))
    for function in (sp.sinh, sp.cosh, sp.tanh):
        x = x.replace(function, lambda a, function=function: function(a).rewrite(sp.exp))
    operations = x.count_ops()
    if operations > LARGEST_PROOF:
        return False
    if x.has(*Undefined):
        return bool(sp.expand(x.doit()) == 0)
    if not Trigonometry([x]).polynomials[0]:
        return True
    if operations > LARGEST_QUOTIENT:
        return False
    above, _ = sp.fraction(sp.together(sp.expand(x)))
    return not Trigonometry([above]).polynomials[0]


@dataclass(frozen=True)
class RandomPoints:
    """Points at which expressions are evaluated: a rational value for each symbol."""

    symbols: tuple[sp.Symbol, ...]
    values: tuple[Value, ...]

    @classmethod
    def where_real(
        cls, symbols: Sequence[sp.Symbol], expressions: Sequence[sp.Expr], count: int, seed: int
    ) -> RandomPoints:
        """Random points where all expressions are finite and real."""
        chosen = random.Random(seed)
        evaluate = evaluator(symbols, expressions)
        values: list[Value] = []
        for attempt in range(ATTEMPTS * count):
            value = tuple(_random_value(symbol, chosen, SIZES[attempt % len(SIZES)]) for symbol in symbols)
            if evaluate(value) is not None:
                values.append(value)
                if len(values) == count:
                    break
        if not values:
            names = ", ".join(symbol.name for symbol in symbols)
            raise MomentreeError(
                f"the equations are not real and finite at any of {ATTEMPTS * count} random points of {names}."
            )
        return cls(tuple(symbols), tuple(values))

    def sums(self, terms: Sequence[sp.Expr]) -> list[tuple[Value, float, float]]:
        """Where the terms are finite and real: the point, their sum (0 if it is round-off), the sum of their sizes."""
        evaluate, found = evaluator(self.symbols, terms), []
        for point in self.values:
            numbers = evaluate(point)
            if numbers is not None:
                total, size = _total(numbers), float(sum(map(abs, numbers)))
                # a number keeps its digits where more are computed, round-off does not
                again = evaluate(point, 2 * DIGITS) if total != 0 else None
                real = again is not None and abs(total - _total(again)) <= KEPT * abs(total)
                found.append((point, float(total) if real else 0.0, size))
        if not found:
            raise MomentreeError(
                f"a derivative of the equations is not real and finite at any of {len(self.values)} random points: "
                f"{_shortened(sp.Add(*terms))}."
            )
        return found


def evaluator(symbols: Sequence[sp.Symbol], expressions: Sequence[sp.Expr]) -> Callable[..., list[Any] | None]:
    """A function that gives values of expressions at a point in 50 digits, or None where one is not finite and real."""
    import mpmath

    # impulses at kinks of |x| and sign(x) have no extent
    smooth = [x.replace(sp.DiracDelta, lambda *_: sp.Integer(0)) for x in expressions]
    undefined = {atom for x in smooth for atom in x.atoms(*Undefined)}
    if undefined:
        raise MomentreeError(
            f"'{min(map(str, undefined))}' has no value at a point, and no proof was found without one. "
            "Give a formula instead of an undefined function."
        )
    function = sp.lambdify(list(symbols), smooth, modules="mpmath", cse=True)

    def evaluate(point: Sequence[sp.Rational], digits: int = DIGITS) -> list[Any] | None:
        with mpmath.workdps(digits):
            try:
                numbers = [mpmath.mpmathify(x) for x in function(*(mpmath.mpf(x.p) / x.q for x in point))]
            except (ArithmeticError, ValueError, TypeError):
                return None
            except NameError as missing:
                raise MomentreeError(f"'{missing.name}' cannot be evaluated at a point.") from None
            finite = all(mpmath.isfinite(x) for x in numbers)
            if not finite or any(abs(mpmath.im(x)) > IMAGINARY * abs(x) for x in numbers):
                return None
            return [mpmath.re(x) for x in numbers]

    return evaluate


def _total(numbers: Sequence[Any]) -> Any:
    import mpmath

    with mpmath.workdps(2 * DIGITS):
        return sum(numbers)


def _random_value(symbol: sp.Symbol, chosen: random.Random, size: int) -> sp.Rational:
    """A value that the assumptions of a symbol allow; never zero."""
    below = 1 if symbol.is_integer else chosen.choice(DENOMINATORS)
    value = sp.Rational(chosen.randint(1, size * below), below)
    if symbol.is_positive or symbol.is_nonnegative:
        return value
    return -value if symbol.is_negative or chosen.random() < 0.5 else value


def _shortened(x: sp.Expr, most: int = 80) -> str:
    text = str(x)
    return text if len(text) <= most else f"{text[:most]}..."
