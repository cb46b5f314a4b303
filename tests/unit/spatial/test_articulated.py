"""Articulated-body inertias against matrices: what a joint leaves of M*, and K = W D."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.spatial import Force, Motion, MotionSubspace, RigidInertia, Vector
from momentree.spatial.articulated import ArticulatedInertia, across_joint, weighted_columns
from momentree.spatial.symmetric import inverse

AXES = {
    "hinge": [(0, 0, 0, 0, 0, 1)],
    "hinge backwards": [(0, 0, 0, 0, 0, -1)],
    "universal": [(0, 0, 0, 0, -1, 0), (0, 0, 0, 1, 0, 0)],
    "along an axis and askew": [(0, -1, 0, 0, 0, 0), (0, 0.3, 0, 0.5, 0, 0.7)],
    "askew": [(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)],
    "free": [tuple(float(i == j) for j in range(6)) for i in range(6)],
}


def subspace(name: str) -> MotionSubspace:
    return MotionSubspace([Motion(Vector(*a[:3]), Vector(*a[3:])) for a in AXES[name]])


def inertia() -> ArticulatedInertia:
    return ArticulatedInertia.of(RigidInertia(2.0, Vector(0.1, -0.2, 0.3), (1.5, 1.7, 1.9, 0.1, -0.2, 0.15)))


def matrix(M: ArticulatedInertia) -> np.ndarray:
    units = np.eye(6).tolist()
    return np.array([[*(M @ Motion(Vector(*e[:3]), Vector(*e[3:])))] for e in units]).T


def articulated(name: str, armature: bool):
    """A, M, the armature N, W = M A and K of a joint."""
    A, M = subspace(name), inertia()
    N = [0.25 + 0.1 * i for i in range(len(A.columns))] if armature else None
    W = [M @ column for column in A.columns]
    along = [[axis @ w + (N[i] if N and i == j else 0) for j, w in enumerate(W)] for i, axis in enumerate(A.columns)]
    return A, M, N, W, weighted_columns(A, W, inverse(along), N)


@pytest.mark.parametrize("armature", [False, True])
@pytest.mark.parametrize("name", AXES)
def test_what_a_joint_transmits_is_that_of_matrices(name, armature):
    A, M, N, W, K = articulated(name, armature)
    full, columns = matrix(M), np.array([[*column] for column in A.columns]).T
    D = np.linalg.inv(columns.T @ full @ columns + np.diag(N or [0.0] * len(W)))
    np.testing.assert_allclose(np.array([[*k] for k in K]).T, full @ columns @ D, atol=1e-12)
    left = full - full @ columns @ D @ columns.T @ full
    np.testing.assert_allclose(matrix(M.less(A, W, K, N)), left, atol=1e-12)


@pytest.mark.parametrize("name", AXES)
def test_known_components_take_the_place_of_those_along_axes(name):
    A, f = subspace(name), Force(Vector(1.0, 2.0, 3.0), Vector(4.0, 5.0, 6.0))
    values = A.along(f)
    assert A.given_along(f, values) == f  # what is known is what it has
    changed = A.given_along(f, [x + 10 for x in values])
    for j, column in enumerate(A.columns):
        if sum(map(abs, column)) == 1:
            assert column @ changed == values[j] + 10


@pytest.mark.parametrize("armature", [False, True])
@pytest.mark.parametrize("name", AXES)
def test_across_a_joint_velocities_are_those_of_matrices(name, armature):
    A, _, N, _, K = articulated(name, armature)
    w = np.array([0.3, -0.7, 1.1, 0.5, -0.2, 0.9])
    at_rest = [1.3, -0.4, 0.8, 0.2, 2.0, -1.5][: len(K)]
    u, v = across_joint(A, K, at_rest, Motion(Vector(*w[:3]), Vector(*w[3:])), N)
    expected = at_rest - np.array([[*k] for k in K]) @ w
    np.testing.assert_allclose(u, expected, atol=1e-12)
    np.testing.assert_allclose([*v], w + np.array([[*column] for column in A.columns]).T @ expected, atol=1e-12)


def test_along_a_hinge_the_velocity_carried_along_cancels_exactly():
    A, M = subspace("hinge"), inertia()
    W = [M @ column for column in A.columns]
    K = weighted_columns(A, W, inverse([[A.columns[0] @ W[0]]]))
    for carried in (0.0, 1.0, 1e9):
        _, v = across_joint(A, K, [0.1], Motion(Vector(0.0, 0.0, 0.0), Vector(0.0, 0.0, carried)))
        assert v.angular.z == 0.1  # u + carried would lose its digits
