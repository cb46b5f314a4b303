"""Hamiltonian variables: coordinates q and the Poisson momenta p = A' mu conjugate to the velocities u.

Ivanov 2022, section 3, corrected; letters and (1), (5), (6) are the paper's, numbers with an H are those of
docs/theory/hamiltonian.md. With v = C v_parent + A u + v^r, (1),

    M v = S' mu ,   S v = A u + v^r ,   A' mu = p                                                          (5)
    p' = (A'' - A' Omega) mu + Q                                                                           (6)

where A'' mu stands for the transposed derivative of A along the motion times mu. Three passes along the tree:

| pass    | finds                                     | steps                                                      |
|---------|-------------------------------------------|------------------------------------------------------------|
| inward  | M*, the articulated-body inertia, and phi | `begin`, `articulate`, `transmit_phi`                      |
| outward | u, v                                      | `find_velocities`                                          |
| inward  | mu and p'                                 | `carry_gravity`, `add_weight`, `begin_with_momentum`,      |
|         |                                           | `sum_momenta`, `find_momentum_derivatives`                 |

Closed loops (loops/) make p* of p,

    p = p* + J' eta ,   mu* = mu - T' (rows eta) ,   A' mu* = p* ,   p*' = (A'' - A' Omega) mu* + Q            (6, 8)

with constraint impulses eta such that all loops stay closed; (6) as printed in the paper has mu, which is wrong.
Elimination of the constraints joins the first pass, `find_impulses` replaces `find_velocities` in the second and gives
mu* = M* v + phi* at once.
"""

from __future__ import annotations

from momentree.equations.aggregative import begin_with_momentum, generalized_momenta
from momentree.equations.armature import inertia_along_joint, without_armature
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import apply_forces, generalized
from momentree.equations.kinematics import Derivatives, coordinate_derivatives, move, records
from momentree.equations.loops.constraint_rows import velocity_bias
from momentree.equations.loops.elimination import (
    begin_constraints,
    has_joint_ends,
    impulses,
    numbered,
    with_constraints,
)
from momentree.equations.loops.expression_constraints import share_velocities
from momentree.equations.loops.residual import measure_closure_error
from momentree.equations.loops.wrenches import (
    add_constraint_wrenches,
    apply_impulse_changes,
)
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import REST, ZERO, Force, Scalar, Vector
from momentree.spatial.articulated import ArticulatedInertia, across_joint, weighted_columns
from momentree.spatial.symmetric import inverse, product

# --- the first pass, inward: M* and phi ---


def begin(body: Record) -> Fields:
    """M* = M, phi = 0; v^r = A u of a prescribed joint."""
    v_r = REST if body.free else body.A @ body.u
    return {"M_star": ArticulatedInertia.of(body.inertia), "phi": Force.zero(), "v_r": v_r}


def articulate(body: Record) -> tuple[Fields, Fields]:
    """W = M* A, D = (A' W)^-1, K = W D; M*_k += C' (M* - K W') C of the parent k, or C' M* C: (H7), (H8)."""
    M, A, armature = body.M_star, body.A, body.joint_type.armature
    if not body.free:
        return {}, {"M_star": M.to_parent(body.X)}
    W = [M @ axis for axis in A.columns]
    D = inverse(inertia_along_joint(body, W))
    K = weighted_columns(A, W, D, armature)
    return {"W": W, "D": D, "K": K}, {"M_star": M.less(A, W, K, armature).to_parent(body.X)}


def transmit_phi(body: Record) -> tuple[Fields, Fields]:
    """phi_k += C' (phi + K (p - A' phi)), or C' (phi + M* v^r) where the joint is prescribed: (H7), (H8)."""
    phi = body.phi
    if not body.free:
        return {}, {"phi": body.X.force_to_parent(phi + body.M_star @ body.v_r)}
    net = _less(body.p, body.A.along(phi))
    for column, share in zip(body.K, net, strict=True):
        phi = phi + column * share
    phi = phi if body.joint_type.armature else body.A.given_along(phi, body.p)
    return {"net": net, "u_net": product(body.D, net)}, {"phi": body.X.force_to_parent(phi)}


def articulate_with_phi(body: Record) -> tuple[Fields, Fields]:
    """`articulate` and `transmit_phi` in one step, for the elimination of constraints."""
    fields, up = articulate(body)
    more, phi_up = transmit_phi(body.having(**fields))
    return fields | more, up | phi_up


# --- the second pass, outward: u and v ---


def find_velocities(body: Record, parent: Record) -> Fields:
    """u = D (p - A' phi) - K' w, v = w + A u, where w = C v_k + v^r: (H9)."""
    w = body.X.motion(parent.v) + body.v_r
    if not body.free:
        return {"v": w}
    u, v = across_joint(body.A, body.K, body.u_net, w, body.joint_type.armature)
    return {"u": u, "v": v}


def find_impulses(body: Record, parent: Record) -> Fields:
    """The constraint impulses eta of the open rows; with phi* = phi - F eta, u and v by (H9), mu* = M* v + phi*."""
    eta = impulses(body, parent, body.X.motion(parent.v) + body.v_r)
    phi, p = body.phi, body.p
    if not body.slots.closes:
        for force, size in zip(body.open.F, eta, strict=True):
            phi = phi - force * size
    if body.free and has_joint_ends(body):
        for coefficients, size in zip(body.along, eta, strict=True):
            p = [x + a * size for x, a in zip(p, coefficients, strict=True)] if coefficients else p
    u_net = product(body.D, _less(p, body.A.along(phi))) if body.free else ()
    moved = find_velocities(body.having(u_net=u_net), parent)
    return {**moved, "mu_star": body.M_star @ moved["v"] + phi, **numbered(eta)}


# --- the third pass, inward: mu and p' ---


def sum_momenta(body: Record) -> tuple[Fields, Fields]:
    """mu_k += C' mu, mu in Z: (H2); of a free joint A' mu = p, less N u of an armature; without loops mu* = mu."""
    mu = body.A.given_along(body.Z, without_armature(body, body.p)) if body.free else body.Z
    return {"mu_star": mu}, {"Z": body.X.force_to_parent(mu)}


def carry_gravity(body: Record, parent: Record) -> Fields:
    """The acceleration of free fall, in the axes of the body."""
    return {"g": body.X.joint.rotation.T @ (body.X.mount.rotation.T @ parent.g)}


def add_weight(body: Record) -> Fields:
    """F: the applied wrench and the weight."""
    M = body.inertia
    return {"F": body.applied + Force(body.g * M.mass, M.h.cross(body.g))}


def find_momentum_derivatives(body: Record) -> tuple[Fields, Fields]:
    """p' = A' (F* - Omega mu*) + A'' mu* + Q, F*_k += C' F*: (6), (H10)."""
    F = body.F - body.v.cross_force(body.mu_star)
    A_mu = body.joint_type.motion_subspace_derivative(body.q, body.u).along(body.mu_star)
    terms = zip(body.A.along(F), A_mu, body.Q, strict=True)
    return {"dp": tuple(f + a + Q for f, a, Q in terms)}, {"F": body.X.force_to_parent(body.F)}


# --- the passes ---


def moving_bodies(at: Evaluation, p: Coordinates, gamma: Scalar = 0) -> Records:
    """The bodies with their velocities u and twists v, where loops are closed also mu*, from the Poisson momenta p*.

    Loops stay closed, or their closure errors vanish as exp(-gamma t) (Baumgarte stabilization).
    """
    mechanism = at.mechanism
    moving = records(at, closed=mechanism.constrained)
    for body in mechanism.bodies:
        record = moving[body.number]
        record.free, record.p = body.v.stop > body.v.start, tuple(p[body.v])
    moving.locally(begin)
    if not mechanism.constrained:
        moving.inward(articulate)
        moving.inward(transmit_phi)
        moving.outward(find_velocities)
        return moving
    if gamma != 0:
        moving.constraints.locally(measure_closure_error)
        moving.constraints.locally(velocity_bias(gamma))
    find_closed_velocities(moving)
    return moving


def find_closed_velocities(moving: Records) -> None:
    """The first two passes with closed loops, of bodies that have M*, phi and v^r (`begin`)."""
    moving.locally(begin_constraints)
    moving.inward(with_constraints(articulate_with_phi, phi="phi", v_r="v_r", u="u"))
    moving.outward(find_impulses)


def changing_bodies(at: Evaluation, p: Coordinates, gamma: Scalar = 0, kappa: Scalar = 0) -> Records:
    """The moving bodies with the derivatives dq of their coordinates and dp of their momenta.

    `gamma` (1/s) makes closure errors vanish (Baumgarte stabilization), `kappa` (1/s) makes eta decay, which changes no
    motion.
    """
    mechanism = at.mechanism
    moving = moving_bodies(at, p, gamma)
    moving.locally(move)
    apply_forces(at, moving, closed=mechanism.constrained)
    if mechanism.constrained:
        if mechanism.constraints:
            moving.locally(share_velocities)
        moving.constraints.locally(apply_impulse_changes(kappa))
        moving.locally(add_constraint_wrenches)
    _change_momenta(moving, mechanism.gravity, not mechanism.constrained)
    return moving


def _change_momenta(moving: Records, gravity: Vector, summed: bool = False) -> None:
    """The third pass, of bodies that have applied wrenches and generalized forces Q; mu* is given, or to be summed."""
    moving[0].g = moving[0].X_0.rotation.T @ gravity
    moving.outward(carry_gravity)
    moving.locally(add_weight)
    if summed:
        moving.locally(begin_with_momentum)
        moving.inward(sum_momenta)
    moving.inward(find_momentum_derivatives)


def momentum_derivatives(at: Evaluation, u: Coordinates, forces: bool = True) -> tuple[Scalar, ...]:
    """p' of the tree by its velocities, (6); without `forces`, the part (A'' - A' Omega) mu alone."""
    mechanism = at.mechanism
    moving = records(at, u)
    generalized_momenta(mechanism, moving)
    if forces:
        apply_forces(at, moving)
    for body in moving:
        if not forces:
            body.applied = Force.zero()
        if body.number:
            body.mu_star = body.Z
    _change_momenta(moving, mechanism.gravity if forces else ZERO)
    return generalized(mechanism, moving, "dp")


def right_hand_side(at: Evaluation, p: Coordinates, gamma: Scalar = 0, kappa: Scalar = 0) -> Derivatives:
    """The derivatives of q and p under the forces of the model."""
    moving = changing_bodies(at, p, gamma, kappa)
    return Derivatives(coordinate_derivatives(at.mechanism, moving), generalized(at.mechanism, moving, "dp"))


def momenta(at: Evaluation, u: Coordinates) -> tuple[Scalar, ...]:
    """p from velocities, with the motion of prescribed joints and of the ground."""
    moving = records(at, u)
    return generalized_momenta(at.mechanism, moving)


def closed_momenta(at: Evaluation, p: Coordinates) -> tuple[Scalar, ...]:
    """p from p*: the same motion with eta = 0."""
    return generalized_momenta(at.mechanism, moving_bodies(at, p))


def _less(a: Coordinates, b: Coordinates) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]
