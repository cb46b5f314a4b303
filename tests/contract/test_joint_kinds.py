"""The contract of joint types on a mechanism: every type, and the one of docs/EXTENDING.md, in a skew arm and a loop.

What a type promises by itself is proved in tests/unit/model/test_joint_types.py; here it carries and is carried.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from force_kinds import skew_arm
from mechanisms import four_bar, random_configuration
from momentree.equations.articulated import forward_dynamics
from momentree.equations.balance import energy
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import names_of
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.kinematics import records
from momentree.equations.newton_euler import inverse_dynamics
from momentree.equations.shared_parameters import shared_parameters
from momentree.equations.work_terms import powers
from momentree.model import joint_types
from momentree.model.joint_types import JOINTS
from momentree.structure.separate_bodies import separate_bodies
from recipes import recipes


def documented():
    """The type of joint that docs/EXTENDING.md adds, made from what stands there."""
    (recipe,) = (each for each in recipes() if each.title == "A joint type")
    hunk = next(hunk for path, hunk in recipe.edits if path.endswith("model/joint_types.py"))
    text = "\n".join(line[1:] for line in hunk.splitlines() if line.startswith("+"))
    names = {**vars(joint_types)}
    exec(text.partition("\n\n\n")[0], names)  # its class, without the table of types
    return names[re.search(r"class (\w+)", text)[1]]


KINDS = {**JOINTS, documented().__name__: documented()}
every_joint = pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.velocities])


def arm(kind, seed=0, loop=False, **options):
    joint = KINDS[kind].random(np.random.default_rng(seed))
    return skew_arm(seed=seed, joint=joint.with_fields(**options) if options else joint, loop=loop).build()


def moving_state(system, seed):
    random = np.random.default_rng(seed)
    return random_configuration(random, system, 0.5), random.uniform(-1, 1, system.nv), 0.37


@every_joint
@pytest.mark.parametrize("seed", range(2))
def test_inverse_dynamics_undoes_forward_dynamics(kind, seed):
    system = arm(kind, seed)
    q, v, t = moving_state(system, seed)
    du = system.forward_dynamics(q, v, t=t)
    M, b = system.mass_matrix(q, t), system.bias(q, v, t)
    scale = np.abs(M @ du).max() + np.abs(b).max()
    assert np.abs(system.inverse_dynamics(q, v, du, t=t)).max() < 1e-11 * scale
    assert M @ du + b == pytest.approx(0, abs=1e-11 * scale)
    found = forward_dynamics(Evaluation(in_joint_frames(system.mechanism), q, t), v, [0.0] * system.nv)
    assert found == pytest.approx(du, rel=1e-9, abs=1e-9)
    shared = Evaluation(shared_parameters(system.mechanism), q, t)
    assert np.abs(inverse_dynamics(shared, v, du)).max() < 1e-10 * scale


@every_joint
@pytest.mark.parametrize("loop", [False, True], ids=["tree", "loop"])
def test_the_energy_of_a_motion_is_accounted_for(kind, loop):
    system = arm(kind, loop=loop)
    run = system.simulate(system.assemble(), 0.1, rtol=1e-9)
    assert np.abs(run.energy.balance).max() < 1e-6 * (np.abs(run.energy.total).max() + 1)


@every_joint
def test_newtons_and_eulers_equations_in_symbols_hold_for_the_motion_of_the_joint(kind):
    """With multipliers of some value, and none in the accelerations of constraints."""
    m = mt.Model("one", gravity=(0.3, -1.1, -9.0))
    body = m.body("body", mass=1.3, com=(0.1, 0.2, 0.3), inertia=(0.5, 0.6, 0.7))
    joint = KINDS[kind].random(np.random.default_rng(0))
    defaults = {field.name: field.default for field in dataclasses.fields(joint)}
    joint = dataclasses.replace(joint, **{name: defaults[name] for name in joint.axis_fields})  # short equations
    m.joint("T", joint, m.ground.at((0.1, 0.2, 0)), body.at((0.2, 0, 0.1)))
    m.force(body.at((0.1, 0, 0)), (1.0, 2.0, "sin(t)"))
    system = m.build()
    q, v, t = moving_state(system, 1)
    assert newton_euler_misfit(system, q, v, t) < 1e-9


def newton_euler_misfit(system, q, v, t):
    """By how much the printed equations are missed, at best, by the motion that forward dynamics finds."""
    mechanism, apart = system.mechanism, separate_bodies(system.mechanism)
    moving = records(Evaluation(mechanism, q, t), v, system.forward_dynamics(q, v, t=t))
    e = system.equations("newton_euler").expanded
    values, du = {e.symbols.t: t}, []
    found_q, found_u = [], []
    for old, body in zip(mechanism.bodies, apart.bodies, strict=True):
        record, shift = moving[old.number], old.own @ body.own.inverse()
        X_FM = body.mount.inverse() @ record.X_0 @ shift
        joint = body.joint_type
        q_body = joint.fit(X_FM)
        A = np.array([[*column.linear, *column.angular] for column in joint.motion_subspace(q_body).columns]).T
        twist, change = shift.motion(record.v), shift.motion(record.dv)
        u = np.linalg.lstsq(A, [*twist.linear, *twist.angular], rcond=None)[0]
        dA = joint.motion_subspace_derivative(q_body, u)
        rest = change - (dA @ u)
        du += [*np.linalg.lstsq(A, [*rest.linear, *rest.angular], rcond=None)[0]]
        found_q += [*q_body]
        found_u += [*u]
    values |= dict(zip(e.coordinates, found_q, strict=True)) | dict(zip(e.velocities, found_u, strict=True))
    known = {**values, **dict(zip(e.accelerations, du, strict=True))}
    rows = e.A * sp.Matrix(e.accelerations) + e.b - e.right
    J, right = sp.linear_eq_to_matrix([row.subs(known) for row in rows], [*e.multipliers])
    J, right = (np.array(x.evalf(), dtype=float) for x in (J, right))
    multipliers = np.linalg.lstsq(J, right[:, 0], rcond=None)[0]
    closing = [abs(float(row.subs(known))) for row in e.constraint_accelerations()]
    return max(*np.abs(J @ multipliers - right[:, 0]), *closing, 0.0)


CARRIED = {
    "nothing": {},
    "spring": {"spring": 30.0, "rest": 0.3},
    "damping": {"damping": 4.0},
    "stops": {"limits": (-0.1, 0.1), "stops": (50.0, 3.0)},
    "torque": {},
}


@pytest.mark.parametrize("what", CARRIED)
def test_what_a_closing_joint_carries_acts_as_in_the_tree(what):
    """A four-bar cut at a joint that carries something, or at another: the same accelerations and powers."""
    found = []
    for cut in "CB":
        m = four_bar()
        m.joints[-1] = dataclasses.replace(m.joints[-1], type=mt.Revolute("y", **CARRIED[what]))
        if what == "torque":
            m.torque("C", "5 + t")
        m.cut(cut)
        system = m.build()
        start = system.assemble({"A": 1.0}, {"A": 2.0})
        du = system.forward_dynamics(start.q, start.v)
        moving = records(Evaluation(system.mechanism, start.q, 0.0), start.v)
        work = powers(system.mechanism, moving, names_of(Evaluation(system.mechanism, start.q, 0.0), moving))
        (A,) = (a for a, u in zip(du, system.mechanism.velocities, strict=True) if u.name == "A")
        found.append([A, *work, energy(Evaluation(system.mechanism, start.q, 0.0), start.v).total])
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert (abs(found[0][0] - free_swing()) > 1e-3) == (what != "nothing")


def free_swing():
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, {"A": 2.0})
    du = system.forward_dynamics(start.q, start.v)
    return next(a for a, u in zip(du, system.mechanism.velocities, strict=True) if u.name == "A")


@pytest.mark.parametrize("what", [*CARRIED, "armature"])
@pytest.mark.parametrize("by", ["energy", "aggregative", "lagrange"])
def test_equations_in_symbols_have_what_a_joint_carries(what, by):
    options = CARRIED.get(what, {"armature": 0.4})
    m = mt.Model("swing")
    m.joint("A", mt.Revolute("y", **options), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    if what == "torque":
        m.torque("A", "5 + t + A'")
    system = m.build()
    e = system.equations(by).expanded
    values = {e.coordinates[0]: 0.7, e.velocities[0]: 0.5, e.symbols.t: 0.3}
    A, b, Q = (float(x[0].subs(values)) for x in (e.A, e.b, e.Q))
    assert (Q - b) / A == pytest.approx(float(system.forward_dynamics([0.7], [0.5], t=0.3)[0]), rel=1e-9)
