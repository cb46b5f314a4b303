"""Hamiltonian variables on the Lie group of translations and rotations: local steps after those of hamiltonian.py.

For trees. docs/theory/structure-preserving.md derives them.
"""

from __future__ import annotations

from momentree.equations.sweeps import Fields, Record
from momentree.spatial import Vector
from momentree.structure.mechanism import Reversed


def velocities_on_group(body: Record) -> Fields:
    """Velocities of a joint on its group: w of a rotation, in axes of M, and derivatives of all other coordinates."""
    return {"group_velocity": (*body.dq[:-4], *body.u[-3:]) if len(body.q) != len(body.u) else tuple(body.dq)}


def forces_on_group(body: Record) -> Fields:
    """F = p' - p x w of momenta that a rotation w carries along, p' of all others: structure-preserving.md (V3)."""
    if not body.free or len(body.q) == len(body.u):
        return {"group_force": body.dp}
    w = Vector(*body.u[-3:])
    if isinstance(body.joint_type, Reversed):
        triples = [(Vector(*body.dp[i : i + 3]), Vector(*body.p[i : i + 3])) for i in range(0, len(body.p), 3)]
        return {"group_force": tuple(e for dp, p in triples for e in dp - p.cross(w))}
    # p x w cancels the part of Omega mu due to the joint's own velocities: neither is computed
    F = body.F - (body.v - body.A @ body.u).cross_force(body.mu_star)
    moment = F.angular - Vector(*body.u[:3]).cross(Vector(*body.p[:3])) if len(body.u) > 3 else F.angular
    forces = (*F.linear, *moment)[-len(body.u) :]
    return {"group_force": tuple(f + Q for f, Q in zip(forces, body.Q, strict=True))}
