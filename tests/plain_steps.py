"""The steps of "verlet" again, in NumPy, plainly: docs/theory/structure-preserving.md."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from momentree.assembly.configuration import Configuration
from momentree.compile.trace.right_hand_sides import drift, kick
from momentree.equations.aggregative import mass_matrix
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import moving_bodies
from momentree.integrate.verlet.layout import Parts


def composed(x, y):
    return (x + y + np.cross(x, y) / 2) / (1 - x @ y / 4)


def trivialised(x, s):
    """B(x)^-1 s."""
    return (s + np.cross(x, s) / 2) / (1 + x @ x / 4)


def carried(z, s):
    """C s."""
    return s - np.cross(z, s - np.cross(z, s) / 2) / (1 + z @ z / 4)


def turned(q, z):
    a, w = q[:3], q[3]
    return np.array([*(w * z / 2 + a + np.cross(a, z) / 2), w - a @ z / 2]) / math.sqrt(1 + z @ z / 4)


def plain_step(mechanism, y, t, h):
    """One step of order 2, iterated twelve times; loops closed by dense matrices, seven times around it."""
    nq, nv = mechanism.nq, mechanism.nv
    if not mechanism.constrained:
        q1, p1 = tree_step(mechanism, y, t, h, np.zeros(nv))
        return np.concatenate([q1, p1])
    push, (J, M) = np.zeros(nv), closing(mechanism, y[:nq], t)
    for _ in range(7):
        q1, _ = tree_step(mechanism, y, t, h, push)
        closure_errors = Configuration(mechanism, q1, t=t + h).closure_errors()
        push = push - J.T @ compliance(J, M) @ closure_errors / h
    q1, p1 = tree_step(mechanism, y, t, h, push)
    J, M = closing(mechanism, q1, t + h)
    at_end = Configuration(mechanism, q1, velocities(mechanism, q1, p1, t + h), t + h)
    return np.concatenate([q1, p1 - J.T @ compliance(J, M) @ at_end.constraint_velocities()])


def closing(mechanism, q, t):
    return Configuration(mechanism, q, t=t).jacobian(), np.array(
        mass_matrix(Evaluation(mechanism, q.tolist(), t)), dtype=float
    )


def compliance(J, M):
    """(J M^-1 J')^+, constraints redundant or not."""
    return np.linalg.pinv(J @ np.linalg.solve(M, J.T), rcond=1e-10, hermitian=True)


def velocities(mechanism, q, p, t):
    """u of the tree."""
    moving = moving_bodies(
        Evaluation(dataclasses.replace(mechanism, loops=(), constraints=()), q.tolist(), t), p.tolist()
    )
    return np.array([x for body in mechanism.bodies if not body.laws for x in moving[body.number].u], dtype=float)


def tree_step(mechanism, y, t, h, push):
    """q1 and p1 from q0 and p0, with a push in the first half."""
    parts, nq, a = Parts.of(mechanism), mechanism.nq, h / 2
    q0, p0 = y[:nq], y[nq:]

    def forces(q, pi, t):
        return np.array(kick(Evaluation(mechanism, q.tolist(), t), pi.tolist()), dtype=float).reshape(2, -1)

    pi0 = p0
    for _ in range(12):
        r0, F0 = forces(q0, pi0, t)
        s0 = p0 + a * F0 + push
        pi0 = s0.copy()
        for _, w in parts.balls:
            pi0[w : w + 3] = trivialised(-a * r0[w : w + 3], s0[w : w + 3])

    def reached(r1):
        q1, s1 = q0.copy(), s0.copy()
        for i, j in parts.plain:
            q1[i] += a * (r0[j] + r1[j])
        for i, w in parts.balls:
            q1[i : i + 4] = turned(q0[i : i + 4], composed(a * r0[w : w + 3], a * r1[w : w + 3]))
        for j, w in (*parts.carried, *((w, w) for _, w in parts.balls)):
            s1[j : j + 3] = carried(composed(a * r0[w : w + 3], a * r1[w : w + 3]), s0[j : j + 3])
        pi1 = s1.copy()
        for _, w in parts.balls:
            pi1[w : w + 3] = trivialised(a * r1[w : w + 3], s1[w : w + 3])
        return q1, s1, pi1

    r1 = r0
    for _ in range(12):
        q1, _, pi1 = reached(r1)
        r1 = np.array(drift(Evaluation(mechanism, q1.tolist(), t + h), pi1.tolist()), dtype=float)
    q1, s1, pi1 = reached(r1)
    return q1, s1 + a * forces(q1, pi1, t + h)[1]
