"""Equations of motion A u' + b = Q that a lecturer would put on a slide, from any formalism."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sympy as sp

from momentree.equations.evaluation import Evaluation
from momentree.errors import ModelError, MomentreeError, all_choices
from momentree.files.atomic_write import write_file
from momentree.model import Model
from momentree.structure import Mechanism, freeze
from momentree.symbols.coefficients import named, unused_letters
from momentree.symbols.layout import latex_document, latex_lines, text_lines
from momentree.symbols.names import plain
from momentree.symbols.operations import Operations, count
from momentree.symbols.parallel import carriers
from momentree.symbols.scalars import Symbolic, symbolic
from momentree.symbols.shortest import Shortest, gathered, ink, simplified
from momentree.symbols.trigonometry import Trigonometry
from momentree.symbols.writing import ACCELERATION, COORDINATE, GRAVITY, INERTIAL, OTHER, VELOCITY, Rank

FUNCTION_LONG = 6  # ink above which a root or function gets a name
Definitions = tuple[tuple[sp.Symbol, sp.Expr], ...]


@dataclass(frozen=True, repr=False)
class Equations:
    """A u' + b = Q in symbols: `print` it, or see `show`, `latex`, `sympy`, `operations`.

    | field         | meaning                                                                                 |
    |---------------|-----------------------------------------------------------------------------------------|
    | by            | the formalism that derived them                                                         |
    | coordinates   | q; velocities, accelerations: u and u'                                                  |
    | A, b, Q       | mass matrix; inertial terms, quadratic in the velocities; forces: gravity, springs, laws |
    | definitions   | the names that stand in A, b and Q, and what they mean; a meaning may use other names    |
    | kinematics    | derivatives of coordinates that are not velocities, as those of a ball, by the velocities    |
    | notes         | what else a reader has to know                                                          |
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

    @property
    def expanded(self) -> Equations:
        """The same without names: every definition put in."""
        meanings = dict(self.definitions)
        for _ in meanings:  # a meaning may use other names
            meanings = {symbol: meaning.xreplace(meanings) for symbol, meaning in meanings.items()}
        A, b, Q = (matrix.xreplace(meanings) for matrix in (self.A, self.b, self.Q))
        return dataclasses.replace(self, A=A, b=b, Q=Q, definitions=())

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
            "equations": [sp.Eq(one, other, evaluate=False) for one, other in zip(left, self.Q, strict=True)],
        }

    def operations(self) -> Operations:
        """What A (half of it: it is symmetric), b and Q cost at each step, common subexpressions computed once."""
        n = len(self.velocities)
        upper = [self.A[i, j] for i in range(n) for j in range(i, n)]
        return count([meaning for _, meaning in self.definitions] + upper + [*self.b, *self.Q])

    def latex(self, path: str | Path | None = None) -> str:
        """A fragment for a document that uses amsmath; with a path, also written there as a document of its own."""
        fragment = "\n".join(latex_lines(self))
        if path is None:
            return fragment
        path = Path(path)
        if path.suffix != ".tex":
            raise MomentreeError(f"{path}: LaTeX is written into a .tex file.")
        write_file(path, latex_document(self, fragment))
        return fragment

    def show(self) -> None:
        """Display the equations: typeset in a notebook, as text in a terminal."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if type(shell).__name__ == "ZMQInteractiveShell":
            sys.modules["IPython"].display.display(self)
            return
        text = str(self)
        try:
            text.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            text = plain(text)
        print(text)

    def data(self) -> dict[str, Any]:
        """The same as plain data, for --json; SymPy reads the texts if a prime is spelt out."""
        lists = ("coordinates", "velocities", "accelerations", "b", "Q")
        texts: dict[str, Any] = {name: [str(x) for x in getattr(self, name)] for name in lists}
        texts["A"] = [[str(x) for x in row] for row in self.A.tolist()]
        meanings = {name: {str(x): str(y) for x, y in getattr(self, name)} for name in ("definitions", "kinematics")}
        counted = self.operations()._asdict()
        return {"name": self.name, "by": self.by, **texts, **meanings, "notes": list(self.notes), "operations": counted}

    def _repr_latex_(self) -> str:
        return "\n".join(latex_lines(self))

    def __str__(self) -> str:
        return "\n".join(text_lines(self))

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


def derive(mechanism: Mechanism, by: str = "energy", velocities: Mapping[str, str] | None = None) -> Equations:
    """The equations of a mechanism in its free parameters; `velocities` renames velocities, as {"theta5": "w5"}."""
    if by not in FORMALISMS:
        raise MomentreeError(f"equations: there is no formalism '{by}'.{all_choices(str(by), list(FORMALISMS))}")
    if not mechanism.nv:
        raise MomentreeError(f"equations: nothing in '{mechanism.name}' is free to move.")
    s, n = symbolic(mechanism, velocities), mechanism.nv
    rows = [[sp.S(x) for x in row] for row in FORMALISMS[by](s)]
    carried = carriers(mechanism, s)
    trigonometry = Trigonometry([x for row in rows for x in row], carried, lambda x: simplified(x, carried))
    p = [trigonometry.polynomials[i * n : (i + 1) * n] for i in range(n + 2)]
    letters = unused_letters([*s.parameters, *s.q, *s.u])
    long = _long_letters(trigonometry)
    shortest = Shortest(trigonometry, s.inertial)
    in_names = named(p[:n], p[n], s.u, shortest, letters)
    forces = [_force(force, s.u, shortest) for force in p[n + 1]]
    final = {placeholder: next(letters) for placeholder in long}
    definitions = [*in_names.definitions, *((final[x], meaning) for x, meaning in long.items())]
    A, b, Q = (sp.ImmutableMatrix(x).xreplace(final) for x in (in_names.A, in_names.b, forces))
    return Equations(
        name=mechanism.name,
        by=by,
        coordinates=s.q,
        velocities=s.u,
        accelerations=s.du,
        A=A,
        b=b,
        Q=Q,
        definitions=tuple((name, meaning.xreplace(final)) for name, meaning in definitions),
        kinematics=_kinematics(s),
        notes=_notes(mechanism),
        ranks=_ranks(s),
    )


def by_energy(s: Symbolic) -> list[Sequence[Any]]:
    """Rows of A, then b, then Q: the theorem of kinetic energy, projected (Rusanov 2014)."""
    from momentree.equations.energy import energy_form

    form = energy_form(Evaluation(s.mechanism, s.q, s.t), s.u, [sp.Integer(0)] * len(s.u))
    return [*form.A, form.T, form.Q]


def by_aggregation(s: Symbolic) -> list[Sequence[Any]]:
    """Rows of A, then b, then Q: the aggregative forms (Belkov and Konoplev 1997)."""
    from momentree.equations.aggregative import first_form, mass_matrix, second_form

    at = Evaluation(s.mechanism, s.q, s.t)
    b, d = (form(at, s.u).b for form in (first_form, second_form))
    return [*mass_matrix(at), b, [x - y for x, y in zip(b, d, strict=True)]]


FORMALISMS: dict[str, Callable[[Symbolic], list[Sequence[Any]]]] = {
    "energy": by_energy,
    "aggregative": by_aggregation,
}


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
    if mechanism.loops or mechanism.constraints:
        closed = [*(loop.name for loop in mechanism.loops), *(constraint.name for constraint in mechanism.constraints)]
        names = ", ".join(f"'{name}'" for name in closed)
        notes.append(f"These are the equations of the spanning tree: the forces that close {names} are not in them.")
    fixed = [name for name in mechanism.values.names if name not in mechanism.free]
    if fixed:
        notes.append(f"{', '.join(fixed)}: kept as numbers, because directions depend on them.")
    return tuple(notes)


def _ranks(s: Symbolic) -> dict[sp.Symbol, Rank]:
    """The order of symbols in a product."""
    ranks: dict[sp.Symbol, Rank] = {}
    for i, symbol in enumerate(s.parameters):
        ranks[symbol] = (INERTIAL if symbol in s.inertial else GRAVITY if symbol in s.gravity else OTHER, i)
    for kind, symbols in ((COORDINATE, (*s.q, s.t)), (VELOCITY, s.u), (ACCELERATION, s.du)):
        ranks.update({symbol: (kind, i) for i, symbol in enumerate(symbols)})
    return ranks
