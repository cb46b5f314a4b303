"""A second-order system f(q, q', q'', t) = 0 as a user gives it in SymPy: checked, on real symbols, exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from momentree.errors import MomentreeError, suggestion
from momentree.symbols.identities import Undefined, with_exact_numbers

Symbols = tuple[sp.Symbol, ...]


@dataclass(frozen=True)
class SecondOrderSystem:
    """Equations on real symbols.

    | field                | meaning                                                            |
    |----------------------|--------------------------------------------------------------------|
    | f                    | left sides                                                         |
    | q, qd, qdd, qddd, t  | coordinates, velocities, accelerations, their derivatives, time    |
    | parameters           | all other symbols                                                  |
    | dissipation          | Rayleigh function D(q, q', t), None for none, or a word for one    |
    | exact                | whether every number is exact                                      |
    | given                | what each symbol is called by the user                             |
    """

    f: tuple[sp.Expr, ...]
    q: Symbols
    qd: Symbols
    qdd: Symbols
    qddd: Symbols
    t: sp.Symbol
    parameters: Symbols
    dissipation: sp.Expr | str | None
    exact: bool
    given: Mapping[sp.Symbol, sp.Expr]

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        """All that has to be real where conditions are tried; nothing if functions are undefined."""
        if self.undefined:
            return ()
        return (*self.f, *([self.dissipation] if isinstance(self.dissipation, sp.Expr) else []))

    @property
    def symbols(self) -> Symbols:
        """All of them, time only if it occurs."""
        time = (self.t,) if any(isinstance(x, sp.Expr) and x.has(self.t) for x in (*self.f, self.dissipation)) else ()
        return (*self.q, *self.qd, *self.qdd, *self.qddd, *time, *self.parameters)

    @property
    def undefined(self) -> bool:
        """Whether functions without a formula occur."""
        return any(isinstance(x, sp.Expr) and x.has(*Undefined) for x in (*self.f, self.dissipation))

    def in_given(self, expressions: Iterable[sp.Expr]) -> tuple[sp.Expr, ...]:
        """Expressions in the user's symbols."""
        return tuple(x.xreplace(self.given) for x in expressions)


def second_order_system(
    f: Any, q: Any, qd: Any, qdd: Any, t: sp.Symbol | None, dissipation: Any, unknown: str
) -> SecondOrderSystem:
    """The system, or an error that says what of it is not in order."""
    left, q = _equations(f), _listed("q", q)
    qd, qdd, t = _with_derivatives(left, q, qd, qdd, t)
    _check_lengths(left, q, qd, qdd)
    D = _dissipation(dissipation, unknown)
    variables = [*q, *qd, *qdd, *([] if t is None else [t])]
    if len(set(variables)) < len(variables):
        twice = next(x for x in variables if variables.count(x) > 1)
        raise MomentreeError(f"helmholtz: '{twice}' is used for two of q, qd, qdd and t. Give each its own symbol.")
    real = {x: _real(x) for x in variables}
    expressions = [*left, *([D] if isinstance(D, sp.Expr) else [])]
    where = [*(f"f[{i}]" for i in range(len(left))), "dissipation"]
    known = []
    for name, x in zip(where, (x.doit() for x in expressions), strict=False):
        _check_functions(name, x, variables)
        known.append(x.xreplace(real))
        _check_symbols(name, known[-1], variables, {*real.values()})
    parameters = sorted({s for x in known for s in x.free_symbols} - {*real.values()}, key=str)
    real |= {x: sp.Dummy(x.name, real=True) for x in parameters if not x.is_extended_real}
    numbers = [with_exact_numbers(x.xreplace(real)) for x in known]
    accelerations = [real[x] for x in qdd]
    if not any(x.has(*accelerations) for x, _ in numbers[: len(left)]):
        names = ", ".join(map(str, qdd))
        raise MomentreeError(f"helmholtz: none of the accelerations {names} occurs in f. Check qdd.")
    third = tuple(sp.Dummy(f"{name_of(x)}'''", real=True) for x in q)
    if D is not None and not isinstance(D, str):
        D = numbers[-1][0]
        if D.has(*accelerations):
            raise MomentreeError("helmholtz: dissipation depends on accelerations. Give D of coordinates, velocities.")
    return SecondOrderSystem(
        f=tuple(x for x, _ in numbers[: len(left)]),
        q=tuple(real[x] for x in q),
        qd=tuple(real[x] for x in qd),
        qdd=tuple(accelerations),
        qddd=third,
        t=sp.Dummy("t", real=True) if t is None else real[t],
        parameters=tuple(real.get(x, x) for x in parameters),
        dissipation=D,
        exact=all(known for _, known in numbers),
        given={new: old for old, new in real.items()} | {x: sp.Symbol(x.name) for x in third},
    )


def _equations(f: Any) -> list[sp.Expr]:
    """f as a list of expressions."""
    f = f.tolist() if isinstance(f, np.ndarray) else f
    listed = list(f) if _is_sequence(f) else [f] if isinstance(f, (sp.Expr, sp.Equality)) else None
    if not listed:
        raise MomentreeError(f"helmholtz: f is {f!r}. Give a list of SymPy expressions that are zero.")
    left = []
    for i, x in enumerate(listed):
        if isinstance(x, sp.Equality):
            x = x.lhs - x.rhs
        if not _is_scalar(x):
            raise MomentreeError(f"helmholtz: f[{i}] is {x!r}. Give SymPy expressions: text is not read here.")
        if x.has(sp.nan, sp.zoo, sp.oo):
            raise MomentreeError(f"helmholtz: f[{i}] is {x}, which is not finite.")
        left.append(x)
    return left


def _is_sequence(x: Any) -> bool:
    return isinstance(x, (Sequence, sp.MatrixBase)) and not isinstance(x, str)


def _is_scalar(x: Any) -> bool:
    return isinstance(x, sp.Expr) and not isinstance(x, sp.MatrixExpr) and x.is_commutative


def _listed(name: str, x: Any) -> list[sp.Expr]:
    """Symbols or functions of time as a list."""
    x = x.tolist() if isinstance(x, np.ndarray) else x
    listed = list(x) if _is_sequence(x) else [x]
    for i, one in enumerate(listed):
        if not isinstance(one, (sp.Symbol, AppliedUndef, sp.Derivative)):
            raise MomentreeError(f'helmholtz: {name}[{i}] is {one!r}. Give a SymPy symbol, such as symbols("x").')
    return listed


def _with_derivatives(
    left: Sequence[sp.Expr], q: Sequence[sp.Expr], qd: Any, qdd: Any, t: sp.Symbol | None
) -> tuple[list[sp.Expr], list[sp.Expr], sp.Symbol | None]:
    """Velocities, accelerations and time; of functions of time, by differentiation where they are not given."""
    functions = [x for x in q if isinstance(x, AppliedUndef)]
    if functions and len(functions) == len(q):
        times = {x.args for x in functions}
        if len(times) > 1 or len(functions[0].args) != 1:
            raise MomentreeError(
                "helmholtz: the coordinates are functions of different things. Give functions of time."
            )
        t = functions[0].args[0] if t is None else t
        qd = [x.diff(t) for x in q] if qd is None else qd
        qdd = [x.diff(t, 2) for x in q] if qdd is None else qdd
    if qd is None or qdd is None:
        missing = "qd" if qd is None else "qdd"
        raise MomentreeError(f"helmholtz: {missing} is missing. Give the symbols of {len(q)} derivatives of q.")
    if t is None and any(symbol.name == "t" for x in left for symbol in x.free_symbols):
        raise MomentreeError("helmholtz: f depends on 't'. Say t=t if that is time; else call the parameter otherwise.")
    if t is not None and not isinstance(t, sp.Symbol):
        raise MomentreeError(f"helmholtz: t is {t!r}. Give the symbol of time.")
    return _listed("qd", qd), _listed("qdd", qdd), t


def _check_lengths(left: Sequence[Any], q: Sequence[Any], qd: Sequence[Any], qdd: Sequence[Any]) -> None:
    lengths = {
        "equations f": len(left),
        "coordinates q": len(q),
        "velocities qd": len(qd),
        "accelerations qdd": len(qdd),
    }
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise MomentreeError(f"helmholtz: {counted}. There must be equally many.")


def _dissipation(D: Any, unknown: str) -> sp.Expr | str | None:
    if D is None or _is_scalar(D):
        return D
    if isinstance(D, (int, float)):
        return sp.Float(D) if isinstance(D, float) else sp.Integer(D)
    if isinstance(D, str) and D in (unknown,):
        return unknown
    raise MomentreeError(
        f"helmholtz: dissipation is {D!r}. Give None, a SymPy expression of q, qd and t, or '{unknown}': is there any?"
    )


def _check_symbols(where: str, x: sp.Expr, variables: Sequence[sp.Expr], known: set[sp.Symbol]) -> None:
    """Symbols that are taken for parameters but look like something else."""
    names = {name_of(y): y for y in variables}
    for symbol in sorted(x.free_symbols - known, key=str):
        if symbol.name in names:
            raise MomentreeError(
                f"helmholtz: {where} has a symbol '{symbol}' that is not the '{symbol}' of q, qd, qdd or t: "
                "they have other assumptions. Make it once and use it everywhere."
            )
        if symbol.name.endswith("'"):
            raise MomentreeError(
                f"helmholtz: {where} has '{symbol}', which is not in q, qd or qdd.{suggestion(symbol.name, names)}"
            )


def _check_functions(where: str, x: sp.Expr, variables: Sequence[sp.Expr]) -> None:
    """Functions of time, and their derivatives, that are no coordinate, velocity or acceleration."""
    functions = [y for y in variables if isinstance(y, AppliedUndef)]
    for atom in sorted(x.atoms(AppliedUndef, sp.Derivative), key=str):
        if atom in variables:
            continue
        stray = isinstance(atom, AppliedUndef) and any(atom.args == y.args for y in functions)
        if stray or (isinstance(atom, sp.Derivative) and atom.expr in functions):
            names = ", ".join(map(str, variables))
            raise MomentreeError(f"helmholtz: {where} has {atom}, which is none of {names}.")


def _real(x: sp.Expr) -> sp.Symbol:
    """A real symbol for a coordinate, velocity, acceleration or time."""
    return x if isinstance(x, sp.Symbol) and x.is_extended_real else sp.Dummy(name_of(x), real=True)


def name_of(x: sp.Expr) -> str:
    """x, or x' for the derivative of a function."""
    if isinstance(x, sp.Derivative):
        return f"{x.expr.func}{chr(39) * int(x.derivative_count)}"
    return str(x.func) if isinstance(x, AppliedUndef) else str(x)
