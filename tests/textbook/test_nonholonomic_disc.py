"""A thin disc that rolls on a plane: steady motions, first integrals, and its whole motion in minimal coordinates.

Appell 1900, Korteweg 1900; Neimark and Fufaev, Dynamics of Nonholonomic Systems, 1972; O'Reilly 1996. e3 is the disc's
axis, e1 is horizontal in its plane, e2 is steepest; theta is the tilt of e3 from the vertical, psi the heading of e1,
phi the disc's own angle. The angular velocity is (theta', a, w) along e1, e2, e3, with a = psi' sin(theta).
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import momentree as mt

G, MASS, RADIUS = 9.81, 1.4, 0.3
ACROSS, AXIAL = MASS * RADIUS**2 / 4, MASS * RADIUS**2 / 2  # moments of inertia of a thin disc
ROLLING = MASS * RADIUS**2 / (AXIAL + MASS * RADIUS**2)  # dw/dtheta = ROLLING a
LEGENDRE = -0.5 + 1j * np.sqrt(ROLLING * AXIAL / ACROSS - 0.25)  # nu (nu + 1) = -ROLLING AXIAL / ACROSS
FORMULATIONS = ("hamiltonian", "lagrange", "absolute")


def disc(friction=None):
    m = mt.Model("disc", gravity=(0, 0, -G))
    body = m.body("disc", mass=MASS, inertia=(ACROSS, ACROSS, AXIAL))
    m.joint("disc", mt.Free(), m.ground, body)
    m.roll(body, radius=RADIUS, disc="z", friction=friction)
    return m.build(), body


def started(system, theta, dtheta, a, w):
    """In contact at the origin, e1 along x: the body's axes are e1, e2, e3."""
    place = (0, RADIUS * np.cos(theta), RADIUS * np.sin(theta), *Rotation.from_rotvec((theta, 0, 0)).as_quat())
    return system.assemble({"disc": place}, velocities={"disc": (-RADIUS * w, 0, RADIUS * dtheta, dtheta, a, w)})


def minimal(_, y):
    """theta, theta', a, w, psi, phi and the place of the centre over time: the equations of the sources above."""
    theta, dtheta, a, w, psi, _, _, _ = y
    s, c = np.sin(theta), np.cos(theta)
    moment = -MASS * G * RADIUS * c - (AXIAL + MASS * RADIUS**2) * a * w + ACROSS * a**2 * c / s
    e1 = np.array([np.cos(psi), np.sin(psi)])
    e3 = np.array([s * np.sin(psi), -s * np.cos(psi)])
    change = [dtheta, moment / (ACROSS + MASS * RADIUS**2), (AXIAL / ACROSS * w - a * c / s) * dtheta]
    change += [ROLLING * a * dtheta, a / s, w - a * c / s]
    return np.array([*change, *(RADIUS * (dtheta * e3 - w * e1))])


def along(run):
    """theta, theta', a and w of a run."""
    R = Rotation.from_quat(run["disc"][:, 3:])
    e3 = R.apply((0, 0, 1))
    e1 = np.cross((0, 0, 1), e3)
    e1 /= np.linalg.norm(e1, axis=1)[:, None]
    e2 = np.cross(e3, e1)
    angular = R.apply(run.velocity("disc")[:, 3:])
    theta = np.arctan2(e2[:, 2], e3[:, 2])
    return theta, *((angular * e).sum(axis=1) for e in (e1, e2, e3))


GENERAL = (1.1, 0.3, 1.2, -4.0)  # theta, theta', a, w at the start


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.repeats(1)
def test_a_disc_rolls_as_in_minimal_coordinates(formulation):
    system, body = disc()
    run = system.simulate(started(system, *GENERAL), t_end=10.0, every=0.1, formulation=formulation)
    y0 = [*GENERAL, 0, 0, 0, RADIUS * np.cos(GENERAL[0])]
    known = solve_ivp(minimal, (0, 10), y0, "DOP853", run.t, rtol=2.3e-14, atol=1e-14).y
    turned = Rotation.from_euler("ZXZ", known[[4, 0, 5]].T)
    np.testing.assert_allclose(run["disc"][:, :2], known[6:].T, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["disc"][:, 2], RADIUS * np.sin(known[0]), rtol=0, atol=1e-9)
    rim = run.position(body.at((RADIUS, 0, 0))) - run.position(body)
    np.testing.assert_allclose(rim, turned.apply((RADIUS, 0, 0)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.stack(along(run)), known[:4], rtol=0, atol=1e-8)


def integrals(theta, a, w):
    """A and B of w = A P(cos theta) + B P(-cos theta), P Legendre's function of the complex degree nu (Appell)."""

    def legendre(x):
        value = mpmath.hyp2f1(-LEGENDRE, LEGENDRE + 1, 1, (1 - x) / 2)
        slope = LEGENDRE * (LEGENDRE + 1) / 2 * mpmath.hyp2f1(1 - LEGENDRE, LEGENDRE + 2, 2, (1 - x) / 2)
        return float(value.real), float(slope.real)

    c, s = np.cos(theta), np.sin(theta)
    (P, dP), (Q, dQ) = legendre(c), legendre(-c)
    return np.linalg.solve([[P, Q], [-s * dP, s * dQ]], [w, ROLLING * a])


def test_first_integrals_of_a_rolling_disc():
    # energy, and two that are linear in the velocities, with Legendre's functions (Appell 1900, Korteweg 1900)
    system, _ = disc()
    run = system.simulate(started(system, *GENERAL), t_end=10.0, every=0.25)
    theta, _, a, w = along(run)
    kept = np.array([integrals(*row) for row in zip(theta, a, w, strict=True)])
    assert np.ptp(theta) > 0.1
    assert np.ptp(w) > 0.1
    np.testing.assert_allclose(kept, np.tile(kept[0], (len(kept), 1)), rtol=0, atol=1e-9)
    assert run.energy.error < 1e-9


@pytest.mark.parametrize(("theta", "turning"), [(1.2, 1.3), (0.9, 4.0), (1.9, -0.8)])
def test_steady_rolling_in_a_circle(theta, turning):
    # (I_a + m r^2) psi' w sin(theta) = (I_t psi'^2 sin(theta) - m g r) cos(theta); the centre's circle has the radius
    # r |w / psi'|
    w = (ACROSS * turning**2 * np.sin(theta) - MASS * G * RADIUS) / np.tan(theta) / (AXIAL + MASS * RADIUS**2) / turning
    system, _ = disc()
    run = system.simulate(started(system, theta, 0, turning * np.sin(theta), w), t_end=10.0, every=0.1)
    found = along(run)
    for value, expected in zip(found, (theta, 0, turning * np.sin(theta), w), strict=True):
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-9)
    around = RADIUS * w / turning  # the centre starts at y = r cos(theta) with the velocity -r w along x
    centre = np.array([0, RADIUS * np.cos(theta) - around])
    angle = turning * run.t
    place = centre + around * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    np.testing.assert_allclose(run["disc"][:, :2], place, rtol=0, atol=1e-9)


def test_small_tilts_of_an_upright_rolling_disc_oscillate():
    # if w^2 > m g r I_t / ((I_a + m r^2) I_a); from a = -(I_a / I_t) w tilt they swing about zero, with the frequency
    # (((I_a + m r^2) I_a w^2 / I_t - m g r) / (I_t + m r^2))^(1/2)
    w, tilt = 8.0, 1e-5
    squared = ((AXIAL + MASS * RADIUS**2) * AXIAL * w**2 / ACROSS - MASS * G * RADIUS) / (ACROSS + MASS * RADIUS**2)
    system, _ = disc()
    start = started(system, np.pi / 2 - tilt, 0, -AXIAL / ACROSS * w * tilt, w)
    run = system.simulate(start, t_end=5.0, every=0.05)
    np.testing.assert_allclose(np.pi / 2 - along(run)[0], tilt * np.cos(np.sqrt(squared) * run.t), rtol=0, atol=2e-9)


def test_energy_of_a_rolling_disc_over_a_hundred_seconds():
    system, _ = disc()
    run = system.simulate(started(system, *GENERAL), t_end=100.0)
    assert run.energy.error < 1e-8 * run.energy.kinetic.max()
    assert run.closure_error.max() < 1e-12
    assert run.closure_velocity.max() < 1e-12  # it does not slip
    assert system.mobility == 3
