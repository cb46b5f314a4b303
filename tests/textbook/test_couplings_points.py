"""Points that are guided: massless rods, beads on curves and surfaces, cams; closed forms and own equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import momentree as mt

G = 9.81
FORMULATIONS = ("hamiltonian", "lagrange", pytest.param("absolute", marks=pytest.mark.long))


def known(equations, start, t):
    """A motion in minimal coordinates, to round-off."""
    return solve_ivp(equations, (0, t[-1]), start, "DOP853", t, rtol=2.3e-14, atol=1e-14).y


def bead(mass=1.3, gravity=(0, 0, -G), along="xyz"):
    """A point mass on slides along these axes, with coordinates of the same names."""
    m = mt.Model("bead", gravity=gravity)
    last = m.ground
    for axis in along:
        body = m.body("bead", mass=mass) if axis == along[-1] else m.body(f"slide {axis}", massless=True)
        m.joint(axis, mt.Prismatic(axis), last, body)
        last = body
    return m, last


# --- massless rods ---


def double_pendulum(_, y, m1=1.1, m2=0.7, l1=0.9, l2=0.6):
    """Angles from the vertical of two point masses on massless rods (Landau and Lifshitz, Mechanics, 5)."""
    a, b, da, db = y
    c, s = np.cos(a - b), np.sin(a - b)
    M = [[(m1 + m2) * l1, m2 * l2 * c], [l1 * c, l2]]
    Q = [-m2 * l2 * s * db**2 - (m1 + m2) * G * np.sin(a), l1 * s * da**2 - G * np.sin(b)]
    return [da, db, *np.linalg.solve(M, Q)]


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("rods", ["one", "both"])
def test_a_double_pendulum_on_massless_rods(rods, formulation):
    # the lower mass moves on slides and is held at its distance from the upper one
    m, lower = bead(mass=0.7, along="xz")
    if rods == "one":
        upper = m.body("upper", mass=1.1, com=(0, 0, -0.9))
        m.joint("A", mt.Revolute("-y"), m.ground, upper)
        joint = upper.at((0, 0, -0.9))
    else:
        carriage, joint = m.body("carriage", massless=True), m.body("upper", mass=1.1)
        m.joint("x1", mt.Prismatic("x"), m.ground, carriage)
        m.joint("z1", mt.Prismatic("z"), carriage, joint)
        m.distance(m.ground, joint, 0.9)
    m.distance(joint, lower, 0.6, name="rod")
    system = m.build()
    a, b = 1.0, 1.4
    first, second = 0.9 * np.array([np.sin(a), -np.cos(a)]), 0.6 * np.array([np.sin(b), -np.cos(b)])
    place = {"x": (first + second)[0], "z": (first + second)[1]}
    place |= {"A": a} if rods == "one" else {"x1": first[0], "z1": first[1]}
    run = system.simulate(system.assemble(place), t_end=5.0, every=0.05, formulation=formulation)
    angles = known(double_pendulum, [a, b, 0, 0], run.t)
    np.testing.assert_allclose(run["x"], 0.9 * np.sin(angles[0]) + 0.6 * np.sin(angles[1]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["z"], -0.9 * np.cos(angles[0]) - 0.6 * np.cos(angles[1]), rtol=0, atol=1e-9)
    assert run.closure_error.max() < 1e-12
    assert np.abs(run.constraint_power("rod")).max() < 1e-9  # it pulls, and does no work
    assert system.mobility == 2


def test_a_pendulum_by_an_expression_of_a_frame():
    # the same as a hinge; the rod pulls by m (g cos(angle) + L angle'^2), along itself
    m, body = bead(along="xz")
    m.parameter("L", 0.8)
    m.frame("tip", body)
    m.constrain("tip.x^2 + tip.z^2 = L^2", name="circle")
    system = m.build()
    run = system.simulate(system.assemble({"x": 0.8 * np.sin(1.0), "z": -0.8 * np.cos(1.0)}), t_end=5.0, every=0.05)
    angle, velocity = known(lambda _, y: [y[1], -G / 0.8 * np.sin(y[0])], [1.0, 0], run.t)
    np.testing.assert_allclose(run["x"], 0.8 * np.sin(angle), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["z"], -0.8 * np.cos(angle), rtol=0, atol=1e-9)
    pull = 1.3 * (G * np.cos(angle) + 0.8 * velocity**2)
    expected = pull[:, None] * np.stack([-np.sin(angle), 0 * angle, np.cos(angle)], axis=1)
    np.testing.assert_allclose(run.reactions("circle")["tip"][:, :3], expected, rtol=0, atol=1e-7)


# --- beads on curves and surfaces ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("by", ["curve", "surface", "expression"])
def test_a_bead_on_a_parabola(by, formulation):
    # z = c x^2: (1 + 4 c^2 x^2) x'' + 4 c^2 x x'^2 + 2 g c x = 0
    m, body = bead(along="xz")
    c = m.parameter("c", 0.7)
    if by == "curve":
        m.on_curve(body, ("z = c*x^2", "y = 0"))
    elif by == "surface":
        m.on_surface(body, "z = c*x^2")
    else:
        m.constrain("z = c*x^2")
    system = m.build()
    start = system.assemble({"x": 0.9, "z": 0.7 * 0.9**2}, velocities={"x": 0.5})
    run = system.simulate(start, t_end=10.0, every=0.1, formulation=formulation)

    def equation(_, y):
        c = 0.7
        x, dx = y
        return [dx, -(4 * c**2 * x * dx**2 + 2 * G * c * x) / (1 + 4 * c**2 * x**2)]

    x = known(equation, [0.9, 0.5], run.t)[0]
    assert c is not None
    np.testing.assert_allclose(run["x"], x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["z"], 0.7 * x**2, rtol=0, atol=1e-9)
    assert system.mobility == 1


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_bead_on_a_helix_accelerates_uniformly(formulation):
    # z'' = -g h^2 / (R^2 + h^2), 2 pi h the rise of a turn
    R, h = 0.4, 0.15
    m, body = bead()
    m.parameter("R", R)
    m.parameter("h", h)
    m.on_curve(body, ("x = R*cos(z/h)", "y = R*sin(z/h)"))
    system = m.build()
    run = system.simulate(system.assemble({"x": R, "y": 0, "z": 0}), t_end=2.0, every=0.1, formulation=formulation)
    z = -G * h**2 / (R**2 + h**2) * run.t**2 / 2
    np.testing.assert_allclose(run["z"], z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["x"], R * np.cos(z / h), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["y"], R * np.sin(z / h), rtol=0, atol=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_bead_in_a_bowl(formulation):
    # z = (x^2 + y^2) / (2 a): the wall's force along its normal is (g + v^2/a) / (1 + r^2/a^2) per unit mass
    a = 0.6
    m, body = bead()
    m.on_surface(body, f"x^2 + y^2 = 2*{a}*z")
    system = m.build()
    start = system.assemble({"x": 0.5, "y": 0, "z": 0.5**2 / (2 * a)}, velocities={"x": 0.3, "y": 1.1})
    run = system.simulate(start, t_end=10.0, every=0.1, formulation=formulation)

    def equations(_, y):
        x, v = y[:2], y[2:]
        wall = (G + v @ v / a) / (1 + x @ x / a**2)
        return [*v, *(-wall * x / a)]

    x = known(equations, [0.5, 0, 0.3, 1.1], run.t)
    np.testing.assert_allclose(np.stack([run["x"], run["y"]]), x[:2], rtol=0, atol=1e-9)
    wall = 1.3 * (G + (x[2] ** 2 + x[3] ** 2) / a) / (1 + (x[0] ** 2 + x[1] ** 2) / a**2)
    pressed = wall[:, None] * np.stack([-x[0] / a, -x[1] / a, 1 + 0 * x[0]], axis=1)
    np.testing.assert_allclose(run.reactions("surface 1")[:, :3], pressed, rtol=0, atol=1e-7)
    turning = run["x"] * run.velocity("y") - run["y"] * run.velocity("x")
    np.testing.assert_allclose(turning, 0.5 * 1.1, rtol=0, atol=1e-9)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("by", ["surface", "expression"])
def test_a_bead_on_a_rod_that_turns(by, formulation):
    # r'' = w^2 r: r = r0 cosh(w t); the rod does work on it
    w, r0 = 0.9, 0.2
    m, body = bead(gravity=(0, 0, 0), along="xy")
    m.parameter("w", w)
    rod = "x*sin(w*t) = y*cos(w*t)"
    m.on_surface(body, rod, name="rod") if by == "surface" else m.constrain(rod, name="rod")
    system = m.build()
    start = system.assemble({"x": r0, "y": 0}, velocities={"x": 0})
    run = system.simulate(start, t_end=3.0, every=0.1, formulation=formulation)
    np.testing.assert_allclose(start.v, [0, w * r0], rtol=0, atol=1e-14)
    r = r0 * np.cosh(w * run.t)
    np.testing.assert_allclose(run["x"], r * np.cos(w * run.t), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["y"], r * np.sin(w * run.t), rtol=0, atol=1e-9)
    # the rod pushes across itself by 2 m w r', and its power is that times w r: the account has it
    power = 2 * 1.3 * w * r0 * w * np.sinh(w * run.t) * w * r
    np.testing.assert_allclose(run.constraint_power("rod"), power, rtol=0, atol=1e-8)
    assert run.energy.error < 1e-9
    assert np.ptp(run.energy.total) > 1.0


@pytest.mark.repeats(2)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("by", ["surface", "expression", "frame"])
def test_a_bead_on_a_circle_that_grows(by, formulation):
    # its angular momentum is kept: r = R + c t, angle = (h / c) (1/R - 1/r) with h = r^2 angle'
    R, c, h = 0.5, 0.3, 0.8
    m, body = bead(gravity=(0, 0, 0), along="xy")
    m.parameter("R", R)
    m.parameter("c", c)
    if by == "surface":
        m.on_surface(body, "x^2 + y^2 = (R + c*t)^2")
    elif by == "expression":
        m.constrain("x^2 + y^2 = (R + c*t)^2")
    else:
        m.frame("P", body)
        m.constrain("P.x*P.x' + P.y*P.y' = c*(R + c*t)")  # the same, in velocities
    system = m.build()
    start = system.assemble({"x": R, "y": 0}, velocities={"y": h / R})
    run = system.simulate(start, t_end=5.0, every=0.1, formulation=formulation)
    r = R + c * run.t
    angle = h / c * (1 / R - 1 / r)
    np.testing.assert_allclose(run["x"], r * np.cos(angle), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["y"], r * np.sin(angle), rtol=0, atol=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_cam_lifts_its_follower(formulation):
    # an eccentric circle: s = e sin(q) + sqrt(R^2 - e^2 cos(q)^2), one freedom with the inertia I + m s'(q)^2
    e, R, inertia, mass = 0.03, 0.08, 0.002, 0.5
    m = mt.Model("cam", gravity=(0, -G, 0))
    cam = m.body("cam", mass=1.0, inertia=(0.002, 0.002, inertia))
    follower = m.body("follower", mass=mass)
    m.joint("cam", mt.Revolute("z"), m.ground, cam)
    m.joint("follower", mt.Prismatic("y"), m.ground, follower)
    m.on_surface(follower, f"(x - {e})^2 + y^2 = {R}^2", of=cam)
    system = m.build()
    start = system.assemble({"cam": 0.3}, velocities={"cam": 20.0}, guess={"follower": 0.09})
    run = system.simulate(start, t_end=2.0, every=0.02, formulation=formulation)

    def lift(q):
        root = np.sqrt(R**2 - e**2 * np.cos(q) ** 2)
        s = e * np.sin(q) + root
        ds = e * np.cos(q) + e**2 * np.cos(q) * np.sin(q) / root
        slope = e**2 * np.cos(2 * q) / root - (e**2 * np.cos(q) * np.sin(q)) ** 2 / root**3
        return s, ds, -e * np.sin(q) + slope

    def equation(_, y):
        _, ds, dds = lift(y[0])
        return [y[1], -mass * ds * (dds * y[1] ** 2 + G) / (inertia + mass * ds**2)]

    q = known(equation, [0.3, 20.0], run.t)[0]
    np.testing.assert_allclose(run["cam"], q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run["follower"], lift(q)[0], rtol=0, atol=1e-9)
    assert run.energy.error < 1e-9
