"""The formalisms that derive equations of motion in symbols: each gives the rows of A u' + b = Q of the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import sympy as sp

from momentree.symbols.scalars import Symbolic

Rows = list[Sequence[Any]]  # rows of A, then b, then Q


class Formalism(NamedTuple):
    """A formalism.

    | field      | meaning                                                                          |
    |------------|----------------------------------------------------------------------------------|
    | title      | how it is called in a title                                                      |
    | rows       | derives A, b and Q                                                               |
    | separate   | whether each body is by itself, and all joints are constraints                   |
    | multiplier | the letter of its multipliers: forces lambda, or impulses eta                    |
    """

    title: str
    rows: Callable[[Symbolic], Rows]
    separate: bool = False
    multiplier: str = "lambda"


def by_energy(s: Symbolic) -> Rows:
    """The theorem of kinetic energy, projected (Rusanov 2014)."""
    from momentree.equations.energy import energy_form

    form = energy_form(s.evaluation, s.u, [sp.Integer(0)] * len(s.u))
    return [*form.A, form.T, form.Q]


def by_aggregation(s: Symbolic) -> Rows:
    """The aggregative forms (Belkov and Konoplev 1997)."""
    from momentree.equations.aggregative import first_form, mass_matrix, second_form

    at = s.evaluation
    b, d = (form(at, s.u).b for form in (first_form, second_form))
    return [*mass_matrix(at), b, [x - y for x, y in zip(b, d, strict=True)]]


def by_lagrange(s: Symbolic) -> Rows:
    """Lagrange's equations of the second kind, by differentiation."""
    from momentree.symbols.lagrangian import lagrangian

    return [*lagrangian(s).rows()]


def by_hamilton(s: Symbolic) -> Rows:
    """Hamilton's equations: A of the momenta A u, and p' = -b + Q (Ivanov 2022)."""
    from momentree.equations.aggregative import mass_matrix
    from momentree.equations.hamiltonian import momentum_derivatives

    at = s.evaluation
    still, whole = (momentum_derivatives(at, s.u, forces) for forces in (False, True))
    return [*mass_matrix(at), [-x for x in still], [y - x for x, y in zip(still, whole, strict=True)]]


FORMALISMS = {
    "energy": Formalism("equations of motion by the theorem of kinetic energy", by_energy),
    "aggregative": Formalism("equations of motion by the aggregative forms", by_aggregation),
    "lagrange": Formalism("Lagrange's equations of the second kind", by_lagrange),
    "hamiltonian": Formalism("Hamilton's equations", by_hamilton, multiplier="eta"),
    "newton_euler": Formalism("Newton's and Euler's equations of each body", by_energy, separate=True),
}
