"""Equations built from constraints, in symbols: velocity field, equations of motion, L, D, the gyroscopic form, p_ij.

Every formula is that of equations/programme.py, run on SymPy scalars; numbers in brackets are those of Kaspirovich and
Mukharlyamov 2019, with the corrections of docs/theory/programme.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import sympy as sp

from momentree.equations.programme import (
    accelerations,
    coefficients,
    decay_matrix,
    deviation,
    gyroscopic_form,
    lagrangian_parts,
    left_sides,
    rayleigh_function,
)
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError
from momentree.spatial.symmetric import product
from momentree.symbols.helmholtz import Violation, tried
from momentree.symbols.layout import aligned_equations, wrapped
from momentree.symbols.names import escaped
from momentree.symbols.operations import Operations, count
from momentree.symbols.potentials import potential
from momentree.symbols.programme_symbols import ProgrammeSymbols, programme_symbols
from momentree.symbols.shortest import MANY_TERMS, Shortest, gathered, ink, simplified
from momentree.symbols.trigonometry import Trigonometry
from momentree.symbols.typeset import Typeset
from momentree.symbols.writing import ACCELERATION, COORDINATE, OTHER, VELOCITY, Latex, Rank, Text, Writer

GATHERED = 1.4  # ink of equations of motion gathered by velocities, relative to the shortest, up to which they are
LARGEST_QUOTIENT = 200  # operations of a quotient of polynomials up to which common factors are cancelled
PSI = sp.Symbol("Psi", real=True)


Lines = tuple[tuple[sp.Expr, sp.Expr], ...]

# title, formula in a terminal, formula in LaTeX
TITLES = {
    "constraints": ("constraints", "a q′ = b", r"a \dot q = b"),
    "programme": ("programme", "q′ = v", r"\dot q = v"),
    "deviations": ("deviations", "u = q′ - v", r"u = \dot q - v"),
    "motion": ("equations of motion", "", ""),
    "lagrangian": ("Lagrangian", "L = T₂ + T₁ - P", "L = T_2 + T_1 - P"),
    "gradient": ("gradient of Psi", "∂Ψ/∂q = d v", r"\partial \Psi / \partial q = d v"),
    "no gradient": ("no gradient", "d v", "d v"),
    "rayleigh": ("Rayleigh function", "D", "D"),
    "gyroscopic": ("gyroscopic form d(m v) and force", "-g q′", r"-g \dot q"),
    "dissipation": ("dissipation", "d", "d"),
    "perturbations": ("perturbations", "(m u)′ = p u", r"(m u)^{\textstyle\cdot} = p u"),
    "decay": ("decay matrix", "(½ u m u)′ = -u S u", r"(\tfrac12 u^T m u)^{\textstyle\cdot} = -u^T S u"),
}

MATRICES = ("gyroscopic", "dissipation", "perturbations", "decay")


class Block(NamedTuple):
    """Some equations: what they are, a key of TITLES; the number in the paper; pairs of left and right sides."""

    kind: str
    number: str
    lines: Lines

    @property
    def title(self) -> str:
        """For a terminal."""
        words, formula, _ = TITLES[self.kind]
        return " ".join(part for part in (words, formula, self.number) if part)

    @property
    def latex_title(self) -> str:
        """In LaTeX."""
        words, _, formula = TITLES[self.kind]
        return " ".join(part for part in (words, f"${formula}$" if formula else "", self.number) if part)


def programme_equations(
    given: ExpressionProgramme, parameters: Mapping[str, float] | None = None
) -> ProgrammeEquations:
    """The readable equations of a programme."""
    symbols, notes = programme_symbols(given, parameters), []
    violations, psi = _potential(symbols)
    if violations and symbols.parameters:
        with_numbers = symbols.at_its_parameters()
        again, found = _potential(with_numbers)
        if not again:
            violations, psi, symbols = again, found, with_numbers
            notes.append("Parameters are put in: (4.10) holds for these values, and not for all.")
    if violations:
        notes.append(f"Mode 'DQ' has no Lagrangian here. {violations[0]}")
    elif psi is None:
        notes.append("Psi was not found in closed form; its gradient is d v.")
    return ProgrammeEquations(symbols, psi, violations, tuple(notes))


def _potential(symbols: ProgrammeSymbols) -> tuple[tuple[Violation, ...], sp.Expr | None]:
    """In mode DQ, why d v is no gradient, and Psi; None if it is not found in closed form."""
    if symbols.mode != "DQ":
        return (), sp.Integer(0)
    if symbols.potential is not None:
        return (), symbols.potential
    (result,) = tried([symbols.admissibility], symbols.system)
    return result.failures, None if result.failures else potential(symbols.gradient, symbols.q)


@dataclass(frozen=True, repr=False)
class ProgrammeEquations(Typeset):
    """A programme's equations in symbols: `print` them, or see `show`, `latex`, `sympy`, `operations`.

    | field      | meaning                                                                               |
    |------------|---------------------------------------------------------------------------------------|
    | symbols    | all of it on SymPy scalars                                                            |
    | psi        | Psi of mode DQ; 0 in mode DU; None where it is not found in closed form, or not there |
    | violations | why there is no Psi: (4.10), with witness points                                      |
    | notes      | what else a reader has to know                                                        |
    """

    symbols: ProgrammeSymbols
    psi: sp.Expr | None
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = field(default=())

    # --- expressions -----------------------------------------------------------------------------------------------

    @property
    def lagrangian(self) -> sp.Expr:
        """L = T2 + T1 - P, of coordinates, velocities and time; an error where there is none in closed form."""
        if self.violations:
            raise MomentreeError(
                f"programme: mode 'DQ' has no Lagrangian, because d v is no gradient: {self.violations[0]}. "
                "Choose mode 'DU', or see rayleigh() for a dissipation that is admissible."
            )
        if self.psi is None:
            raise MomentreeError(
                "programme: Psi with grad Psi = d v was not found in closed form, so L cannot be written. "
                "Give potential= and K= instead of dissipation=."
            )
        parts = lagrangian_parts(self.symbols.fields, self.symbols.qd, self.psi)
        return sp.S(parts.T2 + parts.T1 - parts.P)

    @cached_property
    def accelerations(self) -> tuple[sp.Expr, ...]:
        """q'' solved for."""
        return tuple(sp.S(x) for x in accelerations(self.symbols.fields, self.symbols.qd))

    @cached_property
    def left_sides(self) -> tuple[sp.Expr, ...]:
        """f_i, zero: d/dt dL/dq' - dL/dq + dD/dq'."""
        s = self.symbols
        return tuple(sp.S(x) for x in left_sides(s.fields, s.qd, s.qdd))

    def sympy(self) -> dict[str, Any]:
        """Everything as SymPy objects; "L" is None where there is none in closed form."""
        s, f = self.symbols, self.symbols.fields
        closed = self.psi is not None and not self.violations
        parts = lagrangian_parts(f, s.qd, self.psi if closed else PSI)
        matrices = {
            "m": f.m, "d": f.d, "a": s.a, "p": coefficients(f, s.qd), "S": decay_matrix(f), "g": gyroscopic_form(f),
        }  # fmt: skip
        return {
            "coordinates": s.q,
            "velocities": s.qd,
            "accelerations": s.qdd,
            "t": s.t,
            "parameters": dict(s.parameters),
            "v": sp.ImmutableMatrix(f.v),
            "b": sp.ImmutableMatrix(s.b),
            "f": sp.ImmutableMatrix(self.left_sides),
            "equations": [sp.Eq(x, y, evaluate=False) for x, y in zip(s.qdd, self.accelerations, strict=True)],
            "L": self.lagrangian if closed else None,
            "T2": sp.S(parts.T2),
            "T1": sp.S(parts.T1),
            "P": sp.S(parts.P) if closed else None,
            "Psi": self.psi if closed else None,
            "D": s.dissipation,
            **{name: sp.ImmutableMatrix(matrix) for name, matrix in matrices.items()},
        }

    def operations(self) -> Operations:
        """What the accelerations cost at each step, common subexpressions computed once."""
        return count([simplified(x) for x in self.accelerations])

    # --- as a reader sees them -------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What they are."""
        return f"{self.symbols.name}: equations of motion built from constraints, mode {self.symbols.mode}"

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Titles and equations, each side as short as can be; no entries of matrices that are zero."""
        return tuple(self._short(block) for block in self._blocks())

    def _short(self, block: Block) -> Block:
        trigonometry = Trigonometry(
            [_with_denominators(side) for line in block.lines for side in line], None, simplified
        )
        shortest, s = Shortest(trigonometry), self.symbols
        moving = [x for x in (*s.qdd, *s.qd, *s.u) if x in trigonometry.letters]
        more = GATHERED if block.kind == "motion" else 1.0
        short = iter([_shorter(p, moving, shortest, more) for p in trigonometry.polynomials])
        lines = tuple(zip(short, short, strict=True))
        if block.kind in MATRICES:
            lines = tuple((x, y) for x, y in lines if y != 0) or ((sp.Symbol(str(lines[0][0])[0]), sp.Integer(0)),)
        return block._replace(lines=lines)

    def _blocks(self) -> Iterator[Block]:
        s, f = self.symbols, self.symbols.fields
        if s.b:
            rows = [sp.Add(*(x * v for x, v in zip(row, s.qd, strict=True))) for row in s.a]
            yield Block("constraints", "(2.1)", tuple(zip(rows, s.b, strict=True)))
        yield Block("programme", "(2.2)", tuple(zip(s.qd, f.v, strict=True)))
        yield Block("deviations", "(2.3)", tuple(zip(s.u, deviation(f, s.qd), strict=True)))
        yield self._motion()
        yield from self._energies()
        yield _entries("gyroscopic", "(3.8)", "g", gyroscopic_form(f), "antisymmetric")
        yield _entries("dissipation", "", "d", f.d, "symmetric")
        # velocities v + u: p depends on u alone
        p = coefficients(f, [v + u for v, u in zip(f.v, s.u, strict=True)])
        yield _entries("perturbations", f"(2.4), {self._coefficients}", "p", p, "")
        yield _entries("decay", "", "S", decay_matrix(f), "symmetric")

    def _motion(self) -> Block:
        """The equations of motion, m q'' = ..., solved for q'' if the mass matrix is diagonal."""
        s, f = self.symbols, self.symbols.fields
        number = f"{'(2.5)' if self._unit_masses else '(5.2)'} with {self._coefficients}"
        n = range(len(s.q))
        if any(f.m[i][j] != 0 for i in n for j in n if i != j):
            inertia = [sp.S(x) for x in product(f.m, s.qdd)]
            rest = [-sp.S(x) for x in left_sides(f, s.qd, [sp.Integer(0)] * len(s.q))]
            lines = tuple(zip(inertia, rest, strict=True))
        else:
            lines = tuple(zip(s.qdd, self.accelerations, strict=True))
        return Block("motion", number, lines)

    def _energies(self) -> Iterator[Block]:
        """Lagrangian and Rayleigh function."""
        s, f = self.symbols, self.symbols.fields
        with_psi = s.mode == "DQ" and any(x != 0 for x in s.gradient)
        parts = lagrangian_parts(f, s.qd, PSI if with_psi else sp.Integer(0))
        lines = [(sp.Symbol(name, real=True), sp.S(part)) for name, part in parts._asdict().items()]
        if not self.violations:
            if self.psi is not None and with_psi:
                lines.append((PSI, self.psi))
            yield Block("lagrangian", "", tuple(lines))
        if with_psi and (self.violations or self.psi is None):
            lines = [(sp.Symbol(f"(d v)_{i}", real=True), x) for i, x in enumerate(s.gradient, 1)]
            yield Block("no gradient" if self.violations else "gradient", "(4.10)", tuple(lines))
        velocities = s.qd if s.mode == "DQ" else s.u
        D = sp.S(rayleigh_function(f, velocities))
        yield Block("rayleigh", "", ((sp.Symbol("D", real=True), D),))

    @property
    def _coefficients(self) -> str:
        """The number of p_ij in the paper; both are misprinted there."""
        return "(4.8)" if self._unit_masses else "(5.3), corrected"

    @property
    def _unit_masses(self) -> bool:
        n = range(len(self.symbols.q))
        return all(self.symbols.fields.m[i][j] == (1 if i == j else 0) for i in n for j in n)

    @property
    def _ranks(self) -> dict[sp.Symbol, Rank]:
        """The order of symbols in a product."""
        s = self.symbols
        groups = ((OTHER, s.parameters), (COORDINATE, (*s.q, s.t)), (VELOCITY, (*s.qd, *s.u)), (ACCELERATION, s.qdd))
        return {symbol: (kind, i) for kind, symbols in groups for i, symbol in enumerate(symbols)}

    def heading(self) -> str:
        return self.title

    def text_lines(self) -> Iterator[str]:
        writer = Text(self._ranks)
        yield self.title
        for block in self.blocks:
            yield from ("", block.title)
            for left, right in block.lines:
                yield from wrapped(writer.terms(left), writer.terms(right))
        for note in self.notes:
            yield from ("", note)

    def latex_lines(self) -> Iterator[str]:
        latex, text = Latex(self._ranks), Text(self._ranks)
        for block in self.blocks:
            yield block.latex_title
            yield from aligned_equations(*(_sides(block, writer) for writer in (latex, text)))
        yield from map(escaped, self.notes)

    def data(self) -> dict[str, Any]:
        """The same as plain data, for --json."""
        blocks = [{"title": b.title, "lines": [[str(x), str(y)] for x, y in b.lines]} for b in self.blocks]
        return {
            "name": self.symbols.name,
            "mode": self.symbols.mode,
            "blocks": blocks,
            "notes": list(self.notes),
            "operations": self.operations()._asdict(),
        }

    def __repr__(self) -> str:
        return f"ProgrammeEquations('{self.symbols.name}': {len(self.symbols.q)} coordinates)"


# --- parts -----------------------------------------------------------------------------------------------------------


def _entries(title: str, number: str, name: str, matrix: Sequence[Sequence[Any]], kind: str) -> Block:
    """The entries of a matrix; of a symmetric or antisymmetric one, the upper half."""
    n = range(len(matrix))
    chosen = [(i, j) for i in n for j in n if not kind or j > i or (j == i and kind == "symmetric")]
    separator = "" if len(matrix) < 10 else "_"
    names = [sp.Symbol(f"{name}_{i + 1}{separator}{j + 1}", real=True) for i, j in chosen]
    return Block(title, number, tuple((x, sp.S(matrix[i][j])) for x, (i, j) in zip(names, chosen, strict=True)))


def _shorter(p: Any, moving: Sequence[sp.Symbol], shortest: Shortest, more: float) -> sp.Expr:
    """The shortest form, or the one gathered by velocities and accelerations unless it takes so much more ink."""
    if not p:
        return sp.Integer(0)
    parts = gathered(p, moving)
    by_velocities = sp.Add(*(monomial * shortest(part) for monomial, part in parts))
    if len(p) > MANY_TERMS and len(parts) > 1:
        return by_velocities
    whole = shortest(p)
    return by_velocities if ink(by_velocities) < more * ink(whole) else whole


def _with_denominators(x: sp.Expr) -> sp.Expr:
    """Numbers taken out of denominators; a quotient of polynomials in factors, if that is shorter."""
    below = [e for e in x.atoms(sp.Pow) if e.base.is_Add and e.exp.is_negative]
    if not below:
        return x
    x = x.xreplace({e: sp.factor_terms(e.base) ** e.exp for e in below})
    quotient = x.is_rational_function() and x.count_ops() <= LARGEST_QUOTIENT
    return min(x, sp.factor(x), key=ink) if quotient else x


def _sides(block: Block, writer: Writer) -> list[Any]:
    return [(writer.terms(left), writer.terms(right)) for left, right in block.lines]
