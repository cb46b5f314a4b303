"""How Hamilton's equations stand on a page: in a terminal, and in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import sympy as sp

from momentree.symbols.layout import (
    Sides,
    aligned_equations,
    constraint_sides,
    legend_of,
    linear_terms,
    meanings,
    title_of,
    wrapped,
)
from momentree.symbols.names import escaped
from momentree.symbols.scalars import unused
from momentree.symbols.writing import Latex, Text, Writer

if TYPE_CHECKING:
    from momentree.symbols.hamilton import HamiltonEquations

Section = tuple[str, list[Sides]]


def sections(equations: HamiltonEquations, writer: Writer) -> Iterator[Section]:
    """Titles and equations, in the order of the page."""
    form = equations.form
    zero = writer.terms(sp.Integer(0))
    momenta = []
    for i, row in enumerate(form.A.tolist()):
        left = linear_terms(row, form.velocities, equations.at_rest[i], writer)
        column = [x for (x,) in form.J[:, i].tolist()] if form.multipliers else []
        impulses = linear_terms(column, form.multipliers, sp.Integer(0), writer) if any(column) else []
        momenta.append((left, [*writer.terms(equations.momenta[i]), *impulses]))
    yield "momenta" + (" and constraint impulses" if form.multipliers else ""), momenta
    if equations.solved:
        yield "hence velocities", [(writer.terms(u), writer.terms(x)) for u, x in equations.solved]
    changed = [sp.Symbol(f"{p}'", real=True) for p in equations.momenta]
    pairs = zip(changed, equations.changes, strict=True)
    yield "momenta change by", [(writer.terms(p), writer.terms(x) if x != 0 else zero) for p, x in pairs]
    yield from constraint_sides(form, writer)
    if equations.hamiltonian is not None:
        H = sp.Symbol(unused("H", {symbol.name for symbol in equations.ranks}), real=True)
        yield "Hamiltonian", [(writer.terms(H), writer.terms(equations.hamiltonian))]
    for title, definitions in meanings(form):
        yield title, [(writer.terms(symbol), writer.terms(meaning)) for symbol, meaning in definitions]


def text_lines(equations: HamiltonEquations) -> Iterator[str]:
    """Title, sections, what impulses belong to, notes."""
    writer = Text(equations.ranks)
    yield title_of(equations)
    for title, lines in sections(equations, writer):
        yield from ("", title)
        for left, right in lines:
            yield from wrapped(left, right)
    legend = [f"  {writer.write(symbol)}: {label}" for symbol, label in legend_of(equations.form)]
    if legend:
        yield from ("", "Constraint impulses; their derivatives are the Lagrange multipliers", *legend)
    for note in equations.form.notes:
        yield from ("", note)


def latex_lines(equations: HamiltonEquations) -> Iterator[str]:
    """The same sections in environments of amsmath."""
    latex = Latex(equations.ranks)
    both = zip(sections(equations, latex), sections(equations, Text(equations.ranks)), strict=True)
    for (title, in_latex), (_, in_text) in both:
        yield title
        yield from aligned_equations(in_latex, in_text)
    legend = [f"${latex.write(symbol)}$: {escaped(label)}" for symbol, label in legend_of(equations.form)]
    if legend:
        yield f"Constraint impulses, whose derivatives are the Lagrange multipliers: {'; '.join(legend)}."
    for note in equations.form.notes:
        yield escaped(note)
