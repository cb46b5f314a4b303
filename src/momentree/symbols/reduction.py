"""Reduced equations: dependent velocities and Lagrange multipliers eliminated from A u' + b = Q + J' lambda.

All velocities follow from those that remain, u = B(q) w + c(q, t), and so do their derivatives, u' = B w' + sigma. Then

    B' A B w' + B' (b + A sigma) = B' Q ,                                                                     (1)

since J B = 0. Dependent velocities are found step by step:

| step     | of a constraint                                              | gives                                      |
|----------|--------------------------------------------------------------|--------------------------------------------|
| constant | with a coefficient that does not change, as those of gears   | that velocity, its coordinate if it can    |
| pair     | along a direction that turns: -sin x' + cos y' + ... = 0     | one speed u across it: x' = u cos + ...    |
| rotation | three of them, whose coefficients are a rotation matrix      | the velocity of a ball that rolls          |
| ratio    | all others, up to `LARGEST` that are coupled with each other | ratios of velocities, by Cramer's rule     |

Ratios get names. Their derivatives follow from the accelerations of the constraints, with the same denominator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import sympy as sp

from momentree.errors import MomentreeError, suggestion
from momentree.structure import Mechanism
from momentree.symbols.constraints import ScalarConstraint
from momentree.symbols.derivation import Derivation
from momentree.symbols.parallel import carriers
from momentree.symbols.scalars import Symbolic
from momentree.symbols.shortest import ink, simplified
from momentree.symbols.trigonometry import Trigonometry

LARGEST = 3  # constraints that are solved together
SHORT = 6  # ink up to which a denominator has no name of its own
SINGULAR = 1e-9  # of a determinant, relative to the product of its rows
Linear = dict[sp.Symbol, sp.Expr]


def kept(mechanism: Mechanism, s: Symbolic, wanted: bool | Sequence[str]) -> frozenset[sp.Symbol]:
    """The velocities that the caller wants to remain."""
    if isinstance(wanted, bool):
        return frozenset()
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    by_key = {f"{r.name}.{r.component}".rstrip("."): u for r, u in zip(mechanism.velocities, s.u, strict=True)}
    for name in names:
        if str(name).rstrip("'") not in by_key:
            raise MomentreeError(f"reduced: there is no velocity '{name}'.{suggestion(str(name), by_key)}")
    return frozenset(by_key[name.rstrip("'")] for name in names)


def reduce(
    derivation: Derivation,
    keep: frozenset[sp.Symbol],
    letters: Iterator[sp.Symbol],
    at: Callable[[], Sequence[float]] | None = None,
) -> Derivation:
    """The equations (1) in the velocities that remain; those of `keep` are among them."""
    elimination = Elimination(derivation, keep)
    while elimination.solve_constant() or elimination.solve_pair() or elimination.solve_rotation():
        pass
    ratios = Ratios(elimination, letters, at)
    return _projected(elimination, ratios)


@dataclass
class Row:
    """A constraint in the velocities that are left: sum of J and symbols, and j; and its position, if it has one."""

    of: ScalarConstraint
    J: Linear
    j: sp.Expr
    position: sp.Expr | None


class Elimination:
    """Steps that leave polynomials: velocities `v` by those that are left in `live`, some coordinates by others."""

    def __init__(self, derivation: Derivation, keep: frozenset[sp.Symbol]):
        self.derivation, self.keep, self.s = derivation, keep, derivation.symbols
        self.carried = carriers(self.s.numeric, self.s)
        self.live = list(self.s.u)
        self.v: list[sp.Expr] = list(self.s.u)
        self.coordinates: dict[sp.Symbol, sp.Expr] = {}
        self.rows = [
            Row(c, self._linear(zip(self.s.u, c.J, strict=True)), self.short(c.j), c.position)
            for c in derivation.constraints
        ]
        self.positions: list[Row] = []  # rows that are solved for velocities, but not for coordinates
        self._drop_empty_rows()

    def short(self, x: sp.Expr) -> sp.Expr:
        """Simplified."""
        return x if x.is_Atom else simplified(x, self.carried, self.s.quaternions)

    def normal(self, x: sp.Expr) -> sp.Expr:
        """The normal form, which is zero if x is; quicker than the shortest form."""
        trigonometry = Trigonometry([x], self.carried, lambda y: simplified(y, self.carried), self.s.quaternions)
        return trigonometry.polynomials[0].as_expr().xreplace(trigonometry.letters)

    @cached_property
    def changing(self) -> frozenset[sp.Symbol]:
        """Coordinates and time."""
        return frozenset((*self.s.q, self.s.t))

    def solve_constant(self) -> bool:
        """Solve a row for a velocity with a constant coefficient, the last one of the tree; whether there is one."""
        found = [
            (not J.is_number, -self.live.index(p), i, p)
            for i, row in enumerate(self.rows)
            for p, J in row.J.items()
            if p not in self.keep and not J.free_symbols & self.changing
        ]
        if not found:
            return False
        _, _, i, p = min(found, key=lambda each: each[:3])
        row = self.rows.pop(i)
        value = -(sum(J * u for u, J in row.J.items() if u != p) + row.j) / row.J[p]
        self._replace({p: value})
        if not self._solve_coordinate(row, p):
            self.positions.append(row)
        self._drop_empty_rows()
        return True

    def _solve_coordinate(self, row: Row, p: sp.Symbol) -> bool:
        """Solve the position of a row for the coordinate of a velocity, if it is linear in it."""
        q = next((q for q, change in self.s.derivatives.items() if change == p), None)
        if q is None or row.position is None:
            return False
        slope = self.short(row.position.diff(q))
        if slope == 0 or slope.free_symbols & self.changing:
            return False
        value = self.short(q - row.position / slope)
        if q in value.free_symbols:
            return False
        self.coordinates = {x: self.short(y.xreplace({q: value})) for x, y in self.coordinates.items()} | {q: value}
        for other in (*self.rows, *self.positions):
            other.J = self._linear((u, J.xreplace(self.coordinates)) for u, J in other.J.items())
            other.j = self.short(other.j.xreplace(self.coordinates))
            other.position = None if other.position is None else other.position.xreplace(self.coordinates)
        self.v = [x.xreplace(self.coordinates) for x in self.v]
        return True

    def solve_pair(self) -> bool:
        """Solve a row with a pair of coefficients whose squares add up to a constant; whether there is one."""
        for i, row in enumerate(self.rows):
            for p, r in itertools.combinations([u for u in row.J if u not in self.keep], 2):
                square = self.normal(row.J[p] ** 2 + row.J[r] ** 2)
                if square.free_symbols & self.changing:
                    continue
                self.rows.pop(i)
                self.positions.append(row)
                speed = self._new_speed()
                a, b, size = row.J[p], row.J[r], sp.sqrt(square)
                rest = (sum(J * u for u, J in row.J.items() if u not in (p, r)) + row.j) / square
                self.live.insert(self.live.index(p), speed)
                self._replace({p: b / size * speed - a * rest, r: -a / size * speed - b * rest})
                self._drop_empty_rows()
                return True
        return False

    def solve_rotation(self) -> bool:
        """Solve three rows for three velocities of a ball or free body, if their coefficients are a rotation matrix."""
        bodies = [self.s.u[body.v] for body in self.s.mechanism.bodies if len(self.s.u[body.v]) in (3, 6)]
        for triple in (u[i : i + 3] for u in bodies for i in range(0, len(u), 3)):
            rows = [row for row in self.rows if any(u in row.J for u in triple)]
            if len(rows) != 3 or not set(triple) <= set(self.live) - self.keep:
                continue
            N = _columns(rows, triple)
            square = (N * N.T).applyfunc(self.normal)
            if not square.is_diagonal() or any(x.free_symbols & self.changing for x in square):
                continue
            rest = [sp.Add(*(J * u for u, J in row.J.items() if u not in triple), row.j) for row in rows]
            values = -N.T * square.inv() * sp.Matrix(rest)
            self.rows = [row for row in self.rows if row not in rows]
            self.positions += rows
            self._replace({u: self._gathered(value, triple) for u, value in zip(triple, values, strict=True)})
            self._drop_empty_rows()
            return True
        return False

    def _gathered(self, x: sp.Expr, without: Sequence[sp.Symbol]) -> sp.Expr:
        """A linear form of velocities with short coefficients."""
        others = [u for u in self.live if u not in without]
        none = dict.fromkeys(others, sp.Integer(0))
        return sp.Add(*(self.short(x.diff(u)) * u for u in others), self.short(x.xreplace(none)))

    def _new_speed(self) -> sp.Symbol:
        taken = {x.name for x in (*self.s.parameters, *self.s.q, *self.live, *self.s.u)}
        names = (name for i in itertools.count() for name in (f"u{i or ''}", f"v{i or ''}", f"w{i or ''}"))
        return sp.Symbol(next(name for name in names if name not in taken), real=True)

    def _replace(self, values: Mapping[sp.Symbol, sp.Expr]) -> None:
        """Put in what velocities are."""
        for p in values:
            self.live.remove(p)
        self.v = [x.xreplace(values) for x in self.v]
        for row in self.rows:
            velocity = sp.Add(*(J * u for u, J in row.J.items()), row.j).xreplace(dict(values))
            row.J = self._linear((u, velocity.diff(u)) for u in self.live)
            row.j = self.short(velocity.xreplace(dict.fromkeys(self.live, sp.Integer(0))))

    def _linear(self, entries: Iterable[tuple[sp.Symbol, sp.Expr]]) -> Linear:
        short = ((u, self.short(J)) for u, J in entries)
        return {u: J for u, J in short if J != 0}

    def _drop_empty_rows(self) -> None:
        for row in self.rows:
            if not row.J and row.j != 0:
                raise MomentreeError(f"reduced: the constraint {row.of.of} contradicts the others.")
        self.rows = [row for row in self.rows if row.J]


class Ratios:
    """What is left after polynomial steps, by Cramer's rule: velocities `values` and their derivatives `changes`.

    | field       | meaning                                                                             |
    |-------------|-------------------------------------------------------------------------------------|
    | values      | dependent velocity -> by ratios and the velocities that remain                      |
    | changes     | dependent velocity -> its derivative where those that remain do not change          |
    | definitions | ratios and denominators by name                                                     |
    """

    def __init__(
        self, elimination: Elimination, letters: Iterator[sp.Symbol], at: Callable[[], Sequence[float]] | None
    ):
        self.elimination, self.letters, self.at = elimination, letters, at
        self.values: dict[sp.Symbol, sp.Expr] = {}
        self.changes: dict[sp.Symbol, sp.Expr] = {}
        self.definitions: list[tuple[sp.Symbol, sp.Expr]] = []
        self._names: dict[sp.Expr, sp.Symbol] = {}
        solved = [(rows, *self._dependent(rows)) for rows in _coupled(elimination.rows)]
        chosen = {p for _, dependent, _ in solved for p in dependent}
        self.w = [u for u in elimination.live if u not in chosen]
        for rows, dependent, below in solved:
            self._solve_velocities(rows, dependent, below)
        for rows, dependent, below in solved:
            self._solve_accelerations(rows, dependent, below)

    @cached_property
    def velocities(self) -> dict[sp.Symbol, sp.Expr]:
        """Every velocity, also those that were introduced, by the velocities that remain."""
        by_live = zip(self.elimination.s.u, self.elimination.v, strict=True)
        return self.values | {u: x.xreplace(self.values) for u, x in by_live}

    def derivative(self, x: sp.Expr) -> sp.Expr:
        """The derivative of an expression of coordinates, time and `live` velocities, where these do not change."""
        return self.elimination.s.total_derivative(x).xreplace(self.velocities)

    def _dependent(self, rows: Sequence[Row]) -> tuple[tuple[sp.Symbol, ...], sp.Expr]:
        """Velocities for which rows can be solved, the last ones of the tree; the name of the denominator."""
        owners = ", ".join(dict.fromkeys(row.of.of for row in rows))
        if len(rows) > LARGEST:
            message = f"reduced: {len(rows)} coupled constraints ({owners}) are too many to be solved in symbols."
            raise MomentreeError(f"{message} Leave out reduced= for equations with Lagrange multipliers.")
        elimination = self.elimination
        candidates = [u for u in elimination.live if u not in elimination.keep and any(u in row.J for row in rows)]
        for dependent in itertools.combinations(reversed(candidates), len(rows)):
            matrix = _columns(rows, dependent)
            determinant = elimination.short(matrix.det(method="berkowitz"))
            if determinant != 0 and not self._is_singular(matrix):
                return dependent, self._denominator(determinant)
        if elimination.keep:
            names = ", ".join(str(u) for u in elimination.live if u in elimination.keep)
            raise MomentreeError(f"reduced: {names} cannot all remain: they depend on each other by {owners}.")
        message = f"reduced: the constraints of {owners} are not independent, at least in the initial configuration."
        raise MomentreeError(f"{message} Leave out reduced= for equations with Lagrange multipliers.")

    def _is_singular(self, matrix: sp.Matrix) -> bool:
        """Whether a matrix is singular at the coordinates `at`, where all constraints hold."""
        s = self.elimination.s
        if self.at is None:
            return False
        values = s.numeric.values
        numbers = {symbol: float(values.scalar(symbol.name)) for symbol in s.parameters}
        numbers |= dict(zip(s.q, map(float, self.at()), strict=True)) | {s.t: 0.0}
        there = matrix.subs(numbers).evalf()
        size = sp.Mul(*(there[i, :].norm() for i in range(there.rows)))
        return bool(abs(there.det()) <= SINGULAR * size)

    def _denominator(self, determinant: sp.Expr) -> sp.Expr:
        return determinant if ink(determinant) <= SHORT else self._named(determinant)

    def _named(self, meaning: sp.Expr) -> sp.Expr:
        """A name for an expression, or minus the name of its opposite."""
        if meaning.is_number:
            return meaning
        if -meaning in self._names:
            return -self._names[-meaning]
        if meaning not in self._names:
            self._names[meaning] = next(self.letters)
            self.definitions.append((self._names[meaning], meaning))
        return self._names[meaning]

    def _cramer(
        self, rows: Sequence[Row], dependent: Sequence[sp.Symbol], below: sp.Expr, right: Sequence[sp.Expr]
    ) -> Linear:
        """Minus the solution for one right side, by dependent velocity."""
        solution = {}
        for k, p in enumerate(dependent):
            matrix = _columns(rows, dependent)
            matrix[:, k] = sp.Matrix(right)
            above = self.elimination.short(-matrix.det(method="berkowitz"))
            solution[p] = above if above == 0 else self._named(sp.factor_terms(above) / below)
        return solution

    def _solve_velocities(self, rows: Sequence[Row], dependent: Sequence[sp.Symbol], below: sp.Expr) -> None:
        total: dict[sp.Symbol, list[sp.Expr]] = {p: [] for p in dependent}
        sides: list[tuple[sp.Expr, list[sp.Expr]]] = [
            (u, [row.J.get(u, sp.Integer(0)) for row in rows]) for u in self.w
        ]
        for u, right in [*sides, (sp.Integer(1), [row.j for row in rows])]:
            if any(x != 0 for x in right):
                for p, ratio in self._cramer(rows, dependent, below, right).items():
                    total[p].append(ratio * u)
        self.values.update({p: sp.Add(*terms) for p, terms in total.items()})

    def _solve_accelerations(self, rows: Sequence[Row], dependent: Sequence[sp.Symbol], below: sp.Expr) -> None:
        """J u' + J' u + j' = 0, term by term in the velocities that remain."""
        changes = [self.derivative(sp.Add(*(J * u for u, J in row.J.items()), row.j)) for row in rows]
        self.changes.update(dict.fromkeys(dependent, sp.Integer(0)))
        for monomial, parts in _by_monomials(changes, self.w):
            if any(self.elimination.normal(x) != 0 for x in parts):
                for p, x in self._cramer(rows, dependent, below, parts).items():
                    self.changes[p] = self.changes[p] + x * monomial


def _coupled(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows in groups that share velocities."""
    groups: list[list[Row]] = []
    for row in rows:
        sharing = [group for group in groups if any(set(row.J) & set(other.J) for other in group)]
        groups = [group for group in groups if group not in sharing]
        groups.append([*itertools.chain(*sharing), row])
    return groups


def _columns(rows: Sequence[Row], symbols: Sequence[sp.Symbol]) -> sp.Matrix:
    return sp.Matrix([[row.J.get(p, sp.Integer(0)) for p in symbols] for row in rows])


def _by_monomials(expressions: Sequence[sp.Expr], w: Sequence[sp.Symbol]) -> Iterator[tuple[sp.Expr, list[sp.Expr]]]:
    """Expressions, quadratic in w, as monomials with their coefficients in each of them."""
    none = dict.fromkeys(w, sp.Integer(0))
    yield sp.Integer(1), [x.xreplace(none) for x in expressions]
    for u in w:
        yield u, [x.diff(u).xreplace(none) for x in expressions]
    for u, v in itertools.combinations_with_replacement(w, 2):
        half = sp.Rational(1, 2) if u == v else sp.Integer(1)
        yield u * v, [x.diff(u).diff(v).xreplace(none) * half for x in expressions]


def _short_quadratic(x: sp.Expr, w: Sequence[sp.Symbol], elimination: Elimination) -> sp.Expr:
    """An expression quadratic in w with short coefficients."""
    return sp.Add(*(elimination.normal(parts[0]) * monomial for monomial, parts in _by_monomials([x], w)))


def _projected(elimination: Elimination, ratios: Ratios) -> Derivation:
    """Equations (1)."""
    derivation, s, w = elimination.derivation, elimination.s, ratios.w
    v = [ratios.velocities[u] for u in s.u]
    sigma = [
        ratios.derivative(x) + sp.Add(*(x.diff(p) * change for p, change in ratios.changes.items()))
        for x in elimination.v
    ]
    if s.quaternions:  # of which products become long before they cancel
        sigma = [_short_quadratic(x, w, elimination) for x in sigma]
    in_place = {**elimination.coordinates, **dict(zip(s.u, v, strict=True))}
    A, b, Q = (sp.Matrix(x).xreplace(in_place) for x in (derivation.A, derivation.b, derivation.Q))
    B = sp.Matrix([[x.diff(u) for u in w] for x in v])
    accelerations = dict(zip(s.u, s.du, strict=True))
    eliminated = [(u, x) for u, x in zip(s.u, v, strict=True) if u != x]
    remaining = [row for row in (*elimination.positions, *elimination.rows) if row.position is not None]
    return replace(
        derivation,
        A=(B.T * A * B).tolist(),
        b=list(B.T * (b + A * sp.Matrix(sigma))),
        Q=list(B.T * Q),
        constraints=[replace(row.of, position=row.position) for row in remaining],
        coordinates=tuple(q for q in s.q if q not in elimination.coordinates),
        velocities=tuple(w),
        accelerations=tuple(accelerations.get(u, sp.Symbol(f"{u}'", real=True)) for u in w),
        reduced=True,
        definitions=tuple(ratios.definitions),
        dependent=(*elimination.coordinates.items(), *eliminated),
    )
