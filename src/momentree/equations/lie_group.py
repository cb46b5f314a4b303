"""Hamiltonian variables on the group of lines and rotations: local steps after those of hamiltonian.py, for trees.

docs/theory/structure-preserving.md derives them.
"""

from __future__ import annotations

from momentree.equations.sweeps import Fields, Record
from momentree.spatial import Vector
from momentree.structure.mechanism import Reversed


def velocities_on_group(body: Record) -> Fields:
    """How a joint's coordinates change on their group: a rotation by w in axes of M, others by their derivatives."""
    return {"group_velocity": (*body.dq[:-4], *body.u[-3:]) if len(body.q) != len(body.u) else tuple(body.dq)}


def forces_on_group(body: Record) -> Fields:
    """F = p' - p x w of momenta that a rotation w carries along, p' of all others: structure-preserving.md (3)."""
    if not body.free or len(body.q) == len(body.u):
        return {"group_force": body.dp}
    w = Vector(*body.u[-3:])
    if isinstance(body.joint_type, Reversed):
        triples = [(Vector(*body.dp[i : i + 3]), Vector(*body.p[i : i + 3])) for i in range(0, len(body.p), 3)]
        return {"group_force": tuple(e for dp, p in triples for e in dp - p.cross(w))}
    # p x w and what the joint's own velocities make of Omega mu cancel: they are not computed
    F = body.F - (body.v - body.A @ body.u).cross_force(body.mu)
    moment = F.angular - Vector(*body.u[:3]).cross(Vector(*body.p[:3])) if len(body.u) > 3 else F.angular
    found = (*F.linear, *moment)[-len(body.u) :]
    return {"group_force": tuple(f + given for f, given in zip(found, body.along, strict=True))}
