"""Every kind of constraint: velocities are derivatives of errors, forms agree, and dense equations say the same."""

from __future__ import annotations

import numpy as np
import pytest

from constrained_forms import every_form, floats
from momentree.assembly.configuration_space import integrate
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.equations.loops.constraint_rows import (
    acceleration_bias,
    constraint_velocities,
    find_constraint_accelerations,
)
from momentree.equations.loops.expression_constraints import share_velocities
from momentree.equations.loops.residual import measure_closure_error
from random_constraints import KINDS, Drawing, constrained


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


@pytest.mark.repeats(1, of="kind")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_all_forms_and_dense_equations_agree_on_one_constraint(kind, seed):
    every_form(constrained(seed, [kind]), seed)
