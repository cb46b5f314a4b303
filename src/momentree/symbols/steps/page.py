"""A derivation on a page: steps with titles, lines with numbers (D1), (D2), ...; as text, in LaTeX, in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sympy as sp

from momentree.errors import MomentreeError, suggestion
from momentree.spatial import Vector
from momentree.symbols.layout import WIDTH, Sides, environment, latex_line, wrapped
from momentree.symbols.names import COMMANDS, DIGITS, NAMES, SUBSCRIPTS, SUPERSCRIPTS, escaped
from momentree.symbols.parallel import carriers
from momentree.symbols.scalars import Symbolic
from momentree.symbols.shortest import simplified
from momentree.symbols.typeset import Typeset
from momentree.symbols.writing import BASIS, FUNCTION, MULTIPLIER, Latex, Rank, Text, Writer

LETTER = "D"  # of line numbers: papers have numbers without a letter
SIGNS = {
    **{letter: rf"$\{name}$" for letter, name in NAMES.items() if name in COMMANDS},
    **{low: f"$_{digit}$" for low, digit in zip(SUBSCRIPTS, DIGITS, strict=True)},
    **{high: f"$^{digit}$" for high, digit in zip(SUPERSCRIPTS, DIGITS, strict=True)},
    **{"′": "$'$", "″": "$''$", "·": r"$\cdot$", "×": r"$\times$", "∂": r"$\partial$", "⁻": "$^{-}$", "…": r"\ldots{}"},
}
INDEXED = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z])_([A-Za-z0-9]+)(?![A-Za-z0-9_])")
LONGEST_NAME = 30  # characters of the name of a body


class Spelling(NamedTuple):
    """How a label is written: in a terminal, and in LaTeX."""

    text: str
    latex: str


class Line(NamedTuple):
    """An equation of a derivation: left = right; each side is a sum, whose parts are written in this order."""

    number: str
    parts: tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]

    @property
    def left(self) -> sp.Expr:
        """The left side."""
        return sp.Add(*self.parts[0])

    @property
    def right(self) -> sp.Expr:
        """The right side."""
        return sp.Add(*self.parts[1])

    def sides(self, writer: Writer) -> Sides:
        """Both sides as they are written."""
        left, right = ([term for part in parts for term in writer.terms(part)] for parts in self.parts)
        return left, right


class Step(NamedTuple):
    """A step: what is done, in a title and a remark, and its lines."""

    title: str
    remark: str
    lines: tuple[Line, ...]


class _Labelled(Writer):
    """A writer that knows labels, and puts components of vectors in the order of the axes."""

    def __init__(self, ranks: Mapping[sp.Symbol, Rank], labels: Mapping[sp.Symbol, Spelling]):
        super().__init__(ranks)
        self.labels = labels

    def _term_order(self, x: sp.Expr) -> Any:
        along = [self.ranks[e][1] for e in x.free_symbols if self.ranks.get(e, (0, 0))[0] == BASIS]
        return (min(along) if len(along) == 1 else 0, *super()._term_order(x))


class _Text(_Labelled, Text):
    def _atom(self, x: sp.Expr) -> str:
        return self.labels[x].text if x in self.labels else super()._atom(x)


class _Latex(_Labelled, Latex):
    def _atom(self, x: sp.Expr) -> str:
        return self.labels[x].latex if x in self.labels else super()._atom(x)


@dataclass(frozen=True, repr=False)
class DerivationSteps(Typeset):
    """How equations of motion are derived: `print` it, or see `show`, `latex`; `steps["D3"]` is a line of it."""

    title: str
    steps: tuple[Step, ...]
    ranks: Mapping[sp.Symbol, Rank] = field(default_factory=dict)
    labels: Mapping[sp.Symbol, Spelling] = field(default_factory=dict)

    def heading(self) -> str:
        return self.title

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, in order."""
        return tuple(line for step in self.steps for line in step.lines)

    def __getitem__(self, number: str) -> Line:
        by_number = {line.number: line for line in self.lines}
        if number not in by_number:
            raise MomentreeError(f"derivation: there is no line '{number}'.{suggestion(str(number), by_number)}")
        return by_number[number]

    def text(self, line: Line) -> str:
        """A line as text, without its number."""
        writer = _Text(self.ranks, self.labels)
        return " ".join(part.strip() for part in wrapped(*line.sides(writer)))

    def data(self) -> dict[str, Any]:
        """The same as plain data, for --json."""
        steps = [
            {
                "title": s.title,
                "remark": s.remark,
                "lines": [{"number": x.number, "text": self.text(x)} for x in s.lines],
            }
            for s in self.steps
        ]
        return {"title": self.title, "steps": steps}

    def latex_lines(self) -> Iterator[str]:
        latex, text = _Latex(self.ranks, self.labels), _Text(self.ranks, self.labels)
        for number, step in enumerate(self.steps, 1):
            yield from ("", f"{number}. {_said(step.title)}{': ' if step.remark else '.'}{_said(step.remark)}")
            lines = []
            for line in step.lines:
                written, seen = line.sides(latex), line.sides(text)
                lines.append(latex_line(written, seen) + rf" \tag{{{line.number}}}")
            if lines:
                yield from environment(lines)

    def text_lines(self) -> Iterator[str]:
        writer = _Text(self.ranks, self.labels)
        yield self.title
        for number, step in enumerate(self.steps, 1):
            yield from ("", f"{number}. {step.title}")
            if step.remark:
                yield f"   {step.remark}"
            for line in step.lines:
                *before, last = wrapped(*line.sides(writer))
                yield from before
                yield f"{last:<{WIDTH - 6}}  ({line.number})"

    def __repr__(self) -> str:
        return f"DerivationSteps('{self.title}': {len(self.steps)} steps)"


def in_latex(text: str) -> str:
    """Words in LaTeX; Greek letters and signs of mathematics among them."""
    return "".join(SIGNS.get(c) or escaped(c) for c in text)


def _said(text: str) -> str:
    """A sentence of a derivation in LaTeX: letters with an index, u_s and V_parent, as mathematics."""
    parts = INDEXED.split(text)  # words, letter, index, words, letter, index, ..., words
    words = [in_latex(part) for part in parts[::3]]
    letters = [rf"${a}_{{\mathrm{{{i}}}}}$" for a, i in zip(parts[1::3], parts[2::3], strict=True)]
    return "".join(one for pair in zip(words, [*letters, ""], strict=True) for one in pair)


class Page:
    """A derivation while it is written."""

    def __init__(self, s: Symbolic, ranks: Mapping[sp.Symbol, Rank]):
        self.s, self.ranks, self.labels = s, dict(ranks), dict[sp.Symbol, Spelling]()
        self._carried = carriers(s.numeric, s)
        self._steps: list[Step] = []
        self._lines: list[Line] = []
        self._known: dict[Spelling, sp.Symbol] = {}
        self._count = 0
        taken = {symbol.name for symbol in (*s.parameters, *s.q)}
        plain = ("i", "j", "k") if not taken & {"i", "j", "k"} else ("e_x", "e_y", "e_z")
        bold = (r"\mathbf{i}", r"\mathbf{j}", r"\mathbf{k}")
        self.basis = tuple(
            self.label(Spelling(*both), (BASIS, n)) for n, both in enumerate(zip(plain, bold, strict=True))
        )

    def label(self, spelling: Spelling, rank: Rank = (FUNCTION, 2)) -> sp.Symbol:
        """A symbol that is written as said; the same spelling is the same symbol."""
        if spelling not in self._known:
            symbol = sp.Dummy(spelling.text, real=True)
            self._known[spelling], self.labels[symbol], self.ranks[symbol] = symbol, spelling, rank
        return self._known[spelling]

    def of_body(self, letter: str, latex: str, body: str, index: sp.Symbol | None = None) -> sp.Symbol:
        """V(rod), or v_x(rod) of a velocity."""
        name = body if len(body) <= LONGEST_NAME else f"{body[: LONGEST_NAME - 1]}…"
        text, tex = letter, latex
        if index is not None:
            text += f"_{Text(self.ranks).write(index)}"
            tex += rf"_{{{Latex(self.ranks).write(index)}}}"
        return self.label(Spelling(f"{text}({name})", rf"{tex}(\text{{{in_latex(name)}}})"), (MULTIPLIER, 0))

    def dot(self, a: sp.Symbol, b: sp.Symbol) -> sp.Symbol:
        """The scalar product of two labels, not worked out."""
        (text_a, tex_a), (text_b, tex_b) = self.labels[a], self.labels[b]
        return self.label(Spelling(f"{text_a}·{text_b}", rf"{tex_a} \cdot {tex_b}"), (MULTIPLIER, 1))

    def short(self, x: Any) -> sp.Expr:
        """As short as can be."""
        x = sp.S(x)
        return x if x.is_Atom else simplified(x, self._carried, self.s.quaternions)

    def vector(self, v: Vector) -> sp.Expr:
        """A vector by its components along i, j, k; a factor that they share stands before it."""
        components = [self.short(x) for x in v]
        whole = self.short(sp.Add(*(x * e for x, e in zip(components, self.basis, strict=True))))
        if whole.is_Mul:
            return whole
        return sp.Add(*(x * e for x, e in zip(components, self.basis, strict=True)))

    def by_velocities(self, v: Vector) -> sp.Expr:
        """A vector as a sum of products of velocities, each with its own vector."""
        u = [symbol for symbol in (*self.s.u, *self.s.du) if any(sp.S(x).has(symbol) for x in v)]
        if not u:
            return self.vector(v)
        polynomials = [sp.Poly(sp.expand(sp.S(x)), *u) for x in v]
        monomials = sorted({m for p in polynomials for m in p.monoms()}, reverse=True)
        parts = []
        for monomial in monomials:
            along = self.vector(Vector(*(p.coeff_monomial(monomial) for p in polynomials)))
            parts.append(sp.Mul(*(x**k for x, k in zip(u, monomial, strict=True))) * along)
        return sp.Add(*parts)

    def step(self, title: str, remark: str = "") -> None:
        """Begin a step."""
        self._close()
        self._title, self._remark = title, remark

    def line(self, left: sp.Expr | Sequence[sp.Expr], right: sp.Expr | Sequence[sp.Expr]) -> None:
        """Write left = right; a sequence is a sum in its own order."""
        self._count += 1
        left, right = (tuple(x) if isinstance(x, (list, tuple)) else (sp.S(x),) for x in (left, right))
        zero = (sp.Integer(0),)
        parts = (tuple(x for x in left if x != 0) or zero, tuple(x for x in right if x != 0) or zero)
        self._lines.append(Line(f"{LETTER}{self._count}", parts))

    def _close(self) -> None:
        if hasattr(self, "_title") and (self._lines or self._remark):
            self._steps.append(Step(self._title, self._remark, tuple(self._lines)))
        self._lines = []

    def done(self, title: str) -> DerivationSteps:
        """The whole derivation."""
        self._close()
        return DerivationSteps(title, tuple(self._steps), self.ranks, self.labels)
