"""The theorem of kinetic energy, projected on each velocity: T_s = Q_s (Rusanov 2014, in its correct form).

Rusanov writes dT/dt - W = sum (T_s - Q_s) q_s' and lets each bracket vanish. That does not follow: it is one equation,
T_s depends on the q' itself, and anything orthogonal to q' may be added to the brackets. What makes the result true is
virtual power (D'Alembert, Jourdain, Kane): time, configuration, velocities, *accelerations and forces* are held; only
the velocities that these are multiplied with are replaced by the partial velocities v_s, w_s of one velocity at a time:

    V = sum v_s u_s + v_t,   w = sum w_s u_s + w_t                                   of each body                 (T1)
    T_s = sum_b [ M a . v_s + (I eps + w x I w) . w_s ],   Q_s = sum_b [ R . v_s + m . w_s ]                      (T2)
    A_sr = sum_b [ M v_s . v_r + w_s . I w_r ]                                                                    (T3)

His (4) lacks w x I w. In space it is needed, and dT/dt does not tell that it is missing, because it has no power.
Partial velocities exist for any velocities, also for those of balls and free bodies, which are derivatives of no
coordinate; his vector H of finite rotations does not. Reactions have no *virtual* power, but those of prescribed joints
and of a moving ground have power: see `power`.

Why accelerations stay unexpanded until they are projected: a contains products of velocities, such as l phi'^2. Who
writes these out first and then puts all velocities to zero but one, which is one, as the paper does to get at v_s, puts
zeros and ones into the acceleration too and loses terms. Here v_s and w_s are columns, carried outward by themselves,
and nothing is ever put into an acceleration.

These are the equations of the tree: reactions of loops and constraints are not in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import apply_forces, generalized
from momentree.equations.kinematics import records
from momentree.equations.sweeps import Fields, Record
from momentree.model.joint_type import Coordinates
from momentree.spatial import REST, ZERO, Force, Motion, RigidInertia, Scalar, Transform
from momentree.structure.mechanism import Mechanism


def carry_partial(body: Record, parent: Record) -> Fields:
    """Partial velocities by the velocities on the path to the ground: the parent's, and the joint's motion subspace."""
    carried = {s: body.X.motion(column) for s, column in parent.partial.items()}
    own = zip(body.velocities, body.A.columns, strict=False)  # a prescribed joint has axes, but no velocities
    return {"partial": {**carried, **dict(own)}}


def find_centre(body: Record) -> Fields:
    """The centre of mass, and the inertia there; a massless carrier is looked at in its origin."""
    m, h = body.inertia.mass, body.inertia.h
    c = ZERO if m == 0 else h / m
    return {"X_C": Transform(offset=c), "M_C": RigidInertia(m, ZERO, body.inertia.shifted(-c).J)}


def move_to_centre(body: Record) -> Fields:
    """V, w and v_s, w_s at the centre of mass; a is the change of the components of V and w x V, eps that of w."""
    V, dV = body.X_C.motion(body.v), body.X_C.motion(body.dv)
    partial = {s: body.X_C.motion(column) for s, column in body.partial.items()}
    a = Motion(dV.linear + V.angular.cross(V.linear), dV.angular)
    return {"V_C": V, "a_C": a, "partial_C": partial}


def find_active_forces(body: Record) -> Fields:
    """R and m: the applied forces, at the centre of mass, and the weight."""
    weight = body.X_0.rotation.T @ body.gravity * body.M_C.mass
    return {"active": body.X_C.force(body.applied) + Force(weight, ZERO)}


@dataclass(frozen=True)
class EnergyForm:
    """All that T_s = Q_s is made of. Everything of a body is in its axes, at its centre of mass.

    | field        | of                 | meaning                                                                   |
    |--------------|--------------------|---------------------------------------------------------------------------|
    | inertia      | body               | M and the central inertia I                                               |
    | partial      | body, velocity     | (v_s; w_s), at rest off the path to the ground                            |
    | velocity     | body               | (V; w)                                                                    |
    | acceleration | body               | (a; eps)                                                                  |
    | force        | body               | (R; m): active forces, internal ones and weight included                  |
    | joint_forces | velocity           | generalized forces of joint springs, dampers, stops and torque laws       |
    | armature     | velocity           | N, the inertia of rotors: T has N u'_s, and A_ss has N                    |
    | du           | velocity           | u'_s                                                                      |
    | inertial     | body               | (M a; I eps + w x I w)                                                    |
    | T, Q         | velocity           | projections of `inertial` and of `force`, (T2); `joint_forces` are in Q   |
    | A            | velocity, velocity | the mass matrix, (T3)                                                     |
    """

    inertia: tuple[RigidInertia, ...]
    partial: tuple[tuple[Motion, ...], ...]
    velocity: tuple[Motion, ...]
    acceleration: tuple[Motion, ...]
    force: tuple[Force, ...]
    joint_forces: tuple[Scalar, ...]
    armature: tuple[Scalar, ...]
    du: tuple[Scalar, ...]

    @cached_property
    def inertial(self) -> tuple[Force, ...]:
        """M a and I eps + w x I w of each body."""
        wrenches = []
        for I, V, a in zip(self.inertia, self.velocity, self.acceleration, strict=True):
            gyroscopic = V.angular.cross(I.turning(V.angular))
            wrenches.append(Force(a.linear * I.mass, I.turning(a.angular) + gyroscopic))
        return tuple(wrenches)

    @cached_property
    def T(self) -> tuple[Scalar, ...]:
        """T_s, the inertial side, (T2)."""
        rotors = zip(self.armature, self.du, strict=True)
        return tuple(_projected(self.partial, self.inertial, s) + N * du for s, (N, du) in enumerate(rotors))

    @cached_property
    def Q(self) -> tuple[Scalar, ...]:
        """Q_s, the side of the active forces, (T2)."""
        return tuple(_projected(self.partial, self.force, s) + Q for s, Q in enumerate(self.joint_forces))

    @cached_property
    def A(self) -> tuple[tuple[Scalar, ...], ...]:
        """A_sr, the derivative of T_s with respect to du_r, (T3)."""
        n = len(self.joint_forces)
        A: list[list[Scalar]] = [[0] * n for _ in range(n)]
        for r in range(n):
            momenta = [_momentum(I, by_velocity[r]) for I, by_velocity in zip(self.inertia, self.partial, strict=True)]
            for s in range(r + 1):
                A[s][r] = A[r][s] = _projected(self.partial, momenta, s)
            A[r][r] = A[r][r] + self.armature[r]
        return tuple(map(tuple, A))


def energy_form(at: Evaluation, u: Coordinates, du: Coordinates) -> EnergyForm:
    """Partial velocities, velocities, accelerations and active forces of the bodies, and their projections."""
    mechanism = at.mechanism
    moving = records(at, u, du)
    apply_forces(at, moving)
    moving[0].partial = {}
    for body in mechanism.bodies:
        record = moving[body.number]
        record.velocities, record.gravity = range(body.v.start, body.v.stop), mechanism.gravity
    moving.outward(carry_partial)
    for step in (find_centre, move_to_centre, find_active_forces):
        moving.locally(step)
    return EnergyForm(
        inertia=tuple(body.M_C for body in moving[1:]),
        partial=tuple(tuple(body.partial_C.get(s, REST) for s in range(mechanism.nv)) for body in moving[1:]),
        velocity=tuple(body.V_C for body in moving[1:]),
        acceleration=tuple(body.a_C for body in moving[1:]),
        force=tuple(body.active for body in moving[1:]),
        joint_forces=generalized(mechanism, moving, "Q"),
        armature=_armature(mechanism),
        du=tuple(du),
    )


def equations_of_motion(at: Evaluation, u: Coordinates, du: Coordinates) -> tuple[Scalar, ...]:
    """T_s - Q_s of each velocity: zero where the tree accelerates under the forces of the model alone."""
    form = energy_form(at, u, du)
    return tuple(T - Q for T, Q in zip(form.T, form.Q, strict=True))


class Power(NamedTuple):
    """The theorem of kinetic energy itself, W.

    | field     | meaning                                                                                       |
    |-----------|-----------------------------------------------------------------------------------------------|
    | kinetic   | dT/dt = sum_b [ M a . V + (I eps + w x I w) . w ]                                             |
    | active    | of all forces but reactions                                                                   |
    | rheonomic | of the reactions of prescribed joints and of a moving ground: sum_b [ (M a - R) . v_t + ... ] |
    """

    kinetic: Scalar
    active: Scalar
    rheonomic: Scalar

    @property
    def surplus(self) -> Scalar:
        """kinetic - active - rheonomic = sum (T_s - Q_s) u_s: zero in any motion under the forces of the model."""
        return self.kinetic - self.active - self.rheonomic


def power(at: Evaluation, u: Coordinates, du: Coordinates) -> Power:
    """The balance of power where the tree moves with u and accelerates with du.

    A prescribed motion does work: a bead on a rod turned at a given velocity gains energy though no active force acts.
    """
    form = energy_form(at, u, du)
    # v_t, w_t: how the bodies move when every velocity is zero
    carried = records(at, [0] * at.mechanism.nv)
    carried.locally(find_centre)
    v_t = [body.X_C.motion(body.v) for body in carried[1:]]
    needed = [inertial - force for inertial, force in zip(form.inertial, form.force, strict=True)]
    joints = _sum(Q * velocity for Q, velocity in zip(form.joint_forces, u, strict=True))
    rotors = _sum(N * a * velocity for N, a, velocity in zip(form.armature, form.du, u, strict=True))
    kinetic = _power(form.velocity, form.inertial) + rotors
    return Power(kinetic, _power(form.velocity, form.force) + joints, _power(v_t, needed))


def _armature(mechanism: Mechanism) -> tuple[Scalar, ...]:
    free = [body for body in mechanism.bodies if not body.laws]
    return tuple(N for body in free for N in body.joint.type.armature or (0,) * (body.v.stop - body.v.start))


def _momentum(I: RigidInertia, v: Motion) -> Force:
    return Force(v.linear * I.mass, I.turning(v.angular)) if v is not REST else Force.zero()


def _projected(partial: Sequence[Sequence[Motion]], forces: Sequence[Force], s: int) -> Scalar:
    """The virtual power of forces on the bodies for a unit of velocity s; only bodies that it moves take part."""
    moved = [
        (by_velocity[s], force)
        for by_velocity, force in zip(partial, forces, strict=True)
        if by_velocity[s] is not REST
    ]
    return _sum(v @ force for v, force in moved)


def _power(velocities: Sequence[Motion], forces: Sequence[Force]) -> Scalar:
    return _sum(v @ force for v, force in zip(velocities, forces, strict=True))


def _sum(terms: Iterable[Scalar]) -> Scalar:
    total: Scalar = 0
    for term in terms:
        total = total + term
    return total
