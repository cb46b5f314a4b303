"""Elimination of constraints on the inward pass: open on their paths, closed at the common ancestor of their ends.

The open constraints of a body are collected together with M* and phi of the tree (docs/theory/loops.md):

    constraint velocity = F' v + a' u + b + Phi eta      of the rows that are open in a body that moves with v
    joint:    s = A' F + a ,  F <- F - W D s ,  b <- b + s' D (p - A' phi) + F' v^r ,  Phi <- Phi + s' D s
    closed:   eta = -Phi_cc^+ (F_c' v + b_c + Phi_co eta_o)
              M* <- M* + F_c Phi_cc^+ F_c' ,  phi <- phi + F_c Phi_cc^+ b_c

where a are the coefficients of rows along the velocities u of the joint itself (couplings, gears); and on the outward
pass, where v is computed, phi* = phi - F eta and p + a eta stands for p. Phi is the Delassus matrix J M^-1 J' of the
open rows. Phi_cc may be singular, or look regular where it is not: delta, relative to the scale of each row, says below
which eigenvalue a direction counts as redundant.

The steps serve three problems: with momenta, velocities and phi they find eta, the constraint impulses; with forces,
accelerations and bias forces, the Lagrange multipliers lambda; with closure errors alone, the shortest step (weighed by
inertia) that closes them. A constraint may have any number of ends. Fields are declared in equations/fields.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from momentree.equations.sweeps import Fields, InwardStep, Record
from momentree.spatial import REST, Force, Motion, Scalar, Vector
from momentree.spatial.articulated import ArticulatedInertia
from momentree.spatial.scalar import minimum
from momentree.spatial.symmetric import REGULARIZATION, product, semidefinite_solver
from momentree.structure.reach import Bound, Reach, turning

OFF_CLOSED = 1e3  # times the squared closure error: the eigenvalues that redundant rows seem to have, with a margin
MOST_OFF_CLOSED = 1e-4  # where loops are wide open, independent constraints must still count


class OpenConstraints:
    """Rows that are open in one body: wrenches F, biases b, the lower triangle of Phi, and the scale of each row.

    The scale is Phi_kk before anything was subtracted, and how large it could be in other configurations.
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

    def spread(self, slots: Sequence[int], rows: int) -> OpenConstraints:
        """The same among so many rows, each in its slot; slots rise."""
        empty = OpenConstraints.empty(rows)
        F, b, Phi, scale = list(empty.F), list(empty.b), [list(row) for row in empty.Phi], list(empty.scale)
        for i, slot in enumerate(slots):
            F[slot], b[slot], scale[slot] = self.F[i], self.b[i], self.scale[i]
            for j in range(i + 1):
                Phi[slot][slots[j]] = self.Phi[i][j]
        return OpenConstraints(F, b, Phi, scale)


# --- the steps ---


def begin_constraints(body: Record) -> Fields:
    """The rows of constraints that have an end here, on the body or along its joint; their bias counts at end 0."""
    empty = OpenConstraints.empty(body.slots.rows)
    F, b, a = dict[int, Force](), list(empty.b), dict[int, tuple[Scalar, ...]]()
    for i, (start, end, along) in enumerate(body.slots.ends):
        constraint = getattr(body, f"constraint{i}")
        for slot, row in enumerate(getattr(constraint, f"rows_along{end}" if along else f"rows_on{end}"), start):
            if along:
                a[slot] = row
            else:
                F[slot] = F[slot] + row if slot in F else row
        if end == 0:
            b[start : start + len(constraint.bias)] = constraint.bias
    wrenches = [F.get(slot, zero) for slot, zero in enumerate(empty.F)]
    fields: Fields = {"open": OpenConstraints(wrenches, b, empty.Phi, empty.scale)}
    return fields | ({"along": tuple(a.get(slot, ()) for slot in range(body.slots.rows))} if a else {})


def along_joint(body: Record, k: int, force: Force) -> list[Scalar]:
    """s = A' F + a of an open row: its coefficients along the velocities of the joint."""
    s = body.A.along(force)
    if not has_joint_ends(body) or not body.along[k]:
        return list(s)
    return [x + y for x, y in zip(s, body.along[k], strict=True)]


def has_joint_ends(body: Record) -> bool:
    """Whether constraints act along the joint that precedes the body."""
    return any(along for *_, along in body.slots.ends)


def with_constraints(step: InwardStep, phi: str, v_r: str, u: str) -> InwardStep:
    """The inward step of a formalism where loops are closed: rows that are closed, the step, rows that stay open.

    `phi`, `v_r` and `u` (of a prescribed joint) are the fields that stand for these there; of a free joint the step
    gives `net`, p - A' phi.
    """

    def eliminate(body: Record) -> tuple[Fields, Fields]:
        here, rows, closed = body.having(), body.open, Fields()
        if body.slots.closes:
            closed, M_star, bias, rows = close(body, getattr(body, phi))
            here = body.having(M_star=M_star, **{phi: bias})
        fields, to_parent = step(here)
        vars(here).update(fields)
        prescribed = () if here.free or not has_joint_ends(here) else getattr(here, u)
        still_open = {"open": carried(here, rows, fields.get("net", ()), getattr(here, v_r), prescribed)}
        return closed | fields, still_open if body.slots.on_fixed_ground else to_parent | still_open

    return eliminate


def close(body: Record, phi: Force) -> tuple[Fields, ArticulatedInertia, Force, OpenConstraints]:
    """The rows closed here give eta = -(G_b + G_F' v + G_o eta_o); M*, phi and the other rows, with their effect."""
    rows, count = body.open, body.slots.closes
    if body.slots.on_fixed_ground:  # then the node does not move either, and wrenches on it do not matter
        rows = OpenConstraints([Force.zero()] * body.slots.rows, rows.b, rows.Phi, rows.scale)
    here, others = range(count), range(count, body.slots.rows)
    relative = REGULARIZATION + minimum(body.closing.misfit * OFF_CLOSED, MOST_OFF_CLOSED)
    delta = [relative * scale for scale in rows.scale[:count]]
    solve = semidefinite_solver([[rows.at(i, j) for j in here] for i in here], delta)
    G_b = solve(rows.b[:count])
    columns = [solve(column) for column in zip(*rows.F[:count], strict=True)]  # six of them
    G_F = [Force(Vector(*x[:3]), Vector(*x[3:])) for x in zip(*columns, strict=True)]
    G_o = [solve([rows.at(i, j) for i in here]) for j in others]
    F, b, Phi = list(rows.F[count:]), list(rows.b[count:]), []
    for k, j in enumerate(others):
        for i in here:
            F[k] = F[k] - G_F[i] * rows.at(i, j)
            b[k] = b[k] - rows.at(i, j) * G_b[i]
        eliminated = [sum(rows.at(i, j) * G_o[m][i] for i in here) for m in range(k + 1)]
        Phi.append([rows.at(j, count + m) - x for m, x in enumerate(eliminated)])
    for i in here:
        phi = phi + rows.F[i] * G_b[i]
    closed = {"G_b": tuple(G_b), "G_F": tuple(G_F), "G_o": tuple(map(tuple, G_o))}
    return closed, body.M_star.plus_products(rows.F[:count], G_F), phi, OpenConstraints(F, b, Phi, rows.scale[count:])


def carried(
    body: Record, rows: OpenConstraints, rest: Sequence[Scalar], v_r: Motion, prescribed: Sequence[Scalar] = ()
) -> OpenConstraints:
    """The open rows as the parent sees them, among all that are open there; `prescribed` are u of such a joint."""
    F, b, Phi, scale = list(rows.F), list(rows.b), [list(row) for row in rows.Phi], list(rows.scale)
    if body.free:
        s = [along_joint(body, k, force) for k, force in enumerate(rows.F)]
        for k in range(len(F)):
            shares = product(body.D, s[k])
            for w, share in zip(body.W, shares, strict=True):
                F[k] = F[k] - w * share
            b[k] = b[k] + sum(x * y for x, y in zip(shares, rest, strict=True))
            for j in range(k + 1):
                Phi[k][j] = Phi[k][j] + sum(x * y for x, y in zip(shares, s[j], strict=True))
            scale[k] = scale[k] + sum(x * y for x, y in zip(shares, s[k], strict=True))
            scale[k] = scale[k] + _at_most(body, body.reach[k])
    if prescribed:
        for k, coefficients in enumerate(body.along):
            b[k] = b[k] + sum(x * y for x, y in zip(coefficients, prescribed, strict=False))
    if v_r is not REST:
        b = [bias + v_r @ force for bias, force in zip(b, F, strict=True)]
    dropped = body.slots.on_fixed_ground
    F = [Force.zero() if dropped else body.X.force_to_parent(force) for force in F]
    return OpenConstraints(F, b, Phi, scale).spread(body.slots.up, body.slots.above)


def _at_most(body: Record, bound: Bound) -> Scalar:
    """How much a joint could add to Phi_kk of a row at most: structure/reach.py (1)."""
    reach, swing = bound
    N = reach.packed(body.A.columns) if isinstance(reach, Reach) else reach
    D = (body.D[i][j] for i in range(len(body.D)) for j in range(i + 1))
    total = sum(x * y for x, y in zip(N, D, strict=True))
    turns = turning(body.A.columns)
    if len(turns) < 2:
        return total
    return total + swing * len(turns) / sum(body.A.columns[i] @ body.W[i] for i in turns)


def impulses(body: Record, parent: Record, v: Motion) -> list[Scalar]:
    """eta of the rows that are open in a body; of those that are closed in it, by its velocity."""
    open_above = [getattr(parent, f"eta{i}") for i in body.slots.up]
    if not body.slots.closes:
        return open_above
    closed = []
    for i in range(body.slots.closes):
        total = body.G_b[i] + v @ body.G_F[i]
        for column, eta in zip(body.G_o, open_above, strict=True):
            total = total + column[i] * eta
        closed.append(-total)
    return closed + open_above


def numbered(eta: Sequence[Scalar]) -> Fields:
    """Each a field of its own: eta0, eta1, ..."""
    return {f"eta{i}": x for i, x in enumerate(eta)}


def _sums(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))
