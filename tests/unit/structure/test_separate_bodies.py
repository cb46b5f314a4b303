"""Bodies by themselves, for Newton and Euler: their equations hold on the motion of the mechanism that they are of."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from constrained import in_numbers
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records
from momentree.structure.separate_bodies import separate_bodies

T, H = 0.4, 1e-4
JOINTS = {"Revolute": mt.Revolute("y"), "Prismatic": mt.Prismatic("x")}
MOTIONS = {
    "number": {"motion": "0.3"},
    "motion": {"motion": "0.3 + 0.5*sin(2*t)"},
    "named": {"constrained": True},
    "constrained": {"constrained": True, "motion": "0.2*t^2"},
}


def of_each_body(mechanism, separate, q, v, t):
    """Coordinates and velocities of the bodies by themselves, where the mechanism is at q and v."""
    moving, at, speeds = records(Evaluation(mechanism, q, t), v), [], []
    for old, new in zip(mechanism.bodies, separate.bodies, strict=True):
        if new.laws is not None:
            continue
        if old.joint.name == new.joint.name:
            at, speeds = [*at, *q[old.v]], [*speeds, *v[old.v]]
            continue
        X = old.own @ new.own.inverse()  # of the new frame of the body in its old one
        X_M = new.mount.inverse() @ moving[old.number].X_0 @ X
        found = new.joint.type.fit(X_M)
        columns = np.array([[*column] for column in new.joint.type.motion_subspace(found).columns], dtype=float)
        at += [*found]
        speeds += [*np.linalg.lstsq(columns.T, np.array([*X.motion(moving[old.number].v)], dtype=float))[0]]
    return np.array(at, dtype=float), np.array(speeds, dtype=float)


def carried(first, second, law):
    """A body off the centre of its hinge carries one on a joint that stays in the tree, which carries another."""
    m = mt.Model("carried", gravity=(1.0, 0, -9.81))
    bodies = [m.body(f"b{i}", mass=m_i, com=(0.2, 0, 0.1 * i), inertia=(0.4,) * 3) for i, m_i in enumerate((1.5, 2, 1))]
    m.joint("q0", mt.Revolute("y"), m.ground.at((0.1, 0, 0.2)), bodies[0].at((0.05, 0, 0), mt.turn("y", 0.3)))
    kept = dict(MOTIONS[law])
    constrained = kept.pop("constrained", False)
    m.joint("q1", JOINTS[first].with_fields(**kept), bodies[0].at((0.3, 0, 0.1), mt.turn("y", 0.2)), bodies[1])
    m.joint("q2", JOINTS[second], bodies[1].at((0, 0, 0.4)), bodies[2].at((0.1, 0, 0)))
    if constrained:
        m.constrain("q2 - 0.3*sin(t)" if "motion" in kept else "q1 - 0.3*sin(t)", "drive")
    return m.build()


@pytest.mark.parametrize("law", MOTIONS)
@pytest.mark.parametrize("second", JOINTS)
@pytest.mark.parametrize("first", JOINTS)
@pytest.mark.repeats(1, of="law")
def test_bodies_obey_their_equations_on_the_motion_of_the_mechanism(first, second, law):
    system = carried(first, second, law)
    equations = system.equations("newton_euler")
    mechanism, separate = system.mechanism, separate_bodies(system.mechanism)
    random = np.random.default_rng(3)
    state = system.assemble(dict.fromkeys(["q0"], 0.7), velocities={"q0": 0.9}, t=T)
    q, v = np.array(state.q), np.array(state.v)
    if not mechanism.constrained:
        q, v = random.uniform(0.3, 0.9, system.nq), random.uniform(0.5, 1, system.nv)
    a = np.array(system.forward_dynamics(q, v, t=T))

    def at(h):
        return of_each_body(mechanism, separate, q + h * v + h * h / 2 * a, v + h * a, T + h)

    accelerations = (at(H)[1] - at(-H)[1]) / (2 * H)
    A, d, J, j, _, positions = in_numbers(system, equations, *at(0.0), T)
    needed = A @ accelerations + d  # by constraint forces J' lambda
    multipliers = np.linalg.lstsq(J.T, needed)[0]
    np.testing.assert_allclose(positions, 0, atol=1e-9)
    np.testing.assert_allclose(J @ at(0.0)[1] + j, 0, atol=1e-9)
    np.testing.assert_allclose(J.T @ multipliers, needed, rtol=0, atol=1e-5 * np.abs(needed).max())
    assert len(needed) > len(multipliers) >= 2  # the multipliers alone could not do it
