"""The shortest form of a polynomial, found by a search of the usual forms.

Tried are: squares of sines or of cosines eliminated; sines and cosines of sums of angles; absolute angles of parallel
axes; factors; terms gathered by inertias, by sines and cosines, or by whatever many of them share. The form that costs
least ink wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import gcd, lcm
from operator import sub
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement, PolyRing, ring

from momentree.symbols.names import number_text
from momentree.symbols.trigonometry import Trigonometry, Turn

FEW_TERMS = 8  # up to which more forms are tried
MANY_TERMS = 24  # above which only quick ones are tried
FAR_TOO_MANY_TERMS = 100  # above which terms are only gathered
BRACKETS = 0.75  # ink
MOST_TRIED = 300_000  # terms times letters for which all forms are tried; from then on only quick ones are
MOST_TERMS = 3000  # of all polynomials together; where there are more, only quick forms are tried
LAST_DIGIT = 10**14  # denominators from which numbers are floats
Letters = Mapping[sp.Symbol, sp.Expr]


@lru_cache(100_000)
def ink(x: sp.Expr) -> float:
    """What it costs to write an expression: about one for each letter."""
    return _ink(x, ink)


def _ink(x: sp.Expr, of: Callable[[sp.Expr], float]) -> float:
    """The same, where `of` knows what the parts of the expression cost."""
    if x.is_Number:
        return 0.5 + 0.25 * len(number_text(abs(x)))
    if x.is_Add:
        return sum(map(of, x.args)) + 0.5 * (len(x.args) - 1)
    if x.is_Mul:
        total: float = sum(of(factor) + BRACKETS * factor.is_Add for factor in x.args if factor != -1)
        return total
    if x.is_Pow:
        power: float = of(x.base) + 0.5 + BRACKETS * x.base.is_Add
        return power
    return 0.5 + sum(map(of, x.args)) if x.args else 1


class Shortest:
    """The shortest forms of polynomials of one `Trigonometry`; `inertial` are masses and moments of inertia.

    Several searches may share one `effort`.
    """

    def __init__(self, trigonometry: Trigonometry, inertial: Collection[sp.Symbol] = (), effort: Effort | None = None):
        self.trigonometry = trigonometry
        self.inertial = [symbol for symbol in trigonometry.ring.symbols if symbol in set(inertial)]
        self._forms: dict[PolyElement, sp.Expr] = {}
        self._effort = effort or Effort()
        if sum(map(len, trigonometry.polynomials)) > MOST_TERMS:
            self._effort.tried += MOST_TRIED

    def __call__(self, p: PolyElement) -> sp.Expr:
        if p not in self._forms and self._effort.spent:
            self._forms[p] = self._relative.write(p) if p else sp.Integer(0)
        if p not in self._forms:
            # by inertias first: of two forms that are equally short, this one shows the bodies
            parts = gathered(p, self.inertial)
            forms = [sp.Add(*(self.as_a_whole(part, monomial) for monomial, part in parts)), self.as_a_whole(p)]
            self._forms[p] = min(forms, key=ink)
        return self._forms[p]

    def as_a_whole(self, p: PolyElement, factor: sp.Expr = sp.S.One) -> sp.Expr:
        """The shortest form of the trigonometry of p, times a factor."""
        if not p:
            return sp.Integer(0)
        return min((factor * form for form in self._candidates(p, factor != 1)), key=ink)

    def _candidates(self, p: PolyElement, as_factor: bool) -> Iterator[sp.Expr]:
        trigonometry = self.trigonometry
        for form in self._without_squares(p):
            yield self._relative.write(form, as_factor)
        if len(p) > FAR_TOO_MANY_TERMS or self._effort.spent:
            return
        if not any(used(p, pair) for pair in trigonometry.angles.values()):
            return
        absolute = trigonometry.absolute(p)
        if absolute != p:
            for form in self._without_squares(absolute):
                yield self._absolute.write(form, as_factor)
        functions = trigonometry.harmonics(p)
        new = {sp.Dummy("h"): function for function in functions}
        letters = {**trigonometry.letters, **new}
        extended = ring([*letters], sp.QQ)[0]
        terms = zip(new, functions.values(), strict=True)
        summed = sum((extended(letter) * factor.set_ring(extended) for letter, factor in terms), extended.zero)
        yield Arrangement(letters, [*new], self.inertial, self._effort).write(summed, as_factor)

    @cached_property
    def _relative(self) -> Arrangement:
        return self._arrangement(self.trigonometry.letters)

    @cached_property
    def _absolute(self) -> Arrangement:
        return self._arrangement(self.trigonometry.absolute_letters())

    def _arrangement(self, letters: Letters) -> Arrangement:
        functions = [letter for pair in self.trigonometry.angles.values() for letter in pair]
        return Arrangement(letters, functions, self.inertial, self._effort)

    def _without_squares(self, p: PolyElement) -> list[PolyElement]:
        """p with squares of sines or of cosines eliminated, angle by angle: the two forms with fewest terms."""
        forms = [p]
        for angle, (_, cosine) in self.trigonometry.angles.items():
            if used(p, [cosine]):
                by_sines = self.trigonometry.normal
                changed = [self.trigonometry.uncancelled(by_sines(form, {angle: "cos"}), form) for form in forms]
                forms = sorted(dict.fromkeys([*forms, *changed]), key=len)[:2]
        return forms


class Effort:
    """How much has been tried so far: large mechanisms get equations that are less short, instead of none."""

    def __init__(self) -> None:
        self.tried = 0

    @property
    def spent(self) -> bool:
        """Whether it is enough."""
        return self.tried >= MOST_TRIED


class Arrangement:
    """How the terms of a polynomial are put together, once its letters are chosen."""

    def __init__(
        self, letters: Letters, functions: Collection[sp.Symbol], inertial: Collection[sp.Symbol], effort: Effort
    ):
        self.letters, self.effort = letters, effort
        self.sets = [group for group in (functions, inertial) if group]
        self._forms: dict[tuple[PolyElement, bool], sp.Expr] = {}
        self._inks = {letter: ink(meaning) for letter, meaning in letters.items()}

    def write(self, p: PolyElement, as_factor: bool = False) -> sp.Expr:
        """The shortest arrangement, in what the letters stand for; a sum that is a factor needs brackets."""
        return self._shortest(p, as_factor).xreplace(self.letters)

    def _shortest(self, p: PolyElement, as_factor: bool = True) -> sp.Expr:
        if (p, as_factor) not in self._forms:
            self._forms[p, as_factor] = min(
                self._candidates(p), key=lambda x: self._ink(x) + BRACKETS * (as_factor and x.is_Add)
            )
        return self._forms[p, as_factor]

    def _ink(self, x: sp.Expr) -> float:
        """The ink of an expression in letters, each as long as what it stands for."""
        if x not in self._inks:
            self._inks[x] = _ink(x, self._ink)
        return self._inks[x]

    def _candidates(self, p: PolyElement) -> Iterator[sp.Expr]:
        self.effort.tried += len(p) * p.ring.ngens
        few = len(p) <= MANY_TERMS and not self.effort.spent
        yield p.as_expr()
        if len(p) < 2:
            return
        number, outside, inside = common_factor(p)
        if number != 1:
            yield sp.S(number) * outside * self._shortest(inside)
        if outside != 1:
            yield outside * self._shortest(inside.mul_ground(number))
            return
        if few:
            yield from self._factors(p)
        for group in self.sets[: 1 if self.effort.spent else None]:
            parts = gathered(p, group)
            if 1 < len(parts) < len(p):
                yield sp.Add(*(monomial * self._shortest(part, monomial != 1) for monomial, part in parts))
        if few:
            yield from self._by_one_letter(p)

    def _factors(self, p: PolyElement) -> Iterator[sp.Expr]:
        factors = factors_of(p)
        if len(factors) > 1:
            yield sp.Mul(*map(self._shortest, factors))

    def _by_one_letter(self, p: PolyElement) -> Iterator[sp.Expr]:
        """p = x p1 + p0, for the letters x that most terms have."""
        count = {i: sum(1 for monomial in p if monomial[i]) for i in range(p.ring.ngens)}
        often = sorted((i for i, n in count.items() if 1 < n < len(p)), key=lambda i: -count[i])
        for i in often[: 2 if len(p) <= FEW_TERMS else 1]:
            p1 = p.ring.from_dict({(*m[:i], m[i] - 1, *m[i + 1 :]): c for m, c in p.items() if m[i]})
            p0 = p.ring.from_dict({m: c for m, c in p.items() if not m[i]})
            yield p.ring.symbols[i] * self._shortest(p1) + self._shortest(p0, as_factor=False)


def used(p: PolyElement, symbols: Iterable[sp.Symbol]) -> bool:
    """Whether a polynomial depends on one of the symbols."""
    indices = [_indices(p.ring)[symbol] for symbol in symbols]
    return any(monomial[i] for monomial in p for i in indices)


def common_factor(p: PolyElement) -> tuple[Any, sp.Expr, PolyElement]:
    """The number and the letters that all terms share, and the rest, whose first number is positive."""
    powers = tuple(map(min, zip(*p, strict=True)))
    number = content_of(p)
    rest = {tuple(map(sub, m, powers)): c / number for m, c in p.items()}
    return number, p.ring.from_dict({powers: sp.QQ(1)}).as_expr(), p.ring.from_dict(rest)


@lru_cache(10_000)
def factors_of(p: PolyElement) -> tuple[PolyElement, ...]:
    """The factors of a polynomial whose terms share no letter; repeated ones come again.

    Where p = x p1 + p0 has a letter x to the first power only, as masses are, x is in one factor and any other
    divides both p1 and p0. That saves the general factorisation nearly always.
    """
    for i in range(p.ring.ngens):
        with_x = {m: c for m, c in p.items() if m[i]}
        if not with_x or any(m[i] > 1 for m in with_x):
            continue
        if len(with_x) == 1 or len(p) - len(with_x) == 1:
            return (p,)
        p1 = p.ring.from_dict({(*m[:i], 0, *m[i + 1 :]): c for m, c in with_x.items()})
        p0 = p.ring.from_dict({m: c for m, c in p.items() if not m[i]})
        shared = p1.gcd(p0)
        shared = shared.quo_ground(content_of(shared))
        return (p,) if shared.is_ground else (*factors_of(shared), p.quo(shared))
    content, factors = p.factor_list()
    if len(factors) == 1 and factors[0][1] == 1:
        return (p,)
    return (p.ring(content), *(factor for factor, power in factors for _ in range(power)))


def content_of(p: PolyElement) -> Any:
    """The greatest number that divides all coefficients, with the sign of the first; of floats, just the sign."""
    numbers = list(p.values())
    below = lcm(*(int(c.denominator) for c in numbers))
    content = sp.QQ(gcd(*(int(c.numerator) for c in numbers)), below) if below < LAST_DIGIT else sp.QQ(1)
    return content if p.LC > 0 else -content


@lru_cache(100)
def _indices(letters: PolyRing) -> dict[sp.Symbol, int]:
    return {symbol: i for i, symbol in enumerate(letters.symbols)}


def gathered(p: PolyElement, symbols: Iterable[sp.Symbol]) -> list[tuple[sp.Expr, PolyElement]]:
    """p as a sum of monomials in some letters, each with its factor in the others."""
    indices = [_indices(p.ring)[symbol] for symbol in symbols]
    factors: defaultdict[tuple[int, ...], dict[Any, Any]] = defaultdict(dict)
    for monomial, coefficient in p.terms():
        own, rest = [0] * p.ring.ngens, list(monomial)
        for i in indices:
            own[i], rest[i] = monomial[i], 0
        factors[tuple(own)][tuple(rest)] = coefficient
    make: Callable[[Any], PolyElement] = p.ring.from_dict
    return [(make({own: sp.QQ(1)}).as_expr(), make(part)) for own, part in factors.items()]


def simplified(
    x: sp.Expr,
    carried: Mapping[sp.Symbol, Turn] | None = None,
    quaternions: Sequence[Sequence[sp.Symbol]] = (),
    effort: Effort | None = None,
) -> sp.Expr:
    """An expression by itself, as short as can be.

    >>> a, b, r = sp.symbols("a b r")
    >>> simplified(r * sp.sin(a) * sp.cos(b) + r * sp.cos(a) * sp.sin(b))
    r*sin(a + b)
    """
    trigonometry = Trigonometry([x], carried, lambda inside: simplified(inside, carried), quaternions)
    return Shortest(trigonometry, effort=effort)(trigonometry.polynomials[0])
