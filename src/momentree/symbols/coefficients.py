"""Short names for long coefficients, as a lecturer gives them: b = 2 alpha w5 w6, with alpha defined below.

The inertial terms of each equation are gathered by products of velocities. If one of their coefficients is long,
all of them that are more than a product of two letters are named; otherwise all are written out. Entries of the mass
matrix are named where they are long. Coefficients that differ by a number share a name.
Letters are assigned as the inward sweep meets the equations, from the last to the first: alpha belongs to the
outermost body. The sign is such that the first mention, read from the top, is positive. So the pendulum on a slider of
Belkov and Konoplev 1997 gets the alpha and beta of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement

from momentree.symbols.names import NAMES
from momentree.symbols.shortest import Shortest, content_of, gathered, ink

LONG = 12  # ink above which an expression is long
LONG_TWICE = 8  # the same for what stands in two equations
ATOMIC = 2.5  # ink up to which it is not worth a name
# without those that are taken for angles, angular velocities, moments and numbers
LETTERS = "alpha beta gamma delta epsilon zeta eta kappa lambda mu nu xi rho sigma chi psi"


def unused_letters(used: Iterable[sp.Symbol]) -> Iterator[sp.Symbol]:
    """alpha, beta, ... then alpha1, beta1, ...; none that the model uses, with or without an index."""
    taken = {symbol.name.rstrip("'").rstrip("0123456789").rstrip("_") for symbol in used}
    taken |= {NAMES.get(name, name) for name in taken}
    letters = [letter for letter in LETTERS.split() if letter not in taken]
    turn = 0
    while True:
        for letter in letters or ["a_"]:
            yield sp.Symbol(f"{letter}{turn or ''}", real=True)
        turn += 1


@dataclass
class Coefficient:
    """Multiples of one primitive polynomial: the factor of each by its position (row, column)."""

    primitive: PolyElement
    multiples: dict[tuple[int, int], Any] = field(default_factory=dict)
    name: sp.Symbol = field(init=False)
    unit: Any = field(init=False)  # what the name means is the unit times the primitive

    def take(self, name: sp.Symbol) -> None:
        """Take a name, and the unit that makes all multiples whole, the first one, read from the top, positive."""
        self.name = name
        numbers = [self.multiples[position] for position in sorted(self.multiples)]
        unit = numbers[0]
        for number in numbers[1:]:
            unit = sp.QQ.gcd(unit, number)
        self.unit = abs(unit) if numbers[0] > 0 else -abs(unit)

    def at(self, position: tuple[int, int]) -> sp.Expr:
        """The entry at a position: a number times the name."""
        return sp.S(self.multiples[position] / self.unit) * self.name


@dataclass(frozen=True)
class Named:
    """Mass matrix and inertial terms in names, and what the names mean."""

    A: list[list[sp.Expr]]
    b: list[sp.Expr]
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]


def named(
    A: Sequence[Sequence[PolyElement]],
    b: Sequence[PolyElement],
    velocities: Sequence[sp.Symbol],
    shortest: Shortest,
    letters: Iterator[sp.Symbol],
) -> Named:
    """A and b with their long coefficients named by the rule above."""
    n = len(b)
    present = [velocity for velocity in velocities if velocity in shortest.trigonometry.letters]
    rows = [gathered(p, present) if p else [] for p in b]
    # positions (row, column): columns of A, then the terms of b
    entries = {
        (i, j): A[i][j] for i in range(n) for j in range(n) if ink(shortest(A[i][j])) > (LONG if i == j else LONG_TWICE)
    }
    terms = {(i, n + k): part for i, row in enumerate(rows) for k, (_, part) in enumerate(row)}
    naming = any(ink(shortest(part)) > LONG for part in terms.values())
    terms = {position: part for position, part in terms.items() if naming and ink(shortest(part)) > ATOMIC}
    coefficients = _shared(terms, entries)
    for coefficient in coefficients:
        coefficient.take(next(letters))
    by_position = {position: coefficient for coefficient in coefficients for position in coefficient.multiples}

    def written(position: tuple[int, int], p: PolyElement) -> sp.Expr:
        return by_position[position].at(position) if position in by_position else shortest(p)

    in_names = [
        sp.Add(*(written((i, n + k), part) * monomial for k, (monomial, part) in enumerate(row)))
        for i, row in enumerate(rows)
    ]
    if naming:
        in_names = [_in_factors(x, [c.name for c in coefficients]) for x in in_names]
    else:
        in_names = [min(shortest(p), by_velocities, key=ink) for p, by_velocities in zip(b, in_names, strict=True)]
    matrix = [[written((i, j), p) for j, p in enumerate(row)] for i, row in enumerate(A)]
    return Named(matrix, in_names, tuple((c.name, shortest(c.primitive.mul_ground(c.unit))) for c in coefficients))


def _in_factors(x: sp.Expr, names: Sequence[sp.Symbol]) -> sp.Expr:
    """alpha u1^2 + 2 alpha u1 u2 as alpha u1 (u1 + 2 u2)."""
    parts = sp.collect(x, names, evaluate=False)
    return sp.Add(*(min(name * sp.factor(part), name * part, key=ink) for name, part in parts.items()))


def _shared(*groups: dict[tuple[int, int], PolyElement]) -> list[Coefficient]:
    """The different ones among all polynomials, those of each group from the last row to the first."""
    by_primitive: dict[PolyElement, Coefficient] = {}
    for group in groups:
        for position in sorted(group, key=lambda position: (-position[0], position[1])):
            content = content_of(group[position])
            primitive = group[position].quo_ground(content)
            by_primitive.setdefault(primitive, Coefficient(primitive)).multiples[position] = content
    return list(by_primitive.values())


def named_entries(
    entries: Sequence[PolyElement], shortest: Shortest, letters: Iterator[sp.Symbol]
) -> tuple[list[sp.Expr], list[tuple[sp.Symbol, sp.Expr]]]:
    """Entries of a constraint Jacobian, which stand in two places, with long ones named; and what the names mean."""
    long = {(0, i): p for i, p in enumerate(entries) if ink(shortest(p)) > LONG}
    coefficients = _shared(long)
    written = [*map(shortest, entries)]
    for coefficient in coefficients:
        coefficient.take(next(letters))
        for position in coefficient.multiples:
            written[position[1]] = coefficient.at(position)
    return written, [(c.name, shortest(c.primitive.mul_ground(c.unit))) for c in coefficients]
