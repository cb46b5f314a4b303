"""Armature: the inertia of rotors, seen at the joints that they drive.

A rotor with the inertia I about its axis, behind a gear with n turns of the rotor for one of the joint, adds N = n^2 I
to the inertia along the velocity of the joint:

    T = sum v' M v / 2 + sum N u^2 / 2 ,   A' W + N  for  A' W ,   p = A' mu + N u ,   b = A' Z + N u' - Q

N is a constant and u the derivative of a coordinate, so that no other term changes. What is left out is the rotation
of the rotor with the body that carries it, which a large n makes small; a body of its own and a gear have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.equations.sweeps import Fields, Record
from momentree.spatial import Force, Scalar
from momentree.structure.mechanism import Mechanism


def has_armature(mechanism: Mechanism) -> bool:
    """Whether any joint has one: else the steps below are left out."""
    return any(body.joint.type.armature is not None for body in mechanism.bodies)


def inertia_along_joint(body: Record, W: Sequence[Force]) -> list[list[Scalar]]:
    """A' W + N: the inertia that the velocities of the joint move, W = M* A."""
    matrix = [[axis @ w for w in W] for axis in body.A.columns]
    for i, N in enumerate(body.joint_type.armature or ()):
        matrix[i][i] = matrix[i][i] + N
    return matrix


def resist_acceleration(body: Record) -> Fields:
    """Q - N u', in inverse dynamics."""
    return {"Q": _less(body.Q, body.joint_type.armature, body.du)}


def resist_velocity(body: Record) -> Fields:
    """Q - N u, where gathered momenta take the place of wrenches."""
    return {"Q": _less(body.Q, body.joint_type.armature, body.u)}


def without_armature(body: Record, p: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """A' mu = p - N u."""
    return _less(p, body.joint_type.armature, body.u)


def kinetic_energy_of_armature(body: Record) -> Scalar:
    """N u^2 / 2."""
    energy: Scalar = 0
    for N, u in zip(body.joint_type.armature or (), body.u, strict=False):
        energy = energy + N * u * u / 2
    return energy


def _less(Q: Sequence[Scalar], armature: Sequence[Scalar] | None, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
    return tuple(Q) if armature is None else tuple(a - N * b for a, N, b in zip(Q, armature, x, strict=True))
