"""Velocity field, held accelerations and rows of a programme on a mechanism, against dense linear algebra."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import eigh, null_space

import momentree as mt
from mechanisms import four_bar
from momentree.assembly.configuration import Configuration
from momentree.equations.aggregative import mass_matrix
from momentree.equations.evaluation import Evaluation
from momentree.equations.mechanism_programme import (
    allowed_decay,
    allowed_deviations,
    constraint_rows,
    held_accelerations,
    programme_velocity,
    row_names,
)

GAIN = 1.7


def followed() -> mt.Model:
    """A linkage on a carriage that is driven by a law, one point of it on a moving curve, one velocity given."""
    m = four_bar()
    m.frame("tip", m.bodies[1].at((1, 0, 0.3)))
    m.constrain("tip.x^2 + tip.z = 2 + 0.3*sin(t)", name="curve")
    m.constrain("A' + 0.2*t*B' = 1 + A*t", name="speed")
    return m


def states(mechanism, count=3):
    """Random ones: nothing is closed."""
    random = np.random.default_rng(5)
    q, w, qdd = random.uniform(-0.5, 0.5, (3, count, mechanism.nv))
    return [(*each, 0.4 + k) for k, each in enumerate(zip(q, w, qdd, strict=True))]


def dense(mechanism, q, t):
    """J, j and g as states have them, rows of loops in the plane x, z only; the mass matrix."""
    at = Configuration(mechanism, q, t=t)
    of_loop = [abs(at.jacobian(True)[i]).max() > 0 for i in range(at.jacobian(True).shape[0])]
    still = at.constraint_velocities()
    every = len(of_loop)
    g = np.zeros(every)
    g[: len(at.closure_errors())] = at.closure_errors()  # holonomic rows come first here
    J = at.jacobian(True)[of_loop]
    M = np.array(mass_matrix(Evaluation(mechanism, q, t)), dtype=float)
    return J, still[of_loop], g[of_loop], M


def test_the_velocity_field_is_the_nearest_that_satisfies_all_constraints():
    mechanism = followed().build().mechanism
    # two rows of the loop for three velocities, and one constraint beside it or none
    for keep in (slice(0, 0), slice(0, 1), slice(1, 2)):
        less = dataclasses.replace(mechanism, constraints=mechanism.constraints[keep])
        for q, w, _, t in states(less):
            v = np.array(programme_velocity(Evaluation(less, q, t), w, GAIN))
            J, j, g, M = dense(less, q, t)
            np.testing.assert_allclose(J @ v + j + GAIN * g, 0, atol=1e-9)
            n = len(w)  # without redundant rows: Lagrange's equations of the minimum
            kkt = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
            expected = np.linalg.lstsq(kkt, np.concatenate([M @ w, -j - GAIN * g]), rcond=None)[0][:n]
            np.testing.assert_allclose(v, expected, atol=1e-9)


def test_without_constraints_the_field_is_what_is_wanted():
    m = mt.Model("free")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1, length=1)))
    at = Evaluation(m.build().mechanism, [0.3], 0.0)
    assert programme_velocity(at, [0.7]) == pytest.approx((0.7,))
    assert held_accelerations(at, [0.7], [1.9]) == (1.9,)
    assert constraint_rows(at) == ([], [])


def test_rows_have_the_signs_of_states():
    mechanism = followed().build().mechanism
    assert row_names(mechanism) == ("C: row 1 in its plane", "C: row 2 in its plane", "curve", "speed")
    for q, _, _, t in states(mechanism):
        a, b = (np.array(x, dtype=float) for x in constraint_rows(Evaluation(mechanism, q, t), GAIN))
        J, j, g, _ = dense(mechanism, q, t)
        # the loop's rows may be combined otherwise in its plane: compare what they say together
        for rows in (slice(0, 2), slice(2, 4)):
            ours, theirs = np.column_stack([a, -b])[rows], np.column_stack([J, j + GAIN * g])[rows]
            np.testing.assert_allclose(ours.T @ ours, theirs.T @ theirs, atol=1e-9)
        np.testing.assert_allclose(a[2:], J[2:], atol=1e-12)
        np.testing.assert_allclose(b[2:], (-j - GAIN * g)[2:], atol=1e-12)


def test_held_accelerations_close_what_is_open_and_reactions_do_the_rest():
    """d/dt (J q' + j) + 2 k (J q' + j) + k^2 g = 0, and M (q'' - q''_u) is a combination of rows."""
    mechanism = dataclasses.replace((whole := followed().build().mechanism), constraints=whole.constraints[:1])
    for q, qd, qdd, t in states(mechanism):
        held = np.array(held_accelerations(Evaluation(mechanism, q, t), qd, qdd, GAIN))
        J, _, g, M = dense(mechanism, q, t)

        def opening(h, q=q, qd=qd, held=held, t=t):
            at = (q + h * qd + h * h / 2 * held, qd + h * held, t + h)
            J, j, _, _ = dense(mechanism, at[0], at[2])
            return J @ at[1] + j

        h = 1e-5
        change = (opening(h) - opening(-h)) / (2 * h)
        np.testing.assert_allclose(change + 2 * GAIN * opening(0) + GAIN**2 * g, 0, atol=2e-4)
        force = M @ (held - qdd)
        left = force - J.T @ np.linalg.lstsq(J.T, force, rcond=None)[0]
        np.testing.assert_allclose(left, 0, atol=1e-8)


def test_the_decay_of_allowed_deviations_is_that_in_their_own_coordinates():
    """The least eigenvalue of (N' S N, N' m N), N a basis of ker J_0; an indefinite S too."""
    mechanism = dataclasses.replace((whole := followed().build().mechanism), constraints=())
    for k, (q, w, _, t) in enumerate(states(whole)):
        at = Evaluation(mechanism, q, t)
        P = np.array(allowed_deviations(at)).T
        J, _, _, M = dense(mechanism, q, t)
        np.testing.assert_allclose(J @ P, 0, atol=1e-9)
        np.testing.assert_allclose(P @ P, P, atol=1e-9)
        np.testing.assert_allclose(M @ P, (M @ P).T, atol=1e-9)  # orthogonal by kinetic energy
        A = np.random.default_rng(k).normal(size=(3, 3))
        S = (A + A.T) * (-1) ** k
        found, N = np.array(allowed_decay(S, M, P.T)), null_space(J)
        expected = eigh(N.T @ S @ N, N.T @ M @ N, eigvals_only=True)[0]
        assert eigh(found, M, eigvals_only=True)[0] == pytest.approx(expected, rel=1e-9)
        u = P @ w
        assert u @ found @ u == pytest.approx(u @ S @ u, rel=1e-9)
