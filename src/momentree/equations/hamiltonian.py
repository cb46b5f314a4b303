"""Hamiltonian variables: coordinates q and the Poisson momenta p = A' mu conjugate to the velocities u.

Ivanov 2022, section 3, corrected (docs/theory/hamiltonian.md): one pass inward for the articulated inertias M* and for
phi, one outward for u, v and mu, one inward for p'. The letters are the paper's.

    M v = S' mu ,   S v = A u + v^r ,   A' mu = p                                                          (5)
    p' = (A'' - A' Omega) mu + Q                                                                           (6)

where A'' mu stands for the transposed derivative of A along the motion times mu. Closed loops (loops.py) make p* of p:

    p = p* + J' eta ,   mu* = mu - T' (rows eta) ,   A' mu* = p* ,   p*' = (A'' - A' Omega) mu* + Q               (6, 8)

with eta such that all loops stay closed; (6) as printed in the paper has mu, which is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.equations.aggregative import gather, generalized_momenta
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import apply_forces, generalized
from momentree.equations.kinematics import Derivatives, coordinate_derivatives, move, records
from momentree.equations.loops.constraint_rows import closure_error_bias, row_count, target_bias, velocity_bias
from momentree.equations.loops.elimination import begin_constraints, impulses, numbered, with_constraints
from momentree.equations.loops.residual import measure_closure_error
from momentree.equations.loops.wrenches import (
    add_constraint_wrenches,
    apply_constraint_forces,
    apply_impulse_changes,
)
from momentree.equations.sweeps import Fields, Record, Records
from momentree.model.joint_type import Coordinates
from momentree.spatial import REST, Force, Scalar
from momentree.spatial.articulated import ArticulatedInertia
from momentree.spatial.symmetric import inverse, product
from momentree.structure.mechanism import Mechanism

# --- the steps ---


def begin(body: Record) -> Fields:
    """M* = M, phi = 0; v^r of a prescribed joint."""
    v_r = REST if body.free else body.A @ body.u
    return {"M_star": ArticulatedInertia.of(body.inertia), "phi": Force.zero(), "v_r": v_r}


def articulate(body: Record) -> tuple[Fields, Fields]:
    """W = M* A, D = (A' W)^-1; to the parent M* - W D W', the inertia that the free joint transmits."""
    M, A = body.M_star, body.A
    if not body.free:
        return {}, {"M_star": M.to_parent(body.X)}
    W = [M @ axis for axis in A.columns]
    D = inverse([[axis @ w for w in W] for axis in A.columns])
    return {"W": W, "D": D}, {"M_star": M.less(A, W, D).to_parent(body.X)}


def carry_phi(body: Record) -> tuple[Fields, Fields]:
    """To the parent phi + M* v^r, and what the free joint transmits: W D (p - A' phi)."""
    phi = body.phi
    if not body.free:
        return {}, {"phi": body.X.force_to_parent(phi + body.M_star @ body.v_r)}
    for w, share in zip(body.W, product(body.D, _less(body.p, body.A.along(phi))), strict=True):
        phi = phi + w * share
    return {}, {"phi": body.X.force_to_parent(phi)}


def articulate_with_phi(body: Record) -> tuple[Fields, Fields]:
    """`articulate` and `carry_phi` in one step."""
    fields, up = articulate(body)
    net = {"net": _less(body.p, body.A.along(body.phi))} if body.free else {}
    return fields | net, up | carry_phi(body.having(**fields))[1]


def find_velocities(body: Record, parent: Record) -> Fields:
    """u = D (p - A' (phi + M* w)), v = w + A u, mu = M* v + phi, where w = C v_parent + v^r."""
    w = body.X.motion(parent.v) + body.v_r
    if not body.free:
        mu = body.M_star @ w + body.phi
        return {"v": w, "mu": mu, "mu_star": mu}
    rest = [p - a - w @ column for p, a, column in zip(body.p, body.A.along(body.phi), body.W, strict=True)]
    u = tuple(product(body.D, rest))
    v = w + body.A @ u
    mu = body.M_star @ v + body.phi
    return {"u": u, "v": v, "mu": mu, "mu_star": mu}


def find_impulses(body: Record, parent: Record) -> Fields:
    """Constraint impulses eta of rows that are open here; with phi* = phi - F eta, u, v and mu* as without loops."""
    eta = impulses(body, parent, body.X.motion(parent.v) + body.v_r)
    phi = body.phi
    if not body.slots.closes:
        for force, size in zip(body.open.F, eta, strict=True):
            phi = phi - force * size
    return {**find_velocities(body.having(phi=phi), parent), **numbered(eta)}


def carry_gravity(body: Record, parent: Record) -> Fields:
    """The acceleration of free fall, in the axes of the body."""
    return {"g": body.X.joint.rotation.T @ (body.X.mount.rotation.T @ parent.g)}


def load(body: Record) -> Fields:
    """F: what is applied to the body, and its weight."""
    M = body.inertia
    return {"F": body.applied + Force(body.g * M.mass, M.h.cross(body.g))}


def change(body: Record) -> tuple[Fields, Fields]:
    """p' by (6), with mu* where loops are closed; F* of the body and of all that it carries goes to the parent."""
    F = body.F - body.v.cross_force(body.mu_star)
    A_mu = body.joint_type.motion_subspace_derivative(body.q, body.u).along(body.mu_star)
    terms = zip(body.A.along(F), A_mu, body.Q, strict=True)
    return {"dp": tuple(f + a + Q for f, a, Q in terms)}, {"F": body.X.force_to_parent(body.F)}


def begin_with_pushes(body: Record) -> Fields:
    """Z begins as what loops apply to the body."""
    return {"Z": body.applied}


# --- the passes ---


def moving_bodies(at: Evaluation, p: Coordinates, gamma: Scalar = 0) -> Records:
    """The bodies with their velocities u, twists v and momenta mu*, from the Poisson momenta p*.

    Loops are closed: they do not open, or with closure errors that vanish as exp(-gamma t).
    """
    mechanism = at.mechanism
    moving = records(at, closed=bool(mechanism.loops))
    for body in mechanism.bodies:
        record = moving[body.number]
        record.free, record.p = body.v.stop > body.v.start, tuple(p[body.v])
    moving.locally(begin)
    if not mechanism.loops:
        moving.inward(articulate)
        moving.inward(carry_phi)
        moving.outward(find_velocities)
        return moving
    if gamma != 0:
        moving.loops.locally(measure_closure_error)
        moving.loops.locally(velocity_bias(gamma))
    find_closed(moving)
    return moving


def find_closed(moving: Records) -> None:
    """u and v of bodies that have begun, their loops closed."""
    moving.locally(begin_constraints)
    moving.inward(with_constraints(articulate_with_phi, phi="phi", v_r="v_r"))
    moving.outward(find_impulses)


def closing_step(at: Evaluation) -> Records:
    """The bodies with velocities u that close the loops in unit time by the shortest motion, weighed by inertia.

    u = -M^-1 J' Phi^+ g(q): a step of Newton's method; dq is its step of q, `closure_error` of loops is g.
    """
    resting = _resting(at)
    resting.loops.locally(measure_closure_error)
    resting.loops.locally(closure_error_bias)
    _begin_to_move(resting)
    return resting


def opening_step(at: Evaluation, openings: Sequence[Scalar]) -> Records:
    """The bodies with velocities u = M^-1 J' lam by which loops open with minus `openings`, one a row."""
    resting, start = _resting(at), 0
    for loop in resting.loops[1:]:
        count = row_count(loop)
        loop.targets, start = tuple(openings[start : start + count]), start + count
    resting.loops.locally(target_bias)
    _begin_to_move(resting)
    return resting


def _resting(at: Evaluation) -> Records:
    """The bodies without momenta, prescribed joints and the ground at rest too."""
    mechanism = at.mechanism
    resting = records(at, closed=True)
    resting[0].v = REST
    for body in mechanism.bodies:
        record = resting[body.number]
        record.free, record.p = body.v.stop > body.v.start, (0,) * (body.v.stop - body.v.start)
        if not record.free:
            record.u = (0,) * len(record.A.columns)
    return resting


def _begin_to_move(resting: Records) -> None:
    resting.locally(begin)
    find_closed(resting)
    resting.locally(move)


def loop_impulses(mechanism: Mechanism, moving: Records) -> tuple[Scalar, ...]:
    """J' eta: the generalized impulses of loops whose eta are found, or J' lambda where these are reactions."""
    moving.loops.locally(apply_constraint_forces)
    for body in mechanism.bodies:
        record = moving[body.number]
        record.applied, record.Q = Force.zero(), (0,) * len(body.joint.type.velocities)
    moving.locally(add_constraint_wrenches)
    moving.locally(begin_with_pushes)
    moving.inward(gather)
    return generalized(mechanism, moving, "b")


def closure_errors(at: Evaluation) -> list[Scalar]:
    """g(q, t): the closure error of each row of each loop."""
    placed = records(at, closed=True)
    placed.loops.locally(measure_closure_error)
    return [closure_error for loop in placed.loops[1:] for closure_error in loop.closure_error]


def changing_bodies(at: Evaluation, p: Coordinates, gamma: Scalar = 0, kappa: Scalar = 0) -> Records:
    """The moving bodies with the derivatives dq of their coordinates and dp of their momenta.

    `gamma` (1/s) lets closure errors of loops vanish, `kappa` (1/s) lets eta leak away, which changes no motion.
    """
    mechanism = at.mechanism
    moving = moving_bodies(at, p, gamma)
    moving.locally(move)
    apply_forces(at, moving, closed=bool(mechanism.loops))
    if mechanism.loops:
        moving.loops.locally(apply_impulse_changes(kappa))
        moving.locally(add_constraint_wrenches)
    moving[0].g = moving[0].X_0.rotation.T @ mechanism.gravity
    moving.outward(carry_gravity)
    moving.locally(load)
    moving.inward(change)
    return moving


def right_hand_side(at: Evaluation, p: Coordinates, gamma: Scalar = 0, kappa: Scalar = 0) -> Derivatives:
    """The derivatives of q and p under the forces of the model."""
    moving = changing_bodies(at, p, gamma, kappa)
    return Derivatives(coordinate_derivatives(at.mechanism, moving), generalized(at.mechanism, moving, "dp"))


def momenta(at: Evaluation, u: Coordinates) -> tuple[Scalar, ...]:
    """p at given velocities, prescribed joints and the ground moving too."""
    moving = records(at, u)
    return generalized_momenta(at.mechanism, moving)


def closed_momenta(at: Evaluation, p: Coordinates) -> tuple[Scalar, ...]:
    """p from p*: the same motion, with no impulse eta left over."""
    return generalized_momenta(at.mechanism, moving_bodies(at, p))


def _less(a: Coordinates, b: Coordinates) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]
