"""Symbolic operations of the theorem of kinetic energy, projected, against Lagrange's equations of the second kind.

    python benchmarks/symbolic_lagrange.py [--planar 1 2 3 4 5 6] [--spatial 1 2 3 4] [--write FILE]

Rusanov 2014 says that his algorithm has "a lower level of mathematical complexity" than Lagrange's method. Here both
derive A u' + b = Q of the same chains, in the same joint angles, on the same scalars. Counted are multiplications,
additions and sines of the lower half of A and of b - Q, common subexpressions once (symbols/operations.py):

| column    | expressions                                                                               |
|-----------|-------------------------------------------------------------------------------------------|
| derived   | as the formalism leaves them: nothing is multiplied out or simplified                     |
| expanded  | normal forms of both, which are the same polynomials: what any correct derivation ends at |

No time is measured: counts do not depend on the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sympy as sp

import momentree as mt
from momentree.symbols.equations import freed
from momentree.symbols.formalisms import FORMALISMS
from momentree.symbols.operations import count
from momentree.symbols.scalars import symbolic
from momentree.symbols.trigonometry import Trigonometry

AXES = "zyx"
PAGE = """# Is the theorem of kinetic energy simpler than Lagrange's method?

Rusanov 2014 concludes that "compared with Lagrange's method, the proposed algorithm has a lower level of mathematical
complexity of the operations" for T_s. This page measures that, by `python benchmarks/symbolic_lagrange.py`: operations
(multiplications, additions, sines and cosines) of mass matrix and b - Q of a chain of n links, common subexpressions
computed once. Both formalisms use the same joint angles and the same scalars.

{tables}
*derived*: expressions as the formalism leaves them. *expanded*: the same equations multiplied out, which are the same
for both (`tests/agree/test_symbolic_formalisms.py` proves the difference to be zero).

What follows, and what does not:

- For the work of deriving, the claim holds as chains get longer. From two links on, Lagrange's method leaves {planar}
  times the operations in the plane and {spatial} times in space; a factor below 1 is a case against the claim. It grows
  with n: Lagrange's method differentiates T twice, in u and then along the motion, and much of what d/dt dT/du and
  dT/dq produce cancels. The projection never makes these terms.
- It does not hold for the result. Both end at the same equations, and once these are simplified nothing tells which
  formalism they came from. Multiplied out, they cost more than either derivation as soon as there are a few links.
- It is no property of this paper's algorithm alone: what makes it short are partial velocities, as in Kane's method.
  Recursive forms need fewer operations than either ([symbolic chains](symbolic-chain.md),
  [operation counts](operation-counts.md)).
"""


class Row(NamedTuple):
    """Operations for a chain of n links."""

    n: int
    energy: int
    lagrange: int
    expanded: int


def chain(n: int, spatial: bool) -> mt.Model:
    """n links with mass m, length l, center of mass at c, moments of inertia I, J, K; axes z, or z, y, x in turn."""
    m = mt.Model(f"chain of {n}", gravity=(0, "-g", 0))
    m.parameter("g", 9.81)
    end: Any = m.ground
    for i in range(1, n + 1):
        for letter in "mlcIJK":
            m.parameter(f"{letter}{i}", 1.0)
        link = m.body(f"link {i}", mass=f"m{i}", com=(f"c{i}", 0, 0), inertia=(f"I{i}", f"J{i}", f"K{i}"))
        m.joint(f"q{i}", mt.Revolute(AXES[(i - 1) % 3] if spatial else "z"), end, link)
        end = link.at((f"l{i}", 0, 0))
    return m


def expressions(n: int, spatial: bool, by: str) -> list[sp.Expr]:
    """The lower half of A, and b - Q."""
    s = symbolic(freed(chain(n, spatial)))
    rows = [[sp.S(x) for x in row] for row in FORMALISMS[by].rows(s)]
    lower = [x for i, row in enumerate(rows[:n]) for x in row[: i + 1]]
    return [*lower, *(b - Q for b, Q in zip(rows[n], rows[n + 1], strict=True))]


def measured(n: int, spatial: bool) -> Row:
    """Operations by both formalisms; an error if they do not agree."""
    energy, lagrange = (expressions(n, spatial, by) for by in ("energy", "lagrange"))
    both = Trigonometry([*energy, *lagrange])
    half = len(energy)
    if both.polynomials[:half] != both.polynomials[half:]:
        raise AssertionError(f"{n} links: the formalisms do not agree.")
    normal = [p.as_expr().xreplace(both.letters) for p in both.polynomials[:half]]
    return Row(n, *(sum(count(x)) for x in (energy, lagrange, normal)))


def table(rows: Sequence[Row]) -> str:
    """A table in Markdown, aligned."""
    head = ("n", "energy, derived", "Lagrange, derived", "Lagrange / energy", "expanded")
    cells = [
        (str(r.n), str(r.energy), str(r.lagrange), f"{r.lagrange / max(r.energy, 1):.1f}", str(r.expanded))
        for r in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    lines = [head, tuple("-" * width for width in widths), *cells]
    return "\n".join(f"| {' | '.join(x.ljust(w) for x, w in zip(line, widths, strict=True))} |" for line in lines)


def span(rows: Sequence[Row]) -> str:
    """ "1.2 to 3.4"."""
    ratios = [r.lagrange / r.energy for r in rows if r.n > 1]
    return f"{min(ratios):.1f} to {max(ratios):.1f}"


def page(planar: Sequence[int], spatial: Sequence[int]) -> str:
    """The page."""
    flat, deep = ([measured(n, kind) for n in links] for links, kind in ((planar, False), (spatial, True)))
    tables = f"Planar chain, axes z:\n\n{table(flat)}\n\nSpatial chain, axes z, y, x in turn:\n\n{table(deep)}\n"
    return PAGE.format(tables=tables, planar=span(flat), spatial=span(deep))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planar", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--spatial", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--write", type=Path, help="also write the page into this file")
    given = parser.parse_args()
    text = page(given.planar, given.spatial)
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
