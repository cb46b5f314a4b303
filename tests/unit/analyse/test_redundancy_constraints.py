"""Ranks and impulses where gears, rolling and skates constrain as well: against the constraint Jacobian itself."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from laws.test_constraint_forces import SETS, T, constrained
from momentree.analyse.redundancy import constraint_impulses, redundancy, singularity, strengths
from momentree.assembly.configuration import Configuration
from momentree.assembly.scaled_constraints import Scales
from momentree.equations.aggregative import mass_matrix
from momentree.equations.evaluation import Evaluation

CASES = [(names, seed) for seed, names in enumerate(SETS)]


@pytest.mark.repeats(2)
@pytest.mark.parametrize(("names", "seed"), CASES)
def test_strengths_are_singular_values_of_the_scaled_jacobian(names, seed):
    _, m, q, _ = constrained(names, seed)
    expected = Scales(m).scaled(Configuration(m, q, t=T), on_velocities=True).strengths
    np.testing.assert_allclose(strengths(m, q[None], np.array([T]))[0], expected, rtol=1e-9, atol=1e-12)
    with_joint = strengths(m, q[None], np.array([T]), ["j1"])
    assert with_joint.shape[1] == min(len(expected) + 1, m.nv)
    assert 0 < singularity(m, q, T) <= 1


@pytest.mark.parametrize(("names", "seed"), CASES)
@pytest.mark.repeats(4)
def test_impulses_make_any_velocities_fit_the_constraints(names, seed):
    _, m, q, _ = constrained(names, seed)
    u = np.random.default_rng(seed).standard_normal(m.nv)
    eta = constraint_impulses(m, q, u, T)
    of_loops = sum(len(loop.rows) for loop in m.loops)
    on_second = np.concatenate([-eta[:of_loops], eta[of_loops:]])
    J = Configuration(m, q, t=T).jacobian(on_velocities=True)
    M = np.array(mass_matrix(Evaluation(m, q, T)), dtype=float)
    after = u + np.linalg.solve(M, J.T @ on_second)
    velocities = Configuration(m, q, after, T).constraint_velocities()
    assert np.abs(velocities).max() < 1e-8 * np.abs(Configuration(m, q, u, T).constraint_velocities()).max()
    assert len(redundancy(m, q, T).redundant) == len(J) - np.linalg.matrix_rank(J, 1e-9)


def test_a_train_of_gears_that_locks_has_a_redundant_constraint_or_no_freedom():
    m = mt.Model("three wheels in mesh")
    for i, name in enumerate("ABC"):
        m.joint(name, mt.Revolute("z"), m.ground.at((float(i), 0, 0)), m.body(name, mass=1.0, inertia=(1, 1, 1)))
    m.gear("A", "B", ratio=1)
    m.gear("B", "C", ratio=1)
    m.gear("C", "A", ratio=1)  # an odd ring of external gears
    locked = m.build()
    study = redundancy(locked.mechanism, locked.assemble().q)
    assert (locked.mobility, study.rank, study.redundant) == (0, 3, ())
    m.gears.pop()
    m.couple("C", "A")
    free = m.build()
    study = redundancy(free.mechanism, free.assemble().q)
    assert (free.mobility, study.rank, len(study.redundant)) == (1, 2, 1)
