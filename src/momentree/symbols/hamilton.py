"""Hamilton's equations in symbols: momenta by velocities, and how momenta change (Ivanov 2022, (5) and (6)).

    A u + a = p + J' eta ,     J u + j = 0                                 determine velocities u and impulses eta (Q3)
    p' = h(q, u, t) + Q - (dJ/dt)' eta                                                                             (Q4)

h = (A'' - A' Omega) mu is dT/dq where u = q'; a is the momentum that prescribed motions cause. Without loops there is
no eta, and (Q3) is p = dT/du. With loops p is the paper's p*, the momentum less the constraint impulses: its (6) with
mu* in place of mu, written for scalar constraints. The derivative of (Q3) and (Q4) give A u' + b = Q + J' eta', so
that eta' are the Lagrange multipliers. Where A is small, (Q3) is solved for u, and the Hamiltonian is H = p.u - T + V.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from momentree.equations.hamiltonian import momenta
from momentree.symbols.derivation import Definitions
from momentree.symbols.hamilton_layout import latex_lines, text_lines
from momentree.symbols.lagrangian import lagrangian
from momentree.symbols.layout import title_of
from momentree.symbols.operations import Operations, count
from momentree.symbols.parallel import carriers
from momentree.symbols.scalars import Symbolic, unused
from momentree.symbols.shortest import Effort, simplified
from momentree.symbols.typeset import Typeset
from momentree.symbols.writing import MOMENTUM, Rank

if TYPE_CHECKING:
    from momentree.symbols.equations import Equations
    from momentree.symbols.steps.page import DerivationSteps

LARGEST_SOLVED = 2  # momenta for which (Q3) is solved for the velocities


@dataclass(frozen=True, repr=False)
class HamiltonEquations(Typeset):
    """Hamilton's equations: `print` them, or see `show`, `latex`, `sympy`, `operations`, `derivation`.

    | field       | meaning                                                                                    |
    |-------------|--------------------------------------------------------------------------------------------|
    | form        | A, -h as b, Q, J, j and everything else that A u' + b = Q + J' lambda has (`Equations`)    |
    | momenta     | symbols p, one for each velocity                                                           |
    | at_rest     | a: momenta while u = 0, by prescribed motions                                              |
    | changes     | p': h + Q - (dJ/dt)' eta                                                                   |
    | multipliers | constraint impulses eta, one for each constraint                                           |
    | solved      | velocities by momenta, where that is short                                                 |
    | hamiltonian | H(q, p, t) there, else None; of forces with a smooth potential                             |
    """

    form: Equations
    momenta: tuple[sp.Symbol, ...]
    at_rest: sp.ImmutableMatrix
    changes: sp.ImmutableMatrix
    solved: Definitions
    hamiltonian: sp.Expr | None
    ranks: Mapping[sp.Symbol, Rank]

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.form.name

    @property
    def by(self) -> str:
        """The formalism that derived them."""
        return self.form.by

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        """q."""
        return self.form.coordinates

    @property
    def velocities(self) -> tuple[sp.Symbol, ...]:
        """u."""
        return self.form.velocities

    @property
    def multipliers(self) -> tuple[sp.Symbol, ...]:
        """Constraint impulses eta."""
        return self.form.multipliers

    @property
    def symbols(self) -> Symbolic:
        """The mechanism on symbols."""
        assert self.form.symbols is not None
        return self.form.symbols

    @property
    def expanded(self) -> HamiltonEquations:
        """The same without names for long expressions."""
        meanings = self.form.meanings
        changes, at_rest = (x.xreplace(meanings) for x in (self.changes, self.at_rest))
        solved = tuple((u, x.xreplace(meanings)) for u, x in self.solved)
        H = None if self.hamiltonian is None else self.hamiltonian.xreplace(meanings)
        return replace(self, form=self.form.expanded, changes=changes, at_rest=at_rest, solved=solved, hamiltonian=H)

    def momentum_equations(self) -> list[tuple[sp.Expr, sp.Expr]]:
        """Both sides of (Q3): A u + a, and p + J' eta."""
        left = self.form.A * sp.Matrix(self.velocities) + self.at_rest
        impulses = self.form.J.T * sp.Matrix(self.multipliers) if self.multipliers else sp.zeros(len(left), 1)
        return [(x, p + y) for x, p, y in zip(left, self.momenta, impulses, strict=True)]

    def sympy(self) -> dict[str, Any]:
        """Everything as SymPy objects: symbols, both sets of equations, constraints, the Hamiltonian."""
        theirs = self.form.sympy()
        same = (
            "coordinates",
            "velocities",
            "A",
            "Q",
            "definitions",
            "kinematics",
            "multipliers",
            "J",
            "j",
            "positions",
        )
        derivatives = [sp.Symbol(f"{p}'", real=True) for p in self.momenta]
        return {
            **{name: theirs[name] for name in same},
            "constraint velocities": theirs["constraint velocities"],
            "momenta": self.momenta,
            "momentum equations": [sp.Eq(*sides, evaluate=False) for sides in self.momentum_equations()],
            "momentum derivatives": [
                sp.Eq(p, x, evaluate=False) for p, x in zip(derivatives, self.changes, strict=True)
            ],
            "solved": dict(self.solved),
            "H": self.hamiltonian,
        }

    def heading(self) -> str:
        return title_of(self)

    def text_lines(self) -> Iterator[str]:
        return text_lines(self)

    def latex_lines(self) -> Iterator[str]:
        return latex_lines(self)

    def operations(self) -> Operations:
        """What A (half of it), a, J, j and p' cost at each step, common subexpressions computed once."""
        n, A = len(self.velocities), self.form.A
        upper = [A[i, j] for i in range(n) for j in range(i, n)]
        meanings = [meaning for _, meaning in self.form.definitions]
        return count([*meanings, *upper, *self.at_rest, *self.changes, *self.form.J, *self.form.j])

    def derivation(self) -> DerivationSteps:
        """How they are derived, step by step."""
        from momentree.symbols.steps.derivation_steps import steps_of

        return steps_of(self)

    def data(self) -> dict[str, Any]:
        """The same as plain data, for --json."""
        theirs = self.form.data()
        same = ("coordinates", "velocities", "A", "Q", "definitions", "kinematics", "multipliers", "J", "j")
        return {
            "name": self.name,
            "by": self.by,
            **{name: theirs[name] for name in (*same, "constraints", "notes")},
            "momenta": [str(p) for p in self.momenta],
            "momenta at rest": [str(x) for x in self.at_rest],
            "momentum derivatives": [str(x) for x in self.changes],
            "solved": {str(u): str(x) for u, x in self.solved},
            "H": None if self.hamiltonian is None else str(self.hamiltonian),
            "operations": self.operations()._asdict(),
        }

    def __repr__(self) -> str:
        return f"HamiltonEquations('{self.name}': {len(self.momenta)} momenta)"


def hamilton_equations(form: Equations) -> HamiltonEquations:
    """The equations of Hamilton from A, -h, Q and J."""
    s = form.symbols
    assert s is not None
    carried, effort = carriers(s.numeric, s), Effort()

    def short(x: sp.Expr) -> sp.Expr:
        return x if x.is_Atom else simplified(x, carried, s.quaternions, effort)

    p = _momentum_symbols(s)
    rest = [short(sp.S(x)) for x in momenta(s.evaluation, [sp.Integer(0)] * len(s.u))]
    moving = form.expanded.J.applyfunc(lambda x: short(s.total_derivative(x))) if form.multipliers else form.J
    impulses = moving.T * sp.Matrix(form.multipliers) if form.multipliers else sp.zeros(len(p), 1)
    changes = sp.ImmutableMatrix([Q - b - y for Q, b, y in zip(form.Q, form.b, impulses, strict=True)])
    solved, H = _solved(form, p, rest, short) if not form.multipliers and len(p) <= LARGEST_SOLVED else ((), None)
    ranks = {**form.ranks, **{symbol: (MOMENTUM, i) for i, symbol in enumerate(p)}}
    return HamiltonEquations(form, p, sp.ImmutableMatrix(rest), changes, solved, H, ranks)


def _momentum_symbols(s: Symbolic) -> tuple[sp.Symbol, ...]:
    """p_phi for a velocity phi'; of another name where the model has that already."""
    taken = {symbol.name for symbol in (*s.parameters, *s.q, *s.u)}
    return tuple(sp.Symbol(unused(f"p_{u.name.rstrip(chr(39))}", taken), real=True) for u in s.u)


def _solved(form: Equations, p: tuple[sp.Symbol, ...], rest: list[sp.Expr], short: Any) -> tuple[Definitions, sp.Expr]:
    """u = A^-1 (p - a), and H = (p - a)' A^-1 (p - a) / 2 - T(u = 0) + V."""
    s = form.symbols
    assert s is not None
    L = lagrangian(s)
    A = form.expanded.A
    given = sp.Matrix([x - y for x, y in zip(p, rest, strict=True)])
    determinant = short(A.det())
    above = [short(x) for x in A.adjugate() * given]
    u = [x / determinant for x in above]
    still = dict.fromkeys(s.u, sp.Integer(0))
    T2 = short((given.T * sp.Matrix(above))[0]) / determinant / 2
    return tuple(zip(form.velocities, u, strict=True)), T2 + short(L.potential - L.kinetic.xreplace(still))
