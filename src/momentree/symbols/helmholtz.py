"""The Helmholtz conditions: whether given second-order equations are those of a Lagrangian, with a Rayleigh function.

For f_i(q, q', q'', t) = d/dt dL/dq'_i - dL/dq_i + dD/dq'_i, with the numbers of Kaspirovich and Mukharlyamov (2019),
whose print has q' for some of the q'':

|    | no D  | with D | condition, identically in q, q', q'', q''', t                                         |
|----|-------|--------|---------------------------------------------------------------------------------------|
| H1 | (3.2) | (4.1)  | df_i/dq''_k = df_k/dq''_i                                                             |
| H2 | (3.5) | (4.4)  | d2f_i/dq''_j dq''_k = 0                                                               |
| H3 | (3.3) | (4.2)  | s_ik = 1/2 (df_i/dq'_k + df_k/dq'_i) - d/dt df_i/dq''_k = d2D/dq'_i dq'_k             |
| H4 | (3.4) | (4.3)  | r_ik = df_i/dq_k - df_k/dq_i - 1/2 d/dt (df_i/dq'_k - df_k/dq'_i)                     |
|    |       |        |      = d2D/dq'_i dq_k - d2D/dq'_k dq_i                                                |

They are necessary (Helmholtz 1887) and locally sufficient (Mayer 1896). Some D exists if and only if s and r do not
depend on q'' and satisfy K2 to K4 of this file (Kielau and Maisser, ZAMM 86 (2006) 722-735).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import sympy as sp

from momentree.errors import MomentreeError, spell_checked
from momentree.symbols.identities import RandomPoints, vanishes
from momentree.symbols.potentials import potential, vector_potential
from momentree.symbols.second_order import SecondOrderSystem, name_of, second_order_system
from momentree.symbols.shortest import simplified

SAMPLES = 20  # random points
LARGEST_SHOWN = 120  # operations of a residual up to which it is simplified
NOTHING_OF_FLOATS = 1e-9  # relative residual that counts as none where numbers are not exact
UNKNOWN = "unknown"
Matrix = list[list[sp.Expr]]


class Case(NamedTuple):
    """One scalar equation of a condition: its indices from 1, and the terms whose sum has to vanish."""

    indices: tuple[int, ...]
    terms: tuple[sp.Expr, ...]


class Condition(NamedTuple):
    """A condition: its name here, its number in the paper, the formula, the letters of its indices, all cases."""

    name: str
    number: str
    formula: str
    letters: str
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Violation:
    """A condition that fails.

    | field    | meaning                                                                     |
    |----------|-----------------------------------------------------------------------------|
    | name     | of the condition: "H3"                                                      |
    | number   | of the paper: "(3.3)"                                                       |
    | letters  | what the paper calls its indices: "ik"                                      |
    | indices  | of equations and coordinates, from 1; `names` are those of the coordinates  |
    | residual | what had to vanish                                                          |
    | value    | its value at the witness point                                              |
    | witness  | values of coordinates, velocities, accelerations, time and parameters       |
    """

    name: str
    number: str
    letters: str
    indices: tuple[int, ...]
    names: tuple[str, ...]
    residual: sp.Expr
    value: float
    witness: Mapping[sp.Expr, sp.Rational]

    def __str__(self) -> str:
        letters, indices = ", ".join(self.letters), ", ".join(map(str, self.indices))
        where = f"({letters}) = ({indices}), that is {', '.join(self.names)}"
        shown = str(self.residual)
        shown = shown if len(shown) <= 100 else f"{shown[:100]}..."
        point = ", ".join(f"{name_of(symbol)} = {value}" for symbol, value in self.witness.items())
        return f"{self.number} fails for {where}: {shown} is not zero,\n    but {self.value:.6g} at {point}"


@dataclass(frozen=True)
class ConditionResult:
    """How a condition turned out; `holds` is "identically", "at 20 random points" or "fails"."""

    name: str
    number: str
    formula: str
    holds: str
    failures: tuple[Violation, ...] = ()


@spell_checked
@dataclass(frozen=True, repr=False)
class HelmholtzReport:
    """Whether each Helmholtz condition holds; true if all do. `print` it, or see `failures` and `data`.

    | field       | meaning                                                                                    |
    |-------------|--------------------------------------------------------------------------------------------|
    | coordinates | of the equations                                                                           |
    | dissipation | None, the given Rayleigh function D, or "unknown"                                          |
    | results     | one for each condition                                                                     |
    | rayleigh    | for an unknown D: one that fits, up to terms q' . grad W(q); None if it has no closed      |
    |             | form that SymPy finds                                                                      |
    """

    coordinates: tuple[sp.Expr, ...]
    dissipation: sp.Expr | str | None
    results: tuple[ConditionResult, ...]
    rayleigh: sp.Expr | None = field(default=None)

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def proved(self) -> bool:
        """Whether every condition holds identically, by a proof in symbols."""
        return all(result.holds == "identically" for result in self.results)

    @property
    def failures(self) -> tuple[Violation, ...]:
        """Every case of a condition that fails, with a witness point."""
        return tuple(failure for result in self.results for failure in result.failures)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("condition", "number", "formula", "holds")]
        rows += [(r.name, r.number, r.formula, r.holds) for r in self.results]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        rows.insert(1, tuple("-" * width for width in widths))
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        found = [f"D = {self.rayleigh}, up to gradients: terms q' . grad W(q)"] if self.rayleigh is not None else []
        return "\n".join([self.verdict, *(line.rstrip() for line in table), *map(str, self.failures), *found])

    def __repr__(self) -> str:
        return str(self)

    @property
    def verdict(self) -> str:
        """In one sentence: whether a Lagrangian exists."""
        with_D = ""
        if self.dissipation == UNKNOWN:
            with_D = " with some Rayleigh function"
        elif self.dissipation is not None:
            text = str(self.dissipation)
            with_D = f" with the Rayleigh function {text}" if len(text) < 60 else " with the given Rayleigh function"
        if not self:
            return f"no Lagrangian{with_D} has these equations as they stand (multiplied by a matrix, one may)"
        sure = "" if self.proved else ", as far as random points tell"
        return f"these equations have a Lagrangian{with_D}{sure}"

    def data(self) -> dict[str, Any]:
        """The same as plain data, for --json."""
        return {
            "coordinates": [name_of(q) for q in self.coordinates],
            "dissipation": None if self.dissipation is None else str(self.dissipation),
            "holds": bool(self),
            "proved": self.proved,
            "conditions": [
                {"name": r.name, "number": r.number, "formula": r.formula, "holds": r.holds} for r in self.results
            ],
            "failures": [
                {
                    "name": failure.name,
                    "number": failure.number,
                    "indices": list(failure.indices),
                    "coordinates": list(failure.names),
                    "residual": str(failure.residual),
                    "value": failure.value,
                    "witness": {name_of(symbol): str(value) for symbol, value in failure.witness.items()},
                }
                for failure in self.failures
            ],
            "rayleigh": None if self.rayleigh is None else str(self.rayleigh),
        }


@spell_checked
def helmholtz(
    f: Any,
    q: Any,
    qd: Any = None,
    qdd: Any = None,
    t: sp.Symbol | None = None,
    dissipation: Any = None,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> HelmholtzReport:
    """Whether equations f(q, q', q'', t) = 0 have a Lagrangian: the inverse problem of the calculus of variations.

    By the Helmholtz conditions: is f_i = d/dt dL/dq'_i - dL/dq_i + dD/dq'_i for some L? f is taken as it stands: f
    times a matrix may have a Lagrangian where f has none (Douglas 1941). Expressions are those of SymPy, and every
    other symbol in them is a parameter. A condition holds identically, by a proof, or at random points, or fails at
    a witness point: `print` what is returned. A D that is found may have terms linear in velocities: they act as
    circulatory forces and dissipate nothing.

    >>> x, xd, xdd, c = sp.symbols("x x' x'' c")
    >>> bool(helmholtz(xdd + c * xd + x, x, xd, xdd))
    False
    >>> helmholtz(xdd + c * xd + x, x, xd, xdd, dissipation="unknown").rayleigh
    c*x'**2/2

    | argument    | meaning                                                                                        |
    |-------------|------------------------------------------------------------------------------------------------|
    | f           | n expressions, or equations `Eq`; one may stand alone                                          |
    | q           | n symbols, or functions of time such as dynamicsymbols (qd and qdd are then their derivatives) |
    | qd, qdd     | n symbols of velocities and of accelerations                                                   |
    | t           | the symbol of time, where f depends on it                                                      |
    | dissipation | None: D = 0; a Rayleigh function D(q, q', t); or "unknown": is there any?                      |
    | samples     | number of random points where there is no proof                                                |
    """
    system = second_order_system(f, q, qd, qdd, t, dissipation, unknown=UNKNOWN)
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
        raise MomentreeError(f"helmholtz: samples is {samples!r}. Give a number of random points of at least 1.")
    return helmholtz_conditions(system, samples, seed)


def helmholtz_conditions(
    system: SecondOrderSystem, samples: int = SAMPLES, seed: int = 0, more: Sequence[Condition] = ()
) -> HelmholtzReport:
    """The report of a system whose symbols are known to be in order; `more` conditions are tried with the others."""
    derivatives = Derivatives(system)
    results = tuple(tried([*derivatives.conditions(), *more], system, samples, seed))
    holds = not any(result.failures for result in results)
    D = derivatives.rayleigh() if holds and system.dissipation == UNKNOWN else None
    given = system.dissipation
    return HelmholtzReport(
        coordinates=system.in_given(system.q),
        dissipation=given if given is None or isinstance(given, str) else system.in_given([given])[0],
        results=results,
        rayleigh=None if D is None else system.in_given([D])[0],
    )


class Derivatives:
    """The derivatives of f that the conditions are made of; indices count from 0 here."""

    def __init__(self, system: SecondOrderSystem):
        self.system = system
        self.n = len(system.q)
        self.by_q, self.by_qd, self.by_qdd = (
            [[f.diff(x) for x in symbols] for f in system.f] for symbols in (system.q, system.qd, system.qdd)
        )

    def along(self, x: sp.Expr) -> sp.Expr:
        """The total derivative by time."""
        s = self.system
        pairs = zip((*s.q, *s.qd, *s.qdd), (*s.qd, *s.qdd, *s.qddd), strict=True)
        return sp.Add(x.diff(s.t), *(x.diff(a) * b for a, b in pairs))

    def s_terms(self, i: int, k: int) -> tuple[sp.Expr, ...]:
        """The terms of s_ik."""
        return self.by_qd[i][k] / 2, self.by_qd[k][i] / 2, -self.along(self.by_qdd[i][k])

    def r_terms(self, i: int, k: int) -> tuple[sp.Expr, ...]:
        """The terms of r_ik."""
        turned = self.along(self.by_qd[i][k] - self.by_qd[k][i]) / 2
        return self.by_q[i][k], -self.by_q[k][i], -turned

    @cached_property
    def s(self) -> Matrix:
        """s_ik."""
        return [[sp.Add(*self.s_terms(i, k)) for k in range(self.n)] for i in range(self.n)]

    @cached_property
    def r(self) -> Matrix:
        """r_ik."""
        return [[sp.Add(*self.r_terms(i, k)) for k in range(self.n)] for i in range(self.n)]

    # --- the conditions --------------------------------------------------------------------------------------------

    def conditions(self) -> Iterator[Condition]:
        """All of them, for what is said of D."""
        D, n, qdd = self.system.dissipation, self.n, self.system.qdd
        numbers = ("(3.2)", "(3.5)", "(3.3)", "(3.4)") if D is None else ("(4.1)", "(4.4)", "(4.2)", "(4.3)")
        H1 = [Case((i + 1, k + 1), (self.by_qdd[i][k], -self.by_qdd[k][i])) for i, k in _pairs(n)]
        yield Condition("H1", numbers[0], "df_i/dq''_k = df_k/dq''_i", "ik", tuple(H1))
        H2 = [
            Case((i + 1, j + 1, k + 1), (self.by_qdd[i][j].diff(qdd[k]),))
            for i in range(n)
            for j, k in itertools.combinations_with_replacement(range(n), 2)
        ]
        yield Condition("H2", numbers[1], "d2f_i/dq''_j dq''_k = 0", "ijk", tuple(H2))
        if D == UNKNOWN:
            yield from self._of_unknown()
        else:
            yield from self._of_known(sp.Integer(0) if D is None else D, numbers[2:])

    def _of_known(self, D: sp.Expr, numbers: Sequence[str]) -> Iterator[Condition]:
        """H3 and H4; without D they are written as the paper has them, with H3 twice as large."""
        s, n = self.system, self.n
        twice = 2 if D == 0 else 1
        H3 = [
            Case((i + 1, k + 1), tuple(twice * x for x in (*self.s_terms(i, k), -D.diff(s.qd[i], s.qd[k]))))
            for i, k in itertools.combinations_with_replacement(range(n), 2)
        ]
        H4 = [
            Case((i + 1, k + 1), (*self.r_terms(i, k), -D.diff(s.qd[i], s.q[k]), D.diff(s.qd[k], s.q[i])))
            for i, k in _pairs(n)
        ]
        left = "df_i/dq'_k + df_k/dq'_i = 2 d/dt df_i/dq''_k"
        right = "df_i/dq_k - df_k/dq_i = 1/2 d/dt (df_i/dq'_k - df_k/dq'_i)"
        if D != 0:
            left = "1/2 (df_i/dq'_k + df_k/dq'_i) - d/dt df_i/dq''_k = d2D/dq'_i dq'_k"
            right = right.replace("=", "-") + " = d2D/dq'_i dq_k - d2D/dq'_k dq_i"
        yield Condition("H3", numbers[0], left, "ik", tuple(H3))
        yield Condition("H4", numbers[1], right, "ik", tuple(H4))

    def _of_unknown(self) -> Iterator[Condition]:
        """What s and r have to satisfy for some D to exist: Kielau and Maisser 2006."""
        s, r, n, q, qd = self.s, self.r, self.n, self.system.q, self.system.qd
        both = [(x[a][b], a, b) for x in (s, r) for a, b in itertools.combinations_with_replacement(range(n), 2)]
        K1 = [
            Case((a + 1, b + 1, c + 1), (x.diff(later[c]),))
            for later in (self.system.qdd, self.system.qddd)
            for x, a, b in both
            for c in range(n)
        ]
        yield Condition("K1", "(4.2), (4.3)", "ds_ab/dq''_c = 0, dr_ab/dq''_c = 0", "abc", tuple(K1))
        K2 = [
            Case((a + 1, b + 1, c + 1), (s[a][b].diff(qd[c]), -s[a][c].diff(qd[b])))
            for a in range(n)
            for b, c in _pairs(n)
        ]
        yield Condition("K2", "(4.2)", "ds_ab/dq'_c = ds_ac/dq'_b", "abc", tuple(K2))
        K3 = [
            Case((a + 1, b + 1, c + 1), (r[a][b].diff(qd[c]), -s[a][c].diff(q[b]), s[b][c].diff(q[a])))
            for a, b in _pairs(n)
            for c in range(n)
        ]
        yield Condition("K3", "(4.3)", "dr_ab/dq'_c = ds_ac/dq_b - ds_bc/dq_a", "abc", tuple(K3))
        K4 = [
            Case((a + 1, b + 1, c + 1), (r[a][b].diff(q[c]), r[b][c].diff(q[a]), r[c][a].diff(q[b])))
            for a, b, c in itertools.combinations(range(n), 3)
        ]
        yield Condition("K4", "(4.3)", "dr_ab/dq_c + dr_bc/dq_a + dr_ca/dq_b = 0", "abc", tuple(K4))

    def rayleigh(self) -> sp.Expr | None:
        """D from d2D/dq'_a dq'_b = s_ab, and from r at q' = 0 for its part linear in velocities; None if not found."""
        system, n = self.system, self.n
        q, qd = system.q, system.qd
        s, r = ([[simplified(x) for x in row] for row in matrix] for matrix in (self.s, self.r))
        forces = [potential(row, qd) for row in s]
        quadratic = None if None in forces else potential(forces, qd)
        if quadratic is None:
            return None
        # what the quadratic part leaves of r has no velocities in it
        rest = [
            [simplified(r[a][b] - quadratic.diff(qd[a], q[b]) + quadratic.diff(qd[b], q[a])) for b in range(n)]
            for a in range(n)
        ]
        if any(x.has(*qd) for row in rest for x in row):
            return None
        A = vector_potential(rest, q)
        return None if A is None else simplified(quadratic + sp.Add(*(a * v for a, v in zip(A, qd, strict=True))))


def tried(
    conditions: Sequence[Condition], system: SecondOrderSystem, samples: int = SAMPLES, seed: int = 0
) -> Iterator[ConditionResult]:
    """How conditions on a system turn out."""
    points = RandomPoints.where_real(system.symbols, system.expressions, samples, seed)
    return (_result(condition, system, points) for condition in conditions)


def _result(condition: Condition, system: SecondOrderSystem, points: RandomPoints) -> ConditionResult:
    """Each case tried at random points, and what vanishes there proved if that can be done."""
    failures, tried = [], 0
    for case in condition.cases:
        terms = [x for x in case.terms if x != 0]
        if not terms:
            continue
        if system.undefined and vanishes(sp.Add(*terms)):
            continue
        sums = points.sums(terms)
        largest = 0.0 if system.exact else NOTHING_OF_FLOATS
        witness = next(((at, value) for at, value, size in sums if abs(value) > largest * size), None)
        if witness is not None:
            failures.append(_violation(condition, case, system, points, *witness))
        elif not vanishes(sp.Add(*terms)):
            tried = max(tried, len(sums))
    holds = "fails" if failures else f"at {tried} random point{'s' * (tried > 1)}" if tried else "identically"
    return ConditionResult(condition.name, condition.number, condition.formula, holds, tuple(failures))


def _violation(
    condition: Condition, case: Case, system: SecondOrderSystem, points: RandomPoints, at: Sequence[Any], value: Any
) -> Violation:
    """A failure with what remains, simplified if it is not long, and where it is seen; of q''' only what matters."""
    residual = sp.Add(*case.terms)
    if residual.count_ops() <= LARGEST_SHOWN:
        residual = simplified(residual)
    used = [(x, y) for x, y in zip(points.symbols, at, strict=True) if x not in system.qddd or residual.has(x)]
    names = system.in_given([x for x, _ in used])
    return Violation(
        name=condition.name,
        number=condition.number,
        letters=condition.letters,
        indices=case.indices,
        names=tuple(name_of(q) for q in system.in_given([system.q[i - 1] for i in case.indices])),
        residual=system.in_given([residual])[0],
        value=float(value),
        witness=dict(zip(names, (y for _, y in used), strict=True)),
    )


def _pairs(n: int) -> Iterator[tuple[int, int]]:
    return itertools.combinations(range(n), 2)
