"""Hamiltonian variables: coordinates q and the Poisson momenta p = A' mu conjugate to the rates u.

Ivanov 2022, section 3, corrected (docs/theory/hamiltonian.md): one pass inward for the articulated inertias M* and for
phi, one outward for rates, velocities and momenta, one inward for p'. The letters are the paper's.

    M v = S' mu ,   S v = A u + v^r ,   A' mu = p                                                          (5)
    p' = (A'' - A' Omega) mu + Q                                                                           (6)

where A'' mu stands for the transposed derivative of A along the motion times mu.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.equations.aggregative import momenta_along
from momentree.equations.forces import Names, along_rates, applied_forces, drive, names_of
from momentree.equations.kinematics import Rates, coordinate_rates, move, records
from momentree.equations.loops import Closing, along, closings, opening, pair, turning
from momentree.equations.sweeps import Fields, Record, Records, Runner
from momentree.model.joint import Coordinates
from momentree.spatial import REST, Force, Scalar
from momentree.spatial.articulated import ArticulatedInertia
from momentree.spatial.symmetric import inverse, product, solve_semidefinite
from momentree.structure.mechanism import Mechanism

# --- the steps ---


def begin(body: Record) -> Fields:
    """M* = M, phi = 0; v^r of a prescribed joint."""
    v_r = REST if body.free else body.A @ body.u
    return {"M_star": ArticulatedInertia.of(body.inertia), "phi": Force.zero(), "v_r": v_r}


def articulate(body: Record) -> tuple[Fields, Fields]:
    """W = M* A, D = (A' W)^-1; to the parent M* - W D W', less what the joint gives way to."""
    M, A = body.M_star, body.A
    if not body.free:
        return {}, {"M_star": M.to_parent(body.X)}
    W = [M @ axis for axis in A.columns]
    D = inverse([[axis @ w for w in W] for axis in A.columns])
    return {"W": W, "D": D}, {"M_star": M.less(A, W, D).to_parent(body.X)}


def carry_phi(body: Record) -> tuple[Fields, Fields]:
    """To the parent phi + M* v^r, and what the joint gives way to: W D (p - A' phi)."""
    phi = body.phi
    if not body.free:
        return {}, {"phi": body.X.force_to_parent(phi + body.M_star @ body.v_r)}
    for w, share in zip(body.W, product(body.D, _less(body.p, body.A.along(phi))), strict=True):
        phi = phi + w * share
    return {}, {"phi": body.X.force_to_parent(phi)}


def find_rates(body: Record, parent: Record) -> Fields:
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
    turning = body.joint.axes_rate(body.q, body.u).along(body.mu_star)
    along = zip(body.A.along(F), turning, body.along, strict=True)
    return {"dp": tuple(f + a + given for f, a, given in along)}, {"F": body.X.force_to_parent(body.F)}


# --- the passes ---


def moving_bodies(
    mechanism: Mechanism,
    q: Coordinates,
    p: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> Records:
    """The bodies with their rates u, velocities v and momenta mu, from the momenta p along the rates."""
    moving = records(mechanism, q, t=t, parameters=parameters, run=run)
    for record, body in zip(moving[1:], mechanism.bodies, strict=True):
        record.free = body.v.stop > body.v.start
        record.p = tuple(p[body.v])
    moving.locally(begin)
    moving.inward(articulate)
    moving.inward(carry_phi)
    moving.outward(find_rates)
    return moving


def close_loops(mechanism: Mechanism, moving: Records) -> list[tuple[Closing, list[Scalar]]]:
    """Find eta, along the rows of each loop, for which p = p* + J' eta keeps all loops closed; move the bodies so.

    Phi eta = -b: b is how the loops open by p* alone, Phi how they open by a unit impulse along each row. mu* is mu
    less what the impulses carry. Redundant rows make Phi singular (spatial/symmetric.py).
    """
    found = closings(mechanism, moving)
    b = [x for closing in found for x in opening(closing, moving)]
    given = [(record.p, record.v_r) for record in moving[1:]]
    ground, moving[0].v = moving[0].v, REST
    Phi = []
    for row in [(closing, row) for closing in found for row in closing.rows]:
        _strike(moving, [row])
        for record in moving[1:]:
            record.p, record.v_r = record.j, REST
        _respond(moving)
        Phi.append([x for closing in found for x in opening(closing, moving)])
    moving[0].v = ground
    eta = iter(solve_semidefinite(Phi, [-x for x in b]))
    parts = [(closing, [next(eta) for _ in closing.rows]) for closing in found]
    _strike(moving, [(closing, along(closing, part)) for closing, part in parts])
    for record, (p_star, v_r) in zip(moving[1:], given, strict=True):
        record.p, record.v_r = tuple(a + c for a, c in zip(p_star, record.j, strict=False)), v_r
    _respond(moving)
    for record in moving[1:]:
        record.mu_star = record.mu - record.nu
    return parts


def _strike(moving: Records, wrenches: Sequence[tuple[Closing, Force]]) -> None:
    """Impulses between bodies, nu with all that the bodies carry, and j = A' nu along the rates."""
    for record in moving:
        record.nu = Force.zero()
    for closing, wrench in wrenches:
        for number, part in pair(closing, moving, wrench).items():
            moving[number].nu = moving[number].nu + part
    moving.inward(gather_impulse)


def _respond(moving: Records) -> None:
    """How the bodies move with the momenta p."""
    for record in moving[1:]:
        record.phi = Force.zero()
    moving.inward(carry_phi)
    moving.outward(find_rates)


def gather_impulse(body: Record) -> tuple[Fields, Fields]:
    """nu of a body and of all that it carries; j = A' nu."""
    return {"j": body.A.along(body.nu)}, {"nu": body.X.force_to_parent(body.nu)}


def changing_bodies(
    mechanism: Mechanism,
    q: Coordinates,
    p: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> Records:
    """The moving bodies with the derivatives dq of their coordinates and dp of their momenta."""
    moving = moving_bodies(mechanism, q, p, t, parameters, run)
    closed = close_loops(mechanism, moving) if mechanism.loops else []
    moving.locally(move)
    names = names_of(mechanism, moving, t, parameters)
    for record, force in zip(moving, applied_forces(mechanism, moving, names), strict=True):
        record.applied = force
    # rows that turn, and an origin that moves, take one more pair of wrenches (docs/theory/hamiltonian.md)
    for closing, eta in closed:
        for number, wrench in pair(closing, moving, -turning(closing, moving, eta)).items():
            moving[number].applied = moving[number].applied + wrench
    drive(mechanism, moving, names)
    moving[0].g = moving[0].X_0.rotation.T @ mechanism.gravity
    moving.outward(carry_gravity)
    moving.locally(load)
    moving.inward(change)
    return moving


def rates(
    mechanism: Mechanism,
    q: Coordinates,
    p: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> Rates:
    """The derivatives of q and p under the forces of the model."""
    moving = changing_bodies(mechanism, q, p, t, parameters, run)
    return Rates(coordinate_rates(mechanism, moving), along_rates(mechanism, moving, "dp"))


def momenta(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates,
    t: Scalar = 0.0,
    parameters: Names | None = None,
    run: Runner = Records,
) -> tuple[Scalar, ...]:
    """p at given rates, prescribed joints and the ground moving too."""
    moving = records(mechanism, q, u, t=t, parameters=parameters, run=run)
    return momenta_along(mechanism, moving)


def _less(a: Coordinates, b: Coordinates) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]
