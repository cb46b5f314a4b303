"""Inverse dynamics with the fewest operations: classical accelerations, first moments and pseudo-inertias.

w, dw: angular velocity and acceleration; a: acceleration of the origin, as felt (less gravity);
U = [dw x] + [w x][w x], so that the point r of a body accelerates with a + U r. Then, with the first moment h and the
pseudo-inertia K = tr(J)/2 E - J about the origin,

    f = m a + U h ,      n = vee(U K - (U K)') + h x a .                                             (1)

The same numbers as aggregative.inverse_dynamics; docs/theory/aggregative.md compares what they cost.
"""

from __future__ import annotations

from momentree.equations.aggregative import gather
from momentree.equations.armature import has_armature, resist_acceleration
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized, loaded_bodies
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import ZERO, Force, Motion, RigidInertia, Scalar, Vector
from momentree.structure.mechanism import Mechanism


class Spin:
    """U = [dw x] + [w x][w x] of a body, by its six products."""

    __slots__ = ("rows",)

    def __init__(self, rows: tuple[Vector, Vector, Vector]):
        self.rows = rows

    @classmethod
    def of(cls, w: Vector, dw: Vector) -> Spin:
        xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
        xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
        return cls(
            (
                Vector(-yy - zz, xy - dw.z, xz + dw.y),
                Vector(xy + dw.z, -xx - zz, yz - dw.x),
                Vector(xz - dw.y, yz + dw.x, -xx - yy),
            )
        )

    def __matmul__(self, r: Vector) -> Vector:
        a, b, c = self.rows
        return Vector(a @ r, b @ r, c @ r)

    def moment(self, K: tuple[Scalar, ...]) -> Vector:
        """vee(U K - (U K)') of the pseudo-inertia K: J dw + w x J w."""
        Kxx, Kyy, Kzz, Kxy, Kxz, Kyz = K
        (Uxx, Uxy, Uxz), (Uyx, Uyy, Uyz), (Uzx, Uzy, Uzz) = self.rows
        return Vector(
            Uzy * Kyy + Uzx * Kxy - Uyx * Kxz - Uyz * Kzz + (Uzz - Uyy) * Kyz,
            Uxz * Kzz + Uxy * Kyz - Uzy * Kxy - Uzx * Kxx + (Uxx - Uzz) * Kxz,
            Uyx * Kxx + Uyz * Kxz - Uxz * Kyz - Uxy * Kyy + (Uyy - Uxx) * Kxy,
        )


def accelerated(body: Record, parent: Record, dw: Vector, a: Vector, drive: Motion) -> tuple[Vector, Vector, Vector]:
    """w, dw and a of a body: through the mount, then through the joint, for dw and a of its parent; `drive` is A u'."""
    mount, joint = body.X.mount, body.X.joint
    w_F, dw_F = mount.rotation.T @ parent.w, mount.rotation.T @ dw
    a_F = mount.rotation.T @ (a if mount.offset is ZERO else a + parent.U @ mount.offset)
    if joint.offset is not ZERO:
        a_F = a_F + Spin.of(w_F, dw_F) @ joint.offset
    R = joint.rotation.T
    carried, relative = R @ w_F, body.A @ body.u
    turning = body.joint_type.motion_subspace_derivative(body.q, body.u) @ body.u
    w = carried + relative.angular
    dw = R @ dw_F + carried.cross(relative.angular) + turning.angular + drive.angular
    # the origin as seen from F: velocity `relative`, whose components change also because the axes turn
    seen = turning.linear + drive.linear + (carried + w).cross(relative.linear)
    return w, dw, R @ a_F + seen


def carry_accelerations(body: Record, parent: Record) -> Fields:
    """w, dw, a and U of a body from those of its parent."""
    w, dw, a = accelerated(body, parent, parent.dw, parent.a, body.A @ body.du)
    return {"w": w, "dw": dw, "a": a, "U": Spin.of(w, dw)}


def begin_with_inertial_wrench(body: Record) -> Fields:
    """Z begins as the inertial wrench, (1), less the applied one."""
    M: RigidInertia = body.inertia
    f = body.a * M.mass + body.U @ M.h
    return {"Z": Force(f, body.U.moment(M.pseudo) + M.h.cross(body.a)) - body.applied}


def inverse_dynamics(at: Evaluation, u: Coordinates, du: Coordinates) -> tuple[Scalar, ...]:
    """The generalized forces, besides those of the model, that make the tree accelerate with du (RNEA)."""
    return _projected(at.mechanism, loaded_bodies(at, u, du))


def inertial_terms(at: Evaluation, u: Coordinates) -> tuple[Scalar, ...]:
    """b of the first aggregative form: the inertial terms at du = 0, without gravity and without any other force."""
    moving = records(at, u, [0] * at.mechanism.nv)
    for record, body in zip(moving[1:], at.mechanism.bodies, strict=True):
        record.applied, record.Q = Force.zero(), (0,) * len(body.joint.type.velocities)
    return _projected(at.mechanism, moving)


def _projected(mechanism: Mechanism, moving: Records) -> tuple[Scalar, ...]:
    """A' Z - Q of bodies that accelerate, with applied wrenches and Q."""
    ground: Record = moving[0]
    ground.w, ground.dw = ground.v.angular, ground.dv.angular
    ground.a = ground.dv.linear + ground.w.cross(ground.v.linear)
    ground.U = Spin.of(ground.w, ground.dw)
    moving.outward(carry_accelerations)
    if has_armature(mechanism):
        moving.locally(resist_acceleration)
    moving.locally(begin_with_inertial_wrench)
    moving.inward(gather)
    return generalized(mechanism, moving, "b")
