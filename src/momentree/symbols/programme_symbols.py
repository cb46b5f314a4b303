"""A programme on SymPy scalars, its Rayleigh function, and its Helmholtz conditions.

Every formula is that of equations/programme.py, run on symbols with exact numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from momentree.equations.programme import ProgrammeFields, deviation, left_sides, rayleigh_function
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.spatial.symmetric import product
from momentree.symbols.helmholtz import UNKNOWN, Case, Condition, HelmholtzReport, helmholtz_conditions
from momentree.symbols.identities import with_exact_numbers
from momentree.symbols.scalars import exact, unused
from momentree.symbols.second_order import SecondOrderSystem, second_order_system

Symbols = tuple[sp.Symbol, ...]


@dataclass(frozen=True)
class ProgrammeSymbols:
    """A programme on SymPy scalars, nothing simplified.

    | field      | meaning                                                                        |
    |------------|--------------------------------------------------------------------------------|
    | q, qd, qdd | coordinates x, velocities x', accelerations x''                                |
    | u          | deviations u_1, u_2, ...                                                       |
    | parameters | with their values                                                              |
    | fields     | velocity field, mass matrix, dissipation and derivatives                       |
    | a, b       | constraints a q' = b                                                           |
    | potential  | Psi, if it was given                                                           |
    """

    name: str
    mode: str
    q: Symbols
    qd: Symbols
    qdd: Symbols
    u: Symbols
    t: sp.Symbol
    parameters: Mapping[sp.Symbol, sp.Expr]
    fields: ProgrammeFields
    a: Sequence[Sequence[sp.Expr]]
    b: Sequence[sp.Expr]
    potential: sp.Expr | None

    @property
    def dissipation(self) -> sp.Expr:
        """D = 1/2 u' d u, or 1/2 q' d q' in mode DQ, of coordinates and velocities."""
        velocities = self.qd if self.mode == "DQ" else deviation(self.fields, self.qd)
        return sp.S(rayleigh_function(self.fields, velocities))

    @property
    def gradient(self) -> list[sp.Expr]:
        """d v, which is grad Psi in mode DQ."""
        return [sp.S(x) for x in product(self.fields.d, self.fields.v)]

    @property
    def system(self) -> SecondOrderSystem:
        """The equations of motion f = 0 with the Rayleigh function D."""
        f = [sp.S(x) for x in left_sides(self.fields, self.qd, self.qdd)]
        return second_order_system(f, self.q, self.qd, self.qdd, self.t, self.dissipation, UNKNOWN)

    @property
    def admissibility(self) -> Condition:
        """(4.10): d v is a gradient."""
        force, n = self.gradient, len(self.q)
        cases = [
            Case((i + 1, k + 1), (force[i].diff(self.q[k]), -force[k].diff(self.q[i])))
            for i, k in itertools.combinations(range(n), 2)
        ]
        return Condition("DQ", "(4.10)", "d(d_ij v_j)/dq_k = d(d_kj v_j)/dq_i", "ik", tuple(cases))

    def at_its_parameters(self) -> ProgrammeSymbols:
        """The same with numbers for parameters."""
        put = dict(self.parameters)
        replaced = ProgrammeFields(*(_mapped(part, lambda x: sp.S(x).xreplace(put)) for part in self.fields))
        a, b = (_mapped(part, lambda x: sp.S(x).xreplace(put)) for part in (self.a, self.b))
        psi = None if self.potential is None else self.potential.xreplace(put)
        return ProgrammeSymbols(
            self.name, self.mode, self.q, self.qd, self.qdd, self.u, self.t, {}, replaced, a, b, psi
        )  # fmt: skip


def programme_symbols(given: ExpressionProgramme, parameters: Mapping[str, float] | None = None) -> ProgrammeSymbols:
    """The programme on symbols; `parameters` are values other than those it was described with."""
    said = given.description
    taken = {"t", *said.parameters, *said.coordinates}
    symbols = {name: sp.Symbol(name, real=True) for name in (*said.coordinates, *said.parameters, "t")}
    q = tuple(symbols[name] for name in said.coordinates)
    numbers = {**said.parameters, **(parameters or {})}
    at = given.values(q, symbols["t"], [symbols[name] for name in said.parameters])
    a, b = given.rows(at)
    return ProgrammeSymbols(
        name=said.name,
        mode=said.mode,
        q=q,
        qd=tuple(sp.Symbol(f"{x}'", real=True) for x in q),
        qdd=tuple(sp.Symbol(f"{x}''", real=True) for x in q),
        u=tuple(sp.Symbol(unused(f"u_{i}", taken), real=True) for i in range(1, len(q) + 1)),
        t=symbols["t"],
        parameters={symbols[name]: exact(numbers[name]) for name in said.parameters},
        fields=ProgrammeFields(*(_mapped(part, _exactly) for part in given.fields(at))),
        a=_mapped(a, _exactly),
        b=_mapped(b, _exactly),
        potential=None if said.potential is None else _exactly(said.potential.evaluate(at)),
    )


def helmholtz_of(given: ExpressionProgramme, parameters: Mapping[str, float] | None = None) -> HelmholtzReport:
    """The Helmholtz conditions with the programme's Rayleigh function; in mode DQ, (4.10) as well.

    Parameters are symbols. Where the conditions fail so, they are tried at the parameters' values.
    """
    symbols = programme_symbols(given, parameters)
    report = _report(symbols)
    return report if report or not symbols.parameters else _report(symbols.at_its_parameters())


def _report(symbols: ProgrammeSymbols) -> HelmholtzReport:
    more = [symbols.admissibility] if symbols.mode == "DQ" else []
    return helmholtz_conditions(symbols.system, more=more)


def _mapped(part: Any, change: Any) -> Any:
    return [_mapped(x, change) for x in part] if isinstance(part, (list, tuple)) else change(part)


def _exactly(x: Any) -> sp.Expr:
    """A scalar with exact numbers; what stands for no exact number stays a float."""
    return with_exact_numbers(sp.S(x))[0]
