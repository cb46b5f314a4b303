"""Contact forces: the laws in numbers, where they act, and what they may not do."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import momentree as mt
from momentree.assembly.configuration_space import integrate
from momentree.compile.emit.llvm import compile_tape
from momentree.compile.trace.tape import Tape
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import ends_of
from momentree.equations.kinematics import records

SHAPES = {
    "point on a plane": {},
    "ball on a plane": {"radius": 0.5},
    "disc on a plane": {"radius": 0.5, "disc": (1, 0.2, 0.1)},
    "point on a ball": {"ball": 0.7},
    "ball on a ball": {"radius": 0.5, "ball": 0.7},
    "disc on a ball": {"radius": 0.5, "disc": (1, 0.2, 0.1), "ball": 0.7},
}
LAWS = {
    "linear": {"stiffness": 1e3, "damping": 50.0, "ramp": 0.05},
    "hunt-crossley": {"stiffness": 1e3, "damping": 0.4, "law": "hunt-crossley", "exponent": 1.7},
}


def two_bodies(**numbers):
    """Two free bodies, one pressed against the other at frames that stand askew in them."""
    m = mt.Model("two bodies", gravity=(0, 0, 0))
    for name in ("first", "second"):
        body = m.body(name, mass=1.3, com=(0.1, -0.2, 0.3), inertia=(0.5, 0.6, 0.7))
        m.joint(name, mt.Free(), m.ground, body)
    first = m.bodies[0].at((0.1, 0.2, -0.1), mt.turn((1, 1, 0), 0.4))
    second = m.bodies[1].at((-0.2, 0.1, 0.3), mt.turn((0, 1, 1), -0.7))
    m.contact(first, second, **{"friction": 0.6, "slip": 0.3, **numbers})
    return m.build()


def touch_of(**numbers):
    return two_bodies(**numbers).mechanism.contacts[0]


def state_of(touch, moving):
    return touch.state(ends_of(touch, moving))


def geometry_of(touch, placed):
    return touch.geometry(ends_of(touch, placed))


def forces_of(touch, moving):
    return touch.wrenches(ends_of(touch, moving), {})


def state(system, seed, apart=0.3):
    """Positions near each other, any orientation, any velocities."""
    random = np.random.default_rng(seed)
    q = np.concatenate(
        [[*random.uniform(-apart, apart, 3), *Rotation.random(random_state=random).as_quat()] for _ in "ab"]
    )
    return q, random.standard_normal(system.nv)


# --- the laws ---


def test_the_linear_law_in_numbers_of_a_walker():
    # N = max(0, 4e4 pen - 1500 v_z min(1, pen / 1e-3)), F_t = -0.8 N tanh(v_y / 0.01), pen = e1 - r_z, where a leg of
    # length e1 = 1.5 m rolls on an arc about its upper end r, at whatever angle
    m = mt.Model("leg", gravity=(0, 0, 0))
    m.joint("leg", mt.Planar("x"), m.ground, m.body("leg", mass=1.0, inertia=(1, 1, 1)))
    m.contact("leg", radius=1.5, disc="x", stiffness=4e4, damping=1500, friction=0.8)
    mechanism = m.build().mechanism
    for pen, v_z, v_y, angle, turning in [
        (1e-3, -0.05, 0.004, 0.3, 0.0),
        (2e-4, -0.05, -0.02, -0.1, 0.1),
        (3e-3, 0.05, 0.02, 1.0, -0.2),
        (3e-3, 0.2, 0.02, 0.2, 0.2),  # leaves faster than the spring pushes: no adhesion
        (-1e-3, -0.05, 0.02, 0.2, 0.2),
    ]:
        moving = records(Evaluation(mechanism, [0.7, 1.5 - pen, angle]), [v_y, v_z, turning])
        N = max(0.0, 4e4 * pen - 1500 * v_z * min(1.0, pen / 1e-3)) if pen > 0 else 0.0
        found = state_of(mechanism.contacts[0], moving)
        assert found.geometry.depth == pytest.approx(pen, rel=1e-9)
        assert math.isclose(found.N, N, rel_tol=1e-9)
        at_the_ground = v_y + turning * (1.5 - pen)  # the point of the leg that is at (y, 0)
        assert found.friction.y == pytest.approx(-0.8 * N * math.tanh(at_the_ground / 0.01), rel=1e-9)
        assert tuple(found.geometry.point) == pytest.approx((0, 0.7, 0), abs=1e-12)


def test_hunt_and_crossley_in_numbers():
    touch = touch_of(law="hunt-crossley", stiffness=1e5, damping=0.2)
    assert touch.normal_force(1e-4, 0.5) == pytest.approx(1e5 * 1e-6 * (1 + 1.5 * 0.2 * 0.5))
    assert touch.normal_force(1e-4, -0.5) == pytest.approx(1e5 * 1e-6 * (1 - 1.5 * 0.2 * 0.5))
    assert touch.normal_force(1e-4, -5.0) == 0
    assert touch.normal_force(-1e-4, 5.0) == 0


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@given(depth=st.floats(-1, 1), approach=st.floats(-100, 100))
@settings(deadline=None, max_examples=200)
@pytest.mark.repeats(1)
def test_no_contact_pulls_and_none_begins_with_a_blow(law, depth, approach):
    touch = touch_of(**law)
    N = touch.normal_force(depth, approach)
    assert N >= 0
    assert depth > 0 or N == 0
    assert abs(touch.normal_force(1e-9, approach)) < 1e-3  # N; continuous where they touch


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_elastic_force_is_the_slope_of_the_energy(law):
    touch = touch_of(**law)
    for depth in (-0.1, 0.01, 0.2):
        slope = (touch.elastic_energy(depth + 1e-6) - touch.elastic_energy(depth - 1e-6)) / 2e-6
        assert touch.elastic_force(depth) == pytest.approx(slope, rel=1e-7, abs=1e-9)
        assert touch.normal_force(depth, 0.0) == pytest.approx(touch.elastic_force(depth), rel=1e-14)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
@settings(deadline=None)
def test_friction_opposes_the_sliding_and_is_smooth_at_rest(x, y):
    m = mt.Model("block", gravity=(0, 0, 0))
    m.joint("block", mt.Free(), m.ground, m.body("block", mass=1.0, inertia=(1, 1, 1)))
    m.contact("block", stiffness=100.0, friction=0.4, slip=0.02)
    mechanism = m.build().mechanism
    moving = records(Evaluation(mechanism, [0, 0, -0.5, 0, 0, 0, 1]), [x, y, 0, 0, 0, 0])
    found = state_of(mechanism.contacts[0], moving)
    speed = math.hypot(x, y)
    strength = 0.4 * 50.0 * math.tanh(speed / 0.02)
    expected = (-strength * (x / speed), -strength * (y / speed)) if speed > 1e-100 else (0, 0)
    assert (found.friction.x, found.friction.y) == pytest.approx(expected, rel=1e-12, abs=1e-90)
    assert found.friction.z == 0


# --- where the bodies meet ---


def test_depth_of_every_shape_against_distances():
    random = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, 20001)
    for name, shape in SHAPES.items():
        system = two_bodies(stiffness=1.0, **shape)
        touch = system.mechanism.contacts[0]
        for seed in range(4):
            q, v = state(system, seed, 1.0)
            placed = records(Evaluation(system.mechanism, q), v)
            X, A = (placed[end.body].X_0 @ end.placement for end in (touch.frame, touch.against))
            centre = np.array([*X.offset]) - np.array([*A.offset])
            axes = np.array([[*row] for row in A.rotation.rows]).T  # of `against`, as rows
            points = centre[None]
            if touch.disc is not None:
                a = np.array([*(X.rotation @ touch.disc)])
                n1 = np.cross(a, random.standard_normal(3))
                n1 /= np.linalg.norm(n1)
                points = centre + 0.5 * (np.outer(np.cos(angles), n1) + np.outer(np.sin(angles), np.cross(a, n1)))
            distances = points @ axes[2] if touch.ball is None else np.linalg.norm(points, axis=1) - touch.ball
            around = 0.0 if touch.disc is not None else touch.radius
            geometry = geometry_of(touch, placed)
            assert geometry.depth == pytest.approx(around - distances.min(), abs=1e-7), name
            # the point where the force acts is on the plane, or parts the depth of two balls as their radii
            radius = touch.ball / (touch.ball + touch.radius) if touch.ball else 1
            expected = 0 if touch.ball is None else touch.ball - geometry.depth * (1 - radius)
            at = geometry.point.z if touch.ball is None else geometry.point.norm
            assert at == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_approach_is_the_rate_of_the_depth(shape):
    system = two_bodies(stiffness=1.0, **shape)
    m = system.mechanism
    for seed in range(5):
        q, v = state(system, seed)
        ahead, behind = (
            geometry_of(m.contacts[0], records(Evaluation(m, integrate(m, q, h * v)))).depth for h in (1e-6, -1e-6)
        )
        rate = (ahead - behind) / 2e-6
        assert state_of(m.contacts[0], records(Evaluation(m, q), v)).approach == pytest.approx(rate, abs=1e-7)


def test_what_has_no_direction_gives_numbers():
    # a disc that lies flat, and balls whose centres coincide
    m = mt.Model("flat")
    m.joint("disc", mt.Free(), m.ground, m.body("disc", mass=1.0, inertia=(1, 1, 1)))
    m.contact("disc", radius=0.3, disc="z", stiffness=100.0, friction=0.5)
    m.contact("disc", radius=0.3, ball=0.2, stiffness=100.0, friction=0.5)
    mechanism = m.build().mechanism
    moving = records(Evaluation(mechanism, [0, 0, -0.1, 0, 0, 0, 1]), np.zeros(6))
    assert math.isclose(state_of(mechanism.contacts[0], moving).N, 10.0)
    moving = records(Evaluation(mechanism, [0, 0, 0, 0, 0, 0, 1]), np.zeros(6))
    for touch in mechanism.contacts:
        assert np.isfinite([*forces_of(touch, moving)[0]]).all()


# --- both bodies ---


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.repeats(4)
def test_action_is_reaction(shape, law):
    system = two_bodies(**shape, **law)
    for seed in range(5):
        q, v = state(system, seed)
        moving = records(Evaluation(system.mechanism, q), v)
        first, second = forces_of(system.mechanism.contacts[0], moving)
        ends = [moving[i].X_0.force_to_parent(f) for i, f in ((1, first), (2, second))]
        scale = np.abs([*ends[0]]).max()
        assert np.abs([*(ends[0] + ends[1])]).max() <= 1e-13 * scale
        # so that the momentum of both together, which float, does not change
        a = system.forward_dynamics(q, v)
        h = 1e-6
        ahead, behind = (
            system.momentum(integrate(system.mechanism, q, k * v + k * k / 2 * a), v + k * a) for k in (h, -h)
        )
        assert np.abs(ahead - behind).max() / (2 * h) <= 1e-7 * max(1.0, scale)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_two_balls_do_the_same_whoever_is_named_first(law):
    m = two_bodies(radius=0.5, ball=0.7, **law)._model
    contact = m.contacts[0]
    swapped = dataclasses.replace(contact, frame=contact.against, against=contact.frame, radius=0.7, ball=0.5)
    one = m.build()
    m.contacts[0] = swapped
    other = m.build()
    for seed in range(5):
        q, v = state(one, seed)
        np.testing.assert_allclose(one.forward_dynamics(q, v), other.forward_dynamics(q, v), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_it_does_not_matter_who_sees_it(shape):
    """The same motion of both bodies seen from a frame that stands elsewhere gives the same forces on them."""
    system = two_bodies(stiffness=1e3, damping=20.0, **shape)
    q, v = state(system, 3)
    turn = Rotation.from_rotvec((0.3, -1.0, 0.5))
    moved = q.copy()
    for i in (0, 7):
        moved[i : i + 3] = turn.apply(q[i : i + 3]) + np.array([1.0, 2.0, 3.0])
        moved[i + 3 : i + 7] = (turn * Rotation.from_quat(q[i + 3 : i + 7])).as_quat()
    one, other = (
        records(Evaluation(system.mechanism, at), v) for at in (q, moved)
    )  # velocities are in axes of the bodies
    for a, b in zip(*(forces_of(system.mechanism.contacts[0], seen) for seen in (one, other)), strict=True):
        np.testing.assert_allclose([*a], [*b], rtol=1e-10, atol=1e-9)


# --- scalars of other kinds ---


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_machine_code_and_batches_are_what_floats_are(shape, law):
    system = two_bodies(**shape, **law)
    mechanism = system.mechanism

    def forces(q, v):
        return [x for force in forces_of(mechanism.contacts[0], records(Evaluation(mechanism, q), v)) for x in force]

    tape = Tape()
    names = {"q": tuple(f"q{i}" for i in range(system.nq)), "v": tuple(f"v{i}" for i in range(system.nv))}
    tape.outputs(forces(tape.inputs(*names["q"]), tape.inputs(*names["v"])))
    compiled = compile_tape(tape, tuple(names.items()))
    states = [state(system, seed, 0.6) for seed in range(8)]
    expected = np.array([forces(*map(list, one)) for one in states])
    scale = np.abs(expected).max()
    for (q, v), row in zip(states, expected, strict=True):
        np.testing.assert_allclose(compiled([q, v]), row, rtol=0, atol=1e-13 * scale)
    qs, vs = (np.stack(entries) for entries in zip(*states, strict=True))
    np.testing.assert_allclose(np.array(forces([*qs.T], [*vs.T])).T, expected, rtol=0, atol=1e-13 * scale)
