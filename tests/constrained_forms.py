"""Accelerations of one constrained mechanism by every form of the equations of motion, and by dense equations."""

from __future__ import annotations

import numpy as np

from mechanisms import closed_state
from momentree.assembly.configuration import Configuration
from momentree.equations import absolute, hamiltonian, lagrange
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.loops.closing_step import loop_impulses, opening_step
from momentree.structure.maximal_coordinates import in_maximal_coordinates

STEP = 1e-4  # constraints are off by the square of it, where redundancy is judged by how far loops are closed
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of differences of the eighth order


def derivative(f, step=STEP):
    """Of f at zero."""
    return sum(weight * (f(k * step) - f(-k * step)) for k, weight in WEIGHTS.items()) / step


def floats(values):
    return np.array([*values], dtype=float)


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
    """Momenta J' eta of this size, which change p* but no velocity."""
    at = Evaluation(mechanism, q.tolist(), t)
    rows = len(Configuration(mechanism, q, np.zeros(mechanism.nv), t).constraint_velocities())
    impulse = floats(loop_impulses(mechanism, opening_step(at, np.linspace(0.3, 0.9, rows).tolist())))
    return impulse * (size / np.abs(impulse).max())


def every_form(case, seed):
    """Accelerations by dense equations, velocities, maximal coordinates and momenta, with and without eta."""
    mechanism = case.mechanism
    start = closed_state(np.random.default_rng(seed), case.system(), case.q)
    q, u, t = start.q, start.v, 0.0
    oracle = case.oracle(q, u)
    assert np.abs(oracle.condition_errors()).max() < 1e-12
    assert np.abs(oracle.condition_velocities()).max() < 1e-9 * (1 + np.abs(u).max() ** 2)
    assert max(oracle.constraint_velocities().values()) < 1e-12 * (1 + np.abs(u).max())
    expected = case.by_joint(oracle.answer().du)
    at = Evaluation(mechanism, q.tolist(), t)
    p = floats(hamiltonian.momenta(at, u.tolist()))
    found = {
        "velocities": floats(lagrange.right_hand_side(at, u.tolist()).p),
        "maximal": accelerations_in_maximal_coordinates(mechanism, q, u, t),
        "momenta": accelerations_of_momenta(mechanism, q, p, t),
        "momenta and eta": accelerations_of_momenta(
            mechanism, q, p + gauge_impulse(mechanism, q, t, 1 + np.abs(p).max()), t
        ),
    }
    scale = max(np.abs(expected).max(), np.abs(u).max() ** 2, 1.0)
    noise = 2 * np.finfo(float).eps * oracle.conditioning / STEP  # of velocities that are differentiated
    for name, du in found.items():
        tolerance = 1e-9 if name == "velocities" else 1e-9 + noise
        np.testing.assert_allclose(du, expected, rtol=0, atol=tolerance * scale, err_msg=f"{name}: {case.kinds}")
