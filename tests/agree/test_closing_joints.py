"""What acts on a joint is the same whether the joint is in the tree or closes a loop."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import momentree as mt
from mechanisms import JOINTS, four_bar, random_body, random_frame, random_joint
from momentree.assembly.configuration import Configuration
from momentree.assembly.state import State
from momentree.equations.aggregative import inverse_dynamics
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import records

FORMULATIONS = ("hamiltonian", "lagrange")
by_both = pytest.mark.parametrize("formulation", FORMULATIONS)
KINDS = [kind for kind in JOINTS if kind not in ("Fixed", "Free")]
# steps of a fixed size pass the kinks of stops alike, in the tree and in the loop
EQUAL_STEPS = {"integrator": "rk4", "step": 1e-5}


def hindered(kind, random):
    """A joint with damping and, where it has coordinates for them, springs and limits that it passes."""
    joint = random_joint(random, kind)
    n = len(joint.velocities)
    each = {"damping": tuple(random.uniform(0.1, 0.5, n))}
    if len(joint.coordinates) == n:
        each["spring"] = tuple(random.uniform(1, 5, n))
        each["rest"] = tuple(random.uniform(-0.5, 0.5, n))
        each["limits"] = ((-0.3, 0.3),) * n if n > 1 else (-0.3, 0.3)
        each["stops"] = (80.0, 2.0)
    return dataclasses.replace(joint, **each)


def one_joint(kind, seed, closing):
    """A body on the ground by a joint, with everything that can act on it; `closing`: a free body that it holds."""
    random = np.random.default_rng(seed)
    m = mt.Model("one joint", gravity=(1.0, -2.0, -3.0))
    body = random_body(random, m, "body")
    ends = [random_frame(random, m.ground), random_frame(random, body)]
    joint = hindered(kind, random)
    m.joint("K", joint, *ends)
    (c,) = (c for c in m.joints if c.name == "K")
    velocities, coordinates = [str(r) for r in c.velocities], [str(r) for r in c.coordinates]
    m.torque("K", tuple(f"3*cos(5*t) - 0.2*{velocity} + sin({coordinates[0]})" for velocity in velocities))
    m.force(body.at((0.1, 0.2, 0.3)), (f"{velocities[-1]}", "t", f"0.3*{coordinates[-1]}"))
    if closing:
        m.joint("free", mt.Free(), m.ground, body)
        m.cut("K")
    return m.build()


@pytest.mark.repeats(1)
@by_both
@pytest.mark.parametrize("kind", KINDS)
def test_a_body_held_by_a_closing_joint_moves_as_on_that_joint(kind, formulation):
    tree, loop = (one_joint(kind, 1, closing) for closing in (False, True))
    joint = tree.mechanism.bodies[0].joint.type
    q = joint.integrate(joint.reference(), np.full(len(joint.velocities), 0.2))
    start = State(tree.mechanism, np.array(q), np.linspace(0.5, 1.0, tree.nv))
    body = tree.mechanism.bodies[0]
    X = records(Evaluation(tree.mechanism, q))[1].X_0 @ body.own
    given = {"K": list(q) if len(q) > 1 else q[0]}, {"K": [*start.v] if tree.nv > 1 else start.v[0]}
    at = loop.assemble(*given, guess={"free": mt.Free().fit(X)})
    runs = [s.simulate(x, 0.5, formulation=formulation, **EQUAL_STEPS) for s, x in ((tree, start), (loop, at))]
    for what in (lambda run: run["K"], lambda run: run.velocity("K"), lambda run: run.position("body")):
        a, b = (what(run)[-1] for run in runs)
        b = -b if kind == "Spherical" and np.ndim(a) and len(a) == 4 and a @ b < 0 else b  # the same rotation
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
    expected = runs[0].energy.work
    assert set(runs[1].energy.work) == set(expected)
    for name, work in runs[1].energy.work.items():
        np.testing.assert_allclose(work[-1], expected[name][-1], rtol=0, atol=1e-6)
    assert runs[1].energy.potential[-1] == pytest.approx(runs[0].energy.potential[-1], abs=1e-8)
    assert runs[1].energy.error < 1e-6
    assert np.abs(np.asarray(q) - runs[0].q[-1]).max() > 0.01  # it does move


def loaded_four_bar(cut):
    m = four_bar()
    options = {
        "A": {"damping": 0.4},
        "B": {"spring": 3.0, "rest": 0.2, "damping": 0.1},
        "C": {"spring": 2.0, "rest": 0.4, "damping": 0.3, "limits": (-1.7, 1.4), "stops": (60.0, 3.0)},
        "D": {"limits": (1.2, 1.8), "stops": (50.0, 1.0)},
    }
    m.joints = [dataclasses.replace(c, type=mt.Revolute("y", **options[c.name])) for c in m.joints]
    m.torque("C", "sin(3*t) - 0.2*A' + 0.1*B")
    m.torque("A", "2*cos(t) + 0.3*C - 0.1*D'")
    m.force(m.bodies[1].at((0.5, 0, 0)), ("C'", 0, "t*D"))
    m.cut(cut)
    return m.build()


@pytest.mark.repeats(1)
@by_both
@pytest.mark.long
def test_the_motion_does_not_depend_on_where_the_loop_is_cut(formulation):
    begun = four_bar().build().assemble({"A": 1.0}, velocities={"A": 1.5})
    at, runs = Configuration(begun.mechanism, begun.q), []
    for cut in "ABCD":
        system = loaded_four_bar(cut)
        guess = {name: at.coordinates_of(name)[0] for name in "ABCD"}
        start = system.assemble({"A": 1.0}, velocities={"A": 1.5}, guess=guess)
        runs.append(system.simulate(start, 1.5, formulation=formulation, **EQUAL_STEPS))
    for name in "ABCD":
        ends = [run[name][-1] for run in runs]
        np.testing.assert_allclose(ends, ends[0], rtol=0, atol=1e-9, err_msg=name)
        velocities = [run.velocity(name)[-1] for run in runs]
        np.testing.assert_allclose(velocities, velocities[0], rtol=0, atol=1e-8, err_msg=name)
    for run in runs:
        assert run.energy.error < 1e-7
        assert {term.kind for term in run.work_terms} == {"drive", "force", "damper", "stop"}
        assert min(np.ptp(work) for work in run.energy.work.values()) > 1e-4  # everything acts


def test_forces_of_a_closing_joint_act_on_the_open_tree():
    # M v' + bias = 0 moves the open tree: the closing joint pulls at both of its bodies, by virtual power
    system, random = loaded_four_bar("C"), np.random.default_rng(3)
    m = system.mechanism
    q, v, t = random.uniform(0.2, 0.6, 3), random.standard_normal(3), 0.7
    q[m.by_joint["D"].q] = 1.5
    bare = four_bar()
    bare.cut("C")
    at = Configuration(m, q, v, t)
    J = {name: at.velocity_slopes(name)[0] for name in "ABCD"}
    C, velocities = at.coordinates_of("C")[0], {name: J[name] @ v for name in J}
    b, d = (at.coordinates_of(name)[0] for name in "BD")
    along = {
        "A": -0.4 * velocities["A"] + 2 * np.cos(t) + 0.3 * C - 0.1 * velocities["D"],
        "B": -3 * (b - 0.2) - 0.1 * velocities["B"],
        "C": -2 * (C - 0.4) - 0.3 * velocities["C"] + np.sin(3 * t) - 0.2 * velocities["A"] + 0.1 * b,
        "D": 0.0,
    }
    assert -1.7 < C < 1.4
    assert 1.2 < d < 1.8
    force = np.array([velocities["C"], 0, t * d])
    expected = sum(along[name] * J[name] for name in J)
    expected = expected + system.jacobian(q, bare.bodies[1].at((0.5, 0, 0)), t)[:3].T @ force
    np.testing.assert_allclose(bare.build().bias(q, v, t) - system.bias(q, v, t), expected, atol=1e-10)
    plain = inverse_dynamics(Evaluation(m, q.tolist(), t), v.tolist(), [0.0] * 3)
    np.testing.assert_allclose(system.bias(q, v, t), plain, atol=1e-10)


def test_a_start_outside_the_limits_of_a_closing_joint_is_in_the_stop():
    m = four_bar()
    m.joints[-1] = dataclasses.replace(m.joints[-1], type=mt.Revolute("y", limits=(-0.1, 0.1)))
    m.cut("C")
    system = m.build()
    start = system.assemble({"A": 1.0})
    with pytest.warns(mt.RunWarning, match=r"joint 'C': angle = .* is outside its limits"):
        run = system.simulate(start, 0.01)
    assert abs(run["C"][-1]) < abs(start["C"])
    with pytest.warns(mt.RunWarning, match=r"joint 'C': angle = .* is outside its limits"):
        system.simulate_many([start, start], t_end=0.01, every=0.01)
