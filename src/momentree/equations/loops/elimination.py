"""Rows that are open on their way inward, closed where their two ends meet: the steps of bodies where there are loops.

What open rows do is gathered together with M* and phi of the tree (docs/theory/loops.md):

    opening = F' v + b + Phi eta                    of rows that are open in a body that moves with v
    joint:    s = A' F ,  F <- F - W D s ,  b <- b + s' D (p - A' phi) + F' v^r ,  Phi <- Phi + s' D s
    closed:   eta = -Phi_cc^+ (F_c' v + b_c + Phi_co eta_o)
              M* <- M* + F_c Phi_cc^+ F_c' ,  phi <- phi + F_c Phi_cc^+ b_c

Phi_cc may be singular, or look regular where it is not: delta, relative to the scale of each row, says below which
eigenvalue a direction counts as redundant.

and with v known, on the way outward, phi* = phi - F eta. The steps do not ask what moves: with momenta, velocities and
phi they find eta, the impulses that keep loops closed; with forces, accelerations and bias forces, the reactions
lambda; with closure errors alone, the shortest way (weighed by inertia) to close them.

| field    | of a body                                                              |
|----------|------------------------------------------------------------------------|
| arranged | how its rows stand (structure/elimination.py)                              |
| reach    | of each open row: how much its joint could move it (structure/reach.py) |
| closing  | of a node: the loop that closes there                                  |
| open     | the `Bundle` of rows that are open                                     |
| eta0 ... | of each of them                                                        |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from momentree.equations.sweeps import Fields, InwardStep, Record
from momentree.spatial import REST, Force, Motion, Scalar, Vector
from momentree.spatial.articulated import ArticulatedInertia
from momentree.spatial.scalar import minimum
from momentree.spatial.symmetric import REGULARISATION, product, semidefinite_solver
from momentree.structure.reach import Bound, Reach, turning

OFF_CLOSED = 1e3  # times the squared closure error: what redundant rows seem to have of eigenvalues, with a margin
MOST_OFF_CLOSED = 1e-4  # where loops are wide open, constraints that are independent must still count


class OpenConstraints:
    """Open rows in one body: forces F, known openings b, Phi (its lower triangle), and the scale of each row.

    The scale is what Phi_kk was before anything was subtracted, and how large it could be in other configurations.
    """

    __slots__ = ("F", "Phi", "b", "scale")

    def __init__(
        self,
        F: Sequence[Force],
        b: Sequence[Scalar],
        Phi: Sequence[Sequence[Scalar]],
        scale: Sequence[Scalar],
    ):
        self.F, self.b, self.Phi, self.scale = tuple(F), tuple(b), tuple(map(tuple, Phi)), tuple(scale)

    @classmethod
    def empty(cls, rows: int) -> OpenConstraints:
        return cls([Force.zero()] * rows, (0,) * rows, [(0,) * (i + 1) for i in range(rows)], (0,) * rows)

    def __add__(self, other: OpenConstraints) -> OpenConstraints:
        return OpenConstraints(
            _sums(self.F, other.F),
            _sums(self.b, other.b),
            [_sums(a, c) for a, c in zip(self.Phi, other.Phi, strict=True)],
            _sums(self.scale, other.scale),
        )

    def at(self, i: int, j: int) -> Scalar:
        """Phi_ij."""
        return self.Phi[i][j] if i >= j else self.Phi[j][i]

    def spread(self, places: Sequence[int], rows: int) -> OpenConstraints:
        """The same among so many rows, each at its place; places rise."""
        found = OpenConstraints.empty(rows)
        F, b, Phi, scale = list(found.F), list(found.b), [list(row) for row in found.Phi], list(found.scale)
        for i, place in enumerate(places):
            F[place], b[place], scale[place] = self.F[i], self.b[i], self.scale[i]
            for j in range(i + 1):
                Phi[place][places[j]] = self.Phi[i][j]
        return OpenConstraints(F, b, Phi, scale)


# --- the steps ---


def begin_constraints(body: Record) -> Fields:
    """The rows that begin here; what is known of their openings counts at their first ends."""
    found = OpenConstraints.empty(body.slots.rows)
    F, b = list(found.F), list(found.b)
    for i, (start, second) in enumerate(body.slots.ends):
        end = getattr(body, f"end{i}")
        for k, force in enumerate(end.on_second if second else end.on_first):
            F[start + k] = force
            b[start + k] = 0 if second else end.known[k]
    return {"open": OpenConstraints(F, b, found.Phi, found.scale)}


def with_constraints(step: InwardStep, phi: str, v_r: str) -> InwardStep:
    """The inward step of a formalism where loops are closed: rows that close, the step, then rows that stay open.

    `phi` and `v_r` are the fields that stand for these there; of a free joint the step gives `net`, p - A' phi.
    """

    def through(body: Record) -> tuple[Fields, Fields]:
        here, rows, made = body.having(), body.open, Fields()
        if body.slots.closes:
            made, M_star, bias, rows = close(body, getattr(body, phi))
            here = body.having(M_star=M_star, **{phi: bias})
        given, up = step(here)
        vars(here).update(given)
        left = {"open": carried(here, rows, given.get("net", ()), getattr(here, v_r))}
        return made | given, left if body.slots.onto_still else up | left

    return through


def close(body: Record, phi: Force) -> tuple[Fields, ArticulatedInertia, Force, OpenConstraints]:
    """The rows that close here give eta = -(G_b + G_F' v + G_o eta_o); M*, phi and other rows, with their effect."""
    rows, count = body.open, body.slots.closes
    if body.slots.onto_still:  # then the node does not move either, and what rows do to it does not matter
        rows = OpenConstraints([Force.zero()] * body.slots.rows, rows.b, rows.Phi, rows.scale)
    here, others = range(count), range(count, body.slots.rows)
    part = REGULARISATION + minimum(body.closing.misfit * OFF_CLOSED, MOST_OFF_CLOSED)
    delta = [part * scale for scale in rows.scale[:count]]
    solve = semidefinite_solver([[rows.at(i, j) for j in here] for i in here], delta)
    g = solve(rows.b[:count])
    columns = [solve(column) for column in zip(*rows.F[:count], strict=True)]  # six of them
    G_F = [Force(Vector(*x[:3]), Vector(*x[3:])) for x in zip(*columns, strict=True)]
    G_o = [solve([rows.at(i, j) for i in here]) for j in others]
    F, b, Phi = list(rows.F[count:]), list(rows.b[count:]), []
    for k, j in enumerate(others):
        for i in here:
            F[k] = F[k] - G_F[i] * rows.at(i, j)
            b[k] = b[k] - rows.at(i, j) * g[i]
        taken = [sum(rows.at(i, j) * G_o[m][i] for i in here) for m in range(k + 1)]
        Phi.append([rows.at(j, count + m) - x for m, x in enumerate(taken)])
    for i in here:
        phi = phi + rows.F[i] * g[i]
    made = {"G_b": tuple(g), "G_F": tuple(G_F), "G_o": tuple(map(tuple, G_o))}
    return made, body.M_star.plus_products(rows.F[:count], G_F), phi, OpenConstraints(F, b, Phi, rows.scale[count:])


def carried(body: Record, rows: OpenConstraints, rest: Sequence[Scalar], v_r: Motion) -> OpenConstraints:
    """The open rows as what the body stands on sees them, among all that are open there."""
    F, b, Phi, scale = list(rows.F), list(rows.b), [list(row) for row in rows.Phi], list(rows.scale)
    if body.free:
        s = [body.A.along(force) for force in rows.F]
        for k in range(len(F)):
            shares = product(body.D, s[k])
            for w, share in zip(body.W, shares, strict=True):
                F[k] = F[k] - w * share
            b[k] = b[k] + sum(x * y for x, y in zip(shares, rest, strict=True))
            for j in range(k + 1):
                Phi[k][j] = Phi[k][j] + sum(x * y for x, y in zip(shares, s[j], strict=True))
            scale[k] = scale[k] + sum(x * y for x, y in zip(shares, s[k], strict=True))
            scale[k] = scale[k] + _at_most(body, body.reach[k])
    if v_r is not REST:
        b = [known + v_r @ force for known, force in zip(b, F, strict=True)]
    still = body.slots.onto_still
    F = [Force.zero() if still else body.X.force_to_parent(force) for force in F]
    return OpenConstraints(F, b, Phi, scale).spread(body.slots.up, body.slots.above)


def _at_most(body: Record, bound: Bound) -> Scalar:
    """How much a joint could add to Phi_kk of a row: structure/reach.py (1)."""
    reach, swing = bound
    N = reach.packed(body.A.columns) if isinstance(reach, Reach) else reach
    D = (body.D[i][j] for i in range(len(body.D)) for j in range(i + 1))
    total = sum(x * y for x, y in zip(N, D, strict=True))
    turns = turning(body.A.columns)
    if len(turns) < 2:
        return total
    return total + swing * len(turns) / sum(body.A.columns[i] @ body.W[i] for i in turns)


def impulses(body: Record, parent: Record, v: Motion) -> list[Scalar]:
    """eta of the rows that are open in a body, of those that close in it by its velocity."""
    open_above = [getattr(parent, f"eta{i}") for i in body.slots.up]
    if not body.slots.closes:
        return open_above
    found = []
    for i in range(body.slots.closes):
        total = body.G_b[i] + v @ body.G_F[i]
        for column, eta in zip(body.G_o, open_above, strict=True):
            total = total + column[i] * eta
        found.append(-total)
    return found + open_above


def numbered(eta: Sequence[Scalar]) -> Fields:
    """Each a field of its own: eta0, eta1, ..."""
    return {f"eta{i}": x for i, x in enumerate(eta)}


def _sums(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))
