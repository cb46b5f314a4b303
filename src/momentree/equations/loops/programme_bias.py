"""Stabilization as a programme: the energy of the deviation from the constraints decays at a given rate, exactly.

Kaspirovich and Mukharlyamov 2019, in the metric of kinetic energy; docs/theory/loops.md (L9a) to (L9d). With velocities
c = J u + j of the constraint rows, their closure errors g (0 of a nonholonomic row), a gain k (1/s) and the Delassus
matrix Phi = J M^-1 J', the deviation e and its energy V are

    e = c + k g ,   w = M^-1 J' Phi^+ e ,   V = 1/2 w' M w = 1/2 e' Phi^+ e                                    (L9a)

w is the part of the velocities that violates e = 0: the shortest one with J w = e. Reactions such that

    de/dt = -k e + dJ/dt w + J w_t ,   w_t = -1/2 M^-1 dM/dt w                                                 (L9b)

give dV/dt = -2 k V, since a w that changes by w_t alone keeps its energy. The elimination finds w; the derivatives
along the motion are those of M w, of J w with w_t beside w, and of g, by passes along the open tree on dual numbers.
"""

from __future__ import annotations

from momentree.equations.aggregative import inertia_product
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.hamiltonian import articulate, begin, find_velocities, transmit_phi
from momentree.equations.kinematics import carry_velocity, move, records
from momentree.equations.loops.closing_step import opening_step, resting_bodies
from momentree.equations.loops.constraint_rows import find_constraint_velocities, velocities_without_drift
from momentree.equations.loops.expression_constraints import share_velocities
from momentree.equations.loops.residual import measure_closure_error
from momentree.equations.sweeps import Record, Records
from momentree.errors import MomentreeError
from momentree.model.joint_type import Coordinates
from momentree.spatial import REST, Scalar
from momentree.spatial.dual import Dual, derivative
from momentree.structure.mechanism import Mechanism

MOST_BODIES = 150  # beyond, it takes more than ten seconds or so to make the code


def find_programme_bias(at: Evaluation, moving: Records, gain: Scalar) -> None:
    """What (L9b) adds to the bias of constraint accelerations, k (dg/dt + e) - dJ/dt w - J w_t, where bodies move.

    Its own passes are run by the plain loop, whoever runs those of the equations: they are straight-line code.
    """
    mechanism, constraints = at.mechanism, moving.constraints[1:]
    if at.run is not Records:
        _check_size(mechanism)
        at = at._replace(run=Records)
        moving = records(at, generalized(mechanism, moving, "u"), closed=True)
        moving.locally(share_velocities)
    deviations = [deviation_of(constraint, gain) for constraint in moving.constraints[1:]]
    w = generalized(mechanism, opening_step(at, [-e for rows in deviations for e in rows]), "u")
    along = _along_motion(at, moving)
    M_w = inertia_product(along, w)
    w_t = tree_velocities(at, [derivative(x) * -0.5 for x in M_w])
    changes = _changes(along, [Dual(x, dx) for x, dx in zip(w, w_t, strict=True)])
    for constraint, rows, (error_changes, kept) in zip(constraints, deviations, changes, strict=True):
        terms = zip(rows, error_changes, kept, strict=True)
        constraint.programme_bias = tuple((dg + e) * gain - x for e, dg, x in terms)


def _check_size(mechanism: Mechanism) -> None:
    count = len(mechanism.bodies)
    if count > MOST_BODIES:
        message = f"stabilization 'programme' makes straight-line code, which is too long for {count} bodies"
        advice = "Choose stabilization='baumgarte' or 'project', or wait for it: build(code=\"straight-line\")."
        raise MomentreeError(f"{message}: at most {MOST_BODIES}. {advice}")


def deviation_of(constraint: Record, gain: Scalar) -> tuple[Scalar, ...]:
    """e of each row of a constraint, where bodies move and velocities are shared: (L9a)."""
    velocities = find_constraint_velocities(constraint)["constraint_velocity"]
    errors = measure_closure_error(constraint)["closure_error"]
    return tuple(velocity + error * gain for velocity, error in zip(velocities, errors, strict=True))


def tree_velocities(at: Evaluation, p: Coordinates) -> tuple[Scalar, ...]:
    """M^-1 p in O(n): the velocities of the open tree from momenta, prescribed joints and the ground at rest."""
    resting = records(at)
    resting[0].v = REST
    for body in at.mechanism.bodies:
        record = resting[body.number]
        record.free, record.p = body.v.stop > body.v.start, tuple(p[body.v])
        if not record.free:
            record.u = (0,) * len(record.A.columns)
    resting.locally(begin)
    resting.inward(articulate)
    resting.inward(transmit_phi)
    resting.outward(find_velocities)
    return generalized(at.mechanism, resting, "u")


def _along_motion(at: Evaluation, moving: Records) -> Evaluation:
    """The same on dual numbers: q + eps q', t + eps."""
    dq = [x for body in at.mechanism.bodies if not body.laws for x in move(moving[body.number])["dq"]]
    parameters = {name: Dual(value) for name, value in (at.parameters or {}).items()}
    return at._replace(q=[Dual(x, dx) for x, dx in zip(at.q, dq, strict=True)], t=Dual(at.t, 1), parameters=parameters)


def _changes(along: Evaluation, w: Coordinates) -> list[tuple[tuple[Scalar, ...], tuple[Scalar, ...]]]:
    """Of each constraint: the derivatives of g and of J w of its rows."""
    moving = resting_bodies(along)
    for body in along.mechanism.bodies:
        if moving[body.number].free:
            moving[body.number].u = tuple(w[body.v])
    moving.outward(carry_velocity)
    moving.locally(share_velocities)
    changes = []
    for constraint in moving.constraints[1:]:
        errors = measure_closure_error(constraint)["closure_error"]
        velocities = velocities_without_drift(constraint)
        changes.append((tuple(map(derivative, errors)), tuple(map(derivative, velocities))))
    return changes
