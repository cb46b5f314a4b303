"""Forward dynamics in O(n): articulated inertias inward, accelerations outward (Featherstone 1983; ABA).

The same recursion in momenta is Ivanov's M*, D, H (Ivanov 2022, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.equations.armature import inertia_along_joint
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized, loaded_bodies
from momentree.equations.kinematics import records
from momentree.equations.loops.constraint_rows import acceleration_bias
from momentree.equations.loops.elimination import along_joint, begin_constraints, impulses, numbered, with_constraints
from momentree.equations.loops.expression_constraints import share_velocities
from momentree.equations.loops.higher_pair_rows import check_derivatives
from momentree.equations.loops.programme_bias import find_programme_bias
from momentree.equations.loops.residual import measure_closure_error
from momentree.equations.loops.wrenches import apply_constraint_forces
from momentree.equations.newton_euler import Spin, accelerated
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import REST, ZERO, Force, Motion, Scalar
from momentree.spatial.articulated import ArticulatedInertia, across_joint, weighted_columns
from momentree.spatial.inertia import symmetric_product
from momentree.spatial.symmetric import inverse, product

REACTION_GAINS = ("alpha", "velocity_gain", "programme_gain")  # by which reactions stabilize loops


def begin_with_bias_force(body: Record) -> Fields:
    """M* = M, and the bias force, which the body needs to move on without accelerating: Omega M v - F."""
    bias_force = body.v.cross_force(body.inertia @ body.v) - body.applied
    return {"M_star": ArticulatedInertia.of(body.inertia), "bias_force": bias_force}


def begin_at_rest(body: Record) -> Fields:
    """M* = M, and no bias force."""
    return {"M_star": ArticulatedInertia.of(body.inertia), "bias_force": Force.zero()}


def carry_bias(body: Record, parent: Record) -> Fields:
    """The part of dv that does not depend on du: c = -(A u) x (C v_parent) + A' u, and A u' where prescribed."""
    relative = body.A @ body.u
    c = body.joint_type.motion_subspace_derivative(body.q, body.u) @ body.u - relative.cross(body.X.motion(parent.v))
    return {"c": c if body.free else c + body.A @ body.du}


def carry_classical_bias(body: Record, parent: Record) -> Fields:
    """c and the bias force where dv is (a; dw), a the acceleration of the origin (newton_euler.py): v is not needed.

    With U = [w x][w x] the bias force is (U h; w x J w) - F; and M* = M.
    """
    w, dw, a = accelerated(body, parent, ZERO, ZERO, REST if body.free else body.A @ body.du)
    M, U = body.inertia, Spin.of(w, ZERO)
    bias_force = Force(U @ M.h, w.cross(symmetric_product(M.J, w))) - body.applied
    return {"w": w, "U": U, "c": Motion(a, dw), "M_star": ArticulatedInertia.of(M), "bias_force": bias_force}


def articulate_with_bias_force(body: Record) -> tuple[Fields, Fields]:
    """W = M* A, D = (A' W)^-1, K = W D, M* - K W' to the parent; the bias force p likewise."""
    M, A, p, c, armature = body.M_star, body.A, body.bias_force, body.c, body.joint_type.armature
    if not body.free:
        return {}, {"M_star": M.to_parent(body.X), "bias_force": body.X.force_to_parent(p + M @ c)}
    W = [M @ axis for axis in A.columns]
    D = inverse(inertia_along_joint(body, W))
    K = weighted_columns(A, W, D, armature)
    along = [tau + f for tau, f in zip(body.tau, body.Q, strict=True)]
    net = [force - b for force, b in zip(along, A.along(p), strict=True)]
    M_a = M.less(A, W, K, armature)
    p = p + M_a @ c
    for column, share in zip(K, net, strict=True):
        p = p + column * share
    p = p if armature else A.given_along(p, along)
    up = {"M_star": M_a.to_parent(body.X), "bias_force": body.X.force_to_parent(p)}
    return {"W": W, "D": D, "K": K, "net": net, "u_net": product(D, net)}, up


def find_reactions(body: Record, parent: Record) -> Fields:
    """Lagrange multipliers lambda, here eta, of the constraints that are open here: their forces are part of `net`."""
    a = body.X.motion(parent.dv) + body.c
    eta = impulses(body, parent, a)
    if not body.free:
        return {"dv": a, **numbered(eta)}
    net = list(body.net)
    for k, (force, size) in enumerate(zip(body.open.F, eta, strict=True)):
        net = [f + along * size for f, along in zip(net, along_joint(body, k, force), strict=True)]
    return {**find_accelerations(body.having(u_net=product(body.D, net)), parent), **numbered(eta)}


def find_accelerations(body: Record, parent: Record) -> Fields:
    """du = D net - K' a, dv = a + A du, where a = C dv_parent + c."""
    a = body.X.motion(parent.dv) + body.c
    if not body.free:
        return {"dv": a}
    du, dv = across_joint(body.A, body.K, body.u_net, a, body.joint_type.armature)
    return {"du": du, "dv": dv}


def forward_dynamics(at: Evaluation, u: Coordinates, tau: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The derivatives of the velocities under the forces of the model and generalized forces tau, loops closed."""
    bodies = accelerating_bodies if at.mechanism.constrained else accelerating_tree
    return generalized(at.mechanism, bodies(at, u, tau), "du")


def inverse_inertia_product(at: Evaluation, x: Coordinates) -> tuple[Scalar, ...]:
    """M(q)^-1 x in O(n): the accelerations of the tree at rest under the generalized forces x alone, loops open."""
    placed = records(at)
    placed[0].dv = REST
    for body in at.mechanism.bodies:
        record = placed[body.number]
        record.tau, record.free = tuple(x[body.v]), body.v.stop > body.v.start
        record.Q, record.c = (0,) * len(record.tau), REST
    placed.locally(begin_at_rest)
    placed.inward(articulate_with_bias_force)
    placed.outward(find_accelerations)
    return generalized(at.mechanism, placed, "du")


def accelerating_tree(at: Evaluation, u: Coordinates, tau: Sequence[Scalar]) -> Records:
    """The bodies of a tree with the derivatives du of their velocities; dv is (a; dw) of `carry_classical_bias`."""
    moving = driven(at, u, tau)
    ground: Record = moving[0]
    ground.w, ground.U = ground.v.angular, Spin.of(ground.v.angular, ZERO)
    ground.dv = Motion(ground.dv.linear + ground.w.cross(ground.v.linear), ground.dv.angular)
    moving.outward(carry_classical_bias)
    moving.inward(articulate_with_bias_force)
    moving.outward(find_accelerations)
    return moving


def driven(at: Evaluation, u: Coordinates, tau: Sequence[Scalar]) -> Records:
    """The bodies under the forces of the model and tau; `free` are those whose joints are not prescribed."""
    moving = loaded_bodies(at, u, None, closed=at.mechanism.constrained)
    for body in at.mechanism.bodies:
        record = moving[body.number]
        record.tau, record.free = tuple(tau[body.v]), body.v.stop > body.v.start
    return moving


def accelerating_bodies(
    at: Evaluation, u: Coordinates, tau: Sequence[Scalar], alpha: Scalar = 0, velocity_gain: Scalar = 0,
    programme_gain: Scalar = 0,
) -> Records:  # fmt: skip
    """The bodies with the derivatives du of their velocities and dv of their twists, less gravity.

    Loops are closed by reactions, which also stabilize them by a gain (1/s), one of REACTION_GAINS:

    | gain           | closure errors g and their velocities                                                        |
    |----------------|----------------------------------------------------------------------------------------------|
    | alpha          | g'' + 2 alpha g' + alpha^2 g = 0                                                             |
    | velocity_gain  | g'' + gain g' = 0                                                                            |
    | programme_gain | the energy of the deviation from g' + gain g = 0 decays: loops/programme_bias.py             |
    """
    mechanism, moving = at.mechanism, driven(at, u, tau)
    moving.locally(begin_with_bias_force)
    moving.outward(carry_bias)
    if not mechanism.constrained:
        moving.inward(articulate_with_bias_force)
        moving.outward(find_accelerations)
        return moving
    if mechanism.constraints:
        moving.locally(share_velocities)
    if alpha != 0:
        moving.constraints.locally(measure_closure_error)
    if programme_gain != 0:
        find_programme_bias(at, moving, programme_gain)
    moving.constraints.locally(acceleration_bias(2 * alpha + velocity_gain, alpha * alpha, programme_gain != 0))
    moving.locally(begin_constraints)
    moving.inward(with_constraints(articulate_with_bias_force, phi="bias_force", v_r="c", u="du"))
    moving.outward(find_reactions)
    return moving


def reacting_bodies(at: Evaluation, u: Coordinates, tau: Sequence[Scalar], **gains: Scalar) -> Records:
    """The same, with the wrenches of loops on their two bodies (`wrench_on0`, `wrench_on1` of their records)."""
    try:
        moving = accelerating_bodies(at, u, tau, **gains)
    except ZeroDivisionError:  # in floats
        for loop, record in zip(at.mechanism.loops, records(at, u, closed=True).constraints[1:], strict=False):
            check_derivatives(loop, record)
        raise
    if at.mechanism.constrained:
        moving.constraints.locally(apply_constraint_forces)
    return moving
