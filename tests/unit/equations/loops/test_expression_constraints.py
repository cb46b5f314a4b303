"""Expression constraints: rows along joints and on frames, forces along them, and their derivatives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import momentree as mt
from momentree.assembly.configuration_space import integrate, reference
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.equations.loops.constraint_rows import constraint_velocities
from momentree.equations.loops.expression_constraints import (
    expression_error,
    expression_forces,
    expression_impulse_changes,
    is_expression,
    place_expression,
    share_velocities,
)
from momentree.model.expressions.expression import parse
from momentree.model.frames import Frame
from momentree.structure.mechanism import Constraint

TEXTS = {
    "A - 2*B": True,
    "sin(A)*F.z + F.qx*B": True,
    "tip.x^2 - tip.z*rim.y + A*sin(t)": True,
    "A*B' - F.wx*B + 0.3*t": False,
    "rim.x*tip.x' + tip.wy*A + F.vx": False,
}


@pytest.fixture(scope="module")
def tree():
    """Two hinges, and a free body with a frame, on a ground that moves."""
    m = mt.Model("tree")
    m.ground.moves(("0.3*sin(t)", "0.1*t", 0), (0, "0.2*t", "0.5 + 0.4*t"))
    bodies = [m.body(name, mass=1.0, com=(0.1, 0.2, 0.1), inertia=(1.0, 1.1, 1.2)) for name in "abf"]
    m.joint("A", mt.Revolute("y"), m.ground.at((0, 0, 1), mt.turn("x", 0.3)), bodies[0])
    m.joint("B", mt.Revolute("z"), bodies[0].at((1, 0, 0)), bodies[1].at((0, 0.2, 0)))
    m.joint("F", mt.Free(), m.ground, bodies[2])
    mechanism = m.build().mechanism
    frames = {"tip": Frame("b", (0.7, 0, 0.1)), "rim": Frame("f", (0, 0.4, 0))}
    return dataclasses.replace(mechanism, frames=tuple((key, mechanism.attach(f)) for key, f in frames.items()))


def moving(tree, text, turn=None, h=0.0, along=None):
    """The mechanism, its bodies with velocities `turn`, and these, after a time h of a motion with them or others."""
    random = np.random.default_rng(0)
    q = integrate(tree, reference(tree), random.uniform(-0.7, 0.7, tree.nv))
    u = random.standard_normal(tree.nv) if turn is None else turn
    mechanism = dataclasses.replace(tree, constraints=(Constraint("k", parse(text), TEXTS[text]),))
    reached = integrate(mechanism, q, (u if along is None else along) * h)
    bodies = records(Evaluation(mechanism, reached.tolist(), 0.3 + h), u, closed=True)
    bodies.locally(share_velocities)
    return mechanism, bodies, u


def generalized_row(tree, text, fields):
    """The power of forces and wrenches at a unit of each velocity, less that of the ground alone."""
    powers = []
    for unit in [np.zeros(tree.nv), *np.eye(tree.nv)]:
        mechanism, bodies, _ = moving(tree, text, turn=unit)
        of, record = mechanism.constraint_formulas[0], bodies.constraints[1]
        power = 0.0
        for end in range(len(of.ends)):
            if end < len(of.bodies):
                power += np.dot(fields[f"force_along{end}"], getattr(record, f"body{end}").shared_u)
            else:
                power += getattr(record, f"body{end}").v @ fields[f"wrench_on{end}"]
        powers.append(float(power))
    return np.array(powers[1:]) - powers[0]


@pytest.mark.parametrize("text", TEXTS)
def test_forces_have_the_power_of_eta_times_the_velocity(tree, text):
    _, bodies, _ = moving(tree, text)
    velocities = [constraint_velocities(moving(tree, text, turn=unit)[1])[0] for unit in np.eye(tree.nv)]
    still = constraint_velocities(moving(tree, text, turn=np.zeros(tree.nv))[1])[0]
    row = generalized_row(tree, text, expression_forces(bodies.constraints[1], 2.5))
    np.testing.assert_allclose(row, 2.5 * (np.array(velocities, dtype=float) - still), rtol=0, atol=1e-12)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("text", TEXTS)
def test_impulses_change_as_rows_do(tree, text):
    """d/dt of J' eta, at constant eta, along the motion: what is subtracted, and kappa times J' eta."""
    _, bodies, u = moving(tree, text)
    after, before = (_row(tree, text, u, h) for h in (1e-5, -1e-5))
    change = expression_impulse_changes(bodies.constraints[1], 2.5, 0.7)
    wanted = 0.7 * 2.5 * _row(tree, text, u, 0.0) - 2.5 * (after - before) / 2e-5
    np.testing.assert_allclose(_projected(tree, text, u, change), wanted, rtol=0, atol=1e-6)


def _row(tree, text, u, h):
    """J at time h of the motion with velocities u."""
    units = [np.zeros(tree.nv), *np.eye(tree.nv)]
    rows = [constraint_velocities(moving(tree, text, unit, h, u)[1])[0] for unit in units]
    return np.array(rows[1:], dtype=float) - rows[0]


def _projected(tree, text, u, change):
    """The force on p of changes: along joints, and A_total' of wrenches, less the change of A_total along the motion.

    J' = sum of A_total' R, so d/dt (J' eta) = A_total' (R' + v x* R) eta + ..., with the motion of partial velocities.
    """
    _, bodies, _ = moving(tree, text)
    record = bodies.constraints[1]
    row = expression_forces(record, 2.5)
    changes = [_partial_change(tree, text, u, j, row) for j in range(tree.nv)]
    return generalized_row(tree, text, change) - np.array(changes)


def _partial_change(tree, text, u, j, row):
    """Sum over bodies of R eta times the absolute derivative of their twists by u_j, by differences."""

    def partials(h):
        mechanism, bodies, _ = moving(tree, text, np.eye(tree.nv)[j], h, u)
        one, still = bodies.constraints[1], moving(tree, text, np.zeros(tree.nv), h, u)[1].constraints[1]
        of = mechanism.constraint_formulas[0]
        return {
            e: getattr(one, f"body{e}").v - getattr(still, f"body{e}").v for e in range(len(of.bodies), len(of.ends))
        }

    _, bodies, _ = moving(tree, text)
    record, here, after, before = bodies.constraints[1], partials(0.0), partials(1e-5), partials(-1e-5)
    total = 0.0
    for end, partial in here.items():
        wrench, v = row[f"wrench_on{end}"], getattr(record, f"body{end}").v
        derivative = (after[end] - before[end]) * (1 / 2e-5)
        total += float(derivative @ wrench) - float(partial @ v.cross_force(wrench))
    return total


def test_errors_are_values_of_positions_and_zero_of_velocities(tree):
    for text, holonomic in TEXTS.items():
        _, bodies, _ = moving(tree, text)
        record = bodies.constraints[1]
        assert is_expression(record)
        assert (expression_error(record)["closure_error"] != (0,)) == holonomic
        assert place_expression(record)["drift"] == record.drift
