"""How equations stand on a page: in a terminal, and in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import sympy as sp

from momentree.symbols.names import escaped
from momentree.symbols.writing import Latex, Term, Text, Writer

if TYPE_CHECKING:
    from momentree.symbols.equations import Equations

WIDTH = 110  # characters of a line of text
Sides = tuple[list[Term], list[Term]]
TITLES = {"energy": "the theorem of kinetic energy", "aggregative": "the aggregative forms"}


def text_lines(equations: Equations) -> Iterator[str]:
    """Title, equations, what the names mean, how coordinates follow from velocities, notes."""
    writer = Text(equations.ranks)
    yield f"{equations.name}: equations of motion by {TITLES.get(equations.by, equations.by)}"
    yield ""
    for left, right in sides(equations, writer):
        yield from _wrapped(left, right)
    for title, definitions in (("where", equations.definitions), ("and", equations.kinematics)):
        if definitions:
            yield from ("", title)
        for symbol, meaning in definitions:
            first, *rest = _wrapped(writer.terms(meaning))
            yield f"  {writer.write(symbol)} = {first.lstrip()}"
            yield from rest
    for note in equations.notes:
        yield from ("", note)


def sides(equations: Equations, writer: Writer) -> Iterator[Sides]:
    """The terms of both sides of each equation: accelerations, then products of velocities; forces."""
    for i, row in enumerate(equations.A.tolist()):
        left = [
            term for a, du in zip(row, equations.accelerations, strict=True) if a != 0 for term in writer.terms(a * du)
        ]
        if equations.b[i] != 0:
            left += writer.terms(equations.b[i])
        yield left or writer.terms(sp.Integer(0)), writer.terms(equations.Q[i])


def latex_lines(equations: Equations) -> Iterator[str]:
    """Equations and what the names mean, in environments of amsmath."""
    latex, text = Latex(equations.ranks), Text(equations.ranks)
    pairs = list(zip(sides(equations, latex), sides(equations, text), strict=True))
    long = any(_width(*seen) > WIDTH for _, seen in pairs)
    yield from _environment([_latex_line(written, seen, aligned=not long) for written, seen in pairs])
    for title, definitions in (("where", equations.definitions), ("and", equations.kinematics)):
        if definitions:
            yield title
            in_latex, in_text = (
                [(writer.terms(symbol), writer.terms(meaning)) for symbol, meaning in definitions]
                for writer in (latex, text)
            )
            yield from _environment([_latex_line(*pair) for pair in zip(in_latex, in_text, strict=True)])
    for note in equations.notes:
        yield escaped(note)


def latex_document(equations: Equations, fragment: str) -> str:
    """The fragment as a document that compiles by itself."""
    title = f"{equations.name}: equations of motion by {TITLES.get(equations.by, equations.by)}"
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage[a4paper,margin=2cm]{geometry}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage{amsmath}",
            r"\begin{document}",
            r"\noindent",
            escaped(title),
            fragment,
            r"\end{document}",
            "",
        ]
    )


def _environment(lines: Sequence[str]) -> list[str]:
    return [r"\begin{align*}", *(f"  {line}" for line in " \\\\\n".join(lines).split("\n")), r"\end{align*}"]


def _width(*sums: Sequence[Term]) -> int:
    return sum(len(term) + 3 for terms in sums for _, term in terms)


def _latex_line(written: Sides, seen: Sides, aligned: bool = True) -> str:
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


def _wrapped(left: Sequence[Term], right: Sequence[Term] = ()) -> Iterator[str]:
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
