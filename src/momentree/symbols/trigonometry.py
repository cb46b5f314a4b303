"""Polynomials in parameters, coordinates, velocities and the sines and cosines of angles, where sin^2 + cos^2 = 1.

The components of a quaternion, if it is told which they are, have a sum of squares of 1 as well.

Everything that mechanics derives for a tree is such a polynomial, and two of them are the same function if and only if
their normal forms are equal. What is no polynomial (roots, reciprocals, functions of laws) takes part as a letter.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any, NamedTuple

import sympy as sp
from sympy.polys.rings import PolyElement, ring

from momentree.errors import MomentreeError
from momentree.symbols.scalars import exact

MOST_PRODUCTS = 400_000  # of terms, to multiply out all expressions
ROUND_OFF = 1e-12  # of the largest term of an equation: terms below are the round-off of floats
SIMPLE, AS_GOOD_AS = 12, Fraction(1, 10**13)  # largest denominator of fractions that floats may nearly be; how nearly
LARGEST_MULTIPLE = 3  # of an angle that is written by its sine and cosine
Turn = tuple[sp.Symbol, int]  # an angle is measured from another one: which, and in which sense


class Scales(NamedTuple):
    """What round-off is measured by.

    | field   | meaning                                                                     |
    |---------|-----------------------------------------------------------------------------|
    | groups  | of each expression: those of one equation are as large as its largest term  |
    | typical | sizes of symbols, 1 where there is none                                     |
    """

    groups: Sequence[Hashable]
    typical: Mapping[sp.Symbol, float]


class TooManyTerms(MomentreeError):
    """Expressions that are too large to be multiplied out."""


class Trigonometry:
    """The polynomials of a set of expressions.

    | field       | meaning                                                                       |
    |-------------|-------------------------------------------------------------------------------|
    | ring        | the ring of all letters; `letters` says what each of its symbols stands for   |
    | angles      | angle -> the symbols of its sine and cosine                                   |
    | carried     | angle -> the angle of a parallel axis that carries it, and the sense (+1, -1) |
    | quaternions | components (x, y, z, w) of unit quaternions                                   |
    """

    def __init__(
        self,
        expressions: Iterable[sp.Expr],
        carried: Mapping[sp.Symbol, Turn] | None = None,
        inside: Callable[[sp.Expr], sp.Expr] = sp.expand,
        quaternions: Sequence[Sequence[sp.Symbol]] = (),
        scales: Scales | None = None,
    ):
        self.carried = dict(carried or {})
        self.quaternions = quaternions
        self.inside = inside  # how to simplify what stands inside a root or function
        self.letters: dict[sp.Symbol, sp.Expr] = {}
        self.angles: dict[sp.Expr, tuple[sp.Symbol, sp.Symbol]] = {}
        self._known: dict[sp.Expr, sp.Symbol] = {}
        self._roots: dict[sp.Symbol, int] = {}
        self._inverses: list[tuple[sp.Symbol, sp.Symbol]] = []
        self._inexact = False
        self._products = 0
        self._written: dict[sp.Expr, sp.Expr] = {}
        expressions = list(expressions)
        self._under_roots = _under_roots(expressions)
        plain = [self._in_letters(expression) for expression in expressions]
        # in an order that does not depend on how the expressions were derived
        self.letters = dict(sorted(self.letters.items(), key=lambda pair: (not pair[1].is_Symbol, str(pair[1]))))
        self.angles = dict(sorted(self.angles.items(), key=lambda pair: str(pair[0])))
        self.ring = ring([*self.letters] or [sp.Dummy("x")], sp.QQ)[0]
        self._index = {symbol: i for i, symbol in enumerate(self.ring.symbols)}
        self._done: dict[sp.Expr, PolyElement] = {}
        self.polynomials = self._tidied([self._polynomial(expression) for expression in plain], scales)

    # --- from expressions to letters -------------------------------------------------------------------------------

    def _in_letters(self, x: sp.Expr) -> sp.Expr:
        """The expression in sums, products and powers of letters."""
        if x not in self._written:
            self._written[x] = self._lettered(x)
        return self._written[x]

    def _lettered(self, x: sp.Expr) -> sp.Expr:
        if x.is_Symbol:
            return self.letters.setdefault(x, x)
        if x.is_Rational:
            return x
        if x.is_Float:
            number = exact(float(x), 0.0)  # small ones and round-off differ by what they stand beside
            self._inexact = self._inexact or number.is_Float
            return sp.Rational(str(x)) if number.is_Float else self._in_letters(number)
        if x.is_Add or x.is_Mul:
            return x.func(*map(self._in_letters, x.args))
        if x.is_Pow and x.exp.is_Integer and x.exp > 0:
            return self._in_letters(x.base) ** x.exp
        if x.is_Pow and x.exp.is_Rational and x.exp.q <= 2:
            return self._root_or_reciprocal(x)
        if isinstance(x, (sp.sin, sp.cos)):
            s, c = self._sine_and_cosine(x.args[0])
            return s if isinstance(x, sp.sin) else c
        return self._letter(x)

    def _letter(self, x: sp.Expr, name: str = "x") -> sp.Symbol:
        """A letter for something that is no polynomial."""
        x = self._simplified_inside(x)
        if x not in self._known:
            self._known[x] = sp.Dummy(name)
            self.letters[self._known[x]] = x
        return self._known[x]

    def _simplified_inside(self, x: sp.Basic) -> sp.Basic:
        """A function of simplified arguments; of a piecewise one, values and sides of conditions are simplified."""
        if not x.args or x.is_Pow:
            return x
        parts = [self.inside(part) if isinstance(part, sp.Expr) else self._simplified_inside(part) for part in x.args]
        return x.func(*parts)

    def _root_or_reciprocal(self, x: sp.Pow) -> sp.Expr:
        """Powers with exponents -1, 1/2, ...; where there is a root r of the base, its reciprocal is 1/r^2."""
        power = x.exp
        if x.base in self._under_roots:
            base = x.base if x.base.is_Number else self.inside(x.base)
            letter, power = self._letter(sp.sqrt(base), "root"), 2 * power
            if base.is_Integer:
                self._roots[letter] = int(base)
        else:
            written = self._in_letters(x.base)
            letter = written if written.is_Symbol else self._letter(self.inside(x.base), "base")
        if power > 0:
            return letter**power
        inverses = dict(self._inverses)
        if letter not in inverses:
            inverses[letter] = self._letter(1 / self.letters[letter], "reciprocal")
            self._inverses.append((letter, inverses[letter]))
        return inverses[letter] ** -power

    def _sine_and_cosine(self, angle: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Of a sum of multiples of angles, by those of the angles; 37 t is an angle by itself."""
        s, c = sp.Integer(0), sp.Integer(1)
        for term in sp.Add.make_args(sp.expand(angle)):
            k, one = term.as_coeff_Mul()
            if not k.is_Rational or abs(k.p) > LARGEST_MULTIPLE:
                k, one = (sp.Integer(-1), -term) if k < 0 else (sp.Integer(1), term)
            s1, c1 = self._angle(one / k.q)
            for _ in range(abs(k.p)):
                s, c = (s * c1 + c * s1, c * c1 - s * s1) if k > 0 else (s * c1 - c * s1, c * c1 + s * s1)
        return s, c

    def _angle(self, angle: sp.Expr) -> tuple[sp.Symbol, sp.Symbol]:
        if angle not in self.angles:
            self.angles[angle] = (self._letter(sp.sin(angle), "s"), self._letter(sp.cos(angle), "c"))
        return self.angles[angle]

    # --- from letters to polynomials -------------------------------------------------------------------------------

    def _polynomial(self, x: sp.Expr) -> PolyElement:
        if x not in self._done:
            if x.is_Add:
                self._done[x] = sum(map(self._polynomial, x.args), self.ring.zero)
            elif x.is_Mul:
                product = self.ring.one
                for factor in x.args:
                    other = self._polynomial(factor)
                    self._spend(len(product) * len(other))
                    product = self.normal(product * other)
                self._done[x] = product
            elif x.is_Pow:
                base = self._polynomial(x.base)
                self._spend(len(base) ** int(x.exp))
                self._done[x] = self.normal(base ** int(x.exp))
            else:
                self._done[x] = self.ring.gens[self._index[x]] if x.is_Symbol else self.ring(x)
        return self._done[x]

    def _spend(self, products: int) -> None:
        self._products += products
        if self._products > MOST_PRODUCTS:
            raise TooManyTerms(f"more than {MOST_PRODUCTS} products of terms to multiply out.")

    def _tidied(self, polynomials: list[PolyElement], scales: Scales | None) -> list[PolyElement]:
        """Without terms that are the round-off of floats, and with simple fractions for floats that nearly are."""
        if not self._inexact:
            return polynomials
        groups = range(len(polynomials)) if scales is None else scales.groups
        typical = {} if scales is None else scales.typical
        weights = [typical.get(self.letters.get(symbol), 1.0) for symbol in self.ring.symbols]
        sizes = [{m: _size(m, c, weights) for m, c in p.terms()} for p in polynomials]
        largest: defaultdict[Any, float] = defaultdict(float)
        for group, size in zip(groups, sizes, strict=True):
            largest[group] = max(largest[group], *size.values(), 0.0)
        return [
            self._collected((m, _simple(c)) for m, c in p.terms() if size[m] > ROUND_OFF * largest[group])
            for p, size, group in zip(polynomials, sizes, groups, strict=True)
        ]

    def _collected(self, terms: Iterable[tuple[Any, Any]]) -> PolyElement:
        return self.ring.from_dict(dict(terms))

    def normal(self, p: PolyElement, without: Mapping[sp.Expr, str] | None = None) -> PolyElement:
        """p without squares of sines, or, of the angles where `without` says "cos", without those of cosines."""
        without = without or {}
        pairs = []
        for angle, (s, c) in self.angles.items():
            gone, kept = (c, s) if without.get(angle) == "cos" else (s, c)
            pairs.append((self._index[gone], 1 - self.ring.gens[self._index[kept]] ** 2))
        for *vector, scalar in self.quaternions:
            if all(x in self._index for x in (*vector, scalar)):
                squares = sum(self.ring.gens[self._index[x]] ** 2 for x in vector)
                pairs.append((self._index[scalar], 1 - squares))
        roots = [(self._index[letter], square) for letter, square in self._roots.items()]
        inverses = [(self._index[a], self._index[b]) for a, b in self._inverses]
        plain: defaultdict[Any, Any] = defaultdict(lambda: sp.QQ(0))
        rest = self.ring.zero
        for monomial, coefficient in p.terms():
            powers, other = list(monomial), None
            for i, j in inverses:
                both = min(powers[i], powers[j])
                powers[i], powers[j] = powers[i] - both, powers[j] - both
            for i, square in roots:
                twice, powers[i] = divmod(powers[i], 2)
                coefficient = coefficient * square**twice
            for i, replaced in pairs:
                if powers[i] > 1:
                    twice, powers[i] = divmod(powers[i], 2)
                    other = replaced**twice if other is None else other * replaced**twice
            if other is None:
                plain[tuple(powers)] += coefficient
            else:
                rest += other.mul_term((tuple(powers), coefficient))
        return self._collected((m, c) for m, c in plain.items() if c) + rest

    def uncancelled(self, form: PolyElement, p: PolyElement) -> PolyElement:
        """Another form of p without what floats leave of terms that cancel: those of the same powers but of angles."""
        if not self._inexact or not form:
            return form
        angles = [self._index[x] for pair in self.angles.values() for x in pair]

        def rest(monomial: Sequence[int]) -> tuple[int, ...]:
            powers = list(monomial)
            for i in angles:
                powers[i] = 0
            return tuple(powers)

        largest: defaultdict[Any, Any] = defaultdict(lambda: sp.QQ(0))
        for m, c in p.terms():
            largest[rest(m)] = max(largest[rest(m)], abs(c))
        least = sp.QQ(1, 10**12)
        return self._collected((m, c) for m, c in form.terms() if abs(c) > least * largest[rest(m)])

    # --- other forms of a polynomial -------------------------------------------------------------------------------

    def absolute(self, p: PolyElement) -> PolyElement:
        """p where the letters of a carried angle stand for the sum of it and of those that carry it."""
        replaced = []
        for angle, (base, sense) in self.carried.items():
            if angle in self.angles and base in self.angles:
                s, c, S, C = (self.ring.gens[self._index[x]] for x in (*self.angles[angle], *self.angles[base]))
                replaced += [(s, s * C - sense * c * S), (c, c * C + sense * s * S)]
        return self.uncancelled(self.normal(p.compose(replaced)), p) if replaced else p

    def absolute_letters(self) -> dict[sp.Symbol, sp.Expr]:
        """What the letters stand for in `absolute`."""
        letters = dict(self.letters)
        for angle, (s, c) in self.angles.items():
            whole, at, sense = angle, angle, 1
            while at in self.carried and self.carried[at][0] in self.angles:
                at, turned = self.carried[at]
                sense *= turned
                whole = whole + sense * at
            letters[s], letters[c] = sp.sin(whole), sp.cos(whole)
        return letters

    def harmonics(self, p: PolyElement) -> dict[sp.Expr, PolyElement]:
        """p as a sum of sines and cosines of sums of angles: function -> its factor, which has no trigonometry."""
        angles = list(self.angles)
        indices = [(self._index[s], self._index[c]) for s, c in self.angles.values()]
        factors: defaultdict[sp.Expr, PolyElement] = defaultdict(lambda: self.ring.zero)
        for monomial, coefficient in p.terms():
            powers = list(monomial)
            trigonometric = tuple((powers[s], powers[c]) for s, c in indices)
            for s, c in indices:
                powers[s] = powers[c] = 0
            factor = self.ring.from_dict({tuple(powers): coefficient})
            for sine, k, share in _harmonics(trigonometric):
                angle = sp.Add(*(n * a for n, a in zip(k, angles, strict=True)))
                factors[sp.sin(angle) if sine else sp.cos(angle)] += factor * share
        tidy = {function: self.uncancelled(factor, p) for function, factor in factors.items()}
        return {function: factor for function, factor in tidy.items() if factor}


def _size(monomial: Sequence[int], coefficient: Any, weights: Sequence[float]) -> float:
    """Of a term, where symbols have their typical sizes."""
    size = abs(float(coefficient))
    for power, weight in zip(monomial, weights, strict=True):
        size *= weight**power if power else 1.0
    return size


def _simple(coefficient: Any) -> Any:
    """A simple fraction instead of what is one but for round-off."""
    value = Fraction(int(coefficient.numerator), int(coefficient.denominator))
    near = value.limit_denominator(SIMPLE)
    return sp.QQ(near.numerator, near.denominator) if abs(near - value) <= AS_GOOD_AS * abs(value) else coefficient


def _under_roots(expressions: Iterable[sp.Expr]) -> set[sp.Expr]:
    """The radicands of square roots."""
    radicands, seen, stack = set(), set(), list(expressions)
    while stack:
        x = stack.pop()
        if x not in seen:
            seen.add(x)
            stack.extend(x.args)
            if x.is_Pow and x.exp.is_Rational and x.exp.q == 2:
                radicands.add(x.base)
    return radicands


@cache
def _harmonics(powers: tuple[tuple[int, int], ...]) -> tuple[tuple[bool, tuple[int, ...], Any], ...]:
    """A product of s^a c^b as a sum: (is it a sine, multiples of the angles, share).

    By s = (z - 1/z)/2i, c = (z + 1/z)/2: an even number of sines makes cosines, an odd number sines.
    """
    series = [_exponentials(a, b) for a, b in powers]
    sines = sum(a for a, _ in powers)
    sign = -1 if sines // 2 % 2 else 1
    shares: defaultdict[tuple[int, ...], Any] = defaultdict(lambda: sp.QQ(0))
    for terms in itertools.product(*series):
        k = tuple(n for n, _ in terms)
        share = sp.QQ(sign)
        for _, part in terms:
            share *= part
        turned = next((n for n in k if n), 0) < 0
        if sines % 2 and not any(k):
            continue
        shares[tuple(-n for n in k) if turned else k] += -share if turned and sines % 2 else share
    return tuple((bool(sines % 2), k, share) for k, share in shares.items() if share)


def _exponentials(a: int, b: int) -> Sequence[tuple[int, Any]]:
    """(z - 1/z)^a (z + 1/z)^b / 2^(a+b), as pairs of power and factor."""
    shares: defaultdict[int, Any] = defaultdict(lambda: sp.QQ(0))
    for i in range(a + 1):
        for j in range(b + 1):
            shares[a + b - 2 * (i + j)] += sp.QQ((-1) ** i * comb(a, i) * comb(b, j), 2 ** (a + b))
    return [(n, share) for n, share in shares.items() if share]
