"""Balls and wheels that roll: on a turntable, down an incline, on one another; closed forms and own equations.

The turntable: Routh, Advanced Dynamics of a System of Rigid Bodies, 1905; Weltner, American Journal of Physics 47
(1979), 984. The ball on a ball: Routh, too.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import momentree as mt

G, MASS, RADIUS = 9.81, 0.6, 0.1
Z = np.array([0.0, 0.0, 1.0])
pytestmark = pytest.mark.filterwarnings("ignore:.*would have to pull")  # here it may
FORMULATIONS = ("hamiltonian", "lagrange", pytest.param("absolute", marks=pytest.mark.long))


# --- a ball on a turntable ---


def on_turntable(turning, tilt=0.0, inertia=None):
    """A homogeneous ball on a table that turns as prescribed or, with an inertia, freely; gravity leans along x."""
    m = mt.Model("turntable", gravity=(G * np.sin(tilt), 0, -G * np.cos(tilt)))
    if inertia is None:
        table, joint = m.body("table", mass=1.0, inertia=(1, 1, 1)), mt.Revolute("z", motion=f"{turning!r}*t")
    else:
        table, joint = m.body("table", mass=1.0, inertia=(1, 1, inertia)), mt.Revolute("z")
    ball = m.body("ball", mt.sphere(mass=MASS, radius=RADIUS))
    m.joint("table", joint, m.ground, table)
    m.joint("ball", mt.Free(), m.ground, ball)
    m.roll(ball, on=table, radius=RADIUS)
    return m.build()


def rolling(x, v, turning, spin):
    """Coordinates and velocities of the ball with its centre above x: v - r w x z = turning z x x."""
    at_rest = np.asarray(v) - turning * np.array([-x[1], x[0]])
    return (*x, RADIUS, 0, 0, 0, 1), (*v, 0, -at_rest[1] / RADIUS, at_rest[0] / RADIUS, spin)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("tilt", [0.0, 0.2])
def test_a_ball_on_a_turntable_moves_in_a_circle(formulation, tilt):
    # v' = k z x v + 5/7 g sin(tilt), k = 2/7 of the table's angular velocity: a circle, and a drift across the slope
    turning, x0, v0 = 3.5, np.array([0.4, -0.1]), np.array([0.3, 0.5])
    system = on_turntable(turning, tilt)
    q, v = rolling(x0, v0, turning, 0.7)
    start = system.assemble({"ball": q}, velocities={"ball": v})
    run = system.simulate(start, t_end=10.0, every=0.1, formulation=formulation)
    k, slope = 2 / 7 * turning, 5 / 7 * G * np.sin(tilt)
    drift = 1j * slope / k  # of the circle's centre, in x + i y: i k drift + slope = 0
    u0 = complex(*v0) - drift
    u = u0 * np.exp(1j * k * run.t) + drift
    z = complex(*x0) + u0 * (np.exp(1j * k * run.t) - 1) / (1j * k) + drift * run.t
    np.testing.assert_allclose(run["ball"][:, 0] + 1j * run["ball"][:, 1], z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["ball"][:, 2], RADIUS, rtol=0, atol=1e-12)
    np.testing.assert_allclose(velocity_of(run)[:, 0] + 1j * velocity_of(run)[:, 1], u, rtol=0, atol=1e-9)
    w = angular_velocity(run)
    np.testing.assert_allclose(w[:, 2], 0.7, rtol=0, atol=1e-9 * max(1.0, np.abs(w).max()))  # the spin stays


def velocity_of(run, body="ball"):
    return Rotation.from_quat(run[body][:, 3:]).apply(run.velocity(body)[:, :3])


def angular_velocity(run, body="ball"):
    return Rotation.from_quat(run[body][:, 3:]).apply(run.velocity(body)[:, 3:])


def test_a_ball_on_a_turntable_that_turns_freely():
    # energy and the angular momentum of both about the table's axis are kept
    system = on_turntable(0.0, inertia=0.05)
    q, v = rolling((0.4, -0.1), (0.3, 0.5), 3.5, 0.7)
    start = system.assemble({"ball": q}, velocities={"ball": v, "table": 3.5})
    run = system.simulate(start, t_end=10.0, every=0.1)
    about_axis = system.momentum(run.q, run.v)[:, 5]
    assert np.ptp(run.velocity("table")) > 0.1
    assert np.ptp(about_axis) < 1e-9
    assert run.energy.error < 1e-9


def test_a_free_turntable_follows_its_own_equations():
    # c: angular velocity of the table, I its inertia; the ball pushes it by -r_c x F, F = m v'
    inertia = 0.05
    system = on_turntable(0.0, inertia=inertia)
    x0, v0 = np.array([0.4, -0.1]), np.array([0.3, 0.5])
    q, v = rolling(x0, v0, 3.5, 0.0)
    run = system.simulate(system.assemble({"ball": q}, velocities={"ball": v, "table": 3.5}), t_end=10.0, every=0.1)

    def equations(_, y):
        x, v, c = y[:2], y[2:4], y[4]
        # 7/2 v' = c' z x x + c z x v and I c' = -m x . (v' turned): linear in v', c'
        A = np.array([[3.5, 0, x[1]], [0, 3.5, -x[0]], [-MASS * x[1], MASS * x[0], inertia]])
        dv = np.linalg.solve(A, [-c * v[1], c * v[0], 0])
        return [*v, *dv]

    known = solve_ivp(equations, (0, 10), [*x0, *v0, 3.5], "DOP853", run.t, rtol=2.3e-14, atol=1e-14).y
    np.testing.assert_allclose(run["ball"][:, :2], known[:2].T, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.velocity("table"), known[4], rtol=0, atol=1e-9)


# --- down an incline ---


SHAPES = {  # what rolls, its axis, I / (m r^2)
    "ball": (mt.sphere(mass=MASS, radius=RADIUS), None, 2 / 5),
    "cylinder": (mt.cylinder(mass=MASS, radius=RADIUS, length=0.3, axis="y"), "y", 1 / 2),
    "hoop": (None, "y", 1.0),
}


def on_incline(what, slope):
    shape, axis, k = SHAPES[what]
    hoop = {"mass": MASS, "inertia": (MASS * RADIUS**2 / 2, MASS * RADIUS**2, MASS * RADIUS**2 / 2)}
    m = mt.Model("incline", gravity=(0, 0, -G))
    body = m.body("body", shape) if shape else m.body("body", **hoop)
    plane = m.ground.at((0.2, 0.1, -0.3), mt.turn("y", slope))
    m.joint("body", mt.Free(), plane, body)
    m.roll(body, on=plane, radius=RADIUS, disc=axis)
    system = m.build()
    return system, system.assemble({"body": (0, 0, RADIUS, 0, 0, 0, 1)}), k


@pytest.mark.repeats(1)
@pytest.mark.parametrize("what", SHAPES)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_what_rolls_down_an_incline(what, formulation):
    # x'' = g sin(slope) / (1 + I / (m r^2))
    system, start, k = on_incline(what, 0.5)
    run = system.simulate(start, t_end=2.0, every=0.1, formulation=formulation)
    a = G * np.sin(0.5) / (1 + k)
    np.testing.assert_allclose(run["body"][:, 0], a * run.t**2 / 2, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(run.velocity("body")[:, 4], a * run.t / RADIUS, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("what", SHAPES)
@pytest.mark.repeats(1)
def test_the_force_on_what_rolls_down_an_incline(what):
    # the normal force m g cos(slope), and the friction m g sin(slope) / (1 + m r^2 / I), which points uphill
    slope = 0.5
    system, start, k = on_incline(what, slope)
    run = system.simulate(start, t_end=1.0, every=0.1)
    down, normal = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array([np.sin(slope), 0, np.cos(slope)])
    force = MASS * (G * np.cos(slope) * normal - G * np.sin(slope) * k / (1 + k) * down)
    np.testing.assert_allclose(run.reactions("roll 1")[:, :3], np.tile(force, (len(run.t), 1)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.friction_needed("roll 1"), np.tan(slope) * k / (1 + k), rtol=1e-9)


@pytest.mark.long
def test_a_cart_on_four_wheels_rolls_straight():
    # (m + 4 (m_w + I_w / r^2)) x'' = torque / r; of twelve constraints three are redundant, and one freedom is left
    m = mt.Model("cart", gravity=(0, 0, -G))
    cart = m.body("cart", mt.box(mass=10, size=(1, 0.5, 0.2)))
    m.joint("cart", mt.Free(), m.ground, cart)
    for i, at in enumerate([(0.4, 0.3, -0.1), (0.4, -0.3, -0.1), (-0.4, 0.3, -0.1), (-0.4, -0.3, -0.1)]):
        wheel = m.body(f"wheel {i}", mt.cylinder(mass=1.0, radius=RADIUS, length=0.05, axis="y"))
        m.joint(f"wheel {i}", mt.Revolute("y"), cart.at(at), wheel)
        m.roll(wheel, radius=RADIUS, disc="y")
    m.torque("wheel 0", 0.5)
    system = m.build()
    start = system.assemble({"cart": (0, 0, 0.2, 0, 0, 0, 1)}, velocities={"wheel 0": 3.0})
    run = system.simulate(start, t_end=5.0, every=0.1)
    x = 0.3 * run.t + 0.5 / RADIUS / (10 + 4 * 1.5) * run.t**2 / 2
    np.testing.assert_allclose(run["cart"][:, 0], x, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run["wheel 3"], x / RADIUS, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["cart"][:, 1:], np.tile(start["cart"][1:], (len(run.t), 1)), rtol=0, atol=1e-10)
    assert system.mobility == 1
    assert len(system.mobility_report.redundant) == 3


# --- wheels and balls on one another ---


BIG = 0.7


@pytest.mark.parametrize("axis", [None, "y"])
@pytest.mark.repeats(1)
def test_a_wheel_rolls_on_a_fixed_wheel(axis):
    # on an arm of length R + r the wheel turns (R + r) / r times as fast as the arm: a pendulum with one freedom
    m = mt.Model("wheel on wheel", gravity=(0, 0, -G))
    arm = m.body("arm", mt.rod(mass=0.4, length=BIG + RADIUS, along="-z"))
    wheel = m.body("wheel", mt.cylinder(mass=MASS, radius=RADIUS, length=0.05, axis="y"))
    m.joint("arm", mt.Revolute("y"), m.ground, arm)
    m.joint("wheel", mt.Revolute("y"), arm.at((0, 0, -BIG - RADIUS)), wheel)
    m.roll(wheel, on="ground", radius=RADIUS, ball=BIG, disc=axis)
    system = m.build()
    run = system.simulate(system.assemble({"arm": 1.2}), t_end=10.0, every=0.1)
    L = BIG + RADIUS
    inertia = 0.4 * L**2 / 3 + MASS * L**2 + MASS * RADIUS**2 / 2 * (L / RADIUS) ** 2
    stiffness = (0.4 / 2 + MASS) * G * L
    known = solve_ivp(
        lambda _, y: [y[1], -stiffness / inertia * np.sin(y[0])],
        (0, 10),
        [1.2, 0],
        "DOP853",
        run.t,
        rtol=2.3e-14,
        atol=1e-14,
    ).y
    np.testing.assert_allclose(run["arm"], known[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["wheel"], (known[0] - 1.2) * BIG / RADIUS, rtol=0, atol=1e-8)
    assert system.mobility == 1


@pytest.mark.parametrize("what", ["ball", "cylinder"])
@pytest.mark.repeats(1)
def test_a_ball_or_a_wheel_swings_in_a_hollow(what):
    # a pendulum: (1 + I / (m r^2)) (R - r) angle'' = -g sin(angle), and it turns R / r - 1 times as fast, backwards
    shape, axis, k = SHAPES[what]
    m = mt.Model("hollow", gravity=(0, 0, -G))
    body = m.body("body", shape)
    m.joint("body", mt.Planar("y"), m.ground, body) if axis else m.joint("body", mt.Free(), m.ground, body)
    m.roll(body, radius=RADIUS, ball=-BIG, disc=axis)
    system = m.build()
    L, angle = BIG - RADIUS, 1.1
    x, z = L * np.sin(angle), -L * np.cos(angle)
    start = system.assemble({"body": (z, x, 0) if axis else (x, 0, z, 0, 0, 0, 1)})
    run = system.simulate(start, t_end=5.0, every=0.05)
    known = solve_ivp(
        lambda _, y: [y[1], -G / (L * (1 + k)) * np.sin(y[0])],
        (0, 5),
        [angle, 0],
        "DOP853",
        run.t,
        rtol=1e-13,
        atol=1e-13,
    ).y
    place = run["body"][:, [1, 0]] if axis else run["body"][:, [0, 2]]
    np.testing.assert_allclose(place, L * np.stack([np.sin(known[0]), -np.cos(known[0])], axis=1), rtol=0, atol=1e-9)
    turning = run.velocity("body")[:, 2] if axis else angular_velocity(run, "body")[:, 1]
    np.testing.assert_allclose(turning, known[1] * L / RADIUS, rtol=0, atol=1e-8)


def test_two_wheels_on_fixed_axes_turn_against_each_other():
    m = mt.Model("friction drive", gravity=(0, 0, -G))
    I1, I2 = 0.04, 0.3
    first, second = m.body("first", mass=1, inertia=(0.1, I1, 0.1)), m.body("second", mass=1, inertia=(0.2, I2, 0.2))
    m.joint("first", mt.Revolute("y"), m.ground, first)
    m.joint("second", mt.Revolute("y"), m.ground.at((BIG + RADIUS, 0, 0)), second)
    m.roll(first, on=second, radius=RADIUS, ball=BIG, disc="y")
    m.torque("first", 0.3)
    system = m.build()
    run = system.simulate(system.assemble(), t_end=2.0, every=0.1)
    a = 0.3 / (I1 + I2 * (RADIUS / BIG) ** 2)
    np.testing.assert_allclose(run["first"], a * run.t**2 / 2, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run["second"], -RADIUS / BIG * a * run.t**2 / 2, rtol=1e-11, atol=1e-11)


def ball_on_ball(n0, dn0, spin, t):
    """The direction n from centre to centre: (I L/r + m r L) n x n'' = -I spin n' - m g r n x z."""
    L, inertia = BIG + RADIUS, 0.4 * MASS * RADIUS**2

    def equations(_, y):
        n, dn = y[:3], y[3:]
        K = (-inertia * spin * dn - MASS * G * RADIUS * np.cross(n, Z)) / (inertia * L / RADIUS + MASS * RADIUS * L)
        return [*dn, *(np.cross(K, n) - dn @ dn * n)]

    return solve_ivp(equations, (0, t[-1]), [*n0, *dn0], "DOP853", t, rtol=2.3e-14, atol=1e-14).y


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("spin", [60.0, 120.0])
def test_a_ball_rolls_on_a_ball(formulation, spin):
    # like a top with w . n constant; at 60 rad/s it passes to the lower half, where the pair holds it
    L = BIG + RADIUS
    n0 = np.array([0.3, 0.0, np.sqrt(1 - 0.3**2)])
    dn0 = np.array([0.0, 0.4, 0.0])
    m = mt.Model("ball on ball", gravity=(0, 0, -G))
    ball = m.body("ball", mt.sphere(mass=MASS, radius=RADIUS))
    m.joint("ball", mt.Free(), m.ground, ball)
    m.roll(ball, radius=RADIUS, ball=BIG)
    system = m.build()
    w0 = spin * n0 + L / RADIUS * np.cross(n0, dn0)
    start = system.assemble({"ball": (*L * n0, 0, 0, 0, 1)}, velocities={"ball": (*L * dn0, *w0)})
    run = system.simulate(start, t_end=10.0, every=0.1, formulation=formulation)
    known = ball_on_ball(n0, dn0, spin, run.t)
    np.testing.assert_allclose(run["ball"][:, :3], L * known[:3].T, rtol=0, atol=1e-9)
    np.testing.assert_allclose((angular_velocity(run) * known[:3].T).sum(axis=1), spin, rtol=1e-10)
    assert run.energy.error < 1e-8 * run.energy.kinetic.max()
