"""Every kind of constraint: velocities are derivatives of errors, forms agree, and dense equations say the same."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import closed_state
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.equations import absolute, hamiltonian, lagrange
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.kinematics import records
from momentree.equations.loops.closing_step import loop_impulses, opening_step
from momentree.equations.loops.constraint_rows import (
    acceleration_bias,
    constraint_velocities,
    find_constraint_accelerations,
)
from momentree.equations.loops.expression_constraints import share_velocities
from momentree.equations.loops.residual import measure_closure_error
from momentree.structure.maximal_coordinates import in_maximal_coordinates
from random_constraints import KINDS, Drawing, constrained

STEP = 1e-3
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of differences of the eighth order


def derivative(f, step=STEP):
    """Of f at zero."""
    return sum(weight * (f(k * step) - f(-k * step)) for k, weight in WEIGHTS.items()) / step


def floats(values):
    return np.array([*values], dtype=float)


class Path:
    """A path of the tree, q, u and du at a time; but at the start it need not keep any constraint."""

    def __init__(self, case, seed, away):
        random = np.random.default_rng(seed)
        self.mechanism, n, self.t = case.mechanism, case.mechanism.nv, 2 * away
        self.q = integrate(self.mechanism, case.q, away * random.standard_normal(n))
        self.u, self.du = random.standard_normal((2, n))

    def moving(self, h, *du):
        q = integrate(self.mechanism, self.q, self.u * h + self.du * h * h / 2)
        return records(Evaluation(self.mechanism, q.tolist(), self.t + h), self.u + self.du * h, *du, closed=True)

    def velocities(self, h):
        return floats(constraint_velocities(self.moving(h)))

    def errors(self, h):
        moving = self.moving(h)
        moving.constraints.locally(measure_closure_error)
        return floats(error for each in moving.constraints[1:] for error in each.closure_error)

    def accelerations(self):
        moving = self.moving(0.0, self.du)
        moving.locally(share_velocities)
        moving.constraints.locally(acceleration_bias(0))
        moving.constraints.locally(find_constraint_accelerations)
        return floats(value for each in moving.constraints[1:] for value in each.constraint_acceleration)


def holonomic_rows(mechanism):
    pairs = [kept for loop in mechanism.loops for kept in [row.holonomic for row in loop.rows]]
    return np.array([*pairs, *(constraint.holonomic for constraint in mechanism.constraints)])


def alone(kind, seed):
    """One constraint of a kind on a random tree, without closing joints: drawn where it stands."""
    for attempt in range(50):
        drawing = Drawing([seed, attempt])
        KINDS[kind](drawing)
        if drawing.conditions and not drawing.mechanism.loops:
            return drawing.case()
    raise AssertionError("no tree was drawn")


@pytest.mark.repeats(2, of="kind")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_velocities_are_derivatives_of_errors_and_accelerations_those_of_velocities(kind, seed):
    case = alone(kind, seed)
    path = Path(case, seed, 0.0 if case.kinds[0] in ("surface", "curve") else 0.2)  # their errors are g / |grad g|
    velocity, kept = path.velocities(0.0), holonomic_rows(case.mechanism)
    central = (path.errors(1e-5) - path.errors(-1e-5)) / 2e-5
    np.testing.assert_allclose(central[kept], velocity[kept], rtol=0, atol=3e-9 * (1 + np.abs(velocity).max()))
    central = (path.velocities(1e-5) - path.velocities(-1e-5)) / 2e-5
    expected = path.accelerations()
    np.testing.assert_allclose(central, expected, rtol=0, atol=1e-7 * (1 + np.abs(expected).max()))


# --- accelerations at one instant ---


def accelerations_of_momenta(mechanism, q, p, t):
    """u' from p*': the velocities along the flow of q and p* are differentiated."""
    flow = hamiltonian.right_hand_side(Evaluation(mechanism, q.tolist(), t), p.tolist())

    def velocities(h):
        at = Evaluation(mechanism, (q + h * floats(flow.q)).tolist(), t + h)
        return floats(generalized(mechanism, hamiltonian.moving_bodies(at, (p + h * floats(flow.p)).tolist()), "u"))

    return derivative(velocities)


def accelerations_in_maximal_coordinates(mechanism, q, u, t):
    """u' from the accelerations of bodies that stand for themselves."""
    maximal = in_maximal_coordinates(mechanism)
    there = absolute.maximal_state(Evaluation(mechanism, q.tolist(), t), maximal, u.tolist())
    flow = lagrange.right_hand_side(Evaluation(maximal, [*there.q], t), [*there.u])
    there_q, there_u, dq, du = (floats(x) for x in (there.q, there.u, flow.q, flow.p))

    def velocities(h):
        at = Evaluation(maximal, (there_q + h * dq).tolist(), t + h)
        return floats(absolute.tree_state(at, mechanism, (there_u + h * du).tolist()).u)

    return derivative(velocities)


def gauge_impulse(mechanism, q, t, size):
    """Momenta J' eta, which change p* but no velocity."""
    at = Evaluation(mechanism, q.tolist(), t)
    rows = len(Configuration(mechanism, q, np.zeros(mechanism.nv), t).constraint_velocities())
    return size * floats(loop_impulses(mechanism, opening_step(at, np.linspace(0.3, 0.9, rows).tolist())))


def every_form(case, seed, tolerance=1e-9):
    """Accelerations by dense equations, velocities, maximal coordinates and momenta, with and without eta."""
    mechanism = case.mechanism
    start = closed_state(np.random.default_rng(seed), case.system(), case.q)
    q, u, t = start.q, start.v, 0.0
    oracle = case.oracle(q, u)
    assert np.abs(oracle.condition_errors()).max() < 1e-12
    assert np.abs(oracle.condition_velocities()).max() < 1e-11 * (1 + np.abs(u).max())
    assert max(oracle.constraint_velocities().values()) < 1e-12 * (1 + np.abs(u).max())
    expected = case.by_joint(oracle.answer().du)
    at = Evaluation(mechanism, q.tolist(), t)
    p = floats(hamiltonian.momenta(at, u.tolist()))
    found = {
        "velocities": floats(lagrange.right_hand_side(at, u.tolist()).p),
        "maximal": accelerations_in_maximal_coordinates(mechanism, q, u, t),
        "momenta": accelerations_of_momenta(mechanism, q, p, t),
        "momenta and eta": accelerations_of_momenta(mechanism, q, p + gauge_impulse(mechanism, q, t, 1.0), t),
    }
    scale = max(np.abs(expected).max(), np.abs(u).max() ** 2, 1.0)
    for name, du in found.items():
        np.testing.assert_allclose(du, expected, rtol=0, atol=tolerance * scale, err_msg=f"{name}: {case.kinds}")


@pytest.mark.repeats(1, of="kind")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_all_forms_and_dense_equations_agree_on_one_constraint(kind, seed):
    every_form(constrained(seed, [kind]), seed)
