"""How equations stand on a page: in a terminal, and in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import sympy as sp

from momentree.symbols.formalisms import FORMALISMS
from momentree.symbols.names import escaped
from momentree.symbols.writing import Latex, Term, Text, Writer

if TYPE_CHECKING:
    from momentree.symbols.derivation import Definitions
    from momentree.symbols.equations import Equations
    from momentree.symbols.hamilton import HamiltonEquations

WIDTH = 110  # characters of a line of text
Sides = tuple[list[Term], list[Term]]


def text_lines(equations: Equations) -> Iterator[str]:
    """Title, equations, constraints, what the names mean, how coordinates follow from velocities, notes."""
    writer = Text(equations.ranks)
    yield title_of(equations) + (f", {remaining(equations, writer)}" if equations.reduced else "")
    yield ""
    for left, right in sides(equations, writer):
        yield from wrapped(left, right)
    for title, lines in constraint_sides(equations, writer):
        yield from ("", title)
        for left, right in lines:
            yield from wrapped(left, right)
    for title, definitions in meanings(equations):
        yield from ("", title)
        for symbol, meaning in definitions:
            first, *rest = wrapped(writer.terms(meaning))
            yield f"  {writer.write(symbol)} = {first.lstrip()}"
            yield from rest
    legend = [f"  {writer.write(symbol)}: {label}" for symbol, label in legend_of(equations)]
    if legend:
        yield from ("", "Lagrange multipliers", *legend)
    for note in equations.notes:
        yield from ("", note)


def title_of(equations: Equations | HamiltonEquations) -> str:
    """What they are, and by which formalism."""
    return f"{equations.name}: {FORMALISMS[equations.by].title}"


def remaining(equations: Equations, writer: Writer) -> str:
    """Which velocities remain in reduced equations."""
    return f"reduced to {', '.join(map(writer.write, equations.velocities))}"


def sides(equations: Equations, writer: Writer) -> Iterator[Sides]:
    """The terms of both sides of each equation: accelerations, then products of velocities; forces, multipliers."""
    for i, row in enumerate(equations.A.tolist()):
        left = linear_terms(row, equations.accelerations, equations.b[i], writer)
        column = equations.J[:, i].tolist() if equations.multipliers else []
        forces = writer.terms(equations.Q[i]) if equations.Q[i] != 0 else []
        pairs = zip((x for (x,) in column), equations.multipliers, strict=True)
        right = [*forces, *(term for x, multiplier in pairs if x != 0 for term in writer.terms(x * multiplier))]
        yield left, right or writer.terms(sp.Integer(0))


def constraint_sides(equations: Equations, writer: Writer) -> Iterator[tuple[str, list[Sides]]]:
    """Titles and equations of the constraints: positions, then velocities."""
    zero = writer.terms(sp.Integer(0))
    positions = [writer.terms(c.position) for c in equations.constraints if c.position is not None]
    if positions:
        yield "subject to", [(left, zero) for left in positions]
    if equations.multipliers:
        rows = [
            linear_terms(row, equations.velocities, equations.j[i], writer)
            for i, row in enumerate(equations.J.tolist())
        ]
        yield ("with velocities" if positions else "subject to"), [(left, zero) for left in rows]


def linear_terms(row: Sequence[sp.Expr], symbols: Sequence[sp.Symbol], rest: sp.Expr, writer: Writer) -> list[Term]:
    """The terms of a linear form and of what is added to it."""
    terms = [term for x, symbol in zip(row, symbols, strict=True) if x != 0 for term in writer.terms(x * symbol)]
    if rest != 0:
        terms += writer.terms(rest)
    return terms or writer.terms(sp.Integer(0))


def meanings(equations: Equations) -> Iterator[tuple[str, Definitions]]:
    """Titles and definitions that follow the equations, where there are any."""
    for title, definitions in (
        ("with", equations.dependent),
        ("where", equations.definitions),
        ("and", equations.kinematics),
    ):
        if definitions:
            yield title, definitions


def legend_of(equations: Equations) -> list[tuple[sp.Symbol, str]]:
    """Each Lagrange multiplier, and the constraint that it belongs to."""
    labels = [constraint.label for constraint in equations.constraints]
    return list(zip(equations.multipliers, labels, strict=True)) if equations.multipliers else []


def latex_lines(equations: Equations) -> Iterator[str]:
    """Equations, constraints and what the names mean, in environments of amsmath."""
    latex, text = Latex(equations.ranks), Text(equations.ranks)
    yield from aligned_equations(list(sides(equations, latex)), list(sides(equations, text)))
    both = zip(constraint_sides(equations, latex), constraint_sides(equations, text), strict=True)
    for (title, in_latex), (_, in_text) in both:
        yield title
        yield from aligned_equations(in_latex, in_text)
    for title, definitions in meanings(equations):
        yield title
        written, seen = (
            [(writer.terms(symbol), writer.terms(meaning)) for symbol, meaning in definitions]
            for writer in (latex, text)
        )
        yield from environment([latex_line(*pair) for pair in zip(written, seen, strict=True)])
    legend = [f"${latex.write(symbol)}$: {escaped(label)}" for symbol, label in legend_of(equations)]
    if legend:
        yield f"Lagrange multipliers: {'; '.join(legend)}."
    for note in equations.notes:
        yield escaped(note)


def aligned_equations(in_latex: Sequence[Sides], in_text: Sequence[Sides]) -> list[str]:
    """Equations aligned at their signs of equality, or at their beginnings where one is long."""
    long = any(_width(*seen) > WIDTH for seen in in_text)
    pairs = zip(in_latex, in_text, strict=True)
    return environment([latex_line(written, seen, aligned=not long) for written, seen in pairs])


def environment(lines: Sequence[str]) -> list[str]:
    """Lines aligned by amsmath."""
    return [r"\begin{align*}", *(f"  {line}" for line in " \\\\\n".join(lines).split("\n")), r"\end{align*}"]


def _width(*sums: Sequence[Term]) -> int:
    return sum(len(term) + 3 for terms in sums for _, term in terms)


def latex_line(written: Sides, seen: Sides, aligned: bool = True) -> str:
    """An equation in LaTeX, aligned at its sign of equality or at its beginning, broken where it is long.

    How long it is on paper is judged by the same equation as text (`seen`).
    """
    (left, right), (line, width) = written, ("" if aligned else "& ", 0)
    for i, ((minus, term), (_, text)) in enumerate(zip([*left, *right], [*seen[0], *seen[1]], strict=True)):
        if width and width + len(text) > WIDTH and not (aligned and i == len(left)):
            line, width = f"{line} \\\\\n& \\quad", 0
        if i == len(left):
            sign = (" &= " if aligned else " = ") + ("-" if minus else "")
        else:
            sign = (" - " if minus else " + ") if i else ("-" if minus else "")
        line, width = line + sign + term, width + len(text) + 3
    return line


def wrapped(left: Sequence[Term], right: Sequence[Term] = ()) -> Iterator[str]:
    """A sum, or an equation, in lines broken before signs."""
    pieces = []
    for terms, first in ((left, ""), (right, " = ")):
        for i, (minus, term) in enumerate(terms):
            sign = "-" if minus else "+"
            pieces.append(f" {sign} {term}" if i else f"{first}{'-' if minus else ''}{term}")
    line = "  "
    for piece in pieces:
        if len(line) + len(piece) > WIDTH and line.strip():
            yield line
            line = "     "
        line += piece
    yield line
