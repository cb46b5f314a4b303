"""Steps of Newton's method that close loops by the first two passes of hamiltonian.py, and impulses of loops.

A mechanism at rest that is given constraint velocities moves by the shortest step, weighed by inertia,

    u = M^-1 J' lam ,   J u = -g ,   lam = -(J M^-1 J')^+ g = -Phi^+ g

with Phi the Delassus matrix. g is the closure error, or any opening.
"""

from __future__ import annotations

from collections.abc import Sequence

from momentree.equations.aggregative import gather
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.hamiltonian import begin, find_closed_velocities
from momentree.equations.kinematics import move, records
from momentree.equations.loops.constraint_rows import closure_error_bias, row_count, target_bias
from momentree.equations.loops.residual import measure_closure_error
from momentree.equations.loops.wrenches import add_constraint_wrenches, apply_constraint_forces
from momentree.equations.sweeps import Fields, Record, Records
from momentree.spatial import REST, Force, Scalar
from momentree.structure.mechanism import Mechanism


def begin_with_wrenches(body: Record) -> Fields:
    """Z begins as the wrench of constraints on the body; Q, which Z is less by, as the opposite of their forces."""
    return {"Z": body.applied, "Q": tuple(-force for force in body.Q)}


def closing_step(at: Evaluation) -> Records:
    """The bodies with velocities u that close the loops in unit time by the shortest motion, weighed by inertia.

    u = -M^-1 J' Phi^+ g(q): a step of Newton's method; dq is its step of q, `closure_error` of loops is g.
    """
    resting = resting_bodies(at)
    resting.constraints.locally(measure_closure_error)
    resting.constraints.locally(closure_error_bias)
    _find_velocities(resting, at.mechanism)
    return resting


def opening_step(at: Evaluation, openings: Sequence[Scalar]) -> Records:
    """The bodies with velocities u = M^-1 J' lam such that J u = -`openings`, one for each constraint."""
    resting, start = resting_bodies(at), 0
    for loop in resting.constraints[1:]:
        count = row_count(loop)
        loop.targets, start = tuple(openings[start : start + count]), start + count
    resting.constraints.locally(target_bias)
    _find_velocities(resting, at.mechanism)
    return resting


def loop_impulses(mechanism: Mechanism, moving: Records) -> tuple[Scalar, ...]:
    """J' eta: the generalized impulses of loops, or generalized forces J' lambda where eta are Lagrange multipliers."""
    moving.constraints.locally(apply_constraint_forces)
    for record in moving[1:]:  # elimination nodes, on which loops act too, have been given the forces of joints as well
        record.applied, record.Q = Force.zero(), (0,) * len(record.A.columns)
    moving.locally(add_constraint_wrenches)
    moving.locally(begin_with_wrenches)
    moving.inward(gather)
    return generalized(mechanism, moving, "b")


def loop_closure_errors(at: Evaluation) -> list[Scalar]:
    """g(q, t): the closure error of each constraint of each loop."""
    placed = records(at, closed=True)
    placed.constraints.locally(measure_closure_error)
    return [closure_error for loop in placed.constraints[1:] for closure_error in loop.closure_error]


def resting_bodies(at: Evaluation) -> Records:
    """The bodies and loops, with prescribed joints and the ground at rest."""
    mechanism = at.mechanism
    resting = records(at, closed=True)
    resting[0].v = REST
    for body in mechanism.bodies:
        record = resting[body.number]
        record.free = body.v.stop > body.v.start
        if not record.free:
            record.u = (0,) * len(record.A.columns)
    return resting


def _find_velocities(resting: Records, mechanism: Mechanism) -> None:
    """The first two passes from no momenta."""
    for body in mechanism.bodies:
        resting[body.number].p = (0,) * (body.v.stop - body.v.start)
    resting.locally(begin)
    find_closed_velocities(resting)
    resting.locally(move)
