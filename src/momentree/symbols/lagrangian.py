"""Lagrange's equations of the second kind, by differentiation of the Lagrangian L = T - V in symbols.

    d/dt (dT/du_s) - X_s(T) + H_s = -X_s(V) + Q_s                                                                (L1)

X_s is the derivative along the velocity s: d/dq_s where u_s = q_s'. Velocities of balls and free bodies are derivatives
of no coordinate; there X_s = sum over coordinates of (dq'/du_s) d/dq, and H_s is the term of Boltzmann and Hamel: with
p = dT/du of the joint it is w x p of a ball, and Omega p of a free body (NOTATION.md), whose velocities are twists.
H_s = 0 for all other joints.

Nothing here knows partial velocities or accelerations: T is made of the twists of the bodies, V of their places. So
that (L1) proves the other formalisms, and is proved by them. Forces without a smooth potential (laws, dampers, stops,
threads, contacts, and elements of joints that close loops) are in Q.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from momentree.equations.balance import energy_of
from momentree.equations.energy import energy_form
from momentree.equations.kinematics import records
from momentree.model.elements import Joint
from momentree.spatial import ZERO, Force, Motion, Vector
from momentree.structure.mechanism import Mechanism, TreeBody
from momentree.symbols.differentiation import Differentiation
from momentree.symbols.scalars import Symbolic


@dataclass(frozen=True)
class Lagrangian:
    """What (L1) is made of, in raw expressions.

    | field    | meaning                                                                                |
    |----------|----------------------------------------------------------------------------------------|
    | kinetic  | T(q, u, t)                                                                             |
    | potential| V(q, t): gravity, springs of the tree's joints, springs between points                 |
    | forces   | Q_s of all other forces                                                                |
    | momenta  | p_s = dT/du_s                                                                          |
    """

    symbols: Symbolic
    kinetic: sp.Expr
    potential: sp.Expr
    forces: tuple[sp.Expr, ...]
    momenta: tuple[sp.Expr, ...]

    def along(self, x: sp.Expr) -> list[sp.Expr]:
        """X_s(x) for each velocity."""
        s = self.symbols
        changes = {q: sp.S(change) for q, change in s.derivatives.items()}
        by_velocity = [{q: change.diff(u) for q, change in changes.items() if change.has(u)} for u in s.u]
        return [Differentiation(direction)(x) for direction in by_velocity]

    @property
    def rotation_terms(self) -> list[sp.Expr]:
        """H_s."""
        s, terms = self.symbols, [sp.Integer(0)] * len(self.symbols.u)
        for body in s.mechanism.bodies:
            u, p = s.u[body.v], self.momenta[body.v]
            if body.laws is None and len(s.q[body.q]) != len(u):
                still = (sp.Integer(0),) * (6 - len(u))
                v, v_p = (*still, *u), (*still, *p)
                turned = Motion(Vector(*v[:3]), Vector(*v[3:])).cross_force(Force(Vector(*v_p[:3]), Vector(*v_p[3:])))
                terms[body.v] = [*turned.linear, *turned.angular][-len(u) :]
        return terms

    def rows(self) -> list[list[sp.Expr]]:
        """Rows of A, then b, then Q of A u' + b = Q."""
        s = self.symbols
        by_velocity = [Differentiation({u: sp.Integer(1)}) for u in s.u]
        A = [[derivative(p) for derivative in by_velocity] for p in self.momenta]
        in_time = Differentiation({**s.derivatives, s.t: sp.Integer(1)})
        changes, along, turned = map(in_time, self.momenta), self.along(self.kinetic), self.rotation_terms
        b = [change - x + h for change, x, h in zip(changes, along, turned, strict=True)]
        return [*A, b, [Q - x for Q, x in zip(self.forces, self.along(self.potential), strict=True)]]


def lagrangian(s: Symbolic) -> Lagrangian:
    """The Lagrangian of the tree."""
    at = s.evaluation
    with_potential = at._replace(mechanism=conservative(s.mechanism))
    energy = energy_of(with_potential.mechanism, records(with_potential, s.u))
    kinetic, potential = sp.S(energy.kinetic), sp.S(energy.potential)
    rest = at._replace(mechanism=without_potential(s.mechanism))
    forces = tuple(map(sp.S, energy_form(rest, s.u, [sp.Integer(0)] * len(s.u)).Q))
    return Lagrangian(s, kinetic, potential, forces, tuple(Differentiation({u: sp.Integer(1)})(kinetic) for u in s.u))


def conservative(mechanism: Mechanism) -> Mechanism:
    """The mechanism with those elements alone that have a smooth potential."""
    return replace(
        mechanism,
        bodies=tuple(_with_joint(body, limits=None, stops=None) for body in mechanism.bodies),
        loops=(),
        elements=tuple(part for element in mechanism.elements if (part := element.smooth_part)),
    )


def without_potential(mechanism: Mechanism) -> Mechanism:
    """The mechanism with all other elements: `conservative` and this one have each force once."""
    return replace(
        mechanism,
        gravity=ZERO,
        bodies=tuple(_with_joint(body, spring=None, rest=None) for body in mechanism.bodies),
        elements=tuple(part for element in mechanism.elements if (part := element.other_part)),
    )


def _with_joint(body: TreeBody, **fields: None) -> TreeBody:
    joint: Joint = body.joint
    return replace(body, joint=replace(joint, type=joint.type.with_fields(**fields)))
