"""Equations of motion A u' + b = Q + J' lambda that a lecturer would put on a slide, from any formalism."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp

from momentree.activity import activity
from momentree.errors import ModelError, MomentreeError, all_choices
from momentree.model import Model
from momentree.structure import Mechanism, freeze
from momentree.structure.separate_bodies import separate_bodies
from momentree.symbols.coefficients import named, named_entries, unused_letters
from momentree.symbols.constraints import ScalarConstraint, constraints_of
from momentree.symbols.derivation import Definitions, Derivation
from momentree.symbols.formalisms import FORMALISMS
from momentree.symbols.hamilton import HamiltonEquations, hamilton_equations
from momentree.symbols.layout import latex_lines, text_lines, title_of
from momentree.symbols.operations import Operations, count
from momentree.symbols.parallel import carriers
from momentree.symbols.reduction import kept, reduce
from momentree.symbols.scalars import Symbolic, symbolic, unused
from momentree.symbols.shortest import Shortest, gathered, ink, simplified
from momentree.symbols.trigonometry import Scales, TooManyTerms, Trigonometry
from momentree.symbols.typeset import Typeset
from momentree.symbols.writing import ACCELERATION, COORDINATE, GRAVITY, INERTIAL, MULTIPLIER, OTHER, VELOCITY, Rank

if TYPE_CHECKING:
    from momentree.symbols.steps.page import DerivationSteps

MOST_VELOCITIES = 60  # of equations in symbols
MOST_OPERATIONS = 900  # of inverse dynamics in numbers: beyond, symbols never came to an end, or were too many to read
MOST_WRITTEN = 10_000  # terms of equations that are multiplied out
FUNCTION_LONG = 6  # ink above which a root or function gets a name


class ConstraintEquation(NamedTuple):
    """A scalar constraint: whose it is, which one, its position g(q, t) = 0 (None if nonholonomic), its velocity.

    The velocity J u + j = 0 is the derivative of g where there is one. Reduced equations keep positions alone.
    """

    of: str
    meaning: str
    position: sp.Expr | None
    velocity: sp.Expr | None

    def xreplace(self, values: Mapping[sp.Symbol, sp.Expr]) -> ConstraintEquation:
        """The same with symbols replaced."""
        position, velocity = (None if x is None else x.xreplace(values) for x in (self.position, self.velocity))
        return self._replace(position=position, velocity=velocity)

    @property
    def label(self) -> str:
        """Whose it is, and which one."""
        return f"{self.of}, {self.meaning}" if self.meaning else self.of


@dataclass(frozen=True, repr=False)
class Equations(Typeset):
    """A u' + b = Q + J' lambda in symbols: `print` it, or see `show`, `latex`, `sympy`, `operations`.

    | field         | meaning                                                                                   |
    |---------------|-------------------------------------------------------------------------------------------|
    | by            | the formalism that derived them                                                           |
    | coordinates   | q; velocities, accelerations: u and u'                                                    |
    | A, b, Q       | mass matrix; inertial terms, quadratic in the velocities; forces: gravity, springs, laws  |
    | definitions   | the names that stand in all others, and what they mean; a meaning may use other names     |
    | kinematics    | derivatives of coordinates that are not velocities, as those of a ball, by the velocities |
    | notes         | what else a reader has to know                                                            |
    | multipliers   | Lagrange multipliers lambda, one for each constraint; none in reduced equations           |
    | constraints   | the constraint equations, in the same order                                               |
    | J, j          | the constraint Jacobian, and the rest of constraint velocities: J u + j = 0               |
    | dependent     | in reduced equations, what was eliminated, by the coordinates and velocities that remain  |
    """

    name: str
    by: str
    coordinates: tuple[sp.Symbol, ...]
    velocities: tuple[sp.Symbol, ...]
    accelerations: tuple[sp.Symbol, ...]
    A: sp.ImmutableMatrix
    b: sp.ImmutableMatrix
    Q: sp.ImmutableMatrix
    definitions: Definitions = ()
    kinematics: Definitions = ()
    notes: tuple[str, ...] = ()
    ranks: Mapping[sp.Symbol, Rank] = field(default_factory=dict, compare=False)
    multipliers: tuple[sp.Symbol, ...] = ()
    constraints: tuple[ConstraintEquation, ...] = ()
    J: sp.ImmutableMatrix = field(default_factory=sp.ImmutableMatrix)
    j: sp.ImmutableMatrix = field(default_factory=sp.ImmutableMatrix)
    dependent: Definitions = ()
    symbols: Symbolic | None = field(default=None, compare=False)

    @property
    def reduced(self) -> bool:
        """Whether multipliers and dependent velocities are eliminated."""
        return bool(self.dependent)

    @property
    def right(self) -> sp.ImmutableMatrix:
        """The right side Q + J' lambda."""
        return self.Q + self.J.T * sp.Matrix(self.multipliers) if self.multipliers else self.Q

    @property
    def meanings(self) -> dict[sp.Symbol, sp.Expr]:
        """What each name means, without other names."""
        meanings = dict(self.definitions)
        for _ in meanings:  # a meaning may use other names
            meanings = {symbol: meaning.xreplace(meanings) for symbol, meaning in meanings.items()}
        return meanings

    @property
    def expanded(self) -> Equations:
        """The same without names: every definition put in."""
        meanings = self.meanings
        matrices = {name: getattr(self, name).xreplace(meanings) for name in ("A", "b", "Q", "J", "j")}
        dependent = tuple((symbol, meaning.xreplace(meanings)) for symbol, meaning in self.dependent)
        constraints = tuple(constraint.xreplace(meanings) for constraint in self.constraints)
        return dataclasses.replace(self, **matrices, constraints=constraints, dependent=dependent, definitions=())

    def constraint_accelerations(self) -> tuple[sp.Expr, ...]:
        """The second derivative of each constraint, J u' + J' u + j' = 0: with A u' + b = Q + J' lambda it gives u'."""
        if self.symbols is None or not self.multipliers:
            return ()
        given = sp.Matrix(self.accelerations)
        expanded, carried = self.expanded, carriers(self.symbols.numeric, self.symbols)
        return tuple(
            (self.J[i, :] * given)[0]
            + simplified(self.symbols.total_derivative(constraint.velocity), carried, self.symbols.quaternions)
            for i, constraint in enumerate(expanded.constraints)
        )

    def sympy(self) -> dict[str, Any]:
        """Everything as SymPy objects: symbols, matrices, definitions, and each equation as an `Eq`."""
        left = self.A * sp.Matrix(self.accelerations) + self.b
        return {
            "coordinates": self.coordinates,
            "velocities": self.velocities,
            "accelerations": self.accelerations,
            "A": self.A,
            "b": self.b,
            "Q": self.Q,
            "definitions": dict(self.definitions),
            "kinematics": dict(self.kinematics),
            "equations": [sp.Eq(one, other, evaluate=False) for one, other in zip(left, self.right, strict=True)],
            "multipliers": self.multipliers,
            "J": self.J,
            "j": self.j,
            "positions": [sp.Eq(c.position, 0, evaluate=False) for c in self.constraints if c.position is not None],
            "constraint velocities": [
                sp.Eq(c.velocity, 0, evaluate=False) for c in self.constraints if c.velocity is not None
            ],
            "dependent": dict(self.dependent),
        }

    def heading(self) -> str:
        return title_of(self)

    def text_lines(self) -> Iterator[str]:
        return text_lines(self)

    def latex_lines(self) -> Iterator[str]:
        return latex_lines(self)

    def operations(self) -> Operations:
        """What A (half of it: it is symmetric), b, Q, J and j cost at each step, common subexpressions computed once.

        In reduced equations J and j are eliminated, and the dependent velocities count instead.
        """
        n = len(self.velocities)
        upper = [self.A[i, j] for i in range(n) for j in range(i, n)]
        meanings = [meaning for _, meaning in (*self.definitions, *self.dependent)]
        return count(meanings + upper + [*self.b, *self.Q, *self.J, *self.j])

    def derivation(self) -> DerivationSteps:
        """How they are derived, step by step, as a lecturer writes it on the board."""
        from momentree.symbols.steps.derivation_steps import steps_of

        return steps_of(self)

    def data(self) -> dict[str, Any]:
        """The same as plain data, for --json; SymPy reads the texts if a prime is spelt out."""
        lists = ("coordinates", "velocities", "accelerations", "b", "Q")
        texts: dict[str, Any] = {name: [str(x) for x in getattr(self, name)] for name in lists}
        texts["A"] = [[str(x) for x in row] for row in self.A.tolist()]
        named = ("definitions", "kinematics", "dependent")
        meanings = {name: {str(x): str(y) for x, y in getattr(self, name)} for name in named}
        texts["multipliers"], texts["j"] = ([str(x) for x in xs] for xs in (self.multipliers, self.j))
        texts["J"] = [[str(x) for x in row] for row in self.J.tolist()]
        texts["constraints"] = [
            {name: None if x is None else str(x) for name, x in constraint._asdict().items()}
            for constraint in self.constraints
        ]
        counted = self.operations()._asdict()
        return {"name": self.name, "by": self.by, **texts, **meanings, "notes": list(self.notes), "operations": counted}

    def __repr__(self) -> str:
        return f"Equations('{self.name}' by {self.by}: {len(self.velocities)} velocities)"


# --- derivation ------------------------------------------------------------------------------------------------------


def freed(model: Model) -> Mechanism:
    """The mechanism of a model with every parameter free, but for those that decide a direction."""
    names = [name for name, _ in model.parameters]
    try:
        return freeze(model, names)
    except ModelError:
        free: list[str] = []
        for name in names:
            try:
                freeze(model, [*free, name])
            except ModelError:
                continue
            free.append(name)
        return freeze(model, free)


def derive(
    mechanism: Mechanism,
    by: str = "energy",
    velocities: Mapping[str, str] | None = None,
    reduced: bool | Sequence[str] = False,
    at: Callable[[], Sequence[float]] | None = None,
    operations: Callable[[Mechanism], int] | None = None,
) -> Equations | HamiltonEquations:
    """The equations of a mechanism in its free parameters.

    | argument   | meaning                                                                                  |
    |------------|------------------------------------------------------------------------------------------|
    | velocities | other names for velocities, as {"theta5": "w5"}                                          |
    | reduced    | whether multipliers and dependent velocities are eliminated; or the velocities that stay |
    | at         | finds coordinates where constraints hold and dependent velocities must follow            |
    | operations | counts those of inverse dynamics in numbers, by which too large mechanisms are refused   |
    """
    if by not in FORMALISMS:
        raise MomentreeError(f"equations: there is no formalism '{by}'.{all_choices(str(by), list(FORMALISMS))}")
    formalism = FORMALISMS[by]
    if not mechanism.nv:
        raise MomentreeError(f"equations: nothing in '{mechanism.name}' is free to move.")
    if reduced is not False and (formalism.separate or by == "hamiltonian"):
        raise MomentreeError(
            f"equations: those by '{by}' are not reduced. Choose 'energy', 'aggregative' or 'lagrange'."
        )
    if formalism.separate:
        mechanism = separate_bodies(mechanism)
    if mechanism.nv > MOST_VELOCITIES:
        raise _too_large(mechanism, by, f"{mechanism.nv} velocities, more than {MOST_VELOCITIES}")
    if operations is not None and (count := operations(mechanism)) > MOST_OPERATIONS:
        reason = f"inverse dynamics takes {count} operations with numbers, and with symbols at most {MOST_OPERATIONS}"
        raise _too_large(mechanism, by, reason)
    try:
        with activity("deriving the equations of", mechanism.name):
            return _derived(mechanism, by, velocities, reduced, at)
    except (TooManyTerms, RecursionError) as error:
        told = str(error) if isinstance(error, TooManyTerms) else "expressions nested too deeply."
        raise _too_large(mechanism, by, told.rstrip(".")) from None


def _too_large(mechanism: Mechanism, by: str, why: str) -> MomentreeError:
    """The error for a mechanism that has no readable equations, and the way out."""
    smaller = "" if by == "newton_euler" else " Equations of each body by itself stay short: choose by 'newton_euler'."
    return MomentreeError(
        f"equations: '{mechanism.name}' is too large for symbols: {why}.{smaller} For numbers use system.mass_matrix, "
        "system.bias and system.forward_dynamics; for C code, system.export_c."
    )


def _derived(
    mechanism: Mechanism,
    by: str,
    velocities: Mapping[str, str] | None,
    reduced: bool | Sequence[str],
    at: Callable[[], Sequence[float]] | None,
) -> Equations | HamiltonEquations:
    """The equations by a formalism that there is."""
    formalism, s, n = FORMALISMS[by], symbolic(mechanism, velocities), mechanism.nv
    rows = [[sp.S(x) for x in row] for row in formalism.rows(s)]
    found = constraints_of(mechanism, s)
    derivation = Derivation(s, rows[:n], rows[n], rows[n + 1], found, s.q, s.u, s.du)
    letters = unused_letters([*s.parameters, *s.q, *s.u, *([sp.Symbol(formalism.multiplier)] if found else [])])
    if reduced is not False and found:
        derivation = reduce(derivation, kept(mechanism, s, reduced), letters, at)
    written = _written(mechanism, by, derivation, letters)
    return hamilton_equations(written) if by == "hamiltonian" else written


def _written(mechanism: Mechanism, by: str, derivation: Derivation, letters: Iterator[sp.Symbol]) -> Equations:
    """The readable equations: all expressions in one ring, shortest forms, names for what is long."""
    s, u, found = derivation.symbols, derivation.velocities, derivation.constraints
    n, carried = len(u), carriers(mechanism, s)
    parts = _parts(derivation)
    units = s.quaternions if derivation.constraints or derivation.reduced else ()
    expressions = [x for part in parts for x in part]
    trigonometry = Trigonometry(expressions, carried, lambda x: simplified(x, carried), units, _scales(derivation))
    terms = sum(map(len, trigonometry.polynomials))
    if terms > MOST_WRITTEN:
        raise TooManyTerms(f"{terms} terms, more than {MOST_WRITTEN}")
    polynomials = iter(trigonometry.polynomials)
    p, p_J, p_j, p_positions, p_dependent = ([next(polynomials) for _ in part] for part in parts)
    long, shortest = _long_letters(trigonometry), Shortest(trigonometry, s.inertial)
    rows = [p[i * n : (i + 1) * n] for i in range(n + 2)]
    in_names = named(rows[:n], rows[n], u, shortest, letters)
    forces = [_force(force, u, shortest) for force in rows[n + 1]]
    entries, names_in_J = named_entries(p_J, shortest, letters)
    final = {placeholder: next(letters) for placeholder in long}
    names = [*derivation.definitions, *in_names.definitions, *names_in_J, *((final[x], y) for x, y in long.items())]
    A, b, Q, j = (
        sp.ImmutableMatrix(x).xreplace(final) for x in (in_names.A, in_names.b, forces, [*map(shortest, p_j)])
    )
    J = sp.ImmutableMatrix(len(p_j), n if p_j else 0, entries).xreplace(final)
    positions = [shortest(x).xreplace(final) for x in p_positions]
    eliminated = zip(derivation.dependent, p_dependent, strict=True)
    return Equations(
        name=mechanism.name,
        by=by,
        coordinates=derivation.coordinates,
        velocities=u,
        accelerations=derivation.accelerations,
        A=A,
        b=b,
        Q=Q,
        definitions=tuple((name, meaning.xreplace(final)) for name, meaning in names),
        kinematics=_kinematics(s),
        notes=_notes(mechanism),
        ranks=_ranks(derivation, by),
        multipliers=() if derivation.reduced else _multipliers(derivation, by),
        constraints=_constraint_equations(found, positions, [*(J * sp.Matrix(u) + j)] if p_j else []),
        J=J,
        j=j,
        dependent=tuple((x, _force(meaning, u, shortest).xreplace(final)) for (x, _), meaning in eliminated),
        symbols=s,
    )


def _parts(derivation: Derivation) -> list[list[sp.Expr]]:
    """Entries of A, b and Q; of J; of j; positions of constraints; what dependent velocities mean."""
    found = derivation.constraints
    shown = () if derivation.reduced else found
    return [
        [x for row in derivation.A for x in row] + [*derivation.b, *derivation.Q],
        [x for constraint in shown for x in constraint.J],
        [constraint.j for constraint in shown],
        [sp.Integer(0) if constraint.position is None else constraint.position for constraint in found],
        [meaning for _, meaning in derivation.dependent],
    ]


def _scales(derivation: Derivation) -> Scales:
    """Rows of A, b and Q make an equation; J, j and the position of a constraint another; default parameters."""
    n, shown = len(derivation.velocities), () if derivation.reduced else derivation.constraints
    rows: list[Any] = [i for i in range(n) for _ in range(n)] + [*range(n)] * 2
    rows += [f"constraint {k}" for k, constraint in enumerate(shown) for _ in constraint.J]
    rows += [f"constraint {k}" for k in range(len(shown))]
    rows += [f"constraint {k}" for k in range(len(derivation.constraints))]
    rows += [f"dependent {k}" for k in range(len(derivation.dependent))]
    s = derivation.symbols
    defaults = s.numeric.values.replaced({})
    typical = {symbol: abs(float(defaults.scalar(symbol.name))) or 1.0 for symbol in s.parameters}
    return Scales(rows, typical)


def _constraint_equations(
    found: Sequence[ScalarConstraint], positions: Sequence[sp.Expr], velocities: Sequence[sp.Expr]
) -> tuple[ConstraintEquation, ...]:
    """Readable constraint equations; of reduced equations, which have no `velocities` here, positions alone."""
    return tuple(
        ConstraintEquation(
            constraint.of,
            constraint.meaning,
            None if constraint.position is None else position,
            velocity,
        )
        for constraint, position, velocity in zip(found, positions, velocities or [None] * len(found), strict=True)
    )


def _multipliers(derivation: Derivation, by: str) -> tuple[sp.Symbol, ...]:
    """lambda_1, lambda_2, ...; of another name where the model has that already."""
    letter = FORMALISMS[by].multiplier
    s = derivation.symbols
    taken = {symbol.name for symbol in (*s.parameters, *s.q, *s.u)}
    return tuple(
        sp.Symbol(unused(f"{letter}_{i}", taken), real=True) for i in range(1, len(derivation.constraints) + 1)
    )


def _long_letters(trigonometry: Trigonometry) -> dict[sp.Symbol, sp.Expr]:
    """Roots and functions that are more than a few letters: placeholder -> meaning."""
    letters = trigonometry.letters
    long = [x for x in letters.values() if not x.is_Symbol and ink(x) > FUNCTION_LONG and not (x.is_Pow and x.exp < 0)]
    meanings: dict[sp.Symbol, sp.Expr] = {}
    short: dict[sp.Expr, sp.Expr] = {}
    for meaning in sorted(long, key=ink):  # what is inside another comes first
        name = sp.Dummy("long")
        meanings[name] = meaning.xreplace(short)
        short |= {meaning: name, 1 / meaning: 1 / name}
    letters.update({letter: short.get(meaning, meaning) for letter, meaning in letters.items()})
    return meanings


def _force(p: Any, velocities: Sequence[sp.Symbol], shortest: Shortest) -> sp.Expr:
    """A generalized force, as a whole or gathered by velocities."""
    if not p:
        return sp.Integer(0)
    present = [velocity for velocity in velocities if velocity in shortest.trigonometry.letters]
    parts = gathered(p, present)
    return min(shortest(p), sp.Add(*(monomial * shortest(part) for monomial, part in parts)), key=ink)


def _kinematics(s: Symbolic) -> Definitions:
    """Derivatives of the coordinates of balls and free bodies."""
    derivatives: list[tuple[sp.Symbol, sp.Expr]] = []
    for body in s.mechanism.bodies:
        q, u, joint = s.q[body.q], s.u[body.v], body.joint.type
        if body.laws is None and len(q) != len(u):
            changes = joint.coordinate_derivatives(q, u)
            derivatives += [
                (sp.Symbol(f"{x}'", real=True), simplified(sp.S(change))) for x, change in zip(q, changes, strict=True)
            ]
    return tuple(derivatives)


def _notes(mechanism: Mechanism) -> tuple[str, ...]:
    notes = []
    fixed = [name for name in mechanism.values.names if name not in mechanism.free]
    if fixed:
        notes.append(f"{', '.join(fixed)}: kept as numbers, because directions depend on them.")
    notes += [f"{name}: a table ({table.summary})." for name, table in mechanism.values.tables.items()]
    return tuple(notes)


def _ranks(derivation: Derivation, by: str) -> dict[sp.Symbol, Rank]:
    """The order of symbols in a product."""
    s, ranks = derivation.symbols, dict[sp.Symbol, Rank]()
    for i, symbol in enumerate(s.parameters):
        ranks[symbol] = (INERTIAL if symbol in s.inertial else GRAVITY if symbol in s.gravity else OTHER, i)
    velocities, accelerations = (*s.u, *derivation.velocities), (*s.du, *derivation.accelerations)
    for kind, symbols in ((COORDINATE, (*s.q, s.t)), (VELOCITY, velocities), (ACCELERATION, accelerations)):
        ranks.update({symbol: (kind, i) for i, symbol in enumerate(symbols)})
    ranks.update({symbol: (MULTIPLIER, i) for i, symbol in enumerate(_multipliers(derivation, by))})
    return ranks
