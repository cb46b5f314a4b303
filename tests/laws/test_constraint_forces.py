"""Forces of constraints of every kind: Newton's and Euler's equations of each body, J' lambda, and no work."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import momentree as mt
from mechanisms import MOVING as MOVING_JOINTS
from mechanisms import random_frame, random_joint, random_loops
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.equations.aggregative import inverse_dynamics
from momentree.equations.articulated import forward_dynamics
from momentree.equations.balance import energy
from momentree.equations.constraint_forces import (
    constraint_power,
    expression_forces_of,
    multipliers_of,
    reacting_constraints,
)
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_reactions import joint_reactions
from momentree.equations.kinematics import records
from momentree.model.expressions import as_expression
from momentree.model.higher_pairs import Distance, OnSurfaces, Rolling, Skating
from momentree.spatial import Transform, Vector
from momentree.structure.mechanism import Attached, Constraint, Loop

T = 0.3
KINDS = ["Revolute", "Prismatic", "Spherical", "Revolute", "Free", "Universal"]
EXPRESSIONS = {
    "gear": ("j1 + 2*j4", True),
    "bent": ("j1*j2 + sin(j4)", True),
    "ball": ("j3.qx*j3.qy + 0.5*j3.qz - j1", True),
    "point": ("tip.x^2 + tip.y*heel.z", True),
    "mixed": ("tip.z + j2 - 0.3*j4", True),
    "sleigh": ("cos(j4)*tip.x' + sin(j4)*tip.y' + 0.2*j2'", False),
    "turning": ("heel.wx + tip.x*heel.wz - j1'", False),
    "spin": ("j3.wx + j1*j3.wy", False),
    "driven": ("j1 + j4 - 0.4*sin(3*t)", True),
    "belt": ("heel.x' + t*j2' - 0.7*cos(t)", False),
}
MOVING = ("driven", "belt", "breathing")
PAIRS = {
    "roll": Rolling(radius=0.2),
    "wheel": Rolling(radius=0.3, disc=Vector(0, 1, 0)),
    "on ball": Rolling(radius=0.2, ball=0.5),
    "skate": Skating(Vector(0, 1, 0)),
    "rod": Distance(1.0),
    "bowl": OnSurfaces((as_expression("x^2 + 0.5*y^2 - z"),)),
    "breathing": OnSurfaces((as_expression("x^2 + y^2 + z^2 - 0.3*t"),)),
}
SETS = [
    ("gear", "roll"),
    ("bent", "wheel"),
    ("ball", "skate"),
    ("point", "rod"),
    ("mixed", "bowl", "gear"),
    ("sleigh", "on ball"),
    ("turning", "spin"),
    ("driven", "roll"),
    ("belt", "rod", "gear"),
    ("breathing", "bent"),
]


def on_a_moving_ground():
    """A turntable on a ship: a prescribed joint, which is at time T where it is at 0, on a ground that moves."""
    m = mt.Model("ship")
    m.ground.moves(("0.1*sin(5*t)", 0, "0.2*t^2"), (0, "0.3*sin(2*t)", "0.1*t"))
    joint = mt.Revolute("z", motion=f"0.5*sin(2*pi*t/{T})")
    m.joint("table", joint, m.ground.at((0.2, 0.1, 0.3)), m.body("table", mass=1.0, inertia=(1, 1, 1)))
    return m


def constrained(names, seed, closing=("Spherical",), model=None):
    """A random mechanism with a loop, constraints that hold at the configuration that comes with it, and a motion."""
    random = np.random.default_rng(seed)
    model, q = random_loops(random, KINDS, list(closing), model)
    m = model.build().mechanism
    frames = tuple((name, m.attach(random_frame(random, model.bodies[k]))) for name, k in (("tip", 2), ("heel", 4)))
    m = dataclasses.replace(m, frames=frames, bodies=m.bodies)
    for name in names:
        m = with_pair(m, model, q, name, random) if name in PAIRS else with_expression(m, q, name)
    v = random.standard_normal(m.nv)
    at = Configuration(m, q, v, T)
    v -= np.linalg.pinv(at.jacobian(on_velocities=True)) @ at.constraint_velocities()
    return model, m, q, v


def with_expression(m, q, name):
    text, holonomic = EXPRESSIONS[name]
    expression = as_expression(text)
    added = dataclasses.replace(m, constraints=(*m.constraints, Constraint(name, expression, holonomic)))
    if holonomic:
        off = Configuration(added, q, t=T).closure_errors()[-1]
        closed = Constraint(name, expression - off, holonomic)
        added = dataclasses.replace(m, constraints=(*m.constraints, closed))
    return added


def with_pair(m, model, q, name, random):
    """Between the third and the last body, where it holds: the first frame is placed, or sizes are chosen, to fit."""
    pair, placed = PAIRS[name], records(Evaluation(m, q, T))
    first, second = (m.attach(random_frame(random, model.bodies[k])) for k in (1, 5))
    X_M = placed[second.body].X_0 @ second.placement
    X_F = placed[first.body].X_0 @ first.placement
    if isinstance(pair, Distance):
        pair = Distance((X_M.offset - X_F.offset).norm)
    elif not isinstance(pair, Skating):
        # closer and closer along the normal of the contact
        for _ in range(60):
            X_FM = X_F.inverse() @ X_M
            at = dict.fromkeys(pair.names, T)
            step = pair.rows(X_FM, at)[0].linear * pair.errors(X_FM, at)[0]
            X_F = Transform(X_F.rotation, X_F.offset + X_F.rotation @ step)
    X_B = placed[first.body].X_0
    loop = Loop(name, pair, Attached(first.body, X_B.inverse() @ X_F), second, None)
    return dataclasses.replace(m, loops=(*m.loops, loop))


def momenta(m, q, v, t):
    """Of each body, in inertial axes, about the inertial origin."""
    bodies = Configuration(m, q, v, t).bodies[1:]
    return np.array([[*body.X_0.force_to_parent(body.inertia @ body.v)] for body in bodies], dtype=float)


def accelerations(m, q, v):
    return np.array(forward_dynamics(Evaluation(m, q, T), v, [0] * m.nv), dtype=float)


CASES = [(names, seed) for seed, names in enumerate(SETS)]


@pytest.mark.parametrize(("names", "seed"), CASES)
@pytest.mark.repeats(4)
def test_wrenches_of_joints_pairs_and_frames_change_the_momentum_of_each_body(names, seed):
    check_momenta(*constrained(names, seed), names)


def check_momenta(model, m, q, v, names):
    """The sum of weights and all wrenches on a body is the derivative of its momentum, by differences."""
    at = Evaluation(m, q, T)
    found = {name: np.array([*wrench], dtype=float) for name, wrench in joint_reactions(at, v).items()}
    reacting, placed = reacting_constraints(at, v), records(at)
    total = np.zeros((len(m.bodies) + 1, 6))

    def add(frame, wrench, sign=1):
        """At the origin of a frame, in inertial axes."""
        point = np.array([*(placed[frame.body].X_0 @ frame.placement).offset], dtype=float)
        return sign * np.array([*wrench[:3], *(wrench[3:] + np.cross(point, wrench[:3]))])

    for body in m.bodies:
        X = placed[body.number].X_0
        weight = np.array([*m.gravity]) * body.inertia.mass
        centre = X.rotation @ body.inertia.h / body.inertia.mass + X.offset
        total[body.number] += [*weight, *np.cross([*centre], weight)]
    between = [(joint.name, m.attach(joint.first), m.attach(joint.second)) for joint in model.joints]
    between += [(loop.name, loop.first, loop.second) for loop in m.loops if loop.name in PAIRS]
    for name, first, second in between:
        wrench = add(second, found[name])
        total[second.body] += wrench
        total[first.body] -= wrench
    for constraint in m.constraints:
        for name, wrench in expression_forces_of(m, reacting, constraint.name).frames.items():
            frame = dict(m.frames)[name]
            total[frame.body] += add(frame, np.array([*wrench], dtype=float))

    a = accelerations(m, q, v)

    def slope(h):
        ends = [momenta(m, integrate(m, q, k * v + k * k / 2 * a), v + k * a, T + k) for k in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    change = (4 * slope(5e-5) - slope(1e-4)) / 3
    np.testing.assert_allclose(change, total[1:], rtol=0, atol=2e-6 * np.abs(total).max())
    assert all(np.abs(found[name]).max() > 1e-3 for name in names if name in PAIRS)


@pytest.mark.parametrize(("names", "seed"), CASES)
@pytest.mark.repeats(4)
def test_so_they_do_on_a_moving_ground_with_prescribed_joints(names, seed):
    check_momenta(*constrained(names, seed, model=on_a_moving_ground()), names)


@pytest.mark.parametrize(("names", "seed"), CASES)
def test_multipliers_times_the_jacobian_are_the_forces_that_the_motion_needs(names, seed):
    closing = ["Spherical", "Universal", "Cylindrical", "Revolute", "Screw"][seed % 5]
    _, m, q, v = constrained(names, seed, (closing,))
    at = Evaluation(m, q, T)
    needed = np.array(inverse_dynamics(at, v, accelerations(m, q, v)), dtype=float)
    reacting, J = reacting_constraints(at, v), Configuration(m, q, t=T).jacobian(on_velocities=True)
    every = [loop.name for loop in m.loops] + [constraint.name for constraint in m.constraints]
    found = np.array([x for name in every for x in multipliers_of(m, reacting, name)], dtype=float)
    np.testing.assert_allclose(J.T @ found, needed, rtol=0, atol=1e-9 * np.abs(needed).max())


@pytest.mark.parametrize(("names", "seed"), CASES)
def test_ideal_constraints_do_no_work_and_those_that_move_do_what_the_energy_shows(names, seed):
    _, m, q, v = constrained(names, seed)
    at, a = Evaluation(m, q, T), accelerations(m, q, v)
    reacting = reacting_constraints(at, v)
    every = [loop.name for loop in m.loops] + [constraint.name for constraint in m.constraints]
    powers = {name: float(constraint_power(m, reacting, name)) for name in every}
    needed = np.array(inverse_dynamics(at, v, a), dtype=float)
    size = np.abs(needed).max() * np.abs(v).max()
    for name, power in powers.items():
        assert abs(power) < 1e-12 * size or name in MOVING, name
        assert abs(power) > 1e-3 or name not in MOVING, name

    def slope(h):
        ends = [energy(Evaluation(m, integrate(m, q, k * v + k * k / 2 * a), T + k), v + k * a).total for k in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    assert sum(powers.values()) == pytest.approx((4 * slope(5e-5) - slope(1e-4)) / 3, abs=1e-7 * size)


# --- forces of joints that close a loop of a body and its parent ---

CLOSING = [kind for kind in MOVING_JOINTS if kind != "Free"]
ELEMENTS = ("torque", "input", "law", "spring", "damping", "stops", "link", "force")


def held_twice(kind, element):
    """A body that floats on one that moves, a joint of this kind, and an element on it, between the two: at a state."""
    m = mt.Model(f"{kind} with {element}", gravity=(1.0, -2.0, -9.81))
    base = m.body("base", mass=5.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 2.0, 1.5))
    held = m.body("held", mass=3.0, com=(0.2, 0.1, -0.1), inertia=(0.3, 0.4, 0.5))
    m.joint("base", mt.Universal("x", "y"), m.ground, base)
    m.joint("free", mt.Free(), base.at((0.3, 0, 0)), held)
    joint = random_joint(np.random.default_rng(7), kind)
    n, ball = len(joint.velocities), kind == "Spherical"
    if element == "spring" and not ball:
        joint = joint.with_fields(spring=(30.0,) * n, rest=(0.2,) * n)
    elif element == "damping":
        joint = joint.with_fields(damping=(3.0,) * n)
    elif element == "stops" and not ball:
        joint = joint.with_fields(limits=((-0.1, 0.1),) * n if n > 1 else (-0.1, 0.1), stops=(500.0, 20.0))
    m.joint("K", joint, base.at((0.1, 0.2, 0.3)), held.at((0, 0.1, 0)))
    m.cut("K")
    velocities = [f"K.{velocity}" if n > 1 else "K'" for velocity in joint.velocities]
    if element == "input":
        m.input("T", "3")
    laws = {"torque": ["3"] * n, "input": ["T"] * n, "law": [f"-2*tanh({name}/0.1) - {name}" for name in velocities]}
    if element in laws:
        m.torque("K", laws[element] if n > 1 else laws[element][0])
    if element == "link":
        m.spring(base.at((0.5, 0, 0)), held.at((0, 0, 0.4)), stiffness=40.0, damping=2.0, rest=0.2)
    if element == "force":
        m.force(held.at((0.1, 0, 0)), (3, "sin(t)", 0), (0, 0, 2))
    system = m.build()
    q = joint.integrate(joint.reference(), np.linspace(0.2, 0.4, n))
    fast = [*np.linspace(0.5, 1.0, n)]
    values = {"K": ([*q], fast)} if len(q) > 1 else {"K": (q[0], fast[0])}
    state = system.assemble(
        {name: at for name, (at, _) in values.items()} | {"base": (0.3, -0.2)},
        velocities={name: speed for name, (_, speed) in values.items()} | {"base": (0.4, 0.7)},
    )
    return system, state.q, state.v


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("kind", CLOSING)
@pytest.mark.repeats(3, of="element")
def test_forces_of_a_joint_that_closes_a_loop_are_no_constraint_forces(kind, element):
    system, q, v = held_twice(kind, element)
    needed = system.inverse_dynamics(q, v, system.forward_dynamics(q, v))
    size = max(1.0, np.abs(system.bias(q, v)).max())
    by_rows = system.constraint_jacobian(q).T @ system.multipliers(q, v)
    np.testing.assert_allclose(system.constraint_forces(q, v), needed, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(by_rows, needed, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(by_rows @ v, 0, atol=1e-9 * size)


def test_a_motor_on_the_second_hinge_of_a_door_is_no_constraint_force():
    m = mt.Model("door", gravity=(0, 0, -9.81))
    frame = m.body("frame", mass=5.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 2.0, 1.5))
    door = m.body("door", mass=10.0, com=(0.4, 0, 0.5), inertia=(1.0, 2.0, 1.5))
    m.joint("frame", mt.Revolute("z"), m.ground, frame)
    m.joint("A", mt.Revolute("z"), frame, door)
    m.joint("B", mt.Revolute("z"), frame.at((0, 0, 1)), door.at((0, 0, 1)))
    m.torque("B", "3")
    system = m.build()
    assert np.abs(system.constraint_forces([0.1, 0.3], [0.2, 0.5])).max() < 1e-12
