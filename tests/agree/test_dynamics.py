"""All algorithms for the dynamics of a tree agree, on random trees with every joint type."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_body, random_configuration, random_frame, random_tree
from momentree.assembly.configuration_space import integrate
from momentree.equations import aggregative, articulated, newton_euler
from momentree.equations.base_parameters import base_parameters
from momentree.equations.evaluation import Evaluation
from momentree.equations.external_reactions import held_frame
from momentree.equations.factors import factors
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.kinematics import frame_jacobian, records
from momentree.spatial import REST, ZERO, Force, Transform, Vector
from momentree.spatial.rotation import Turn
from momentree.structure.mechanism import Attached

SEEDS = range(8)
TIGHT = 1e-12  # of the largest number that is compared


def near(found, expected, tolerance=TIGHT):
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def loaded(seed):
    """A random tree of every joint type: springs, dampers, stops, laws, forces, contacts; a ground that moves."""
    random = np.random.default_rng(seed)
    m = mt.Model("loaded", gravity=tuple(random.uniform(-5, 5, 3)))
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    carrier = m.body("carrier", mt.sphere(mass=1.0, radius=0.1))
    m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t)", "2*t*(1 - t)")), m.ground, carrier)
    arm = m.body("arm", mt.box(mass=1.0, size=(0.3, 0.2, 0.1)))
    m.joint("swivel", mt.Spherical(motion=("t", "-2*t", "0.5*t + 0.1*t^2")), carrier.at((1, 0, 0)), arm)
    m = random_tree(random, list(random.permutation(EVERY_JOINT)), m)
    wheel = m.body("wheel", mt.cylinder(mass=1.0, radius=0.2, length=0.1))
    hinge = mt.Revolute("y", spring=3.0, rest=0.2, damping=0.5, limits=(-0.1, 0.1), stops=(20.0, 2.0))
    m.joint("hinge", hinge, arm.at((0, 0.2, 0)), wheel)
    m.torque("hinge", "sin(t) - 2*hinge + hinge'*j1.wx" if m.joints[2].type.kind == "Spherical" else "sin(t) - 2*hinge")
    m.force(random_frame(random, wheel), ("t", "1 + hinge", 2), moment=(0.1, "hinge'", 0), axes="body")
    m.force(random_frame(random, m.bodies[3]), (1, "cos(t)", -2), moment=(0, 0.3, 0))
    m.spring(random_frame(random, wheel), random_frame(random, m.bodies[5]), 20.0, damping=2.0, rest=0.1)
    m.spring(m.ground.at((0, 0, 5)), random_frame(random, m.bodies[4]), 10.0, rest=0.5, tension_only=True)
    for i, kind in enumerate(({}, {"disc": "x"}, {"ball": 2.0}, {"ball": 2.0, "disc": "y"}, {"law": "hunt-crossley"})):
        ends = random_frame(random, m.bodies[3 + i]), random_frame(random, [m.ground, wheel][i % 2])
        m.contact(*ends, radius=5.0, stiffness=3.0, damping=0.2, friction=0.5, slip=1.0, **kind)
    system = m.build()
    q = random_configuration(random, system)
    return system, q, random.standard_normal(system.nv), random.standard_normal(system.nv), 0.7


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_forward_and_inverse_dynamics_undo_each_other(seed):
    system, q, v, tau, t = loaded(seed)
    a = system.forward_dynamics(q, v, tau, t)
    near(system.inverse_dynamics(q, v, a, t), tau)
    near(system.mass_matrix(q, t) @ a + system.bias(q, v, t), tau)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_aggregative_forms_and_the_classical_recursion_agree(seed):
    system, q, v, a, t = loaded(seed)
    near(newton_euler.inverse_dynamics(Evaluation(system.mechanism, q, t), v, a), system.inverse_dynamics(q, v, a, t))
    near(aggregative.second_form(Evaluation(system.mechanism, q, t), v).b, system.bias(q, v, t))


@pytest.mark.parametrize("seed", SEEDS)
def test_base_parameters_change_no_assembled_quantity(seed):
    random = np.random.default_rng(seed)
    m = mt.Model("arm")
    body = m.ground
    for i in range(7):
        frame = body.at(random.uniform(-1, 1, 3), mt.turn("xyz"[i % 3], random.uniform(-1, 1)))
        body = random_body(random, m, f"link{i}")
        ends = [frame, body] if i % 2 else [frame, body.at(random.uniform(-1, 1, 3))]
        m.joint(f"j{i}", mt.Revolute("xyz"[(i * 2) % 3]) if i != 3 else mt.Prismatic("x"), *ends)
    m.force(body.at((0.3, 0.2, 0.1)), (1, 2, 3))
    mechanism = m.build().mechanism
    q, v, a = random.standard_normal((3, 7))
    regrouped = base_parameters(mechanism)
    assert regrouped.bodies[-1].inertia.mass == 0
    for inverse_dynamics in (newton_euler.inverse_dynamics, aggregative.inverse_dynamics):
        near(inverse_dynamics(Evaluation(regrouped, q), v, a), inverse_dynamics(Evaluation(mechanism, q), v, a))
    near(aggregative.mass_matrix(Evaluation(regrouped, q)), aggregative.mass_matrix(Evaluation(mechanism, q)))


@pytest.mark.repeats(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_mass_matrix_is_u_d_u_transposed_and_solved_by_transvections(seed):
    system, q, _, tau, t = loaded(seed)
    found = factors(Evaluation(system.mechanism, q, t))
    U, D = np.eye(system.nv), np.zeros((system.nv, system.nv))
    for (j, k), block in found.U.items():
        U[system.mechanism.bodies[j - 1].v, system.mechanism.bodies[k - 1].v] = block
    for k, block in found.D.items():
        D[system.mechanism.bodies[k - 1].v, system.mechanism.bodies[k - 1].v] = block
    A = system.mass_matrix(q, t)
    near(U @ D @ U.T, A)
    near(found.solve(tau), np.linalg.solve(A, tau), 1e-11)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_held_frame_stays_where_it_is_held(seed):
    system, q, v, tau, t = loaded(seed)
    placed = records(Evaluation(system.mechanism, q, t))
    frames = [Attached(body.number, Transform(offset=Vector(0.1, 0.2, 0.3))) for body in system.mechanism.bodies]
    # one that can move in every direction
    frame = max(frames, key=lambda f: sum(c != REST for c in frame_jacobian(system.mechanism, placed, f)))
    axes = [Force(Vector(1, 0, 0), ZERO), Force(Vector(0, 0.6, 0.8), ZERO)]
    held = held_frame(Evaluation(system.mechanism, q, t), v, tau, frame, axes, accelerations=[0.3, -0.2])

    # the acceleration of the frame by differences of its velocity along the motion with du
    def velocity(h):
        qh = integrate(system.mechanism, q, h * v + h * h / 2 * np.array(held.du))
        return frame_velocity(system, frame, qh, v + h * np.array(held.du), t + h)

    acceleration = (velocity(1e-5) - velocity(-1e-5)) / 2e-5
    along = [acceleration @ [*axis.linear] for axis in axes]
    np.testing.assert_allclose(along, [0.3, -0.2], atol=2e-6)
    # and the reactions are what inverse dynamics misses
    missing = system.inverse_dynamics(q, v, held.du, t) - tau
    columns = frame_jacobian(system.mechanism, placed, frame)
    near([sum(R * (c @ axis) for R, axis in zip(held.R, axes, strict=True)) for c in columns], missing, 1e-10)


def frame_velocity(system, frame, q, v, t):
    body = records(Evaluation(system.mechanism, q, t), v)[frame.body]
    r = frame.placement.offset
    return np.array([*(body.X_0.rotation @ (body.v.linear + body.v.angular.cross(r)))])


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_is_the_loop_over_its_entries(seed):
    system, q, _, tau, t = loaded(seed)
    random = np.random.default_rng(seed)
    qs = np.stack([integrate(system.mechanism, q, random.standard_normal(system.nv)) for _ in range(3)])[:, None]
    vs = random.standard_normal((4, system.nv))
    a = system.forward_dynamics(qs, vs, tau, t)
    assert a.shape == (3, 4, system.nv)
    near(a, [[system.forward_dynamics(x[0], y, tau, t) for y in vs] for x in qs], 1e-10)
    near(system.mass_matrix(qs, t), [[system.mass_matrix(x[0], t)] for x in qs], 1e-11)
    near(system.energy(qs, vs, t).total, [[system.energy(x[0], y, t).total for y in vs] for x in qs], 1e-11)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_classical_and_spatial_bias_forces_give_the_same_accelerations(seed):
    system, q, v, tau, t = loaded(seed)
    at, u = Evaluation(system.mechanism, q.tolist(), t), v.tolist()
    classical, spatial = (
        find(at, u, tau.tolist()) for find in (articulated.accelerating_tree, articulated.accelerating_bodies)
    )
    for one, other in zip(classical[1:], spatial[1:], strict=True):
        near([*getattr(one, "du", ())], [*getattr(other, "du", ())])
        a = other.dv.linear + other.v.angular.cross(other.v.linear)  # of the origin
        near([*one.dv], [*a, *other.dv.angular])


def test_articulated_recursion_needs_no_mass_matrix_for_a_long_chain():
    m = mt.Model("chain")
    end = m.ground
    for i in range(150):
        link = m.body(f"l{i}", mt.rod(mass=1.0, length=0.1))
        m.joint(f"j{i}", mt.Revolute("y"), end, link)
        end = link.at((0.1, 0, 0))
    system = m.build()
    random = np.random.default_rng(0)
    q, v, tau = random.uniform(-0.3, 0.3, (3, 150))
    a = articulated.forward_dynamics(Evaluation(system.mechanism, q), v, tau)
    near(system.inverse_dynamics(q, v, a), tau, 1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.mass_matrix([1.0]), "q has the shape 1; its last axis must have length 2"),
        (lambda s: s.mass_matrix("text"), "q is 'text'; an array of numbers is expected"),
        (lambda s: s.bias([0, float("nan")], [0, 0]), "q holds NaN or infinity"),
        (lambda s: s.forward_dynamics([0, 0], [0, 0], [1, 2, 3]), "tau has the shape 3"),
        (lambda s: s.inverse_dynamics([0, 0], 3.0, [0, 0]), "v has the shape a single number"),
    ],
)
def test_errors_name_the_wrong_array(call, words):
    m = mt.Model("double pendulum")
    first = m.body("first", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, first)
    m.joint("B", mt.Revolute("y"), first.at((1, 0, 0)), m.body("second", mt.rod(mass=1.0, length=1.0)))
    with pytest.raises(mt.MomentreeError, match=words):
        call(m.build())


def test_a_quaternion_that_is_not_unit_is_refused():
    m = mt.Model("ball")
    m.joint("ball", mt.Spherical(), m.ground, m.body("b", mt.sphere(mass=1.0, radius=1.0)))
    with pytest.raises(mt.MomentreeError, match="quaternion of joint 'ball' is not of unit length"):
        m.build().mass_matrix([0, 0, 0, 1.1])


def test_gears_keep_their_ratio_and_share_torques_by_it():
    m = mt.Model("gears", gravity=(0, 0, 0))
    for name, inertia in (("A", 2.0), ("B", 0.5)):
        m.joint(name, mt.Revolute("z"), m.ground, m.body(name.lower(), mass=1.0, inertia=(inertia,) * 3))
    m.constrain("A + 3*B", "geared")
    # (2 + 0.5/9) A'' = tau_A - tau_B/3
    expected = (1.5 - 0.6 / 3) / (2 + 0.5 / 9)
    found = m.build().forward_dynamics([0.3, -0.1], [0.6, -0.2], [1.5, 0.6])
    np.testing.assert_allclose(found, [expected, -expected / 3], rtol=1e-13)


# --- other frames ---


@pytest.mark.parametrize("seed", SEEDS)
def test_the_choice_of_frames_changes_no_dynamics(seed):
    system, q, v, tau, t = loaded(seed)
    in_frames = in_joint_frames(system.mechanism)
    near(
        articulated.forward_dynamics(Evaluation(in_frames, q, t), v, tau),
        articulated.forward_dynamics(Evaluation(system.mechanism, q, t), v, tau),
    )
    near(
        aggregative.inverse_dynamics(Evaluation(in_frames, q, t), v, tau),
        aggregative.inverse_dynamics(Evaluation(system.mechanism, q, t), v, tau),
    )
    near(
        aggregative.mass_matrix(Evaluation(in_frames, q, t)),
        aggregative.mass_matrix(Evaluation(system.mechanism, q, t)),
    )


def test_frames_of_skew_hinges_turn_about_z_and_stand_on_each_other_by_a_turn_about_x():
    random = np.random.default_rng(3)
    m = mt.Model("skew")
    end = m.ground
    for i in range(6):
        link = random_body(random, m, f"link{i}")
        frames = random_frame(random, end), random_frame(random, link)
        m.joint(f"j{i}", mt.Revolute(tuple(random.standard_normal(3))), *(frames if i % 2 else frames[::-1]))
        end = link
    bodies = in_joint_frames(m.build().mechanism).bodies
    assert {body.joint.type.axis for body in bodies} == {Vector(0, 0, 1)}
    for body in bodies[1:]:
        assert isinstance(body.mount.rotation, Turn)
        assert body.mount.rotation.axis == 0
        assert 0 in tuple(body.mount.offset)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mass_matrix_times_velocities_is_the_generalized_momentum(seed):
    system, q, v, _, t = loaded(seed)
    near(
        aggregative.inertia_product(Evaluation(system.mechanism, q, t), v),
        aggregative.mass_matrix(Evaluation(system.mechanism, q, t)) @ v,
    )
