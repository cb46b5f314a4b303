"""All methods give one motion: formulations, kinds of code, peers; it does not depend on frames, and is reversible."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import momentree as mt
from agree.peers import MuJoCo
from agree.test_dynamics import loaded, near
from mechanisms import EVERY_JOINT, random_body, random_configuration, random_tree
from momentree.assembly.state import State
from momentree.model.frames import GROUND, Frame

FORMULATIONS = ("hamiltonian", "lagrange")
by_both = pytest.mark.parametrize("formulation", FORMULATIONS)


def start_of(seed):
    """A system with everything that moves and hinders it, and a start with its one limited joint within limits."""
    system, q, v, _, t = loaded(seed)
    (hinge,) = (body for body in system.mechanism.bodies if body.joint.name == "hinge")
    q[hinge.q] = 0.05
    return system, State(system.mechanism, q, v, t)


def end_of(system, start, duration, **settings):
    """Coordinates and velocities at the end."""
    run = system.simulate(start, start.t + duration, **settings)
    assert run.end.reason == "arrived"
    return run.q[-1], run.v[-1]


def same_motion(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        near(a, b, tolerance)


def conservative(seed, gravity=(1.0, -2.0, -9.0)):
    """A random tree of half of the joint types under gravity, with springs, and a start."""
    random = np.random.default_rng(seed)
    kinds = random.permutation(EVERY_JOINT)[: len(EVERY_JOINT) // 2]
    m = random_tree(random, list(kinds), mt.Model("tree", gravity=gravity))
    m.spring(m.bodies[1].at((0.1, 0, 0)), m.bodies[3].at((0, 0.2, 0)), 20.0, rest=0.1)
    m.spring(m.ground.at((0, 0, 3)), m.bodies[-1].at((0.3, 0, 0)), 5.0, rest=0.2)
    return m, started(m.build(), random)


def started(system, random):
    return State(system.mechanism, random_configuration(random, system), random.standard_normal(system.nv))


# --- formulations and code ---


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_both_formulations_give_the_same_motion(seed):
    system, start = start_of(seed)
    settings = {"rtol": 1e-12, "step": 1e-3}  # short steps, for the sake of stops and contacts that begin and end
    same_motion(*(end_of(system, start, 0.3, formulation=name, **settings) for name in FORMULATIONS), 1e-9)


@pytest.mark.long
@by_both
def test_rolled_and_straight_line_code_give_the_same_motion(formulation):
    system, start = start_of(0)
    settings = {"formulation": formulation, "integrator": "rk4", "step": 1e-4}
    rolled, straight = (
        end_of(mt.System(system.mechanism, system._model, code), start, 0.05, **settings)
        for code in ("rolled", "straight-line")
    )
    same_motion(rolled, straight, 1e-11)


def test_code_is_chosen_when_a_model_is_built():
    m, start = conservative(1)
    ends = [end_of(m.build(code=code), start, 0.2, rtol=1e-12) for code in (None, "rolled", "straight-line")]
    same_motion(ends[0], ends[1], 1e-10)
    same_motion(ends[0], ends[2], 1e-10)


# --- free parameters ---


def cart(mass=1.0, length=0.8, stiffness=30.0, drive=2.0):
    """A pendulum on a driven cart; parameters in masses, places, springs, laws of force and of motion."""
    m = mt.Model("cart")
    for name, value in (("mass", mass), ("length", length), ("stiffness", stiffness), ("drive", drive)):
        m.parameter(name, value)
    moved, hung = m.body("cart", mass="2*mass", inertia=(1, 1, 1)), m.body("bob", mt.rod("mass", "length", along="-z"))
    shaken = m.body("shaken", massless=True)
    m.joint("shaker", mt.Prismatic("y", motion="0.1*sin(drive*t)"), m.ground, shaken)
    m.joint("x", mt.Prismatic("x", spring="stiffness"), shaken, moved)
    m.joint("swing", mt.Universal("y", "x"), moved, hung)
    m.torque("x", "drive*cos(t) - mass*x'")
    return m


OTHER = {"mass": 1.7, "length": 0.5, "stiffness": 55.0, "drive": 3.1}


@by_both
@pytest.mark.repeats(1)
def test_free_parameters_at_other_values_are_the_model_with_those_values(formulation):
    settings = {"formulation": formulation, "integrator": "dop853", "rtol": 1e-12, "every": 0.5}
    q, v = [0.1, 0.4, -0.3], [0.2, -1.0, 0.5]
    found = cart().build(free=[*OTHER]).simulate_many([q], [v], 1.0, parameters=OTHER, **settings)
    rebuilt = cart(**OTHER).build()
    run = rebuilt.simulate(State(rebuilt.mechanism, np.array(q), np.array(v)), 1.0, **settings)
    same_motion((found.q[0], found.v[0]), (run.q, run.v), 1e-10)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", [*FORMULATIONS, "absolute"])
def test_free_parameters_have_the_values_of_the_model_unless_given(formulation):
    settings = {"formulation": formulation, "rtol": 1e-12, "every": 0.5}
    runs = []
    for system in (cart().build(free=["mass", "drive"]), cart().build(), cart(**OTHER).build()):
        runs.append(end_of(system, system.assemble({"swing": (0.4, -0.3)}), 1.0, **settings))
    same_motion(runs[0], runs[1], 1e-10)
    assert np.abs(runs[2][0] - runs[1][0]).max() > 0.01


# --- peers ---


def arm(random):
    """Seven hinges in a chain, as industrial robots have."""
    m = mt.Model("arm")
    body = m.ground
    for i in range(7):
        frame = body.at(random.uniform(-0.3, 0.3, 3), mt.turn("xyz"[i % 3], random.uniform(-1, 1)))
        body = random_body(random, m, f"link{i}")
        m.joint(f"j{i}", mt.Revolute("zyx"[i % 3]), frame, body)
    return m.build()


def test_mujoco_takes_the_same_500_steps():
    # the classical Runge-Kutta method in coordinates and velocities; to MuJoCo's round-off, not to the method's error
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")
    random = np.random.default_rng(7)
    system = arm(random)
    q, v = random.uniform(-1, 1, (2, 7))
    peer = MuJoCo(system.mechanism)
    peer.model.opt.integrator, peer.model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    peer.data.qpos[:], peer.data.qvel[:] = q, v
    mujoco.mj_step(peer.model, peer.data, nstep=500)
    settings = {"formulation": "lagrange", "integrator": "rk4", "step": 1e-3}
    same_motion(end_of(system, State(system.mechanism, q, v), 0.5, **settings), (peer.data.qpos, peer.data.qvel), 1e-12)
    assert np.abs(peer.data.qpos - q).max() > 0.5  # it does move


@pytest.mark.repeats(1)
@by_both
@pytest.mark.long
def test_scipy_finds_the_same_motion_with_forward_dynamics(formulation):
    system, start = start_of(1)
    mechanism = system.mechanism

    def derivatives(t, y):
        q, v = y[: system.nq], y[system.nq :]
        moving = [
            x
            for body in mechanism.bodies
            if not body.laws
            for x in body.joint.type.coordinate_derivatives(q[body.q], v[body.v])
        ]
        return [*moving, *system.forward_dynamics(q, v, None, t)]

    span, y = (start.t, start.t + 0.05), np.concatenate([start.q, start.v])
    theirs = solve_ivp(derivatives, span, y, method="DOP853", rtol=1e-11, atol=1e-13, max_step=1e-3).y[:, -1]
    ours = end_of(system, start, 0.05, formulation=formulation, rtol=1e-11, step=1e-3)
    same_motion(ours, (theirs[: system.nq], theirs[system.nq :]), 1e-9)


# --- laws ---


@pytest.mark.repeats(1, of="formulation")
@by_both
@pytest.mark.parametrize("integrator", ["dop853", "dopri5"])
def test_motions_are_reversible(formulation, integrator):
    # q(-t), -v(-t) is a motion too, if no force depends on the direction of motion and nothing is prescribed
    m, start = conservative(3)
    system = m.build()
    settings = {"formulation": formulation, "integrator": integrator, "rtol": 1e-13}
    q, v = end_of(system, start, 0.5, **settings)
    assert np.abs(q - start.q).max() > 0.3
    q, v = end_of(system, State(system.mechanism, q, -v), 0.5, **settings)
    same_motion((q, -v), (start.q, start.v), 1e-9)


def elsewhere(m, R, p):
    """The whole model turned by R, then moved by p: what stands on the ground, and gravity."""

    def moved(frame):
        if frame.body != GROUND:
            return frame
        axes = R if frame.rotation is None else R * Rotation.from_quat(frame.rotation)
        return Frame(GROUND, R.apply(frame.position) + p, axes.as_quat())

    turned = mt.Model("elsewhere", gravity=tuple(R.apply(m.gravity)))
    turned.bodies = m.bodies
    turned.joints = [dataclasses.replace(c, first=moved(c.first), second=moved(c.second)) for c in m.joints]
    turned.springs = [dataclasses.replace(c, first=moved(c.first), second=moved(c.second)) for c in m.springs]
    return turned


def as_in(system, state):
    """The same coordinates and velocities in another system."""
    return dataclasses.replace(state, mechanism=system._numeric)


@pytest.mark.repeats(1, of="formulation")
@pytest.mark.parametrize("seed", range(3))
@by_both
def test_motions_are_invariant_under_translation_and_rotation_of_the_model(seed, formulation):
    m, start = conservative(seed)
    R, p = Rotation.random(random_state=seed), np.array([3.0, -2.0, 1.0])
    here, there = m.build(), elsewhere(m, R, p).build()
    settings = {"formulation": formulation, "rtol": 1e-12}
    q, v = end_of(here, start, 0.3, **settings)
    same_motion(end_of(there, as_in(there, start), 0.3, **settings), (q, v), 1e-9)
    for body in m.bodies:
        near(there.position(q, body), R.apply(here.position(q, body)) + p, 1e-13)


@by_both
@pytest.mark.repeats(1)
def test_a_ground_in_uniform_motion_changes_no_motion(formulation):
    # Galilei: uniform motion cannot be distinguished from rest
    (m, start), (moving, _) = conservative(2), conservative(2)
    moving.ground.moves(("0.5*t", "-3*t", "2*t"), (0, 0, 0))
    settings = {"formulation": formulation, "rtol": 1e-12}
    there = moving.build()
    found = end_of(there, as_in(there, start), 0.3, **settings)
    same_motion(found, end_of(m.build(), start, 0.3, **settings), 1e-9)


@by_both
@pytest.mark.repeats(1)
def test_on_a_falling_ground_there_is_no_gravity(formulation):
    # Einstein's lift
    (m, start), (falling, _) = conservative(2, gravity=(0, 0, 0)), conservative(2, gravity=(1.0, -2.0, -9.0))
    falling.ground.moves(("t^2/2", "-t^2", "-9*t^2/2"), (0, 0, 0))
    settings = {"formulation": formulation, "rtol": 1e-12}
    there = falling.build()
    found = end_of(there, as_in(there, start), 0.3, **settings)
    same_motion(found, end_of(m.build(), start, 0.3, **settings), 1e-9)
