"""Nonholonomic systems in closed form: Chaplygin's sleigh, a knife edge on an incline, Rosenberg's particle.

The sleigh: Chaplygin 1911 (English translation: Regular and Chaotic Dynamics 13, 2008); Neimark and Fufaev, Dynamics of
Nonholonomic Systems, 1972, which has the knife edge too. The particle: Rosenberg, Analytical Dynamics of Discrete
Systems, 1977; Bates and Sniatycki 1993. Suslov's problem: Suslov, Theoretical Mechanics, 1902.
"""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt

MASS, INERTIA, AHEAD = 2.0, 0.5, 0.3  # kg, kg m2 about the centre of mass, m from the blade to the centre of mass
SLEIGH = {  # t: x, y of the blade, heading; by extrapolation in a separate program, to 1e-16 of the closed form
    0.5: (0.53715948301017195, 0.25783332412858789, 0.78375274343603842),
    1.0: (0.90935250709218254, 0.87207760741978823, 1.2166719092853335),
    2.0: (1.1303899152674930, 2.3702508629920397, 1.5565902538314427),
    5.0: (0.78129040256868241, 6.9625354743029718, 1.6733290685397593),
}
SIDEWAYS = {
    "skate": None,
    "coordinates": "hull.y'*cos(hull.angle) - hull.x'*sin(hull.angle) = 0",
    "frames": "blade.y'*(front.x - blade.x) = blade.x'*(front.y - blade.y)",
}
FORMULATIONS = ("hamiltonian", "lagrange", "absolute")


def sleigh(by="skate"):
    m = mt.Model("sleigh")
    hull = m.body("hull", mass=MASS, com=(AHEAD, 0, 0), inertia=(0.1, 0.45, INERTIA))
    m.joint("hull", mt.Planar("z"), m.ground, hull)
    if by == "skate":
        m.skate(hull, across="y")
    else:
        if by == "frames":
            m.frame("blade", hull)
            m.frame("front", hull.at((0.5, 0, 0)))
        m.constrain(SIDEWAYS[by], name="blade holds")
    return m.build()


def closed_form(t, u0=1.0, w0=2.0):
    """Forward velocity of the blade, angular velocity and heading."""
    k = np.sqrt(INERTIA / MASS + AHEAD**2)
    h = np.hypot(u0, k * w0)
    nu0 = np.arctanh(u0 / h)
    nu = nu0 + AHEAD * h / k**2 * t

    def gudermann(x):
        return 2 * np.arctan(np.tanh(x / 2))

    return h * np.tanh(nu), h / k / np.cosh(nu), k / AHEAD * (gudermann(nu) - gudermann(nu0))


def test_the_closed_form_of_the_sleigh_satisfies_its_equations():
    # u' = a w^2, (J + m a^2) w' = -m a u w
    t, step = np.linspace(0, 5, 11), 1e-5
    u, w, _ = closed_form(t)
    du, dw, turning = (np.array(closed_form(t + step)) - closed_form(t - step)) / (2 * step)
    np.testing.assert_allclose(du, AHEAD * w**2, rtol=0, atol=1e-8)
    np.testing.assert_allclose((INERTIA + MASS * AHEAD**2) * dw, -MASS * AHEAD * u * w, rtol=0, atol=1e-8)
    np.testing.assert_allclose(turning, w, rtol=0, atol=1e-8)
    np.testing.assert_allclose([closed_form(at)[2] for at in SLEIGH], [row[2] for row in SLEIGH.values()], rtol=1e-14)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("by", list(SIDEWAYS))
def test_the_sleigh_is_where_chaplygin_says(by, formulation):
    system = sleigh(by)
    start = system.assemble(velocities={"hull": (1, 0, 2)})
    run = system.simulate(start, t_end=5.0, every=0.5, rtol=1e-13, formulation=formulation)
    u, w, heading = closed_form(run.t)
    np.testing.assert_allclose(run["hull"][:, 2], heading, rtol=0, atol=1e-10)
    expected = np.stack([u * np.cos(heading), u * np.sin(heading), w], axis=1)
    np.testing.assert_allclose(run.velocity("hull"), expected, rtol=0, atol=1e-10)
    at = [np.searchsorted(run.t, t - 1e-9) for t in SLEIGH]
    np.testing.assert_allclose(run["hull"][at], list(SLEIGH.values()), rtol=0, atol=1e-10)


@pytest.mark.parametrize("integrator", ["dop853", "dopri5", "radau"])
@pytest.mark.repeats(1)
def test_the_sleigh_by_every_integrator_with_a_tolerance(integrator):
    system = sleigh()
    start = system.assemble(velocities={"hull": (1, 0, 2)})
    run = system.simulate(start, t_end=5.0, every=0.5, integrator=integrator)
    at = [np.searchsorted(run.t, t - 1e-9) for t in SLEIGH]
    np.testing.assert_allclose(run["hull"][at], list(SLEIGH.values()), rtol=0, atol=1e-8)


def test_the_sleigh_has_three_coordinates_and_two_velocities():
    # its energy is kept, and the blade never slips: J u = 0 at round-off after each step
    system = sleigh()
    run = system.simulate(system.assemble(velocities={"hull": (1, 0, 2)}), t_end=100.0)
    heading, (dx, dy) = run["hull"][:, 2], run.velocity("hull")[:, :2].T
    assert np.abs(dy * np.cos(heading) - dx * np.sin(heading)).max() < 1e-13
    assert run.energy.error < 1e-8 * run.energy.kinetic.max()
    assert system.mobility == 2


def test_the_force_on_the_blade_turns_the_sleigh():
    # the blade's force on the hull is across it: m (a w' + u w), from the acceleration of the centre of mass
    system = sleigh()
    run = system.simulate(system.assemble(velocities={"hull": (1, 0, 2)}), t_end=2.0, every=0.1, rtol=1e-12)
    u, w, heading = closed_form(run.t)
    dw = -MASS * AHEAD * u * w / (INERTIA + MASS * AHEAD**2)
    across = MASS * (AHEAD * dw + u * w)
    expected = np.stack([-np.sin(heading) * across, np.cos(heading) * across], axis=1)
    np.testing.assert_allclose(run.reactions("skate 1")[:, :2], expected, rtol=0, atol=1e-9)


# --- a knife edge on an incline ---


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_knife_edge_on_an_incline_moves_along_a_cycloid(formulation):
    # it turns uniformly and comes back up: x = b sin^2(w t), y = b (w t - sin(2 w t)/2), b = g sin(alpha) / (2 w^2)
    slope, w = 0.4, 1.5
    m = mt.Model("knife edge", gravity=(9.81 * np.sin(slope), 0, -9.81 * np.cos(slope)))
    edge = m.body("edge", mass=0.7, inertia=(0.02, 0.02, 0.03))
    m.joint("edge", mt.Planar("z"), m.ground, edge)
    m.skate(edge, across="y")
    system = m.build()
    start = system.assemble(velocities={"edge": (0, 0, w)})
    run = system.simulate(start, t_end=10.0, every=0.1, formulation=formulation)
    b = 9.81 * np.sin(slope) / (2 * w**2)
    expected = np.stack([b * np.sin(w * run.t) ** 2, b * (w * run.t - np.sin(2 * w * run.t) / 2), w * run.t], axis=1)
    np.testing.assert_allclose(run["edge"], expected, rtol=0, atol=1e-9)


# --- constraints given by expressions ---


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_suslovs_body_never_turns_about_one_of_its_axes(formulation):
    # w3 = 0, I12 = I23 = 0: w1 = a / cosh(n t), w2 = b tanh(n t), I22 b^2 = I11 a^2, n = I13 b / I11 (Suslov 1902)
    I11, I22, I13, a = 0.3, 0.4, 0.1, 1.7
    m = mt.Model("Suslov", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, inertia=(I11, I22, 0.5, 0, I13, 0))
    m.joint("ball", mt.Spherical(), m.ground, body)
    m.constrain("ball.wz = 0")
    system = m.build()
    start = system.assemble(velocities={"ball": (a, 0, 0)})
    run = system.simulate(start, t_end=10.0, every=0.1, formulation=formulation)
    b = np.sqrt(I11 / I22) * a
    n = I13 * b / I11
    w = np.stack([a / np.cosh(n * run.t), b * np.tanh(n * run.t), 0 * run.t], axis=1)
    np.testing.assert_allclose(run.velocity("ball"), w, rtol=0, atol=1e-9)
    assert run.energy.error < 1e-9


def particle():
    """A point mass on three slides, its coordinates x, y and z."""
    m = mt.Model("particle", gravity=(0, 0, 0))
    first, second = m.body("first", massless=True), m.body("second", massless=True)
    bead = m.body("bead", mass=1.3)
    m.joint("x", mt.Prismatic("x"), m.ground, first)
    m.joint("y", mt.Prismatic("y"), first, second)
    m.joint("z", mt.Prismatic("z"), second, bead)
    return m, bead


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_particle_with_a_nonholonomic_constraint(formulation):
    # z' = y x': y' is constant, x' sqrt(1 + y^2) = c, hence x = c asinh(y) / y' and z = c sqrt(1 + y^2) / y'
    m, _ = particle()
    m.constrain("z' = y*x'")
    system = m.build()
    start = system.assemble({"y": -0.5}, velocities={"x": 0.8, "y": 0.6})
    run = system.simulate(start, t_end=10.0, every=0.1, formulation=formulation)
    y = -0.5 + 0.6 * run.t
    c = 0.8 * np.sqrt(1 + 0.5**2)
    np.testing.assert_allclose(run["y"], y, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["x"], c / 0.6 * (np.arcsinh(y) - np.arcsinh(-0.5)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["z"], c / 0.6 * (np.sqrt(1 + y**2) - np.sqrt(1.25)), rtol=0, atol=1e-9)
    assert run.energy.error < 1e-9


def test_a_nonholonomic_constraint_that_moves():
    # z' = t x' + sin(t): the multiplier gives x'' + t z'' = 0, so that (1 + t^2) x'' + t x' + t cos(t) = 0 and
    # x' sqrt(1 + t^2) = x'(0) - integral of t cos(t) / sqrt(1 + t^2)
    m, _ = particle()
    m.constrain("z' - t*x' = sin(t)")
    system = m.build()
    run = system.simulate(system.assemble(velocities={"x": 0.7}), t_end=5.0, every=0.1)
    t = run.t
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s = t[:, None] * (nodes + 1) / 2
    integral = (s * np.cos(s) / np.sqrt(1 + s**2)) @ weights * t / 2
    dx = (0.7 - integral) / np.sqrt(1 + t**2)
    np.testing.assert_allclose(run.velocity("x"), dx, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.velocity("z"), t * dx + np.sin(t), rtol=0, atol=1e-9)
