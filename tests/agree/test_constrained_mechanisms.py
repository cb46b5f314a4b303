"""Random mechanisms with loops and constraints of every kind: all formulations and codes agree with dense equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from constrained_forms import every_form, floats
from mechanisms import closed_state
from momentree.equations import absolute, hamiltonian, lagrange
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.formulations import FORMULATIONS
from momentree.structure.maximal_coordinates import in_maximal_coordinates
from random_constraints import constrained

SECONDS = 0.1
METHODS = [(formulation, code) for code in ("straight-line", "rolled") for formulation in FORMULATIONS]


def integrated(right_hand_side, mechanism, q, x):
    """The end of a motion by the plain sweeps and SciPy; nothing keeps constraints but the equations themselves."""
    n = len(q)

    def change(t, y):
        return np.concatenate([*right_hand_side(Evaluation(mechanism, y[:n].tolist(), t), y[n:].tolist())])

    found = solve_ivp(change, (0, SECONDS), [*q, *x], method="DOP853", rtol=1e-11, atol=1e-12)
    return found.y[:n, -1].tolist(), found.y[n:, -1].tolist()


def by_momenta(mechanism, start):
    p = hamiltonian.momenta(Evaluation(mechanism, start.q.tolist()), start.v.tolist())
    q, p = integrated(hamiltonian.right_hand_side, mechanism, start.q, p)
    moving = hamiltonian.moving_bodies(Evaluation(mechanism, q, SECONDS), p)
    return np.array([*q, *generalized(mechanism, moving, "u")], dtype=float)


def by_velocities(mechanism, start):
    q, u = integrated(lagrange.right_hand_side, mechanism, start.q, start.v)
    return np.array([*q, *u])


def in_maximal(mechanism, start):
    maximal = in_maximal_coordinates(mechanism)
    there = absolute.maximal_state(Evaluation(mechanism, start.q.tolist()), maximal, start.v.tolist())
    q, u = integrated(lagrange.right_hand_side, maximal, there.q, there.u)
    return floats(x for part in absolute.tree_state(Evaluation(maximal, q, SECONDS), mechanism, u) for x in part)


def scale_of(start):
    """Velocities grow with themselves: a second at 10 rad/s is ten times as far."""
    return max(1.0, np.abs(start.v).max() ** 2)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(200))
def test_accelerations_of_every_form_are_those_of_dense_equations(seed):
    every_form(constrained(seed), seed)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(60))
def test_motions_of_every_form_end_alike(seed):
    case = constrained(seed)
    start = closed_state(np.random.default_rng(seed), case.system(), case.q)
    expected = by_momenta(case.mechanism, start)
    for other in (by_velocities, in_maximal):
        np.testing.assert_allclose(
            _aligned(case, other(case.mechanism, start), expected), expected, rtol=0, atol=1e-9 * scale_of(start)
        )


@pytest.mark.filterwarnings("ignore:.*rolling contact")  # some are drawn where they would lift off
@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_runs_of_every_formulation_and_code_end_there_with_constraints_kept(seed):
    case, (formulation, code) = constrained(seed, bodies=(1, 2)), METHODS[seed % len(METHODS)]
    start = closed_state(np.random.default_rng(seed), case.system(), case.q)
    run = case.system(code).simulate(start, SECONDS, formulation=formulation, rtol=1e-10)
    assert run.end.reason == "arrived"
    end = _aligned(case, np.concatenate([run.q[-1], run.v[-1]]), expected := by_momenta(case.mechanism, start))
    np.testing.assert_allclose(end, expected, rtol=0, atol=1e-9 * scale_of(start))
    for t, q, v in zip(run.t, run.q, run.v, strict=True):
        oracle = case.oracle(q, v, t)
        assert np.abs(oracle.condition_errors()).max() < 1e-11
        assert np.abs(oracle.condition_velocities()).max() < 1e-10 * scale_of(start)


def _aligned(case, found, expected):
    """Quaternions of the same sign."""
    found = found.copy()
    for body in case.mechanism.bodies:
        if body.joint.type.kind in ("Spherical", "Free") and not body.laws:
            q = slice(body.q.stop - 4, body.q.stop)
            found[q] *= np.sign(found[q] @ expected[q])
    return found
