"""External reactions: forward dynamics with a frame of the tree held along some axes, and the forces that this takes.

Belkov and Konoplev 1997, section 3, corrected: the second aggregative form needs no change, the reactions R enter on
the right as S_R R, with S_R' the constraint Jacobian (docs/theory/aggregative.md, eq. (A9)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from momentree.equations.aggregative import second_form
from momentree.equations.evaluation import Evaluation
from momentree.equations.factors import factors
from momentree.equations.kinematics import frame_jacobian, records
from momentree.equations.sweeps import Record
from momentree.model.joint_type import Coordinates
from momentree.spatial import Force, Motion, Scalar
from momentree.spatial.symmetric import solve
from momentree.structure.mechanism import Attached


@dataclass(frozen=True)
class HeldFrame:
    """Accelerations du with the frame held, and the reaction R along each axis (N, N m)."""

    du: list[Scalar]
    R: list[Scalar]


def held_frame(
    at: Evaluation,
    u: Coordinates,
    tau: Sequence[Scalar],
    frame: Attached,
    axes: Sequence[Force],
    accelerations: Sequence[Scalar] | None = None,
) -> HeldFrame:
    """Forward dynamics with a frame held along axes fixed in inertial space.

    S_R' u' + gamma = a with S_R' = axes by the frame's Jacobian, gamma the axes' part of the frame's acceleration at
    u' = 0, a the prescribed accelerations along them (zero by default); R = (S_R' A^-1 S_R)^-1 (a - gamma - S_R' A^-1
    (tau - d)). The axes are forces at the frame's origin in inertial axes, and must be independent.
    """
    moving = records(at, u, [0] * at.mechanism.nv)
    columns = frame_jacobian(at.mechanism, moving, frame)
    S_R = [[column @ axis for column in columns] for axis in axes]
    gamma = [_acceleration(moving, frame) @ axis for axis in axes]
    d = second_form(at, u).b
    A = factors(at)
    free = A.solve([a - b for a, b in zip(tau, d, strict=True)])
    responses = [A.solve(column) for column in S_R]
    prescribed = accelerations or [0] * len(axes)
    rest = [a - g - _dot(column, free) for a, g, column in zip(prescribed, gamma, S_R, strict=True)]
    R = solve([[_dot(one, other) for other in responses] for one in S_R], rest)
    du = list(free)
    for force, response in zip(R, responses, strict=True):
        du = [a + force * b for a, b in zip(du, response, strict=True)]
    return HeldFrame(du, R)


def _acceleration(moving: Sequence[Record], frame: Attached) -> Motion:
    """Of the frame's origin, and angular, in inertial axes, from the derivatives of the components of v."""
    body = moving[frame.body]
    r = frame.placement.offset
    v, w, dw = body.v.linear, body.v.angular, body.dv.angular
    linear = body.dv.linear + w.cross(v) + dw.cross(r) + w.cross(w.cross(r))
    R = body.X_0.rotation
    return Motion(R @ linear, R @ dw)


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
